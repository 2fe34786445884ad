"""The part of most models that reads words: rows of a table, and two LSTMs over a sentence."""

from __future__ import annotations

from itertools import chain

import _dynet

from dynet import BiRNNBuilder

from ._features import Features
from ._model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from _dynet import Expression, ParameterCollection


class Example:
    """A sentence of the training set as numbers: rows of the table, and a list of labels for each
    column of answers."""

    def __init__(self, rows: list[list[int]], labels: list[list[int]]) -> None:
        self.rows, self.labels = rows, labels


class Reader(Model):
    """Vectors of words, from their features and from the words around."""

    def __init__(
        self,
        model: ParameterCollection,
        words: Features,
        length: float,
        size: int,
        embedding: int,
        dropout: float,
    ) -> None:
        """`length`: of the sentences of the training set, a mean."""
        super().__init__(model, dropout)
        self.words, self.length = words, length
        self.size, self.embedding = size, embedding
        self.width = embedding * len(words.slots)
        self.vectors = self.pc.add_lookup_parameters((words.size, embedding), name="features")
        self.reader = BiRNNBuilder(1, self.width, 2 * size, self.pc, _dynet.VanillaLSTMBuilder)
        self._rows: dict[str, list[int]] = {}  # of forms seen before

    @classmethod
    def words_and_length(cls, sentences: list[Any]) -> tuple[Features, float]:
        """Of a training set, for a new model."""
        forms = [cls.forms(s) for s in sentences]
        return Features(chain.from_iterable(forms)), sum(map(len, forms)) / len(forms)

    def mean(self, loss: Expression) -> Expression:
        """The loss of a sentence of usual length, from a sum over words, so that the mean of all
        sentences is a mean of words."""
        return loss * (1 / self.length)

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
