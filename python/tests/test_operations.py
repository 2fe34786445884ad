"""Every operation of the list, called by name from Python; there is no line for any one of them here."""

from __future__ import annotations

import ast
import pathlib
from typing import Any

import _dynet
import dynet as dy
import numpy as np
import pytest

if not hasattr(_dynet, "_operations"):  # wheels are built without (DYNET_DESCRIPTIONS)
    pytest.skip("the module has no descriptions of operations", allow_module_level=True)
OPERATIONS = _dynet._operations()
FUNCTIONS = [op for op in OPERATIONS if op["python"] != "-" and not op["python"].startswith("__")]
OPERATORS = [op for op in OPERATIONS if op["python"].startswith("__")]
CASES = [(op, k) for op in FUNCTIONS for k in range(len(op["examples"]))]


def random_inputs(example: dict[str, Any], seed: int = 0) -> list[dy.Expression | None]:
    """An argument without a shape is absent."""
    rng = np.random.default_rng(seed)
    return [
        dy.inputTensor(rng.uniform(example["low"], example["high"], shape)) if shape else None
        for shape in example["inputs"]
    ]


def arguments(op: dict[str, Any], example: dict[str, Any]) -> dict[str, Any]:
    """Arguments of the Python function by name."""
    inputs = random_inputs(example)
    if op["variadic"]:
        named: dict[str, Any] = {op["args"][0]: inputs}
    else:
        named = dict(zip(op["args"], inputs))
    if op["payload"]:
        named[op["payload"]] = (example["indices"] or example["values"])[0]
    return named | example["attrs"]


def results(value: Any) -> list[dy.Expression]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize(("op", "k"), CASES, ids=[f"{op['name']}-{k}" for op, k in CASES])
def test_by_keywords_and_by_position(op: dict[str, Any], k: int):
    named = arguments(op, op["examples"][k])
    function = getattr(dy, op["python"])
    by_name = results(function(**named))
    by_position = results(function(*named.values()))
    assert len(by_name) == len(by_position) == op["outputs"]
    for a, b in zip(by_name, by_position):
        assert a.dim() == b.dim()
        assert np.isfinite(a.npvalue()).all()
        if not op["random"]:
            np.testing.assert_array_equal(a.npvalue(), b.npvalue())
    total = dy.esum([dy.sum_elems(dy.sum_batches(r)) for r in by_name])
    total.backward(full=True)
    for argument in named.values():
        if isinstance(argument, dy.Expression):
            assert np.isfinite(argument.gradient()).all()


@pytest.mark.parametrize(
    "op", [op for op in FUNCTIONS if op["python_batch"]], ids=lambda op: op["name"]
)
def test_batch_forms(op: dict[str, Any]):
    for example in op["examples"]:
        named = arguments(op, example)
        index = named.pop(op["payload"])
        plural = "indices" if op["payload"] == "index" else op["payload"] + "s"
        batched = {
            name: dy.concatenate_to_batch([a, a]) if isinstance(a, dy.Expression) else a
            for name, a in named.items()
        }
        one = getattr(dy, op["python"])(**named, **{op["payload"]: index})
        two = getattr(dy, op["python_batch"])(**batched, **{plural: [index, index]})
        assert two.dim() == (one.dim()[0], 2)
        np.testing.assert_array_equal(two.npvalue()[..., 1], one.npvalue())


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op["name"])
def test_operators(op: dict[str, Any]):
    for example in op["examples"]:
        x, *rest = random_inputs(example)
        if op["payload"]:
            rest = [example["values"][0]]
        for operand in [*rest, *([np.float32(rest[0])] if op["payload"] else [])]:
            by_slot = {
                "__add__": lambda a, b: a + b, "__sub__": lambda a, b: a - b,
                "__mul__": lambda a, b: a * b, "__truediv__": lambda a, b: a / b,
                "__pow__": lambda a, b: a**b,
            }[op["python"]](x, operand)  # fmt: skip
            by_method = getattr(x, op["python"])(operand)
            np.testing.assert_array_equal(by_slot.npvalue(), by_method.npvalue())
        if not rest:
            np.testing.assert_array_equal((-x).npvalue(), -x.npvalue())


