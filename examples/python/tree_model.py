"""A tree LSTM with a classifier at each node: the part that knows the library."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import dynet as dy
import numpy as np

from trees import Tree


@dataclass
class ModelSettings:
    """What has to be known before a model file can be read. Written beside it as FILE.settings, in
    the format of the C++ program."""

    task: str  # "listops" or "trees"
    hidden: int
    classes: int
    words: list[str] = field(default_factory=list)

    def save(self, model_file: str) -> None:
        numbers = f"task {self.task}\nhidden {self.hidden}\nclasses {self.classes}\n"
        with open(model_file + ".settings", "w", encoding="utf-8") as out:
            out.write(numbers + f"words {len(self.words)}\n" + "\n".join(self.words) + "\n")

    @staticmethod
    def load(model_file: str) -> ModelSettings:
        file = model_file + ".settings"
        with open(file, encoding="utf-8", newline="\n") as lines:
            head = [lines.readline().split() for _ in range(4)]
            words = lines.read().split("\n")[:-1]
        if [line[:1] for line in head] != [["task"], ["hidden"], ["classes"], ["words"]]:
            raise ValueError(f"'{file}' is not a settings file of this program")
        settings = ModelSettings(head[0][1], int(head[1][1]), int(head[2][1]), words)
        if len(settings.words) != int(head[3][1]):
            raise ValueError(f"'{file}' ends before its last word")
        return settings


class TreeModel:
    """Words are rows of a table, nodes are joined by a BinaryTreeLSTMBuilder, and a
    {classes,hidden} matrix scores the classes."""

    def __init__(self, settings: ModelSettings) -> None:
        self.parameters = dy.ParameterCollection()
        hidden = settings.hidden
        self.words = self.parameters.add_lookup_parameters((len(settings.words), hidden))
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
        for left, right, symbol, _ in tree.nodes:
            if left < 0:
                states.append(add_input(words[symbol]))
            else:
                states.append(add_input(states[left], states[right]))
        return states

    def add_tree(self, tree: Tree) -> tuple[dy.Expression, dy.Expression, int]:
        """The sum of the losses of the labelled nodes, the scores of the root, and how many losses
        are in the sum."""
        losses = []
        scores = None
        for node, state in zip(tree.nodes, self._states(tree)):
            if node.label >= 0:
                scores = self.classifier * state.h
                losses.append(dy.pickneglogsoftmax(scores, node.label))
        return dy.esum(losses), scores, len(losses)

    def score_root(self, tree: Tree) -> dy.Expression:
        """Scores of the root alone, {classes}."""
        return self.classifier * self._states(tree)[-1].h

    def set_deterministic_values(self) -> None:
        """Initial values by a formula: the same in C++ and in Python. Vectors (biases) are zero,
        matrices and rows of tables uniform within the range of Glorot."""
        number = 0
        for parameter in self.parameters.parameters_list():
            shape = parameter.shape()
            scale = math.sqrt(6.0 / sum(shape)) if len(shape) > 1 else 0.0
            flat = _values_at(number, int(np.prod(shape)), scale)
            parameter.set_value(flat.reshape(shape, order="F"))
            number += 1
        for table in self.parameters.lookup_parameters_list():
            rows, width = table.shape()
            scale = math.sqrt(6.0 / (width + 1.0))
            table.init_from_array(_values_at(number, rows * width, scale).reshape(rows, width))
            number += 1


def _values_at(parameter: int, count: int, scale: float) -> np.ndarray:
    """Numbers in [-scale, scale) from their places: all steps are exact, in any language."""
    x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1)
    x += np.uint32((parameter * 0x85EBCA6B + 1) & 0xFFFFFFFF)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    numbers = (x >> np.uint32(8)).astype(np.float64) / 8388608.0 - 1.0
    return (scale * numbers).astype(np.float32)


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
