"""The training loop of all programs: one update after the other, measured, tested, shown and
written down."""

from __future__ import annotations

import argparse
import gc
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dynet as dy
import numpy as np

from data import minibatches, updates_an_epoch
from measure import Stopwatch, peak_memory_mib, seconds_since_start
from model_file import Settings, save_model
from progress import Progress

# The sum of the losses of an example or an update, and its number of the items that the program
# counts: words, sentences.
Losses = tuple[dy.Expression, int]


class ScoreKind(NamedTuple):
    """How well a model does."""

    name: str  # "accuracy", from 0 to 1, or "perplexity"
    is_share: bool  # shown in per cent, higher is better; else lower is

    def text(self, score: float) -> str:
        return f"{self.name} {100 * score:.2f} %" if self.is_share else f"{self.name} {score:.1f}"


class Learner(ABC):
    """A model and its data, as the loop sees them."""

    parameters: dy.ParameterCollection
    score_kind: ScoreKind
    can_test: bool

    @abstractmethod
    def settings(self) -> Settings: ...

    @abstractmethod
    def add_next(self) -> Losses | None:
        """Starts a new graph and writes the next examples into it. None: this rank has none."""

    def share(self, examples: list[Any]) -> list[Any]:
        """The examples of this rank. (A trainer of several ranks replaces it.)"""
        return examples

    @abstractmethod
    def test(self) -> float:
        """The score on the examples for testing, of which there is at least one if ``can_test``."""


class ExampleLearner(Learner):
    """A model, and examples that it learns from, some an update, in a random order."""

    def __init__(
        self,
        settings: Settings,
        model: Any,
        train: list[Any],
        dev: list[Any],
        seed: int,
        minibatch: int,
    ) -> None:
        self._settings = settings
        self.model = model
        self.train = train
        self.dev = dev
        self._minibatches = minibatches(seed, train, minibatch)
        self.parameters = model.m
        self.can_test = bool(dev)
        self.updates_an_epoch = updates_an_epoch(len(train), minibatch)

    def settings(self) -> Settings:
        return self._settings

    @abstractmethod
    def add(self, example: Any) -> Losses:
        """The losses of one example."""

    def add_next(self) -> Losses | None:
        dy.renew_cg()
        examples = self.share(next(self._minibatches))
        if not examples:
            return None
        if len(examples) == 1:
            return self.add(examples[0])
        losses, items = zip(*map(self.add, examples))
        return dy.esum(losses), sum(items)


def answers_to(examples: list[Any], ask: Callable[[Any], list[dy.Expression]]) -> list[int]:
    """Answers to examples, 16 in a graph, so that the library has something to run together: the
    places of the largest numbers in each of the results of ``ask`` for an example."""
    answers: list[int] = []
    for first in range(0, len(examples), 16):
        dy.renew_cg()
        scores = [one for example in examples[first : first + 16] for one in ask(example)]
        table = np.asarray(dy.concatenate(scores).npvalue()).reshape(len(scores), -1)
        answers += table.argmax(axis=1).tolist()
    return answers


class CurvePoint(NamedTuple):
    """One row of the learning curve."""

    updates: int
    seconds: float  # CPU time of training alone
    items: int  # learned from so far
    train_loss: float  # of an item, the mean since the row before
    dev_score: float  # NaN without data to test on


@dataclass
class TrainingPlan:
    unit: str  # the name of ``items``: "words"
    updates_an_epoch: int
    lowers_rate: bool = False  # see rate_factor
    keeps_best: bool = True  # saves the best in tests; else the last


@dataclass
class TrainingResult:
    curve: list[CurvePoint] = field(default_factory=list)
    updates: int = 0
    items: int = 0
    seconds: float = 0.0  # CPU time of training alone
    first_update_at: float = 0.0  # wall time since the program was started
    best_score: float = math.nan  # of the model in the file, if ``can_test``


def rate_factor(share: float) -> float:
    """1 for the first 60 % of the training, then down to 0.02 in a straight line."""
    return 1.0 if share < 0.6 else 1.0 - 0.98 * (min(share, 1.0) - 0.6) / 0.4


class MeanLoss:
    """Means of an item: since the last point of the curve, and over the last few hundred updates.
    They are computed when somebody looks, as each update adds to them."""

    LAST = 250

    def __init__(self) -> None:
        self._losses: list[float] = []
        self._items: list[int] = []
        self._at_point = 0  # how many of these were there at the last point

    def add(self, loss: float, items: int) -> None:
        self._losses.append(loss)
        self._items.append(items)

    def _mean_from(self, first: int) -> float:
        items = sum(self._items[first:])
        return sum(self._losses[first:]) / items if items else math.nan

    def recent(self) -> float:
        return self._mean_from(-self.LAST)

    def take(self) -> float:
        """The mean since the last point; this is one."""
        mean = self._mean_from(self._at_point)
        del self._losses[: -self.LAST], self._items[: -self.LAST]
        self._at_point = len(self._losses)
        return mean


def make_trainer(
    parameters: dy.ParameterCollection, options: argparse.Namespace
) -> dy.Trainer | dy.DistributedTrainer:
    trainer = dy.AdamTrainer(parameters, options.learning_rate)
    trainer.lookup_updates = options.lookup_updates
    # Losses are sums over examples.
    return dy.DistributedTrainer(trainer, gradient="sum") if options.distributed else trainer


