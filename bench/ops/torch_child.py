"""Times the operations of cases.txt in PyTorch, as `dynet_bench --as-child ops` does in DyNet.

In:  lines "seconds of a round, rounds, case".
Out: a line each, "numbers forward backward": how many numbers the value has, and the least CPU
     seconds of `f(x)`, and of `f(x)`, its sum, and the gradients of all arguments; 0 where there is
     none. "none" where there is no such case.
"""

from __future__ import annotations

import gc
import sys
import time
from typing import Callable

import peers_of_numbers  # noqa: F401
import peers_of_parts  # noqa: F401
import torch
from case import case_of
from registry import PEERS, tensors_of


def least_seconds(f: Callable[[], object], round_seconds: float, rounds: int) -> float:
    """Of one call."""

    def timed(calls: int) -> float:
        start = time.process_time()
        for _ in range(calls):
            f()
        return (time.process_time() - start) / calls

    timed(1)
    calls, best = 1, timed(1)
    while best * calls < round_seconds / 2 and calls < 1 << 20:
        calls *= 2
        best = timed(calls)
    return min(best, *(timed(calls) for _ in range(rounds)))


def answer(text: str, round_seconds: float, rounds: int) -> str:
    """Of one case."""
    case = case_of(text)
    if case.name not in PEERS:
        return "none"
    torch.manual_seed(1)
    f = PEERS[case.name](case)
    xs = tensors_of(case)
    numbers = f(*xs).numel()
    forward = least_seconds(lambda: f(*xs), round_seconds, rounds)
    for x in xs:
        x.requires_grad_()
    if not xs or not f(*xs).requires_grad:
        return f"{numbers} {forward:.9g} 0"

    def both() -> None:
        torch.autograd.grad(f(*xs).sum(), xs, allow_unused=True)

    return f"{numbers} {forward:.9g} {least_seconds(both, round_seconds, rounds):.9g}"


def main() -> None:
    """Serves until its input ends."""
    torch.set_num_threads(1)
    gc.disable()
    print(torch.__version__, flush=True)
    for line in sys.stdin:
        seconds, rounds, text = line.rstrip("\n").split(" ", 2)
        print(answer(text, float(seconds), int(rounds)), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
