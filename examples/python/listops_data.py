"""ListOps: nested lists whose value is a digit, and their trees for a model.

    [MAX 3 [MIN 4 5] 1]    the largest of 3, 4 and 1: 4

MIN, MAX, MED (the lower median) and SM (the sum modulo 10) over digits and lists. As a binary tree
a list branches to the left: its operator is a word, and each argument is joined to the tree before
it, ``(((MAX 3) ((MIN 4) 5)) 1)``. So every node has a label: the value of the operator over the
arguments read so far, such as 3 for ``(MAX 3)``. Operators have no label. No closing symbol is
needed: a list ends where the node that joins it begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from data import DataError, Random
from trees import Tree

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
        tree = Tree()
        _append(self, tree)
        return tree


def _append(expr: ListExpr, tree: Tree) -> int:
    """Appends the nodes of ``expr``; returns the number of the one that stands for it, the last."""
    if expr.op < 0:
        return tree.add_word(expr.digit, expr.digit)
    so_far = tree.add_word(DIGITS + expr.op, None)
    values: list[int] = []
    for arg in expr.args:
        node = _append(arg, tree)
        values.append(tree.labels[-1])
        so_far = tree.add(so_far, node, _VALUE_OF[expr.op](values))
    return so_far


class ListOpsGenerator:
    """An endless supply of lists with 2 to 4 arguments and a depth of 1 to 4, each depth as
    frequent as the others. The same seed gives the same lists in C++ and in Python."""

    def __init__(self, seed: int) -> None:
        self._below = Random(seed).below

    def next(self, depth: int = 0) -> ListExpr:
        """A list of this depth, or of any depth if it is 0."""
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


_CLOSES = {"[": "]", "(": ")"}


class _ListParser:
    def __init__(self, text: str) -> None:
        found = re.finditer(r"[\[\]()]|[^\s\[\]()]+", text)
        self.tokens = [(token.start(), token.group()) for token in found]
        self.tokens.append((len(text), ""))
        self.next = 0

    def fail(self, at: int, reason: str) -> DataError:
        return DataError("list", 1, at + 1, reason)

    def take(self) -> tuple[int, str]:
        self.next += 1
        return self.tokens[self.next - 1]

    def parse(self) -> ListExpr:
        at, opening = self.tokens[0]
        if opening not in _CLOSES:
            raise self.fail(at, "want a list, as [MAX 3 [MIN 4 5]]")
        allowed = (opening, _CLOSES[opening])
        for at, token in self.tokens:
            if token in "[]()" and token not in (*allowed, ""):
                raise self.fail(at, "the other kind of bracket")
        expr = self.argument(0)
        at, token = self.take()
        if token:
            raise self.fail(at, "text after the end of the list")
        return expr

    def argument(self, nesting: int) -> ListExpr:
        """A digit, or a list."""
        at, token = self.take()
        if nesting > _MAX_NESTING:
            raise self.fail(at, f"nested deeper than {_MAX_NESTING} lists")
        if token in WORDS[:DIGITS]:
            return ListExpr(digit=int(token))
        operator_at, operator = self.take() if token in _CLOSES else (at, "")
        if operator not in OPS:
            raise self.fail(operator_at, "want a digit, or MIN, MAX, MED or SM after a [")
        expr = ListExpr(op=OPS.index(operator))
        while self.tokens[self.next][1] not in ("", _CLOSES[token]):
            expr.args.append(self.argument(nesting + 1))
        end, closing = self.take()
        where = f"{operator} at column {at + 1}"
        if not closing:
            raise self.fail(end, f"the list {where} is not closed")
        if not expr.args:
            raise self.fail(end, f"the list {where} has no arguments")
        return expr


def parse_list(text: str) -> ListExpr:
    """Reads a list, ``[MAX 3 4]`` or ``(MAX 3 4)``, as C++ does. DataError with the column."""
    return _ListParser(text).parse()
