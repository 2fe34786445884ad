"""Values, shapes, layouts, parts, inputs that can be set."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest


@pytest.mark.parametrize("shape", [(4,), (3, 2), (2, 3, 4), (1, 1), (1,), (2, 1, 3, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_keep_their_indices(shape: tuple[int, ...], order: str):
    array = np.asarray(np.random.default_rng(1).normal(size=shape).astype(np.float32), order=order)
    e = dy.inputTensor(array)
    assert e.dim() == (shape, 1)
    assert e.npvalue().dtype == np.float64 and e.numpy().dtype == np.float32
    np.testing.assert_array_equal(e.npvalue(), array)
    np.testing.assert_array_equal(e.vec_value(), array.flatten(order="F"))


@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 5), (6,)])
def test_the_last_axis_is_the_batch(shape: tuple[int, ...]):
    array = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    e = dy.inputTensor(array, batched=True)
    assert e.dim() == ((shape[:-1] or (1,)), shape[-1])
    np.testing.assert_array_equal(e.npvalue().reshape(shape), array)


def test_lists_of_arrays_are_batches():
    arrays = [np.full((2, 3), k, np.float64) for k in range(4)]
    e = dy.inputTensor(arrays)
    assert e.dim() == ((2, 3), 4)
    np.testing.assert_array_equal(e.npvalue(), np.stack(arrays, axis=-1))


def test_nested_lists():
    assert dy.inputTensor([[1, 2, 3], [4, 5, 6]]).dim() == ((2, 3), 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.int64, np.uint8, bool])
def test_any_numbers(dtype: type):
    array = np.array([[0, 1], [1, 0]], dtype=dtype)[:, ::-1]
    np.testing.assert_array_equal(dy.inputTensor(array).npvalue(), array.astype(float))


def test_what_is_no_input():
    for wrong in ["text", 3.0, None]:
        with pytest.raises(TypeError):
            dy.inputTensor(wrong)
    with pytest.raises(ValueError):
        dy.inputTensor(np.float32(3.0))
    with pytest.raises((TypeError, ValueError)):
        dy.inputVector(["a"])
    with pytest.raises(RuntimeError, match="GPU:7"):
        dy.scalarInput(1.0, device="GPU:7")


def test_value_has_the_form_of_its_shape():
    assert isinstance(dy.scalarInput(2.5).value(), float)
    assert dy.inputVector([1, 2]).value() == [1.0, 2.0]
    assert dy.inputTensor(np.arange(6).reshape(2, 3), batched=True).value() == [0, 3, 1, 4, 2, 5]
    one = dy.inputTensor(np.ones((1, 1))).value()
    assert isinstance(one, np.ndarray) and one.shape == (1, 1)
    assert dy.inputTensor(np.ones((1, 1))).scalar_value() == 1.0
    with pytest.raises(ValueError, match="one element"):
        dy.inputVector([1, 2]).scalar_value()


def test_other_inputs():
    np.testing.assert_array_equal(dy.vecInput(3).npvalue(), [0, 0, 0])
    np.testing.assert_array_equal(dy.one_hot(4, 2).npvalue(), [0, 0, 1, 0])
    np.testing.assert_array_equal(dy.one_hot(3, [2, 0]).npvalue(), [[0, 1], [0, 0], [1, 0]])
    transposed = dy.inputTensorTranspose([1, 2, 3, 4, 5, 6], (2, 3))
    np.testing.assert_array_equal(transposed.npvalue(), [[1, 3, 5], [2, 4, 6]])
    with pytest.raises(ValueError):
        dy.inputTensorTranspose([1, 2, 3], (2, 2))
    sparse = dy.sparse_inputTensor(([0, 1], [2, 0]), [5.0, 6.0], (2, 3), defval=1.0)
    np.testing.assert_array_equal(sparse.npvalue(), [[1, 1, 5], [6, 1, 1]])
    batched = dy.sparse_inputTensor(([1], [2]), [5.0], (2, 3), batched=True)
    assert batched.dim() == ((2,), 3)
    np.testing.assert_array_equal(batched.npvalue(), [[0, 0, 0], [0, 0, 5]])
    for bad in [lambda: dy.sparse_inputTensor(([0],), [1.0], (2, 3)),
                lambda: dy.sparse_inputTensor(([0, 1], [0]), [1.0], (2, 3)),
                lambda: dy.sparse_inputTensor(([2], [0]), [1.0], (2, 3)),
                lambda: dy.one_hot(3, 3), lambda: dy.one_hot(3, [])]:  # fmt: skip
        with pytest.raises(ValueError):
            bad()
    assert dy.zeros((2, 3), batch_size=2).dim() == ((2, 3), 2)
    np.testing.assert_array_equal(dy.zeroes(2).npvalue() + dy.ones(2).npvalue(), [1, 1])
    np.testing.assert_array_equal(dy.constant((1, 2), 7.0).npvalue(), [[7, 7]])


def test_parts():
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    e = dy.inputTensor(array)
    for k in [0, 3, -1, -4, np.int64(2)]:
        np.testing.assert_array_equal(e[k].npvalue(), array[k])
    for k in [4, -5]:
        with pytest.raises(IndexError):
            e[k]
    np.testing.assert_array_equal(e[1:3].npvalue(), array[1:3])
    np.testing.assert_array_equal(e[1:].npvalue(), array[1:])
    np.testing.assert_array_equal(e[:2, 1:3].npvalue(), array[:2, 1:3])
    assert [part.npvalue().tolist() for part in e] == array.tolist()
    for wrong in ["a", 1.5, None]:
        with pytest.raises(TypeError):
            e[wrong]
    for wrong_slice in [slice(2, 2), slice(4, None), slice(-1, -2), slice(None, -4), slice(3, 1)]:
        with pytest.raises(dy.ShapeError, match=r"strided_select: slice\(.*dimension 0.*\{4,3\}"):
            e[wrong_slice]


BOUNDS = [None, 0, 1, 3, 4, 9, -1, -3, -4, -9, np.int64(-2), 2.0]


@pytest.mark.parametrize("start", BOUNDS)
@pytest.mark.parametrize("stop", BOUNDS)
def test_slices_are_those_of_python(start, stop):
    array = np.arange(24, dtype=np.float32).reshape(4, 3, 2)
    e = dy.inputTensor(array, batched=True)

    def whole(bound):
        return None if bound is None else int(bound)

    for step in (None, 1, 2, 5):
        s = slice(start, stop, step)
        own = slice(whole(start), whole(stop), step)
        wanted = array[own]
        if not wanted.size:
            with pytest.raises(dy.ShapeError, match=r"is empty"):
                e[s]
            continue
        np.testing.assert_array_equal(e[s].npvalue(), wanted)
        columns = array[own, -2:]
        np.testing.assert_array_equal(e[s, -2:].npvalue(), columns)
        np.testing.assert_array_equal(e[s, -2:, -1:].npvalue(), columns[..., 1])


def test_slices_that_mean_nothing():
    e = dy.inputTensor(np.zeros((4, 3)))
    for step in (0, -1):
        with pytest.raises(dy.IndexError, match=r"strided_select: slice.*\{4,3\}; want a step"):
            e[::step]
    with pytest.raises(dy.ShapeError, match=r"of the batch of an expression \{4,3\}"):
        e[:, :, 1:]
    for wrong in (slice("a"), slice(1.5), slice(None, None, dy.zeros(1))):
        with pytest.raises(dy.TypeError, match="want a whole number"):
            e[wrong]


def test_ranges_count_from_the_end():
    array = np.arange(15, dtype=np.float32).reshape(5, 3)
    e = dy.inputTensor(array)
    np.testing.assert_array_equal(dy.pick_range(e, -2, 5).npvalue(), array[-2:5])
    np.testing.assert_array_equal(dy.pick_range(e, 1, -1).npvalue(), array[1:-1])
    np.testing.assert_array_equal(dy.pick_range(e, s=-3, e=-1, d=1).npvalue(), array[:, -3:-1])
    np.testing.assert_array_equal(dy.pick_range(e, -2, 3, -1).npvalue(), array[:, -2:3])
    np.testing.assert_array_equal(dy.pickrange(e, -2, 5).npvalue(), array[-2:5])
    for use in (lambda: dy.pick_range(e, -6, 5), lambda: dy.pickrange(e, -6, 5)):
        with pytest.raises(dy.IndexError, match=r"pick_range: index is -6; want.*-5"):
            use()
    for wrong in ((-2, 2), (-1, -1), (2, 6)):
        with pytest.raises(dy.ShapeError, match=r"pick_range.*\{5,3\}"):
            dy.pick_range(e, *wrong)
    table = dy.ParameterCollection().add_lookup_parameters((5, 3))
    for use in (lambda: table[-1], lambda: dy.lookup(table, -1), lambda: table.batch([0, -1])):
        with pytest.raises(dy.IndexError, match="-1; want a row from 0 to 4"):
            use()


def test_inputs_can_be_set():
    s, v = dy.scalarInput(1.0), dy.inputVector([1.0, 2.0])
    t = dy.inputTensor(np.ones((2, 2)), reusable_expr=True)
    y = s * dy.sum_elems(v) + dy.sum_elems(t)
    assert y.value() == 7.0
    s.set(2.0)
    assert y.value() == 10.0
    v.set([3.0, 4.0])
    assert y.value() == 18.0
    t.set([0.0, 0.0, 0.0, 1.0])
    assert y.value() == 15.0
    np.testing.assert_array_equal(t.npvalue(), [[0, 0], [0, 1]])
    with pytest.raises(ValueError):
        v.set([1.0])
    assert y.value() == 15.0
    with pytest.raises(ValueError):
        dy.inputTensor(np.ones(2)).set([1.0, 2.0])
    with pytest.raises(ValueError):
        y.set(1.0)


def test_indices_can_be_set():
    table = dy.ParameterCollection().lookup_parameters_from_numpy(np.arange(12).reshape(4, 3))
    row, rows = dy.lookup(table, 1), dy.lookup_batch(table, [0, 1])
    part = dy.pick(row, 2)
    np.testing.assert_array_equal(row.npvalue(), [3, 4, 5])
    row.set(2)
    rows.set([3, 3])
    part.set_index(0)
    np.testing.assert_array_equal(row.npvalue(), [6, 7, 8])
    np.testing.assert_array_equal(rows.npvalue(), np.array([[9, 9], [10, 10], [11, 11]]))
    assert part.value() == 6.0
    with pytest.raises(IndexError):
        row.set(4)
    with pytest.raises(ValueError):
        rows.set([1])
    with pytest.raises(IndexError):
        part.set_index(3)
    # -1 is the last place in set_index() too, as when the node is made.
    part.set_index(-1)
    assert part.value() == 8.0
    item = row[0]
    item.set(np.int64(-2))
    assert item.value() == 7.0
    batch = dy.pick_batch(rows, [0, 1])
    batch.set(i for i in [-1, -3])
    np.testing.assert_array_equal(batch.npvalue().ravel(), [11, 9])
    for node in (part, item):
        with pytest.raises(IndexError, match=r"set: index is -4; want a whole number from -3 to 2"):
            node.set(-4)
    with pytest.raises(
        IndexError, match=r"Expression.set: value is -1; want a whole number from 0"
    ):
        row.set(-1)
    np.testing.assert_array_equal(row.npvalue(), [6, 7, 8])


def test_gradients_of_nodes():
    x = dy.inputTensor(np.array([[1.0, 2.0], [3.0, 4.0]]))
    y = dy.squared_norm(x)
    y.backward(full=True)
    np.testing.assert_array_equal(x.gradient(), 2 * x.npvalue())
    with pytest.raises(ValueError):
        x.backward()
    dy.renew_cg()
    z = dy.scalarInput(1.0)
    z.value()
    with pytest.raises(RuntimeError):
        z.gradient()


def test_values_of_lists():
    a, b = dy.inputVector([1.0, 2.0]), dy.scalarInput(3.0)
    dy.forward([a, b])
    assert dy.values([a, b]) == [[1.0, 2.0], 3.0]
    assert [v.tolist() for v in dy.npvalues([b, a], recalculate=True)] == [[3.0], [1.0, 2.0]]


def test_random_nodes_are_drawn_anew_when_asked():
    x = dy.random_normal(8)
    first = x.npvalue()
    np.testing.assert_array_equal(x.npvalue(), first)
    assert (x.npvalue(recalculate=True) != first).any()


def test_text():
    dy.renew_cg()
    version = dy.cg_version()
    x = dy.scalarInput(1)
    assert str(x) == f"expression 0/{version}"
    assert repr(x).startswith(f"expression 0/{version}: input(")


def test_an_array_times_an_expression_is_left_to_the_expression():
    x = dy.inputVector([1.0, 2.0])
    with pytest.raises(TypeError):
        np.ones(2) * x
