"""Operations written in Python."""

from __future__ import annotations

import gc
import threading
import weakref

import dynet as dy
import numpy as np
import pytest


class Softplus:
    attributes = ("beta",)

    def __init__(self, beta: float) -> None:
        self.beta = beta

    def forward(self, x):
        return np.log1p(np.exp(self.beta * x)) / self.beta

    def backward(self, xs, y, dy):
        return dy / (1 + np.exp(-self.beta * xs[0]))


class Outer:
    """x yᵀ, with a shape of its own."""

    def shape(self, x, y):
        return (x[0], y[0])

    def forward(self, x, y):
        return np.outer(x, y)

    def backward(self, xs, z, dz):
        return dz @ xs[1], dz.T @ xs[0]


class CentredBatch:
    """Subtracts the mean over the batch."""

    batched = True

    def forward(self, x):
        return x - x.mean(axis=-1, keepdims=True)

    def backward(self, xs, y, dy):
        return (dy - dy.mean(axis=-1, keepdims=True),)


class Fails:
    def forward(self, x):
        raise KeyError("on purpose")

    def backward(self, xs, y, dy):
        raise NotImplementedError


def check_gradient(build, arrays: list[np.ndarray], batched: bool = False) -> None:
    """The gradient of sum(w * build(inputs)) against central differences."""
    rng = np.random.default_rng(0)

    def loss_of(values: list[np.ndarray]) -> tuple[dy.Expression, list[dy.Expression]]:
        dy.renew_cg()
        xs = [dy.inputTensor(v, batched=batched) for v in values]
        y = build(*xs)
        (shape, batch) = y.dim()
        nonlocal weights
        if weights is None:
            weights = rng.normal(size=(*shape, batch))
        w = dy.inputTensor(weights, batched=True)
        return dy.sum_batches(dy.sum_elems(dy.cmult(w, y))), xs

    weights = None
    loss, xs = loss_of(arrays)
    loss.backward(full=True)
    gradients = [x.gradient().reshape(a.shape) for x, a in zip(xs, arrays)]
    step = 1e-2
    for k, array in enumerate(arrays):
        for index in np.ndindex(array.shape):
            sides = []
            for sign in (1, -1):
                moved = [a.copy() for a in arrays]
                moved[k][index] += sign * step
                sides.append(loss_of(moved)[0].value())
            numeric = (sides[0] - sides[1]) / (2 * step)
            assert abs(gradients[k][index] - numeric) < 2e-3 * max(1.0, abs(numeric))


def test_values_and_gradients():
    rng = np.random.default_rng(1)
    check_gradient(lambda x: dy.apply(Softplus(2.0), x), [rng.normal(size=(3, 2))])
    check_gradient(lambda x, y: dy.apply(Outer(), x, y), [rng.normal(size=3), rng.normal(size=2)])
    check_gradient(lambda x: dy.apply(CentredBatch(), x), [rng.normal(size=(3, 4))], batched=True)
    # Twice in one graph, mixed with operations of the library.
    check_gradient(lambda x: dy.apply(Softplus(1.0), dy.tanh(dy.apply(Softplus(0.5), x)) + x),
                   [rng.normal(size=4)])  # fmt: skip


def test_batches_run_example_by_example():
    x = dy.inputTensor(np.arange(6).reshape(2, 3), batched=True)
    y = dy.inputVector([1.0, 2.0, 3.0])
    z = dy.apply(Outer(), x, y)
    assert z.dim() == ((2, 3), 3)
    for e in range(3):
        np.testing.assert_array_equal(z.npvalue()[..., e], np.outer([e, e + 3], [1, 2, 3]))
    dy.sum_batches(dy.sum_elems(z)).backward(full=True)
    np.testing.assert_array_equal(y.gradient(), [15, 15, 15])  # summed over the examples
    np.testing.assert_array_equal(x.gradient(), np.full((2, 3), 6.0))


class Scale:
    """Has a state, and declares nothing."""

    def __init__(self, k: float) -> None:
        self.k = k

    def forward(self, x):
        return x * self.k

    def backward(self, xs, y, dy):
        return dy * self.k


class ScaleBatch(Scale):
    batched = True


class Declared(Scale):
    attributes = ("k",)


