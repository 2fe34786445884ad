"""The work of the program: reads, trains, tests, and names the class of a tree."""

from __future__ import annotations

import argparse

from model_file import Settings, load_settings
from options import has_saved_model
from training import TrainingPlan, set_initial_values, train
from tree_learner import TreeLearner, classify_roots
from tree_model import TreeModel
from trees import parse_tree, read_tree_file

CLASSES = 5


def train_and_report(options: argparse.Namespace) -> None:
    trees, words = read_tree_file(options.train, CLASSES)
    dev = read_tree_file(options.dev, CLASSES, words)[0] if options.dev else []
    numbers = {"hidden": options.hidden, "classes": CLASSES}
    settings = Settings("sentiment", numbers, {"words": list(words)})
    model = TreeModel(settings)
    learner = TreeLearner(settings, model, trees, dev, options.seed, options.minibatch)
    set_initial_values(model.m, options)
    if not options.quiet:
        print(
            f"sentiment: {settings['words']} words, state {options.hidden}, "
            f"{model.m.parameter_count()} parameters, {options.minibatch} trees an update"
        )
    train(learner, TrainingPlan("trees", learner.updates_an_epoch), options)


def predict(options: argparse.Namespace) -> None:
    settings = load_settings(options.model, "sentiment")
    model = TreeModel(settings)
    model.m.populate(options.model)
    tree = parse_tree(options.predict, settings["classes"], settings.numbers_of("words"))
    print(f"class {classify_roots(model, [tree])[0]}")


def run(options: argparse.Namespace) -> None:
    if not has_saved_model(options):
        train_and_report(options)
    if options.predict:
        predict(options)
