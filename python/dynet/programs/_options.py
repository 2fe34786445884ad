"""The command line of ``dynet``, and files of options."""

from __future__ import annotations

import argparse
import math
import os

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class OptionError(Exception):
    """A mistake on the command line or in a file of options."""


class _Parser(argparse.ArgumentParser):
    """Raises its errors, so that a file of options can be named in them."""

    def error(self, message: str) -> Any:
        raise OptionError(message)


def whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and int(text) >= least):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of {least} or more")
        return int(text)

    return read


def real(least: float, below: float = math.inf) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value < below:
            limit = "" if below == math.inf else f" and less than {below:g}"
            raise argparse.ArgumentTypeError(f"{text!r} is no number of {least:g} or more{limit}")
        return value

    return read


def make_parser() -> tuple[_Parser, _Parser]:
    """The parser of all commands, and that of ``train``, whose options a file may have."""
    parser = _Parser(
        "dynet",
        description="Trains models of language, and uses them. Options of the library, such as "
        "--dynet-mem, may stand anywhere.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    train = commands.add_parser("train", help="train a model on sentences", allow_abbrev=False)
    train.add_argument(
        "kind",
        choices=["tagger", "parser", "ner", "lm"],
        help="tagger: UPOS, XPOS, features, lemmas; parser: these, heads and relations; ner: tags "
        "of names, in columns; lm: a language model of sentences, one a line",
    )
    _add_training(train)
    tag = commands.add_parser("tag", help="tag the words of a file", allow_abbrev=False)
    evaluate = commands.add_parser(
        "evaluate", help="compare a model's answers with a file", allow_abbrev=False
    )
    parse = commands.add_parser("parse", help="parse the words of a file", allow_abbrev=False)
    score = commands.add_parser(
        "score", help="perplexities of lines by a language model", allow_abbrev=False
    )
    for command in (tag, parse, evaluate, score):
        command.add_argument("model", help="a file that `dynet train` wrote")
        command.add_argument("file", help="sentences in the format of --train")
    for command in (tag, parse, score):
        command.add_argument("--output", metavar="FILE", help="for the sentences (standard output)")
    for command in (train, tag, parse, evaluate, score):
        command.add_argument("--devices", metavar="D", help="as --dynet-devices of the library")
    return parser, train


def _add_training(train: argparse.ArgumentParser) -> None:
    data = train.add_argument_group("data")
    data.add_argument(
        "--train", metavar="FILE", help="sentences to learn from: CoNLL-U, columns, or lines"
    )
    data.add_argument("--dev", metavar="FILE", help="others, to choose the best epoch by")
    data.add_argument("--output", metavar="FILE", help="for the model, .safetensors")
    data.add_argument("--config", metavar="FILE", help="options in TOML: epochs = 5")
    some = train.add_argument_group("some models")
    some.add_argument(
        "--transition", action="store_true", help="parser: choose actions on a stack, not trees"
    )
    some.add_argument(
        "--vocabulary", type=whole(1), help="lm: words at most, the most frequent ones (10000)"
    )
    how = train.add_argument_group("training")
    how.add_argument("--epochs", type=whole(1), default=10, help="passes over --train (10)")
    how.add_argument("--batch", type=whole(1), default=8, help="sentences an update (8)")
    how.add_argument(
        "--rate", type=real(1e-9), default=0.0025, help="the first rate, Adam's (0.0025)"
    )
    how.add_argument("--dropout", type=real(0, 1), default=0.33, help="of inputs and states (0.33)")
    how.add_argument("--size", type=whole(1), default=200, help="of each LSTM (200)")
    how.add_argument("--seed", type=whole(0), default=1, help="of random numbers (1)")
    how.add_argument(
        "--workers",
        type=whole(0),
        default=0,
        help="processes that compute gradients; needs --dynet-shared-parameters 1",
    )
    how.add_argument(
        "--distributed",
        action="store_true",
        help="as one rank of a job: mpirun -n 2 dynet train ...; needs mpi4py",
    )
    how.add_argument("--resume", action="store_true", help="go on with a training that was stopped")


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; OptionError for a mistake."""
    parser, train = make_parser()
    own = _without_the_library(arguments)
    options = parser.parse_args(own)
    _check_devices(options.devices)
    if options.command == "train":
        if options.config is not None:
            first = _read_config(options.config, train, options.kind)
            options = parser.parse_args([own[0], *first, *own[1:]])
        for name in ("train", "output"):
            if getattr(options, name) is None:
                raise OptionError(f"train: want --{name} FILE")
        for name, kind in (("transition", "parser"), ("vocabulary", "lm")):
            if getattr(options, name) and options.kind != kind:
                raise OptionError(f"--{name} is for `dynet train {kind}`, not {options.kind}")
    return options


def _check_devices(devices: str | None) -> None:
    """For words that are not those of the process (`dynet._program`), which come too late."""
    started = _dynet.get_device_info("").name
    named = [] if devices is None else devices.split(",")
    gpus = sorted((n for n in named if n.startswith("GPU:")), key=lambda n: (len(n), n))
    wanted = next((n for n in (*gpus, *named) if n != "CPU"), "CPU")  # as the library chooses it
    if devices is not None and wanted != started:
        raise OptionError(
            f"--devices {devices}: the library has started on {started}; want dynet_config.set("
            f"devices={devices!r}) before dynet is imported"
        )


def _without_the_library(arguments: list[str]) -> list[str]:
    """Without ``--dynet-mem=512`` and ``--dynet-mem 512``, which the library has read.
    ``--dynet-autobatch`` has a value only if a number follows, and ``--dynet-gpu`` has none."""
    own: list[str] = []
    waiting = ""  # the option of the library whose value may be next
    for one in arguments:
        name, equals, _ = one.replace("_", "-").partition("=")
        is_number = one.removeprefix("-").isdecimal()
        is_value = waiting and not one.startswith("--")
        if waiting in ("--dynet-autobatch", "--dynet-dynamic-mem"):
            is_value = is_number
        is_open = name.startswith("--dynet-") and not equals and name != "--dynet-gpu"
        waiting = name if is_open else ""
        if not name.startswith("--dynet-") and not is_value:
            own.append(one)
    return own


def _read_config(file: str, train: _Parser, kind: str) -> list[str]:
    """The options of a file as words of the command line, of which the last one of a name counts.
    Files that the options name lie beside the file."""
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        raise OptionError(f"{file}: --config needs Python 3.11 or later") from None
    try:
        with open(file, "rb") as opened:
            found = tomllib.load(opened)
    except OSError as e:
        raise OptionError(f"{file}: cannot be opened: {e.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        raise OptionError(f"{file}: no TOML: {e}") from None
    defaults = vars(train.parse_args([kind]))
    known = sorted({*defaults} - {"kind", "config", "devices"})
    words: list[str] = []
    for name, value in found.items():
        if name not in known:
            raise OptionError(f"{file}: {name!r} is no option; want one of {', '.join(known)}")
        if isinstance(defaults[name], bool):
            if not isinstance(value, bool):
                raise OptionError(f"{file}: {name} is {value!r}; want true or false")
            words += [f"--{name}"] if value else []
        elif isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise OptionError(f"{file}: {name} is {value!r}; want a text or a number")
        elif name in ("train", "dev", "output"):
            words.append(f"--{name}={os.path.join(os.path.dirname(file), str(value))}")
        else:
            words.append(f"--{name}={value}")
    try:
        train.parse_args([kind, *words])
    except OptionError as e:
        raise OptionError(f"{file}: {e}") from None
    return words
