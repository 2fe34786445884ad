"""Gradients as nodes. tests/gradient_test.cc tests the nodes of each operation."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest


def test_gradients_are_expressions():
    dy.renew_cg()
    x = dy.inputVector([1.0, -0.5, 2.0])
    loss = dy.sum_elems(dy.cube(x))
    (g,) = dy.gradient(loss, [x])
    assert g.npvalue().tolist() == [3.0, 0.75, 12.0]
    dy.sum_elems(dy.square(g)).backward(full=True)
    np.testing.assert_array_equal(x.gradient(), [36.0, -4.5, 288.0])


def test_parameters_stand_for_all_their_nodes():
    p = dy.ParameterCollection().add_parameters(2, init=3.0)
    dy.renew_cg()
    loss = dy.dot_product(p, p)
    first, other = dy.gradient(loss, (p, dy.parameter(p)))
    assert first.npvalue().tolist() == other.npvalue().tolist() == [6.0, 6.0]


def test_operations_that_have_none_are_named():
    dy.renew_cg()
    x = dy.inputTensor(np.ones((3, 2)))
    loss = dy.sum_elems(dy.maxpooling2d(x, [2, 2], [1, 1]))
    nodes = len(dy.cg())
    with pytest.raises(dy.UsageError, match="maxpooling2d has no backward in operations"):
        dy.gradient(loss, [x])
    assert len(dy.cg()) == nodes
    with pytest.raises(dy.ShapeError, match="the loss is"):
        dy.gradient(x, [x])
