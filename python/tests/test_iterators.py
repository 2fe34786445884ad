"""Iterators as arguments: each gives its entries once, and every reading of a call has them all."""

from __future__ import annotations

import gc
import itertools
import os
import sys
import tempfile
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

    def populated(self, names: Iterable[str]) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.safetensors")
            saved, read = dy.ParameterCollection(), dy.ParameterCollection()
            for m, value in (saved, 1.0), (read, 2.0):
                m.add_parameters(2, init=value, name="W")
            saved.save(file)
            dy.SafetensorsLoader(file).populate(read, names=names)
            return read.parameters_list()[0].as_array().tolist()

    def valued(self, values: Iterable[float]) -> Any:
        p = self.m.add_parameters(2)
        p.set_value(values)
        return p.as_array().tolist()

    def rows(self, values: Iterable[Any]) -> Any:
        table = self.m.add_lookup_parameters((3, 2), init=0.0)
        table.init_from_array(values)
        return table.as_array().tolist()


Once = Callable[[Iterable[Any]], Any]


def listed(e: dy.Expression) -> Any:
    return e.npvalue().tolist()


# The calls for each list of arguments, which `once` turns into an iterator.
CALLS: list[Callable[[World, Once], Any]] = [
    lambda w, once: listed(dy.log_softmax(w.x, once([0, 2]))),
    lambda w, once: listed(dy.log_softmax(w.x, once([0, 2]), 0)),
    lambda w, once: listed(w.dot.attend(dy.ones(2), w.dot.read(w.X, once([2])))),
    lambda w, once: listed(w.dot.attend(dy.ones(2), w.dot.read(w.X, w.X, once([2])))),
    lambda w, once: listed(w.decoder.add_input(w.decoder.start(w.X, once([2])), dy.ones(2)).output()),
    lambda w, once: listed(w.crf.neg_log_likelihood(w.X, once([0, 1, 1]))),
    lambda w, once: listed(w.crf.neg_log_likelihood(w.X, once([[0, 1, 1]]))),
    lambda w, once: listed(w.crf.neg_log_likelihood(w.X, once([once([0, 1, 1])]))),
    lambda w, once: w.crf.viterbi(w.X, once([2])),
    lambda w, once: listed(dy.sequence_loss(w.x, once([1]))),
    lambda w, once: listed(dy.sequence_loss(dy.concatenate_to_batch([w.x] * 2), once([None, 1]))),
    lambda w, once: dy.Dict(once("ab")).get_words(),
    lambda w, once: dy.Dict(words=once([])).get_words(),
    lambda w, once: w.populated(once(["/W"])),
    lambda w, once: w.valued(once([1.0, 2])),
    lambda w, once: w.valued(once([np.float64(1), np.int64(2)])),
    lambda w, once: listed(dy.sparse_inputTensor(once([once([0]), [1]]), once([5.0]), (2, 3))),
    lambda w, once: w.rows(once([[1.0, 2.0], [3.0, 4.0]])),
    lambda w, once: w.m.parameters_from_numpy(once([1.0, 2.0])).as_array().tolist(),
    lambda w, once: listed(w.gru.initial_state_from_raw_vectors(once([once([1, 2, 3])])).s()[0]),
    lambda w, once: listed(w.gru.initial_state_from_raw_vectors(once([range(3)])).s()[0]),
    # mended: any object is a flag
    lambda w, once: listed(dy.lookup_batch(w.E, once([1, 2]), 1)),
    lambda w, once: listed(dy.lookup_batch(w.E, once([1, 2]), np.bool_(False))),
    lambda w, once: listed(dy.sum_dim(w.X, once([0]), 0)),
    lambda w, once: listed(dy.sum_dim(w.X, once([0]), None)),
    lambda w, once: listed(dy.concatenate(once([w.x, w.x]), np.int64(0))),
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
        lambda: dy.Dict(str(int(word)) for word in "x"),
        lambda: dy.sequence_loss(w.x, map(int, "x")),
        lambda: w.valued(map(int, "x")),
        lambda: w.gru.initial_state_from_raw_vectors([map(int, "x")]),
        lambda: w.gru.initial_state_from_raw_vectors([1.0] for _ in range(int("x"))),
        lambda: w.populated(str(int(word)) for word in "x"),
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


@pytest.mark.parametrize("kind", [list, iter])
def test_a_wrong_entry_of_a_list_of_texts_labels_or_vectors_is_named(kind: Once) -> None:
    w = World()
    with pytest.raises(TypeError, match=r"Dict: words\[1\] is 2, of type int; want text"):
        dy.Dict(kind(["a", 2]))
    with pytest.raises(
        TypeError, match=r"Dict: words\[0\] is .*; want text without lone surrogates"
    ):
        dy.Dict(kind(["\ud800"]))
    with pytest.raises(TypeError, match=r"sequence_loss: labels\[1\] is 'b', of type str; want a"):
        dy.sequence_loss(w.x, kind([None, "b"]))
    with pytest.raises(dy.RangeError, match=r"sequence_loss: labels\[0\] is -1; want a whole"):
        dy.sequence_loss(w.x, kind([-1]))
    with pytest.raises(TypeError, match=r"populate: names\[0\] is 1, of type int; want text"):
        w.populated(kind([1]))
    with pytest.raises(TypeError, match=r"from_raw_vectors: vecs\[1\] is \{2\}, of type set; want"):
        w.gru.initial_state_from_raw_vectors(kind([[1.0, 2.0, 3.0], {2}]))
    with pytest.raises(TypeError, match=r"labels is 3, .*; want a list of whole numbers or None"):
        dy.sequence_loss(w.x, 3)  # type: ignore[arg-type]


def test_what_has_no_order_is_no_list() -> None:
    with pytest.raises(
        TypeError, match=r"Dict: words is \{'a'\}, of type set; want a list of texts"
    ):
        dy.Dict({"a"})
    with pytest.raises(TypeError, match=r"Dict: words is 'ab', of type str; want a list of texts"):
        dy.Dict("ab")


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
