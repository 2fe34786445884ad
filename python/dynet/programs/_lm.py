"""A language model: an LSTM reads a line, and scores all words as the next one.

A file has a sentence per line, words between spaces; lines without words do not count. Of a CoNLL-U
file (NAME.conllu) the forms of the words are the lines. A line begins after the end of another
line, and its end is a word too.
"""

from __future__ import annotations

from itertools import chain

import _dynet

from dynet.metrics import Perplexity
from dynet.text import Vocabulary

from ._model import Model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Any

    from _dynet import Expression, ParameterCollection

#: Words at most, unless --vocabulary says another number.
VOCABULARY = 10000


def lines(file: str) -> Iterator[list[str]]:
    if file.endswith(".conllu"):
        return ([word.form for word in sentence.words] for sentence in _dynet.ConlluReader(file))
    return iter(_dynet.PlainReader(file))


class LinesScore(Perplexity):
    """With the number of words that the model does not know, for which it has one probability."""

    def __init__(self) -> None:
        super().__init__()
        self.unknown = 0

    def _take(self, other: Perplexity) -> None:
        assert isinstance(other, LinesScore)
        super()._take(other)
        self.unknown += other.unknown

    def _rows(self) -> list[tuple[str, ...]]:
        (*head, last), (*row, value) = super()._rows()
        return [(*head, "unknown", last), (*row, str(self.unknown), value)]


class LanguageModel(Model):
    KIND = "lm"
    LARGER_IS_BETTER = False

    def __init__(
        self,
        model: ParameterCollection,
        words: Vocabulary,
        length: float,
        size: int = 200,
        dropout: float = 0.33,
    ) -> None:
        """`length`: of the lines of the training set, a mean that counts the ends of lines."""
        super().__init__(model, dropout)
        self.words, self.length, self.size = words, length, size
        self.end = len(words)  # the number of the end of a line
        self.vectors = self.pc.add_lookup_parameters((self.end + 1, size), name="words")
        self.lstm = _dynet.VanillaLSTMBuilder(1, size, size, self.pc)
        self.W = self.pc.add_parameters((self.end + 1, size), name="W")
        self.b = self.pc.add_parameters(self.end + 1, init=0, name="b")

    @classmethod
    def for_data(
        cls,
        model: ParameterCollection,
        sentences: list[list[str]],
        size: int,
        dropout: float,
        vocabulary: int = VOCABULARY,
    ) -> LanguageModel:
        """The words that occur twice or more, at most `vocabulary` of them."""
        words = Vocabulary.from_counts(
            chain.from_iterable(sentences), min_count=2, max_size=vocabulary
        )
        length = sum(map(len, sentences)) / len(sentences) + 1
        return cls(model, words, length, size, dropout)

    @property
    def members(self) -> tuple[object, ...]:
        return (self.words, self.length, self.size, self.dropout)

    @staticmethod
    def read(file: str) -> list[list[str]]:
        """All lines. IoError for a file without words."""
        found = list(lines(file))
        if not found:
            raise _dynet.IoError(f"{file}:1: there are no words; want a sentence on each line")
        return found

    @staticmethod
    def forms(sentence: list[str]) -> list[str]:
        return sentence

    def example(self, sentence: list[str]) -> list[int]:
        return [*self.words.ids(sentence), self.end]

    def line_loss(self, words: list[int]) -> Expression:
        """The sum over the words and the end of a line."""
        xs = _dynet.lookup_sequence(self.vectors, [self.end, *words[:-1]])
        states = self.lstm.initial_state().transduce([self.dropped(x) for x in xs])
        hs = self.dropped(_dynet.concatenate_to_batch(states))
        return _dynet.sequence_loss(_dynet.affine_transform([self.b, self.W, hs]), words)

    def loss(self, example: list[int]) -> Expression:
        """The loss of a line of usual length, so that the mean of all lines is a mean of words."""
        return self.line_loss(example) * (1 / self.length)

    def answer(self, forms: list[str]) -> Generator[Any, Any, float]:
        """The loss of the line."""
        loss: float = yield self.line_loss(self.example(forms))
        return loss

    def write(self, file: str) -> Iterator[str]:
        """For each line the logarithm of its probability, its perplexity and its words."""
        for words, loss in self.tag(lines(file)):
            score = Perplexity()
            score.add(loss, len(words) + 1)
            yield f"{-loss:.4f}\t{score.value:.6g}\t{' '.join(words)}\n"

    def score(self, sentences: list[list[str]]) -> LinesScore:
        found = LinesScore()
        for words, loss in self.tag(sentences):
            found.add(loss, len(words) + 1)
            found.unknown += sum(word not in self.words for word in words)
        return found

    @staticmethod
    def columns(score: LinesScore) -> dict[str, float]:
        return {"perplexity": score.value}

    @staticmethod
    def table(score: LinesScore) -> str:
        return str(score)
