"""A tree LSTM with a classifier at each node: the part that knows the library."""

from __future__ import annotations

from dataclasses import dataclass, field

import dynet as dy
import numpy as np

from model_file import Settings, add_table
from trees import Tree


@dataclass
class ModelSettings:
    """What has to be known before a model file can be read."""

    task: str  # "listops" or "trees"
    hidden: int
    classes: int
    words: list[str] = field(default_factory=list)

    def saved(self) -> Settings:
        numbers = {"hidden": self.hidden, "classes": self.classes}
        return Settings(self.task, numbers, {"words": self.words})

    @staticmethod
    def of(settings: Settings) -> ModelSettings:
        numbers = settings.numbers
        words = settings.lists["words"]
        return ModelSettings(settings.task, numbers["hidden"], numbers["classes"], words)


class TreeModel:
    """Words are rows of a table, nodes are joined by a BinaryTreeLSTMBuilder, and a
    {classes,hidden} matrix scores the classes."""

    def __init__(self, settings: ModelSettings) -> None:
        self.parameters = dy.ParameterCollection()
        hidden = settings.hidden
        self.words = add_table(self.parameters, len(settings.words), hidden)
        self.builder = dy.BinaryTreeLSTMBuilder(hidden, hidden, self.parameters)
        self.classifier = self.parameters.add_parameters((settings.classes, hidden))

    def new_graph(self, autobatching: bool | None = None) -> None:
        """Call once for each graph, before the trees."""
        dy.renew_cg(autobatching=autobatching)
        self.builder.new_graph()

    def _states(self, tree: Tree) -> list:
        states: list = []
        add_input = self.builder.add_input
        words = self.words
        for node in tree.nodes:
            if node.left < 0:
                states.append(add_input(words[node.symbol]))
            else:
                states.append(add_input(states[node.left], states[node.right]))
        return states

    def add_tree(self, tree: Tree) -> tuple[dy.Expression, dy.Expression, int]:
        """The sum of the losses of the labelled nodes, the scores of the root, and how many losses
        are in the sum."""
        losses = []
        scores = None
        classifier = self.classifier
        loss_of = dy.pickneglogsoftmax
        for node, state in zip(tree.nodes, self._states(tree)):
            label = node.label
            if label >= 0:
                scores = classifier * state.h
                losses.append(loss_of(scores, label))
        return dy.esum(losses), scores, len(losses)

    def score_root(self, tree: Tree) -> dy.Expression:
        """Scores of the root alone, {classes}."""
        return self.classifier * self._states(tree)[-1].h


def classify_roots(model: TreeModel, trees: list[Tree], limit: int) -> list[int]:
    """Class of the root, one a tree. Several trees a graph, so that the library has something to
    run together."""
    classes: list[int] = []
    trees = trees[:limit]
    for first in range(0, len(trees), 16):
        model.new_graph()
        scores = [model.score_root(tree) for tree in trees[first : first + 16]]
        table = np.asarray(dy.concatenate(scores).npvalue()).reshape(len(scores), -1)
        classes.extend(int(c) for c in table.argmax(axis=1))
    return classes


def root_accuracy(model: TreeModel, trees: list[Tree], limit: int) -> float:
    """Share of trees whose root is classified rightly."""
    classes = classify_roots(model, trees, limit)
    return sum(c == tree.root.label for c, tree in zip(classes, trees)) / max(len(classes), 1)
