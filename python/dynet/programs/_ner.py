"""A tagger of names: a conditional random field over the tags of a sentence in columns.

The first column of a file has the words, the last one the tags, as in CoNLL-2003.
"""

from __future__ import annotations

from itertools import islice

import _dynet

from dynet.metrics import SpanF1, spans
from dynet.text import Vocabulary

from ._features import Features
from ._reader import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from _dynet import ColumnSentence, Expression, ParameterCollection

#: Sentences whose graphs are computed together.
TOGETHER = 64


class Names:
    """A sentence of the training set as numbers."""

    def __init__(self, rows: list[list[int]], tags: list[int]) -> None:
        self.rows, self.tags = rows, tags


class Ner(Reader):
    def __init__(
        self,
        model: ParameterCollection,
        words: Features,
        tags: Vocabulary,
        follows: list[tuple[int, int]],
        width: int,
        size: int = 200,
        embedding: int = 32,
        dropout: float = 0.33,
    ) -> None:
        """`follows`: pairs of tags that may follow each other. `width`: columns of the files."""
        super().__init__(model, words, size, embedding, dropout)
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
        forms = Features(form for s in sentences for form in s.words)
        width = len(sentences[0].columns)
        return cls(model, forms, tags, follows, width, size, dropout=dropout)

    @property
    def spec(self) -> tuple[object, ...]:
        return (
            *(self.words, self.tags, self.follows, self.columns_read),
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

    def example(self, sentence: ColumnSentence) -> Names:
        return Names(self.rows(sentence.words), self.tags.ids(sentence.columns[-1]))

    def scores(self, rows: list[list[int]], dropout: float = 0.0) -> Expression:
        """A column for each word."""
        hs = _dynet.concatenate_cols(self.states(rows, dropout))
        if dropout:
            hs = _dynet.dropout(hs, dropout)
        return _dynet.colwise_add(self.W * hs, self.b)

    def loss(self, example: Names) -> Expression:
        scores = self.scores(example.rows, self.dropout)
        return self.crf.neg_log_likelihood(scores, example.tags) * (1 / len(example.rows))

    def answers(
        self, sentences: Iterable[ColumnSentence]
    ) -> Iterator[tuple[ColumnSentence, list[str]]]:
        """Sentences with their tags."""
        source = iter(sentences)
        while group := list(islice(source, TOGETHER)):
            with _dynet.no_grad():
                _dynet.renew_cg()
                scores = [self.scores(self.rows(s.words)) for s in group]
                _dynet.forward(scores)
                found = [self.tags.words(self.crf.viterbi(x)[0]) for x in scores]
            yield from zip(group, found)

    def write(self, file: str) -> Iterator[str]:
        """The sentences of a file with the tags in the last column, which a file of words need not
        have."""
        for sentence, tags in self.answers(_dynet.ColumnReader(file, columns=0)):
            kept = sentence.columns
            if len(kept) == self.columns_read:
                kept = kept[:-1]
            if sentence.starts_document:
                yield " ".join(["-DOCSTART-", *["-X-"] * (len(kept) - 1), "O"]) + "\n\n"
            yield "".join(" ".join(line) + "\n" for line in zip(*kept, tags)) + "\n"

    def score(self, sentences: list[ColumnSentence]) -> SpanF1:
        found = SpanF1()
        for sentence, tags in self.answers(sentences):
            found.add(sentence.columns[-1], tags)
        return found

    @staticmethod
    def columns(score: SpanF1) -> dict[str, float]:
        return {"F1": score.value}

    @staticmethod
    def table(score: SpanF1) -> str:
        return str(score)
