"""A tagger: universal tags, the treebank's own tags, features and lemmas of words.

Two LSTMs read the features of the words from both ends. A matrix for each column scores the
answers; lemmas are edits of forms (`_edits.py`).
"""

from __future__ import annotations

import os
import tempfile
from itertools import chain

import _dynet

from dynet.metrics import ConlluScores
from dynet.text import Vocabulary, with_columns

from ._edits import apply, edit
from ._files import write_file
from ._reader import Example, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

    import numpy as np
    from _dynet import ConlluSentence, Expression, ParameterCollection

    from ._features import Features

    Answers = dict[str, list[str]]

COLUMNS = ("upos", "xpos", "feats", "lemma")


def answers_of(sentence: ConlluSentence) -> Answers:
    """The gold answers of each column; lemmas as edits."""
    words = sentence.words
    answers: Answers = {c: [getattr(w, c) for w in words] for c in ("upos", "xpos", "feats")}
    answers["lemma"] = [edit(w.form, w.lemma) for w in words]
    return answers


class Tagger(Reader):
    """`known`: the answers of each column."""

    KIND = "tagger"
    #: Columns of `ConlluScores`.
    FILLED: tuple[str, ...] = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")

    def __init__(
        self,
        model: ParameterCollection,
        words: Features,
        known: list[Vocabulary],
        length: float,
        size: int = 200,
        embedding: int = 32,
        dropout: float = 0.33,
    ) -> None:
        super().__init__(model, words, length, size, embedding, dropout)
        self.known = known
        self.scorers = [
            (
                self.pc.add_parameters((len(some), 2 * size), name=f"{column}-W"),
                self.pc.add_parameters(len(some), init=0, name=f"{column}-b"),
            )
            for column, some in zip(COLUMNS, known)
        ]

    @classmethod
    def for_data(
        cls, model: ParameterCollection, sentences: list[ConlluSentence], size: int, dropout: float
    ) -> Tagger:
        """A model for the forms and the answers of a training set."""
        words, length = cls.words_and_length(sentences)
        return cls(model, words, cls.known_of(sentences), length, size, dropout=dropout)

    @classmethod
    def known_of(cls, sentences: list[ConlluSentence]) -> list[Vocabulary]:
        """The answers of each column."""
        seen = [answers_of(s) for s in sentences]
        return [
            Vocabulary.from_counts(chain.from_iterable(one[column] for one in seen), unknown=None)
            for column in COLUMNS
        ]

    @property
    def members(self) -> tuple[object, ...]:
        return (self.words, self.known, self.length, self.size, self.embedding, self.dropout)

    @classmethod
    def read(cls, file: str) -> list[ConlluSentence]:
        """All sentences. IoError for a file without any."""
        found = list(_dynet.ConlluReader(file))
        if not found:
            raise _dynet.IoError(f"{file}:1: there are no sentences; want CoNLL-U")
        return found

    def example(self, sentence: ConlluSentence) -> Example:
        answers = answers_of(sentence)
        labels = [some.ids(answers[column]) for column, some in zip(COLUMNS, self.known)]
        return Example(self.rows(self.forms(sentence)), labels)

    def scores(self, states: list[Expression]) -> list[Expression]:
        """For each column the scores of all answers, a batch with an example for each word."""
        hs = self.dropped(_dynet.concatenate_to_batch(states))
        return [_dynet.affine_transform([b, W, hs]) for W, b in self.scorers]

    def loss(self, example: Example) -> Expression:
        """Of all columns."""
        return self.mean(self.columns_loss(self.states(example.rows), example))

    def columns_loss(self, states: list[Expression], example: Example) -> Expression:
        """The sum over the words."""
        scores = self.scores(states)
        return _dynet.esum(
            [_dynet.sequence_loss(s, some) for s, some in zip(scores, example.labels)]
        )

    @staticmethod
    def forms(sentence: ConlluSentence) -> list[str]:
        return [w.form for w in sentence.words]

    def answer(self, forms: list[str]) -> Generator[Any, Any, Answers]:
        """Of each column."""
        scores = self.scores(self.states(self.rows(forms)))
        yield scores
        return self._answers(forms, scores)

    def _answers(self, forms: list[str], scores: list[Expression]) -> Answers:
        answers: Answers = {column: [] for column in COLUMNS}
        for column, some, table in zip(COLUMNS, self.known, scores):
            by_word = table.npvalue().reshape(len(some), len(forms)).T
            if column == "lemma":
                answers[column] = [self._lemma(f, row) for f, row in zip(forms, by_word)]
            else:
                answers[column] = some.words(by_word.argmax(1).tolist())
        return answers

    def _lemma(self, form: str, scores: np.ndarray) -> str:
        """By the best edit that the form is long enough for."""
        edits = self.known[COLUMNS.index("lemma")]
        best = apply(edits.word(int(scores.argmax())), form)
        if best is None:
            lemmas = (apply(edits.word(int(i)), form) for i in (-scores).argsort())
            best = next((lemma for lemma in lemmas if lemma is not None), form)
        return best

    def write(self, file: str) -> Iterator[str]:
        """The sentences of a file with the answers."""
        for sentence, answers in self.tag(_dynet.ConlluReader(file)):
            yield with_columns(sentence, **answers)

    def score(self, sentences: list[ConlluSentence]) -> ConlluScores:
        scores = ConlluScores(several_roots=True)
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("gold", "answered")]
            for file, answered in zip(files, (((s, {}) for s in sentences), self.tag(sentences))):
                write_file(file, (self._text(s, answers) for s, answers in answered))
            scores.add(*files)
        return scores

    def _text(self, sentence: ConlluSentence, answers: Answers) -> str:
        """Heads do not count: a treebank of tags may have none."""
        return with_columns(sentence, **answers, head=[0] * len(sentence.words))

    @classmethod
    def columns(cls, scores: ConlluScores) -> dict[str, float]:
        """The numbers that a training prints."""
        return {name: 100 * scores.columns[name].value for name in cls.FILLED}

    @classmethod
    def table(cls, scores: ConlluScores) -> str:
        head, *lines = str(scores).splitlines()
        return "\n".join([head, *(line for line in lines if line.split()[0] in cls.FILLED)])
