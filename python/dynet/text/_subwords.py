"""Subwords by a tokenizer of Hugging Face's package `tokenizers`."""

from __future__ import annotations

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeVar

    X = TypeVar("X")


class Pieces:
    """The pieces of a sentence. Word i has the pieces from ``spans[i][0]`` to before
    ``spans[i][1]``; pieces that belong to no word, such as ``[CLS]``, are in no span."""

    def __init__(self, ids: list[int], texts: list[str], spans: list[tuple[int, int]]) -> None:
        self.ids = ids  #: numbers of the pieces, rows of a table
        self.texts = texts  #: the pieces
        self.spans = spans  #: the places of each word's pieces

    def first(self, xs: Sequence[X]) -> list[X]:
        """Of something for each piece, such as the states of an LSTM: the first of each word."""
        self._check("first", xs)
        return [xs[begin] for begin, _ in self.spans]

    def mean(self, xs: Sequence[_dynet.Expression]) -> list[_dynet.Expression]:
        """The mean over each word's pieces."""
        self._check("mean", xs)
        return [
            xs[begin] if end == begin + 1 else _dynet.average(list(xs[begin:end]))
            for begin, end in self.spans
        ]

    def _check(self, name: str, xs: Sequence[object]) -> None:
        if len(xs) != len(self.ids):
            raise _dynet.ValueError(
                f"Pieces.{name}: {len(xs)} expressions for {len(self.ids)} pieces; want one for "
                "each"
            )

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        words = ("+".join(self.texts[begin:end]) for begin, end in self.spans)
        return f"<Pieces {' '.join(words)}>"


def pieces(tokenizer: Any, words: Sequence[str], *, special: bool = True) -> Pieces:
    """Cuts the words of a sentence into the pieces of a `tokenizers.Tokenizer`, or of a
    `PreTrainedTokenizerFast` of the package transformers.

    With `special`, pieces such as ``[CLS]`` stand where the tokenizer puts them. ValueError for a
    word of which the tokenizer leaves no piece, and for a sentence that it cuts short.
    """
    tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(tokenizer, "encode") or not hasattr(tokenizer, "token_to_id"):
        raise _dynet.TypeError(
            f"pieces: the tokenizer is {tokenizer!r}; want a tokenizers.Tokenizer"
        )
    if isinstance(words, str):
        raise _dynet.TypeError(f"pieces: {words!r} is a text; want a list of words")
    found = tokenizer.encode(list(words), is_pretokenized=True, add_special_tokens=special)
    spans: list[tuple[int, int]] = [(0, 0)] * len(words)
    for place, word in enumerate(found.word_ids):
        if word is not None:
            begin, end = spans[word]
            spans[word] = (begin if end else place, place + 1)
    for word, (_, end) in zip(words, spans):
        if not end:
            raise _dynet.ValueError(
                f"pieces: the tokenizer left no piece of the word {word!r}, of {len(words)}; want "
                "one or more of each word (a tokenizer may drop signs, or cut long sentences)"
            )
    return Pieces(list(found.ids), list(found.tokens), spans)
