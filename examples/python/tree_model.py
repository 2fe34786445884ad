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
        add_input, words = self.builder.add_input, self.words  # looked up once: it is a hot loop
        for node in tree.nodes:
            if node.left < 0:
                states.append(add_input(words[node.symbol]))
            else:
                states.append(add_input(states[node.left], states[node.right]))
        return states

    def loss(self, tree: Tree) -> dy.Expression:
        """The sum over the nodes that have a label."""
        losses = []
        classes, loss_of = self.classes, dy.pickneglogsoftmax
        for node, state in zip(tree.nodes, self.states(tree)):
            if node.label >= 0:
                losses.append(loss_of(classes * state.h, node.label))
        return dy.esum(losses)

    def scores(self, tree: Tree) -> dy.Expression:
        """Of the root's classes."""
        return self.classes * self.states(tree)[-1].h
