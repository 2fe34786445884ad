"""A parser: trees over words, and the columns of the tagger.

For each word, products of two vectors score the other words as its head (Dozat and Manning 2017),
and the relations to this head. The dependent's vector also scores how far away the head is, on
either side. The tree with the best sum of scores is chosen.
"""

from __future__ import annotations

from functools import lru_cache

import _dynet

from ._tree_tagger import TreeTagger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from _dynet import Expression

    from ._tagger import Answers
    from ._tree_tagger import Tree

#: Sizes of the vectors that score heads, and relations.
ARC, RELATION = 200, 64
#: Distances on each side: one for each of 1 to `NEAR`, then one for each doubling.
NEAR, SIDE = 6, 12
ROOT = 2 * SIDE + 1


def distance(head: int, word: int) -> int:
    """From a word to a head as a number: 0 for the word itself, odd to the right, even to the left,
    and `ROOT`."""
    far = abs(head - word)
    far = far if far <= NEAR else min(SIDE, NEAR - 1 + (far // 3).bit_length())
    return ROOT if head == 0 else 2 * far - (head > word)


@lru_cache(maxsize=256)
def distances(words: int) -> list[int]:
    """From each word to the root and to each word."""
    return [distance(head, word) for word in range(1, words + 1) for head in range(words + 1)]


class Read:
    """The vectors of a sentence: of each word as a dependent, batches; of the root and each word as
    a head, a matrix for arcs and a batch for relations."""

    def __init__(self, arcs: Expression, dependents: Expression, heads: Expression) -> None:
        self.arcs = arcs  #: a score for each head, a batch with an example for each word
        self.dependents, self.heads = dependents, heads


class Parser(TreeTagger):
    def add_tree_scorers(self, size: int) -> None:
        self.layers = [
            (self._matrix(n, 2 * size, f"{name}-W"), self._zeros(n, f"{name}-b"))
            for name, n in (
                *(("arc-dependent", ARC), ("arc-head", ARC)),
                *(("relation-dependent", RELATION), ("relation-head", RELATION)),
            )
        ]
        count = len(self.relations)
        self.arc = self._matrix(ARC, ARC, "arc")
        self.arc_bias = self.pc.add_parameters((1, ARC), init=0, name="arc-bias")
        # It begins with zeros: vectors that nobody has trained know no distances.
        self.far = self.pc.add_parameters((ROOT + 1, ARC), init=0, name="distance-W")
        self.far_bias = self._zeros(ROOT + 1, "distance-b")
        self.pairs = self._matrix(count * RELATION, RELATION, "relation")
        self.single = [self._matrix(count, RELATION, f"relation-{i}") for i in range(2)]
        self.relation_bias = self._zeros(count, "relation-bias")

    def views(self, states: list[Expression]) -> Read:
        """From the states of the tagger."""
        n, dropped = len(states), self.dropped
        upper = self.upper_states(states)
        words = dropped(_dynet.concatenate_to_batch(upper))
        heads = dropped(_dynet.concatenate_to_batch([self.root, *upper]))
        d, h, rd, rh = (
            dropped(_dynet.rectify(_dynet.affine_transform([b, W, x])))
            for (W, b), x in zip(self.layers, (words, heads, words, heads))
        )
        D, H = _dynet.reshape(d, (ARC, n), 1), _dynet.reshape(h, (ARC, n + 1), 1)
        bias = _dynet.transpose(self.arc_bias * H)
        arcs = _dynet.colwise_add(_dynet.transpose(H) * (self.arc * D), bias)
        far = _dynet.affine_transform([self.far_bias, self.far, d])
        arcs = _dynet.reshape(arcs, (n + 1,), n) + _dynet.gather(far, distances(n), n + 1)
        return Read(arcs, rd, rh)

    def relation_scores(self, read: Read, heads: list[int]) -> Expression:
        """Scores of the relations to these heads, a batch with an example for each word."""
        of_heads = _dynet.pick_batch_elems(read.heads, heads)
        pairs = _dynet.reshape(
            self.pairs * read.dependents, (len(self.relations), RELATION), len(heads)
        )
        terms = (self.relation_bias, self.single[0], read.dependents, self.single[1], of_heads)
        return pairs * of_heads + _dynet.affine_transform([*terms])

    def tree_loss(self, states: list[Expression], tree: Tree) -> Expression:
        read = self.views(states)
        arcs = _dynet.sequence_loss(read.arcs, tree.heads)
        scores = self.relation_scores(read, tree.heads)
        return arcs + _dynet.sequence_loss(scores, tree.relations)

    def answer(self, forms: list[str]) -> Generator[Any, Any, Answers]:
        states = self.states(self.rows(forms))
        read, scores = self.views(states), self.scores(states)
        yield [read.arcs, *scores]
        heads = self._heads(read, len(forms))
        relations = self.relation_scores(read, heads)
        yield relations
        best = relations.npvalue().reshape(len(self.relations), len(forms)).argmax(0)
        tree = {"head": [str(h) for h in heads], "deprel": self.relations.words(best.tolist())}
        return self._answers(forms, scores) | tree

    def _heads(self, read: Read, words: int) -> list[int]:
        """The best tree."""
        arcs = read.arcs.npvalue().reshape(words + 1, words)
        return _dynet.max_spanning_tree(arcs)