@pytest.mark.parametrize("number", [2, 2.5, np.float32(2.5), np.float64(2.5), np.int64(2)])
def test_numbers_on_both_sides(number: Any):
    x = dy.inputVector([1.0, -2.0])
    values = np.array([1.0, -2.0])
    for got, want in [
        (x + number, values + number), (number + x, number + values),
        (x - number, values - number), (number - x, number - values),
        (x * number, values * number), (number * x, number * values),
        (x / number, values / number), (dy.square(x) ** number, (values * values) ** number),
    ]:  # fmt: skip
        assert isinstance(got, dy.Expression)
        np.testing.assert_allclose(got.npvalue(), want, rtol=1e-6)


def test_operators_refuse_other_things():
    x = dy.inputVector([1.0])
    for other in ["a", None, [1.0], 1j]:
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            other * x
    for refused in [lambda: 1.0 / x, lambda: 2.0**x, lambda: pow(x, 2, 3)]:
        with pytest.raises(TypeError):
            refused()


def test_a_parameter_is_an_operand():
    w = dy.ParameterCollection().add_parameters((2, 2), init=3.0)
    x = dy.inputVector([1.0, 2.0])
    np.testing.assert_array_equal((w * x).npvalue(), [9.0, 9.0])
    np.testing.assert_array_equal((w + w).npvalue(), np.full((2, 2), 6.0))
    np.testing.assert_array_equal((2 * w - 1).npvalue(), np.full((2, 2), 5.0))
    np.testing.assert_array_equal((-w).npvalue(), np.full((2, 2), -3.0))


def test_quotient_of_expressions():
    x, y = dy.inputVector([1.0, 6.0]), dy.inputVector([2.0, 3.0])
    np.testing.assert_array_equal((x / y).npvalue(), [0.5, 2.0])


def test_powers_of_expressions():
    x = dy.inputVector([1.0, 2.0, 3.0])
    np.testing.assert_allclose((x ** dy.scalarInput(3)).npvalue(), [1, 8, 27], rtol=1e-6)
    np.testing.assert_allclose(
        dy.pow(x, dy.scalarInput(-1)).npvalue(), [1, 1 / 2, 1 / 3], rtol=1e-6
    )
    np.testing.assert_array_equal((x**2).npvalue(), [1, 4, 9])


@pytest.mark.parametrize("name", ["round", "ceil", "floor", "argmax"])
def test_gradient_modes(name: str):
    function = getattr(dy, name)
    for mode, slope in [("zero_gradient", 0.0), ("straight_through_gradient", 1.0)]:
        dy.renew_cg()
        x = dy.inputVector([0.25, 1.75])
        y = dy.sum_elems(function(x, mode))
        y.backward(full=True)
        np.testing.assert_array_equal(x.gradient(), [slope, slope])
    with pytest.raises(ValueError, match="gradient_mode"):
        function(x, "some_gradient")
    with pytest.raises(TypeError):
        function(x)


def test_sum_of_a_list():
    xs = [dy.inputVector([float(k), 1.0]) for k in range(4)]
    np.testing.assert_array_equal(sum(xs).npvalue(), [6.0, 4.0])


def test_lists_may_be_any_iterable():
    xs = [dy.scalarInput(k) for k in range(3)]
    assert dy.esum(xs).value() == dy.esum(tuple(xs)).value() == dy.esum(x for x in xs).value() == 3
    for wrong in ["abc", xs[0], [1, 2], 5, None]:
        with pytest.raises(TypeError):
            dy.esum(wrong)
    with pytest.raises(ValueError, match="empty"):
        dy.esum([])


