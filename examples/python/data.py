"""Code shared by the readers of all programs: errors with a place, random orders."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeVar

Item = TypeVar("Item")


class DataError(ValueError):
    """Data that cannot be read; ``line`` and ``column`` count from 1."""

    def __init__(self, file: str, line: int, column: int, reason: str) -> None:
        super().__init__(f"{file}:{line}:{column}: {reason}")
        self.line = line
        self.column = column


def check_not_blank(file: str, found: list[Item]) -> list[Item]:
    """The contents of a file. DataError if there are none."""
    if not found:
        raise DataError(file, 1, 1, "nothing but blank lines in this file")
    return found


class Random:
    """Random integers that are the same as in C++: the words of mt19937, scaled.

    The state is filled as by ``std::mt19937(seed)`` of C++. (``random.Random`` with ``seed`` fills
    the state in another way.)
    """

    def __init__(self, seed: int) -> None:
        state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            before = state[-1]
            state.append((1812433253 * (before ^ (before >> 30)) + i) & 0xFFFFFFFF)
        engine = random.Random()
        engine.setstate((3, (*state, 624), None))
        self._bits = engine.getrandbits

    def below(self, n: int) -> int:
        """In [0, n): the upper half of a word times n."""
        return (self._bits(32) * n) >> 32


def random_order(n: int, source: Random) -> list[int]:
    """A random order of [0, n) (Fisher and Yates, from the back)."""
    order = list(range(n))
    for i in range(n, 1, -1):
        j = source.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def minibatches(seed: int, examples: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Goes over all examples again and again, each time in a new random order, some of them an
    update. The last update of a pass may have fewer: none mixes two passes."""
    source = Random(seed)

    def make_pass() -> list[list[Item]]:
        ordered = [examples[i] for i in random_order(len(examples), source)]
        return [ordered[i : i + size] for i in range(0, len(ordered), size)]

    return chain.from_iterable(iter(make_pass, []))


def updates_an_epoch(examples: int, size: int) -> int:
    """How many ``minibatches`` has of a pass over so many examples."""
    return -(-examples // size)
