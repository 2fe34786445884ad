"""The corpora as numbers, in the order in which our own programs see them: the same vocabularies,
the same sentences in each update. Read without DyNet, which these programs do not need."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[3] / "examples" / "python"))

from data import minibatches

CLASSES = 5  # of a node of a tree
TABLE_ROWS = 69500  # word types of the paper's tagging corpus; ours has fewer
KNOWN_FROM = 5  # words seen less often are unknown, or spelled
TEXT_WORDS = 10000  # of the language model, with the unknown word and the end mark
END = 1  # the end mark's number; a sentence starts with the one before it


_WORD = re.compile(r"[^ \t-\r]+")  # ASCII: a no-break space is part of a word
_BRACKET_OR_WORD = re.compile(r"[()]|[^() \t-\r]+")


def _lines(file: str) -> list[str]:
    """The lines that are not blank."""
    with open(file, encoding="utf-8", newline="\n") as text:
        return [line for line in text if _WORD.search(line)]


def _sentences(file: str) -> list[list[str]]:
    return [_WORD.findall(line) for line in _lines(file)]


def _numbers(words: Iterable[str], start: Iterable[str] = ("<unk>",)) -> dict[str, int]:
    """By the order in which they are first seen; 0 is for words that are not there."""
    return {word: i for i, word in enumerate(dict.fromkeys([*start, *words]))}


class TaggedWord(NamedTuple):
    word: int  # 0: rare
    characters: list[int]  # of a rare word, 0 for one not seen in training; else empty
    tag: int


@dataclass
class Tagging:
    train: list[list[TaggedWord]]
    dev: list[list[TaggedWord]]
    tags: int
    characters: int


def read_tagging(train_file: str, dev_file: str | None) -> Tagging:
    def read(file: str) -> list[list[tuple[str, str]]]:
        return [
            [(w, tag) for w, _, tag in (x.rpartition("|") for x in s)] for s in _sentences(file)
        ]

    train, dev = read(train_file), read(dev_file) if dev_file else []
    counts = Counter(word for sentence in train for word, _ in sentence)
    words = _numbers(word for word, times in counts.items() if times >= KNOWN_FROM)
    characters = _numbers(character for word in counts for character in word)
    tags = _numbers((tag for sentence in train for _, tag in sentence), start=())
    count = len(tags)

    def numbered(sentence: list[tuple[str, str]]) -> list[TaggedWord]:
        result = []
        for word, tag in sentence:
            number = words.get(word, 0)
            spelled = [] if number else [characters.get(c, 0) for c in word]
            result.append(TaggedWord(number, spelled, tags.setdefault(tag, len(tags))))
        return result

    return Tagging(list(map(numbered, train)), list(map(numbered, dev)), count, len(characters))


@dataclass
class Text:
    """Sentences of words, ``END`` the last of each."""

    train: list[list[int]]
    dev: list[list[int]]
    words: int


def read_text(train_file: str, dev_file: str | None) -> Text:
    train, dev = _sentences(train_file), _sentences(dev_file) if dev_file else []
    marks = ["<unk>", "<s>"]
    counts = Counter(word for sentence in train for word in sentence)
    kept = set(sorted(counts, key=counts.__getitem__, reverse=True)[:TEXT_WORDS])
    frequent = [word for word in counts if word in kept and word not in marks]
    words = _numbers(frequent[: TEXT_WORDS - len(marks)], start=marks)

    def numbered(sentences: list[list[str]]) -> list[list[int]]:
        return [[*(words.get(word, 0) for word in s), END] for s in sentences]

    return Text(numbered(train), numbered(dev), len(words))


class Node(NamedTuple):
    """A word, if ``left`` is below 0, or a node over two earlier nodes of its tree."""

    left: int
    right: int
    symbol: int
    label: int


@dataclass
class Tree:
    nodes: list[Node]


@dataclass
class Trees:
    train: list[Tree]
    dev: list[Tree]
    words: int


def _tree(line: str, words: dict[str, int], grows: bool) -> Tree:
    """``(3 (2 It) (4 works))``: a label, then a word or two trees."""
    nodes: list[Node] = []
    open_nodes: list[list] = []  # label, then a word or the places of nodes
    for token in _BRACKET_OR_WORD.findall(line):
        if token == "(":
            open_nodes.append([])
        elif token != ")":
            open_nodes[-1].append(token)
        else:
            label, *parts = open_nodes.pop()
            if len(parts) == 1:
                number = words.setdefault(parts[0], len(words)) if grows else words.get(parts[0], 0)
                nodes.append(Node(-1, -1, number, int(label)))
            else:
                left, right = parts
                nodes.append(Node(left, right, 0, int(label)))
            if open_nodes:
                open_nodes[-1].append(len(nodes) - 1)
    return Tree(nodes)


def read_trees(train_file: str, dev_file: str | None) -> Trees:
    words = _numbers([])
    train = [_tree(line, words, True) for line in _lines(train_file)]
    dev = [_tree(line, words, False) for line in _lines(dev_file)] if dev_file else []
    return Trees(train, dev, len(words))


def shuffled(sentences: list, count: int, seed: int) -> Iterator[list]:
    """Endless groups of ``count``: each pass over the corpus has a new order, and may end with a
    smaller group."""
    return minibatches(seed, sentences, count)


def shuffled_by_length(sentences: list, count: int, seed: int) -> Iterator[list]:
    """Groups of ``count`` sentences of like length, the groups in a new order in each pass."""
    ordered = sorted(sentences, key=len, reverse=True)
    groups = [ordered[first : first + count] for first in range(0, len(ordered), count)]
    for chosen in shuffled(groups, 1, seed):
        yield chosen[0]
