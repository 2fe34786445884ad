"""The work of the program: makes lists, trains, tests against the baselines, writes files, and
computes the value of a list."""

from __future__ import annotations

import argparse
import os
import sys

import dynet as dy

from baseline import measure_baselines
from draw_curves import draw_all
from listops_data import DIGITS, MAX_DEPTH, WORDS, ListOpsGenerator, parse_list
from model_file import Settings, load_settings
from options import has_saved_model
from progress import minutes
from training import ScoreKind, TrainingPlan, TrainingResult, set_initial_values, train
from tree_learner import TreeLearner, classify_roots
from tree_model import TreeModel
from trees import Tree

BASELINE_TREES = 20000


class ListLearner(TreeLearner):
    score_kind = ScoreKind("root accuracy", is_share=True)


def make_lists(lists: ListOpsGenerator, depth: int, count: int, known: set[str]) -> list[Tree]:
    """Trees of lists that are not known yet, of this depth, or of any depth if it is 0."""
    trees: list[Tree] = []
    while len(trees) < count:
        expr = lists.next(depth)
        if str(expr) not in known:
            known.add(str(expr))
            trees.append(expr.to_tree())
    return trees


def make_learner(options: argparse.Namespace) -> ListLearner:
    # No list is trained on that is tested on: all are different.
    lists = ListOpsGenerator(options.seed)
    known: set[str] = set()
    tests: list[Tree] = []  # as many of each depth
    for depth in range(1, MAX_DEPTH + 1):
        tests += make_lists(lists, depth, options.test_trees // MAX_DEPTH, known)
    examples = make_lists(lists, 0, options.updates * options.minibatch, known)
    settings = Settings("listops", {"hidden": options.hidden, "classes": DIGITS}, {"words": WORDS})
    model = TreeModel(settings)
    return ListLearner(settings, model, examples, tests, options.seed, options.minibatch)


def print_table(learner: ListLearner, result: TrainingResult) -> None:
    tests = learner.dev
    frequent, bag = measure_baselines(
        learner.train[:BASELINE_TREES], tests, len(WORDS), DIGITS, passes=2
    )
    answers = classify_roots(learner.model, tests)
    right = [answer == tree.labels[-1] for answer, tree in zip(answers, tests)]
    print(
        f"\n{result.updates} updates in {minutes(result.seconds)} of training, "
        f"{result.updates / result.seconds:.0f} a second"
    )
    print(f"right answers at the root of {len(tests)} held-out lists:")
    print(f"  most frequent answer  {100 * frequent:5.1f} %")
    print(f"  bag of symbols        {100 * bag:5.1f} %")
    print(f"  tree LSTM             {100 * sum(right) / len(right):5.1f} %")
    of_depth = len(tests) // MAX_DEPTH
    for depth in range(1, MAX_DEPTH + 1):
        share = sum(right[(depth - 1) * of_depth : depth * of_depth]) / of_depth
        print(f"    depth {depth}             {100 * share:5.1f} %")


def write_graph(model: TreeModel, file: str) -> None:
    dy.renew_cg()
    model.loss(parse_list("[MAX 3 [MIN 4 5]]").to_tree())
    with open(file, "w", encoding="utf-8") as out:
        out.write(dy.cg().to_dot())


def train_and_report(options: argparse.Namespace) -> None:
    learner = make_learner(options)
    model = learner.model
    set_initial_values(model.m, options)
    if not options.quiet:
        print(
            f"listops: state {options.hidden}, {model.m.parameter_count()} parameters, "
            f"seed {options.seed}"
        )
    # The tests choose nothing here: the held-out lists also measure the saved model.
    plan = TrainingPlan("trees", learner.updates_an_epoch, lowers_rate=True, keeps_best=False)
    print_table(learner, train(learner, plan, options))
    dot = os.path.join(options.out, "graph.dot")
    write_graph(model, dot)
    pictures = draw_all(options.curve, dot)
    print("wrote " + ", ".join([options.model, options.curve, dot, *pictures]))


def predict(options: argparse.Namespace, texts: list[str]) -> None:
    settings = load_settings(options.model, "listops")
    model = TreeModel(settings)
    model.m.populate(options.model)
    for text in texts:
        expr = parse_list(text)
        answer = classify_roots(model, [expr.to_tree()])[0]
        value = expr.evaluate()
        print(f"{expr} = {answer}, {'right' if answer == value else f'not {value}'}")


def run(options: argparse.Namespace) -> None:
    if options.predict:
        parse_list(options.predict)  # a mistake is reported before minutes of training
    if not has_saved_model(options):
        train_and_report(options)
    if options.predict:
        predict(options, [options.predict])
    elif not options.quiet:
        print("\nthe saved model, read again:")
        predict(options, ["[MAX 3 [MIN 4 5] 1]", "[SM 7 [MED 2 9 4] 8]"])
        print(f'try your own: {sys.argv[0]} --predict "[SM 4 [MAX 2 7] 5]"')
