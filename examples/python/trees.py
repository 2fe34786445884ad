"""Binary trees with a label at each node, of bracketed trees as the library's reader gives them:

    (3 (2 It) (4 (2 's) (4 fun)))      one tree a line: a label, then a word or two subtrees

Nodes have numbers: children stand before their parent, and the root is the last.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field

from data import DataError, check_not_blank


@dataclass
class Tree:
    """A list for each property of nodes, instead of an object for each node: a training reads all
    nodes once an epoch, so they should lie close together."""

    left: list[int] = field(default_factory=list)  # -1: a word
    right: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)  # from left to right
    labelled: list[int] = field(default_factory=list)  # nodes with a label; the root is one
    labels: list[int] = field(default_factory=list)  # theirs

    def add_word(self, number: int, label: int | None) -> int:
        """The number of the new node."""
        self.words.append(number)
        return self.add(-1, -1, label)

    def add(self, left: int, right: int, label: int | None) -> int:
        """A node over two others; its number."""
        node = len(self.left)
        self.left.append(left)
        self.right.append(right)
        if label is not None:
            self.labelled.append(node)
            self.labels.append(label)
        return node


def _binary(read: list[tuple[str, list[int]]], classes: int, number: Callable[[str], int]) -> Tree:
    """A node over a word alone becomes that word. ValueError names the mistake."""
    tree = Tree()
    places: list[int] = []  # in ``tree``, of the nodes that were read; -1 for their words
    for label, children in read:
        places.append(-1)
        if not children:
            continue
        if not (label.isascii() and label.isdigit() and int(label) < classes):
            raise ValueError(f"label {label} is out of range; want one below {classes}")
        below = [places[child] for child in children]
        if len(below) == 1 and below[0] < 0 and not read[children[0]][1]:
            places[-1] = tree.add_word(number(read[children[0]][0]), int(label))
        elif len(below) == 2 and min(below) >= 0:
            places[-1] = tree.add(below[0], below[1], int(label))
        else:
            raise ValueError("want a word or two subtrees in a node")
    return tree


def read_tree_file(
    file: str, classes: int, words: dict[str, int] | None = None
) -> tuple[list[Tree], dict[str, int]]:
    """All trees of a file, blank lines left out, and the numbers of their words. Words that are not
    in ``words`` are unknown; without it all are new. Labels must be below ``classes``. DataError,
    and the IoError of the library, name the line."""
    import dynet as dy  # late: programs that only generate lists need no dynet

    numbers = {"<unk>": 0} if words is None else words

    def number(word: str) -> int:
        return numbers.get(word, 0) if words else numbers.setdefault(word, len(numbers))

    trees = []
    reader = dy.TreeReader(file, one_per_line=True)
    for tree in reader:
        try:
            trees.append(_binary(tree.nodes, classes, number))
        except ValueError as error:
            raise DataError(file, reader.line, 1, str(error)) from None
    return check_not_blank(file, trees), numbers


def parse_tree(text: str, classes: int, words: dict[str, int]) -> Tree:
    """One tree, with the words of a vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "expression")
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        return read_tree_file(file, classes, words)[0][0]
