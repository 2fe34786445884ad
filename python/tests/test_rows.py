"""Operations along rows whose Python functions are not the generated ones."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest


def test_log_softmax_over_some_positions() -> None:
    x = dy.inputVector([1.0, 2.0, 900.0, 3.0])
    z = 3.0 + np.log(1.0 + np.exp(-2.0))
    expected = [1.0 - z, -np.inf, -np.inf, 3.0 - z]
    np.testing.assert_allclose(dy.log_softmax(x, [0, 3]).npvalue(), expected, rtol=1e-6)
    np.testing.assert_allclose(dy.log_softmax(x, restrict=[3, 0]).npvalue(), expected, rtol=1e-6)
    every = dy.log_softmax(x).npvalue()
    np.testing.assert_array_equal(dy.log_softmax(x, restrict=None).npvalue(), every)
    np.testing.assert_array_equal(dy.log_softmax(x, d=0).npvalue(), every)
    columns = dy.inputTensor(np.array([[1.0, 5.0, 3.0]]))
    by_row = dy.log_softmax(columns, restrict=[0, 2], d=1).npvalue()
    np.testing.assert_allclose(by_row, [[1.0 - z, -np.inf, 3.0 - z]], rtol=1e-6)
    with pytest.raises(ValueError, match="at least one position"):
        dy.log_softmax(x, restrict=[])
    with pytest.raises(IndexError):
        dy.log_softmax(x, restrict=[4])


def test_sparsemax_loss_takes_a_list() -> None:
    x = dy.inputVector([0.5, 0.25, -2.0])
    assert dy.sparsemax_loss(x, [1, 2]).value() == pytest.approx(1.265625)


def test_topk_gives_values_and_positions() -> None:
    values, places = dy.topk(dy.inputVector([3.0, 9.0, 5.0, 9.0]), 3)
    assert values.vec_value() == [9.0, 9.0, 5.0]
    assert places.vec_value() == [1.0, 3.0, 2.0]
