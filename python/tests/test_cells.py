"""`dy.cell`: a function of expressions whose calls are one node each."""

from __future__ import annotations

import gc
import weakref

import dynet as dy
import numpy as np
import pytest

SIZE = 4


class Network:
    """A minimal gated unit, as a method, and the same steps in plain operations."""

    def __init__(self):
        self.model = dy.ParameterCollection()
        self.words = self.model.add_lookup_parameters((6, SIZE))
        self.b = [self.model.add_parameters(SIZE) for _ in range(2)]
        self.w = [self.model.add_parameters((SIZE, SIZE)) for _ in range(2)]
        self.u = [self.model.add_parameters((SIZE, SIZE)) for _ in range(2)]
        self.runs = 0

    def plain(self, x, h):
        self.runs += 1
        f = dy.logistic(dy.affine_transform([self.b[0], self.w[0], x, self.u[0], h]))
        g = dy.tanh(dy.affine_transform([self.b[1], self.w[1], x, self.u[1], dy.cmult(f, h)]))
        return h + dy.cmult(f, g - h)

    @dy.cell(inputs=["x"])
    def step(self, x, h):
        return self.plain(x, h)

    def parameters(self):
        return [*self.b, *self.w, *self.u, self.words]

    def run(self, step):
        """The loss of some sentences, all values and all gradients."""
        self.model.reset_gradient()
        dy.renew_cg()
        states = []
        for sentence in [[0, 1, 2], [3, 4], [5, 4, 3, 2], [1]]:
            h = self.words[sentence[-1]]
            for word in sentence:
                h = step(self.words[word], h)
                states.append(h)
        loss = dy.esum([dy.squared_norm(h) for h in states])
        numbers = [loss.npvalue(), *[h.npvalue() for h in states]]
        loss.backward()
        return numbers + [p.grad_as_array() for p in self.parameters()]


class Twice:
    """An operation written in Python."""

    def forward(self, x):
        return 2 * x

    def backward(self, xs, y, dy):
        return 2 * dy


def assert_alike(found, wanted):
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def test_values_and_gradients_are_those_of_the_function():
    network = Network()
    assert_alike(network.run(network.step), network.run(network.plain))


def test_a_call_adds_nodes_for_inputs_and_state():
    network = Network()
    dy.renew_cg()
    h = network.step(network.words[0], network.words[1])
    before = len(dy.cg())
    x = network.words[2]
    h = network.step(x, h)
    # The lookup, two sums of inputs, and the state.
    assert len(dy.cg()) == before + 1 + 2 + 1
    assert network.runs == 1
    assert "step(" in dy.cg().to_dot()


def test_the_function_runs_once_for_each_kind_of_arguments():
    runs = []

    @dy.cell
    def twice(x, *, scale=1.0):
        runs.append(scale)
        return dy.tanh(x) * scale

    x = dy.inputVector([1.0, 2.0])
    twice(x)
    twice(dy.inputVector([3.0, 4.0]))
    assert runs == [1.0]
    y = twice(x, scale=2.0)
    assert runs == [1.0, 2.0]
    np.testing.assert_allclose(y.npvalue(), 2.0 * np.tanh([1.0, 2.0]), rtol=1e-6)
    twice(dy.inputVector([1.0, 2.0, 3.0]))
    twice(dy.inputTensor([[1.0, 2.0], [3.0, 4.0]], batched=True))
    assert len(runs) == 4


def test_structures_of_arguments_and_results():
    @dy.cell
    def step(x, state, *more):
        h, c = state
        c = c + dy.cmult(x, h)
        for m in more:
            c = c + m
        return dy.tanh(c), c

    @dy.cell
    def listed(xs):
        return [xs[0] + xs[1]]

    x, h, c = [dy.inputVector([i, 1.0]) for i in range(3)]
    out = step(x, (h, c))
    assert type(out) is tuple
    np.testing.assert_allclose(out[1].npvalue(), [2.0, 2.0])
    out = step(x, (h, c), x, c)
    np.testing.assert_allclose(out[1].npvalue(), [4.0, 4.0])
    out = step(x, [h, c])
    assert out[0].npvalue() == pytest.approx(np.tanh([2.0, 2.0]))
    found = listed([x, h])
    assert type(found) is list
    np.testing.assert_allclose(found[0].npvalue(), [1.0, 2.0])


