"""The measured rows: models, sizes and modes, with the theoretical work of an item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from twins import corpora

TABLE_WIDTH = 128
TAGS = 9
H, E = 256, 128  # of the language model
TAGGER_H, MLP = 50, 32
CHARACTER_E, CHARACTER_H = 20, 64
TREE_H = 128


def lstm(inputs: int, hidden: int) -> tuple[int, int]:
    """Multiply-adds of a step, and parameters."""
    return 4 * hidden * (inputs + hidden), 4 * hidden * (inputs + hidden + 1)


@dataclass(frozen=True)
class Work:
    """Of a model on its corpus."""

    flops: float  # of training on an item: forward, and twice that backward
    dense: int  # parameters that every update changes
    table: int  # parameters in tables
    items: float  # in a sentence

    def floor(self, gflops: float, adam_seconds: float, sentences: int) -> float:
        """Items a second at 0.75 of the machine's multiply-adds, and one pass of Adam an update."""
        return 1 / (self.flops / (0.75e9 * gflops) + adam_seconds / (sentences * self.items))


@dataclass(frozen=True)
class Model:
    name: str
    corpus: str  # folder
    dev: str  # its file to test on
    program: str  # of ours, in examples
    twin: str  # of PyTorch, before _one_by_one.py
    unit: str
    arguments: tuple[str, ...] = ()  # of our programs
    twin_arguments: tuple[str, ...] = ()
    sentences: tuple[int, ...] = (1, 16, 64)  # an update
    has_sequences: bool = True  # ours is also written with functions of whole sequences

    def files(self, data: Path) -> tuple[str, str]:
        folder = data / self.corpus
        return str(folder / "train.txt"), str(folder / self.dev)

    @cache  # noqa: B019
    def work(self, data: Path) -> Work:
        return WORK[self.name](self.files(data)[0])


def _rnnlm_work(train: str) -> Work:
    text = corpora.read_text(train, None)
    step, parameters = lstm(E, H)
    words = sum(map(len, text.train))
    return Work(
        6 * (step + H * text.words),
        parameters + (H + 1) * text.words,
        E * text.words,
        words / len(text.train),
    )


def _tagger_work(train: str, spells: bool) -> Work:
    tagging = corpora.read_tagging(train, None)
    words = sum(map(len, tagging.train))
    step, parameters = lstm(TABLE_WIDTH, TAGGER_H)
    flops = 6 * (2 * step + MLP * 2 * TAGGER_H + TAGS * MLP)
    dense = 2 * parameters + MLP * 2 * TAGGER_H + TAGS * MLP
    table = corpora.TABLE_ROWS * TABLE_WIDTH
    if spells:
        characters = sum(len(word.characters) for s in tagging.train for word in s)
        step, parameters = lstm(CHARACTER_E, CHARACTER_H)
        flops += 6 * 2 * step * characters / words
        dense += 2 * parameters
        table += tagging.characters * CHARACTER_E
    return Work(flops, dense, table, words / len(tagging.train))


def _tree_work(train: str) -> Work:
    trees = corpora.read_trees(train, None)
    nodes = sum(len(tree.nodes) for tree in trees.train)
    words = (nodes + len(trees.train)) / 2
    square = TREE_H * TREE_H
    flops = 6 * (words * 3 * square + (nodes - words) * 8 * square + nodes * 5 * TREE_H)
    return Work(
        flops / len(trees.train),
        (9 + 2) * square + 4 * TREE_H + 5 * TREE_H,
        trees.words * TREE_H,
        1.0,
    )


WORK = {
    "rnnlm": _rnnlm_work,
    "tagger": lambda train: _tagger_work(train, False),
    "characters": lambda train: _tagger_work(train, True),
    "trees": _tree_work,
}

_ROWS = ("--rows", str(corpora.TABLE_ROWS))
MODELS = [
    Model("rnnlm", "text", "valid.txt", "rnnlm", "rnnlm", "words", sentences=(1, 4, 16, 64)),
    Model("tagger", "tags", "dev.txt", "tagger", "tagger", "words", _ROWS),
    Model(
        "characters",
        "tags",
        "dev.txt",
        "tagger",
        "tagger",
        "words",
        (*_ROWS, "--characters"),
        ("--characters",),
    ),
    Model("trees", "trees", "dev.txt", "sentiment", "tree_lstm", "sentences", has_sequences=False),
]


@dataclass(frozen=True)
class Row:
    model: Model
    sentences: int
    mode: str  # of the tables: sparse, exact or dense

    @property
    def name(self) -> str:
        return f"{self.model.name} n{self.sentences} {self.mode}"

    def systems(self) -> list[str]:
        """The measured programs. PyTorch's programs are dense and have no exact mode."""
        ours = ["cpp", "python"]
        if self.mode == "sparse":
            ours = ["cpp", "cpp-off", "python"]
            ours += ["cpp-seq"] if self.model.has_sequences else []
        return [*ours, "torch-one", "torch-hand"] if self.mode != "exact" else ours


def all_rows(complete: bool) -> list[Row]:
    """Every row. Dense rows, which cost minutes, only if the paper has them or with
    ``complete``."""
    rows = []
    for model in MODELS:
        for n in model.sentences:
            for mode in ("sparse", "exact", "dense"):
                if mode != "dense" or complete or n == 1 or model.name == "rnnlm":
                    rows.append(Row(model, n, mode))
    return rows


# Shares of the floor at which a row is done: sparse and exact, by sentences an update.
DONE = {
    "rnnlm": {1: 0.60, 4: 0.65, 16: 0.75, 64: 0.75},
    "tagger": {1: 0.40, 16: 0.40, 64: 0.40},
    "characters": {1: 0.40, 16: 0.40, 64: 0.40},
    "trees": {1: 0.60, 16: 0.50, 64: 0.50},
}
