"""ListOps: nested lists whose value is a digit, and the trees that a model sees of them.

    [MAX 3 [MIN 4 5] 1]    the largest of 3, 4 and 1: 4

MIN, MAX, MED (the lower median) and SM (the sum modulo 10) over digits and lists. As a binary tree
a list branches to the left: its operator is a word, and each argument is joined to what stands
before it, ``(((MAX 3) ((MIN 4) 5)) 1)``, so every node has a value of its own: that of the operator
over the arguments read so far. That value is its label. Operators have no label. No closing symbol
is needed: a list ends where the node that joins it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from data import DataError, Random
from trees import Tree, TreeNode

DIGITS = 10
OPS = ["MIN", "MAX", "MED", "SM"]
WORDS = [str(digit) for digit in range(DIGITS)] + OPS
MAX_DEPTH = 4
_MAX_NESTING = 200  # a list nested deeper is refused: the functions below recurse
_LIST_PERCENT = 30  # of 100 arguments that may be lists, so many are


def _median(values: Sequence[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]


_VALUE_OF: list[Callable[[Sequence[int]], int]] = [
    min,
    max,
    _median,
    lambda values: sum(values) % DIGITS,
]


@dataclass
class ListExpr:
    """A digit (``op < 0``), or an operator over at least one argument."""

    op: int = -1
    digit: int = 0
    args: list[ListExpr] = field(default_factory=list)

    def evaluate(self) -> int:
        if self.op < 0:
            return self.digit
        return _VALUE_OF[self.op]([arg.evaluate() for arg in self.args])

    def depth(self) -> int:
        if self.op < 0:
            return 0
        return 1 + max(arg.depth() for arg in self.args)

    def __str__(self) -> str:
        if self.op < 0:
            return str(self.digit)
        return f"[{OPS[self.op]} {' '.join(map(str, self.args))}]"

    def to_tree(self) -> Tree:
        nodes: list[TreeNode] = []
        _append(self, nodes)
        return Tree(nodes)


def _append(expr: ListExpr, nodes: list[TreeNode]) -> int:
    """Appends the nodes of ``expr``; the last one stands for it. Returns its label."""
    if expr.op < 0:
        nodes.append(TreeNode(-1, -1, expr.digit, expr.digit))
        return expr.digit
    nodes.append(TreeNode(-1, -1, DIGITS + expr.op, -1))
    so_far = len(nodes) - 1
    values: list[int] = []
    label = -1
    for arg in expr.args:
        values.append(_append(arg, nodes))
        label = _VALUE_OF[expr.op](values)
        nodes.append(TreeNode(so_far, len(nodes) - 1, 0, label))
        so_far = len(nodes) - 1
    return label


class ListOpsGenerator:
    """An endless supply of lists with 2 to 4 arguments and a depth of 1 to 4, each depth as
    frequent as the others. The same seed gives the same lists in C++ and in Python."""

    def __init__(self, seed: int) -> None:
        self._below = Random(seed).below

    def next(self, depth: int = 0) -> ListExpr:
        """Of this depth or, where it is 0, of any."""
        return self._list(depth or 1 + self._below(MAX_DEPTH))

    def _list(self, depth: int) -> ListExpr:
        """Of exactly this depth: one argument, drawn, is of depth - 1, the others up to it."""
        op = self._below(len(OPS))
        count = 2 + self._below(3)
        deep = self._below(count)
        args = [
            self._list(depth - 1) if i == deep and depth > 1 else self._argument(depth - 1)
            for i in range(count)
        ]
        return ListExpr(op=op, args=args)

    def _argument(self, max_depth: int) -> ListExpr:
        if max_depth > 0 and self._below(100) < _LIST_PERCENT:
            return self._list(1 + self._below(max_depth))
        return ListExpr(digit=self._below(DIGITS))


_CLOSES = {"[": "]", "(": ")", "": "]"}


class _ListParser:
    def __init__(self, text: str) -> None:
        self.tokens = [
            (token.start(), token.group())
            for token in re.finditer(r"[\[\](),]|[^\s\[\](),]+", text)
        ]
        self.tokens = [(at, token.upper()) for at, token in self.tokens if token != ","]
        self.tokens.append((len(text), ""))
        self.next = 0

    def fail(self, at: int, reason: str) -> DataError:
        return DataError("expression", 1, at + 1, reason)

    def parse(self) -> ListExpr:
        expr = self.argument(0)
        at, token = self.tokens[self.next]
        if token in ("]", ")"):
            raise self.fail(at, "a closing bracket too many")
        if token:
            raise self.fail(at, "text after the end of the list")
        return expr

    def argument(self, nesting: int) -> ListExpr:
        start, token = self.tokens[self.next]
        if nesting > _MAX_NESTING:
            raise self.fail(start, f"nested deeper than {_MAX_NESTING} lists")
        if not token:
            raise self.fail(start, "want a digit or a list, as in [MAX 3 [MIN 4 5]]")
        if token in ("]", ")"):
            raise self.fail(start, "a closing bracket where a digit or a list is wanted")
        bracket = token if token in ("[", "(") else ""
        if bracket:
            self.next += 1
        at, word = self.tokens[self.next]
        if word in OPS:
            self.next += 1
            return self.rest_of_list(ListExpr(op=OPS.index(word)), bracket, start, nesting)
        if bracket:
            raise self.fail(at, "want an operator after the bracket: MIN, MAX, MED or SM")
        if len(word) == 1 and word in "0123456789":
            self.next += 1
            return ListExpr(digit=int(word))
        raise self.fail(at, f"'{word}' is neither a digit from 0 to 9 nor MIN, MAX, MED or SM")

    def rest_of_list(self, expr: ListExpr, bracket: str, start: int, nesting: int) -> ListExpr:
        where = f"{OPS[expr.op]} at column {start + 1}"
        while self.tokens[self.next][1] not in ("", "]", ")"):
            expr.args.append(self.argument(nesting + 1))
        at, token = self.tokens[self.next]
        if not token and bracket:
            raise self.fail(at, f"the list {where} is not closed")
        if not expr.args:
            raise self.fail(at, f"the list {where} has no arguments")
        if not token:
            return expr
        if token != _CLOSES[bracket]:
            raise self.fail(at, f"the list {where} is closed by the other kind of bracket")
        self.next += 1
        return expr


def parse_list(text: str) -> ListExpr:
    """Reads a list, or a digit.

    Lists are written ``[MAX 3 4]`` or ``(MAX 3 4)``, or without the opening bracket,
    ``MAX 3 4 ]``; a list without one may also end with the text. Throws DataError with the column.
    """
    return _ListParser(text).parse()
