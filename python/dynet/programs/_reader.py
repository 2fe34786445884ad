"""The part of most models that reads words: rows of a table, and two LSTMs over a sentence."""

from __future__ import annotations

from itertools import chain

import _dynet

from dynet import BiRNNBuilder

from ._model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _dynet import Expression, ParameterCollection

    from ._features import Features


class Example:
    """A sentence of the training set as numbers: rows of the table, and a list of labels for each
    column of answers."""

    def __init__(self, rows: list[list[int]], labels: list[list[int]]) -> None:
        self.rows, self.labels = rows, labels


class Reader(Model):
    """Vectors of words, from their features and from the words around."""

    def __init__(
        self, model: ParameterCollection, words: Features, size: int, embedding: int, dropout: float
    ) -> None:
        super().__init__(model, dropout)
        self.words = words
        self.size, self.embedding = size, embedding
        self.width = embedding * len(words.slots)
        self.vectors = self.pc.add_lookup_parameters((words.size, embedding), name="features")
        self.reader = BiRNNBuilder(1, self.width, 2 * size, self.pc, _dynet.VanillaLSTMBuilder)
        self._rows: dict[str, list[int]] = {}  # of forms seen before

    def rows(self, forms: list[str]) -> list[list[int]]:
        """Rows of the table for each word."""
        known = self._rows
        for form in forms:
            if form not in known:
                known[form] = self.words.rows(form)
        return [known[form] for form in forms]

    def states(self, rows: list[list[int]]) -> list[Expression]:
        """The outputs of both LSTMs at each word."""
        looked_up = _dynet.lookup_batch(self.vectors, list(chain.from_iterable(rows)))
        xs = self.dropped(_dynet.reshape(looked_up, (self.width,), len(rows)))
        return self.reader.transduce([_dynet.pick_batch_elem(xs, i) for i in range(len(rows))])