def test_parameters_as_arguments_and_in_the_function():
    model = dy.ParameterCollection()
    W, V = model.add_parameters((SIZE, SIZE)), model.add_parameters((SIZE, SIZE))

    @dy.cell
    def product(w, x):
        return dy.tanh(w * x) + V * x

    x = dy.inputVector([0.5] * SIZE)
    loss = dy.squared_norm(product(W, x))
    loss.backward()
    found = [loss.value(), W.grad_as_array(), V.grad_as_array()]
    model.reset_gradient()
    dy.renew_cg()
    x = dy.inputVector([0.5] * SIZE)
    loss = dy.squared_norm(dy.tanh(W * x) + V * x)
    loss.backward()
    assert_alike(found, [loss.value(), W.grad_as_array(), V.grad_as_array()])


def test_gradients_of_gradients():
    network = Network()

    def slope(step):
        dy.renew_cg()
        h = network.words[1]
        for word in (2, 3):
            h = step(network.words[word], h)
        (g,) = dy.gradient(dy.squared_norm(h), [network.w[0]])
        network.model.reset_gradient()
        dy.squared_norm(g).backward()
        return [g.npvalue(), *[p.grad_as_array() for p in network.parameters()]]

    assert_alike(slope(network.step), slope(network.plain))


def test_gradients_end_where_the_function_says_so():
    @dy.cell
    def f(x, y):
        inner = dy.nobackprop(dy.square(y))
        return dy.nobackprop(x), dy.cmult(x, inner) + dy.nobackprop(y), dy.nobackprop(dy.cube(y))

    def numbers(step):
        model = dy.ParameterCollection()
        x = model.parameters_from_numpy(np.array([1.0, 2.0, -3.0]))
        y = model.parameters_from_numpy(np.array([0.5, -2.0, 4.0]))
        dy.renew_cg()
        loss = dy.esum([dy.squared_norm(r) for r in step(x, y)])
        (g,) = dy.gradient(loss, [x])
        dy.squared_norm(g).backward()
        return [loss.npvalue(), g.npvalue(), x.grad_as_array(), y.grad_as_array()]

    found = numbers(f)
    assert_alike(found, numbers(f.__wrapped__))
    assert found[2].any()


def test_without_recording():
    calls = []

    @dy.cell(recorded=False)
    def plain(x):
        calls.append(x)
        return dy.tanh(x)

    x = dy.inputVector([1.0])
    plain(x)
    plain(x)
    assert calls == [x, x]


def test_programs_of_a_method_end_with_its_object():
    network = Network()
    network.run(network.step)
    seen = weakref.ref(network)
    dy.renew_cg()
    del network
    gc.collect()
    assert seen() is None
    other = Network()
    assert_alike(other.run(other.step), other.run(other.plain))


def test_no_grad_and_evaluating():
    @dy.cell
    def dropped(x):
        return dy.tanh(dy.dropout(x, 0.5))

    x = dy.inputVector([1.0, 2.0])
    with dy.evaluating(), dy.no_grad():
        np.testing.assert_allclose(dropped(x).npvalue(), np.tanh([1.0, 2.0]), rtol=1e-6)
    with pytest.raises(dy.UsageError, match="dropout draws random numbers"):
        dropped(x)


def refusal(function, *args, error=dy.UsageError, **options):
    before = len(dy.cg())
    with pytest.raises(error) as caught:
        dy.cell(function, **options)(*args)
    assert len(dy.cg()) == before
    return str(caught.value)


