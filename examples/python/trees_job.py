"""What the program does: makes the data, trains, tests against the baselines, writes files,
predicts."""

from __future__ import annotations

import argparse
import os
import sys

import dynet as dy

from baseline import measure_baselines
from data import Minibatches
from draw_curves import draw_all
from listops_data import DIGITS, MAX_DEPTH, WORDS, ListOpsGenerator, parse_list
from model_file import Settings, load_settings
from options import has_saved_model
from progress import minutes
from training import (
    Learner,
    Losses,
    ScoreKind,
    TrainingPlan,
    TrainingResult,
    answers_to,
    set_initial_values,
    total,
    train,
)
from tree_model import TreeModel
from trees import Tree, parse_tree, read_tree_file

SENTIMENT_CLASSES = 5
BASELINE_TREES = 20000


class EpochSource:
    """Goes over the trees in a new random order each time."""

    def __init__(self, seed: int, minibatch: int, trees: list[Tree]) -> None:
        self._order = Minibatches(seed, len(trees), minibatch)
        self._trees = trees
        self.updates_an_epoch = self._order.updates_an_epoch

    def next(self) -> list[Tree]:
        return [self._trees[i] for i in self._order.next()]


def make_settings(task: str, hidden: int, classes: int, words: list[str]) -> Settings:
    return Settings(task, {"hidden": hidden, "classes": classes}, {"words": words})


def make_lists(lists: ListOpsGenerator, depth: int, count: int, known: set[str]) -> list[Tree]:
    """Trees of lists that are not known yet, of this depth or, where it is 0, of any."""
    trees: list[Tree] = []
    while len(trees) < count:
        expr = lists.next(depth)
        if str(expr) not in known:
            known.add(str(expr))
            trees.append(expr.to_tree())
    return trees


def classify_roots(model: TreeModel, trees: list[Tree]) -> list[int]:
    return answers_to(trees, lambda tree: [model.scores(tree)])


