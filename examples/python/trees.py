"""Binary trees with a label at each node, and the reader of bracketed ones.

    (3 (2 It) (4 (2 's) (4 fun)))      one tree a line: a label, then a word or two subtrees

A tree is a flat list of nodes in which children stand before their parent; the root is the last.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import NamedTuple


class TreeNode(NamedTuple):
    """A word (``left < 0``) or a node over two earlier ones."""

    left: int
    right: int
    symbol: int
    label: int  # class, or -1: no loss here


@dataclass
class Tree:
    nodes: list[TreeNode]

    @property
    def root(self) -> TreeNode:
        return self.nodes[-1]


class TreeError(ValueError):
    """Text that is not a tree; ``line`` and ``column`` count from 1."""

    def __init__(self, file: str, line: int, column: int, reason: str) -> None:
        super().__init__(f"{file}:{line}:{column}: {reason}")
        self.line = line
        self.column = column


class Vocabulary:
    """Numbers words in the order in which they are first seen; 0 is ``<unk>``."""

    def __init__(self, words: list[str] | None = None) -> None:
        self.words = words or ["<unk>"]
        self._numbers = {word: i for i, word in enumerate(self.words)}
        self._is_frozen = False

    def freeze(self) -> None:
        self._is_frozen = True

    def number(self, word: str) -> int:
        found = self._numbers.get(word)
        if found is not None:
            return found
        if self._is_frozen:
            return 0
        self._numbers[word] = len(self.words)
        self.words.append(word)
        return len(self.words) - 1


# Space is ASCII: a no-break space is part of a word.
_SPACE = " \t\r\n"
_TOKEN = re.compile(rf"\([{_SPACE}]*([^{_SPACE}()]*)|\)|[^{_SPACE}()]+")


@dataclass
class _Open:
    """A bracket that is not closed yet."""

    at: int
    label: int
    parts: list[int]
    symbol: int = -1


class _Parser:
    def __init__(
        self, text: str, vocabulary: Vocabulary, classes: int, file: str, line: int
    ) -> None:
        self.text = text
        self.vocabulary = vocabulary
        self.classes = classes
        self.place = (file, line)
        self.stack: list[_Open] = []
        self.nodes: list[TreeNode] = []

    def fail(self, at: int, reason: str) -> TreeError:
        return TreeError(*self.place, at + 1, reason)

    def parse(self) -> Tree:
        text = self.text.rstrip(_SPACE)
        start = len(text) - len(text.lstrip(_SPACE))
        if not text.startswith("(", start):
            raise self.fail(start, "want a tree: '(', a label, then a word or two subtrees")
        for token in _TOKEN.finditer(text, start):
            at = token.start()
            if not self.stack and at != start:
                raise self.fail(at, "text after the end of the tree")
            if text[at] == "(":
                self.open(at, token)
            elif text[at] == ")":
                self.close(at)
            else:
                self.word(at, token.group())
        if self.stack:
            column = self.stack[-1].at + 1
            raise self.fail(len(text), f"the tree ends before the '(' at column {column} is closed")
        return Tree(self.nodes)

    def open(self, at: int, token: re.Match[str]) -> None:
        if self.stack and self.stack[-1].symbol >= 0:
            raise self.fail(at, "a subtree beside a word")
        if self.stack and len(self.stack[-1].parts) == 2:
            raise self.fail(at, "a third subtree; a node has a word or two subtrees")
        label = token.group(1)
        if not re.fullmatch("[0-9]{1,6}", label):
            reason = f"want a label after '(', a number below {self.classes}"
            raise self.fail(token.start(1), reason)
        if int(label) >= self.classes:
            reason = f"label {int(label)} is out of range; want one below {self.classes}"
            raise self.fail(token.start(1), reason)
        self.stack.append(_Open(at, int(label), []))

    def word(self, at: int, word: str) -> None:
        top = self.stack[-1]
        if top.symbol >= 0 or top.parts:
            raise self.fail(
                at, "a word beside a word or a subtree; a node has a word or two subtrees"
            )
        top.symbol = self.vocabulary.number(word)

    def close(self, at: int) -> None:
        top = self.stack[-1]
        if top.symbol < 0 and len(top.parts) != 2:
            what = "a node with one subtree; want" if top.parts else "a node without"
            raise self.fail(at, what + " a word or two subtrees")
        left, right = top.parts or (-1, -1)
        self.nodes.append(TreeNode(left, right, max(top.symbol, 0), top.label))
        self.stack.pop()
        if self.stack:
            self.stack[-1].parts.append(len(self.nodes) - 1)


def parse_tree(
    text: str, vocabulary: Vocabulary, classes: int, file: str = "tree", line: int = 1
) -> Tree:
    """One tree from one line. Throws TreeError; labels must be below ``classes``."""
    return _Parser(text, vocabulary, classes, file, line).parse()


def read_tree_file(file: str, vocabulary: Vocabulary, classes: int) -> list[Tree]:
    """All trees of a file, skipping empty lines."""
    with open(file, encoding="utf-8", newline="\n") as lines:
        trees = [
            parse_tree(text, vocabulary, classes, file, line)
            for line, text in enumerate(lines, 1)
            if text.strip(_SPACE)
        ]
    if not trees:
        raise TreeError(file, 1, 1, "no tree in this file")
    return trees


class Random:
    """Random integers that are the same in C++ and in Python.

    The words of mt19937, seeded as ``std::mt19937`` is, scaled by a multiplication. (Python's own
    ``seed`` fills the state in another way.)
    """

    def __init__(self, seed: int) -> None:
        state = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            before = state[-1]
            state.append((1812433253 * (before ^ (before >> 30)) + i) & 0xFFFFFFFF)
        engine = random.Random()
        engine.setstate((3, (*state, 624), None))
        self._bits = engine.getrandbits

    def below(self, n: int) -> int:
        """In [0, n): the upper half of a word times n."""
        return (self._bits(32) * n) >> 32


def random_order(n: int, source: Random) -> list[int]:
    """A random order of [0, n) (Fisher and Yates, from the back)."""
    order = list(range(n))
    for i in range(n, 1, -1):
        j = source.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
