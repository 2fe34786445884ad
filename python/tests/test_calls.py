"""Calls at their boundary: accepted arguments, refused arguments, and the texts of refusals."""

from __future__ import annotations

import inspect
import itertools
import pickle
import re
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _dynet
import dynet as dy
import numpy as np
import pytest
from dynet import _calls
from dynet._calls import name_of

HERE = Path(__file__).name


class World:
    """The objects in the calls of the tables."""

    def __init__(self) -> None:
        dy.renew_cg()
        self.m = dy.ParameterCollection()
        self.W = self.m.add_parameters((3, 2))
        self.E = self.m.add_lookup_parameters((5, 3))
        self.x = dy.inputVector([1.0, 2.0, 3.0])
        self.X = dy.inputTensor(np.arange(6.0).reshape(2, 3))
        self.model = self.m
        self.dot = dy.DotAttentionBuilder(2, self.m)
        self.decoder = dy.TransformerDecoderBuilder(1, 2, 1, 2, self.m)
        self.crf = dy.CRFBuilder(2, self.m)
        self.lstm = dy.GRUBuilder(1, 3, 3, self.m)


Call = Callable[[World], Any]
Row = tuple[Call, type[BaseException], tuple[str, ...]]

# ---- refused calls ------------------------------------------------------------------------------

