"""The learner of trees: the tree LSTM, whose answers are the classes of roots."""

from __future__ import annotations

from training import ExampleLearner, Losses, ScoreKind, answers_to
from tree_model import TreeModel
from trees import Tree


def classify_roots(model: TreeModel, trees: list[Tree]) -> list[int]:
    return answers_to(trees, lambda tree: [model.scores(tree)])


class TreeLearner(ExampleLearner):
    score_kind = ScoreKind("accuracy", is_share=True)

    def add(self, example: Tree) -> Losses:
        return self.model.loss(example), 1

    def test(self) -> float:
        answers = classify_roots(self.model, self.dev)
        right: int = sum(a == tree.labels[-1] for a, tree in zip(answers, self.dev))
        return right / len(answers)
