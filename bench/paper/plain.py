"""A translator with attention, a CRF over a BiLSTM and a child-sum tree LSTM in plain operations.

    PYTHONPATH=build/bench/python python bench/paper/plain.py dynet
    build/bench-venv/bin/python bench/paper/plain.py torch

Training is forward and backward; processor time of one thread, the best pass over 64 examples. The
losses of one program are equal in all rows, or the rows do not compute the same.
"""

from __future__ import annotations

import argparse
from functools import partial

import plain_networks as data

KINDS = ("training", "inference")


def with_dynet(seconds: float) -> None:
    from plain_dynet import Program

    for model in data.SHAPES:
        program, examples = Program(model), data.inputs(model)
        for kind in KINDS:
            for n in (1, 16, 64):
                for batching in (True, False):
                    name = f"{model} n{n} {kind}" + ("" if batching else ", batching off")
                    run = partial(program.run, trains=kind == "training", batching=batching)
                    data.report(name, examples, n, run, seconds)


def with_torch(seconds: float) -> None:
    import torch
    from plain_torch import ByHand, Program

    torch.set_num_threads(1)
    for model in data.SHAPES:
        examples = data.inputs(model)
        for kind in KINDS:
            run = partial(Program(model).run, trains=kind == "training")
            data.report(f"{model} {kind}, one by one", examples, 1, run, seconds)
            run = partial(ByHand(model).run, trains=kind == "training")
            for n in (1, 16, 64):
                data.report(f"{model} n{n} {kind}, by hand", examples, n, run, seconds)


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("system", choices=["dynet", "torch"])
    options.add_argument("--seconds", type=float, default=1.0, help="of each row")
    chosen = options.parse_args()
    (with_dynet if chosen.system == "dynet" else with_torch)(chosen.seconds)