def test_refusals_name_the_line_and_the_way_out():
    model = dy.ParameterCollection()
    table = model.add_lookup_parameters((3, 2))
    x = dy.inputVector([1.0, 2.0])
    outside = dy.tanh(x)

    def noisy(x):
        return dy.noise(x, 0.1)

    text = refusal(noisy, x)
    assert text.startswith("cell(noisy): noise draws random numbers, new ones for each call; want")
    assert "test_cells.py:" in text
    assert "want the lookup outside" in refusal(lambda x: x + table[1], x)
    assert "want it outside, as an argument" in refusal(lambda x: x + dy.scalarInput(1.0), x)
    assert "want the value asked for outside" in refusal(lambda x: x if x.npvalue()[0] else -x, x)
    assert "mixes the examples of a batch" in refusal(dy.sum_batches, x)
    assert "an operation written in Python" in refusal(lambda x: dy.apply(Twice(), x), x)
    text = refusal(lambda x: x + outside, x, error=dy.GraphError)
    assert "want other expressions passed as arguments" in text
    text = refusal(lambda x: [x] * 5, x)
    assert text.startswith("cell(lambda): its function has 5 results; want 1 to 4 expressions\n")
    assert "its function has 0 results" in refusal(lambda x: (), x)
    text = refusal(lambda x: 3, x, name="three", error=TypeError)
    wanted = "its function returns a value of type int; want an expression, or a tuple or list of "
    assert text.startswith(f"cell(three): {wanted}expressions\n  called at ")
    text = refusal(lambda x, d: x, x, {}, error=TypeError)
    assert "an argument is of type dict, which may change; want expressions" in text
    assert "there are no arguments" in refusal(lambda: x, error=ValueError)
    with pytest.raises(ValueError, match="inputs names 'y', which is no parameter"):
        dy.cell(lambda x: x, inputs="y")


def test_an_operation_in_python_between_calls():
    network = Network()
    cells = network.run(lambda x, h: network.step(dy.apply(Twice(), x), dy.apply(Twice(), h)))
    nodes = network.run(lambda x, h: network.plain(2 * x, 2 * h))
    assert_alike(cells, nodes)


def test_calls_after_an_exception_in_mid_cell():
    network = Network()
    wanted = network.run(network.step)

    @dy.cell(inputs=["x"])
    def fails(x, h):
        y = network.plain(x, h)
        raise KeyError(y.dim())

    def step(x, h):
        with pytest.raises(KeyError):
            fails(x, h)
        return network.step(x, h)

    assert_alike(network.run(step), wanted)


def test_an_exception_of_the_function_comes_through():
    class OwnError(Exception):
        pass

    @dy.cell
    def fails(x):
        raise OwnError("own")

    x = dy.inputVector([1.0])
    with pytest.raises(OwnError, match="own"):
        fails(x)
    assert dy.tanh(x).npvalue() == pytest.approx(np.tanh(1.0))
    text = refusal(lambda x: dy.affine_transform([x, x]), x, error=dy.ShapeError)
    assert "affine_transform" in text and "test_cells.py:" in text


def test_expressions_of_the_recording_are_stale():
    kept = []

    @dy.cell
    def leaks(x):
        kept.append(dy.tanh(x))
        return kept[0] + x

    leaks(dy.inputVector([1.0]))
    with pytest.raises(dy.StaleExpression):
        kept[0].npvalue()


def test_methods_of_objects_without_weak_references():
    class Slotted:
        __slots__ = ("factor",)

        def __init__(self, factor):
            self.factor = factor

        @dy.cell
        def times(self, x):
            return self.factor * x

    x = dy.inputVector([1.0, 2.0])
    found = [Slotted(factor).times(x).npvalue()[1] for factor in (2.0, 3.0, 4.0)]
    assert found == [4.0, 6.0, 8.0]
    assert repr(Slotted.times) == "<cell times>"
