"""Brackets of phrase-structure trees."""

from __future__ import annotations

import re
from collections import Counter

import _dynet

from ._counts import F1, percent, share

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeAlias

    #: Label, first word, word behind the last one.
    Bracket: TypeAlias = tuple[str, int, int]

_TOKEN = re.compile(r"\(|\)|[^\s()]+")
#: Labels of an outermost bracket.
_OUTERMOST = ("", "ROOT", "S1", "TOP", "VROOT")


class _Tree:
    """The words of a tree, a tag for each word ("" for none), and its other brackets."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.tags: list[str] = []
        self.brackets: list[Bracket] = []
        # The open brackets: label, number of words before, whether the bracket holds brackets.
        stack: list[tuple[str, int, bool]] = []
        after_open = False
        for token in _TOKEN.findall(text):
            if token == "(":
                if stack:
                    stack[-1] = (*stack[-1][:2], True)
                elif self.words:
                    raise _malformed(text, "a second tree")
                stack.append(("", len(self.words), False))
            elif not stack:
                raise _malformed(text, f"{token!r} outside of the brackets")
            elif token == ")":
                self._close(*stack.pop(), text)
            elif after_open:
                stack[-1] = (token, *stack[-1][1:])
            else:
                self.words.append(token)
                self.tags.append("")
            after_open = token == "("
        if stack or not self.words:
            raise _malformed(text, "an open bracket at the end" if stack else "no word")

    def _close(self, label: str, begin: int, holds_brackets: bool, text: str) -> None:
        end = len(self.words)
        if end == begin:
            raise _malformed(text, "a bracket without a word")
        if holds_brackets or end - begin > 1:
            self.brackets.append((label, begin, end))
        else:
            self.tags[begin] = label

    def without(self, words: Iterable[int]) -> list[Bracket]:
        """The brackets over the other words."""
        left_out = set(words)
        kept = [0]  # in front of each place
        for i in range(len(self.words)):
            kept.append(kept[-1] + (i not in left_out))
        moved = ((label, kept[begin], kept[end]) for label, begin, end in self.brackets)
        return [bracket for bracket in moved if bracket[1] < bracket[2]]


def _malformed(text: str, problem: str) -> Exception:
    shown = text if len(text) <= 60 else text[:57] + "..."
    error: Exception = _dynet.ValueError(
        f"BracketF1.add: {problem} in {shown!r}; want one tree, such as (S (NP (N dog)) (V ran))"
    )
    return error


class BracketF1(F1):
    """F1 of labelled brackets (PARSEVAL; Black et al., 1991), over all sentences that were added.

    A tree is a text, or anything whose ``str`` is one, such as a `Tree` that `TreeReader` read.
    Tags (brackets with nothing but one word) do not count; a bracket that occurs twice counts
    twice. All brackets are right in ``score.exact`` of ``score.sentences`` trees.

    `ignored`: labels of brackets that do not count, by default those of an outermost bracket.
    `deleted`: tags, such as those of punctuation, whose words are taken out of both trees, with the
    brackets that have no other words; the tags of the gold tree count. `equal`: labels that stand
    for others, such as ``{"PRT": "ADVP"}``. With ``labelled=False`` only the begin and end of
    brackets matter. `evalb` has the settings of the program EVALB.

    >>> score = BracketF1()
    >>> score.add("(S (NP (D the) (N dog)) (VP (V ran)))", "(S (D the) (NP (N dog)) (VP (V ran)))")
    >>> score.matched, score.gold, score.predicted
    (2, 3, 3)
    """

    def __init__(
        self,
        ignored: Iterable[str] = _OUTERMOST,
        *,
        labelled: bool = True,
        deleted: Iterable[str] = (),
        equal: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.ignored = _labels("ignored", ignored)
        self.deleted = _labels("deleted", deleted)
        if equal is not None and not hasattr(equal, "items"):
            kind = type(equal).__name__
            raise _dynet.TypeError(f"BracketF1: equal is a {kind}; want a dict of labels")
        self.equal = dict(equal or {})
        self.labelled = labelled
        self.exact = 0
        self.sentences = 0

    @classmethod
    def evalb(cls, *, labelled: bool = True) -> BracketF1:
        """A score that counts as EVALB (Sekine and Collins) does for English with the parameters of
        Collins: words tagged ``, : `` '' .`` or ``-NONE-`` are left out, and PRT is ADVP. Sentences
        of any length count.

        >>> score = BracketF1.evalb()
        >>> score.add("(S (NP (N I)) (VP (V do) (. .)))", "(S (NP (N I)) (VP (V do)) (. .))")
        >>> score.value
        1.0
        """
        left_out = (",", ":", "``", "''", ".", "-NONE-")
        return cls(
            (*_OUTERMOST, *left_out), labelled=labelled, deleted=left_out, equal={"PRT": "ADVP"}
        )

    def add(self, gold: object, predicted: object) -> None:
        """Two trees over the same words. ValueError otherwise, or if a text is no tree; nothing is
        counted then."""
        right, answer = _Tree(str(gold)), _Tree(str(predicted))
        _require_same_words(right.words, answer.words)
        left_out = [i for i, tag in enumerate(right.tags) if tag in self.deleted]
        wanted, found = (
            self._counted(right.without(left_out)),
            self._counted(answer.without(left_out)),
        )
        super().add(wanted, found)
        self.sentences += 1
        self.exact += Counter(wanted) == Counter(found)

    def _counted(self, brackets: list[Bracket]) -> list[Bracket]:
        """The brackets that count, with labels for comparison."""
        return [
            (self.equal.get(label, label) if self.labelled else "", begin, end)
            for label, begin, end in brackets
            if label not in self.ignored
        ]

    def _settings(self) -> tuple[object, ...]:
        equal = tuple(sorted(self.equal.items()))
        return (self.labelled, tuple(sorted(self.ignored)), tuple(sorted(self.deleted)), equal)

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


def _labels(name: str, labels: Iterable[str]) -> frozenset[str]:
    if isinstance(labels, str):
        raise _dynet.TypeError(f"BracketF1: {name} is the text {labels!r}; want a list of labels")
    if not hasattr(labels, "__iter__"):
        kind = type(labels).__name__
        raise _dynet.TypeError(f"BracketF1: {name} is a {kind}; want a list of labels")
    return frozenset(labels)


def _require_same_words(gold: list[str], found: list[str]) -> None:
    if len(gold) != len(found):
        raise _dynet.ValueError(
            f"BracketF1.add: {len(gold)} words in the gold tree and {len(found)} in the "
            "predicted one; want the same words"
        )
    for number, (g, f) in enumerate(zip(gold, found), 1):
        if g != f:
            raise _dynet.ValueError(
                f"BracketF1.add: word {number} is {g!r} in the gold tree and {f!r} in the "
                "predicted one; want the same words"
            )
