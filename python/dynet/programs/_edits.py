"""Lemmas as edits of forms, so that a tagger chooses a lemma as it chooses a tag.

An edit is the text ``["lower", 0, "", 3, "y"]``: the form in lower case, nothing cut in front and
nothing put there, three letters cut at the end, and "y" put there. ``["whole", "be"]`` is the same
lemma for every form.

>>> edit("Parties", "party")
'["lower", 0, "", 3, "y"]'
>>> apply(edit("Parties", "party"), "Cities"), apply(edit("was", "be"), "were")
('city', 'be')
"""

from __future__ import annotations

import json
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Ways to change the case of a form before it is cut, the most usual first.
CASES: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "same": lambda form: form,
    "title": lambda form: form[:1].upper() + form[1:].lower(),
}


@lru_cache(maxsize=1 << 16)
def edit(form: str, lemma: str) -> str:
    """The edit that changes the fewest letters."""
    found: list[tuple[int, list[object]]] = []
    for case, change in CASES.items():
        cased = change(form)
        at, there, length = _shared(cased, lemma)
        if length:
            cut = len(cased) - at - length
            front, back = lemma[:there], lemma[there + length :]
            found.append((at + cut + len(front) + len(back), [case, at, front, cut, back]))
    if not found:
        return json.dumps(["whole", lemma], ensure_ascii=False)
    return json.dumps(min(found, key=lambda one: one[0])[1], ensure_ascii=False)


def apply(edit: str, form: str) -> str | None:
    """The lemma; None for a form that has fewer letters than the edit cuts."""
    case, *rest = _parsed(edit)
    if case == "whole":
        return str(rest[0])
    at, front, cut, back = rest
    cased = CASES[case](form)
    if at + cut >= len(cased):
        return None
    return str(front + cased[at : len(cased) - cut] + back)


@lru_cache(maxsize=1 << 16)
def _parsed(edit: str) -> list[Any]:
    parsed: list[Any] = json.loads(edit)
    return parsed


def _shared(a: str, b: str) -> tuple[int, int, int]:
    """The places in both texts of their longest common part, and its length."""
    best = (0, 0, 0)
    lengths = [0] * (len(b) + 1)  # of common parts that end before this place of b
    for i, x in enumerate(a):
        before = lengths
        lengths = [0] * (len(b) + 1)
        for j, y in enumerate(b):
            if x == y:
                n = lengths[j + 1] = before[j] + 1
                if n > best[2]:
                    best = (i + 1 - n, j + 1 - n, n)
    return best