class Task:
    """What a run learns from and is tested on."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.depths: list[int] = []  # of the held-out lists
        self.test: list[Tree] = []
        if options.train:
            self._read(options)
        else:
            self._generate(options)

    def _generate(self, options: argparse.Namespace) -> None:
        self.settings = make_settings("listops", options.hidden, DIGITS, WORDS)
        # No list is trained on that is tested on: all are different.
        lists = ListOpsGenerator(options.seed)
        known: set[str] = set()
        for depth in range(1, MAX_DEPTH + 1):
            of_depth = make_lists(lists, depth, options.test_trees // MAX_DEPTH, known)
            self.test += of_depth
            self.depths += [depth] * len(of_depth)
        self.train = make_lists(lists, 0, options.updates * options.minibatch, known)
        self.source = EpochSource(options.seed, options.minibatch, self.train)
        # What is tested on chooses nothing here: the held-out lists also measure the saved model.
        self.plan = TrainingPlan("trees", lowers_rate=True, keeps_best=False)

    def _read(self, options: argparse.Namespace) -> None:
        self.train, words = read_tree_file(options.train, SENTIMENT_CLASSES)
        self.test = read_tree_file(options.dev, SENTIMENT_CLASSES, words)[0] if options.dev else []
        self.settings = make_settings("sentiment", options.hidden, SENTIMENT_CLASSES, list(words))
        self.source = EpochSource(options.seed, options.minibatch, self.train)
        self.plan = TrainingPlan("trees", self.source.updates_an_epoch)


class TreeLearner(Learner):
    score_kind = ScoreKind("root accuracy", is_share=True)

    def __init__(self, task: Task) -> None:
        self._task = task
        self.model = TreeModel(task.settings)
        self.parameters = self.model.m
        self.can_test = bool(task.test)

    def settings(self) -> Settings:
        return self._task.settings

    def add_next(self) -> Losses:
        dy.renew_cg()
        trees = self._task.source.next()
        return total([Losses(self.model.loss(tree), tree.labels(), 1) for tree in trees])

    def test(self) -> float:
        trees = self._task.test
        answers = classify_roots(self.model, trees)
        return sum(a == tree.root.label for a, tree in zip(answers, trees)) / len(trees)


def print_table(
    task: Task, model: TreeModel, result: TrainingResult, options: argparse.Namespace
) -> None:
    settings = task.settings
    frequent, bag = measure_baselines(
        task.train[:BASELINE_TREES],
        task.test,
        settings["words"],
        settings["classes"],
        5 if options.train else 2,
    )
    answers = classify_roots(model, task.test)
    right = [answer == tree.root.label for answer, tree in zip(answers, task.test)]
    print(
        f"\n{result.updates} updates in {minutes(result.seconds)} of training, "
        f"{result.updates / result.seconds:.0f} a second"
    )
    print(f"right answers at the root of {len(task.test)} held-out trees:")
    print(f"  most frequent answer  {100 * frequent:5.1f} %")
    print(f"  bag of symbols        {100 * bag:5.1f} %")
    print(f"  tree LSTM             {100 * sum(right) / len(right):5.1f} %")
    for depth in range(1, MAX_DEPTH + 1):
        group = [ok for ok, d in zip(right, task.depths) if d == depth]
        if group:
            share = 100 * sum(group) / len(group)
            print(f"    depth {depth}             {share:5.1f} %  ({len(group)} trees)")


def write_graph(model: TreeModel, tree: Tree, file: str) -> None:
    dy.renew_cg()
    model.loss(tree)
    os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
    with open(file, "w", encoding="utf-8") as out:
        out.write(dy.cg().to_dot())


def train_and_report(options: argparse.Namespace) -> None:
    task = Task(options)
    learner = TreeLearner(task)
    model = learner.model
    set_initial_values(model.m, options)
    if not options.quiet:
        print(
            f"{task.settings.task}: {task.settings['words']} words, state {options.hidden}, "
            f"{model.m.parameter_count()} parameters, seed {options.seed}"
        )
    result = train(learner, task.plan, options)
    if learner.can_test:
        if options.model:
            model.m.populate(options.model)  # the best, as it was saved
        print_table(task, model, result, options)
    if task.settings.task == "listops":
        write_graph(model, parse_list("[MAX 3 [MIN 4 5]]").to_tree(), options.dot)
        pictures = draw_all(options.curve, options.dot)
        print("wrote " + ", ".join([options.model, options.curve, options.dot, *pictures]))


def predict_list(model: TreeModel, text: str) -> None:
    expr = parse_list(text)
    answer = classify_roots(model, [expr.to_tree()])[0]
    value = expr.evaluate()
    print(f"{expr} = {answer}, {'right' if answer == value else f'not {value}'}")


def predict(options: argparse.Namespace, texts: list[str]) -> None:
    settings = load_settings(options.model, ["listops", "sentiment"])
    model = TreeModel(settings)
    model.m.populate(options.model)
    for text in texts:
        if settings.task == "listops":
            predict_list(model, text)
            continue
        tree = parse_tree(text, settings["classes"], settings.numbers_of("words"))
        print(f"class {classify_roots(model, [tree])[0]}")


def run(options: argparse.Namespace) -> None:
    trains = not has_saved_model(options)
    makes_lists = hasattr(options, "dot")
    if trains and options.predict and makes_lists:
        parse_list(options.predict)  # a mistake is reported before minutes of training
    if trains:
        train_and_report(options)
    if options.predict:
        predict(options, [options.predict])
    elif makes_lists and not options.quiet:
        print("\nthe saved model, read again:")
        predict(options, ["[MAX 3 [MIN 4 5] 1]", "[SM 7 [MED 2 9 4] 8]"])
        print(f'try your own: {sys.argv[0]} --predict "[SM 4 [MAX 2 7] 5]"')
