"""The best dependency tree of a matrix of scores (Chu and Liu 1965, Edmonds 1967)."""

from __future__ import annotations

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]
    Heads = NDArray[np.intp]


def best_tree(scores: Scores) -> list[int]:
    """The head of each word, 0 for the root, of the tree with the largest sum of scores among the
    trees with one word at the root.

    ``scores[h, d]`` is the score of head h for word d, from 1; row 0 is the root's. A sentence of n
    words takes n³ steps at most, and n² if the best heads are a tree.
    """
    table = np.array(scores, np.float64)
    np.fill_diagonal(table, -np.inf)
    table[:, 0] = -np.inf
    heads = table.argmax(0)
    if (heads[1:] == 0).sum() != 1 or _cycle(heads):
        # So much is lost by each word at the root that the best tree has one of them.
        finite = table[np.isfinite(table)]
        table[0, 1:] -= len(table) * (finite.max() - finite.min() + 1)
        heads = _edmonds(table)
    return [int(h) for h in heads[1:]]


def _cycle(heads: Heads) -> list[int]:
    """The nodes of a cycle; empty if every path ends at the root."""
    state = [0] * len(heads)  # the number of the path that came by
    state[0] = -1
    for start in range(1, len(heads)):
        node = start
        while state[node] == 0:
            state[node] = start
            node = int(heads[node])
        if state[node] == start:
            cycle = [node]
            while heads[cycle[-1]] != node:
                cycle.append(int(heads[cycle[-1]]))
            return cycle
    return []


def _edmonds(table: Scores) -> Heads:
    """Heads of all nodes; the head of the root has no meaning. A cycle becomes one node, the last
    of a smaller table, whose best tree says where the cycle is cut."""
    levels = []  # a list, because a sentence may have more cycles in cycles than Python has frames
    heads: Heads = table.argmax(0)
    while cycle := _cycle(heads):
        rest = [i for i in range(len(table)) if i not in cycle]
        into = table[np.ix_(rest, cycle)] - table[heads[cycle], cycle]
        out = table[np.ix_(cycle, rest)]
        levels.append((heads, cycle, rest, into.argmax(1), out.argmax(0)))
        size = len(rest)
        small = np.full((size + 1, size + 1), -np.inf)
        small[:size, :size] = table[np.ix_(rest, rest)]
        small[:size, size], small[size, :size] = into.max(1), out.max(0)
        small[:, 0] = -np.inf
        table, heads = small, small.argmax(0)
    for upper, cycle, rest, cut, best in reversed(levels):
        size = len(rest)
        for i in range(1, size):
            inside = heads[i] == size
            upper[rest[i]] = cycle[best[i]] if inside else rest[heads[i]]
        head = heads[size]
        upper[cycle[cut[head]]] = rest[head]
        heads = upper
    return heads
