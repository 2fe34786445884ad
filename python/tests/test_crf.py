"""Conditional random fields: lists of the best, marginals, the rules of BIO, and segments."""

from __future__ import annotations

import itertools
import pickle

import dynet as dy
import numpy as np
import pytest

RNG = np.random.default_rng(8)


def filled(make):
    """A builder with parameters that are not 0, and their numbers."""
    m = dy.ParameterCollection()
    builder = make(m)
    for p in m.parameters_list():
        p.set_value(RNG.normal(size=p.shape()).astype(np.float32))
    return builder, [p.npvalue() for p in m.parameters_list()]


def tag_score(numbers, scores: np.ndarray, tags) -> float:
    transitions, start, end = numbers
    pairs = sum(transitions[j, i] for i, j in itertools.pairwise(tags))
    return start[tags[0]] + end[tags[-1]] + sum(scores[t, k] for k, t in enumerate(tags)) + pairs


def test_the_best_and_marginals_against_all_sequences():
    crf, numbers = filled(lambda m: dy.CRFBuilder(3, m))
    scores = RNG.normal(size=(3, 4, 2)).astype(np.float32)
    lengths = [4, 2]
    x = dy.inputTensor(scores, batched=True)
    shares = crf.marginals(x, lengths)
    assert shares.shape == scores.shape
    assert not shares[:, 2:, 1].any()
    for e, n in enumerate(lengths):
        each = {
            tags: tag_score(numbers, scores[..., e], tags)
            for tags in itertools.product(range(3), repeat=n)
        }
        wanted = sorted(each, key=each.__getitem__, reverse=True)[:5]
        found = crf.n_best(x, 5, lengths)[e]
        assert [tuple(tags) for tags, _ in found] == wanted
        np.testing.assert_allclose([score for _, score in found], [each[t] for t in wanted], 1e-5)
        logarithm = np.logaddexp.reduce(list(each.values()))
        expected = np.zeros((3, n))
        for tags, score in each.items():
            for k, t in enumerate(tags):
                expected[t, k] += np.exp(score - logarithm)
        np.testing.assert_allclose(shares[:, :n, e], expected, atol=1e-5)
    one = dy.inputTensor(scores[..., 0])
    assert crf.n_best(one, 5) == crf.n_best(x, 5, lengths)[0]
    np.testing.assert_allclose(crf.marginals(one), shares[..., 0], atol=1e-6)


def test_bio_allows_well_formed_tags_alone():
    names = ["O", "B-PER", "I-PER", "B-LOC", "E-LOC", "S-LOC"]
    crf = dy.CRFBuilder(6, dy.ParameterCollection())
    crf.forbid_bio(names)
    found = {
        tuple(names[t] for t in tags)
        for tags, _ in crf.n_best(dy.inputTensor(np.zeros((6, 2))), 100)
    }
    assert found == {("B-LOC", "E-LOC"), *itertools.product(["O", "S-LOC"], repeat=2)}
    again = dy.CRFBuilder(4, dy.ParameterCollection())
    again.forbid_bio(iter(["B-X", "I-X", "O", "I-Y"]))
    copy = pickle.loads(pickle.dumps(again))
    for builder in (again, copy):
        dy.renew_cg()
        assert len(builder.n_best(dy.inputTensor(np.zeros((4, 2))), 100)) == 5
    for names, text in [
        (["O"], "1 names; want one for each of 4 tags"),
        (["O", "B-X", "X", "I-X"], "the tag 'X'; want O"),
        (["O", "B-X", "B-X", "I-X"], "'B-X' stands twice"),
    ]:
        with pytest.raises(dy.ValueError, match=text):
            again.forbid_bio(names)
    with pytest.raises(dy.TypeError, match="forbid_bio"):
        again.forbid_bio([1, 2, 3, 4])


def segmentations(begin: int, steps: int, most: int) -> list[list[tuple[int, int, int]]]:
    if begin == steps:
        return [[]]
    return [
        [(label, begin, end), *rest]
        for end in range(begin + 1, min(steps, begin + most) + 1)
        for label in range(2)
        for rest in segmentations(end, steps, most)
    ]


def test_segments_against_all_segmentations():
    semi, (transitions, start, end) = filled(lambda m: dy.SemiCRFBuilder(2, 3, m))
    emissions = RNG.normal(size=(2, 4, 2)).astype(np.float32)
    lengths = [4, 3]
    x = semi.segment_scores(dy.inputTensor(emissions, batched=True))
    assert x.dim() == ((2, 4, 3), 2)

    def score(e: int, segments) -> float:
        y = start[segments[0][0]] + end[segments[-1][0]]
        y += sum(emissions[label, i:j, e].sum() for label, i, j in segments)
        return y + sum(transitions[b[0], a[0]] for a, b in itertools.pairwise(segments))

    gold = [segmentations(0, n, 3)[-1] for n in lengths]
    losses = semi.neg_log_likelihood(x, gold).npvalue().ravel()
    found = semi.viterbi(x, lengths)
    for e, n in enumerate(lengths):
        each = {tuple(s): score(e, s) for s in segmentations(0, n, 3)}
        best = max(each, key=each.__getitem__)
        assert tuple(found[e][0]) == best
        assert found[e][1] == pytest.approx(each[best], rel=1e-5)
        logarithm = np.logaddexp.reduce(list(each.values()))
        assert losses[e] == pytest.approx(logarithm - each[tuple(gold[e])], rel=1e-4)
    one = semi.segment_scores(dy.inputTensor(emissions[..., 0]))
    assert semi.viterbi(one)[0] == found[0][0]
    assert semi.neg_log_likelihood(one, gold[0]).value() == pytest.approx(losses[0], rel=1e-4)
    with pytest.raises(dy.ValueError, match="a segment has 2 numbers"):
        semi.neg_log_likelihood(one, [(0, 1)])
    with pytest.raises(dy.ValueError, match="does not begin at step 0"):
        semi.neg_log_likelihood(one, [(0, 1, 2)])
    with pytest.raises(dy.ShapeError, match=r"want \{2,steps,3\}"):
        semi.viterbi(dy.inputTensor(np.zeros((2, 4))))