WRONG: list[Row] = [
    # values of the wrong kind
    (lambda w: dy.tanh(3), TypeError, ("tanh: x is 3, of type int; want an expression",)),
    (lambda w: dy.tanh(None), TypeError, ("tanh: x is None; want an expression",)),
    (lambda w: dy.cmult(w.X, "y"), TypeError, ("cmult: y is 'y', of type str", "{2,3}")),
    (lambda w: dy.dropout(w.x, "a"), TypeError, ("dropout: p is 'a', of type str; want a number",)),
    (lambda w: dy.scalarInput(None), TypeError, ("scalarInput: s is None; want a number",)),
    (lambda w: dy.inputVector(None), TypeError, ("inputVector: v is None; want a list of numbers",)),
    (lambda w: dy.inputVector(3), TypeError, ("inputVector", "3", "want a list of numbers")),
    (lambda w: dy.inputVector([1, 2, "a"]), TypeError, ("inputVector: v[2] is 'a', of type str; want a number",)),
    (lambda w: dy.inputVector("abc"), TypeError, ("inputVector", "'abc'", "want a list of numbers")),
    (lambda w: dy.inputTensor(object()), TypeError, ("inputTensor", "want an array, a list of numbers")),
    (lambda w: dy.inputTensor("abc"), TypeError, ("inputTensor", "want an array, a list of numbers")),
    (lambda w: dy.inputTensor([[1, 2], [3, "x"]]), TypeError, ("inputTensor", "[1][1]", "'x'", "want a number")),
    (lambda w: dy.inputTensor([[1, 2], [3]]), ValueError, ("inputTensor: the lists differ in length: [0] has 2 elements, [1] has 1",)),
    (lambda w: dy.inputTensor(np.array([object()])), TypeError, ("inputTensor: element [0] of an array of objects is <object", "want a number")),
    (lambda w: dy.esum([w.x, 3]), TypeError, ("esum: xs[1] is 3, of type int; want an expression",)),
    (lambda w: dy.esum(w.x), TypeError, ("esum: xs is", "want a list of expressions")),
    (lambda w: dy.concatenate([[w.x]]), TypeError, ("concatenate: xs[0] is [", "want an expression")),
    (lambda w: dy.affine_transform(5), TypeError, ("affine_transform: exprs is 5, of type int; want a list of expressions",)),
    (lambda w: dy.lookup(w.W, 0), TypeError, ("lookup: p is a parameter {3,2}; want a LookupParameters",)),
    (lambda w: dy.inputTensor([1.0, 2.0], np.array([1, 2])), TypeError, ("inputTensor: batched is an array of shape (2,)", "want True or False")),
    (lambda w: dy.VanillaLSTMBuilder("a", 4, 3, w.m), TypeError, ("VanillaLSTMBuilder: layers is 'a', of type str; want a whole number",)),
    (lambda w: dy.VanillaLSTMBuilder(1, 4, 3, None), TypeError, ("VanillaLSTMBuilder: model is None; want a ParameterCollection",)),
    (lambda w: dy.SimpleSGDTrainer(3), TypeError, ("SimpleSGDTrainer: m is 3, of type int; want a ParameterCollection",)),
    (lambda w: dy.SimpleSGDTrainer(w.m, "fast"), TypeError, ("SimpleSGDTrainer: learning_rate is 'fast', of type str; want a number",)),
    (lambda w: w.m.save(3), TypeError, ("ParameterCollection.save: fname is 3, of type int; want text",)),
    (lambda w: w.m.add_parameters("ab"), TypeError, ("ParameterCollection.add_parameters: dim is 'ab'",)),
    (lambda w: w.m.add_parameters({3: 2}), TypeError, ("ParameterCollection.add_parameters: dim is {3: 2}, of type dict",)),
    (lambda w: w.m.add_parameters(w.x), TypeError, ("ParameterCollection.add_parameters: dim is an expression {3}",)),
    (lambda w: w.m.add_parameters((1,) * 8), TypeError, ("ParameterCollection.add_parameters: dim is (1, 1, 1", "a list of at most 7")),
    (lambda w: w.x["a"], TypeError, ("Expression[index]: index is 'a', of type str",)),
    (lambda w: w.E["a"], TypeError, ("LookupParameters[index]: index is 'a', of type str; want a whole number",)),
    (lambda w: w.E[None], TypeError, ("LookupParameters[index]: index is None",)),
    (lambda w: w.x + "a", TypeError, ("operator +: the right operand is 'a', of type str", "{3}")),
    (lambda w: dy.Expression.value(3), TypeError, ("Expression.value: self is 3, of type int; want an expression",)),
    # numbers that are not whole
    (lambda w: w.m.add_parameters((3.5, 3)), TypeError, ("ParameterCollection.add_parameters: dim[0] is 3.5, which is not whole; want a whole number",)),
    (lambda w: w.E[2.5], TypeError, ("LookupParameters[index]: index is 2.5, which is not whole",)),
    (lambda w: w.x[0.5], TypeError, ("Expression[index]: index is 0.5, which is not whole",)),
    (lambda w: dy.pick(w.x, 0.5), TypeError, ("pick: index is 0.5, which is not whole; want a whole number", "{3}")),
    (lambda w: dy.pick(w.x, float("nan")), TypeError, ("pick: index is nan",)),
    (lambda w: dy.pick(w.x, float("inf")), TypeError, ("pick: index is inf",)),
    # numbers out of range
    (lambda w: w.m.add_parameters((-1, 3)), OverflowError, ("ParameterCollection.add_parameters: dim[0] is -1; want a whole number from 0 to 4294967295",)),
    (lambda w: w.m.add_parameters((-1, 3)), ValueError, ("dim[0] is -1",)),
    (lambda w: w.m.add_parameters((2**33, 3)), OverflowError, ("dim[0] is 8589934592; want a whole number from 0 to 4294967295",)),
    (lambda w: w.m.add_parameters((10**30, 3)), OverflowError, ("dim[0] is 1000000000000000000000000000000; want",)),
    (lambda w: dy.zeros(3, batch_size=-2), TypeError, ("zeros: batch_size is -2; want a whole number from 0",)),
    (lambda w: dy.zeros(3, batch_size=0), ValueError, ("zeros: batch_size is 0; want at least 1",)),
    (lambda w: dy.pick(w.x, -5), IndexError, ("pick: index is -5; want a whole number from -3 to 2",)),
    (lambda w: dy.pick_batch(w.X, [0, -3]), IndexError, ("pick_batch: index is -3; want a whole number from -2 to 1",)),
    (lambda w: dy.select_cols(w.X, [2, -4]), IndexError, ("select_cols: index is -4; want a whole number from -3 to 2",)),
    (lambda w: dy.pick(w.x, -(2**40)), IndexError, ("pick: index is -1099511627776; want a whole number from",)),
    (lambda w: dy.pick(w.x, 1.5), TypeError, ("pick: index is 1.5",)),
    (lambda w: dy.pickneglogsoftmax(w.x, -1), IndexError, ("pickneglogsoftmax: v is -1; want a whole number from 0", "{3}")),
    (lambda w: dy.hinge_batch(w.x, [0, -1]), IndexError, ("hinge_batch: vs[1] is -1; want a whole number from 0", "{3}")),
    (lambda w: w.E[-1], IndexError, ("LookupParameters[index]: index is -1; want a row from 0 to 4", "{5,3}")),
    (lambda w: w.E[7], IndexError, ("lookup", "7", "5")),
    (lambda w: w.E.batch([1, -1]), IndexError, ("LookupParameters.batch: i[1] is -1; want a row from 0 to 4",)),
    (lambda w: dy.lookup_batch(w.E, [0, 2**40]), IndexError, ("lookup_batch: indices[1] is 1099511627776; want a row from 0 to 4",)),
    (lambda w: w.E.row_as_array(-1), IndexError, ("LookupParameters.row_as_array: row is -1; want a row from 0 to 4",)),
    (lambda w: w.x[5], IndexError, ("pick: index 5 of an expression {3}; want from -3 to 2",)),
    (lambda w: dy.softmax(w.x, d=-2), ValueError, ("softmax: dimension -2 of {3}, which has 1",)),
    (lambda w: dy.reshape(w.x, (-1, 2)), ValueError, ("reshape", "{3}", "2")),
    (lambda w: dy.reshape(w.x, (-1, -1)), TypeError, ("reshape: d is (-1, -1)", "one -1 at most")),
    # lists of numbers, or lists of such lists: the entry that was meant
    (lambda w: dy.tree_score(w.X, [0, -1]), ValueError, ("tree_score: heads[1] is -1; want a whole number from 0",)),
    (lambda w: dy.tree_score(w.X, [-1, 0]), ValueError, ("tree_score: heads[0] is -1; want a whole number from 0",)),
    (lambda w: dy.tree_score(w.X, [0, None]), TypeError, ("tree_score: heads[1] is None; want a whole number",)),
    (lambda w: dy.tree_score(w.X, iter([0, None])), TypeError, ("tree_score: heads[1] ", "want a whole number")),
    (lambda w: dy.tree_score(w.X, [[0, 1], [0, -1]]), ValueError, ("tree_score: heads[1][1] is -1; want a whole number from 0",)),
    (lambda w: dy.tree_score(w.X, [[0, 1], 2]), TypeError, ("tree_score: heads[1] is 2, of type int; want a list of numbers",)),
    (lambda w: dy.spans_score(w.X, [(0, 0, -1)]), ValueError, ("spans_score: spans[0][2] is -1; want a whole number from 0",)),
    (lambda w: dy.spans_score(w.X, [[(0, 0, 1)], [(0, -1, 1)]]), ValueError, ("spans_score: spans[1][0][1] is -1; want a whole number from 0",)),
    (lambda w: w.crf.neg_log_likelihood(w.X, [0, -1]), ValueError, ("CRFBuilder.neg_log_likelihood: tags[1] is -1; want a whole number from 0",)),
    (lambda w: dy.SemiCRFBuilder(2, 2, w.m).neg_log_likelihood(w.X, [(0, 0, 1), (0, 1.5, 2)]), TypeError, ("SemiCRFBuilder.neg_log_likelihood: segments[1][1] is 1.5, which is not whole",)),
    # empty lists
    (lambda w: w.E.batch([]), ValueError, ("LookupParameters.batch: the list of indices is empty",)),
    (lambda w: dy.concatenate([]), AssertionError, ("concatenate: the list of expressions is empty; want at least one",)),
    (lambda w: dy.concatenate([]), ValueError, ("concatenate",)),
    (lambda w: dy.esum([]), AssertionError, ("esum: the list of expressions is empty",)),
    (lambda w: dy.emax([]), AssertionError, ("emax: the list of expressions is empty",)),
    # arguments
    (lambda w: dy.softmax(w.x, dd=1), TypeError, ("softmax: there is no argument dd; there are: x, d; did you mean d?",)),
    (lambda w: dy.SimpleSGDTrainer(w.m, e0=0.1), TypeError, ("there is no argument e0; there are: m, learning_rate; its name is learning_rate today",)),
    (lambda w: dy.tanh(w.x, lam=1), TypeError, ("tanh: there is no argument lam; there are: x\n",)),
    (lambda w: dy.AdamTrainer(w.m, e0=1), TypeError, ("there is no argument e0; there are: m, alpha, beta_1, beta_2, eps\n",)),
    (lambda w: dy.AdamTrainer(w.m, lam=1e-6), TypeError, ("eps; in place of lam, call set_weight_decay_lambda of the collection",)),
    (lambda w: dy.AdamTrainer(w.m, edecay=0.1), TypeError, ("in place of edecay, set the trainer's learning_rate after each epoch",)),
    (lambda w: w.m.add_parameters((3, 2), initial=1), TypeError, ("there is no argument initial; there are: dim, init, name, device, scale, mean, std; did you mean init?",)),
    (lambda w: dy.tanh(), TypeError, ("tanh: the argument x is missing; want an expression",)),
    (lambda w: dy.cmult(w.x), TypeError, ("cmult: the argument y is missing; want an expression", "{3}")),
    (lambda w: dy.tanh(w.x, 2, 3), TypeError, ("tanh: 3 arguments given; it takes 1: x",)),
    (lambda w: dy.eisner(None), TypeError, ("eisner: scores is None; want an expression or an array of numbers",)),
    (lambda w: dy.cky(None), TypeError, ("cky: scores is None; want an expression or an array of numbers",)),
    (lambda w: dy.eisner(w.X, [3], False), TypeError, ("eisner: 3 arguments given; it takes 2: scores, lengths, and by name single_root",)),
    (lambda w: w.m.name(1), TypeError, ("ParameterCollection.name: 1 argument given; it takes none",)),
    (lambda w: dy.softmax(w.x, x=w.x), TypeError, ("softmax: the argument x is given twice",)),
    (lambda w: dy.VanillaLSTMBuilder(1, 4, 3), TypeError, ("VanillaLSTMBuilder: the argument model is missing; want a ParameterCollection",)),
    # values that cannot be had
    (lambda w: dy.pickneglogsoftmax(w.x, 7), IndexError, ("pickneglogsoftmax: v is 7; want less than 3",)),
]  # fmt: skip


