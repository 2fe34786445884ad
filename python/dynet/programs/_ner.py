"""A tagger of names: a conditional random field over the tags of a sentence in columns.

The first column of a file has the words, the last one the tags, as in CoNLL-2003.
"""

from __future__ import annotations

import _dynet

from dynet.metrics import SpanF1, spans
from dynet.text import Vocabulary

from ._reader import Example, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

    from _dynet import ColumnSentence, Expression, ParameterCollection

    from ._features import Features


class Ner(Reader):
    KIND = "ner"

    def __init__(
        self,
        model: ParameterCollection,
        words: Features,
        tags: Vocabulary,
        follows: list[tuple[int, int]],
        width: int,
        length: float,
        size: int = 200,
        embedding: int = 32,
        dropout: float = 0.33,
    ) -> None:
        """`follows`: pairs of tags that may follow each other. `width`: columns of the files."""
        super().__init__(model, words, length, size, embedding, dropout)
        self.tags, self.follows, self.columns_read = tags, follows, width
        self.W = self.pc.add_parameters((len(tags), 2 * size), name="W")
        self.b = self.pc.add_parameters(len(tags), init=0, name="b")
        self.crf = _dynet.CRFBuilder(len(tags), self.pc)
        allowed = set(follows)
        for one in range(len(tags)):
            for other in range(len(tags)):
                if (one, other) not in allowed:
                    self.crf.forbid(one, other)

    @classmethod
    def for_data(
        cls, model: ParameterCollection, sentences: list[ColumnSentence], size: int, dropout: float
    ) -> Ner:
        """Tags of one phrase, such as I-PER, follow its other tags as they do in the training set;
        all other pairs are free."""
        tags = Vocabulary.from_counts((t for s in sentences for t in s.columns[-1]), unknown=None)
        seen = {p for s in sentences for p in zip(s.columns[-1], s.columns[-1][1:])}
        follows = [
            (tags[a], tags[b])
            for a in tags
            for b in tags
            if (a, b) in seen or not b.startswith(("I-", "E-"))
        ]
        words, length = cls.words_and_length(sentences)
        width = len(sentences[0].columns)
        return cls(model, words, tags, follows, width, length, size, dropout=dropout)

    @property
    def members(self) -> tuple[object, ...]:
        return (
            *(self.words, self.tags, self.follows, self.columns_read, self.length),
            *(self.size, self.embedding, self.dropout),
        )

    @staticmethod
    def read(file: str) -> list[ColumnSentence]:
        """All sentences. IoError for a file without any, or with other tags than those of spans."""
        found = list(_dynet.ColumnReader(file, columns=0))
        if not found or len(found[0].columns) < 2:
            raise _dynet.IoError(f"{file}:1: there are no tags; want lines of a word and its tag")
        for number, sentence in enumerate(found, 1):
            try:
                spans(sentence.columns[-1])
            except _dynet.ValueError as error:
                raise _dynet.IoError(f"{file}: sentence {number}: {error}") from None
        return found

    @staticmethod
    def forms(sentence: ColumnSentence) -> list[str]:
        return sentence.words

    def example(self, sentence: ColumnSentence) -> Example:
        return Example(self.rows(sentence.words), [self.tags.ids(sentence.columns[-1])])

    def scores(self, rows: list[list[int]]) -> Expression:
        """A column for each word."""
        hs = self.dropped(_dynet.concatenate_cols(self.states(rows)))
        return _dynet.colwise_add(self.W * hs, self.b)

    def loss(self, example: Example) -> Expression:
        scores, (tags,) = self.scores(example.rows), example.labels
        return self.mean(self.crf.neg_log_likelihood(scores, tags))

    def answer(self, forms: list[str]) -> Generator[Any, Any, list[str]]:
        """The tags."""
        scores = self.scores(self.rows(forms))
        yield scores
        return self.tags.words(self.crf.viterbi(scores)[0])

    def write(self, file: str) -> Iterator[str]:
        """The sentences of a file with the tags in the last column, which a file of words need not
        have."""
        for sentence, tags in self.tag(_dynet.ColumnReader(file, columns=0)):
            kept = sentence.columns
            if len(kept) == self.columns_read:
                kept = kept[:-1]
            if sentence.starts_document:
                yield " ".join(["-DOCSTART-", *["-X-"] * (len(kept) - 1), "O"]) + "\n\n"
            yield "".join(" ".join(line) + "\n" for line in zip(*kept, tags)) + "\n"

    def score(self, sentences: list[ColumnSentence]) -> SpanF1:
        found = SpanF1()
        for sentence, tags in self.tag(sentences):
            found.add(sentence.columns[-1], tags)
        return found

    @staticmethod
    def columns(score: SpanF1) -> dict[str, float]:
        return {"F1": 100 * score.value}

    @staticmethod
    def table(score: SpanF1) -> str:
        return str(score)
