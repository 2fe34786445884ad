"""The commands."""

from __future__ import annotations

import os
import sys
import tempfile

import _dynet

from dynet import load, save
from dynet.metrics import ConlluScores
from dynet.text import with_columns

from ._tagger import Tagger
from ._training import columns_of, model_file
from ._training import train as run_training

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from _dynet import ConlluSentence

#: Columns of `ConlluScores` that a tagger fills.
TAGS = ("UPOS", "XPOS", "UFeats", "Lemmas")


def train(options: argparse.Namespace) -> None:
    """``dynet train tagger``."""
    output = model_file(options.output)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise _dynet.IoError(f"--output: there is no folder '{folder}'")
    sentences = _sentences(options.train)
    dev = _sentences(options.dev) if options.dev is not None else []
    _dynet.reset_random_seed(options.seed)
    model = _dynet.ParameterCollection()
    tagger = Tagger.for_data(model, sentences, options.size, options.dropout)
    words = sum(len(s.words) for s in sentences)
    print(
        f"{len(sentences)} sentences of {words} words; {model.parameter_count()} parameters",
        flush=True,
    )
    examples = [tagger.example(s) for s in sentences]

    def score() -> dict[str, float]:
        return columns_of(_scores(tagger, dev), TAGS)

    run_training(options, model, tagger.loss, examples, score if dev else None)
    save(output, [tagger])
    print(f"wrote {output}")


def tag(options: argparse.Namespace) -> None:
    """``dynet tag``: the file with the columns that the model fills."""
    tagger = _load(options.model)
    texts = tagger.write(_dynet.ConlluReader(options.file))
    if options.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.writelines(texts)
    else:
        _write(options.output, texts)


def evaluate(options: argparse.Namespace) -> None:
    """``dynet evaluate``: a table."""
    tagger = _load(options.model)
    scores = _scores(tagger, _sentences(options.file))
    lines = str(scores).splitlines()
    wanted = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")
    print("\n".join([lines[0], *(line for line in lines if line.split()[0] in wanted)]))


def _sentences(file: str) -> list[ConlluSentence]:
    """The sentences with words. IoError for a file without any."""
    found = [s for s in _dynet.ConlluReader(file) if s.words]
    if not found:
        raise _dynet.IoError(f"{file}:1: there are no sentences; want CoNLL-U")
    return found


def _load(name: str) -> Tagger:
    file = name if os.path.exists(name) else model_file(name)
    if not os.path.exists(file):
        raise _dynet.IoError(f"{name}: there is no such file; want a model of `dynet train`")
    found = load(file, _dynet.ParameterCollection())
    if len(found) != 1 or not isinstance(found[0], Tagger):
        kinds = ", ".join(type(one).__name__ for one in found)
        raise _dynet.IoError(f"{file}: has {kinds}; want a tagger that `dynet train` wrote")
    return found[0]


def _scores(tagger: Tagger, sentences: list[ConlluSentence]) -> ConlluScores:
    """The scores of answers. Heads do not count: a treebank of tags has none."""
    scores = ConlluScores()
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("gold", "answered")]
        for file, answered in zip(files, (((s, {}) for s in sentences), tagger.tag(sentences))):
            _write(file, (with_columns(s, **a, head=[0] * len(s.words)) for s, a in answered))
        scores.add(*files)
    return scores


def _write(name: str, texts: Iterable[str]) -> None:
    """Writes a file as a whole: the old file stays until the new one is complete."""
    part = f"{name}.part"
    try:
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(texts)
        os.replace(part, name)
    finally:
        if os.path.exists(part):
            os.remove(part)
