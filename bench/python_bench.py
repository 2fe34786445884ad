#!/usr/bin/env python3
"""The library's costs from Python: nanoseconds to build a node, updates of the tree LSTM.

``dynet_bench`` runs this with ``--lines`` and prints the rows in its table.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "examples", "python"))

import dynet as dy

from data import Random
from model_file import Settings
from tree_model import TreeModel
from trees import Tree

NODES = 2000


def best_seconds(f: Callable[[], object], round_seconds: float = 0.05) -> float:
    """Least seconds a call of ``f`` takes, of three rounds."""
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            f()
        seconds = time.perf_counter() - start
        if seconds > round_seconds / 2:
            break
        calls *= 2
    best = seconds / calls
    for _ in range(2):
        start = time.perf_counter()
        for _ in range(calls):
            f()
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def build_chain() -> None:
    dy.renew_cg()
    x = dy.inputVector([0.5])
    for _ in range(NODES):
        x = dy.rectify(x)


def build_pairs() -> None:
    dy.renew_cg()
    x = y = dy.inputVector([0.5] * 64)
    for _ in range(NODES // 2):
        x = dy.cmult(x, y)
        y = x + y


def make_trees(count: int) -> list[Tree]:
    """The trees of bench_models.cc."""
    below = Random(1).below

    def append(tree: Tree, words: int) -> int:
        label = below(5)
        if words == 1:
            most = 300 if below(2) == 0 else 18300
            return tree.add_word(below(most), label)
        left_words = 1 + below(words - 1)
        left = append(tree, left_words)
        right = append(tree, words - left_words)
        return tree.add(left, right, label)

    trees = []
    for _ in range(count):
        tree = Tree()
        append(tree, 5 + below(29))
        trees.append(tree)
    return trees


def tree_rows() -> list[tuple[str, float, str, float, str]]:
    trees = make_trees(256)
    words = [str(i) for i in range(18300)]
    model = TreeModel(Settings("trees", {"hidden": 128, "classes": 5}, {"words": words}))
    trainer = dy.AdamTrainer(model.m, 0.001)

    def build() -> None:
        for tree in trees:
            dy.renew_cg()
            model.loss(tree)

    def train() -> None:
        for tree in trees:
            dy.renew_cg()
            loss = model.loss(tree)
            loss.forward()
            loss.backward()
            trainer.update()

    mean_words = sum(len(tree.words) for tree in trees) / len(trees)
    build_us = best_seconds(build, 0.2) / len(trees) * 1e6
    rate = len(trees) / best_seconds(train, 0.5)
    return [
        ("build a tree, builder and losses", build_us, "us/tree", 0, f"{mean_words:.1f} words"),
        ("tree LSTM, 1 an update, batching on", rate, "sentences/s", 0, f"{mean_words:.1f} words"),
    ]


def main() -> None:
    chain = best_seconds(build_chain) / NODES * 1e9
    pairs = best_seconds(build_pairs) / NODES * 1e9
    rows: list[tuple[str, float, str, float, str]] = [
        ("build a node: one argument", chain, "ns/node", 80, "a chain"),
        ("build a node: two arguments", pairs, "ns/node", 80, "{64}"),
        *tree_rows(),
    ]
    for name, value, unit, bound, note in rows:
        if "--lines" in sys.argv:
            print(f"{name}\t{value:.6g}\t{unit}\t{bound:g}\t{note}")
        else:
            print(f"{name:46} {value:10.2f} {unit:12} {note}")


if __name__ == "__main__":
    main()
