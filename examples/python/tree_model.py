"""The tree LSTM of the paper: words are rows of a table, nodes are joined by a
BinaryTreeLSTMBuilder, and a matrix scores the classes of each node."""

from __future__ import annotations

import dynet as dy

from model_file import Settings, add_table
from trees import Tree


class TreeModel:
    def __init__(self, s: Settings) -> None:
        self.m = dy.ParameterCollection()
        self.words = add_table(self.m, s["words"], s["hidden"])
        self.builder = dy.BinaryTreeLSTMBuilder(s["hidden"], s["hidden"], self.m)
        self.classes = self.m.add_parameters((s["classes"], s["hidden"]))

    def vectors(self, tree: Tree) -> list[dy.Expression]:
        """Of all nodes."""
        return self.builder.transduce(self.words.rows(tree.words), tree.left, tree.right)

    def loss(self, tree: Tree) -> dy.Expression:
        """The sum over the nodes that have a label."""
        classes, vectors = self.classes, self.vectors(tree)
        scores = [classes * vectors[node] for node in tree.labelled]
        return dy.esum(list(map(dy.pickneglogsoftmax, scores, tree.labels)))

    def scores(self, tree: Tree) -> dy.Expression:
        """Of the root's classes."""
        return self.classes * self.vectors(tree)[-1]
