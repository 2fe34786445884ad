"""Functions of whole sequences equal programs written step by step."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest


@pytest.fixture
def table() -> dy.LookupParameters:
    model = dy.ParameterCollection()
    return model.lookup_parameters_from_numpy(np.arange(15, dtype=np.float32).reshape(5, 3) ** 0.5)


def test_lookup_of_a_sequence(table: dy.LookupParameters):
    dy.renew_cg()
    xs = dy.lookup_sequence(table, [4, 0, 4])
    assert len(xs) == 3
    for x, row in zip(xs, [4, 0, 4]):
        np.testing.assert_array_equal(x.npvalue(), dy.lookup(table, row).npvalue())
    assert dy.lookup_sequence(table, []) == []


def test_lookup_of_a_batch_of_sequences(table: dy.LookupParameters):
    dy.renew_cg()
    xs = dy.lookup_sequence(table, [[1, 2], [3, 3]])
    assert [x.dim() for x in xs] == [((3,), 2), ((3,), 2)]
    np.testing.assert_array_equal(xs[0].npvalue(), dy.lookup_batch(table, [1, 2]).npvalue())


def test_loss_is_the_sum_of_the_steps(table: dy.LookupParameters):
    dy.renew_cg()
    labels = [2, 0, 1]
    xs = dy.lookup_sequence(table, [4, 1, 2])
    by_steps = dy.esum([dy.pickneglogsoftmax(x, label) for x, label in zip(xs, labels)])
    whole = dy.sequence_loss(dy.concatenate_to_batch(xs), labels)
    assert whole.value() == pytest.approx(by_steps.value(), abs=1e-5)
    columns = dy.sequence_loss(dy.concatenate_cols(xs), labels)
    assert columns.value() == whole.value()
    some = dy.sequence_loss(dy.concatenate_to_batch(xs), [2, None, 1])
    without = dy.pickneglogsoftmax(xs[0], 2) + dy.pickneglogsoftmax(xs[2], 1)
    assert some.value() == pytest.approx(without.value(), abs=1e-5)


def test_mistakes(table: dy.LookupParameters):
    dy.renew_cg()
    scores = dy.concatenate_to_batch(dy.lookup_sequence(table, [4, 1]))
    with pytest.raises(ValueError, match=r"1 labels for the scores of 2 steps(.|\n)*test_sequence"):
        dy.sequence_loss(scores, [1])
    with pytest.raises(IndexError):
        dy.sequence_loss(scores, [1, 3])
    with pytest.raises(IndexError):
        dy.lookup_sequence(table, [0, 5])
    with pytest.raises(TypeError):
        dy.lookup_sequence(table, ["a"])
