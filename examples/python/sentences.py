"""Sentences of words, with or without tags, as the library's readers give them, and their numbers.

the luxury auto maker              one sentence a line, words separated by spaces
The|I-ORG Beatles|I-ORG sang|O     the same with a tag after each word's last '|'
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import dynet as dy

from data import check_not_blank
from model_file import Settings

NO_TAG = -1
# The number of the end mark, which language models read before a sentence and predict after it.
END = 1


@dataclass(frozen=True, slots=True)
class Sentence:
    words: list[int]
    spelled: list[tuple[int, list[int]]]  # words without a number: place and characters
    tags: list[int]  # none, or one per word; NO_TAG for one that no training has


_WORD = re.compile(r"[^ \t-\r]+")  # ASCII: a no-break space is part of a word


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def read_tagged_file(file: str) -> list[tuple[list[str], list[str]]]:
    """Words and tags of all sentences that are not blank."""
    return check_not_blank(file, list(dy.TaggedReader(file)))


def read_text_file(file: str) -> list[list[str]]:
    return check_not_blank(file, list(dy.PlainReader(file)))


def words_seen(sentences: list[list[str]], count: int) -> list[str]:
    """The words that occur at least ``count`` times, in the order in which they are first seen."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return [word for word, times in counts.items() if times >= count]


def most_frequent(sentences: list[list[str]], limit: int) -> list[str]:
    """The ``limit`` most frequent words (equally frequent words in the order of the text), in the
    order of their first occurrence."""
    counts = Counter(word for sentence in sentences for word in sentence)
    kept = set(sorted(counts, key=counts.__getitem__, reverse=True)[:limit])
    return [word for word in counts if word in kept]


class SentenceNumbers:
    """Puts numbers in the place of words, tags and characters, by the lists of a tagger."""

    def __init__(self, settings: Settings) -> None:
        self._words = settings.numbers_of("words")
        self._characters = settings.numbers_of("characters")
        self._tags = settings.numbers_of("tags")

    def of(self, words: list[str], tags: list[str]) -> Sentence:
        numbers = [self._words.get(word, 0) for word in words]
        unknown = [i for i, number in enumerate(numbers) if number == 0 and self._characters]
        return Sentence(
            numbers,
            [(i, [self._characters.get(c, 0) for c in words[i]]) for i in unknown],
            [self._tags.get(tag, NO_TAG) for tag in tags],
        )