def text_of(call: Callable[[], Any], error: type[BaseException]) -> str:
    with pytest.raises(error) as raised:
        call()
    assert isinstance(raised.value, (dy.Error, TypeError))
    return str(raised.value)


@pytest.mark.parametrize("row", WRONG, ids=lambda row: inspect.getsource(row[0]).strip()[:60])
def test_wrong_calls(row: Row) -> None:
    call, error, words = row
    world = World()
    text = text_of(lambda: call(world), error)
    for word in words:
        assert word in text
    assert re.search(rf"\n  (called|built) at \S*{HERE}:\d+ in <lambda>\(\)", text)


def test_errors_name_the_line_of_the_user() -> None:
    def forward() -> None:
        dy.tanh(3)  # type: ignore[arg-type]

    line = forward.__code__.co_firstlineno + 1
    assert f"{HERE}:{line} in forward()" in text_of(forward, TypeError)


def test_scalar_value_names_the_line_of_the_node() -> None:
    def node() -> dy.Expression:
        return dy.tanh(dy.inputVector([1.0, 2.0]))

    dy.renew_cg()
    x = node()
    line = node.__code__.co_firstlineno + 1
    for use in (lambda: x.scalar_value(), lambda: dy.cg().forward_scalar(1)):
        text = text_of(use, dy.ValueError)
        assert re.search(rf"\n  .*tanh.*\{{2\}}.*built at \S*{HERE}:{line} in node\(\)", text), text


