"""Arrays from expressions and expressions from arrays: of objects, of other libraries, their order."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dynet as dy
import numpy as np
import pytest


def counted(*shape: int) -> dy.Expression:
    return dy.inputTensor(np.arange(np.prod(shape), dtype=float).reshape(shape)) + 0.0


# ---- arrays that hold expressions ---------------------------------------------------------------


def test_lists_of_expressions_are_arrays_of_objects() -> None:
    x, y = counted(3), counted(3)
    model = dy.ParameterCollection()
    W, E = model.add_parameters((2, 3)), model.add_lookup_parameters((4, 3))
    nodes = len(dy.cg())
    for array in (
        np.array([x, y]),
        np.asarray([x, y]),
        np.array((x, y)),
        np.array([x, y], copy=None),
        np.asanyarray([x, y]),
        np.array([x, y], dtype=object),
        np.fromiter([x, y], dtype=object),
    ):
        assert array.dtype == object and array.shape == (2,) and array[0] is x and array[1] is y
    assert np.array([[x], [y]]).shape == (2, 1) and np.array([x]).tolist() == [x]
    assert np.array([W, E, x, None, 1.0]).tolist() == [W, E, x, None, 1.0]
    assert list(map(np.array, [[x], [y]]))[1][0] is y
    assert len(dy.cg()) == nodes


def test_one_expression_is_its_numbers() -> None:
    x = counted(2, 3)
    want = [[0, 1, 2], [3, 4, 5]]
    for array in (
        np.asarray(x),
        np.array(x),
        np.asanyarray(x),
        np.ascontiguousarray(x),
        np.asarray(x, dtype=float),
        np.asarray(x, dtype=np.float32),
        *map(np.asarray, [x]),
        np.stack([x])[0],
        x.__array__(),
    ):
        assert array.dtype.kind == "f" and array.tolist() == want
    assert np.array([x, x], dtype=float).shape == (2, 2, 3)
    assert np.mean(x) == 2.5
    assert np.asarray(x, dtype=object).item() is x


def test_gradients_go_through_an_array_of_expressions() -> None:
    p = dy.ParameterCollection().add_parameters(2, init=3.0)
    parts = np.array([p[0] * 2.0, p[1] * p[1]])
    total = parts.sum() + np.mean(parts) + (parts * np.array([1.0, 2.0]))[1]
    assert isinstance(total, dy.Expression)
    total.backward()
    assert p.grad_as_array().tolist() == [3.0, 21.0]


def test_the_first_question_may_come_in_a_list() -> None:
    code = """
import sys, threading, dynet as dy, numpy as np
x = dy.inputVector([1.0, 2.0])
def ask():
    sys.setrecursionlimit(400)
    def down(n):
        return down(n - 1) if n else (np.array([x]).dtype, np.asarray(x).dtype)
    assert down(300) == (object, np.float32)
threads = [threading.Thread(target=ask) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
ask()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---- order --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (2, 3), (1, 4), (4, 1), (2, 3, 4), (3, 1, 2, 5), (70, 45)])
@pytest.mark.parametrize("batched", [False, True])
def test_copies_lie_row_by_row(shape: tuple[int, ...], batched: bool) -> None:
    want = np.arange(float(np.prod(shape))).reshape(shape)
    x = dy.inputTensor(want, batched=batched) + 0.0
    if batched and len(shape) == 1:  # of scalars, which are {1}
        want = want[None]
    if batched and x.dim()[1] == 1:  # a batch of one has no axis
        want = want[..., 0]
    for copy in (x.npvalue(), np.array(x), np.asarray(x, dtype=float), dy.npvalues([x])[0]):
        assert np.array_equal(copy, want) and copy.shape == want.shape
        assert copy.flags.c_contiguous and copy.flags.owndata is not None and copy.flags.writeable
        assert copy.tobytes() == np.ascontiguousarray(copy).tobytes()
    assert np.array_equal(x.numpy(), want)


