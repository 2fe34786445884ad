"""Recurrent and tree builders."""

from __future__ import annotations

import pickle
import re

import dynet as dy
import numpy as np
import pytest
from recurrent import HIDDEN_ONLY, RECURRENT, inputs


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_a_wrong_state_is_refused_where_it_is_given(builder_class):
    m = dy.ParameterCollection()
    builder = builder_class(1, 3, 4, m)
    xs = inputs(2)
    state = builder.initial_state().add_input(xs[0])
    with pytest.raises(dy.ShapeError, match=r"h of layer 0 of .* is \{3\}; want \{4\}") as e:
        state.set_h([xs[0]])
    assert "test_builders.py" in str(e.value)
    assert state.add_input(xs[1]).output().dim() == ((4,), 1)  # goes on


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_states_stay_while_whole_sequences_are_read(builder_class):
    m = dy.ParameterCollection()
    builder = builder_class(2, 3, 4, m)
    other = builder_class(2, 3, 4, m)
    xs = inputs(4)
    start = builder.initial_state()
    first = start.add_input(xs[0])
    second = first.add_input(xs[1])
    wanted = [s.output().npvalue() for s in start.add_inputs(xs)]
    both = dy.BiRNNBuilder(1, 3, 8, m, builder_class, [(builder, other)])
    for y in (*start.transduce(xs), *first.transduce(xs), *second.transduce([])):
        y.value()
    both.transduce(xs)
    both.back(xs)
    np.testing.assert_array_equal(first.transduce(xs[1:])[-1].npvalue(), wanted[3])
    np.testing.assert_array_equal(second.add_input(xs[2]).output().npvalue(), wanted[2])
    np.testing.assert_array_equal(second.prev().output().npvalue(), wanted[0])
    assert len(second.s()) == len(first.s())
    np.testing.assert_array_equal(start.transduce(xs)[3].npvalue(), wanted[3])
    # From a given state, and after a failure in the middle of a sequence.
    given = other.initial_state(list(second.s()))
    after = [h.npvalue() for h in given.transduce(xs)]
    with pytest.raises(dy.ShapeError):
        given.transduce([*xs[:2], dy.inputVector([1.0] * 5)])
    with pytest.raises(dy.ShapeError):
        start.transduce([*xs[:2], dy.inputVector([1.0] * 5)])
    np.testing.assert_array_equal([h.npvalue() for h in given.transduce(xs)], after)
    np.testing.assert_array_equal(given.add_inputs(xs)[3].output().npvalue(), after[3])
    np.testing.assert_array_equal([h.npvalue() for h in start.transduce(xs)], wanted)


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
        assert len(state.s()) == (2 if builder_class in HIDDEN_ONLY else 4)
    np.testing.assert_array_equal(state.prev().output().npvalue(), outputs[3])
    assert state.b() is builder


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_states_that_branch_have_the_numbers_of_one_by_one(builder_class):
    """Steps share a call whose sums were begun in different groups."""
    m = dy.ParameterCollection()
    rnn = builder_class(1, 2, 2, m)

    def numbers(autobatching: bool) -> list[np.ndarray]:
        dy.renew_cg(autobatching=autobatching)
        x1, x2, x5, x6 = inputs(4, 2)
        s0 = rnn.initial_state()
        s1 = s0.add_input(dy.tanh(x1))
        s2 = s0.add_input(x2)
        s3 = s1.add_input(s2.output())
        s4 = s3.add_input(s1.output())
        s5 = s0.add_input(x5)
        s6 = s3.add_input(x6)
        loss = dy.esum([dy.sum_elems(s.output()) for s in (s1, s2, s3, s4, s5, s6)])
        loss.backward()
        values = [s.output().npvalue() for s in (s1, s2, s3, s4, s5, s6)]
        gradients = [p.grad_as_array() for p in m.parameters_list()]
        m.reset_gradient()
        return values + gradients

    for merged, alone in zip(numbers(True), numbers(False), strict=True):
        np.testing.assert_allclose(merged, alone, rtol=1e-5, atol=1e-6)


