"""The garbage collector finds cycles through objects of the module that hold a program's
objects."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import dynet as dy
import pytest


class Twice:
    """An operation that may refer to anything."""

    attributes = ("factor",)

    def __init__(self) -> None:
        self.factor: Any = 2.0
        self.other: Any = None

    def forward(self, x: Any) -> Any:
        return 2.0 * x

    def backward(self, xs: Any, y: Any, dy_: Any) -> Any:
        return 2.0 * dy_


def assert_collected(make: Callable[[], Any]) -> None:
    """The object from `make` is in a cycle: only the collector ends it."""
    gc.collect()
    gc.disable()
    try:
        gone = weakref.ref(make())
        assert gone() is not None
        gc.collect()
        assert gone() is None
    finally:
        gc.enable()


def operation_and_graph() -> Twice:
    operation = Twice()
    operation.other = graph = dy.ComputationGraph()
    with graph:
        assert dy.apply(operation, dy.inputVector([1, 2])).npvalue().tolist() == [2, 4]
    return operation


class Held:
    """An attribute of an operation, or an example."""

    other: Any = None

    def __len__(self) -> int:
        return 1


def attribute_and_graph() -> Twice:
    operation = Twice()
    operation.factor = Held()
    operation.factor.other = operation.other = dy.ComputationGraph()
    with operation.other:
        dy.apply(operation, dy.inputVector([1, 2]))
    gone = operation.factor
    operation.factor = 3.0  # the node has it still
    operation.other = None
    return gone


class Corpus(list):
    other: Any = None


def bucketed_of_a_sequence() -> Corpus:
    data = Corpus(["a", "bb", "ccc"])
    data.other = dy.bucketed(data, size=2)
    next(data.other)
    return data


class Opened:
    def __init__(self) -> None:
        self.other: Any = None

    def __call__(self) -> Iterator[str]:
        return iter(["a", "bb", "ccc"])

    def length(self, _: Any) -> int:
        return 1


def bucketed_of_a_function() -> Opened:
    opened = Opened()
    opened.other = dy.bucketed(opened, size=2)
    return opened


def bucketed_with_a_length() -> Opened:
    opened = Opened()
    opened.other = dy.bucketed(["a", "bb"], length=opened.length, size=1)
    return opened


class Source:
    """An iterator in the middle of its epoch, and items that wait for their batch."""

    def __init__(self) -> None:
        self.other: Any = None
        self.left = 9

    def __iter__(self) -> Source:
        return self

    def __next__(self) -> Any:
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return Held()


def bucketed_in_the_middle() -> Source:
    source = Source()
    weak = weakref.ref(source)
    source.other = dy.bucketed(lambda: weak(), size=2, window=4)
    next(source.other)
    return source


def bucketed_with_items() -> Held:
    items = [Held() for _ in range(8)]
    batches = dy.bucketed(iter([items]).__next__, size=2, window=4)
    taken = next(batches)
    waiting = next(item for item in items if not any(item is other for other in taken))
    waiting.other = batches
    return waiting


@pytest.mark.parametrize(
    "make",
    [
        operation_and_graph,
        attribute_and_graph,
        bucketed_of_a_sequence,
        bucketed_of_a_function,
        bucketed_with_a_length,
        bucketed_in_the_middle,
        bucketed_with_items,
    ],
)
def test_cycles_are_collected(make: Callable[[], Any]) -> None:
    assert_collected(make)


def test_what_a_thread_works_with_is_not_collected() -> None:
    operation = Twice()
    with dy.ComputationGraph():
        operation.other = dy.cg()
        y = dy.apply(operation, dy.inputVector([1, 2]))
        weak = weakref.ref(operation)
        del operation
        gc.collect()
        assert weak() is not None and y.npvalue().tolist() == [2, 4]
    gc.collect()
    assert weak() is None


def test_a_finalizer_may_use_what_is_collected() -> None:
    told: list[Any] = []

    class Last(Twice):
        def __del__(self) -> None:
            told.append(self.y.npvalue().tolist())
            told.append(next(self.batches))

    def make() -> None:
        last = Last()
        last.batches = dy.bucketed(lambda: [last], length=lambda _: 1, size=1)
        last.other = dy.ComputationGraph()
        with last.other:
            last.y = dy.apply(last, dy.inputVector([1, 2]))

    make()
    gc.collect()
    assert told[0] == [2, 4] and type(told[1][0]).__name__ == "Last"
    told.clear()
    gc.collect()


POOL = """
import gc, weakref
import dynet_config
dynet_config.set(shared_parameters=1, random_seed=1)
import dynet as dy

class Task:
    def __init__(self):
        self.m = dy.ParameterCollection()
        self.p = self.m.add_parameters(2)
        self.pool = dy.WorkerPool(self.m, self.loss, workers=1, score=self.score)
    def loss(self, examples):
        return dy.squared_norm(self.p) * len(examples)
    def score(self, examples):
        return float(len(examples))

task = Task()
assert task.pool.evaluate([0, 1, 2]) == 3.0
weak, pids = weakref.ref(task), task.pool.pids
assert len(pids) == 1
gc.collect()
assert weak() is task
gc.disable()
del task
gc.collect()
print(weak())
"""


def test_a_cycle_through_a_pool_of_workers_is_collected() -> None:
    done = subprocess.run(
        [sys.executable, "-c", POOL], capture_output=True, text=True, env=os.environ, check=False
    )
    assert (done.stdout, done.stderr) == ("None\n", "")
