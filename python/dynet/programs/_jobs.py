"""The commands."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from io import TextIOWrapper

import _dynet

from dynet import load, save

from ._files import write_file
from ._lm import LanguageModel
from ._ner import Ner
from ._parser import Parser
from ._tagger import Tagger
from ._training import model_file, one_of_ranks
from ._training import train as run_training
from ._transitions import TransitionParser
from ._tree_tagger import TreeTagger

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

KINDS: tuple[Any, ...] = (Tagger, Parser, TransitionParser, Ner, LanguageModel)


def train(options: argparse.Namespace) -> None:
    """``dynet train tagger`` and the other kinds."""
    with one_of_ranks(options) if options.distributed else nullcontext():
        _train(options)


def _train(options: argparse.Namespace) -> None:
    output = model_file(options.output)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise _dynet.IoError(f"--output: there is no folder '{folder}'")
    if os.path.isdir(output):
        raise _dynet.IoError(f"--output: '{output}' is a folder; want a file")
    kind = next(k for k in KINDS if options.kind == k.KIND)
    given: dict[str, int] = {}
    if options.transition:
        kind = TransitionParser
    if options.vocabulary is not None:
        given["vocabulary"] = options.vocabulary
    sentences = kind.read(options.train)
    dev = kind.read(options.dev) if options.dev is not None else []
    _dynet.reset_random_seed(options.seed)
    parameters = _dynet.ParameterCollection()
    model = kind.for_data(parameters, sentences, options.size, options.dropout, **given)
    words = sum(len(model.forms(s)) for s in sentences)
    print(
        f"{len(sentences)} sentences of {words} words; {parameters.parameter_count()} parameters",
        flush=True,
    )
    examples = [model.example(s) for s in sentences]

    def score() -> dict[str, float]:
        columns: dict[str, float] = model.columns(model.score(dev))
        return columns

    run_training(
        options, parameters, model.loss, examples, score if dev else None, model.LARGER_IS_BETTER
    )
    save(output, [model])
    print(f"wrote {output}")


def tag(options: argparse.Namespace) -> None:
    """``dynet tag``: the file with the columns that the model fills."""
    _answer(options, _load(options.model, Tagger, Ner))


def parse(options: argparse.Namespace) -> None:
    """``dynet parse``: the same, by a parser."""
    _answer(options, _load(options.model, TreeTagger))


def score(options: argparse.Namespace) -> None:
    """``dynet score``: the lines of the file with the logarithms of their probabilities."""
    _answer(options, _load(options.model, LanguageModel))


def evaluate(options: argparse.Namespace) -> None:
    """``dynet evaluate``: a table."""
    model = load_model(options.model)
    print(model.table(model.score(model.read(options.file))))


def _answer(options: argparse.Namespace, model: Any) -> None:
    texts = model.write(options.file)
    if options.output is not None:
        write_file(options.output, texts)
        return
    if sys.stdout is None:
        raise _dynet.IoError("standard output is closed; want --output FILE")
    if isinstance(sys.stdout, TextIOWrapper):  # a program may have put another object there
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for text in texts:
        try:
            sys.stdout.write(text)
        except BrokenPipeError:
            raise
        except OSError as e:
            raise _dynet.IoError(f"standard output: {e.strerror}") from None


def _load(name: str, *wanted: Any) -> Any:
    """A model of one of these classes. IoError for another one."""
    model = load_model(name)
    if not isinstance(model, wanted):
        kinds = dict.fromkeys(k.KIND for k in KINDS if issubclass(k, wanted))
        raise _dynet.IoError(
            f"{name}: is a model of `dynet train {model.KIND}`; want one of "
            + " or ".join(f"`dynet train {kind}`" for kind in kinds)
        )
    return model


def load_model(name: str) -> Any:
    file = name if os.path.isfile(name) else model_file(name)
    if not os.path.isfile(file):
        raise _dynet.IoError(f"{name}: there is no such file; want a model of `dynet train`")
    found = load(file, _dynet.ParameterCollection())
    if len(found) != 1 or type(found[0]) not in KINDS:
        kinds = ", ".join(type(one).__name__ for one in found)
        raise _dynet.IoError(f"{file}: has {kinds}; want a model that `dynet train` wrote")
    return found[0]