def test_the_initial_state_is_one_object_while_it_lives():
    builder = dy.GRUBuilder(1, 3, 4, dy.ParameterCollection())
    old = builder.initial_state()
    assert builder.initial_state() is old
    dy.renew_cg()
    new = builder.initial_state()
    del old  # the builder has forgotten it
    assert builder.initial_state() is new and new.add_input(inputs(1)[0]).prev() == new
    del new
    builder.initial_state().add_input(inputs(1)[0]).output().npvalue()


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
    number = 1 if builder_class in HIDDEN_ONLY else 2
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
    for use, name in ((state.set_h, "set_h"), (state.set_s, "set_s")):
        for call in (use, lambda use=use: use(None)):
            with pytest.raises(dy.ValueError, match=f"{name}: es is None; want a list of expr"):
                call()
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
    parameters = builder.get_parameters()[0]
    if builder_class is dy.SparseLSTMBuilder:
        parameters = parameters[:3]  # as in DyNet 2.1: the matrices with their masks applied
    assert [e.dim()[0] for e in builder.get_parameter_expressions()[0]] == [
        p.shape() for p in parameters
    ]
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


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_dropout(builder_class):
    builder = builder_class(1, 3, 50, dy.ParameterCollection())

    def output() -> np.ndarray:
        dy.renew_cg()
        return builder.initial_state().add_input(inputs(1)[0]).output().npvalue()

    plain = output()
    builder.set_dropout(0.5)
    assert (output() != plain).any()
    builder.disable_dropout()
    np.testing.assert_array_equal(output(), plain)
    with pytest.raises(ValueError):
        builder.set_dropout(1.5)
    if builder_class is dy.GRUBuilder:
        assert not hasattr(builder, "set_dropouts")
        return
    rates = (0.0, 0.5, 0.5) if builder_class is dy.CoupledLSTMBuilder else (0.0, 0.5)
    builder.set_dropouts(*rates)
    if builder_class is not dy.CoupledLSTMBuilder:  # a mask on cells is in its first step
        np.testing.assert_array_equal(output(), plain)
    builder.set_dropouts(*(0.5 for _ in rates))
    dy.renew_cg()
    state = builder.initial_state()
    builder.set_dropout_masks(batch_size=2)
    both = state.add_input(inputs(1)[0]).output()
    assert both.dim() == ((50,), 2)
    values = both.npvalue()
    assert (values[:, 0] != values[:, 1]).any()


def test_two_rates_leave_the_cells_of_a_coupled_lstm_alone():
    """Programs for 2.1 give two rates to `LSTMBuilder`, which was another class."""
    lstm = dy.CoupledLSTMBuilder(1, 3, 20, dy.ParameterCollection())

    def second_output(*rates: float) -> np.ndarray:
        dy.reset_random_seed(1)
        dy.renew_cg()
        lstm.set_dropouts(*rates)
        return lstm.initial_state().transduce(inputs(2))[1].npvalue()

    np.testing.assert_array_equal(second_output(0.5, 0.5), second_output(0.5, 0.5, 0.0))
    assert (second_output(0.5, 0.5) != second_output(0.5, 0.5, 0.5)).any()


def test_masks_of_dropout_want_an_initial_state_in_this_graph():
    builder = dy.VanillaLSTMBuilder(1, 3, 2, dy.ParameterCollection())
    builder.set_dropout(0.5)
    for _ in range(2):
        dy.renew_cg()
        with pytest.raises(dy.StateError, match=r"set_dropout_masks: call initial_state\(\) in"):
            builder.set_dropout_masks(1)
        builder.initial_state()
        builder.set_dropout_masks(1)


def test_states_of_a_gru_with_dropout_keep_their_outputs():
    builder = dy.GRUBuilder(1, 3, 20, dy.ParameterCollection())
    builder.set_dropout(0.5)
    x = inputs(1)[0]
    first = builder.initial_state().add_input(x)
    second = first.add_input(x)
    np.testing.assert_array_equal(second.prev().output().npvalue(), first.output().npvalue())
    output, whole = first.output().npvalue(), first.h()[0].npvalue()
    assert ((output == 0) | (output == 2 * whole)).all() and (output == 0).any()


def sigma(v: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-v))


def test_gru_computes_its_equations():
    m = dy.ParameterCollection()
    builder = dy.GRUBuilder(1, 3, 2, m)
    (params,) = builder.get_parameters()
    assert [p.name() for p in params] == [f"/gru-builder/_{i}" for i in range(9)]
    for i in (2, 5, 8):
        params[i].set_value(np.array([0.25, -0.5]) * i)
    x2z, h2z, bz, x2r, h2r, br, x2h, h2h, bh = (p.as_array() for p in params)
    h = np.zeros(2)
    state = builder.initial_state()
    for x in inputs(3):
        state = state.add_input(x)
        x = x.npvalue()
        z = sigma(bz + x2z @ x + h2z @ h)
        r = sigma(br + x2r @ x + h2r @ h)
        h = (1 - z) * h + z * np.tanh(bh + x2h @ x + h2h @ (r * h))
        np.testing.assert_allclose(state.output().npvalue(), h, rtol=1e-5)


