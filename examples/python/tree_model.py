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

    def states(self, tree: Tree) -> list[dy.TreeState]:
        states: list[dy.TreeState] = []
        add_input = self.builder.add_input  # looked up once: it is a hot loop
        words = map(add_input, self.words.rows(tree.words))
        for left, right in zip(tree.left, tree.right):
            states.append(next(words) if left < 0 else add_input(states[left], states[right]))
        return states

    def loss(self, tree: Tree) -> dy.Expression:
        """The sum over the nodes that have a label."""
        classes, states = self.classes, self.states(tree)
        scores = [classes * states[node].h for node in tree.labelled]
        return dy.esum(list(map(dy.pickneglogsoftmax, scores, tree.labels)))

    def scores(self, tree: Tree) -> dy.Expression:
        """Of the root's classes."""
        return self.classes * self.states(tree)[-1].h