def test_reductions():
    x = dy.inputTensor(np.arange(1.0, 9.0).reshape(2, 2, 2, order="F"), batched=True)
    np.testing.assert_array_equal(dy.sum_dim(x, [1]).npvalue(), [[4, 12], [6, 14]])
    np.testing.assert_array_equal(dy.sum_dim(x, [1], b=True).npvalue(), [16, 20])
    np.testing.assert_array_equal(dy.mean_dim(x, [0, 1], False).npvalue(), [[2.5, 6.5]])
    np.testing.assert_array_equal(dy.moment_dim(x, [0, 1], 2, True).npvalue(), [25.5])
    np.testing.assert_array_equal(dy.std_dim(x, [], True).npvalue(), [[2, 2], [2, 2]])
    np.testing.assert_array_equal(dy.mean_batches(x).npvalue(), [[3, 5], [4, 6]])
    np.testing.assert_array_equal(dy.max_dim(x, 1).npvalue(), [[3, 7], [4, 8]])
    assert dy.moment_elems(dy.inputVector([1.0, 3.0]), 2).value() == 5
    assert dy.mean_elems(dy.inputVector([1.0, 3.0])).value() == 2
    assert dy.std_elems(dy.inputVector([1.0, 3.0])).value() == 1
    with pytest.raises(ValueError, match="empty"):
        dy.sum_dim(x, [])
    ones = dy.inputVector([1.0, 1.0])
    y = dy.layer_norm(dy.inputVector([1.0, 3.0]), ones, ones).npvalue()
    np.testing.assert_allclose(y, [0, 2], atol=1e-6)
    y = dy.layer_norm(dy.inputVector([1.0, 3.0]), ones, ones, epsilon=3.0).npvalue()
    np.testing.assert_allclose(y, [0.5, 1.5], atol=1e-6)
    with pytest.raises(ValueError, match="epsilon of at least 0, not -1"):
        dy.layer_norm(ones, ones, ones, -1.0)


def test_composed_functions():
    a, b = dy.inputVector([1.0, 5.0, 3.0]), dy.inputVector([4.0, 2.0, 3.0])
    np.testing.assert_array_equal(dy.emax([a, b]).npvalue(), [4.0, 5.0, 3.0])
    np.testing.assert_array_equal(dy.emin([a, b]).npvalue(), [1.0, 2.0, 3.0])
    sums = np.log(np.exp(a.npvalue()) + 2 * np.exp(b.npvalue()))
    np.testing.assert_allclose(dy.logsumexp([a, b, b]).npvalue(), sums, rtol=1e-6)
    columns = dy.concatenate_cols([a, b])
    np.testing.assert_array_equal(dy.hinge_dim(columns, [0, 1]).npvalue(), [8.0, 5.0])
    np.testing.assert_array_equal(
        dy.hinge_dim(columns, v=[0, 1, 0], d=1, m=0.5).npvalue(), [3.5, 3.5, 0.5]
    )
    with pytest.raises(ValueError, match="hinge_dim"):
        dy.hinge_dim(columns, [0, 3])
    np.testing.assert_array_equal(
        dy.hinge_batch(dy.concatenate_to_batch([a, b]), [1, 0]).npvalue(), [[0.0, 0.0]]
    )
    assert dy.poisson_loss(log_lambda=dy.scalarInput(0.0), x=2).value() == pytest.approx(
        1 + np.log(2)
    )
    assert dy.concatenate_cols([a, b]).dim() == ((3, 2), 1)
    np.testing.assert_array_equal(dy.pickrange(a, 1, 3).npvalue(), [5.0, 3.0])
    np.testing.assert_array_equal(dy.cwise_multiply(a, b).npvalue(), [4.0, 10.0, 9.0])
    x, h, bias = dy.inputVector([0.5]), dy.inputVector([0.1]), dy.inputVector([0.0, 0.1, 0.2, 0.3])
    w_x, w_h = dy.inputTensor(np.ones((4, 1))), dy.inputTensor(np.ones((4, 1)))
    gates = dy.vanilla_lstm_gates(x, h, w_x, w_h, bias).npvalue()
    pre = 0.6 + np.array([0.0, 1.1, 0.2, 0.3])
    np.testing.assert_allclose(gates[:3], 1 / (1 + np.exp(-pre[:3])), rtol=1e-6)
    np.testing.assert_allclose(gates[3], np.tanh(pre[3]), rtol=1e-6)
    args = (h, dy.inputTensor(np.ones((4, 2))), w_h, bias)
    both = dy.vanilla_lstm_gates(dy.concatenate([x, x]), *args).npvalue()
    np.testing.assert_array_equal(dy.vanilla_lstm_gates_concat([x, x], *args).npvalue(), both)
    masks = (dy.inputVector([0.0, 1.0]), dy.inputVector([1.0]))
    dropped = dy.vanilla_lstm_gates_dropout_concat([x, x], *args, *masks).npvalue()
    np.testing.assert_allclose(dropped, gates, rtol=1e-6)
    masks = (dy.inputVector([1.0]), dy.inputVector([1.0]))
    plain = dy.vanilla_lstm_gates_dropout(x, h, w_x, w_h, bias, *masks).npvalue()
    np.testing.assert_array_equal(plain, gates)