def test_sparse_lstm_holds_the_smallest_weights_at_zero():
    m = dy.ParameterCollection()
    builder = dy.SparseLSTMBuilder(1, 3, 4, m, ln_lstm=False, forget_bias=0.5)
    assert builder.spec == (1, 3, 4, False, 0.5)
    x2i, h2i, bi, x2i_mask, h2i_mask = builder.get_parameters()[0]
    assert [p.shape() for p in (x2i, h2i, bi, x2i_mask, h2i_mask)] == [
        (16, 3), (16, 4), (16,), (16, 3), (16, 4),
    ]  # fmt: skip
    builder.set_sparsity(sparsity=0.5)
    weights = np.abs(np.concatenate([x2i.as_array().ravel(), h2i.as_array().ravel()]))
    masks = np.concatenate([x2i_mask.as_array().ravel(), h2i_mask.as_array().ravel()])
    assert (masks == 0).sum() == 56
    assert weights[masks == 0].max() <= weights[masks == 1].min()
    with pytest.raises(ValueError):
        builder.set_sparsity(2.0)


def test_lstms_with_layer_normalisation_have_an_epsilon():
    """An epsilon much larger than the variances makes normalised numbers almost 0."""
    builder = dy.VanillaLSTMBuilder(1, 3, 4, dy.ParameterCollection(), ln_lstm=True)
    x = dy.inputVector([0.5, -1.0, 2.0])
    plain = builder.initial_state().add_input(x).output().npvalue()
    builder.set_ln_epsilon(1e20)
    flat = builder.initial_state().add_input(x).output().npvalue()
    assert np.abs(plain).max() > 0.01
    np.testing.assert_allclose(flat, 0.0, atol=1e-6)
    same = pickle.loads(pickle.dumps(builder))
    dy.renew_cg()
    x = dy.inputVector([0.5, -1.0, 2.0])
    np.testing.assert_array_equal(same.initial_state().add_input(x).output().npvalue(), flat)
    with pytest.raises(ValueError, match="VanillaLSTMBuilder: set_ln_epsilon: 0; want a number"):
        builder.set_ln_epsilon(0.0)


def test_compact_lstm_takes_noise_on_its_weights():
    builder = dy.CompactVanillaLSTMBuilder(1, 3, 4, dy.ParameterCollection())
    x = inputs(1)[0].npvalue()

    def output() -> np.ndarray:
        dy.renew_cg()
        return builder.initial_state().add_input(dy.inputVector(x)).output().npvalue()

    plain = output()
    builder.set_weightnoise(0.1)
    assert (output() != plain).any()
    with pytest.raises(ValueError):
        builder.set_weightnoise(-1.0)
    builder.set_weightnoise(std=0.0)
    np.testing.assert_array_equal(output(), plain)


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_files_of_builders(builder_class, tmp_path):
    path = str(tmp_path / "model")
    m, other = dy.ParameterCollection(), dy.ParameterCollection()
    builder, read = builder_class(2, 3, 4, m), builder_class(2, 3, 4, other)
    m.save(path)
    other.populate(path)
    xs = inputs(3)
    for ours, theirs in zip(
        builder.initial_state().transduce(xs), read.initial_state().transduce(xs)
    ):
        np.testing.assert_array_equal(ours.npvalue(), theirs.npvalue())


def test_a_file_of_the_other_lstm_builder(tmp_path):
    path = str(tmp_path / "model")
    m, other = dy.ParameterCollection(), dy.ParameterCollection()
    dy.VanillaLSTMBuilder(1, 3, 4, m)
    dy.LSTMBuilder(1, 3, 4, other)
    m.save(path)
    with pytest.raises(dy.IoError, match="--dynet-lstm=vanilla or with DYNET_LSTM=vanilla"):
        other.populate(path)


