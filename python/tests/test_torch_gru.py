"""Weights of nn.GRU in a GRUBuilder with `reset_after`: beside the tests of test_torch_weights.py."""

from __future__ import annotations

import copy
import pickle

import dynet as dy
import numpy as np
import pytest
from torch_layers import apart, double, made, numbers, outputs, recurrent, recurrent_shapes, state

#: Of the largest number of a result: float32 here, double there.
BOUND = 1e-6


@pytest.mark.parametrize("is_both", [False, True])
def test_the_way_back(is_both):
    """The biases of r and z come back as sums; those of the last gate stay apart."""
    w = state(recurrent_shapes(3, 4, 2, is_both, 3))
    builder = made("GRU", 3, 4, 2, is_both)
    dy.from_torch(builder, w)
    back = dy.to_torch(builder)
    assert sorted(back) == sorted(w)
    for name, array in back.items():
        assert array.dtype == np.float32 and array.flags.c_contiguous and array.flags.owndata
        if "bias" not in name:
            np.testing.assert_array_equal(array, w[name])
            continue
        sums = np.zeros(8)
        if "bias_ih" in name:
            sums = np.add(w[name], w[name.replace("ih", "hh")], dtype=float)[:8]
        np.testing.assert_allclose(array[:8], sums, rtol=0, atol=2e-7)
        np.testing.assert_array_equal(array[8:], w[name][8:])


def test_copies_and_files_keep_the_gate(tmp_path):
    w, xs = state(recurrent_shapes(3, 4, 2, gates=3)), numbers(5, 3)
    builder = made("GRU", 3, 4, 2, False)
    dy.from_torch(builder, w)
    want = outputs(builder, xs)
    dy.save(str(tmp_path / "model"), [builder])
    (loaded,) = dy.load(str(tmp_path / "model"), dy.ParameterCollection())
    for other in (loaded, copy.deepcopy(builder), pickle.loads(pickle.dumps(builder))):
        assert other.spec == (2, 3, 4, True)
        np.testing.assert_array_equal(outputs(other, xs), want)
        assert [len(layer) for layer in other.get_parameters()] == [10, 10]


def test_layers_without_biases():
    w, xs = state(recurrent_shapes(3, 4, gates=3)), numbers(5, 3)
    w = {name: x for name, x in w.items() if "bias" not in name}
    builder = made("GRU", 3, 4, 1, False)
    for p in builder.param_collection().parameters_list():
        p.set_value(np.ones(p.shape()))
    dy.from_torch(builder, w)
    assert apart(outputs(builder, xs), recurrent(xs, double(w), 1, False, "GRU")) < BOUND


def test_what_does_not_fit():
    gru, w = made("GRU", 3, 4, 1, False), state(recurrent_shapes(3, 4, gates=3))
    lstm = state(recurrent_shapes(3, 4))
    with pytest.raises(dy.ShapeError, match=r"16 = 4 \* 4 rows are the rows of an nn.LSTM"):
        dy.from_torch(gru, lstm)
    with pytest.raises(dy.ValueError, match="no 'bias_hh_l0'"):
        dy.from_torch(gru, {n: x for n, x in w.items() if n != "bias_hh_l0"})
    before = dy.GRUBuilder(1, 3, 4, dy.ParameterCollection())
    with pytest.raises(dy.TypeError, match="want one made with reset_after=True"):
        dy.from_torch(before, w)