class DeclaredBatch(ScaleBatch):
    attributes = ("k",)


SCALES = [Scale, ScaleBatch, Declared, DeclaredBatch]


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("autobatching", [True, False])
def test_each_node_computes_with_its_own_object(kind, autobatching):
    w = dy.ParameterCollection().add_parameters(2, init=1.0)
    for first in range(3):  # the same graph with other objects
        factors = [first + i for i in range(40)]
        dy.renew_cg(autobatching=autobatching)
        x = [dy.inputTensor([[i, i + 1.0], [1.0, 0.5]], batched=True) for i in range(40)]
        y = [dy.apply(kind(k), e) for k, e in zip(factors, x)]  # nobody else has the objects
        z = dy.esum(y) + dy.apply(kind(100.0), w)
        expected = sum(k * np.array([[i, i + 1.0], [1.0, 0.5]]) for i, k in enumerate(factors))
        np.testing.assert_allclose(z.npvalue(), expected + 100)
        dy.sum_batches(dy.sum_elems(z)).backward(full=True)
        for e, k in zip(x, factors):
            np.testing.assert_array_equal(e.gradient(), np.full((2, 2), k))
        np.testing.assert_array_equal(w.gradient(), [200, 200])


def test_classes_are_operations_as_well():
    def make(k):
        class Constant:
            @staticmethod
            def forward(x):
                return x * k

            @staticmethod
            def backward(xs, y, dy):
                return dy * k

        return Constant

    x = dy.inputVector([1.0])
    assert [dy.apply(make(k), x).value() for k in (2, 3)] == [2.0, 3.0]


def test_what_forward_notes_is_there_in_backward():
    class Mask:
        def forward(self, x):
            self.mask = x > 0
            return x * self.mask

        def backward(self, xs, y, dy):
            return dy * self.mask

    x = [dy.inputVector([1.0, -1.0]), dy.inputVector([-1.0, 1.0])]
    dy.sum_elems(dy.esum([dy.apply(Mask(), e) for e in x])).backward(full=True)
    assert [e.gradient().tolist() for e in x] == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("kind", [Declared, DeclaredBatch])
def test_declared_attributes_count_as_they_were(kind):
    x = dy.inputVector([1.0, 2.0])
    operation = kind(2.0)
    nodes = [dy.apply(operation, x)]
    for k in (7.0, -0.0, 0.0, 7):
        operation.k = k
        nodes.append(dy.apply(operation, x))
    operation.k = 5.0
    assert [str(e.value()[0]) for e in nodes] == ["2.0", "7.0", "-0.0", "0.0", "7.0"]
    operation.k = 6.0
    dy.sum_elems(nodes[0] + nodes[1]).backward(full=True)
    np.testing.assert_array_equal(x.gradient(), [9, 9])
    assert operation.k == 6.0


def test_an_object_that_did_not_change_is_the_one_that_computes():
    operation = Declared(2.0)
    operation.forward = lambda x: x + 1.0
    assert dy.apply(operation, dy.inputVector([1.0])).value() == 2.0
    free = Scale(2.0)
    y = dy.apply(free, dy.inputVector([1.0]))
    free.k = 3.0  # not declared: as it is when it computes
    assert y.value() == 3.0


def test_attributes_do_not_change():
    x = dy.inputVector([1.0])
    with pytest.raises(dy.TypeError, match=r"attribute k of Declared is of type list.*a hash"):
        dy.apply(Declared([1.0]), x)


def test_a_graph_keeps_its_operations_and_no_others():
    x = dy.inputVector([1.0])
    alive: list = []

    def used():
        operation = Scale(2.0)
        alive.append(weakref.ref(operation))
        return dy.apply(operation, x)

    y = used()
    dy.cg_checkpoint()
    used()
    gc.collect()
    assert [a() is not None for a in alive] == [True, True]
    dy.cg_revert()
    assert [a() is not None for a in alive] == [True, False]
    assert y.value() == 2.0
    dy.renew_cg()
    assert alive[0]() is None
    with pytest.raises(dy.StaleExpression):
        dy.apply(Scale(2.0), x)
    x = dy.inputVector([1.0])
    refused = Scale(2.0)
    alive[0] = weakref.ref(refused)
    with pytest.raises(dy.Error):
        dy.apply(refused, x, dy.apply(Fails(), x, y))
    del refused
    assert alive[0]() is None


