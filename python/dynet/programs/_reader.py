"""The part of all models that reads words: rows of a table, and two LSTMs over a sentence."""

from __future__ import annotations

from itertools import chain, islice

import _dynet

from dynet import BiRNNBuilder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, TypeVar

    from _dynet import Expression, ParameterCollection

    from ._features import Features

    Own = TypeVar("Own", bound="Reader")

#: Sentences whose graphs are computed together.
TOGETHER = 64


class Example:
    """A sentence of the training set as numbers: rows of the table, and a list of labels for each
    column of answers."""

    def __init__(self, rows: list[list[int]], labels: list[list[int]]) -> None:
        self.rows, self.labels = rows, labels


class Reader:
    """Parameters, and the features of words that give them a meaning; `dynet.save` writes both.

    A program's model adds: `read`, the sentences of a file; `for_data`, `example` and `loss` for
    its training; `forms` and `answers` for new sentences; `write`, the texts of answered sentences;
    `score`, `columns` and `table` for its quality.
    """

    def __init__(
        self, model: ParameterCollection, words: Features, size: int, embedding: int, dropout: float
    ) -> None:
        self.words = words
        self.size, self.embedding, self.dropout = size, embedding, dropout
        self.pc = model.add_subcollection(type(self).__name__.lower())
        self.width = embedding * len(words.slots)
        self.vectors = self.pc.add_lookup_parameters((words.size, embedding), name="features")
        self.reader = BiRNNBuilder(1, self.width, 2 * size, self.pc, _dynet.VanillaLSTMBuilder)
        self._rows: dict[str, list[int]] = {}  # of forms seen before

    @classmethod
    def from_spec(cls: type[Own], spec: tuple[Any, ...], model: ParameterCollection) -> Own:
        return cls(model, *spec)

    def param_collection(self) -> ParameterCollection:
        return self.pc

    def rows(self, forms: list[str]) -> list[list[int]]:
        """Rows of the table for each word."""
        known = self._rows
        for form in forms:
            if form not in known:
                known[form] = self.words.rows(form)
        return [known[form] for form in forms]

    def dropped(self, x: Expression) -> Expression:
        return _dynet.dropout(x, self.dropout) if self.dropout else x

    def states(self, rows: list[list[int]]) -> list[Expression]:
        """The outputs of both LSTMs at each word."""
        looked_up = _dynet.lookup_batch(self.vectors, list(chain.from_iterable(rows)))
        xs = self.dropped(_dynet.reshape(looked_up, (self.width,), len(rows)))
        return self.reader.transduce([_dynet.pick_batch_elem(xs, i) for i in range(len(rows))])

    @staticmethod
    def forms(sentence: Any) -> list[str]:
        """The words of a sentence."""
        raise NotImplementedError

    def answers(self, forms: list[list[str]]) -> list[Any]:
        """Of several sentences, computed together."""
        raise NotImplementedError

    def tag(self, sentences: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Sentences with their answers, without dropout."""
        source = iter(sentences)
        while group := list(islice(source, TOGETHER)):
            with _dynet.no_grad(), _dynet.evaluating():
                _dynet.renew_cg()
                answers = self.answers([self.forms(s) for s in group])
            yield from zip(group, answers)
