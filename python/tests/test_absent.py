"""Arguments that a node does not have: None."""

import dynet as dy
import pytest


def numbers(count):
    return [0.37 * ((i * 5) % 7) - 1.0 for i in range(count)]


def test_absent_counts_as_zeros():
    dy.renew_cg()
    a = dy.inputVector(numbers(12))
    zeros = dy.zeros(3)
    for with_none, with_zeros in [
        (dy.lstm_cell(a), dy.lstm_cell(a, zeros)),
        (dy.lstm_cell(a, None, 0.5), dy.lstm_cell(a, zeros, forget_bias=0.5)),
    ]:
        for x, y in zip(with_none, with_zeros):
            assert x.npvalue() == pytest.approx(y.npvalue(), abs=1e-6)


def test_arguments_of_a_group_go_together():
    dy.renew_cg()
    a, f = dy.inputVector(numbers(9)), dy.inputVector(numbers(3))
    assert dy.tree_lstm_cell(a)[0].dim() == ((3,), 1)
    with pytest.raises(ValueError, match="c2 is absent; want arguments that belong together"):
        dy.tree_lstm_cell(a, f, f, f)
    with pytest.raises(TypeError):
        dy.lstm_cell(None, f)
