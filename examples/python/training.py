"""The training loop: one update after the other, measured, shown and written down."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import dynet as dy
import numpy as np

from progress import Progress, Stopwatch
from tree_model import TreeModel, root_accuracy
from trees import Tree


class CurvePoint(NamedTuple):
    """One row of the learning curve. Means are over the updates since the row before."""

    updates: int
    seconds: float  # of training: without testing
    train_loss: float  # mean over labelled nodes
    train_accuracy: float  # of roots, before the update that learns from them
    test_accuracy: float


@dataclass
class TrainingPlan:
    next_tree: Callable[[], Tree]
    test: list[Tree]
    updates: int
    updates_a_point: int  # of the curve
    test_limit: int  # trees tested at a point of the curve
    max_seconds: float = 0.0  # 0: no limit
    lowers_rate: bool = False  # see rate_factor


@dataclass
class TrainingResult:
    curve: list[CurvePoint] = field(default_factory=list)
    updates: int = 0
    seconds: float = 0.0


def rate_factor(share: float) -> float:
    """1 for the first 60 % of the training, then down to 0.02 in a straight line."""
    return 1.0 if share < 0.6 else 1.0 - 0.98 * (min(share, 1.0) - 0.6) / 0.4


class _Scores:
    """Sums since the last point of the curve; a mean that follows the last few hundred trees."""

    KEEP = 0.996

    def __init__(self) -> None:
        self.start_anew()
        self._weight = 0.0
        self._recent_loss = 0.0
        self._recent_right = 0.0

    def start_anew(self) -> None:
        self._loss = 0.0
        self._losses = self._right = self._trees = 0

    def add(self, loss: float, losses: int, is_right: bool) -> None:
        self._loss += loss
        self._losses += losses
        self._right += is_right
        self._trees += 1
        new = 1 - self.KEEP
        self._weight = self.KEEP * self._weight + new
        self._recent_loss = self.KEEP * self._recent_loss + new * loss / losses
        self._recent_right = self.KEEP * self._recent_right + new * is_right

    def recent(self) -> tuple[float, float]:
        return self._recent_loss / self._weight, self._recent_right / self._weight

    def means(self) -> tuple[float, float]:
        return self._loss / self._losses, self._right / self._trees


def make_trainer(model: TreeModel, options: argparse.Namespace) -> dy.Trainer:
    if options.trainer == "sgd":
        return dy.SimpleSGDTrainer(model.parameters, options.learning_rate)
    return dy.AdamTrainer(model.parameters, options.learning_rate)


class _Step:
    """One update on ``minibatch`` trees, each written into the graph on its own."""

    def __init__(self, model: TreeModel, plan: TrainingPlan, options: argparse.Namespace) -> None:
        self.model = model
        self.plan = plan
        self.options = options
        self.trainer = make_trainer(model, options)

    def run(self, update: int, share: float, scores: _Scores) -> None:
        if self.plan.lowers_rate:
            self.trainer.learning_rate = self.options.learning_rate * rate_factor(share)
        self.model.new_graph()
        labels = []
        outputs = []
        for _ in range(self.options.minibatch):
            tree = self.plan.next_tree()
            outputs.append(self.model.add_tree(tree))
            labels.append(tree.root.label)
        losses = [loss for loss, _, _ in outputs]
        loss = losses[0] if len(losses) == 1 else dy.esum(losses)
        total = loss.value()
        if update < self.options.print_losses:
            print(f"loss {update + 1} {np.float32(total):.9g}")  # as C++ reads a value
        loss.backward()
        self.trainer.update()
        for (one, root_scores, count), label in zip(outputs, labels):
            answer = int(np.argmax(root_scores.npvalue()))
            scores.add(one.value() if len(outputs) > 1 else total, count, answer == label)


def train(model: TreeModel, plan: TrainingPlan, options: argparse.Namespace) -> TrainingResult:
    result = TrainingResult()
    step = _Step(model, plan, options)
    scores = _Scores()
    watch = Stopwatch()
    progress = Progress(plan.updates, "updates", options.quiet)
    watch.start()
    for update in range(plan.updates):
        # A machine too slow for all updates ends in time, with the rate lowered as far.
        in_time = watch.running() / plan.max_seconds if plan.max_seconds > 0 else 0.0
        if in_time >= 1:
            break
        step.run(update, max(update / plan.updates, in_time), scores)
        result.updates = update + 1
        share = max(result.updates / plan.updates, in_time)
        progress.show(result.updates, watch.running(), share, *scores.recent())
        if result.updates % plan.updates_a_point == 0 or result.updates == plan.updates:
            watch.stop()
            accuracy = root_accuracy(model, plan.test, plan.test_limit)
            result.curve.append(
                CurvePoint(result.updates, watch.seconds, *scores.means(), accuracy)
            )
            scores.start_anew()
            watch.start()
    watch.stop()
    progress.finish()
    result.seconds = watch.seconds
    return result


def write_curve(curve: list[CurvePoint], file: str) -> None:
    with open(file, "w", encoding="utf-8") as out:
        out.write(",".join(CurvePoint._fields) + "\n")
        for point in curve:
            out.write(",".join(f"{value:.6g}" for value in point) + "\n")
