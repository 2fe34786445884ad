"""Iterators as arguments: each gives its entries once, and every reading of a call has them all."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import dynet as dy
import numpy as np
import pytest


class World:
    def __init__(self) -> None:
        dy.renew_cg()
        self.m = dy.ParameterCollection()
        self.E = self.m.add_lookup_parameters((5, 3))
        self.x = dy.inputVector([1.0, 2.0, 3.0])
        self.X = dy.inputTensor(np.arange(6.0).reshape(2, 3))
        self.dot = dy.DotAttentionBuilder(2, self.m)
        self.decoder = dy.TransformerDecoderBuilder(1, 2, 1, 2, self.m)
        self.crf = dy.CRFBuilder(2, self.m)
        self.gru = dy.GRUBuilder(1, 3, 3, self.m)


Once = Callable[[Iterable[Any]], Any]


def listed(e: dy.Expression) -> Any:
    return e.npvalue().tolist()


# What is asked of each list of arguments, which `once` makes an iterator of.
CALLS: list[Callable[[World, Once], Any]] = [
    lambda w, once: listed(dy.log_softmax(w.x, once([0, 2]))),
    lambda w, once: listed(dy.log_softmax(w.x, once([0, 2]), None)),
    lambda w, once: listed(w.dot.attend(dy.ones(2), w.dot.read(w.X, once([2])))),
    lambda w, once: listed(w.dot.attend(dy.ones(2), w.dot.read(w.X, w.X, once([2])))),
    lambda w, once: listed(w.decoder.add_input(w.decoder.start(w.X, once([2])), dy.ones(2)).output()),
    lambda w, once: listed(w.crf.neg_log_likelihood(w.X, once([0, 1, 1]))),
    lambda w, once: listed(w.crf.neg_log_likelihood(w.X, once([[0, 1, 1]]))),
    lambda w, once: listed(w.crf.neg_log_likelihood(w.X, once([once([0, 1, 1])]))),
    lambda w, once: w.crf.viterbi(w.X, once([2])),
    # mended: a flag is 0 or 1, what has a default is None
    lambda w, once: listed(dy.lookup_batch(w.E, once([1, 2]), 1)),
    lambda w, once: listed(dy.lookup_batch(w.E, once([1, 2]), np.bool_(False))),
    lambda w, once: listed(dy.sum_dim(w.X, once([0]), 0)),
    lambda w, once: listed(dy.sum_dim(w.X, once([0]), None)),
    lambda w, once: listed(dy.concatenate(once([w.x, w.x]), None)),
    lambda w, once: listed(w.gru.initial_state(once([w.x]), 1).h()[0]),
    lambda w, once: listed(w.gru.initial_state(vecs=once([w.x]), update=0).h()[0]),
]  # fmt: skip


@pytest.mark.parametrize("kind", [iter, itertools.chain, lambda entries: (x for x in entries)])
@pytest.mark.parametrize("call", CALLS)
def test_an_iterator_is_as_good_as_a_list(call: Callable[[World, Once], Any], kind: Once) -> None:
    world = World()
    assert call(world, kind) == call(world, list)


def test_what_an_iterator_raises_comes_through_whoever_wrote_it() -> None:
    w = World()
    for call in (
        lambda: dy.lookup_batch(w.E, map(int, ["1", "x", "2"])),
        lambda: dy.log_softmax(w.x, map(int, ["1", "x", "2"])),
        lambda: dy.lookup_batch(w.E, map(int, ["x", "1"]), 1),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="invalid literal for int"):
            call()


def test_an_iterator_is_read_once() -> None:
    w, given = World(), []

    def indices() -> Iterator[int]:
        for i in (1, 2):
            given.append(i)
            yield i

    dy.log_softmax(w.x, indices())
    assert given == [1, 2]


def test_the_next_call_reads_what_is_left() -> None:
    w, numbers = World(), iter([0, 1, 2])
    next(numbers)
    assert dy.lookup_batch(w.E, numbers).dim() == ((3,), 2)
    with pytest.raises(ValueError, match="the list of indices is empty"):
        dy.lookup_batch(w.E, numbers)


class Own(Exception):
    pass


def failing(x: Any) -> Iterator[Any]:
    yield x
    raise Own("mine")


def test_calls_within_a_call_have_notes_of_their_own() -> None:
    w = World()

    def indices() -> Iterator[int]:
        with pytest.raises(Own):
            dy.log_softmax(w.x, failing(1))
        with pytest.raises(TypeError, match="tanh: x is 3"):
            dy.tanh(3)  # type: ignore[arg-type]
        yield 1
        assert listed(dy.log_softmax(w.x, (i for i in (0, 2)))) == listed(
            dy.log_softmax(w.x, [0, 2])
        )
        yield 2

    assert dy.lookup_batch(w.E, indices(), 1).dim() == ((3,), 2)  # type: ignore[arg-type]

    class Index:
        def __index__(self) -> int:
            assert dy.lookup_batch(w.E, [1]).dim() == ((3,), 1)
            raise Own("mine")

    with pytest.raises(Own):
        dy.log_softmax(w.x, [Index()])  # type: ignore[list-item]


def test_a_wrong_entry_is_named() -> None:
    w = World()
    with pytest.raises(TypeError, match=r"lookup_batch: indices\[1\] is 'a', of type str; want a"):
        dy.lookup_batch(w.E, (i for i in [0, "a"]))  # type: ignore[misc]
    with pytest.raises(
        IndexError, match=r"lookup_batch: indices\[1\] is -1; want a row from 0 to 4"
    ):
        dy.lookup_batch(w.E, iter([0, -1]))


def test_a_misfit_is_told_of_its_own_call() -> None:
    w = World()
    for successful in (
        lambda: w.dot.read(w.X, [2]),
        lambda: w.x.__add__(2.0),
        lambda: dy.log_softmax(w.x, [0]),
    ):
        successful()
        with pytest.raises(TypeError, match=r"ParameterCollection\.add_subcollection: name is 5"):
            w.m.add_subcollection(5)  # type: ignore[arg-type]


def test_a_call_keeps_nothing() -> None:
    w, numbers = World(), iter([1, 2])
    before = [sys.getrefcount(it) for it in (numbers, w.x)]
    dy.log_softmax(w.x, numbers)
    dy.concatenate(x for x in [w.x, w.x])
    with pytest.raises(TypeError):
        dy.cmult(w.x, numbers)  # type: ignore[arg-type]
    gc.collect()
    assert [sys.getrefcount(it) for it in (numbers, w.x)] == before


def test_threads_have_notes_of_their_own() -> None:
    w, results = World(), []
    inside, done = threading.Event(), threading.Event()

    def slow() -> Iterator[int]:
        yield 1
        inside.set()
        assert done.wait(60)
        yield 2

    def other() -> None:
        assert inside.wait(60)
        try:
            m = dy.ParameterCollection()
            table = m.add_lookup_parameters((5, 3))
            results.append(dy.lookup_batch(table, (i for i in [0, 3]), 0).dim())  # type: ignore[arg-type]
            with pytest.raises(TypeError, match="tanh: x is 3"):
                dy.tanh(3)  # type: ignore[arg-type]
            with pytest.raises(Own):
                dy.lookup_batch(table, failing(1))
        finally:
            done.set()

    thread = threading.Thread(target=other)
    thread.start()
    results.append(dy.lookup_batch(w.E, slow(), 1).dim())  # type: ignore[arg-type]
    thread.join()
    assert results == [((3,), 2), ((3,), 2)]
