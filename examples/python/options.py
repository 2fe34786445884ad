"""The command line: options of all programs. Each program declares its other options itself."""

from __future__ import annotations

import argparse
import atexit
import importlib
import math
import os
import sys
import tempfile
from collections.abc import Callable

from data import DataError


def whole(least: int, most: int = 10**9) -> Callable[[str], int]:
    """Reads a number within these, as in C++."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
            raise argparse.ArgumentTypeError(f"{text} is no whole number from {least} to {most}")
        return int(text)

    return read


def real(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is no number from {least:g} to {most:g}")
        return value

    return read


count = whole(1)
size = whole(1, 10**6)  # of a part of a model


def make_parser(description: str, train_help: str, minibatch: int = 1) -> argparse.ArgumentParser:
    """With the options of all programs. ``train_help`` describes the file --train; empty: the
    program has no files."""
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.set_defaults(train=None, dev=None, epochs=0, ranks=1)
    data = parser.add_argument_group("data")
    if train_help:
        data.add_argument("--train", help=train_help)
        data.add_argument("--dev", help="the same, to test on")
    data.add_argument(
        "--seed", type=whole(0, 2**32 - 1), default=1, help="of the data and of the library"
    )
    training = parser.add_argument_group("training")
    training.add_argument("--updates", type=count, default=0, help="end training after so many")
    if train_help:
        training.add_argument(
            "--epochs", type=count, default=3, help="passes over --train, without --updates"
        )
    training.add_argument(
        "--minibatch", type=whole(1, 65536), default=minibatch, help="examples an update"
    )
    training.add_argument(
        "--max-seconds", type=real(1e-3, 1e9), default=0, help="end training after so much CPU time"
    )
    training.add_argument(
        "--distributed", action="store_true", help="as one rank of a job: mpirun -n 2 python ..."
    )
    training.add_argument("--learning-rate", type=real(1e-9, 1e3), default=0.001, help="of Adam")
    training.add_argument(
        "--lookup-updates",
        choices=["sparse", "dense", "exact"],
        default="sparse",
        help="of tables: rows that were looked up, all, or the numbers of dense at the cost of "
        "sparse",
    )
    training.add_argument(
        "--test-every", type=count, default=0, help="updates between tests on --dev (an epoch)"
    )
    training.add_argument("--init-file", help="initial values from a model file")
    _add_output(parser.add_argument_group("output"))
    return parser


def _add_output(output: argparse._ArgumentGroup) -> None:
    output.add_argument("--out", help="folder for the model and the curve")
    output.add_argument("--curve", help="learning curve (OUT/curve.csv)")
    output.add_argument(
        "--predict", help="answer this with the model file, after training if there is none"
    )
    output.add_argument("--print-losses", type=whole(0), default=0, help="print the first N losses")
    output.add_argument("--quiet", action="store_true", help="print the results only")


def has_saved_model(options: argparse.Namespace) -> bool:
    """Answers come from a model that was saved, not from one trained now."""
    return bool(options.predict and options.model and os.path.exists(options.model))


def parse(
    parser: argparse.ArgumentParser, argv: list[str], generates_data: bool = False
) -> argparse.Namespace:
    """``generates_data``: the program does without --train."""
    options, others = parser.parse_known_args(argv)
    for before, other in zip(["", *others], others):
        # The library's: --dynet-seed=1 or --dynet-seed 1
        is_value = before.startswith("--dynet") and "=" not in before and other[0] != "-"
        if not other.startswith("--dynet") and not is_value:
            parser.error(f"unrecognized argument: {other}")
    options.model = os.path.join(options.out, "model.safetensors") if options.out else None
    if options.out:
        options.curve = options.curve or os.path.join(options.out, "curve.csv")
    if options.predict and not options.model:
        parser.error("--predict needs --out")
    if not options.train and not generates_data and not has_saved_model(options):
        reason = f": there is no '{options.model}'" if options.predict else ""
        parser.error(f"--train is required{reason}")
    if options.dev and not options.train:
        parser.error("--dev needs --train")
    return options


def follow_first_rank(options: argparse.Namespace) -> int:
    """The number of ranks. All but the first print nothing, and write files to a folder that goes
    with the process."""
    from mpi4py import MPI

    if MPI.COMM_WORLD.Get_rank() != 0:
        own = tempfile.TemporaryDirectory()
        atexit.register(own.cleanup)
        options.model = options.model and os.path.join(own.name, "model.safetensors")
        options.curve = options.curve and os.path.join(own.name, "curve.csv")
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    return MPI.COMM_WORLD.Get_size()


def run_job(options: argparse.Namespace, job: str) -> None:
    """Starts the library and calls ``run`` of the module ``job``. Mistakes in data exit with 2."""
    # The library reads its options when it is imported, the command line last.
    sys.argv[1:1] = ["--dynet-seed", str(options.seed)]
    for file in filter(None, (options.train, options.dev)):
        if not os.path.exists(file):
            sys.exit(f"{os.path.basename(sys.argv[0])}: there is no file '{file}'")
    if options.distributed:
        options.ranks = follow_first_rank(options)
    run = importlib.import_module(job).run
    text_error = importlib.import_module("dynet").IoError  # of the library's readers
    try:
        run(options)
    except (DataError, text_error) as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")
