"""Compares the output of a program with a page."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def last_digit(text: str) -> float:
    """The value of one step of the last printed digit: 0.001 in "1.250", 0 in a whole number."""
    mantissa, _, exponent = text.partition("e")
    _, point, digits = mantissa.partition(".")
    if not point and not exponent:
        return 0.0
    # numpy leaves zeros at the end away: "0.5" may be 0.4999 elsewhere.
    return 10.0 ** (int(exponent or 0) - max(len(digits), 4))


def agree(printed: str, wanted: str) -> bool:
    """Equal, except for the room between words and one step of the last printed digit of numbers
    with a point.

    Processors round differently in the last of the digits that a float has; if a printed digit
    hangs on that, the page shows one of two neighbours.
    """
    if "".join(NUMBER.sub("0", printed).split()) != "".join(NUMBER.sub("0", wanted).split()):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(wanted))
    return all(
        abs(float(a) - float(b)) <= 1.01 * max(last_digit(a), last_digit(b)) for a, b in pairs
    )
