"""The corpora as numbers, read and ordered as our own programs do: with their readers, their
vocabularies, the same sentences in each update."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[3] / "examples" / "python"))

from data import Minibatches, Vocabulary
from sentences import RawSentence, most_frequent, read_tagged_file, read_text_file, words_seen
from trees import Tree, read_tree_file

CLASSES = 5  # of a node of a tree
TABLE_ROWS = 69500  # word types of the paper's tagging corpus; ours has fewer
KNOWN_FROM = 5  # words seen less often are unknown, or spelled
TEXT_WORDS = 10000  # of the language model, with the unknown word and the end mark
END = 1  # the end mark's number; a sentence starts with the one before it


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
    train = read_tagged_file(train_file)
    dev = read_tagged_file(dev_file) if dev_file else []
    words = Vocabulary(["<unk>", *words_seen(train, KNOWN_FROM)])
    types = dict.fromkeys(word for sentence in train for word in sentence.words)
    characters = Vocabulary()
    for word in types:
        for character in word:
            characters.number(character)
    characters.freeze()
    tags: dict[str, int] = {}

    def numbered(sentence: RawSentence) -> list[TaggedWord]:
        result = []
        for word, tag in zip(sentence.words, sentence.tags):
            number = words.number(word)
            spelled = [] if number else [characters.number(c) for c in word]
            result.append(TaggedWord(number, spelled, tags.setdefault(tag, len(tags))))
        return result

    numbered_train = [numbered(sentence) for sentence in train]
    tag_count = len(tags)
    return Tagging(numbered_train, list(map(numbered, dev)), tag_count, len(characters.words))


@dataclass
class Text:
    """Sentences of words, ``END`` the last of each."""

    train: list[list[int]]
    dev: list[list[int]]
    words: int


def read_text(train_file: str, dev_file: str | None) -> Text:
    train = read_text_file(train_file)
    dev = read_text_file(dev_file) if dev_file else []
    marks = ["<unk>", "<s>"]
    frequent = [word for word in most_frequent(train, TEXT_WORDS) if word not in marks]
    words = Vocabulary(marks + frequent[: TEXT_WORDS - len(marks)])

    def numbered(sentences: list[RawSentence]) -> list[list[int]]:
        return [[*map(words.number, sentence.words), END] for sentence in sentences]

    return Text(numbered(train), numbered(dev), len(words.words))


@dataclass
class Trees:
    train: list[Tree]
    dev: list[Tree]
    words: int


def read_trees(train_file: str, dev_file: str | None) -> Trees:
    words = Vocabulary()
    train = read_tree_file(train_file, words, CLASSES)
    words.freeze()
    dev = read_tree_file(dev_file, words, CLASSES) if dev_file else []
    return Trees(train, dev, len(words.words))


def shuffled(sentences: list, count: int, seed: int) -> Iterator[list]:
    """Groups of ``count`` for ever: each pass over the corpus in a new order, its last group what
    is left."""
    order = Minibatches(seed, len(sentences), count)
    while True:
        yield [sentences[i] for i in order.next()]


def shuffled_by_length(sentences: list, count: int, seed: int) -> Iterator[list]:
    """Groups of ``count`` sentences of like length, the groups in a new order in each pass."""
    ordered = sorted(sentences, key=len, reverse=True)
    groups = [ordered[first : first + count] for first in range(0, len(ordered), count)]
    for chosen in shuffled(groups, 1, seed):
        yield chosen[0]