def test_a_node_that_fails_at_once_keeps_its_operation():
    dy.renew_cg(immediate_compute=True)
    x = dy.inputVector([1.0])
    for _ in range(3):
        with pytest.raises(KeyError):
            dy.apply(Fails(), x)
    with pytest.raises(KeyError):
        dy.cg().forward(len(dy.cg()) - 1)
    dy.renew_cg()


def test_operations_in_threads():
    results = {}

    def work(k):
        for _ in range(50):
            dy.renew_cg()
            x = dy.inputVector([1.0, 2.0])
            y = dy.sum_elems(dy.esum([dy.apply(Scale(k + i), x) for i in range(5)]))
            y.backward(full=True)
            results.setdefault(k, set()).add((y.value(), *x.gradient()))

    threads = [threading.Thread(target=work, args=(10 * i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k, seen in results.items():
        assert seen == {(3.0 * (5 * k + 10), 5.0 * k + 10, 5.0 * k + 10)}


def test_parameters_learn_through_it():
    m = dy.ParameterCollection()
    w = m.add_parameters(3, init=0.5)
    trainer = dy.SimpleSGDTrainer(m)
    losses = []
    for _ in range(50):
        dy.renew_cg()
        loss = dy.squared_distance(dy.apply(Softplus(1.0), w), dy.inputVector([1.0, 2.0, 3.0]))
        losses.append(loss.value())
        loss.backward()
        trainer.update()
    assert losses[-1] < 0.01 * losses[0]


def test_an_exception_leaves_the_graph_usable():
    x = dy.inputVector([1.0, 2.0])
    before = dy.tanh(x)
    bad = dy.apply(Fails(), x)
    after = dy.exp(x)
    for _ in range(2):
        with pytest.raises(KeyError, match="on purpose"):
            bad.value()
    np.testing.assert_allclose(before.npvalue(), np.tanh([1, 2]), rtol=1e-5)
    np.testing.assert_allclose(after.npvalue(), np.exp([1, 2]), rtol=1e-5)
    with pytest.raises(KeyError):
        dy.sum_elems(bad).backward()
    dy.sum_elems(after).backward(full=True)
    np.testing.assert_allclose(x.gradient(), np.exp([1, 2]), rtol=1e-5)


def test_an_exception_in_backward():
    class HalfWay:
        def forward(self, x):
            return 2 * x

        def backward(self, xs, y, dy):
            raise ZeroDivisionError("half way")

    w = dy.ParameterCollection().add_parameters(2, init=1.0)
    y = dy.apply(HalfWay(), w)
    with pytest.raises(ZeroDivisionError, match="half way"):
        dy.sum_elems(y).backward()
    z = dy.sum_elems(dy.square(w))
    z.backward()
    assert z.value() == 2.0


def test_mistakes_have_messages():
    x = dy.inputVector([1.0, 2.0])

    class WrongShape:
        def forward(self, x):
            return np.zeros(7)

        def backward(self, xs, y, dy):
            return dy, dy

    class BadRule(WrongShape):
        def shape(self, x):
            return "text"

    class TooMany(WrongShape):
        def forward(self, x):
            return x

    with pytest.raises(dy.ShapeError, match=r"WrongShape.forward.*\(7,\).*\(2,\)"):
        dy.apply(WrongShape(), x).value()
    with pytest.raises(dy.ShapeError, match=r"BadRule.shape"):
        dy.apply(BadRule(), x)
    with pytest.raises(ValueError, match=r"TooMany.backward"):
        dy.sum_elems(dy.apply(TooMany(), x)).backward(full=True)
    for wrong in [(), (Softplus(1.0),), (object(), x), (Softplus(1.0), 2.0)]:
        with pytest.raises(TypeError):
            dy.apply(*wrong)


def test_gradient_may_be_none():
    class First:
        def forward(self, a, b):
            return a

        def backward(self, xs, y, dy):
            return dy, None

    a, b = dy.inputVector([1.0]), dy.inputVector([2.0])
    dy.sum_elems(dy.apply(First(), a, b) + b).backward(full=True)
    assert a.gradient() == [1.0] and b.gradient() == [1.0]
