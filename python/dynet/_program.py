"""The start of the library for the program ``dynet``: a wrong option ends with a line, not with a
traceback, and ``--devices`` is the library's option.

The library reads its options while `dynet` is imported, before `dynet.programs` is.
"""

from __future__ import annotations

import os
import sys

import _dynet


def complain(error: BaseException) -> None:
    """Prints an error as a line."""
    print(f"dynet: {text_of(error)}", file=sys.stderr)


def text_of(error: BaseException) -> str:
    """An error without the line of a program that the user did not write."""
    text = str(error).partition("\n  called at ")[0]
    for call in ("DynetParams.from_args: ", "DynetParams.init: "):
        text = text.removeprefix(call)
    return text


def is_program() -> bool:
    """Whether this process is ``dynet`` or ``python -m dynet``."""
    words: list[str] = getattr(sys, "argv", [])
    if words[:1] == ["-m"]:  # as long as Python looks for the module
        before = sys.orig_argv[: len(sys.orig_argv) - len(words) + 1]
        return before[-1:] in (["dynet"], ["-mdynet"])
    return bool(words) and os.path.splitext(os.path.basename(words[0]))[0] == "dynet"


class Start:
    """Around the start of the library; does nothing for other programs."""

    def __enter__(self) -> None:
        self._is_program = is_program()
        if not self._is_program:
            return
        for i, (word, after) in enumerate(zip(sys.argv, [*sys.argv[1:], "--"])):
            has_value = word == "--devices" and not after.startswith("--")
            if i > 0 and (has_value or word.startswith("--devices=")):
                sys.argv[i] = "--dynet-" + word[2:]

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._is_program and isinstance(error, _dynet.Error):
            complain(error)
            raise SystemExit(2)
