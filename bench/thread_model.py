#!/usr/bin/env python3
"""Predicts the gain of more threads inside a graph, by the rules of src/kernels/team.cc.

A plan is the time that cannot be cut (building the graph, scheduling, small loops) and loops that
can be, each with its work in microseconds. A loop below the break-even stays whole; else it has one
share for each 2 us of work, up to the number of threads, and costs its longest share and a meeting.
The threads are awake: only the first loop has to be long enough to wake them. A meeting costs some
time between two threads, and a little for each thread more, as the caller offers and looks at the
shares in turn.

    bench/thread_model.py --serial 2000 --loops 60x130 --loops 60x260 --loops 3x2500
"""

from __future__ import annotations

import argparse

BREAK_EVEN = 5.0  # kBreakEven and kLeastShare of team.cc, in microseconds
LEAST_SHARE = 2.0


def time_of_loop(work: float, threads: int, meeting: float, each: float) -> float:
    """Microseconds of one loop."""
    if threads == 1 or work < BREAK_EVEN:
        return work
    shares = max(2, min(threads, int(work / LEAST_SHARE)))
    return work / shares + meeting + each * (shares - 2)


def time_of_plan(
    serial: float, loops: list[tuple[int, float]], threads: int, meeting: float, each: float
) -> float:
    """Microseconds of a plan."""
    return serial + sum(n * time_of_loop(work, threads, meeting, each) for n, work in loops)


def main() -> None:
    """Prints a table."""
    form = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--serial", type=float, required=True, help="us that are not cut")
    parser.add_argument("--loops", action="append", default=[], help="NxW: N loops of W us each")
    parser.add_argument("--meeting", type=float, default=1.0, help="us for two threads (1)")
    parser.add_argument("--each", type=float, default=0.15, help="us for each thread more (0.15)")
    args = parser.parse_args()
    loops = [(int(n), float(w)) for n, w in (text.split("x") for text in args.loops)]
    alone = time_of_plan(args.serial, loops, 1, args.meeting, args.each)
    print(f"{'threads':>8} {'us':>10} {'times as fast':>14}")
    for threads in (1, 2, 4, 8, 16, 32, 64):
        time = time_of_plan(args.serial, loops, threads, args.meeting, args.each)
        print(f"{threads:8d} {time:10.0f} {alone / time:14.2f}")


if __name__ == "__main__":
    main()
