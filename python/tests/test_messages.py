"""Errors of wrong calls that `test_calls.py` does not have: operators, classes, functions written
in Python, and names that a program did not write."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dynet as dy
import numpy as np
import pytest

HERE = Path(__file__).name
NAN = float("nan")


class World:
    def __init__(self) -> None:
        dy.renew_cg()
        self.m = dy.ParameterCollection()
        self.W = self.m.add_parameters((3, 2))
        self.E = self.m.add_lookup_parameters((5, 3))
        self.x = dy.inputVector([1.0, 2.0, 3.0])
        self.v4 = dy.inputVector([1.0, 2.0, 3.0, 4.0])
        self.trainer = dy.SimpleSGDTrainer(self.m)
        self.gru = dy.GRUBuilder(1, 3, 4, self.m)
        self.birnn = dy.BiRNNBuilder(1, 3, 4, self.m, dy.GRUBuilder)
        self.stack = dy.StackedRNNState([self.gru.initial_state()])


Row = tuple[Callable[[World], Any], type[BaseException], str]

OPERATORS: list[Row] = [
    (lambda w: w.x + "a", TypeError, "operator +: the right operand is 'a', of type str; want an expression or a number\n  given an expression {3}"),
    (lambda w: w.x * [1, 2], TypeError, "operator *: the right operand is [1, 2], of type list; want an expression or a number"),
    (lambda w: [1, 2] * w.x, TypeError, "operator *: the left operand is [1, 2], of type list"),
    (lambda w: "a" + w.x, TypeError, "operator +: the left operand is 'a', of type str"),
    (lambda w: w.x - None, TypeError, "operator -: the right operand is None; want"),
    (lambda w: 3 / w.x, TypeError, "operator /: the left operand is 3, of type int; want an expression; a number divided"),
    (lambda w: 2**w.x, TypeError, "operator **: the left operand is 2, of type int; want an expression; a number to the power"),
    (lambda w: w.x ** "a", TypeError, "operator **: the right operand is 'a'"),
    (lambda w: w.x - np.ones(3), TypeError, "operator -: the right operand is an array of shape (3,), of type ndarray; want an expression or a number, as inputTensor makes"),
    (lambda w: np.ones(3) + w.x, TypeError, "operator +: the left operand is an array of shape (3,)"),
    (lambda w: w.x @ w.x, TypeError, "operator @ is no operation of expressions; * is the product of matrices, too\n  given an expression {3}, an expression {3}"),
    (lambda w: np.ones((3, 3)) @ w.x, TypeError, "operator @ is no operation of expressions"),
    (lambda w: w.x // 2, TypeError, "operator // is no operation of expressions"),
    (lambda w: 5 % w.x, TypeError, "operator % is no operation of expressions"),
]  # fmt: skip

PROPERTIES: list[Row] = [
    (lambda w: setattr(w.trainer, "learning_rate", "a"), TypeError, "Trainer.learning_rate: value is 'a', of type str; want a number"),
    (lambda w: setattr(w.trainer, "learning_rate", None), TypeError, "Trainer.learning_rate: value is None; want a number"),
    (lambda w: setattr(w.trainer, "lookup_updates", None), TypeError, "value is None; want 'sparse' or 'dense' or 'exact'"),
    (lambda w: setattr(w.trainer, "lookup_updates", 3), TypeError, "value is 3, of type int; want 'sparse' or"),
]  # fmt: skip

CLASSES: list[Row] = [
    (lambda w: dy.Expression(), TypeError, "Expression: objects of this class are not made by calling it: functions such as dynet.inputVector"),
    (lambda w: dy.RNNState(), TypeError, "RNNState: objects of this class are not made by calling it: the initial_state() of a builder"),
    (lambda w: dy.Parameters(), TypeError, "Parameters: objects of this class are not made by calling it: ParameterCollection.add_parameters"),
    (lambda w: dy.LookupParameters(3, 4), TypeError, "LookupParameters: objects of this class are not"),
    (lambda w: dy.Trainer(w.m), TypeError, "Trainer: objects of this class are not made by calling it: make one that says how, such as an AdamTrainer"),
    (lambda w: dy.SoftmaxBuilder(), TypeError, "SoftmaxBuilder: objects"),
    (lambda w: dy.PyInitializer(x=1), TypeError, "PyInitializer: objects"),
    (lambda w: dy.Schedule(), TypeError, "Schedule: objects"),
]  # fmt: skip

METHODS: list[Row] = [
    (lambda w: w.gru.initial_state.transduce([w.x]), AttributeError, "RNNBuilder.initial_state is a method, which has no attribute 'transduce'; call it: initial_state().transduce"),
    (lambda w: dy.renew_cg.nodes, AttributeError, "renew_cg is a function, which has no attribute 'nodes'; call it: renew_cg().nodes"),
    (lambda w: dy.tanh(w.gru.initial_state), TypeError, "x is <method GRUBuilder.initial_state>, which is not called; want an expression"),
    (lambda w: w.gru.set_dropout("a"), TypeError, "GRUBuilder.set_dropout: f is 'a', of type str; want a number"),
    (lambda w: w.gru.initial_state([3]), TypeError, "GRUBuilder.initial_state: vecs[0] is 3"),
]  # fmt: skip

IN_PYTHON: list[Row] = [
    (lambda w: dy.sparse_inputTensor(1, [1.0], (3,)), TypeError, "sparse_inputTensor: idxs is 1, of type int; want a list of lists"),
    (lambda w: dy.bucketed(3, 4), TypeError, "bucketed: "),
    (lambda w: dy.save("x", 3), TypeError, "save: objects is 3, of type int; want a list of values"),
    (lambda w: dy.save(None, [w.gru]), TypeError, "save: basename is None; want text or a path"),
    (lambda w: dy.save("x", [3]), TypeError, "save: object 0 is a int without spec"),
    (lambda w: dy.load(3, w.m), TypeError, "load: basename is 3, of type int; want text or a path"),
    (lambda w: dy.load("x"), TypeError, "load: the argument params is missing; want a ParameterCollection"),
    (lambda w: dy.load("x", None), TypeError, "load: params is None; want a ParameterCollection"),
    (lambda w: dy.load_generator("x", 3), TypeError, "load_generator: params is 3"),
    (lambda w: dy.load("none/none", w.m), dy.IoError, "cannot open 'none/none.meta'"),
    (lambda w: dy.matInput(), TypeError, "matInput: the argument d1 is missing; want a whole number"),
    (lambda w: dy.print_graphviz(1), TypeError, "print_graphviz: 1 argument given; it takes none"),
    (lambda w: dy.fit(foo=3), TypeError, "fit: there is no argument foo; there are: loss_fn, data, trainer, epochs"),
    (lambda w: dy.fit(), TypeError, "fit: the argument loss_fn is missing; want a function"),
    (lambda w: dy.fit(3, [1], w.trainer), TypeError, "fit: loss_fn is 3, of type int; want a function"),
    (lambda w: dy.fit(len, 3, w.trainer), TypeError, "fit: data is 3, of type int; want a list of examples"),
    (lambda w: dy.fit(len, [1], None), TypeError, "fit: trainer is None; want a Trainer"),
    (lambda w: dy.fit(len, [1], w.trainer, on_step=3), TypeError, "fit: on_step is 3, of type int; want a function or None"),
    (lambda w: dy.fit(len, [1], w.trainer, checkpoint=3), TypeError, "fit: checkpoint is 3, of type int; want a Checkpointer or a DistributedCheckpointer or None"),
    (lambda w: dy.fit(len, [], w.trainer), dy.EmptyListError, "fit: data is empty; want one example or more"),
    (lambda w: dy.fit(len, [1], w.trainer, epochs="a"), TypeError, "fit: epochs is 'a'; want a whole number"),
    (lambda w: dy.fit(lambda d: 3, [1], w.trainer), TypeError, "returned 3; want the loss of the example"),
    (lambda w: dy.both(3), TypeError, "both: callbacks[0] is 3; want a function of a Step"),
    (lambda w: dy.TensorBoard(3), TypeError, "TensorBoard: folder is 3, of type int; want text or a path"),
    (lambda w: dy.TensorBoard("x", 0), ValueError, "TensorBoard: every is 0; want 1 or more"),
    (lambda w: dy.BiRNNBuilder("a", 3, 4, w.m, dy.GRUBuilder), TypeError, "BiRNNBuilder: num_layers is 'a', of type str; want a whole number"),
    (lambda w: dy.BiRNNBuilder(1, 3, 4.5, w.m, dy.GRUBuilder), TypeError, "BiRNNBuilder: hidden_dim is 4.5, which is not whole; want a whole number"),
    (lambda w: dy.BiRNNBuilder(1, 3, 4, w.m, 3), TypeError, "BiRNNBuilder: rnn_builder_factory is 3, of type int; want a function"),
    (lambda w: dy.BiRNNBuilder(1, 3, 4, 3, dy.GRUBuilder), TypeError, "BiRNNBuilder: model is 3, of type int; want a ParameterCollection"),
    (lambda w: dy.BiRNNBuilder(1, 3, 5, w.m, dy.GRUBuilder), AssertionError, "BiRNNBuilder: hidden_dim is 5; want an even number"),
    (lambda w: w.birnn.transduce(3), TypeError, "BiRNNBuilder.transduce: es is 3, of type int; want a list of expressions"),
    (lambda w: w.birnn.add_inputs(3), TypeError, "BiRNNBuilder.add_inputs: es is 3"),
    (lambda w: dy.BiRNNBuilder.from_spec((1, 2), w.m), ValueError, "BiRNNBuilder.from_spec: spec is (1, 2); want (num_layers"),
    (lambda w: dy.BiRNNBuilder.from_spec((1, 2, 4, dy.GRUBuilder, None, 5), w.m), ValueError, "GRUBuilder'>, None, 5); want (num_layers"),
    (lambda w: dy.StackedRNNState([3]), TypeError, "StackedRNNState: states[0] is 3, of type int; want an RNNState"),
    (lambda w: dy.StackedRNNState(3), TypeError, "StackedRNNState: states is 3, of type int; want a list of RNNStates"),
    (lambda w: dy.StackedRNNState([]), ValueError, "StackedRNNState: states is empty"),
    (lambda w: w.stack.add_inputs(3), TypeError, "StackedRNNState.add_inputs: xs is 3"),
    (lambda w: dy.GRUBuilder.from_spec(1, w.m), TypeError, "GRUBuilder.from_spec: spec is 1, of type int; want a tuple"),
    (lambda w: dy.GRUBuilder.from_spec(b"abc", w.m), TypeError, "GRUBuilder.from_spec: spec is b'abc', of type bytes; want a tuple"),
    (lambda w: dy.UnsignedValue(1.5), TypeError, "UnsignedValue: the number is 1.5; want a whole number"),
    (lambda w: dy.UnsignedValue(-1), OverflowError, "UnsignedValue: the number is -1; want 0 or more"),
    (lambda w: dy.FloatVectorValue([1, "a"]), TypeError, "FloatVectorValue: number 1 is 'a'; want a number"),
    (lambda w: dy.FloatVectorValue(3), TypeError, "want a list of"),
]  # fmt: skip

VALUES: list[Row] = [
    (lambda w: w.E.rows_as_array([]), ValueError, "LookupParameters.rows_as_array: the list of indices is empty"),
    (lambda w: w.E.rows_grad_as_array([]), ValueError, "LookupParameters.rows_grad_as_array: the list of indices is empty"),
    (lambda w: dy.inputTensor([np.ones((2, 3)), np.ones((3, 2))]), dy.ShapeError, "inputTensor: arr[0] is an array of shape (2, 3) and arr[1] is one of (3, 2); want equal shapes"),
    (lambda w: w.m.add_parameters(3, init=[1, 2]), ValueError, "ParameterCollection.add_parameters: init is [1, 2], of type list; want None, a number"),
    (lambda w: w.m.add_lookup_parameters((3, 2), init={}), ValueError, "ParameterCollection.add_lookup_parameters: init is {}, of type dict"),
    (lambda w: dy.inputTensor(None), TypeError, "inputTensor: arr is None; want an array or a list of numbers"),
    (lambda w: w.x.set(None), TypeError, "Expression.set: value is None; want a value"),
    (lambda w: dy.apply(None, w.x), TypeError, "apply: operation is None; want an operation: an object with forward"),
    (lambda w: dy.sparse_inputTensor(None, [1.0], (3,)), TypeError, "sparse_inputTensor: idxs is None; want a list of lists"),
    (lambda w: w.W.set_value(None), TypeError, "Parameters.set_value: arr is None; want an array"),
    (lambda w: w.x.set([1.0]), ValueError, "Expression.set: value has 1 number; want 3, as when the node was built\n  node"),
    (lambda w: dy.parameter(3), TypeError, "parameter: argument 0 is 3, of type int; want parameters"),
    (lambda w: dy.reshape(w.v4, (-1, 3)), dy.ShapeError, "reshape: x is {4} and d is {-1,3}; want the 4 elements of x to be a multiple of 3"),
    (lambda w: w.m.name(1), TypeError, "ParameterCollection.name: 1 argument given; it takes none"),
]  # fmt: skip

NAMES: list[Row] = [
    (lambda w: w.E.init_row(9, [1, 2, 3]), IndexError, "LookupParameters.init_row: row 9"),
    (lambda w: w.m.add_parameters((3, 2), init=dy.NumpyInitializer(np.ones(4))), dy.ShapeError, "ParameterCollection.add_parameters: the numbers are {4}"),
    (lambda w: w.m.add_parameters((3, 2), init=dy.FromFileInitializer("none/none")), dy.IoError, "ParameterCollection.add_parameters: cannot open"),
    (lambda w: dy.esum([w.x, w.v4]), dy.ShapeError, "esum(x1, x2): x1 is {3} and x2 is {4}"),
    (lambda w: dy.log_softmax(w.x, restrict=[5]), IndexError, "log_softmax: restrict is 5; want less than 3"),
    (lambda w: dy.log_softmax(w.x, restrict=[]), ValueError, "log_softmax(x): x is {3}; want at least one position in restrict\n"),
    (lambda w: dy.pick(w.x, 9), IndexError, "pick: index is 9; want less than 3"),
    (lambda w: dy.pick_batch(w.x, [9]), IndexError, "pick_batch: indices is 9; want less than 3"),
    (lambda w: dy.select_rows(w.x, [9]), IndexError, "select_rows: rs is 9; want less than 3"),
    (lambda w: dy.select_cols(w.W, [9]), IndexError, "select_cols: cs is 9; want less than 2"),
    (lambda w: dy.vanilla_lstm_gates(w.x, w.x, w.W, w.W, w.x), dy.ShapeError, "vanilla_lstm_gates: its product is affine_transform("),
    (lambda w: dy.AdamTrainer(w.m, alpha=NAN), ValueError, "AdamTrainer: alpha is nan; want a finite number"),
    (lambda w: dy.AdamTrainer(w.m, eps=NAN), ValueError, "AdamTrainer: eps is nan; want a finite number"),
]  # fmt: skip

ALL = OPERATORS + PROPERTIES + CLASSES + METHODS + IN_PYTHON + VALUES + NAMES


def name_of_row(row: Row) -> str:
    return inspect.getsource(row[0]).strip()[:60]


@pytest.mark.parametrize("row", ALL, ids=name_of_row)
def test_what_it_says(row: Row, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call, error, words = row
    world = World()
    with pytest.raises(error) as raised:
        call(world)
    text = str(raised.value)
    assert words in text
    assert isinstance(raised.value, (dy.Error, AttributeError, AssertionError))
    assert re.search(rf"\n  (called|built) at \S*{HERE}:\d+ in <lambda>\(\)", text), text
    assert "nanobind" not in text and "nb_" not in text
    assert text.count("called at ") <= 1


def test_a_class_of_the_program_answers_operators_itself() -> None:
    class Mine:
        def __radd__(self, other: Any) -> str:
            return "radd"

        __rmatmul__ = __radd__

        def __add__(self, other: Any) -> str:
            return "add"

    x = World().x
    assert x + Mine() == "radd" and Mine() + x == "add" and x @ Mine() == "radd"  # type: ignore[operator]
    with pytest.raises(dy.TypeError, match="operator -: the right operand is <"):
        x - Mine()  # type: ignore[operator]


class Own(Exception):
    pass


@pytest.mark.parametrize("error", [Own, TypeError, AttributeError, KeyboardInterrupt])
def test_what_the_program_raises_in_them_comes_through(error: type[BaseException]) -> None:
    world = World()

    def fail(*_: Any) -> Any:
        raise error("mine")

    def generator() -> Any:
        yield world.x
        fail()

    class Sequence:
        """Has no __iter__, which fit does not need."""

        def __len__(self) -> int:
            return 3

        __getitem__ = fail

    for call in (
        lambda: dy.BiRNNBuilder(1, 3, 4, world.m, fail),
        lambda: world.birnn.transduce(generator()),
        lambda: world.stack.add_inputs(generator()),
        lambda: dy.save("x", generator()),
        lambda: dy.fit(fail, [1, 2], world.trainer),
        lambda: dy.fit(len, Sequence(), world.trainer),
    ):
        with pytest.raises(error) as raised:
            call()
        assert type(raised.value) is error and str(raised.value) == "mine"


def test_a_bad_option_is_told_at_the_import() -> None:
    import subprocess
    import sys

    code = "import sys\nsys.argv.append('--dynet-autobatch=x')\nimport dynet\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        "called at <string>:3" in done.stderr
        and "frozen" not in done.stderr.rpartition("\n  called")[2]
    )


def test_builders_name_themselves_where_an_expression_is_stale() -> None:
    old = World().x
    w = World()  # renews the graph
    calls: dict[str, Callable[[], Any]] = {
        "GRUBuilder: x": lambda: w.gru.initial_state().add_input(old),
        "GRUBuilder: h of layer 0 of the new state": lambda: w.gru.initial_state().set_h([old]),
        "CRFBuilder: viterbi": lambda: dy.CRFBuilder(3, w.m).viterbi(old),
        "StandardSoftmaxBuilder: sample": lambda: dy.StandardSoftmaxBuilder(3, 4, w.m).sample(old),
    }
    for begin, call in calls.items():
        with pytest.raises(dy.StaleExpression) as raised:
            call()
        text = str(raised.value)
        assert text.startswith(begin + ": stale expression ") and f"{HERE}:" in text
