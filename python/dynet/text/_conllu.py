"""Columns of CoNLL-U."""

from __future__ import annotations

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The columns that a tagger or a parser may fill, and their places in a line.
NAMES = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
PLACES = {name: place for place, name in enumerate(NAMES, 2)}


def with_columns(sentence: _dynet.ConlluSentence, **columns: Sequence[object]) -> str:
    """The text of a sentence with other columns; comments, ranges and empty nodes stay.

    A column is a list with an entry for each word: `lemma`, `upos`, `xpos`, `feats`, `head`,
    `deprel`, `deps`, `misc`. ``_`` stands where there is nothing.

        file.write(text.with_columns(sentence, upos=["DET", "NOUN"], head=[2, 0]))
    """
    words = [i for i, token in enumerate(sentence.tokens) if token.kind == "word"]
    for name, column in columns.items():
        if name not in PLACES:
            raise _dynet.ValueError(f"with_columns: no column {name!r}; want {', '.join(PLACES)}")
        if len(column) != len(words):
            raise _dynet.ValueError(
                f"with_columns: {name} has {len(column)} entries for {len(words)} words; want one "
                "for each"
            )
        for i, entry in enumerate(column):
            _check(name, i, str(entry), len(words))
    lines = str(sentence).split("\n")
    start = len(sentence.comments)
    for place, i in enumerate(words):
        cells = lines[start + i].split("\t")
        for name, column in columns.items():
            cells[PLACES[name]] = str(column[place])
        lines[start + i] = "\t".join(cells)
    return "\n".join(lines)


def _check(name: str, i: int, entry: str, words: int) -> None:
    """Refuses entries that a reader would not read back."""
    if name == "head":
        is_number = entry.isascii() and entry.isdecimal() and len(entry) < 10
        if entry != "_" and not (is_number and int(entry) <= words):
            raise _dynet.ValueError(
                f"with_columns: head[{i}] is {entry!r}; want a number or '_', and at most {words}, "
                "the number of words"
            )
    elif not entry or any(c in entry for c in "\t\n\r\0"):
        raise _dynet.ValueError(
            f"with_columns: {name}[{i}] is {entry!r}; want a text without tabs, line ends and zero "
            "bytes, or '_'"
        )
