"""The adaptive softmax, and sampled losses."""

from __future__ import annotations

import dynet as dy
import numpy as np
import pytest

COUNTS = [40, 20, 10, 10, 5, 3, 1]


def vector(k: int, size: int = 8) -> np.ndarray:
    return np.random.default_rng(k).normal(size=size)


def log_softmax(z: np.ndarray) -> np.ndarray:
    return z - np.log(np.exp(z).sum())


def test_adaptive_softmax_computes_its_equations():
    m = dy.ParameterCollection()
    softmax = dy.AdaptiveSoftmaxBuilder(8, 10, [3, 6], m, div_value=2)
    for k, p in enumerate(m.parameters_list()):
        p.set_value(np.random.default_rng(k).normal(size=p.shape()))
    w, b, p0, w0, b0, p1, w1, b1 = (p.as_array() for p in m.parameters_list())
    assert p0.shape == (4, 8) and p1.shape == (2, 8)
    for k in range(3):
        x = vector(k)
        top = log_softmax(w @ x + b)
        want = np.concatenate(
            [
                top[:3],
                top[3] + log_softmax(w0 @ (p0 @ x) + b0),
                top[4] + log_softmax(w1 @ (p1 @ x) + b1),
            ]
        )
        node = dy.inputVector(x)
        got = softmax.full_log_distribution(node).npvalue()
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        for word in range(10):
            assert softmax.neg_log_softmax(node, word).value() == pytest.approx(
                -want[word], abs=1e-4
            )
        assert 0 <= softmax.sample(node) < 10
    batch = dy.inputTensor(np.stack([vector(0), vector(1), vector(2)], axis=1), batched=True)
    losses = softmax.neg_log_softmax_batch(batch, [0, 4, 9])
    assert losses.dim() == ((1,), 3)
    with pytest.raises(ValueError, match="cutoff 0 is 12; want more than 0 and less than 10"):
        dy.AdaptiveSoftmaxBuilder(8, 10, [12], m)
    with pytest.raises(IndexError):
        softmax.neg_log_softmax(dy.inputVector(vector(0)), 10)


@pytest.mark.parametrize("loss", ["nce", "sampled_softmax", "blackout"])
def test_sampled_losses_compute_their_equations(loss):
    m = dy.ParameterCollection()
    softmax = dy.SampledSoftmaxBuilder(8, COUNTS, 5, m, loss=loss, alpha=0.5)
    w, b = m.lookup_parameters_list()
    w.init_from_array(np.random.default_rng(1).normal(size=(7, 8)))
    b.init_from_array(np.random.default_rng(2).normal(size=(7, 1)))
    q = np.sqrt(COUNTS) / np.sqrt(COUNTS).sum()
    drawn = [0, 3, 3, 5, 1]
    x = vector(5)
    s = w.as_array() @ x + b.as_array()[:, 0]
    node = dy.inputVector(x)
    softmax.set_noise(drawn)
    for word in range(7):
        others = np.array([d for d in drawn if d != word])
        if loss == "nce":
            noise = s[drawn] - np.log(5 * q[drawn])
            want = np.log1p(np.exp(np.log(5 * q[word]) - s[word])) + np.log1p(np.exp(noise)).sum()
        elif loss == "sampled_softmax":
            want = np.log(np.exp(s[word]) + (np.exp(s[others]) / (5 * q[others])).sum()) - s[word]
        else:
            terms = np.exp(s) / q
            all_terms = terms[word] + terms[others].sum()
            want = -np.log(terms[word] / all_terms) - np.log1p(-terms[others] / all_terms).sum()
        assert softmax.sampled_loss(node, word).value() == pytest.approx(want, rel=1e-4)
        assert softmax.neg_log_softmax(node, word).value() == pytest.approx(
            -log_softmax(s)[word], rel=1e-4
        )
    assert softmax.noise() == drawn
    batch = dy.inputTensor(np.stack([x, x], axis=1), batched=True)
    one = softmax.sampled_loss(node, 4).value()
    np.testing.assert_allclose(
        softmax.sampled_loss_batch(batch, [4, 4]).npvalue().flatten(), [one, one], rtol=1e-5
    )
    dy.renew_cg()
    softmax.sampled_loss(dy.inputVector(x), 4, update=False).backward()
    assert not w.grad_as_array().any()
    softmax.resample()


def test_a_sampled_loss_trains_the_softmax():
    m = dy.ParameterCollection()
    softmax = dy.SampledSoftmaxBuilder(2, COUNTS, 100, m)
    trainer = dy.AdamTrainer(m, 0.05)
    words = [w for w, count in enumerate(COUNTS) for _ in range(count)]
    ones = np.ones((2, len(words)))
    for step in range(300):
        trainer.learning_rate = 0.05 if step < 150 else 0.005
        dy.renew_cg()
        x = dy.inputTensor(ones, batched=True)
        dy.mean_batches(softmax.sampled_loss_batch(x, words)).backward()
        trainer.update()
    dy.renew_cg()
    p = np.exp(softmax.full_log_distribution(dy.inputVector([1, 1])).npvalue())
    np.testing.assert_allclose(p, np.array(COUNTS) / sum(COUNTS), atol=0.05)


def test_wrong_arguments():
    m = dy.ParameterCollection()
    with pytest.raises(ValueError, match="loss is 'full'; want nce, sampled_softmax or blackout"):
        dy.SampledSoftmaxBuilder(8, COUNTS, 5, m, loss="full")
    with pytest.raises(ValueError, match="count of word 1 is 0"):
        dy.SampledSoftmaxBuilder(8, [1, 0], 5, m)
    with pytest.raises(ValueError):
        dy.SampledSoftmaxBuilder(8, COUNTS, 0, m)
    softmax = dy.SampledSoftmaxBuilder(8, COUNTS, 5, m)
    with pytest.raises(IndexError):
        softmax.sampled_loss(dy.inputVector(vector(0)), 7)
    with pytest.raises(IndexError):
        softmax.set_noise([7])