def test_code_that_ran_once_is_not_kept_for_ever() -> None:
    def run_cell(number: int, nodes: dict[str, Any]) -> weakref.ref[Any]:
        code = compile(f"\n\nx = dy.inputVector([{number}.0, 1.0])", f"<cell {number}>", "exec")
        exec(code, nodes)
        return weakref.ref(code)

    dy.renew_cg()
    first: dict[str, Any] = {"dy": dy}
    last: dict[str, Any] = {"dy": dy}
    cells = [run_cell(0, first)]
    cells += [run_cell(number, last) for number in range(1, 12_000)]
    assert sum(cell() is not None for cell in cells) < 5000
    assert "<cell 11999>:3" in repr(last["x"])
    assert "Python code that has ended" in repr(first["x"])  # and no other cell


def test_lines_of_the_package_are_not_those_of_the_user() -> None:
    dy.renew_cg()
    builder = dy.BiRNNBuilder(1, 3, 4, dy.ParameterCollection(), dy.GRUBuilder)

    def read() -> None:
        builder.transduce([dy.inputVector([1.0, 2.0])])

    line = read.__code__.co_firstlineno + 1
    text = text_of(read, dy.ShapeError)
    assert f"{HERE}:{line} in read()" in text and "_bidirectional.py" not in text
    out = builder.transduce([dy.inputVector([1.0, 2.0, 3.0])])[0]
    assert HERE in repr(out) and "_bidirectional.py" not in repr(out)


