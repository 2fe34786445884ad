"""Weights and inputs of the programs of plain.py, and how a program is timed.

Both systems read the same numbers, so that the losses they print have to agree.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

SIZE, ROWS, TAGS, CLASSES, EXAMPLES = 64, 24, 6, 5, 64


@dataclass
class Node:
    """Of a tree: a word, a class, and one to four children or none."""

    word: int
    label: int
    children: list[Node] = field(default_factory=list)


@dataclass
class Sentence:
    """Words, and the words of its translation or the tags."""

    words: list[int]
    to: list[int]


def _lstm(name: str, inputs: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for gate in "ifuo":
        shapes[f"{name}W{gate}"] = (SIZE, inputs)
        shapes[f"{name}U{gate}"] = (SIZE, SIZE)
        shapes[f"{name}b{gate}"] = (SIZE,)
    return shapes


BOTH = {"words": (ROWS, SIZE), **_lstm("left", SIZE), **_lstm("right", SIZE)}
SHAPES: dict[str, dict[str, tuple[int, ...]]] = {
    "child-sum": {"words": (ROWS, SIZE), **_lstm("", SIZE), "O": (CLASSES, SIZE), "o": (CLASSES,)},
    "crf": {**BOTH, "T": (TAGS, TAGS), "O": (TAGS, 2 * SIZE), "o": (TAGS,)},
    "translator": {
        **BOTH,
        **_lstm("to", 3 * SIZE),
        "targets": (ROWS, SIZE),
        "K": (SIZE, 2 * SIZE),
        "Q": (SIZE, SIZE),
        "v": (1, SIZE),
        "O": (ROWS, 3 * SIZE),
        "o": (ROWS,),
    },
}


def weights(model: str) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(1)
    return {
        name: draw.uniform(-0.2, 0.2, shape).astype(np.float32)
        for name, shape in SHAPES[model].items()
    }


def _tree(draw: random.Random, depth: int) -> Node:
    children = draw.randint(1, 4) if depth != 0 and draw.random() < 0.9 else 0
    return Node(
        draw.randrange(ROWS),
        draw.randrange(CLASSES),
        [_tree(draw, depth - 1) for _ in range(children)],
    )


def inputs(model: str) -> list:
    draw = random.Random(1)
    if model == "child-sum":
        return [_tree(draw, 3) for _ in range(EXAMPLES)]
    sentences = []
    for _ in range(EXAMPLES):
        words = [draw.randrange(ROWS) for _ in range(draw.randint(5, 20))]
        if model == "crf":
            to = [draw.randrange(TAGS) for _ in words]
        else:
            to = [draw.randrange(ROWS) for _ in range(draw.randint(5, 20))]
        sentences.append(Sentence(words, to))
    return sentences


def report(
    name: str, examples: list, minibatch: int, run: Callable[[list], float], seconds: float
) -> None:
    """Prints the rate of the best pass over the examples and the sum of their losses."""
    best = float("inf")
    end = time.process_time() + seconds
    while best == float("inf") or time.process_time() < end:
        start = time.process_time()
        loss = sum(run(examples[k : k + minibatch]) for k in range(0, len(examples), minibatch))
        best = min(best, time.process_time() - start)
    print(f"{name:34} {len(examples) / best:9.0f} examples/s, loss {loss:.2f}", flush=True)