def test_all_copies_lie_row_by_row() -> None:
    model = dy.ParameterCollection()
    want, rows = np.arange(6.0).reshape(2, 3), np.arange(24.0).reshape(4, 2, 3)
    W, E = model.parameters_from_numpy(want), model.lookup_parameters_from_numpy(rows)
    dy.sum_elems(
        dy.cmult(W, dy.inputTensor(want)) + dy.cmult(E[1], dy.inputTensor(want))
    ).backward()
    assert W.value().flags.c_contiguous
    grad = np.zeros_like(rows)
    grad[1] = want
    for array, should in [
        (W.as_array(), want),
        (W.grad_as_array(), want),
        (W.gradient(), want),
        (E.as_array(), rows),
        (E.grad_as_array(), grad),
        (E.row_as_array(2), rows[2]),
        (E.rows_as_array([2, 1]), rows[[2, 1]]),
        (E.row_grad_as_array(1), want),
        (E.rows_grad_as_array([0, 1]), grad[:2]),
        (E[3].npvalue(), rows[3]),
    ]:
        assert np.array_equal(array, should) and array.flags.c_contiguous
    tensor = dy.inputTensor(want).tensor_value()
    assert tensor.as_numpy().flags.c_contiguous and tensor.as_numpy().tolist() == want.tolist()
    assert dy.inputTensor(rows).tensor_value().argmax().as_numpy().flags.c_contiguous


def test_operations_of_a_program_get_arrays_row_by_row() -> None:
    seen: list[Any] = []

    class Double:
        def forward(self, x: Any) -> Any:
            seen.append(x)
            return 2 * x

        def backward(self, xs: Any, y: Any, dy: Any) -> Any:
            seen.extend([*xs, y, dy])
            return 2 * dy

    x = dy.ParameterCollection().parameters_from_numpy(np.arange(6.0).reshape(2, 3))
    y = dy.apply(Double(), x)
    assert y.npvalue().tolist() == [[0, 2, 4], [6, 8, 10]]
    dy.sum_elems(dy.cmult(y, y)).backward()
    assert x.grad_as_array().tolist() == [[0, 8, 16], [24, 32, 40]]
    assert len(seen) == 4 and all(array.flags.c_contiguous for array in seen)


def test_a_table_is_shown_rows_first() -> None:
    rows = np.arange(24.0).reshape(4, 2, 3)
    E = dy.ParameterCollection().lookup_parameters_from_numpy(rows)
    assert E.shape() == (4, 2, 3) and E.dim() == ((2, 3, 4), 1)
    for array in (np.asarray(E), E.numpy(), np.array(E), np.asarray(E, dtype=float)):
        assert np.array_equal(array, rows)
    assert not E.numpy().flags.writeable
    copy = dy.ParameterCollection().lookup_parameters_from_numpy(E)
    assert np.array_equal(copy.as_array(), rows)
    # As an expression its rows are last, as its dim() says and 2.1 has it.
    assert np.array_equal(E.npvalue(), np.moveaxis(rows, 0, -1))


# ---- given arrays -------------------------------------------------------------------------------


class Bfloat16:
    """As a tensor of PyTorch: NumPy has no such type, DLPack has."""

    def __init__(self, numbers: Any) -> None:
        self.bits = (np.asarray(numbers, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        self.dtype = "torch.bfloat16"
        self.shape = self.bits.shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Got unsupported ScalarType BFloat16")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **options: Any) -> Any:
        import ctypes

        capsule = self.bits.__dlpack__()
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        address = api.PyCapsule_GetPointer(capsule, b"dltensor")
        # DLTensor: data, device (8 bytes), ndim (4), and then the type: code, bits, lanes.
        ctypes.c_uint8.from_address(address + 20).value = self.code
        return capsule

    code = 4


class Float8(Bfloat16):
    code = 9


def test_bfloat16_is_taken() -> None:
    want = np.array([[0.5, -2.0, 3.25], [1e30, 0.0, np.inf]], np.float32)
    want = (want.view(np.uint32) >> 16 << 16).view(np.float32)
    model = dy.ParameterCollection()
    p, q = model.add_parameters((2, 3)), model.add_parameters((2, 3), init=Bfloat16(want))
    p.set_value(Bfloat16(want))
    E = model.lookup_parameters_from_numpy(Bfloat16(want))
    for array in (dy.inputTensor(Bfloat16(want)).npvalue(), *(x.as_array() for x in (p, q, E))):
        assert np.array_equal(array, want)
    transposed = Bfloat16(want)
    transposed.bits = transposed.bits.T
    assert np.array_equal(dy.inputTensor(transposed).npvalue(), want.T)
    assert dy.inputVector(Bfloat16(want[0])).value() == want[0].tolist()
    batch = dy.inputTensor([Bfloat16(want), Bfloat16(want)])
    assert batch.dim() == ((2, 3), 2) and np.array_equal(batch.npvalue()[..., 1], want)


def test_a_type_that_nobody_knows_is_named() -> None:
    with pytest.raises(dy.TypeError, match=r"type torch.bfloat16; want float32.*x.float\(\)"):
        dy.inputTensor(Float8([1.0]))


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.0, None], dtype=object), r"element \[1\] of an array of objects is None"),
        (np.array([[1.0, "2"]], dtype=object), r"element \[0\]\[1\] of an array of objects is '2'"),
        (np.array(["1", "2"]), "an array of type <U1; want real numbers"),
        (np.array([b"1"]), "an array of type |S1; want real numbers"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "an array of type datetime64"),
        (np.array([1], dtype="m8[s]"), "an array of type timedelta64"),
        (np.array([1j]), "the numbers are complex"),
    ],
)
def test_what_is_no_number_is_refused(array: Any, text: str) -> None:
    model = dy.ParameterCollection()
    p, E = model.add_parameters(array.shape), model.add_lookup_parameters((1, *array.shape))
    calls: list[Any] = [
        lambda: dy.inputTensor(array),
        lambda: dy.inputTensor([array, array]),
        lambda: p.set_value(array),
        lambda: model.add_parameters(array.shape, init=array),
        lambda: model.lookup_parameters_from_numpy(array),
        lambda: dy.NumpyInitializer(array),
    ]
    named = len(calls)
    calls += [lambda: E.init_from_array(array[None])]
    if array.ndim == 1:
        calls += [lambda: dy.inputVector(array), lambda: E.init_row(0, array)]
        calls += [lambda: dy.inputVector(list(array))]
    for i, call in enumerate(calls):
        with pytest.raises(TypeError, match=text if i < named else ""):
            call()
    assert dy.inputTensor(np.array([1, 2.5, True], dtype=object)).value() == [1.0, 2.5, 1.0]
    assert dy.inputTensor(np.array([True, False])).value() == [1.0, 0.0]