def test_an_expression_of_an_earlier_graph_is_called_so() -> None:
    x = dy.inputVector([1.0])
    dy.renew_cg()
    text = text_of(lambda: dy.cmult(x, 3), TypeError)  # type: ignore[arg-type]
    assert "given an expression of an earlier graph" in text


def test_a_stale_expression_tells_what_ended_its_graph() -> None:
    x = dy.inputVector([1.0])
    line = renew()
    for use in (lambda: x + x, lambda: dy.tanh(x), lambda: x.value()):
        text = text_of(use, dy.StaleExpression)
        assert re.search(rf"\n  renew_cg\(\) at \S*{HERE}:{line} in renew\(\)", text), text
    dy.cg_checkpoint()
    y = dy.inputVector([1.0])
    dy.cg_revert()
    assert "\n  cg_revert() at " in text_of(lambda: y.value(), dy.StaleExpression)


def renew() -> int:
    """The line that renews."""
    dy.renew_cg()
    return renew.__code__.co_firstlineno + 2


# ---- accepted calls -----------------------------------------------------------------------------

TAKEN: list[tuple[Call, Call]] = [
    (lambda w: dy.lookup(w.E, 2, np.array(0)).value(), lambda w: w.E[2].value()),
    (lambda w: dy.VanillaLSTMBuilder(1, 4, 6 / 2, w.m).spec, lambda w: (1, 4, 3, False, 1.0)),
    (lambda w: dy.VanillaLSTMBuilder(1, 4, 3, w.m, ln_lstm=1).spec, lambda w: (1, 4, 3, True, 1.0)),
    (lambda w: w.m.add_parameters((3.0, 2)).shape(), lambda w: (3, 2)),
    (lambda w: w.m.add_parameters(4.0).shape(), lambda w: (4,)),
    (lambda w: w.m.add_parameters([np.int64(3), np.int8(2)]).shape(), lambda w: (3, 2)),
    (lambda w: w.m.add_parameters(np.array([3, 2])).shape(), lambda w: (3, 2)),
    (lambda w: w.m.add_parameters(np.int32(4)).shape(), lambda w: (4,)),
    (lambda w: dy.reshape(w.X, (3.0, 2)).dim(), lambda w: ((3, 2), 1)),
    (lambda w: dy.reshape(w.X, (-1, 2)).dim(), lambda w: ((3, 2), 1)),
    (lambda w: dy.reshape(w.X, (-1,)).dim(), lambda w: ((6,), 1)),
    (lambda w: dy.reshape(w.X, (1, -1), batch_size=3).dim(), lambda w: ((1, 2), 3)),
    (lambda w: dy.reshape(dy.zeros(6, batch_size=2), (-1, 2)).dim(), lambda w: ((3, 2), 2)),
    (lambda w: w.E[2.0].npvalue().tolist(), lambda w: w.E[2].npvalue().tolist()),
    (lambda w: w.E[np.uint8(2)].npvalue().tolist(), lambda w: w.E[2].npvalue().tolist()),
    (lambda w: w.E.batch(i for i in (1, 2)).dim(), lambda w: ((3,), 2)),
    (lambda w: w.E.batch(np.array([1, 2])).npvalue().tolist(), lambda w: w.E.batch([1, 2]).npvalue().tolist()),
    (lambda w: dy.pick(w.x, 2.0).value(), lambda w: 3.0),
    (lambda w: dy.pick(w.x, np.float32(2)).value(), lambda w: 3.0),
    (lambda w: dy.pick(w.x, True).value(), lambda w: 2.0),
    (lambda w: w.x[1.0].value(), lambda w: 2.0),
    (lambda w: w.x.value(recalculate=0), lambda w: [1.0, 2.0, 3.0]),
    (lambda w: w.x.value(np.bool_(True)), lambda w: [1.0, 2.0, 3.0]),
    (lambda w: w.x.value(None), lambda w: [1.0, 2.0, 3.0]),
    (lambda w: dy.zeros(3, device=None).dim(), lambda w: ((3,), 1)),
    (lambda w: dy.dropout(w.x, np.float64(0)).value(), lambda w: [1.0, 2.0, 3.0]),
    (lambda w: dy.constant(1, np.array(2)).value(), lambda w: 2.0),
    (lambda w: dy.SimpleSGDTrainer(w.m).set_sparse_updates(1), lambda w: None),
    (lambda w: w.m.add_subcollection().name(), lambda w: "/_0/"),
    (lambda w: w.m.add_subcollection(None).name(), lambda w: "/_0/"),
    (lambda w: type(dy.FromFileInitializer(b"f")).__name__, lambda w: "FromFileInitializer"),
    (lambda w: type(dy.FromFileInitializer(Path("f"))).__name__, lambda w: "FromFileInitializer"),
    # -1 is the last dimension
    (lambda w: dy.concatenate([w.X, w.X], d=-1).dim(), lambda w: ((2, 6), 1)),
    (lambda w: dy.concatenate([w.x, w.x], d=-1).dim(), lambda w: ((6,), 1)),
    (lambda w: dy.softmax(w.X, d=-1).npvalue().tolist(), lambda w: dy.softmax(w.X, d=1).npvalue().tolist()),
    (lambda w: dy.log_softmax(w.X, d=-2).npvalue().tolist(), lambda w: dy.log_softmax(w.X).npvalue().tolist()),
    (lambda w: dy.log_softmax(w.X, [0], -1).npvalue().tolist(), lambda w: dy.log_softmax(w.X, [0], 1).npvalue().tolist()),
    (lambda w: dy.sum_dim(w.X, [-1]).value(), lambda w: [3.0, 12.0]),
    (lambda w: dy.mean_dim(w.X, [-2], False).value(), lambda w: [1.5, 2.5, 3.5]),
    (lambda w: dy.max_dim(w.X, -1).value(), lambda w: [2.0, 5.0]),
    (lambda w: dy.cumsum(w.X, d=-1).npvalue().tolist(), lambda w: [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]]),
    (lambda w: dy.pick(w.X, 2, dim=-1).value(), lambda w: [2.0, 5.0]),
    (lambda w: dy.pick_batch(w.X, [2], dim=-1).value(), lambda w: [2.0, 5.0]),
    (lambda w: dy.pick_range(w.X, 1, 2, d=-1).npvalue().tolist(), lambda w: [[1.0], [4.0]]),
    (lambda w: dy.transpose(w.X, [-1, 0]).dim(), lambda w: ((3, 2), 1)),
    # -1 is the last place
    (lambda w: dy.pick(w.x, -1).value(), lambda w: 3.0),
    (lambda w: dy.pick(w.X, -2.0, dim=-1).value(), lambda w: [1.0, 4.0]),
    (lambda w: dy.pick_batch(w.x, [-1, 0, np.int64(-3)]).vec_value(), lambda w: [3.0, 1.0, 1.0]),
    (lambda w: dy.select_rows(w.X, [-1]).npvalue().tolist(), lambda w: [[3.0, 4.0, 5.0]]),
    (lambda w: dy.select_cols(w.X, (-1, 0)).npvalue().tolist(), lambda w: [[2.0, 0.0], [5.0, 3.0]]),
    (lambda w: dy.gather(w.x, [-1, -2], 2).value(), lambda w: [3.0, 2.0]),
    (lambda w: dy.pick_batch_elem(dy.inputTensor([1.0, 2.0], batched=True), -1).value(), lambda w: 2.0),
    (lambda w: dy.pick_batch_elems(dy.inputTensor([1.0, 2.0], batched=True), [-1, 0]).vec_value(), lambda w: [2.0, 1.0]),
]  # fmt: skip


