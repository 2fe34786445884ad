"""Brackets of phrase-structure trees."""

from __future__ import annotations

import re
from collections import Counter

import _dynet

from ._counts import F1, percent, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    #: Label, first word, word behind the last one.
    Bracket: TypeAlias = tuple[str, int, int]

_TOKEN = re.compile(r"\(|\)|[^\s()]+")


def _brackets(text: str, ignored: frozenset[str]) -> tuple[list[str], list[Bracket]]:
    """The words of a tree, and its brackets over words and brackets: brackets over one word alone
    that hold the word itself are tags and do not count."""
    words: list[str] = []
    found: list[Bracket] = []
    # The open brackets: label, number of words before, whether the bracket holds brackets.
    stack: list[tuple[str, int, bool]] = []
    after_open = False
    for token in _TOKEN.findall(text):
        if token == "(":
            if stack:
                label, begin, _ = stack[-1]
                stack[-1] = (label, begin, True)
            elif words or found:
                raise _malformed(text, "a second tree")
            stack.append(("", len(words), False))
        elif not stack:
            raise _malformed(text, f"{token!r} outside of the brackets")
        elif token == ")":
            label, begin, holds_brackets = stack.pop()
            if len(words) == begin:
                raise _malformed(text, "a bracket without a word")
            if holds_brackets and label not in ignored:
                found.append((label, begin, len(words)))
        elif after_open:
            stack[-1] = (token, *stack[-1][1:])
        else:
            words.append(token)
        after_open = token == "("
    if stack or not words:
        raise _malformed(text, "an open bracket at the end" if stack else "no word")
    return words, found


def _malformed(text: str, problem: str) -> Exception:
    shown = text if len(text) <= 60 else text[:57] + "..."
    error: Exception = _dynet.ValueError(
        f"BracketF1.add: {problem} in {shown!r}; want one tree, such as (S (NP (N dog)) (V ran))"
    )
    return error


class BracketF1(F1):
    """F1 of labelled brackets (PARSEVAL; Black et al., 1991), over all sentences that were added.

    A tree is a text, or anything whose ``str`` is one, such as a `Tree` that `TreeReader` read.
    Tags (brackets with nothing but a word) do not count; a bracket that occurs twice counts twice.
    `ignored`: labels that do not count, by default those of an outermost bracket. With
    ``labelled=False`` only the begin and end of brackets matter. All brackets are right in
    ``score.exact`` of ``score.sentences`` trees.

    >>> score = BracketF1()
    >>> score.add("(S (NP (D the) (N dog)) (VP (V ran)))", "(S (D the) (NP (N dog)) (VP (V ran)))")
    >>> score.matched, score.gold, score.predicted
    (2, 3, 3)
    """

    def __init__(
        self, ignored: Iterable[str] = ("", "ROOT", "S1", "TOP", "VROOT"), *, labelled: bool = True
    ) -> None:
        super().__init__()
        self.ignored = frozenset(ignored)
        self.labelled = labelled
        self.exact = 0
        self.sentences = 0

    def add(self, gold: object, predicted: object) -> None:
        """Two trees over the same words. ValueError otherwise, or if a text is no tree; nothing is
        counted then."""
        words, wanted = _brackets(str(gold), self.ignored)
        other_words, found = _brackets(str(predicted), self.ignored)
        if len(words) != len(other_words):
            raise _dynet.ValueError(
                f"BracketF1.add: {len(words)} words in the gold tree and {len(other_words)} in the "
                "predicted one; want the same words"
            )
        if words != other_words:
            at = next(i for i, pair in enumerate(zip(words, other_words)) if pair[0] != pair[1])
            raise _dynet.ValueError(
                f"BracketF1.add: word {at + 1} is {words[at]!r} in the gold tree and "
                f"{other_words[at]!r} in the predicted one; want the same words"
            )
        if not self.labelled:
            wanted = [("", *bracket[1:]) for bracket in wanted]
            found = [("", *bracket[1:]) for bracket in found]
        super().add(wanted, found)
        self.sentences += 1
        self.exact += Counter(wanted) == Counter(found)

    def _settings(self) -> tuple[object, ...]:
        return (self.labelled, *sorted(self.ignored))

    def _take(self, other: F1) -> None:
        assert isinstance(other, BracketF1)
        super()._take(other)
        self.exact += other.exact
        self.sentences += other.sentences

    def _rows(self) -> list[tuple[str, ...]]:
        exact = percent(share(self.exact, self.sentences))
        return [
            (*F1.head(), "sentences", "exact"),
            (*self.row("brackets"), str(self.sentences), exact),
        ]
