"""Operations written in Python."""

from __future__ import annotations

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


def test_attributes_are_the_identity():
    x = dy.inputVector([0.5])
    nodes = [dy.apply(Softplus(b), x) for b in (1.0, 2.0, 1.0, np.nextafter(1.0, 2.0))]
    values = [n.value() for n in nodes]
    assert values[0] == values[2] != values[1]
    assert values[0] == pytest.approx(np.log1p(np.exp(0.5)), rel=1e-6)


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
    unhashable = Softplus([1.0])
    with pytest.raises(TypeError):
        dy.apply(unhashable, x)


def test_gradient_may_be_none():
    class First:
        def forward(self, a, b):
            return a

        def backward(self, xs, y, dy):
            return dy, None

    a, b = dy.inputVector([1.0]), dy.inputVector([2.0])
    dy.sum_elems(dy.apply(First(), a, b) + b).backward(full=True)
    assert a.gradient() == [1.0] and b.gradient() == [1.0]