@pytest.mark.parametrize("row", TAKEN, ids=lambda row: inspect.getsource(row[0]).strip()[:60])
def test_calls_as_programs_write_them(row: tuple[Call, Call]) -> None:
    call, want = row
    world = World()
    assert call(world) == want(world)


def test_flags_of_renew_cg() -> None:
    dy.renew_cg(1)
    dy.renew_cg(immediate_compute=np.bool_(False), check_validity=0, autobatching=1)
    dy.renew_cg(0, None, None)
    assert dy.inputVector([1.0]).value() == 1.0


# ---- exceptions of the user's own code ----------------------------------------------------------


class Own(Exception):
    pass


class Bad:
    """A value that raises whatever is asked of it."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def fail(self, *_: Any) -> Any:
        raise self.error("mine")

    __float__ = __index__ = __iter__ = __array__ = fail


class BadFloat:
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __float__(self) -> float:
        raise self.error("mine")


class BadTruth:
    def __init__(self, error: type[BaseException]) -> None:
        self.error = error

    def __bool__(self) -> bool:
        raise self.error("mine")


def generator(error: type[BaseException], x: dy.Expression) -> Iterator[dy.Expression]:
    yield x
    raise error("mine")


class BadAtFirst:
    """A number that raises when it is read for the first time."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error: type[BaseException] | None = error

    def __index__(self) -> int:
        error, self.error = self.error, None
        if error is not None:
            raise error("mine")
        return 1


