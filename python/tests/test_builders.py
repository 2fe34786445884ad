"""Recurrent and tree builders."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest

RECURRENT = [dy.SimpleRNNBuilder, dy.CoupledLSTMBuilder, dy.VanillaLSTMBuilder]


def inputs(count: int, size: int = 3) -> list[dy.Expression]:
    return [dy.inputVector(np.random.default_rng(k).normal(size=size)) for k in range(count)]


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_the_ways_to_run_a_sequence_agree(builder_class):
    m = dy.ParameterCollection()
    builder = builder_class(2, 3, 4, m)
    xs = inputs(5)
    start = builder.initial_state()
    assert start.output() is None and start.prev() is None
    outputs = [h.npvalue() for h in start.transduce(xs)]
    states = start.add_inputs(xs)
    for h, state in zip(outputs, states):
        np.testing.assert_array_equal(state.output().npvalue(), h)
    state = start
    for k, x in enumerate(xs):
        state = state.add_input(x)
        np.testing.assert_array_equal(state.output().npvalue(), outputs[k])
        np.testing.assert_array_equal(state.h()[-1].npvalue(), outputs[k])
        assert len(state.h()) == 2
        assert len(state.s()) == (2 if builder_class is dy.SimpleRNNBuilder else 4)
    np.testing.assert_array_equal(state.prev().output().npvalue(), outputs[3])
    assert state.b() is builder


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_states_branch(builder_class):
    builder = builder_class(1, 3, 4, dy.ParameterCollection())
    a, b, c = inputs(3)
    first = builder.initial_state().add_input(a)
    left, right = first.add_input(b), first.add_input(c)
    again = builder.initial_state().add_input(a).add_input(c)
    np.testing.assert_array_equal(right.output().npvalue(), again.output().npvalue())
    assert (left.output().npvalue() != right.output().npvalue()).any()


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_given_states(builder_class):
    builder = builder_class(1, 3, 2, dy.ParameterCollection())
    number = 1 if builder_class is dy.SimpleRNNBuilder else 2
    vectors = [np.array([0.1 * k, 0.2]) for k in range(number)]
    state = builder.initial_state([dy.inputVector(v) for v in vectors])
    raw = builder.initial_state_from_raw_vectors(vectors)
    for s in (state, raw):
        for got, want in zip(s.s(), vectors):
            np.testing.assert_allclose(got.npvalue(), want, rtol=1e-6)
    x = inputs(1)[0]
    np.testing.assert_array_equal(
        state.add_input(x).output().npvalue(), raw.add_input(x).output().npvalue()
    )
    h = state.set_h([dy.inputVector([5.0, 6.0])])
    np.testing.assert_array_equal(h.h()[0].npvalue(), [5.0, 6.0])
    with pytest.raises(ValueError):
        builder.initial_state([dy.inputVector([1.0, 1.0])] * 5)


def test_vanilla_lstm_computes_its_equations():
    m = dy.ParameterCollection()
    builder = dy.VanillaLSTMBuilder(1, 3, 2, m)
    ((x2i, h2i, bi),) = builder.get_parameters()
    assert [p.shape() for p in (x2i, h2i, bi)] == [(8, 3), (8, 2), (8,)]
    bi.set_value(np.linspace(-1, 1, 8))
    xs = inputs(3)
    c = h = np.zeros(2)

    def sigma(v: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-v))

    state = builder.initial_state()
    for x in xs:
        state = state.add_input(x)
        a = bi.as_array() + x2i.as_array() @ x.npvalue() + h2i.as_array() @ h
        i, f, o, g = sigma(a[:2]), sigma(a[2:4] + 1), sigma(a[4:6]), np.tanh(a[6:])
        c = f * c + i * g
        h = o * np.tanh(c)
        np.testing.assert_allclose(state.output().npvalue(), h, rtol=1e-5)
    np.testing.assert_allclose(state.s()[0].npvalue(), c, rtol=1e-5)


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_graphs_end_states(builder_class):
    builder = builder_class(1, 3, 4, dy.ParameterCollection())
    with pytest.raises(ValueError):
        builder.get_parameter_expressions()
    state = builder.initial_state().add_input(inputs(1)[0])
    assert len(builder.get_parameter_expressions()[0]) == len(builder.get_parameters()[0])
    dy.renew_cg()
    for use in [lambda: state.add_input(inputs(1)[0]), state.h, state.s, state.prev]:
        with pytest.raises(ValueError, match="stale"):
            use()
    builder.initial_state().add_input(inputs(1)[0]).output().value()


def test_a_reverted_graph_gets_the_parameters_again():
    builder = dy.VanillaLSTMBuilder(1, 3, 4, dy.ParameterCollection())
    x = inputs(1)[0]
    dy.cg_checkpoint()
    first = builder.initial_state().add_input(x).output().npvalue()
    dy.cg_revert()
    np.testing.assert_array_equal(builder.initial_state().add_input(x).output().npvalue(), first)


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_specs(builder_class):
    m = dy.ParameterCollection()
    builder = builder_class(2, 3, 4, m)
    other = builder_class.from_spec(builder.spec, m)
    assert isinstance(other, builder_class)
    assert other.spec == builder.spec
    assert builder.whoami() == builder_class.__name__
    assert builder.param_collection().parameter_count() * 2 == m.parameter_count()


def test_update_false_freezes_the_parameters():
    m = dy.ParameterCollection()
    builder = dy.VanillaLSTMBuilder(1, 3, 4, m)
    dy.squared_norm(builder.initial_state(update=False).add_input(inputs(1)[0]).output()).backward()
    assert not any(p.grad_as_array().any() for p in m.parameters_list())


def test_dropout_masks():
    builder = dy.VanillaLSTMBuilder(1, 3, 50, dy.ParameterCollection())
    plain = builder.initial_state().add_input(inputs(1)[0]).output().npvalue()
    builder.set_dropouts(0.5, 0.5)
    dy.renew_cg()
    dropped = builder.initial_state().add_input(inputs(1)[0]).output().npvalue()
    builder.disable_dropout()
    dy.renew_cg()
    again = builder.initial_state().add_input(inputs(1)[0]).output().npvalue()
    assert (plain != dropped).any()
    np.testing.assert_array_equal(plain, again)
    with pytest.raises(ValueError):
        builder.set_dropout(1.5)


def test_lstm_builder_is_the_coupled_one():
    assert dy.LSTMBuilder is dy.CoupledLSTMBuilder
    m = dy.ParameterCollection()
    assert len(dy.LSTMBuilder(1, 3, 4, m).get_parameters()[0]) == 11
    for options in [{"ln_lstm": True}, {"forget_bias": 0.0}]:
        with pytest.raises(ValueError, match="VanillaLSTMBuilder"):
            dy.LSTMBuilder(1, 3, 4, m, **options)


def test_batches_go_through_a_builder():
    builder = dy.LSTMBuilder(1, 3, 4, dy.ParameterCollection())
    xs = inputs(2)
    one_by_one = [builder.initial_state().add_input(x).output().npvalue() for x in xs]
    both = builder.initial_state().add_input(dy.concatenate_to_batch(xs)).output()
    np.testing.assert_allclose(both.npvalue().T, one_by_one, rtol=1e-5)


def test_binary_tree_lstm():
    m = dy.ParameterCollection()
    builder = dy.BinaryTreeLSTMBuilder(3, 4, m)
    builder.new_graph()
    a, b = (builder.add_input(x) for x in inputs(2))
    top = builder.add_input(builder.add_input(a, b), b)
    assert isinstance(top, dy.TreeState)
    assert top.h.dim() == top.c.dim() == ((4,), 1)
    loss = dy.squared_norm(top.h)
    loss.backward()
    assert all(p.grad_as_array().any() for p in m.parameters_list())
    assert len(builder.get_parameters()) == len(m.parameters_list())
    # Without new_graph, the first input in a graph does it.
    value = top.h.npvalue()
    dy.renew_cg()
    a, b = (builder.add_input(x) for x in inputs(2))
    np.testing.assert_array_equal(builder.add_input(builder.add_input(a, b), b).h.npvalue(), value)


def test_tree_rnn():
    m = dy.ParameterCollection()
    builder = dy.TreeRNNBuilder(3, m)
    x, y = inputs(2)
    a, b = builder.add_input(x), builder.add_input(y)
    assert a.c is None
    (w,) = builder.get_parameters()
    expected = np.tanh(w.as_array() @ np.concatenate([x.npvalue(), y.npvalue()]))
    np.testing.assert_allclose(builder.add_input(a, b).h.npvalue(), expected, rtol=1e-5)


def test_errors_inside_a_builder_name_the_user_s_line():
    builder = dy.VanillaLSTMBuilder(1, 3, 4, dy.ParameterCollection())
    with pytest.raises(dy.ShapeError, match=r"test_builders.py:\d+"):
        builder.initial_state().add_input(dy.inputVector([1.0]))
