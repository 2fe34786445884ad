"""The baselines for a model of the whole tree: the most frequent answer, and a linear softmax over
the counts of words."""

from __future__ import annotations

from collections import Counter

import numpy as np

from trees import Tree

_RATE = 0.05


class BagOfSymbols:
    """scores = bias + sum of the words' weights, trained with AdaGrad."""

    def __init__(self, symbols: int, classes: int) -> None:
        self.weights = np.zeros((symbols + 1, classes))  # row 0: the bias
        self.squares = np.full((symbols + 1, classes), 1e-6)

    @staticmethod
    def rows(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
        """Rows that occur in the tree, and how often."""
        counts = Counter(word + 1 for word in tree.words)
        counts[0] = 1
        return np.array(list(counts)), np.array(list(counts.values()), dtype=float)

    def answer(self, tree: Tree) -> int:
        rows, counts = self.rows(tree)
        return int(np.argmax(counts @ self.weights[rows]))

    def learn(self, tree: Tree) -> None:
        rows, counts = self.rows(tree)
        scores = counts @ self.weights[rows]
        slope = np.exp(scores - scores.max())
        slope /= slope.sum()
        slope[tree.labels[-1]] -= 1
        slopes = np.outer(counts, slope)
        self.squares[rows] += slopes**2
        self.weights[rows] -= _RATE * slopes / np.sqrt(self.squares[rows])


def measure_baselines(
    train: list[Tree], test: list[Tree], symbols: int, classes: int, passes: int
) -> tuple[float, float]:
    """Shares of right answers at the roots of ``test``: most frequent answer, bag of symbols."""
    frequent = Counter(tree.labels[-1] for tree in train).most_common(1)[0][0]
    bag = BagOfSymbols(symbols, classes)
    for _ in range(passes):
        for tree in train:
            bag.learn(tree)
    right_frequent = sum(tree.labels[-1] == frequent for tree in test)
    right_bag = sum(bag.answer(tree) == tree.labels[-1] for tree in test)
    return right_frequent / len(test), right_bag / len(test)