def test_random_operations_repeat_with_the_seed():
    def draw() -> list[np.ndarray]:
        dy.reset_random_seed(7)
        dy.renew_cg()
        x = dy.ones((3, 4))
        nodes = [dy.random_normal((2, 3), batch_size=2), dy.random_uniform(5, -1, 1), dy.dropout(x, 0.5),
                 dy.random_bernoulli(6, 0.5, scale=2.0), dy.noise(x, 0.1), dy.random_gumbel((2, 3)),
                 dy.dropout_dim(x, 1, 0.5), dy.dropout_batch(x, 0.5), dy.block_dropout(x, 0.5),
                 dy.sample_categorical(dy.inputVector([1.0, 2.0, 3.0]))]  # fmt: skip
        return [n.npvalue() for n in nodes]

    for a, b in zip(draw(), draw()):
        np.testing.assert_array_equal(a, b)


# ---- names, documentation, stubs -----------------------------------------------------------------


def stub_tree() -> ast.Module:
    directory = pathlib.Path(_dynet.__file__).parent
    return ast.parse((directory / "dynet" / "__init__.pyi").read_text())


def test_every_operation_is_documented_and_in_the_stub():
    tree = stub_tree()
    functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    expression = next(
        n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Expression"
    )
    methods = {n.name for n in expression.body if isinstance(n, ast.FunctionDef)}
    for op in OPERATIONS:
        for name in {op["python"], op["python_batch"], op["mirrored"]} - {"", "-"}:
            if name.startswith("__"):
                assert name in methods
                assert hasattr(dy.Expression, name)
            else:
                assert name in functions
                assert op["summary"] in getattr(dy, name).__doc__


def test_the_stub_holds_the_module_and_no_more():
    tree = stub_tree()
    stubbed = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            stubbed.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if not node.target.id.startswith("_"):  # accepted arguments
                stubbed.add(node.target.id)
        elif isinstance(node, ast.Assign):
            stubbed.update(t.id for t in node.targets if isinstance(t, ast.Name))
    present = {n for n in vars(_dynet) if not n.startswith("__")}
    of_the_package = {"HAVE_CUDA", "__all__", "__version__", "__gitversion__", "np"} | {
        name for name, value in vars(dy).items() if getattr(value, "__code__", None) is not None
    }
    assert stubbed - of_the_package == present


def test_functions_of_the_list_have_signatures_with_types():
    for op in FUNCTIONS:
        first = getattr(dy, op["python"]).__doc__.splitlines()[0]
        assert first.startswith(op["python"] + "(")
        assert "->" in first