RAISING: list[Callable[[World, type[BaseException]], Any]] = [
    lambda w, e: dy.esum(generator(e, w.x)),
    lambda w, e: dy.concatenate(generator(e, w.x)),
    lambda w, e: dy.scalarInput(BadFloat(e)),
    lambda w, e: dy.dropout(w.x, BadFloat(e)),
    lambda w, e: w.x + BadFloat(e),
    lambda w, e: BadFloat(e) * w.x,
    lambda w, e: dy.inputVector([1.0, BadFloat(e)]),
    lambda w, e: dy.inputTensor([[1.0], [BadFloat(e)]]),
    lambda w, e: dy.inputTensor(Bad(e)),
    lambda w, e: dy.pick(w.x, Bad(e)),
    lambda w, e: dy.pick(w.x, BadFloat(e)),
    lambda w, e: dy.softmax(w.x, d=Bad(e)),
    lambda w, e: w.E[Bad(e)],
    lambda w, e: w.E.batch([1, Bad(e)]),
    lambda w, e: w.E.batch(generator(e, 1)),
    lambda w, e: w.m.add_parameters((2, Bad(e))),
    lambda w, e: dy.VanillaLSTMBuilder(1, Bad(e), 3, w.m),
    lambda w, e: dy.sum_dim(w.X, generator(e, 0)),
    lambda w, e: w.x.value(BadTruth(e)),
    lambda w, e: dy.renew_cg(BadTruth(e)),
    # of several forms, whose arguments are read more than once
    lambda w, e: w.dot.read(w.X, generator(e, 1)),
    lambda w, e: w.dot.read(w.X, [BadAtFirst(e)]),
    lambda w, e: w.dot.read(w.X, w.X, generator(e, 1)),
    lambda w, e: w.decoder.start(w.X, generator(e, 1)),
    lambda w, e: w.crf.neg_log_likelihood(w.X, generator(e, [0])),
    lambda w, e: w.crf.neg_log_likelihood(w.X, [generator(e, 0)]),
    lambda w, e: w.crf.viterbi(w.X, [BadAtFirst(e)]),
    lambda w, e: dy.log_softmax(w.x, generator(e, 1)),
    lambda w, e: dy.log_softmax(w.x, [BadAtFirst(e)]),
    lambda w, e: dy.Dict(["a"]).convert(BadAtFirst(e)),
    lambda w, e: w.x.__mul__(BadFloat(e)),
    # and of a mended call
    lambda w, e: dy.lookup_batch(w.E, generator(e, 1), 1),
    lambda w, e: w.lstm.initial_state(generator(e, w.x), 1),
]


@pytest.mark.parametrize("error", [Own, KeyboardInterrupt, TypeError, ValueError, StopIteration])
@pytest.mark.parametrize("call", RAISING, ids=lambda c: inspect.getsource(c).strip()[:60])
def test_exceptions_of_the_user_come_through(
    call: Callable[[World, type[BaseException]], Any], error: type[BaseException]
) -> None:
    world = World()
    with pytest.raises((RuntimeError, error) if error is StopIteration else error) as raised:
        call(world, error)
    if error is not StopIteration:  # a generator makes it a RuntimeError
        assert type(raised.value) is error
        assert str(raised.value) == "mine"
        # Nothing is left over for the next call.
        assert "tanh: x is 3" in text_of(lambda: dy.tanh(3), TypeError)  # type: ignore[arg-type]


# ---- every function -----------------------------------------------------------------------------

FORBIDDEN = re.compile(
    r"incompatible function arguments|_dynet|nanobind|std::|collections\.abc|_Refused"
)
#: Not called with anything: they end the process, draw on the terminal or start it anew.
LEFT_OUT = {"__del__", "__reduce__", "_operations"}