def test_lists_of_arrays_without_an_axis() -> None:
    assert dy.inputTensor([np.array(1.0), np.array(2.0)]).dim() == ((1,), 2)
    assert dy.inputTensor([np.float32(1.0), np.float64(2.0)]).dim() == ((2,), 1)
    assert dy.inputTensor([np.array(1.0), 2.0]).dim() == ((2,), 1)
    assert dy.inputTensor([[np.array(1.0)], [np.array(2.0)]]).dim() == ((2, 1), 1)


def test_an_array_must_have_the_shape_that_is_asked_for() -> None:
    m = dy.ParameterCollection()
    want = r"dim is \(3, 2\) and init is an array of shape \(2, 3\); want equal shapes"
    for add in (m.add_parameters, m.add_lookup_parameters):
        with pytest.raises(dy.ShapeError, match=want):
            add((3, 2), init=np.zeros((2, 3)))
        for dim in (6, (3, 2, 1, 2), (2,)):
            with pytest.raises(dy.ShapeError, match="want equal shapes"):
                add(dim, init=np.zeros((3, 2)))
    with pytest.raises(dy.ShapeError, match=r"\{2,3\}.*\{3,2\}; want equal shapes"):
        m.add_parameters((3, 2), init=dy.NumpyInitializer(np.zeros((2, 3))))
    assert m.parameter_count() == 0
    array = np.arange(6.0).reshape(2, 3)
    assert m.add_parameters((2, 3), init=array).as_array().tolist() == array.tolist()
    assert m.add_parameters((2, 3, 1), init=array).shape() == (2, 3, 1)
    assert m.add_parameters(3, init=np.ones((3, 1))).shape() == (3,)
    assert m.add_lookup_parameters((2, 3), init=array).as_array().tolist() == array.tolist()
    assert m.add_lookup_parameters(2, init=np.ones(2)).as_array().tolist() == [[1.0], [1.0]]


@pytest.mark.parametrize("batched", [False, True])
def test_an_operation_that_returns_none_is_told_so(batched: bool) -> None:
    class Forgets:
        batched = False

        def forward(self, x: Any) -> Any:
            if self.batched is None:
                return x

        def backward(self, xs: Any, y: Any, dy: Any) -> None:
            pass

    Forgets.batched = batched
    with pytest.raises(dy.TypeError, match=r"Forgets.forward: returned None; want an array of"):
        dy.apply(Forgets(), counted(2)).value()

    class Half(Forgets):
        def forward(self, x: Any) -> Any:
            return x

    p = dy.ParameterCollection().add_parameters(2)
    with pytest.raises(dy.TypeError, match=r"Half.backward: returned None; want a gradient for"):
        dy.sum_elems(dy.apply(Half(), p)).backward()

    class Empty(Forgets):
        def forward(self, x: Any) -> Any:
            return np.array([1.0, None])

    with pytest.raises(dy.TypeError, match=r"element \[1\] of an array of objects is None"):
        dy.apply(Empty(), counted(2)).value()