def test_lstm_builder_is_the_coupled_one():
    assert dy.LSTMBuilder is dy.CoupledLSTMBuilder
    m = dy.ParameterCollection()
    assert len(dy.LSTMBuilder(1, 3, 4, m).get_parameters()[0]) == 11
    assert type(dy.LSTMBuilder(1, 3, 4, m, None, forget_bias=None)) is dy.CoupledLSTMBuilder


def test_lstm_builder_with_options_is_the_standard_one():
    m = dy.ParameterCollection()
    for args, named, options in [
        ((1, 3, 4, m), {"ln_lstm": True}, (True, 1.0)),
        ((1, 3, 4, m, False), {}, (False, 1.0)),
        ((1, 3, 4, m), {"forget_bias": 0.0}, (False, 0.0)),
        ((1, 3, 4, m, True, 0.5), {}, (True, 0.5)),
        ((1, 3), {"ln_lstm": True, "model": m, "hidden_dim": 4}, (True, 1.0)),
    ]:
        builder = dy.LSTMBuilder(*args, **named)
        assert type(builder) is dy.VanillaLSTMBuilder and builder.spec == (1, 3, 4, *options)
        assert builder.initial_state().transduce(inputs(2))[1].dim() == ((4,), 1)
    with pytest.raises(dy.TypeError, match=r"there is no argument ln_lst;.*did you mean ln_lstm"):
        dy.LSTMBuilder(1, 3, 4, m, ln_lst=True)

    class Own(dy.LSTMBuilder):
        pass

    assert Own(1, 3, 4, m).spec == (1, 3, 4)
    with pytest.raises(ValueError, match="derive from that"):
        Own(1, 3, 4, m, ln_lstm=True)


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


@pytest.mark.parametrize("number", [int, float, np.int64])
def test_a_tree_in_one_call(number):
    builder = dy.BinaryTreeLSTMBuilder(3, 4, dy.ParameterCollection())
    left, right = [[number(n) for n in ns] for ns in ([-1, -1, 1, -1, 2], [-1, -1, 0, -1, 3])]
    xs = inputs(3)
    a, b, c = (builder.add_input(x) for x in xs)
    d = builder.add_input(b, a)
    want = [state.h.npvalue() for state in (a, b, d, c, builder.add_input(d, c))]
    ways = [
        builder.transduce(xs, left, right),
        builder.transduce(xs=iter(xs), left=tuple(left), right=iter(right)),
        builder.transduce(tuple(xs), np.array(left), np.array(right)),
    ]
    for vectors in ways:
        np.testing.assert_array_equal([v.npvalue() for v in vectors], want)


@pytest.mark.parametrize(
    ("left", "right", "error", "text"),
    [
        ([-1, -1, 2], [-1, -1, 1], IndexError, "node 2 has the child 2; want a node that comes"),
        ([-1, -1, 0], [-1, -1, -1], IndexError, "node 2 has the child -1; want a node that comes"),
        ([-1, -1], [-1], ValueError, "2 left and 1 right children; want as many of each"),
        ([-1], [-1], ValueError, "2 words and 1 nodes without children; want as many of each"),
        ([-1, 2**40], [-1, 0], ValueError, r"left\[1\] is 1099511627776"),
        ([-1, 0.5], [-1, 0], TypeError, r"left\[1\] is 0.5"),
        ([-1, 0], [-1, "a"], TypeError, r"right\[1\] is 'a'"),
        (3, [-1, 0], TypeError, "left is 3"),
    ],
)
def test_lists_that_are_no_tree(left, right, error, text):
    builder = dy.BinaryTreeLSTMBuilder(3, 4, dy.ParameterCollection())
    xs = inputs(2)
    with pytest.raises(error, match=text) as raised:
        builder.transduce(xs, left, right)
    assert "test_builders.py" in str(raised.value)
    assert len(builder.transduce(xs, [-1, -1, 0], [-1, -1, 1])) == 3


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


@pytest.mark.parametrize("name", ["GRUBuilder", "MLPAttentionBuilder"])
def test_a_builder_first_used_above_a_mark_is_used_again_after_the_revert(name):
    builder = getattr(dy, name)(*([1] if name == "GRUBuilder" else [2]), 2, 2, dy.Model())

    def use(x):
        if name == "GRUBuilder":
            return builder.initial_state().add_input(x).output().npvalue()
        return builder.attend(x, builder.read(dy.concatenate_cols([x, x]))).npvalue()

    dy.renew_cg()
    dy.ones(1)
    dy.cg_checkpoint()
    first = use(dy.inputVector([1, 2]))
    dy.cg_revert()
    for _ in range(100):  # the same number of nodes, but other nodes
        x = dy.inputVector([1, 2])
    np.testing.assert_array_equal(use(x), first)


