"""Files that are written as a whole."""

from __future__ import annotations

import os
import shutil

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


def write_file(name: str, texts: Iterable[str]) -> None:
    """The old file stays until the new one is complete, which gets its permissions. Links stay
    links; pipes and devices, such as ``/dev/null``, are written themselves. IoError if the file
    cannot be written, but BrokenPipeError if nobody reads a pipe."""
    try:
        _write(os.path.realpath(name), texts)
    except BrokenPipeError:
        raise
    except OSError as e:
        raise _dynet.IoError(f"'{name}' cannot be written: {e.strerror}") from None


def _write(target: str, texts: Iterable[str]) -> None:
    is_there = os.path.exists(target)
    if is_there and not os.path.isfile(target):
        with _opened(target) as file:
            file.writelines(texts)
        return
    part = f"{target}.{os.getpid()}.part"
    try:
        with _opened(part) as file:
            file.writelines(texts)
        if is_there:
            shutil.copymode(target, part)
        os.replace(part, target)
    finally:
        if os.path.exists(part):
            os.remove(part)


def _opened(file: str) -> TextIO:
    return open(file, "w", encoding="utf-8", newline="\n")
