"""The commands."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import _dynet

from dynet import load, save

from ._files import write_file
from ._ner import Ner
from ._parser import Parser
from ._tagger import Tagger
from ._training import model_file
from ._training import train as run_training

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

KINDS: dict[str, Any] = {"tagger": Tagger, "parser": Parser, "ner": Ner}


def train(options: argparse.Namespace) -> None:
    """``dynet train tagger``, ``dynet train parser``, ``dynet train ner``."""
    output = model_file(options.output)
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder):
        raise _dynet.IoError(f"--output: there is no folder '{folder}'")
    if os.path.isdir(output):
        raise _dynet.IoError(f"--output: '{output}' is a folder; want a file")
    kind = KINDS[options.kind]
    sentences = kind.read(options.train)
    dev = kind.read(options.dev) if options.dev is not None else []
    _dynet.reset_random_seed(options.seed)
    parameters = _dynet.ParameterCollection()
    model = kind.for_data(parameters, sentences, options.size, options.dropout)
    words = sum(len(s.words) for s in sentences)
    print(
        f"{len(sentences)} sentences of {words} words; {parameters.parameter_count()} parameters",
        flush=True,
    )
    examples = [model.example(s) for s in sentences]

    def score() -> dict[str, float]:
        columns: dict[str, float] = model.columns(model.score(dev))
        return columns

    run_training(options, parameters, model.loss, examples, score if dev else None)
    save(output, [model])
    print(f"wrote {output}")


def tag(options: argparse.Namespace) -> None:
    """``dynet tag``: the file with the columns that the model fills."""
    _answer(options, load_model(options.model))


def parse(options: argparse.Namespace) -> None:
    """``dynet parse``: the same, by a parser."""
    model = load_model(options.model)
    if not isinstance(model, Parser):
        raise _dynet.IoError(
            f"{options.model}: has a {type(model).__name__.lower()}; want a model of `dynet train "
            "parser`"
        )
    _answer(options, model)


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
    sys.stdout.writelines(texts)


def load_model(name: str) -> Any:
    file = name if os.path.isfile(name) else model_file(name)
    if not os.path.isfile(file):
        raise _dynet.IoError(f"{name}: there is no such file; want a model of `dynet train`")
    found = load(file, _dynet.ParameterCollection())
    if len(found) != 1 or type(found[0]) not in KINDS.values():
        kinds = ", ".join(type(one).__name__ for one in found)
        raise _dynet.IoError(f"{file}: has {kinds}; want a model that `dynet train` wrote")
    return found[0]
