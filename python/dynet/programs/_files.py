"""Files that are written as a whole."""

from __future__ import annotations

import os

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


def write_file(name: str, texts: Iterable[str]) -> None:
    """The old file stays until the new one is complete. Links stay links; pipes and devices, such
    as ``/dev/null``, are written themselves. IoError if the file cannot be opened."""
    target = os.path.realpath(name)
    if os.path.exists(target) and not os.path.isfile(target):
        with _opened(target, name) as file:
            file.writelines(texts)
        return
    part = f"{target}.{os.getpid()}.part"
    with _opened(part, name) as file:
        try:
            file.writelines(texts)
            file.close()
            os.replace(part, target)
        finally:
            if os.path.exists(part):
                os.remove(part)


def _opened(file: str, name: str) -> TextIO:
    try:
        return open(file, "w", encoding="utf-8", newline="\n")
    except OSError as e:
        raise _dynet.IoError(f"'{name}' cannot be written: {e.strerror}") from None
