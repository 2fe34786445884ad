"""Builders for trees whose nodes have any number of children."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest


def make_nary(layers: int, size: int, m: dy.ParameterCollection) -> dy.NaryTreeLSTMBuilder:
    return dy.NaryTreeLSTMBuilder(2, layers, size, size, m)


def maker(builder_class):
    return lambda layers, size, m: builder_class(layers, size, size, m)


BUILDERS = {
    "nary": make_nary,
    "child-sum": maker(dy.ChildSumTreeLSTMBuilder),
    "gru": maker(dy.TreeGRUBuilder),
    "unidirectional": maker(dy.UnidirectionalTreeLSTMBuilder),
    "bidirectional": maker(dy.BidirectionalTreeLSTMBuilder),
}
ALL = pytest.mark.parametrize("make", BUILDERS.values(), ids=BUILDERS.keys())
TREE = [[], [], [], [0, 1], [2], [3, 1, 4]]


def vector(k: int, size: int = 4) -> np.ndarray:
    return np.random.default_rng(k).normal(size=size)


def add_all(tree, order=range(6)) -> None:
    for i in order:
        tree.add_input(i, TREE[i], dy.inputVector(vector(i)))


def sigma(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@ALL
def test_order_states_and_gradients(make):
    m = dy.ParameterCollection()
    tree = make(2, 4, m)
    tree.start_new_sequence()
    add_all(tree)
    want = [[e.npvalue() for e in tree.get_s(i)] for i in range(6)]
    assert (want[5][-1] == tree.back().npvalue()).all()
    assert len(tree.final_s()) == len(want[5])
    assert (tree.final_h()[-1].npvalue() == want[5][-1]).all()
    tree.start_new_sequence()
    tree.set_num_elements(6)
    add_all(tree, [2, 4, 1, 0, 3, 5])
    for i in range(6):
        for got, wanted in zip(tree.get_s(i), want[i]):
            np.testing.assert_array_equal(got.npvalue(), wanted)
    dy.squared_norm(tree.back()).backward()
    assert all(p.grad_as_array().any() for p in m.parameters_list())
    assert sum(len(layer) for layer in tree.get_parameters()) == len(m.parameters_list())
    assert tree.param_collection().parameter_count() == m.parameter_count()


@ALL
def test_update_false_gives_no_gradients(make):
    m = dy.ParameterCollection()
    tree = make(1, 4, m)
    tree.new_graph(update=False)
    tree.start_new_sequence()
    add_all(tree)
    dy.squared_norm(tree.back()).backward()
    assert not any(p.grad_as_array().any() for p in m.parameters_list())


@ALL
def test_dropout_initial_states_and_copies(make):
    m = dy.ParameterCollection()
    tree, other = make(1, 4, m), make(1, 4, m)

    def root(builder, h_0=None) -> np.ndarray:
        dy.renew_cg()
        states = None if h_0 is None else [dy.inputVector(v) for v in h_0]
        builder.start_new_sequence(states)
        add_all(builder)
        return builder.back().npvalue()

    plain = root(tree)
    assert (root(other) != plain).any()
    other.copy(tree)
    np.testing.assert_array_equal(root(other), plain)
    tree.set_dropout(0.5)
    assert any((root(tree) != plain).any() for _ in range(9))
    tree.disable_dropout()
    np.testing.assert_array_equal(root(tree), plain)
    size = 2 if isinstance(tree, dy.BidirectionalTreeLSTMBuilder) else 4
    given = [vector(k, size) for k in range(tree.num_h0_components())]
    assert (root(tree, given) != plain).any()
    with pytest.raises(ValueError):
        root(tree, given + given)


@ALL
def test_wrong_calls(make):
    tree = make(1, 4, dy.ParameterCollection())
    x = dy.inputVector(vector(0))
    with pytest.raises(ValueError):
        tree.add_input(0, [], x)
    tree.start_new_sequence()
    tree.add_input(0, [], x)
    with pytest.raises(IndexError, match="node 2: it comes out of order; want node 1"):
        tree.add_input(2, [], x)
    with pytest.raises(IndexError, match="node 1: child 7 is not there"):
        tree.add_input(1, [7], x)
    with pytest.raises(dy.ShapeError, match=r"node 1: x is \{3\}; want \{4\}"):
        tree.add_input(1, [0], dy.inputVector(vector(0, 3)))
    with pytest.raises(TypeError):
        tree.add_input(1, [0.5], x)
    tree.add_input(1, [0], x)
    dy.renew_cg()
    with pytest.raises(ValueError, match="stale"):
        tree.add_input(2, [], dy.inputVector(vector(0)))


def test_child_sum_computes_its_equations():
    tree = dy.ChildSumTreeLSTMBuilder(1, 3, 4, dy.ParameterCollection())
    (params,) = tree.get_parameters()
    for k, p in enumerate(params):
        p.set_value(np.random.default_rng(50 + k).normal(size=p.shape()))
    x2i, h2i, bi, x2f, h2f, bf, x2o, h2o, bo, x2c, h2c, bc = (p.as_array() for p in params)
    tree.start_new_sequence()
    states = []
    for i, children in enumerate(TREE):
        x = vector(i, 3)
        h = sum((states[k][1] for k in children), np.zeros(4))
        kept = sum((sigma(bf + x2f @ x + h2f @ states[k][1]) * states[k][0] for k in children), 0)
        c = sigma(bi + x2i @ x + h2i @ h) * np.tanh(bc + x2c @ x + h2c @ h) + kept
        states.append((c, sigma(bo + x2o @ x + h2o @ h) * np.tanh(c)))
        got = tree.add_input(i, children, dy.inputVector(x))
        np.testing.assert_allclose(got.npvalue(), states[i][1], rtol=1e-4, atol=1e-6)


def test_places_of_children_are_learned():
    """Which of three words is at the root's second child, from trees of several shapes."""
    m = dy.ParameterCollection()
    words = m.add_lookup_parameters((3, 4))
    tree, out = dy.NaryTreeLSTMBuilder(2, 1, 4, 4, m), m.add_parameters((3, 4))
    trainer = dy.AdamTrainer(m, 0.03)
    losses = []
    for _ in range(60):
        dy.renew_cg()
        terms = []
        for a in range(3):
            for b in range(3):
                tree.start_new_sequence()
                for i, (children, word) in enumerate([([], a), ([], b), ([0, 1], 0)]):
                    root = tree.add_input(i, children, words[word])
                terms.append(dy.pickneglogsoftmax(out * root, b))
        loss = dy.esum(terms)
        losses.append(loss.value())
        loss.backward()
        trainer.update()
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize(
    "builder_class", [dy.UnidirectionalTreeLSTMBuilder, dy.BidirectionalTreeLSTMBuilder]
)
def test_other_inputs_than_children_are_for_leaves(builder_class):
    """DyNet's own tests make one (3, 10, 2). Children are read as inputs: it cannot have any."""
    tree = builder_class(3, 10, 2, dy.ParameterCollection())
    tree.start_new_sequence()
    x = dy.inputVector(np.ones(10))
    assert tree.add_input(0, [], x).dim() == ((2,), 1)
    with pytest.raises(dy.ShapeError, match="a node with children, input_dim 10 and hidden_dim 2"):
        tree.add_input(1, [0], x)
    assert tree.add_input(1, [], x).npvalue().shape == (2,)
