"""Numbers and lists: nested lists, lists that change while they are read, and batches."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest


class Emptying:
    """A number that empties its own list, which nobody else holds."""

    def __init__(self, holder, fails=False):
        self.holder, self.fails, self.text = holder, fails, "x" * 1000

    def __float__(self):
        self.holder.clear()
        junk = [bytearray(64) for _ in range(1000)]
        if self.fails:
            raise KeyError(self.text[:3] + str(len(junk)))
        return float(len(self.text))

    def __index__(self):
        return int(float(self)) - 1000


CALLS = [
    dy.inputVector,
    lambda holder: dy.sparse_inputTensor([[0, 1, 2]], holder, (3,)),
    lambda holder: dy.one_hot(3, holder),
    lambda holder: dy.zeros(holder),
    lambda holder: dy.reshape(dy.zeros((1,)), holder),
    lambda holder: dy.inputTensor(holder),
    lambda holder: dy.vecInput(3).set(holder),
    lambda holder: dy.pickneglogsoftmax_batch(dy.zeros((3,), 3), holder),
    lambda holder: dy.transpose(dy.zeros((3, 3)), holder),
]


@pytest.mark.parametrize("call", CALLS)
def test_a_list_that_is_emptied_while_it_is_read(call):
    for place in range(2):
        holder = [1, 1, 1]
        holder[place] = Emptying(holder)
        with pytest.raises(ValueError, match="a list changed its length"):
            call(holder)
    assert dy.inputVector([1, 2]).value() == [1.0, 2.0]


@pytest.mark.parametrize("call", CALLS)
def test_a_list_that_is_emptied_by_what_fails(call):
    for place in range(3):
        holder = [1, 1, 1]
        holder[place] = Emptying(holder, fails=True)
        with pytest.raises(KeyError, match="xxx1000"):
            call(holder)


def test_the_last_number_may_change_the_list():
    holder = [1.0, 2.0]
    holder.append(Emptying(holder))
    assert dy.inputVector(holder).value() == [1.0, 2.0, 1000.0]


class Nested:
    """A number that makes a vector of its own while it is read."""

    def __float__(self):
        assert dy.inputVector([7.0, 8.0, 9.0, 10.0]).value() == [7.0, 8.0, 9.0, 10.0]
        return 5.0


def test_numbers_are_read_within_the_reading_of_others():
    assert dy.inputVector([1.0, Nested(), 3.0]).value() == [1.0, 5.0, 3.0]
    assert dy.inputVector([Nested(), Nested()]).value() == [5.0, 5.0]
    assert dy.sparse_inputTensor([[0, 2]], [Nested(), 1.0], (3,)).value() == [5.0, 0.0, 1.0]
    assert dy.inputVector([Nested(), 2.0]).value() == [5.0, 2.0]


class Clearing:
    """An index that empties a list of expressions, which was read before it."""

    def __init__(self, holder):
        self.holder = holder

    def __index__(self):
        self.holder.clear()
        self.holder.extend([None] * 3)
        return 0


def test_expressions_are_taken_from_the_list_as_it_is_then():
    holder = [dy.inputVector([1.0]) + float(i) for i in range(3)]
    with pytest.raises(TypeError, match="expressions was changed"):
        dy.concatenate(holder, d=Clearing(holder))


def test_a_list_of_arrays_is_a_batch_and_one_of_numbers_is_none():
    array = np.array([1.0, 2.0])
    assert dy.inputTensor([array, array]).dim() == ((2,), 2)
    assert dy.inputTensor((array, array, array)).dim() == ((2,), 3)
    for numbers in (
        [np.float64(1), np.float64(2)],
        [np.float32(1), 2],
        [1, np.float32(2)],
        [np.int64(1), np.int64(2)],
    ):
        e = dy.inputTensor(numbers)
        assert e.dim() == ((2,), 1) and e.value() == [1.0, 2.0]
    assert dy.inputTensor([np.array(1.0), np.array(2.0)]).dim() == ((1,), 2)
    assert dy.inputTensor([array, [3.0, 4.0]]).npvalue().tolist() == [[1, 2], [3, 4]]


def test_a_list_of_expressions_is_no_array():
    e = dy.inputVector([1.0, 2.0])
    p = dy.ParameterCollection().add_parameters((2,))
    for listed in ([e, e], [p], (1.0, e), [np.zeros(2), e]):
        with pytest.raises(TypeError, match="concatenate"):
            dy.inputTensor(listed)


def test_nested_lists_are_as_numpy_reads_them():
    for values in (
        [1, 2.5, True],
        [[1, 2, 3], [4, 5, 6]],
        ((1, 2), [3, np.float32(4)]),
        [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]],
        [range(3), (4, 5, 6)],
        [np.arange(3), [4, 5, 6]],
        [1e40, -1e40, float("nan")],
    ):
        with np.errstate(over="ignore"):
            wanted = np.asarray(values, dtype=np.float32)
        if not hasattr(values[0], "__array__"):  # that is a batch
            assert np.array_equal(dy.inputTensor(values).npvalue(), wanted, equal_nan=True)
        p = dy.Model().parameters_from_numpy(values)
        assert np.array_equal(p.as_array(), wanted, equal_nan=True)
        if wanted.ndim > 1:
            table = dy.Model().lookup_parameters_from_numpy(values)
            assert np.array_equal(table.as_array(), wanted, equal_nan=True)


def test_bad_nested_lists_say_where():
    with pytest.raises(dy.ShapeError, match=r"\[0\]\[0\] has 2 elements, \[1\]\[0\] has 1"):
        dy.inputTensor([[[1, 2]], [[3]]])
    with pytest.raises(dy.ShapeError, match=r"\[0\] has 2 elements, \[2\] has 3"):
        dy.inputTensor([[1, 2], [3, 4], [5, 6, 7]])
    for bad, text in [
        ([[1, 2], [3, "4"]], r"element \[1\]\[1\] is '4', of type str; want a number"),
        ([[1, 2], 3], r"element \[1\] is 3, of type int; want a list"),
        ([[1, None]], r"element \[0\]\[1\] is None, of type NoneType; want a number"),
        (["text"], r"element \[0\] is 'text', of type str; want a number"),
        ([[object()]], r"element \[0\]\[0\] is <object .*>, of type object; want a number"),
    ]:
        with pytest.raises(TypeError, match=text):
            dy.inputTensor(bad)
    endless: list = []
    endless.append(endless)
    with pytest.raises(dy.SizeError, match="more than 8 deep"):
        dy.inputTensor(endless)


def complex_uses():
    m = dy.ParameterCollection()
    table = m.add_lookup_parameters((2, 2))
    x, W = dy.inputVector([1.0]), m.add_parameters(2)
    for array in (np.array([1 + 2j, 3]), np.array([1, 2], dtype=np.complex64)):
        yield lambda a=array: dy.inputTensor(a)
        yield lambda a=array: dy.inputTensor([a, a])
        yield lambda a=array: dy.inputVector(a)
        yield lambda a=array: dy.inputVector(list(a))
        yield lambda a=array: dy.inputTensor([list(a)])
        yield lambda a=array: dy.inputTensor(a.tolist())
        yield lambda a=array: dy.inputVector([1.0, 1j])
        yield lambda a=array: dy.scalarInput(a[0])
        yield lambda a=array: W.set_value(a)
        yield lambda a=array: m.add_parameters(2, init=a)
        yield lambda a=array: m.add_parameters(2, init=a[0])
        yield lambda a=array: m.parameters_from_numpy(a)
        yield lambda a=array: m.add_lookup_parameters((2, 2), init=np.array([a, a]))
        yield lambda a=array: table.init_row(0, a)
        yield lambda a=array: x.set(a[:1])
        yield lambda a=array: dy.dropout(x, a[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("use", list(complex_uses()))
def test_numbers_are_real(use):
    with pytest.raises(dy.TypeError, match="real"):
        use()


@pytest.mark.filterwarnings("error")
def test_operations_in_python_give_real_numbers():
    class Turn:
        def forward(self, x):
            return x * 1j

        def backward(self, xs, y, dy):
            return dy

    y = dy.apply(Turn(), dy.inputVector([1.0]))
    with pytest.raises(dy.TypeError, match="complex"):
        y.value()
    with pytest.raises(TypeError):
        y * np.complex64(1j)
    assert dy.inputVector(np.array([1, 2], dtype=object)).value() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [set, frozenset, lambda xs: dict.fromkeys(xs, 1.0)])
def test_what_has_no_order_is_no_list(kind):
    x, y = dy.inputVector([1.0]), dy.inputVector([2.0])
    table = dy.ParameterCollection().add_lookup_parameters((5, 2))
    for use in (
        lambda: dy.inputVector(kind([3, 1, 2])),
        lambda: dy.inputTensor(kind([3, 1, 2])),
        lambda: dy.inputTensor([kind([3, 1, 2])]),
        lambda: dy.esum(kind([x, y])),
        lambda: table.batch(kind([1, 2])),
        lambda: dy.sum_dim(x, kind([0])),
        lambda: dy.zeros(kind([2, 3])),
    ):
        with pytest.raises(dy.TypeError, match="want"):
            use()
    names = {"a": x, "b": y}
    assert dy.esum(names.values()).value() == 3.0
