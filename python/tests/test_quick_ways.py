"""The quick way into a function (quick.h) does the same as the usual way."""

from __future__ import annotations

import array
import gc
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import _dynet
import dynet as dy
import numpy as np
import pytest
from far import PRELUDE


class World:
    def __init__(self) -> None:
        dy.renew_cg()
        self.m = dy.ParameterCollection()
        self.W = self.m.add_parameters((3, 3))
        self.E = self.m.add_lookup_parameters((5, 3))
        self.lstm = dy.VanillaLSTMBuilder(1, 3, 2, self.m)
        self.both = dy.BiRNNBuilder(1, 3, 4, self.m, dy.GRUBuilder)
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


class OwnExpression(dy.Expression):
    def __init__(self) -> None:
        pass  # and so it holds no expression


Call = Callable[[World], Any]


def ways(w: World) -> tuple[Any, Any]:
    return w.both.builder_layers[0]


def starts(w: World) -> list[dy.RNNState]:
    return [builder.initial_state() for builder in ways(w)]


# Functions that programs call at every node.
HOT = [
    dy.affine_transform,
    dy.clip,
    dy.cmult,
    dy.concatenate,
    dy.dropout,
    dy.log_softmax,
    dy.logistic,
    dy.pick,
    dy.pickneglogsoftmax,
    dy.pickneglogsoftmax_batch,
    dy.rectify,
    dy.softmax,
    dy.tanh,
    dy.RNNState.add_input,
    dy.RNNState.add_inputs,
    dy.RNNState.transduce,
    dy.RNNState.output,
    dy.renew_cg,
    dy.Expression.npvalue,
    dy.Expression.scalar_value,
    dy.Expression.value,
    dy.Expression.vec_value,
    dy.BinaryTreeLSTMBuilder.add_input,
    dy.BinaryTreeLSTMBuilder.transduce,
    dy.LookupParameters.rows,
    dy.TreeState.h.fget,  # type: ignore[attr-defined]
    _dynet._transduce_both,
    _dynet._back_of_both,
    _dynet._add_inputs_both,
]


@pytest.mark.parametrize("function", HOT, ids=lambda f: f.__qualname__)
def test_hot_functions_have_a_quick_way(function: Any) -> None:
    assert _dynet._has_quick_way(function)


def test_others_have_none() -> None:
    for function in (dy.cg_revert, dy.reshape, dy.RNNState.prev, len, 3):
        assert not _dynet._has_quick_way(function)


# Calls of one row give the same numbers: by position with plain arguments, which is the quick way,
# and in other forms, most of which take the usual way.
SAME: list[list[Call]] = [
    [lambda w: dy.tanh(w.x), lambda w: dy.tanh(x=w.x)],
    [
        lambda w: dy.cmult(w.x, w.y),
        lambda w: dy.cmult(y=w.y, x=w.x),
        lambda w: dy.cmult(w.x, y=w.y),
    ],
    [lambda w: dy.tanh(w.W), lambda w: dy.tanh(x=w.W)],
    [
        lambda w: dy.log_softmax(w.x),
        lambda w: dy.log_softmax(x=w.x),
        lambda w: dy.log_softmax(w.x, None),
        lambda w: dy.log_softmax(w.x, [0, 1, 2]),
    ],
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
        lambda w: w.lstm.initial_state().add_inputs([w.x])[0].output(),
        lambda w: w.lstm.initial_state().add_inputs(xs=iter([w.x]))[0].output(),
    ],
    [
        lambda w: w.tree.add_input(w.tree.add_input(w.x), w.tree.add_input(w.y)).h,
        lambda w: w.tree.add_input(right=w.tree.add_input(x=w.y), left=w.tree.add_input(x=w.x)).h,
    ],
    [
        lambda w: _dynet._transduce_both(*ways(w), [w.x, w.y])[1],
        lambda w: _dynet._transduce_both(*ways(w), (w.x, w.y))[1],
        lambda w: _dynet._transduce_both(*ways(w), iter([w.x, w.y]))[1],
        lambda w: _dynet._transduce_both(backward=ways(w)[1], es=[w.x, w.y], forward=ways(w)[0])[1],
    ],
    [
        lambda w: dy.concatenate([w.E[i] for i in (3, 0, 3)]),
        lambda w: dy.concatenate(w.E.rows([3, 0, 3])),
        lambda w: dy.concatenate(w.E.rows(np.array([3, 0, 3]))),
        lambda w: dy.concatenate(w.E.rows(indices=(i for i in (3, 0, 3)))),
    ],
    [
        lambda w: _dynet._back_of_both(*ways(w), [w.x, w.y]),
        lambda w: _dynet._back_of_both(*ways(w), es=iter([w.x, w.y])),
    ],
]


