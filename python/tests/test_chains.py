"""Conditional random fields and CTC: lists for all examples and for each, and refused calls."""

from __future__ import annotations

import itertools

import dynet as dy
import numpy as np
import pytest

TAGS, STEPS = 3, 4
RNG = np.random.default_rng(1)
EMISSIONS = RNG.normal(size=(TAGS, STEPS))
TRANSITIONS = RNG.normal(size=(TAGS, TAGS))
START, END = RNG.normal(size=TAGS), RNG.normal(size=TAGS)


def score(path: tuple[int, ...], ends: bool = True) -> float:
    y = sum(EMISSIONS[t, k] for k, t in enumerate(path))
    y += sum(TRANSITIONS[t, s] for s, t in itertools.pairwise(path))
    return y + (START[path[0]] + END[path[-1]] if ends else 0.0)


def test_a_crf_against_all_sequences() -> None:
    e, a = dy.inputTensor(EMISSIONS), dy.inputTensor(TRANSITIONS)
    start, end = dy.inputTensor(START), dy.inputTensor(END)
    paths = list(itertools.product(range(TAGS), repeat=STEPS))
    for ends in (True, False):
        more = {"start": start, "end": end} if ends else {}
        scores = {path: score(path, ends) for path in paths}
        partition = dy.crf_log_partition(e, a, **more).value()
        assert partition == pytest.approx(np.logaddexp.reduce(list(scores.values())), rel=1e-5)
        tags, best = dy.crf_viterbi(e, a, **more)
        path = max(scores, key=scores.__getitem__)
        assert tags.vec_value() == list(path)
        assert best.value() == pytest.approx(scores[path], rel=1e-5)
        assert dy.crf_score(e, a, list(path), **more).value() == pytest.approx(
            scores[path], rel=1e-5
        )


def test_lists_and_lengths_of_a_batch() -> None:
    e = dy.inputTensor(np.stack([EMISSIONS, EMISSIONS], axis=2), batched=True)
    a = dy.inputTensor(TRANSITIONS)
    short = dy.inputTensor(EMISSIONS[:, :2])
    whole = dy.inputTensor(EMISSIONS)
    partition = dy.crf_log_partition(e, a, lengths=[4, 2]).npvalue().flatten()
    single = [dy.crf_log_partition(whole, a).value(), dy.crf_log_partition(short, a).value()]
    np.testing.assert_array_equal(partition, single)
    scores = dy.crf_score(e, a, [[0, 1, 2, 0], [2, 1]]).npvalue().flatten()
    expected = [score((0, 1, 2, 0), False), score((2, 1), False)]
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    both = dy.crf_score(e, a, [2, 1, 0, 0]).npvalue().flatten()
    np.testing.assert_allclose(both, [score((2, 1, 0, 0), False)] * 2, rtol=1e-5)
    tags, best = dy.crf_viterbi(e, a, lengths=[4, 2])
    assert tags.dim() == ((STEPS,), 2)
    np.testing.assert_array_equal(tags.npvalue()[2:, 1], [0, 0])
    assert best.npvalue().flatten()[1] == pytest.approx(dy.crf_viterbi(short, a)[1].value())


def test_ctc_takes_a_list_or_lists() -> None:
    logits = RNG.normal(size=(3, 5))
    x = dy.log_softmax(dy.inputTensor(logits))
    p = np.exp(logits) / np.exp(logits).sum(axis=0)

    def expected(labels: list[int], blank: int = 0) -> float:
        total = 0.0
        for path in itertools.product(range(3), repeat=5):
            if [c for c, _ in itertools.groupby(path) if c != blank] == labels:
                total += np.prod([p[c, k] for k, c in enumerate(path)])
        return -np.log(total)

    for labels in ([], [1], [2, 1], [1, 1, 2]):
        assert dy.ctc_loss(x, labels).value() == pytest.approx(expected(labels), rel=1e-4)
    assert dy.ctc_loss(x, [0, 1], blank=2).value() == pytest.approx(expected([0, 1], 2), rel=1e-4)
    losses = dy.ctc_loss(x, [[1, 1], [], [2]]).npvalue().flatten()
    np.testing.assert_allclose(losses, [expected(v) for v in ([1, 1], [], [2])], rtol=1e-4)
    assert dy.ctc_loss(x, [1, 1, 1, 1]).value() == np.inf


def test_a_crf_learns() -> None:
    """Gradients of the likelihood: observed counts less marginals."""
    pc = dy.ParameterCollection()
    weights = pc.add_parameters((TAGS, TAGS), init=0.0)
    trainer = dy.SimpleSGDTrainer(pc, 0.5)
    seen = [0, 1, 2, 0]
    for _ in range(30):
        dy.renew_cg()
        e = dy.zeros((TAGS, STEPS))
        loss = dy.crf_log_partition(e, weights) - dy.crf_score(e, weights, seen)
        loss.backward()
        trainer.update()
    dy.renew_cg()
    e = dy.inputTensor(np.array([[5.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]))
    assert dy.crf_viterbi(e, weights)[0].vec_value() == seen


def test_what_is_refused() -> None:
    e, a = dy.inputTensor(EMISSIONS), dy.inputTensor(TRANSITIONS)
    with pytest.raises(IndexError, match="tags is 3"):
        dy.crf_score(e, a, [0, 3])
    with pytest.raises(IndexError, match="a length is 5"):
        dy.crf_log_partition(e, a, lengths=[5])
    with pytest.raises(ValueError, match="2 lengths for"):
        dy.crf_viterbi(e, a, lengths=[4, 4])
    with pytest.raises(ValueError, match="empty"):
        dy.crf_score(e, a, [])
    with pytest.raises(ValueError, match="a label is the blank"):
        dy.ctc_loss(e, [0])
    with pytest.raises(IndexError, match="labels is 3"):
        dy.ctc_loss(e, [[3]])
    for labels in ([-1], [[-1]]):
        with pytest.raises((TypeError, IndexError)):
            dy.ctc_loss(e, labels)
