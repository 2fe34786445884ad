"""The sentences of bench/paper_models.h, thread_speed.cc and rank_speed.cc, number by number."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "paper" / "twins"))

from corpora import Node, TaggedWord, Tree  # also finds the examples

from data import Random

COUNT = 256
TEXT_WORDS = 10000
TABLE_ROWS = 69500
TAGS = 9


def draw_word(random: Random, words: int) -> int:
    """Half of the words are among the first few hundred."""
    return random.below(300 if random.below(2) == 0 else words)


def tagged() -> list[list[TaggedWord]]:
    """Of 5 to 45 words."""
    random = Random(1)
    sentences = []
    for _ in range(COUNT):
        length = 5 + random.below(41)
        words = [draw_word(random, TABLE_ROWS) for _ in range(length)]
        sentences.append([TaggedWord(word, [], word % TAGS) for word in words])
    return sentences


def text_in_batches(batch: int) -> list[list[int]]:
    """Of 15 to 29 words; the sentences of a batch are alike. Of dynet_thread_speed."""
    random = Random(1)
    sentences: list[list[int]] = []
    length = 0
    for i in range(8 * batch):
        length = 15 + random.below(15) if i % batch == 0 else length
        sentences.append([random.below(TEXT_WORDS) for _ in range(length)])
    return sentences


def text() -> list[list[int]]:
    """Of 20 words. Of dynet_rank_speed."""
    random = Random(1)
    return [[draw_word(random, TEXT_WORDS) for _ in range(20)] for _ in range(COUNT)]


def _append_tree(nodes: list[Node], words: int, random: Random, kinds: int) -> None:
    label = random.below(5)
    if words == 1:
        nodes.append(Node(-1, -1, draw_word(random, kinds), label))
        return
    left = 1 + random.below(words - 1)
    _append_tree(nodes, left, random, kinds)
    left_root = len(nodes) - 1
    _append_tree(nodes, words - left, random, kinds)
    nodes.append(Node(left_root, len(nodes) - 1, 0, label))


def trees(kinds: int, least: int, most: int) -> list[Tree]:
    """Of ``least`` to ``most`` words, of so many kinds."""
    random = Random(1)
    found = []
    for _ in range(COUNT):
        nodes: list[Node] = []
        _append_tree(nodes, least + random.below(most - least + 1), random, kinds)
        found.append(Tree(nodes))
    return found