def test_nodes_of_builders_show_no_line_of_the_library(tmp_path):
    """The line is the program's, or there is none."""
    m = dy.ParameterCollection()
    dy.renew_cg()
    xs = inputs(3)
    for builder_class in RECURRENT:
        builder = builder_class(2, 3, 2, m)
        builder.set_dropout(0.5)
        state = builder.initial_state().add_inputs(xs)[-1]
        if builder_class not in HIDDEN_ONLY:
            state.set_h(list(state.h()))
        parameter = builder.get_parameter_expressions()[0][0]
        assert ".cc" not in repr(parameter)
    sparse = dy.SparseLSTMBuilder(1, 3, 2, m)
    sparse.set_sparsity(0.5)
    sparse.initial_state().add_input(xs[0])
    noisy = dy.CompactVanillaLSTMBuilder(1, 3, 2, m)
    noisy.set_weightnoise(0.1)
    noisy.initial_state().add_input(xs[0])
    normalised = dy.VanillaLSTMBuilder(1, 3, 2, m, ln_lstm=True)
    normalised.initial_state().add_input(xs[0])
    tree = dy.BinaryTreeLSTMBuilder(3, 2, m)
    tree.add_input(tree.add_input(xs[0]), tree.add_input(xs[1]))
    crf = dy.CRFBuilder(2, m)
    crf.forbid(0, 1)
    crf.new_graph()
    scores = dy.inputTensor(np.zeros((2, 3)))
    crf.neg_log_likelihood(scores, [0, 0, 0])
    dy.beam_search(lambda s, w: (s, dy.log_softmax(dy.inputVector([1.0, 2.0]))), None, 0, 1)
    dy.cg().inputMatrixLiteral([1.0], 1)
    path = tmp_path / "graph"
    dy.dump_cg(str(path), show_values=False, show_gradients=False)
    text = path.read_text()
    assert "parameter(" in text and "test_builders.py" in text
    assert ".cc" not in text


# ---- documentation ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "SimpleRNNBuilder",
        "GRUBuilder",
        "CoupledLSTMBuilder",
        "VanillaLSTMBuilder",
        "CompactVanillaLSTMBuilder",
        "FastLSTMBuilder",
        "ChildSumTreeLSTMBuilder",
        "TreeGRUBuilder",
    ],
)
def test_documented_parameters_are_those_of_a_layer(name):
    """Names, order and shapes, in the comment of the C++ header (make_texts.py)."""
    builder = getattr(dy, name)
    doc = builder.__doc__
    assert doc.count(" = ") >= 1, "no formula"
    listed = re.search(r"Parameters of a layer, in the collection `([\w-]+)`: ([^.;]*)[.;]", doc)
    model = dy.ParameterCollection()
    builder(1, 3, 5, model)
    sizes = {"in": 3, "h": 5, "4h": 20, "1": 1}
    found = model.parameters_list()
    entries = re.findall(r"\b([A-Za-z]\w*)(?: \{([^}]*)\})?", re.sub(r" \(0\)", "", listed[2]))
    assert len(entries) == len(found)
    for (_, shape), parameter in zip(entries, found):
        assert f"/{listed[1]}/" in parameter.name()
        if shape:
            assert parameter.shape() == tuple(sizes[n] for n in shape.split(","))


def test_the_documentation_of_a_builder_has_python_s_words():
    assert "ln_params" not in dy.VanillaLSTMBuilder.__doc__
    assert "`ln_lstm`" in dy.VanillaLSTMBuilder.__doc__
    assert "[i; f; o; g]" in dy.SparseLSTMBuilder.__doc__
    assert "DYNET_LSTM=vanilla" in dy.CoupledLSTMBuilder.__doc__


def test_a_rate_is_named_by_what_it_drops():
    lstm = dy.VanillaLSTMBuilder(1, 2, 3, dy.ParameterCollection())
    with pytest.raises(ValueError, match="dropout rate of hidden states is 2"):
        lstm.set_dropouts(0.1, d_r=2.0)
    with pytest.raises(ValueError, match="dropout rate d is -1"):
        lstm.set_dropouts(-1.0, 0.5)
