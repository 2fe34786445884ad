"""Sentences of words, with or without tags, and their reader.

the luxury auto maker              one sentence a line, words separated by spaces
The|I-ORG Beatles|I-ORG sang|O     the same with a tag after each word's last '|'
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from data import SPACE, DataError, numbered_lines

_WORD = re.compile(rf"[^{SPACE}]+")


@dataclass
class RawSentence:
    """Text as read, before words have numbers."""

    words: list[str]
    tags: list[str] = field(default_factory=list)  # empty, or one a word


def parse_tagged(text: str, file: str = "sentence", line: int = 1) -> RawSentence:
    sentence = RawSentence([])
    for found in _WORD.finditer(text):
        word, bar, tag = found.group().rpartition("|")
        # Columns count bytes, as in C++.
        column = len(text[: found.start()].encode(errors="surrogateescape")) + 1
        if not bar:
            raise DataError(file, line, column, "a word without a tag; want word|TAG")
        if not word:
            raise DataError(file, line, column, "no word before the '|'; want word|TAG")
        if not tag:
            column += len(word.encode(errors="surrogateescape"))
            raise DataError(file, line, column, "no tag after the '|'; want word|TAG")
        sentence.words.append(word)
        sentence.tags.append(tag)
    return sentence


def parse_words(text: str) -> RawSentence:
    return RawSentence(_WORD.findall(text))


def read_tagged_file(file: str) -> list[RawSentence]:
    return [parse_tagged(text, file, line) for line, text in numbered_lines(file)]


def read_text_file(file: str) -> list[RawSentence]:
    return [parse_words(text) for _, text in numbered_lines(file)]


def _counts(sentences: list[RawSentence]) -> Counter[str]:
    """In the order in which the words are first seen."""
    return Counter(word for sentence in sentences for word in sentence.words)


def words_seen(sentences: list[RawSentence], count: int) -> list[str]:
    """The words that occur at least ``count`` times, in the order in which they are first seen."""
    return [word for word, times in _counts(sentences).items() if times >= count]


def most_frequent(sentences: list[RawSentence], limit: int) -> list[str]:
    """The ``limit`` most frequent words (of equally frequent ones those seen first), in the order
    in which they are first seen."""
    counts = _counts(sentences)
    kept = set(sorted(counts, key=counts.__getitem__, reverse=True)[:limit])
    return [word for word in counts if word in kept]
