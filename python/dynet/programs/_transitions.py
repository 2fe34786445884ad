"""A parser that reads a sentence from left to right, and builds its tree by actions on a stack.

The vectors of three words on the stack and of the next word score the actions (Kiperwasser and
Goldberg 2016).
"""

from __future__ import annotations

from itertools import chain

import _dynet

from dynet import run_together

from ._actions import LEFT, Configuration, actions_of
from ._tree_tagger import TreeTagger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    import numpy as np
    from _dynet import Expression

    from ._tagger import Answers
    from ._tree_tagger import Tree

#: Size of the vector that scores actions, and the number of words that it sees.
HIDDEN, SEEN = 200, 4


class TransitionParser(TreeTagger):
    def add_tree_scorers(self, size: int) -> None:
        self.nothing = self.pc.add_parameters(2 * size, name="nothing")
        self.layers = [self._matrix(HIDDEN, 2 * size, f"seen-{i}") for i in range(SEEN)]
        self.bias = self._zeros(HIDDEN, "seen-b")
        count = LEFT + 2 * len(self.relations)
        self.W, self.b = self._matrix(count, HIDDEN, "action-W"), self._zeros(count, "action-b")

    def views(self, sentences: list[list[Expression]]) -> list[Expression]:
        """For each place in `seen` a batch: no word, then the root and the words of each sentence,
        in the part that they add to the vector of a step."""
        vectors = chain.from_iterable((self.root, *self.upper_states(s)) for s in sentences)
        xs = self.dropped(_dynet.concatenate_to_batch([self.nothing, *vectors]))
        return [layer * xs for layer in self.layers]

    def action_scores(self, views: list[Expression], places: Iterable[list[int]]) -> Expression:
        """A batch with an example for each step."""
        columns = zip(*places)
        parts = [_dynet.pick_batch_elems(v, list(some)) for v, some in zip(views, columns)]
        hidden = self.dropped(_dynet.rectify(_dynet.esum(parts) + self.bias))
        return _dynet.affine_transform([self.b, self.W, hidden])

    def tree_loss(self, states: list[Expression], tree: Tree) -> Expression:
        seen, actions = actions_of(tree.heads, tree.relations)
        places = ([word + 1 for word in some] for some in seen)
        return _dynet.sequence_loss(self.action_scores(self.views([states]), places), actions)

    def answer(self, forms: list[str]) -> Generator[Any, Any, Answers]:
        (answers,) = yield from self._answers_of([forms])
        return answers

    def answers(self, forms: list[list[str]]) -> list[Answers]:
        """One task for all: their actions are scored by one product."""
        return run_together([self._answers_of(forms)])[0]

    def _answers_of(self, forms: list[list[str]]) -> Generator[Any, Any, list[Answers]]:
        states = [self.states(self.rows(some)) for some in forms]
        scores = [self.scores(some) for some in states]
        yield list(chain.from_iterable(scores))
        found = []
        trees = yield from self._trees(states)
        for some, columns, tree in zip(forms, scores, trees):
            labels = self.relations.words(tree.relations[1:])
            heads = {"head": [str(h) for h in tree.heads[1:]], "deprel": labels}
            found.append(self._answers(some, columns) | heads)
        return found

    def _trees(self, sentences: list[list[Expression]]) -> Generator[Any, Any, list[Configuration]]:
        """The best action at each step, of all sentences together."""
        views = self.views(sentences)
        trees = [Configuration(len(states)) for states in sentences]
        starts = [1]  # of each sentence in the views
        for states in sentences:
            starts.append(starts[-1] + len(states) + 1)
        while open_ones := [i for i, tree in enumerate(trees) if not tree.is_complete]:
            places = ([_place(w, starts[i]) for w in trees[i].seen()] for i in open_ones)
            scores = self.action_scores(views, places)
            yield scores
            by_sentence = scores.npvalue().reshape(-1, len(open_ones)).T
            for i, column in zip(open_ones, by_sentence):
                trees[i].take(_best(column, trees[i].allowed()))
        return trees


def _place(word: int, start: int) -> int:
    return 0 if word < 0 else start + word


def _best(scores: np.ndarray, kinds: list[int]) -> int:
    """The allowed action with the best score."""
    best = [kind if kind < LEFT else kind + 2 * int(scores[kind::2].argmax()) for kind in kinds]
    return max(best, key=lambda action: scores[action])
