"""The quick way into a function (quick.h) does what the usual one does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import dynet as dy
import numpy as np
import pytest


class World:
    def __init__(self) -> None:
        dy.renew_cg()
        self.m = dy.ParameterCollection()
        self.W = self.m.add_parameters((3, 3))
        self.E = self.m.add_lookup_parameters((5, 3))
        self.lstm = dy.VanillaLSTMBuilder(1, 3, 2, self.m)
        self.tree = dy.BinaryTreeLSTMBuilder(3, 2, self.m)
        self.x = dy.inputVector([1.0, 2.0, 3.0])
        self.y = dy.inputVector([0.5, -1.0, 4.0])


class Number:
    """An index in the user's own code."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class OwnList(list):  # type: ignore[type-arg]
    pass


Call = Callable[[World], Any]

# The first of each row takes the quick way, the others do not.
SAME: list[list[Call]] = [
    [lambda w: dy.tanh(w.x), lambda w: dy.tanh(x=w.x)],
    [
        lambda w: dy.cmult(w.x, w.y),
        lambda w: dy.cmult(y=w.y, x=w.x),
        lambda w: dy.cmult(w.x, y=w.y),
    ],
    [lambda w: dy.tanh(w.W), lambda w: dy.tanh(x=w.W)],
    [
        lambda w: dy.concatenate([w.x, w.y]),
        lambda w: dy.concatenate((w.x, w.y)),
        lambda w: dy.concatenate([w.x, w.y], 0),
        lambda w: dy.concatenate([w.x, w.y], d=-1),
        lambda w: dy.concatenate(x for x in (w.x, w.y)),
        lambda w: dy.concatenate(OwnList([w.x, w.y])),
        lambda w: dy.concatenate(xs=[w.x, w.y]),
    ],
    [
        lambda w: dy.pickneglogsoftmax(w.x, 1),
        lambda w: dy.pickneglogsoftmax(w.x, True),
        lambda w: dy.pickneglogsoftmax(w.x, 1.0),
        lambda w: dy.pickneglogsoftmax(w.x, np.int64(1)),
        lambda w: dy.pickneglogsoftmax(w.x, Number(1)),
        lambda w: dy.pickneglogsoftmax(v=1, x=w.x),
    ],
    [
        lambda w: dy.pickneglogsoftmax_batch(dy.lookup_batch(w.E, [1, 2]), [0, 2]),
        lambda w: dy.pickneglogsoftmax_batch(dy.lookup_batch(w.E, np.array([1, 2])), (0.0, 2.0)),
    ],
    [
        lambda w: dy.clip(w.y, -0.5, 2.5),
        lambda w: dy.clip(w.y, np.float32(-0.5), 2.5),
        lambda w: dy.clip(w.y, hi=2.5, lo=-0.5),
    ],
    [
        lambda w: w.lstm.initial_state().add_input(w.x).output(),
        lambda w: w.lstm.initial_state().add_input(x=w.x).output(),
        lambda w: w.lstm.initial_state().transduce([w.x])[0],
        lambda w: w.lstm.initial_state().transduce(xs=iter([w.x]))[0],
    ],
    [
        lambda w: w.tree.add_input(w.tree.add_input(w.x), w.tree.add_input(w.y)).h,
        lambda w: w.tree.add_input(right=w.tree.add_input(x=w.y), left=w.tree.add_input(x=w.x)).h,
    ],
]


@pytest.mark.parametrize("calls", SAME)
def test_both_ways_give_the_same(calls: list[Call]) -> None:
    w = World()
    first, *others = [call(w).npvalue() for call in calls]
    for other in others:
        np.testing.assert_array_equal(first, other)


# Mistakes that only the C++ function finds, and such as the reader of an argument finds.
WRONG: list[tuple[Call, Call]] = [
    (
        lambda w: dy.cmult(w.x, dy.inputVector([1, 2])),
        lambda w: dy.cmult(x=w.x, y=dy.inputVector([1, 2])),
    ),
    (lambda w: dy.pickneglogsoftmax(w.x, 7), lambda w: dy.pickneglogsoftmax(x=w.x, v=7)),
    (lambda w: dy.pickneglogsoftmax(w.x, -1), lambda w: dy.pickneglogsoftmax(x=w.x, v=-1)),
    (lambda w: dy.pickneglogsoftmax(w.x, 2**70), lambda w: dy.pickneglogsoftmax(x=w.x, v=2**70)),
    (lambda w: dy.concatenate([]), lambda w: dy.concatenate(xs=[])),
    (lambda w: dy.concatenate([w.x, 3]), lambda w: dy.concatenate(xs=[w.x, 3])),
    (lambda w: dy.tanh(None), lambda w: dy.tanh(x=None)),
    (
        lambda w: dy.tanh(dy.Expression.__new__(dy.Expression)),
        lambda w: dy.tanh(x=dy.Expression.__new__(dy.Expression)),
    ),
    (
        lambda w: w.lstm.initial_state().add_input(dy.inputVector([1, 2])),
        lambda w: w.lstm.initial_state().add_input(x=dy.inputVector([1, 2])),
    ),
    (
        lambda w: w.lstm.initial_state().transduce([w.x, "a"]),
        lambda w: w.lstm.initial_state().transduce(xs=[w.x, "a"]),
    ),
    (lambda w: w.tree.add_input(3, 4), lambda w: w.tree.add_input(left=3, right=4)),
]


@pytest.mark.parametrize("quick, usual", WRONG)
def test_both_ways_tell_the_same(quick: Call, usual: Call) -> None:
    told = []
    for call in (quick, usual):
        with pytest.raises(Exception) as raised:
            call(World())
        told.append(
            (raised.type, str(raised.value).split("\n  called at ")[0].split(" built at ")[0])
        )
    assert told[0][0] is told[1][0]
    assert told[0][1].splitlines()[0] == told[1][1].splitlines()[0]


def test_an_error_on_the_quick_way_names_the_line() -> None:
    w = World()
    line = sys._getframe().f_lineno + 2
    with pytest.raises(dy.IndexError) as raised:
        dy.pickneglogsoftmax(w.x, 7)
    assert f"test_quick_ways.py:{line}" in str(raised.value)


def test_objects_are_released() -> None:
    """Arguments and results of the quick way are counted as they must be."""
    w = World()
    xs = [w.x, w.y]
    state = w.lstm.initial_state()
    before = [sys.getrefcount(it) for it in (xs, w.x, state)]
    for _ in range(10):
        dy.concatenate(xs)
        dy.tanh(w.x)
        state.transduce(xs)
        state.add_input(w.x).output()
    gc.collect()
    assert [sys.getrefcount(it) for it in (xs, w.x, state)] == before
