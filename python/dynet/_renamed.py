"""Python's names in errors of the library."""

from __future__ import annotations

import re
from typing import Any

#: Functions whose operation has another name in C++: that name, and the names of arguments, there
#: and here.
_OPERATIONS: dict[str, tuple[str, dict[str, str]]] = {
    "esum": ("sum", {}),
    "average": ("sum", {}),
    "log_softmax": ("restricted_log_softmax", {"restriction": "restrict"}),
    "pick": ("pick", {"v": "index"}),
    "pick_batch": ("pick", {"v": "indices"}),
    "select_rows": ("select_rows", {"rows": "rs"}),
    "select_cols": ("select_cols", {"cols": "cs"}),
}


#: Arguments of trainers before 2.0, and what to write today.
_OF_OLD_TRAINERS = {
    "e0": "its name is learning_rate today",
    "edecay": "in place of edecay, set the trainer's learning_rate after each epoch",
    "lam": "in place of lam, call set_weight_decay_lambda of the collection",
}


def instead(name: str, known: set[str]) -> str:
    """Advice for an argument that trainers had before 2.0, if `known` are those of a trainer."""
    if "m" not in known or (name == "e0" and "learning_rate" not in known):
        return ""
    return _OF_OLD_TRAINERS.get(name, "")


#: Advice in errors, in C++ and in Python.
_ADVICE = {
    "call invalidate() and ask for values outside the scope": (
        "ask for value(recalculate=True) outside the scope"
    ),
}


def renamed(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of an error of the library, with Python's name of the operation and with
    advice."""
    name = str(function.__name__)
    text = args[0] if len(args) == 1 else None
    if not isinstance(text, str):
        return args
    for there, here in _ADVICE.items():
        text = text.replace(there, here)
    own, names = _OPERATIONS.get(name, ("", {}))
    if own and re.match(rf"{own}\b[(:]", text):
        text = name + text[len(own) :]
        for old, new in names.items():
            text = re.sub(rf"\b{old}(?= is | in |$)|(?<=position in ){old}\b", new, text, count=1)
    elif name.startswith("vanilla_lstm_gates") and text.startswith("affine_transform("):
        text = f"{name}: its product is {text}"
    return (text,)
