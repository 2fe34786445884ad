"""The commands."""

from __future__ import annotations

import os
import sys
import tempfile

import _dynet

from dynet import load, save
from dynet.metrics import ConlluScores
from dynet.text import with_columns

from ._parser import Parser
from ._tagger import Tagger
from ._training import columns_of, model_file
from ._training import train as run_training

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from _dynet import ConlluSentence

    from ._tagger import Answers

#: Columns of `ConlluScores` that a tagger fills, and that a parser fills.
TAGS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")
TREES = (*TAGS, "UAS", "LAS", "CLAS")


def train(options: argparse.Namespace) -> None:
    """``dynet train tagger``, ``dynet train parser``."""
    output = model_file(options.output)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise _dynet.IoError(f"--output: there is no folder '{folder}'")
    sentences = _sentences(options.train)
    dev = _sentences(options.dev) if options.dev is not None else []
    if options.kind == "parser":
        _require_heads(options.train, sentences)
        _require_heads(options.dev, dev)
    _dynet.reset_random_seed(options.seed)
    model = _dynet.ParameterCollection()
    kind = Parser if options.kind == "parser" else Tagger
    tagger = kind.for_data(model, sentences, options.size, options.dropout)
    words = sum(len(s.words) for s in sentences)
    print(
        f"{len(sentences)} sentences of {words} words; {model.parameter_count()} parameters",
        flush=True,
    )
    examples = [tagger.example(s) for s in sentences]

    def score() -> dict[str, float]:
        return columns_of(_scores(tagger, dev), _filled(tagger))

    run_training(options, model, tagger.loss, examples, score if dev else None)
    save(output, [tagger])
    print(f"wrote {output}")


def tag(options: argparse.Namespace) -> None:
    """``dynet tag``: the file with the columns that the model fills."""
    _answer(options, _load(options.model))


def parse(options: argparse.Namespace) -> None:
    """``dynet parse``: the same, by a parser."""
    model = _load(options.model)
    if not isinstance(model, Parser):
        raise _dynet.IoError(f"{options.model}: has a tagger; want a model of `dynet train parser`")
    _answer(options, model)


def evaluate(options: argparse.Namespace) -> None:
    """``dynet evaluate``: a table."""
    model, sentences = _load(options.model), _sentences(options.file)
    if isinstance(model, Parser):
        _require_heads(options.file, sentences)
    lines = str(_scores(model, sentences)).splitlines()
    wanted = _filled(model)
    print("\n".join([lines[0], *(line for line in lines if line.split()[0] in wanted)]))


def _answer(options: argparse.Namespace, model: Tagger) -> None:
    texts = model.write(_dynet.ConlluReader(options.file))
    if options.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        sys.stdout.writelines(texts)
    else:
        _write(options.output, texts)


def _filled(model: Tagger) -> tuple[str, ...]:
    return TREES if isinstance(model, Parser) else TAGS


def _sentences(file: str) -> list[ConlluSentence]:
    """All sentences. IoError for a file without any."""
    found = list(_dynet.ConlluReader(file))
    if not found:
        raise _dynet.IoError(f"{file}:1: there are no sentences; want CoNLL-U")
    return found


def _require_heads(file: str, sentences: list[ConlluSentence]) -> None:
    for number, sentence in enumerate(sentences, 1):
        for word in sentence.words:
            if word.head is None:
                raise _dynet.IoError(
                    f"{file}: sentence {number}: word {word.id} ({word.form!r}) has no head; want "
                    "a number, or 0"
                )


def _load(name: str) -> Tagger:
    file = name if os.path.exists(name) else model_file(name)
    if not os.path.exists(file):
        raise _dynet.IoError(f"{name}: there is no such file; want a model of `dynet train`")
    found = load(file, _dynet.ParameterCollection())
    if len(found) != 1 or not isinstance(found[0], Tagger):
        kinds = ", ".join(type(one).__name__ for one in found)
        raise _dynet.IoError(f"{file}: has {kinds}; want a tagger that `dynet train` wrote")
    return found[0]


def _scores(model: Tagger, sentences: list[ConlluSentence]) -> ConlluScores:
    """The scores of answers. Heads do not count for a tagger, whose treebanks may have none."""
    scores = ConlluScores()
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("gold", "answered")]
        for file, answered in zip(files, (((s, {}) for s in sentences), model.tag(sentences))):
            _write(file, (_flat(model, s, answers) for s, answers in answered))
        scores.add(*files)
    return scores


def _flat(model: Tagger, sentence: ConlluSentence, answers: Answers) -> str:
    heads = {} if isinstance(model, Parser) else {"head": ["0"] * len(sentence.words)}
    return with_columns(sentence, **answers, **heads)


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
