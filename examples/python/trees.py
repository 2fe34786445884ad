"""Binary trees with a label at each node, and the reader of bracketed ones.

    (3 (2 It) (4 (2 's) (4 fun)))      one tree a line: a label, then a word or two subtrees

A tree is a flat list of nodes in which children stand before their parent; the root is the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from data import SPACE, DataError, Vocabulary, numbered_lines


class TreeNode:
    """A word (``left < 0``) or a node over two earlier ones. Slots, because a training reads each
    node several times an epoch: they are read in less than half the time of a named tuple."""

    __slots__ = ("label", "left", "right", "symbol")

    def __init__(self, left: int, right: int, symbol: int, label: int) -> None:
        self.left = left
        self.right = right
        self.symbol = symbol
        self.label = label  # class, or -1: no loss here


@dataclass
class Tree:
    nodes: list[TreeNode]

    @property
    def root(self) -> TreeNode:
        return self.nodes[-1]


_TOKEN = re.compile(rf"\([{SPACE}]*([^{SPACE}()]*)|\)|[^{SPACE}()]+")


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

    def fail(self, at: int, reason: str) -> DataError:
        return DataError(*self.place, at + 1, reason)

    def parse(self) -> Tree:
        text = self.text.rstrip(SPACE)
        start = len(text) - len(text.lstrip(SPACE))
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
    """One tree from one line. Throws DataError; labels must be below ``classes``."""
    return _Parser(text, vocabulary, classes, file, line).parse()


def read_tree_file(file: str, vocabulary: Vocabulary, classes: int) -> list[Tree]:
    """All trees of a file, blank lines left out. Throws DataError, also where there are none."""
    return [
        parse_tree(text, vocabulary, classes, file, line) for line, text in numbered_lines(file)
    ]
