"""Words and their numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Vocabulary:
    """Words with ids 0, 1, 2, ..., which never change. Unknown words have the id of `unknown`, or
    are a `KeyError` if there is none.

    A vocabulary is plain data: it can be pickled, compared, and be a part of a `spec`, so that
    `dy.save` writes it into the file of the model. `dy.Dict` grows while words are read, and is the
    class of DyNet 2.1.

    >>> tags = Vocabulary(["NOUN", "VERB"])
    >>> tags.ids(["VERB", "NOUN"]), tags.words([1])
    ([1, 0], ['VERB'])
    """

    def __init__(self, words: Iterable[str], unknown: str | None = None) -> None:
        self._words = list(words)
        self._ids: dict[str, int] = {}
        for i, word in enumerate(self._words):
            if not isinstance(word, str):
                raise _dynet.TypeError(f"Vocabulary: words[{i}] is {word!r}; want a text")
            if self._ids.setdefault(word, i) != i:
                raise _dynet.ValueError(
                    f"Vocabulary: words[{i}] is {word!r}, and so is words[{self._ids[word]}]; want "
                    "each word once"
                )
        if unknown is not None and unknown not in self._ids:
            raise _dynet.ValueError(
                f"Vocabulary: unknown={unknown!r} is not among the {len(self._words)} words"
            )
        self.unknown = unknown  #: the word that unknown words count as, or None

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int] | Iterable[str],
        *,
        min_count: int = 1,
        max_size: int | None = None,
        unknown: str | None = "<unk>",
        first: Iterable[str] = (),
    ) -> Vocabulary:
        """The words that occur `min_count` times or more, frequent words first, as
        `AdaptiveSoftmaxBuilder` wants them. Words of equal counts keep their order.

        `counts` are words, or a `Counter`. Ids begin with `unknown`, if it is not None, and the
        words of `first`, such as ``["<s>", "</s>"]``; `max_size` counts all words.
        """
        if isinstance(counts, str):
            raise _dynet.TypeError(
                "Vocabulary.from_counts: counts is a text, whose words would be its letters; want "
                "a list of words"
            )
        counted = Counter(counts)
        words = dict.fromkeys([*([] if unknown is None else [unknown]), *first])
        if max_size is not None and max_size < len(words):
            raise _dynet.ValueError(
                f"Vocabulary.from_counts: max_size is {max_size}; want {len(words)} or more, for "
                "the first words"
            )
        for word, count in counted.most_common():
            if count < min_count or len(words) == max_size:
                break
            words[word] = None
        return cls(words, unknown)

    def ids(self, words: Iterable[str]) -> list[int]:
        """The ids of a list of words."""
        if isinstance(words, str):
            raise _dynet.TypeError(
                f"Vocabulary.ids: {words!r} is a text; want a list of words, list({words!r}) for "
                "its letters"
            )
        if self.unknown is None:
            return [self[word] for word in words]
        ids, unknown = self._ids, self._ids[self.unknown]
        return [ids.get(word, unknown) for word in words]

    def words(self, ids: Iterable[int]) -> list[str]:
        """The words of a list of ids. IndexError for an id that is out of range."""
        return [self.word(i) for i in ids]

    def word(self, id: int) -> str:
        """The word with an id."""
        if not 0 <= id < len(self._words):
            raise _dynet.IndexError(
                f"Vocabulary: {id} is no id of {len(self._words)} words; want 0 to "
                f"{len(self._words) - 1}"
            )
        return self._words[id]

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the words, one per line, as `dy.Dict` does; the old file stays until the new file
        is complete."""
        _dynet.Dict(self._words).save(file)

    @classmethod
    def load(cls, file: str | os.PathLike[str], unknown: str | None = None) -> Vocabulary:
        """The vocabulary of a file with a word per line. The file does not say which word is
        `unknown`."""
        return cls(_dynet.Dict.load(file).get_words(), unknown)

    def __getitem__(self, word: str) -> int:
        """The id of a word."""
        found = self._ids.get(word)
        if found is not None:
            return found
        if self.unknown is None:
            raise KeyError(f"{word!r} is not among {len(self._words)} words, and none is `unknown`")
        return self._ids[self.unknown]

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        unknown = "" if self.unknown is None else f", unknown={self.unknown!r}"
        return f"<Vocabulary of {len(self)} words{unknown}>"
