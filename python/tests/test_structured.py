"""Trees: searches and sums against all trees, one by one, and refused calls."""

from __future__ import annotations

import itertools

import dynet as dy
import numpy as np
import pytest

RNG = np.random.default_rng(4)


def is_tree(heads: tuple[int, ...]) -> bool:
    def top(word: int) -> int:
        for _ in heads:
            word = heads[word - 1] if word else 0
        return word

    return all(top(d) == 0 for d in range(1, len(heads) + 1))


def crosses(heads: tuple[int, ...]) -> bool:
    arcs = [sorted((h, d)) for d, h in enumerate(heads, 1)]
    return any(i < k < j < n for (i, j), (k, n) in itertools.permutations(arcs, 2))


def all_trees(words: int, single_root: bool, projective: bool) -> list[tuple[int, ...]]:
    return [
        heads
        for heads in itertools.product(range(words + 1), repeat=words)
        if is_tree(heads)
        and (heads.count(0) == 1 or not single_root)
        and not (projective and crosses(heads))
    ]


def arcs(scores: np.ndarray, heads: tuple[int, ...]) -> float:
    return float(sum(scores[h, d] for d, h in enumerate(heads)))


KINDS = [
    (dy.max_spanning_tree, dy.spanning_tree_log_partition, False),
    (dy.eisner, dy.eisner_log_partition, True),
]


@pytest.mark.parametrize("search, log_partition, projective", KINDS)
@pytest.mark.parametrize("single_root", [True, False])
def test_dependencies_against_all_trees(search, log_partition, projective, single_root):
    for words in (1, 2, 4):
        trees = all_trees(words, single_root, projective)
        scores = RNG.normal(size=(words + 1, words)).astype(np.float32)
        best = max(trees, key=lambda t: arcs(scores, t))
        x = dy.inputTensor(scores)
        assert search(scores, single_root=single_root) == list(best)
        assert search(x, single_root=single_root) == list(best)
        assert search(scores.tolist(), single_root=single_root) == list(best)
        each = [arcs(scores, t) for t in trees]
        y = log_partition(x, single_root=single_root)
        assert y.value() == pytest.approx(np.logaddexp.reduce(each), rel=1e-5)
        assert dy.tree_score(x, best).value() == pytest.approx(max(each), rel=1e-5)
        y.backward(full=True)
        marginals = np.zeros_like(scores)
        for tree, score in zip(trees, each):
            for d, h in enumerate(tree):
                marginals[h, d] += np.exp(score - np.logaddexp.reduce(each))
        np.testing.assert_allclose(x.gradient(), marginals.reshape(x.gradient().shape), atol=1e-5)


def test_a_cycle_of_many_words_ends():
    n = 200
    scores = np.zeros((n + 1, n))
    scores[2:, 0] = 1
    scores[np.arange(1, n), np.arange(1, n)] = 5
    scores[n, 0] = 9
    heads = dy.max_spanning_tree(scores)
    assert heads.count(0) == 1 and arcs(scores, heads) == 9 + 5 * (n - 2)


def test_more_cycles_in_cycles_than_a_stack_holds():
    n = 1200
    scores = np.full((n + 1, n), -1e6)
    scores[0] = -1e5
    scores[1, 1:] = 0
    scores[2:, 0] = -np.arange(2, n + 1)  # word 1 and word 2, these and word 3, ...
    assert dy.max_spanning_tree(scores) == [0] + (n - 1) * [1]


def test_batches_of_padded_sentences():
    scores = RNG.normal(size=(5, 4, 3)).astype(np.float32)
    lengths = [2, 4, 3]
    x = dy.inputTensor(scores, batched=True)
    for search, log_partition, _ in KINDS:
        trees = search(x, lengths)
        assert trees == search(scores, lengths)
        assert trees == [search(scores[: n + 1, :n, e]) for e, n in enumerate(lengths)]
        single = [
            (log_partition(part) - dy.tree_score(part, trees[e])).value()
            for e, n in enumerate(lengths)
            for part in [dy.inputTensor(scores[: n + 1, :n, e])]
        ]
        losses = log_partition(x, lengths) - dy.tree_score(x, trees)
        np.testing.assert_allclose(losses.npvalue().ravel(), single, atol=1e-5)


def bracketings(begin: int, end: int) -> list[list[tuple[int, int, int]]]:
    if end == begin + 1:
        return [[(label, begin, end)] for label in range(2)]
    return [
        [(label, begin, end), *left, *right]
        for label in range(2)
        for k in range(begin + 1, end)
        for left in bracketings(begin, k)
        for right in bracketings(k, end)
    ]


def test_constituents_against_all_trees():
    scores = RNG.normal(size=(4, 4, 2, 2)).astype(np.float32)
    lengths = [4, 3]
    x = dy.inputTensor(scores, batched=True)
    trees = dy.cky(x, lengths)
    assert trees == dy.cky(scores, lengths)
    sums = dy.cky_log_partition(x, lengths).npvalue().ravel()
    given = dy.spans_score(x, trees).npvalue().ravel()
    for e, n in enumerate(lengths):
        each = {
            tuple(spans): float(sum(scores[i, j - 1, label, e] for label, i, j in spans))
            for spans in bracketings(0, n)
        }
        assert tuple(trees[e]) == max(each, key=each.__getitem__)
        assert dy.cky(scores[:n, :n, :, e]) == trees[e]
        assert sums[e] == pytest.approx(np.logaddexp.reduce(list(each.values())), rel=1e-5)
        assert given[e] == pytest.approx(max(each.values()), rel=1e-5)
        one = dy.spans_score(dy.inputTensor(scores[..., e]), trees[e])
        assert one.value() == pytest.approx(given[e], rel=1e-5)


def test_what_they_refuse():
    x = dy.inputTensor(np.zeros((4, 3)))
    for call, error, text in [
        (lambda: dy.eisner(np.zeros((3, 3))), dy.ShapeError, r"\{3,3\}; want \{words\+1,words\}"),
        (lambda: dy.eisner(np.zeros(3)), dy.ShapeError, "an array with 1 axes; want 2"),
        (lambda: dy.eisner(np.zeros((4, 3, 2))), dy.ShapeError, "3 axes; want 2"),
        (lambda: dy.eisner(np.zeros((4, 3)), [4]), dy.IndexError, "a length is 4"),
        (lambda: dy.eisner([[np.nan], [0]]), dy.NumericError, "head 0 for word 0 in .* is NaN"),
        (lambda: dy.max_spanning_tree([[-np.inf], [0]]), dy.NumericError, "each tree"),
        (lambda: dy.max_spanning_tree("text"), dy.TypeError, "max_spanning_tree"),
        (lambda: dy.cky(np.zeros((2, 2))), dy.ShapeError, "2 axes; want 3"),
        (lambda: dy.cky(np.zeros((2, 3, 1))), dy.ShapeError, "want {words,words,labels}"),
        (lambda: dy.tree_score(x, [2, 1, 0]), dy.ValueError, "word 0 is below itself"),
        (lambda: dy.tree_score(x, [0, 1, 9]), dy.IndexError, "the head of word 2 of 3 is 9"),
        (lambda: dy.spans_score(dy.inputTensor(np.zeros((2, 2, 1))), [(0, 0)]), dy.ValueError,
         "a span has 2 numbers"),
        (lambda: dy.spanning_tree_log_partition(x, [1, 2]), dy.ValueError, "2 lengths for"),
    ]:  # fmt: skip
        with pytest.raises(error, match=text):
            call()