def functions() -> Iterator[tuple[str, Any]]:
    """All functions of the module, and all methods of its classes by the class."""
    for name, value in sorted(vars(_dynet).items()):
        if isinstance(value, type) and not issubclass(value, Exception):
            for method, member in sorted(vars(value).items()):
                member = getattr(member, "__func__", member)
                for function in (
                    member,
                    getattr(member, "fset", None),
                    getattr(member, "fget", None),
                ):
                    if hasattr(function, "__nb_signature__"):
                        yield f"{name}.{method}", function
        elif hasattr(value, "__nb_signature__"):
            yield name, value


def fitting(promise: str, world: World) -> Any:
    """A value for a type in a signature, if the type is simple."""
    for word, value in {"Expression": world.x, "ParameterCollection": world.m, "LookupParameters": world.E,
                        "Sequence[int]": [1], "int": 1, "float": 0.5, "bool": True, "str": "s"}.items():  # fmt: skip
        if word in promise:
            return value
    return object()


def wrong_calls(function: Any, world: World) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Each argument in its turn an object(); too many; one that does not exist."""
    yield [object() for _ in range(30)], {}
    for signature in function.__nb_signature__:
        text = re.sub(r"\[[^\[\]]*\]", "", signature[0].splitlines()[-1])
        inner = text[text.index("(") + 1 : text.rindex(")")]
        promises = [part for part in inner.split(", ") if part and part not in "*/"]
        arguments = [fitting(promise, world) for promise in promises]
        for i in range(len(arguments)):
            yield [*arguments[:i], object(), *arguments[i + 1 :]], {}
        yield arguments, {"no_such_argument": 1}
        if arguments:
            yield arguments[:1], {"no_such_argument": 1}


def test_all_signatures_can_be_read() -> None:
    for name, function in functions():
        if function.__name__:  # functions of properties have no name
            for form in _calls._forms(function):
                assert len({p.name for p in form}) == len(form), name


@pytest.mark.parametrize("named", list(functions()), ids=lambda named: named[0])
def test_no_wrong_call_shows_the_binding_library(
    named: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, function = named
    if name.split(".")[-1] in LEFT_OUT:
        pytest.skip("not for calls")
    monkeypatch.chdir(tmp_path)
    for args, keywords in itertools.islice(wrong_calls(function, World()), 40):
        try:
            function(*args, **keywords)
        except Exception as error:
            text = str(error)
            assert not FORBIDDEN.search(text), text
            if isinstance(error, dy.TypeError):
                own = f"{name}.{function.__qualname__}.{name_of(function)}"
                names = own.replace("__init__", "").split(".")
                assert any(one in text for one in names if one), text
            assert type(error).__module__ != "_dynet"


def test_everything_says_dynet() -> None:
    for name, value in vars(_dynet).items():
        if isinstance(value, type) and not name.startswith("_"):
            assert value.__module__ == "dynet", name
    assert dy.tanh.__module__ == "dynet"
    assert "_dynet" not in repr(dy.ParameterCollection())
    assert "_dynet" not in (dy.tanh.__doc__ or "")


def test_names_of_exceptions() -> None:
    assert issubclass(dy.IndexError, IndexError)
    assert issubclass(dy.ValueError, ValueError)
    assert issubclass(dy.TypeError, TypeError)
    assert not [name for name in dir(dy) if name.endswith("_") and not name.startswith("_")]
    assert pickle.loads(pickle.dumps(dy.ShapeError("a"))).args == ("a",)


def test_a_star_import_leaves_the_exceptions_of_python() -> None:
    names: dict[str, Any] = {}
    exec("from dynet import *", names)
    for name in ("IndexError", "ValueError", "TypeError"):
        assert name not in names
    for name in ("abs", "pow", "round", "np", "sys", "os", "pickle"):
        assert name in names
    assert names["pow"] is dy.pow


def test_errors_of_a_subclass_that_was_not_initialised() -> None:
    class Mine(dy.VanillaLSTMBuilder):
        def __init__(self) -> None:
            pass

    for use in (
        lambda: Mine().initial_state(),
        lambda: dy.tanh(dy.Expression.__new__(dy.Expression)),
    ):
        text = text_of(use, TypeError)
        assert not FORBIDDEN.search(text)
        assert "initialised" in text
