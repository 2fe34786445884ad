"""Expressions in place of a number, a truth value or an order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import dynet as dy
import numpy as np
import pytest


def one(number: float = 1.5) -> dy.Expression:
    return dy.inputVector([number])[0] + 0.0


def test_of_one_element_it_is_a_number() -> None:
    loss = one(1.25)
    assert (float(loss), int(loss), complex(loss), math.sqrt(one(4.0))) == (1.25, 1, 1.25, 2.0)
    assert f"{loss:.3f}" == "1.250" and f"{loss:>6.1f}" == "   1.2"
    assert "%.3f %d" % (loss, loss) == "1.250 1"  # noqa: UP031
    assert f"{loss}" == str(loss) and str(loss).startswith("expression ")
    assert int(one(-2.9)) == -2
    model = dy.ParameterCollection()
    assert float(model.add_parameters(1, init=3.0)) == 3.0 and f"{dy.ones((1, 1)):.1f}" == "1.0"
    with pytest.raises(ValueError, match="NaN"):
        int(one(math.nan))


@pytest.mark.parametrize("of", [float, int, "{:.2f}".format])
def test_of_several_it_is_none(of: Callable[[Any], Any]) -> None:
    for x in (dy.inputVector([1.0, 2.0]), dy.inputTensor([1.0, 2.0], batched=True)):
        with pytest.raises(dy.TypeError, match=r"\{[12]\}(x2)?; want one element, or value\(\)"):
            of(x)
    stale = one()
    dy.renew_cg()
    with pytest.raises(dy.StaleExpression):
        of(stale)


def test_it_is_true_whatever_its_value() -> None:
    """Programs ask in this way which expressions they have, and put the others aside."""
    model = dy.ParameterCollection()
    W, E = model.add_parameters((1, 2), init=0.0), model.add_lookup_parameters((3, 2), init=0.0)
    word, tag, loss = E[1], dy.lookup_batch(E, [0, 2]), W * E[0]
    assert all([word, tag, loss, W, E, dy.scalarInput(0), dy.zeros(3), bool(loss)])
    assert list(filter(None, [word, None, tag])) == [word, tag]
    assert [x for x in (None, loss, word) if x] == [loss, word]
    assert (word or tag) is word and (None or tag) is tag and (word and tag) is tag
    dy.renew_cg()
    assert word  # a stale one too: nothing is computed


@pytest.mark.parametrize("other", [0, 1.5, True, np.float32(1), np.ones(1), [1.5], (1.5,)])
def test_it_is_not_compared_with_numbers(other: Any) -> None:
    x = one()
    want = r"operator [<>=!]=? compares no values: .*; want `x.value\(\)"
    for compare in (
        lambda a, b: a == b,
        lambda a, b: a != b,
        lambda a, b: a < b,
        lambda a, b: a >= b,
    ):
        for a, b in ((x, other), (other, x)):
            if isinstance(other, (list, tuple)) and a is other:
                continue  # asks the other way round, too, but first whether the entries are equal
            with pytest.raises(TypeError, match=want):
                compare(a, b)


def test_expressions_have_no_order() -> None:
    x, y = one(1.0), one(2.0)
    for compare in (lambda: x < y, lambda: max(x, y), lambda: sorted([x, y]), lambda: x > None):
        with pytest.raises(dy.TypeError, match=r"compares no values.*value\(\)"):
            compare()


def test_it_is_itself_in_lists_sets_and_dicts() -> None:
    x, y = one(1.0), one(1.0)
    model = dy.ParameterCollection()
    W, E = model.add_parameters(1), model.add_lookup_parameters((2, 1))
    things = [x, None, "text", W, E, y]
    for i, thing in enumerate(things):
        assert thing in things and things.index(thing) == i
    assert one() not in things and x == x and not x != x and x != y and not x == y  # noqa: SIM201, SIM202
    things.remove(y)
    assert len(things) == 5
    assert x != None and not x == None and None != x and x not in [None, "text"]  # noqa: E711, SIM201, SIM300
    assert x != "text" and x != object() and x != {}
    assert {x: 1, y: 2, W: 3}[y] == 2 and len({x, y, x, W, E}) == 4 and hash(x) == hash(x)

    class Own(dy.Parameters):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    own = Own()
    assert own in [x, own] and {own: 1}[own] == 1
    assert (np.array([x, None]) == None).tolist() == [False, True]  # noqa: E711


def test_numbers_of_numpy_times_an_expression_are_nodes() -> None:
    x = dy.inputVector([1.0, 2.0])
    for number in (np.float64(2), np.float32(2), np.int64(2)):
        assert isinstance(number * x, dy.Expression) and (number * x).value() == [2.0, 4.0]
        assert isinstance(number * x[0], dy.Expression)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: dy.scalarInput(x),
        lambda x: dy.inputVector([1.0, x]),
        lambda x: dy.inputTensor([[x]]),
        lambda x: dy.inputTensor(np.array([x])),
        lambda x: dy.pick(x, x),
        lambda x: dy.one_hot(3, x),
        lambda x: dy.dropout(x, x),
        lambda x: dy.vecInput(1).set(x),
    ],
)
def test_where_a_number_is_wanted_it_is_none_still(call: Callable[[Any], Any]) -> None:
    """Its gradient would be lost without a word."""
    with pytest.raises((TypeError, ValueError), match="an expression"):
        call(one())


NONE = [
    (lambda w: dy.lookup(w.E, None), "lookup: index is None; want a whole number"),
    (lambda w: dy.lookup(w.E, index=None), "lookup: index is None; want a whole number"),
    (lambda w: dy.pick(w.x, None), "pick: index is None; want a whole number"),
    (lambda w: dy.pick(w.x, 1, None), "pick: dim is None; want a whole number"),
    (lambda w: w.x[None], r"\[index\]: index is None"),
    (lambda w: w.E[None], r"\[index\]: index is None"),
    (lambda w: dy.pick_batch(w.x, None), "indices is None; want a list of whole numbers"),
    (lambda w: dy.pick_batch(w.x, [None]), r"indices\[0\] is None; want a whole number"),
    (lambda w: dy.lookup_batch(w.E, [1, None]), r"indices\[1\] is None; want a whole number"),
    (lambda w: dy.one_hot(3, None), "idx is None; want a whole number"),
    (lambda w: dy.softmax(w.x, None), "softmax: d is None; want a whole number"),
    (lambda w: dy.elu(w.x, None), "elu: alpha is None; want a number"),
    (lambda w: dy.zeros(3, None), "zeros: batch_size is None; want a whole number"),
    (lambda w: dy.hinge(w.x, 1, None), "hinge: m is None; want a number"),
    (lambda w: dy.transpose(w.x, None), "transpose: dims is None"),
    (lambda w: dy.SimpleSGDTrainer(w.m, None), "SimpleSGDTrainer: learning_rate is None"),
    (
        lambda w: dy.VanillaLSTMBuilder(1, 2, 3, w.m, True, None),
        "forget_bias is None; want a number",
    ),
    (lambda w: w.m.add_parameters(3, scale=None), "scale is None; want a number"),
]


class World:
    def __init__(self) -> None:
        self.m = dy.ParameterCollection()
        self.E = self.m.add_lookup_parameters((4, 3))
        self.x = dy.inputVector([1.0, 2.0, 3.0])


@pytest.mark.parametrize(("call", "text"), NONE)
def test_none_is_no_number(call: Callable[[World], Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call(World())


def test_any_object_is_a_flag_by_its_truth_value() -> None:
    w = World()
    for flag in (1, 7, 0.5, "x", [0], np.bool_(True), np.ones(1)):
        assert dy.inputTensor([1.0, 2.0], batched=flag).dim() == ((1,), 2)
        assert dy.VanillaLSTMBuilder(1, 2, 3, w.m, flag).spec[3] is True
    for flag in (0, 0.0, "", [], np.bool_(False), None):
        assert dy.inputTensor([1.0, 2.0], batched=flag).dim() == ((2,), 1)
        dy.sum_elems(dy.lookup(w.E, 1, flag)).backward()  # update: True is the default
        assert not w.E.grad_as_array().any()
    with pytest.raises(dy.TypeError, match=r"batched is an array of shape .*want True or False"):
        dy.inputTensor([1.0, 2.0], batched=np.ones(2))
