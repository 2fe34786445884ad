#!/usr/bin/env python3
"""Costs of programs that ask for numbers at every step: parsers, beam searches, CRFs in Python.

    bench/small_steps.py                                   times of the dynet that can be imported
    bench/small_steps.py --peer PYTHON [--before FOLDER]   beside another DyNet, in turns

``--peer`` is the interpreter of an environment with another ``dynet``, such as DyNet 2.1;
``--before`` a folder with an older module of this library, which goes first on the path. All run on
one core in turns, round by round; the least time of all rounds counts. Microseconds a step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

STEPS = 1000
Case = Callable[[Any], int]
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    """Enters a function that does a number of steps, and returns it."""

    def enter(function: Case) -> Case:
        CASES[name] = function
        return function

    return enter


@case("z = z + 1.0; z.value()")
def add_and_read(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    for _ in range(STEPS):
        z = z + 1.0
        z.value()
    return STEPS


@case("z = z + 1.0")
def add_only(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    for _ in range(STEPS):
        z = z + 1.0
    return STEPS


@case("z.value() of a value that is there")
def read_only(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    for _ in range(STEPS):
        z.value()
    return STEPS


@case("four additions, concatenate, array, four picks")
def array_of_four(dy: Any) -> int:
    dy.renew_cg()
    xs = [dy.inputVector([0.0]) for _ in range(4)]
    for _ in range(STEPS // 4):
        xs = [x + 1.0 for x in xs]
        both = dy.concatenate(xs)
        both.npvalue()
        xs = [dy.pick(both, i) for i in range(4)]
    return STEPS // 4


def concatenations(dy: Any, count: int) -> int:
    """Chained, so that each is a group of its own."""
    dy.renew_cg()
    xs = [dy.inputVector([0.1 * i]) for i in range(count)]
    for _ in range(STEPS // 4):
        xs = [*xs[1:], dy.sum_elems(dy.concatenate(xs))]
    xs[-1].forward()
    xs[-1].backward(full=True)
    return STEPS // 4


@case("concatenate of three scalars, its sum, and backward")
def three(dy: Any) -> int:
    return concatenations(dy, 3)


@case("concatenate of four scalars, its sum, and backward")
def four(dy: Any) -> int:
    return concatenations(dy, 4)


def side_by_side(dy: Any, count: int) -> int:
    """All of them in one or two groups."""
    dy.renew_cg()
    xs = [dy.inputVector([0.1 * i]) for i in range(count)]
    loss = dy.esum([dy.sum_elems(dy.concatenate(xs)) for _ in range(STEPS)])
    loss.forward()
    loss.backward(full=True)
    return STEPS


@case("the same, side by side: three")
def three_side_by_side(dy: Any) -> int:
    return side_by_side(dy, 3)


@case("the same, side by side: four")
def four_side_by_side(dy: Any) -> int:
    return side_by_side(dy, 4)


def selections(dy: Any, select: Callable[[Any], Any]) -> int:
    dy.renew_cg()
    x = dy.inputVector([0.1 * i for i in range(16)])
    loss = dy.esum([dy.sum_elems(select(x)) for _ in range(STEPS)])
    loss.forward()
    loss.backward(full=True)
    return STEPS


@case("x[3:7], its sum, and backward")
def slice_of_vector(dy: Any) -> int:
    return selections(dy, lambda x: x[3:7])


@case("pick_range(x, 3, 7), its sum, and backward")
def range_of_vector(dy: Any) -> int:
    return selections(dy, lambda x: dy.pick_range(x, 3, 7))


@case("windows of a vector of 2,000 by pick_range, backward")
def windows(dy: Any) -> int:
    dy.renew_cg()
    x = dy.inputVector([0.001 * i for i in range(2 * STEPS)])
    loss = dy.esum([dy.sum_elems(dy.pick_range(x, i, i + 10)) for i in range(STEPS)])
    loss.forward()
    loss.backward(full=True)
    return STEPS


@case("10,000 scalars computed at once, then read one by one")
def read_scalars(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    all_of_them = []
    for _ in range(10 * STEPS):
        z = z + 1.0
        all_of_them.append(z)
    z.forward()
    for x in all_of_them:
        x.value()
    return 10 * STEPS


@case("10,000 scalars that do not depend on each other, read one by one")
def read_separate_scalars(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    for x in [z + 0.001 * i for i in range(10 * STEPS)]:
        x.value()
    return 10 * STEPS


@case("a chain of additions, backward of a small loss at every tenth")
def small_losses(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    for i in range(2 * STEPS):
        z = z + 1.0
        if i % 10 == 9:
            loss = dy.square(dy.inputVector([0.5]))
            loss.value()
            loss.backward(full=True)
    return 2 * STEPS


@case("a chain of additions, gradient(square(z), [z]) at every step")
def gradients_as_nodes(dy: Any) -> int:
    dy.renew_cg()
    z = dy.inputVector([0.0])
    for _ in range(STEPS):
        z = z + 1.0
        dy.gradient(dy.square(z), [z])
    return STEPS


def serve(seconds: float) -> None:
    """Times the case of each line that comes."""
    import dynet as dy

    print(json.dumps(getattr(dy, "__file__", "?")), flush=True)
    for line in sys.stdin:
        function = CASES[json.loads(line)]
        best = float("inf")
        try:
            function(dy)
            end = time.perf_counter() + seconds
            while True:
                start = time.perf_counter()
                steps = function(dy)
                now = time.perf_counter()
                best = min(best, (now - start) / steps)
                if now > end:
                    break
        except Exception:  # the other library may not have it
            best = float("nan")
        print(json.dumps(best * 1e6), flush=True)


class Child:
    """One of the libraries that are timed."""

    def __init__(self, python: str, seconds: float, first_on_path: str = "") -> None:
        environment = dict(os.environ)
        if first_on_path:
            environment["PYTHONPATH"] = first_on_path
        else:
            environment.pop("PYTHONPATH", None)
        command = [python, __file__, "--serve", "--seconds", str(seconds)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.answer()

    def answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        while line and not line.startswith(('"', "N", *"0123456789")):  # its own output
            line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args} ended")
        return json.loads(line)

    def ask(self, name: str) -> float:
        assert self.process.stdin is not None
        print(json.dumps(name), file=self.process.stdin, flush=True)
        return float(self.answer())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peer", default="", help="interpreter of an environment with another DyNet"
    )
    parser.add_argument("--before", default="", help="folder with an older module of this library")
    parser.add_argument("--only", default="", help="cases whose name has this text")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.15, help="of a case in a round")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.seconds)
        return
    children = {"now": Child(sys.executable, options.seconds, os.environ.get("PYTHONPATH", ""))}
    if options.before:
        children["before"] = Child(sys.executable, options.seconds, options.before)
    if options.peer:
        children["peer"] = Child(options.peer, options.seconds)
    print(f"{'microseconds a step':68}" + "".join(f"{name:>9}" for name in children), end="")
    print("".join(f"{'/ ' + name:>9}" for name in children if name != "now"))
    for name in CASES:
        if options.only not in name:
            continue
        best = dict.fromkeys(children, float("inf"))
        for _ in range(options.rounds):
            for who, child in children.items():
                best[who] = min(best[who], child.ask(name))
        row = "".join(f"{value:9.3f}" for value in best.values())
        row += "".join(f"{best['now'] / best[w]:9.2f}" for w in best if w != "now")
        print(f"{name:68}{row}", flush=True)


if __name__ == "__main__":
    main()
