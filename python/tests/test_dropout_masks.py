"""With dropout each `initial_state()` begins a sequence: masks, examples and `update` of its own."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest
from recurrent import RECURRENT, inputs

MASKED = [b for b in RECURRENT if b is not dy.GRUBuilder]  # which draws at each step
by_class = pytest.mark.parametrize("builder_class", RECURRENT)


def of_one_input(builder: object, x: dy.Expression) -> np.ndarray:
    return builder.initial_state().add_input(x).output().npvalue()


@by_class
def test_each_sequence_has_masks_of_its_own(builder_class):
    builder = builder_class(1, 40, 50, dy.ParameterCollection())
    x = inputs(1, 40)[0]
    np.testing.assert_array_equal(of_one_input(builder, x), of_one_input(builder, x))
    assert builder.initial_state() is builder.initial_state()
    builder.set_dropout(0.5)
    dy.renew_cg()
    x = inputs(1, 40)[0]
    outputs = [of_one_input(builder, x).tobytes() for _ in range(4)]
    assert len(set(outputs)) == 4
    first, second = builder.initial_state(), builder.initial_state()
    assert first is not second
    assert first != second
    assert len({first, second}) == 2


@pytest.mark.parametrize("builder_class", MASKED)
def test_all_steps_of_a_sequence_share_its_masks(builder_class):
    """Even if the steps of sequences come in turns, and a state is continued twice."""
    builder = builder_class(1, 40, 50, dy.ParameterCollection())
    builder.set_dropout(0.5)
    x = inputs(1, 40)[0]
    starts = [builder.initial_state() for _ in range(3)]
    once = [s.add_input(x).output().npvalue() for s in starts]
    again = [s.add_input(x).output().npvalue() for s in reversed(starts)][::-1]
    np.testing.assert_array_equal(once, again)
    assert len({o.tobytes() for o in once}) == 3


@by_class
@pytest.mark.parametrize("read", ["add_input", "add_inputs", "transduce", "vecs"])
def test_sequences_of_other_batch_sizes(builder_class, read):
    builder = builder_class(2, 3, 4, dy.ParameterCollection())
    builder.set_dropout(0.5)
    for examples in (1, 5, 2, 1):
        x = dy.inputTensor(np.ones((3, examples)), batched=True)
        if read == "vecs":
            parts = 2 if builder_class in (dy.SimpleRNNBuilder, dy.GRUBuilder) else 4
            h = dy.inputTensor(np.ones((4, examples)), batched=True)
            out = builder.initial_state([h] * parts).add_input(x).output()
        elif read == "transduce":
            out = builder.initial_state().transduce([x, x])[-1]
        elif read == "add_inputs":
            out = builder.initial_state().add_inputs([x, x])[-1].output()
        else:
            out = builder.initial_state().add_input(x).add_input(x).output()
        assert out.dim() == ((4,), examples)
        out.npvalue()


@by_class
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_update_is_that_of_the_call(builder_class, dropout):
    m = dy.ParameterCollection()
    builder = builder_class(1, 3, 4, m)
    builder.set_dropout(dropout)

    def has_gradient(update: bool) -> bool:
        for p in m.parameters_list():
            p.scale_gradient(0)
        state = builder.initial_state(update=update)
        dy.sum_elems(state.add_input(inputs(1)[0]).output()).backward()
        return any(p.grad_as_array().any() for p in m.parameters_list())

    for updates in ((True, False, True), (False, True, False)):
        dy.renew_cg()
        assert [has_gradient(u) for u in updates] == list(updates)


@by_class
def test_gradients_of_several_sequences_add_up(builder_class):
    """Dropout scales kept numbers up: with a rate of almost 0 masks are 1."""
    m = dy.ParameterCollection()
    builder = builder_class(2, 3, 4, m)

    def gradients() -> list[np.ndarray]:
        dy.renew_cg()
        for p in m.parameters_list():
            p.scale_gradient(0)
        outs = [builder.initial_state().transduce(inputs(n + 1))[-1] for n in range(3)]
        dy.esum([dy.squared_norm(o) for o in outs]).backward()
        return [p.grad_as_array().copy() for p in m.parameters_list()]

    plain = gradients()
    builder.set_dropout(1e-7)
    for want, got in zip(plain, gradients()):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_rates_and_masks_that_are_set_later():
    """Rates count for states that are there; masks are drawn for the sequence begun last."""
    builder = dy.VanillaLSTMBuilder(1, 3, 50, dy.ParameterCollection())
    x = inputs(1)[0]
    plain = of_one_input(builder, x)
    builder.set_dropout(0.5)
    before, last = builder.initial_state(), builder.initial_state()
    builder.set_dropout_masks(batch_size=2)
    assert before.add_input(x).output().dim()[1] == 1
    assert last.add_input(x).output().dim()[1] == 2
    other = builder.initial_state()
    builder.disable_dropout()
    np.testing.assert_array_equal(other.add_input(x).output().npvalue(), plain)
    assert builder.initial_state() is builder.initial_state()
    np.testing.assert_array_equal(of_one_input(builder, x), plain)


def test_sequences_that_are_stale():
    builder = dy.VanillaLSTMBuilder(1, 3, 4, dy.ParameterCollection())
    builder.set_dropout(0.5)
    states = [builder.initial_state() for _ in range(2)]
    dy.renew_cg()
    for state in states:
        with pytest.raises(dy.StaleExpression, match="stale builder"):
            state.add_input(inputs(1)[0])
    builder.initial_state().add_input(inputs(1)[0])
    with pytest.raises(dy.StaleExpression, match="stale builder"):
        states[1].add_input(inputs(1)[0])


@by_class
def test_both_directions(builder_class):
    both = dy.BiRNNBuilder(2, 3, 20, dy.ParameterCollection(), builder_class)
    both.set_dropout(0.5)
    seen = set()
    for examples in (1, 3, 1):
        xs = [dy.inputTensor(np.ones((3, examples)), batched=True)] * 2
        states = both.add_inputs(xs)
        outputs = both.transduce(xs)
        assert [o.dim() for o in outputs] == [((20,), examples)] * 2
        assert both.back(xs).dim() == ((20,), examples)
        for out in (*outputs, states[1][0].output(), states[0][1].output()):
            seen.add(out.npvalue().tobytes())
    assert len(seen) == 12


@pytest.mark.parametrize(
    "make",
    [
        lambda m: dy.NaryTreeLSTMBuilder(2, 1, 3, 20, m),
        lambda m: dy.ChildSumTreeLSTMBuilder(1, 3, 20, m),
        lambda m: dy.TreeGRUBuilder(1, 3, 20, m),
        lambda m: dy.UnidirectionalTreeLSTMBuilder(1, 20, 20, m),
        lambda m: dy.BidirectionalTreeLSTMBuilder(1, 20, 20, m),
    ],
)
def test_trees_have_masks_of_their_own(make):
    tree = make(dy.ParameterCollection())
    tree.set_dropout(0.5)
    size = tree.spec[-2]
    seen = set()
    for examples in (1, 3, 1):
        x = dy.inputTensor(np.ones((size, examples)), batched=True)
        tree.start_new_sequence()
        tree.add_input(0, [], x)
        out = tree.add_input(1, [0], x)
        assert out.dim()[1] == examples
        seen.add(out.npvalue().tobytes())
    assert len(seen) == 3


class FailsOnce:
    """The identity. Of the next calls, number `at` fails."""

    at = 0

    def forward(self, x):
        FailsOnce.at -= 1
        if FailsOnce.at == 0:
            raise KeyError("on purpose")
        return x

    def backward(self, xs, y, dy):
        return (dy,)


def masks_of(call, at=0):
    """Masks of two graphs after a call that is repeated if computation `at` of it fails."""
    dy.reset_random_seed(5)
    FailsOnce.at = 0
    graphs = [dy.ComputationGraph(), dy.ComputationGraph()]
    masks = []
    for graph in graphs:
        with graph:
            masks.append(dy.apply(FailsOnce(), dy.dropout(dy.ones(50), 0.5)))
    dy.forward(masks)
    FailsOnce.at = at
    if at > 0:
        with pytest.raises(KeyError):
            call(masks)
    call(masks)
    return np.array([m.npvalue() for m in masks])


@pytest.mark.parametrize(
    ("call", "computations"),
    [
        (lambda masks: masks[0].value(recalculate=True), 1),
        (lambda masks: dy.forward(masks, recalculate=True), 2),
        (lambda masks: dy.values(masks[::-1], recalculate=True), 2),
    ],
    ids=["value", "forward", "values"],
)
def test_a_repeated_call_draws_the_same_masks(call, computations):
    right = masks_of(call)
    assert (right != masks_of(lambda masks: None)).any()
    for at in range(1, computations + 1):
        np.testing.assert_array_equal(masks_of(call, at), right)
