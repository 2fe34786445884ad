"""Words as rows of one table: the form, its lower case, its shape, and its first and last letters.

A word that was not seen in training is known by the other features.
"""

from __future__ import annotations

from collections import Counter

from dynet.text import Vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: Lengths of the first and of the last letters.
PREFIXES, SUFFIXES = (1, 2, 3), (1, 2, 3, 4)


def shape(form: str) -> str:
    """Kinds of letters, repeated ones up to three times: ``Xx`` for "At", ``Xxxx`` for "Sweden",
    ``d`` for digits."""
    kinds = ""
    for c in form:
        kind = "X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c
        if not kinds.endswith(3 * kind):
            kinds += kind
    return kinds


def features(form: str) -> list[str]:
    """One text for each slot."""
    low = form.lower()
    ends = [low[-n:] if len(low) > n else "^" + low for n in SUFFIXES]
    return [form, low, shape(form), *(low[:n] for n in PREFIXES), *ends]


class Features:
    """Numbers of words' features, rows of a table with `size` rows. Plain data, a part of the
    model's `spec`."""

    def __init__(self, forms: Iterable[str], min_count: int = 2) -> None:
        counts = Counter(forms)
        slots: list[Counter[str]] = []
        for form, count in counts.items():
            found = features(form)
            slots = slots or [Counter() for _ in found]
            for slot, one in zip(slots, found):
                slot[one] += count
        self.slots = [Vocabulary.from_counts(slot, min_count=min_count) for slot in slots]
        starts = [0]
        for vocabulary in self.slots:
            starts.append(starts[-1] + len(vocabulary))
        *self.starts, self.size = starts

    def rows(self, form: str) -> list[int]:
        """A row for each slot."""
        return [
            start + vocabulary[one]
            for start, vocabulary, one in zip(self.starts, self.slots, features(form))
        ]