@pytest.mark.parametrize("calls", SAME)
def test_both_ways_give_the_same(calls: list[Call]) -> None:
    w = World()
    first, *others = [call(w).npvalue() for call in calls]
    for other in others:
        np.testing.assert_array_equal(first, other)


class OwnArray(np.ndarray):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter([1, 1])


FORMS: dict[str, Callable[[list[int]], Any]] = {
    **{f"array {code}": lambda v, c=code: array.array(c, v) for code in "bBhHiIlLqQ"},
    **{f"numpy {code}": lambda v, c=code: np.array(v, c) for code in "bBhHiIlLqQfd"},
    "big endian": lambda v: np.array(v, ">i4"),
    "every second": lambda v: np.repeat(np.array(v), 2)[::2],
    "backwards": lambda v: np.array(v[::-1])[::-1],
    "objects": lambda v: np.array(v, object),
    "unaligned": lambda v: np.frombuffer(b"." + np.array(v, "i8").tobytes(), "i8", len(v), 1),
    "view": lambda v: memoryview(array.array("i", v)),
    "bytearray": bytearray,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_indices_in_arrays_of_any_kind(form: Callable[[list[int]], Any]) -> None:
    w = World()
    for indices in ([3, 0, 3], [4], []):
        want = [w.E[i].npvalue() for i in indices]
        got = [row.npvalue() for row in w.E.rows(form(indices))]
        np.testing.assert_array_equal(got, want)
    with pytest.raises(dy.IndexError, match="lookup: index is 5; want less than 5"):
        w.E.rows(form([1, 5]))
    assert dy.lookup_batch(w.E, form([1, 2])).dim() == ((3,), 2)


def test_places_in_arrays_count_from_the_end() -> None:
    w = World()
    for form in (np.array, lambda v: array.array("i", v), list):
        got = dy.select_rows(w.x, form([-1, 0])).npvalue()
        np.testing.assert_array_equal(got, [3.0, 1.0])
        with pytest.raises(dy.IndexError, match="select_rows"):
            dy.select_rows(w.x, form([-4]))


def test_arrays_that_are_no_lists_of_indices() -> None:
    w = World()
    for wrong in (np.array([[1, 2]]), np.array([1.5]), array.array("f", [0.5]), np.array(["a"])):
        with pytest.raises(dy.TypeError, match="rows"):
            w.E.rows(wrong)
    too_large = np.array([2**63], "u8")
    for wrong in (np.array([2, -1]), np.array([2**40]), array.array("q", [-(2**40)]), too_large):
        with pytest.raises(dy.IndexError, match="rows"):
            w.E.rows(wrong)
    # The answers of a program's own class count.
    assert len(w.E.rows(np.array([1, 2, 3]).view(OwnArray))) == 2


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
    (lambda w: dy.tanh(OwnExpression()), lambda w: dy.tanh(x=OwnExpression())),
    (lambda w: dy.cmult(w.x, OwnExpression()), lambda w: dy.cmult(x=w.x, y=OwnExpression())),
    (
        lambda w: dy.concatenate([w.x, OwnExpression()]),
        lambda w: dy.concatenate(xs=[w.x, OwnExpression()]),
    ),
    (lambda w: dy.log_softmax(3), lambda w: dy.log_softmax(x=3)),
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
    (
        lambda w: _dynet._add_inputs_both(*starts(w), [w.x, "a"]),
        lambda w: _dynet._add_inputs_both(*starts(w), es=[w.x, "a"]),
    ),
    (
        lambda w: _dynet._add_inputs_both(*starts(w), [w.x, dy.inputVector([1, 2])]),
        lambda w: _dynet._add_inputs_both(*starts(w), es=[w.x, dy.inputVector([1, 2])]),
    ),
    (
        lambda w: w.lstm.initial_state().add_inputs([w.x, "a"]),
        lambda w: w.lstm.initial_state().add_inputs(xs=[w.x, "a"]),
    ),
    (
        lambda w: _dynet._transduce_both(*ways(w), [w.x, "a"]),
        lambda w: _dynet._transduce_both(*ways(w), es=[w.x, "a"]),
    ),
    (
        lambda w: _dynet._transduce_both(*ways(w), [w.x, dy.inputVector([1, 2])]),
        lambda w: _dynet._transduce_both(*ways(w), es=[w.x, dy.inputVector([1, 2])]),
    ),
    (
        lambda w: _dynet._back_of_both(*ways(w), []),
        lambda w: _dynet._back_of_both(*ways(w), es=[]),
    ),
    (
        lambda w: _dynet._add_inputs_both(starts(w)[0], None, [w.x]),
        lambda w: _dynet._add_inputs_both(starts(w)[0], backward=None, es=[w.x]),
    ),
    (
        lambda w: _dynet._add_inputs_both(w.both, starts(w)[1], [w.x]),
        lambda w: _dynet._add_inputs_both(w.both, starts(w)[1], es=[w.x]),
    ),
    (lambda w: w.E.rows([1, 5]), lambda w: w.E.rows(indices=[1, 5])),
    (lambda w: w.E.rows([1, "a"]), lambda w: w.E.rows(indices=[1, "a"])),
    (lambda w: w.E.rows([-1]), lambda w: w.E.rows(indices=[-1])),
    (lambda w: w.tree.add_input(3, 4), lambda w: w.tree.add_input(left=3, right=4)),
    (lambda w: dy.RNNState.add_input(3, w.x), lambda w: dy.RNNState.add_input(3, x=w.x)),
    (lambda w: dy.RNNState.add_input(None, w.x), lambda w: dy.RNNState.add_input(None, x=w.x)),
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


def test_a_bool_by_position_is_a_number() -> None:
    w = World()
    clipped = dy.clip(w.y, False, True).npvalue()
    np.testing.assert_array_equal(clipped, dy.clip(w.y, 0.0, 1.0).npvalue())


@pytest.mark.parametrize("count", [0, 3])
def test_too_many_arguments(count: int) -> None:
    w = World()
    with pytest.raises(TypeError, match="cmult"):
        dy.cmult(*[w.x] * count)


FAILING: list[Call] = [
    lambda w: dy.pickneglogsoftmax(w.x, 7),
    lambda w: dy.cmult(w.x, dy.inputVector([1, 2])),
    lambda w: w.lstm.initial_state().transduce([w.x, dy.inputVector([1, 2])]),
    lambda w: w.lstm.initial_state().add_input(dy.inputVector([1, 2])),
    lambda w: w.tree.add_input(dy.inputVector([1, 2])),
    lambda w: w.both.transduce([w.x, dy.inputVector([1, 2])]),
    lambda w: w.both.add_inputs([w.x, dy.inputVector([1, 2])]),
    lambda w: w.both.transduce([w.x, World().x, w.y]),
]


@pytest.mark.parametrize("call", FAILING)
def test_an_error_on_the_quick_way_names_the_line(call: Call) -> None:
    with pytest.raises(ValueError) as raised:
        call(World())
    line = call.__code__.co_firstlineno
    assert f"test_quick_ways.py:{line}" in str(raised.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is limited")
@pytest.mark.parametrize("call", ["pick_batch(x, many)", "pickneglogsoftmax_batch(x, many)"])
def test_a_list_too_large_for_memory(call: str) -> None:
    program = f"""
        import resource
        import dynet as dy
        x = dy.inputVector([1.0, 2.0])
        many = [0] * 50_000_000
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
        try:
            dy.{call}
        except MemoryError as e:
            print(e)
        print(len(dy.tanh(x).value()))
    """
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    assert "a list is too large for the memory that is left" in done.stdout
    assert done.stdout.endswith("\n2\n")


# Each gives objects that nobody holds.
RELEASED: list[Call] = [
    lambda w: dy.concatenate([w.x, w.y]),
    lambda w: dy.tanh(w.x),
    lambda w: dy.pick(w.x, 1),
    lambda w: w.E[2],
    lambda w: w.E.rows([2, 0]),
    lambda w: w.x + w.y,
    lambda w: w.lstm.initial_state().transduce([w.x, w.y]),
    lambda w: w.lstm.initial_state().add_input(w.x).output(),
    lambda w: w.tree.add_input(w.x).h,
    lambda w: w.both.transduce([w.x, w.y]),
    lambda w: w.both.back([w.x, w.y]),
    lambda w: w.lstm.initial_state(),
    lambda w: w.both.add_inputs([w.x, w.y]),
    lambda w: w.lstm.initial_state().add_inputs([w.x, w.y]),
]


@pytest.mark.parametrize("call", RELEASED)
def test_objects_are_released(call: Call) -> None:
    """Arguments and results of the quick way are counted as they must be."""
    w = World()
    held = (w.x, w.y, w.E, w.lstm, w.tree)

    def blocks() -> int:
        for _ in range(500):
            call(w)
        gc.collect()
        return sys.getallocatedblocks()

    blocks()
    references, before = [sys.getrefcount(it) for it in held], blocks()
    assert blocks() - before < 100
    assert [sys.getrefcount(it) for it in held] == references


STANDARD = [MemoryError, IndexError, OverflowError] + [dy.ValueError] * 4 + [RuntimeError]


@pytest.mark.parametrize("which", range(len(STANDARD)))
def test_exceptions_of_the_standard_library_are_the_same_on_both_ways(which: int) -> None:
    assert _dynet._has_quick_way(_dynet._throw_standard)
    told = []
    for call in (
        lambda: _dynet._throw_standard(which),
        lambda: _dynet._throw_standard(which=which),
    ):
        with pytest.raises(STANDARD[which]) as raised:
            call()
        told.append((raised.type, re.sub(r":\d+ in ", ":? in ", str(raised.value))))
    assert told[0] == told[1] and raised.type is STANDARD[which]
    assert _dynet._throw_standard(len(STANDARD)) is False


def version_of(e: dy.Expression) -> int:
    return int(repr(e).split(":")[0].split("/")[1])


def test_nothing_of_an_old_expression_is_left_in_its_object() -> None:
    """Objects that are out of use come back for other nodes."""
    w = World()
    places = set()
    for _ in range(3):
        row = w.E[1]
        row.set(2)
        places.add(id(row))
        del row
        plain = dy.tanh(w.x)
        places.add(id(plain))
        with pytest.raises(dy.ValueError, match="set: the expression is not an input"):
            plain.set(2)
        version = version_of(plain)
        dy.renew_cg()
        w.x = dy.inputVector([1.0, 2.0, 3.0])
        del plain
        assert version_of(dy.tanh(w.x)) == version + 1
    assert len(places) < 6


@pytest.mark.parametrize("cls", [dy.Expression, dy.Parameters, OwnExpression])
def test_what_only_new_made_is_never_taken_for_an_expression(cls: Any) -> None:
    w = World()
    for _ in range(3):
        for call in (
            lambda bare: w.W * bare,
            lambda bare: bare + w.x,
            lambda bare: dy.tanh(bare),
            lambda bare: dy.esum([w.x, bare]),
        ):
            with pytest.raises(TypeError, match="initialised"):
                call(cls.__new__(cls))
        # Nor does its object come back as one.
        assert [e.value() for e in [-w.x, -w.y]] == [[-1.0, -2.0, -3.0], [-0.5, 1.0, -4.0]]
