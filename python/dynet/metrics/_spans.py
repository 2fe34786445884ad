"""Spans of tagged sentences: names, chunks."""

from __future__ import annotations

import _dynet

from ._counts import F1, Score, pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    #: Type, first word, word behind the last one.
    Span: TypeAlias = tuple[str, int, int]

#: Names of schemes, and the scheme that is meant.
SCHEMES = {"any": "any", "BIO": "BIO", "BIOES": "BIOES", "IOBES": "BIOES"}


def _scheme(name: str) -> str:
    if not isinstance(name, str) or name not in SCHEMES:
        raise _dynet.ValueError(f"spans: scheme={name!r}; want one of {', '.join(SCHEMES)}")
    return SCHEMES[name]


def _check_list(name: str, tags: Iterable[str]) -> None:
    """TypeError for a text, whose letters would be taken for tags, and for things without items."""
    if isinstance(tags, str):
        raise _dynet.TypeError(f"{name} is the text {tags!r}; want a list of tags")
    if not hasattr(tags, "__iter__"):
        raise _dynet.TypeError(f"{name} is a {type(tags).__name__}; want a list of tags")


def _split(number: int, tag: object) -> tuple[str, str]:
    """The letter of a tag and its type: B-PER is ("B", "PER"), and O is ("O", "")."""
    letter, _, kind = str(tag).partition("-")
    if letter not in ("B", "I", "E", "S", "O") or (letter == "O") != (tag == "O"):
        raise _dynet.ValueError(
            f"spans: the tag {tag!r} of word {number}; want O, or B, I, E or S with '-' and a "
            "type, such as B-PER"
        )
    return letter, kind


def spans(tags: Sequence[str], scheme: str = "any") -> list[Span]:
    """The spans of a sentence's tags: (type, first word, word behind the last one), in order.

    `scheme`: "any" takes BIO, BIOES and the older IOB, in which a span may begin with I, as the
    script conlleval of CoNLL-2000 does. A span begins at B or S, behind E, S and O, and at a change
    of type; it ends at E and S, before O, and before the next span. "BIO" and "BIOES" ("IOBES" is
    the same) take well-formed spans only: B I I, and S or B I E. A tag without a type, such as B,
    has the type "". ValueError for other tags or schemes.

    >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
    [('PER', 0, 2), ('LOC', 3, 4)]
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], "BIO")
    [('PER', 0, 2)]
    >>> spans(["B-PER", "E-PER", "S-LOC", "B-LOC"], "BIOES")
    [('PER', 0, 2), ('LOC', 2, 3)]
    """
    scheme = _scheme(scheme)
    _check_list("spans: tags", tags)
    split = [_split(number, tag) for number, tag in enumerate(tags, 1)]
    if scheme == "any":
        return _spans_of_any(split)
    return _well_formed(split, closed=scheme == "BIOES")


def _spans_of_any(split: list[tuple[str, str]]) -> list[Span]:
    found: list[Span] = []
    begin, before, kind_before = 0, "O", ""
    for i, (letter, kind) in enumerate([*split, ("O", "")]):
        begins = letter != "O" and (letter in "BS" or before in "ESO" or kind != kind_before)
        if before != "O" and (begins or letter == "O" or before in "ES"):
            found.append((kind_before, begin, i))
        if begins:
            begin = i
        before, kind_before = letter, kind
    return found


def _well_formed(split: list[tuple[str, str]], *, closed: bool) -> list[Span]:
    """`closed`: the last tag of a span is E or S (BIOES)."""
    found: list[Span] = []
    i = 0
    while i < len(split):
        letter, kind = split[i]
        end = i + 1
        if letter == "B":
            while end < len(split) and split[end] == ("I", kind):
                end += 1
            if not closed:
                found.append((kind, i, end))
            elif end < len(split) and split[end] == ("E", kind):
                end += 1
                found.append((kind, i, end))
        elif letter == "S" and closed:
            found.append((kind, i, end))
        i = end
    return found


class SpanF1(Score):
    """F1 of the spans of tagged sentences: a span counts if its type, begin and end are right.

    `scheme`: see `spans`; the default scores as conlleval (Tjong Kim Sang and Buchholz, 2000).
    `value` is over all spans; ``score.types`` has an `F1` for each type, and `macro_f1` is their
    mean.

    >>> score = SpanF1()
    >>> score.add(["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "I-PER", "O", "B-PER"])
    >>> score.value, sorted(score.types)
    (0.5, ['LOC', 'PER'])
    """

    def __init__(self, scheme: str = "any") -> None:
        self.scheme = _scheme(scheme)
        self.types: dict[str, F1] = {}  #: by type

    def add(self, gold: Iterable[str], predicted: Iterable[str]) -> None:
        """The tags of one sentence. ValueError if one list is longer, or a text is not a tag;
        nothing is counted then."""
        for which, given in (("gold", gold), ("predicted", predicted)):
            _check_list(f"SpanF1.add: {which}", given)
        both = pairs("SpanF1", gold, predicted)
        wanted = set(spans([str(g) for g, _ in both], self.scheme))
        found = set(spans([str(p) for _, p in both], self.scheme))
        for kind in sorted({span[0] for span in wanted | found}):
            self.types.setdefault(kind, F1()).add(
                [span for span in wanted if span[0] == kind],
                [span for span in found if span[0] == kind],
            )

    @property
    def all(self) -> F1:
        """Precision, recall and F1 over all spans."""
        score = F1()
        for one in self.types.values():
            score += one
        return score

    @property
    def value(self) -> float:
        return self.all.value

    @property
    def macro_f1(self) -> float:
        """The mean of the F1 of the types that occurred; NaN if there are none."""
        values = [one.value for one in self.types.values()]
        return sum(values) / len(values) if values else float("nan")

    def _settings(self) -> tuple[object, ...]:
        return (self.scheme,)

    def _take(self, other: SpanF1) -> None:
        for kind, one in other.types.items():
            mine = self.types.setdefault(kind, F1())
            mine += one

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [one.row(kind) for kind, one in sorted(self.types.items())]
        return [F1.head(), *rows, self.all.row("all")]