def set_initial_values(parameters: dy.ParameterCollection, options: argparse.Namespace) -> None:
    """As the options say."""
    if options.init_file:
        parameters.populate(options.init_file)


class _Training:
    def __init__(self, learner: Learner, plan: TrainingPlan, options: argparse.Namespace) -> None:
        self.learner = learner
        self.plan = plan
        self.options = options
        self.updates = options.updates or plan.updates_an_epoch * options.epochs
        self.test_every = options.test_every or plan.updates_an_epoch
        self.trainer = make_trainer(learner.parameters, options)
        self.ranks = self.trainer if isinstance(self.trainer, dy.DistributedTrainer) else None
        if self.ranks is not None:
            learner.share = self.ranks.share  # type: ignore[method-assign, assignment]
        self.loss = MeanLoss()
        self.progress = Progress(self.updates, plan.unit, self.loss.recent)
        self.watch = Stopwatch()
        self.first_updates = max(options.print_losses, 1)
        self.result = TrainingResult()

    def run(self) -> TrainingResult:
        result = self.result
        share = 0.0
        self.watch.start()
        while share < 1:
            share = self.update(share)
        if not result.curve or result.curve[-1].updates != result.updates:
            self.add_point()
        self.progress.finish()
        self.watch.stop()
        result.seconds = self.watch.seconds
        return result

    def update(self, share: float) -> float:
        """How much of the training is done after one more update; ``share``: before it. (A method
        of its own, as Python 3.11 makes a function fast that is called often, and not the body of
        a loop in one that is called once.)"""
        if self.plan.lowers_rate:
            self.trainer.learning_rate = self.options.learning_rate * rate_factor(share)
        loss, items = 0.0, 0
        added = self.learner.add_next()
        if added is not None:
            losses, items = added
            loss = losses.value()
            losses.backward()
        if self.ranks is not None:
            loss, of_all = self.ranks.sum([loss, items])
            items = int(of_all)
        self.trainer.update()
        self.loss.add(loss, items)
        result, limit = self.result, self.options.max_seconds
        result.items += items
        result.updates = updates = result.updates + 1
        if updates <= self.first_updates:
            self.tell_first(loss)
        share = updates / self.updates
        if limit > 0:
            # A machine too slow for all updates ends in time, with the rate lowered as far.
            share = max(share, self.watch.running() / limit)
            if self.ranks is not None:  # ranks differ in time, and must end together
                share = self.ranks.sum([share if self.ranks.rank == 0 else 0.0])[0]
        if not self.options.quiet:
            self.progress.show(updates, share, result.items)
        if updates % self.test_every == 0 or updates == self.updates:
            self.add_point()
        return share

    def tell_first(self, loss: float) -> None:
        """Of the first updates."""
        if self.result.updates == 1:
            self.result.first_update_at = seconds_since_start()
        if self.result.updates <= self.options.print_losses:
            # As C++ reads a value.
            print(f"loss {self.result.updates} {np.float32(loss):.9g}")

    def add_point(self) -> None:
        """Tests, keeps the model if it is the best so far, and writes the curve down."""
        self.watch.stop()
        self.progress.pause()
        result, options, kind = self.result, self.options, self.learner.score_kind
        score = math.nan
        if self.learner.can_test:
            score = self.learner.test()
            self.progress.score = kind.text(score)
        best = result.best_score
        is_better = score > best if kind.is_share else score < best
        if is_better or not result.curve or math.isnan(score) or not self.plan.keeps_best:
            result.best_score = score
            if options.model:
                save_model(self.learner.settings(), self.learner.parameters, options.model)
        seconds = self.watch.seconds
        point = CurvePoint(result.updates, seconds, result.items, self.loss.take(), score)
        result.curve.append(point)
        if options.curve:
            write_curve(result.curve, options.curve)
        self.progress.resume()
        self.watch.start()


def train(learner: Learner, plan: TrainingPlan, options: argparse.Namespace) -> TrainingResult:
    """Trains as the options say and writes the model, the curve and, at the end, a line of
    figures."""
    for file in (options.model, options.curve):
        os.makedirs(os.path.dirname(file or "") or ".", exist_ok=True)
    gc.freeze()  # else the collector looks at all data again and again
    result = _Training(learner, plan, options).run()
    print(
        f"trained {result.items} items in {result.seconds:.3f} cpu-seconds: "
        f"{result.items / result.seconds:.1f} items/s; peak memory {peak_memory_mib():.1f} MiB; "
        f"first-update-at {result.first_update_at:.2f} s after start"
    )
    if learner.can_test:
        kind = learner.score_kind
        last = result.curve[-1].dev_score
        print(f"dev {kind.text(last)}, best {kind.text(result.best_score)}")
    return result


def write_curve(curve: list[CurvePoint], file: str) -> None:
    with open(file, "w", encoding="utf-8") as out:
        out.write(",".join(CurvePoint._fields) + "\n")
        for point in curve:
            values = ["" if math.isnan(value) else f"{value:.6g}" for value in point[1:]]
            values[1] = str(point.items)
            out.write(",".join([str(point.updates), *values]) + "\n")
