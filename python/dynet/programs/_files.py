"""Files that are written as a whole."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def write_file(name: str, texts: Iterable[str]) -> None:
    """The old file stays until the new one is complete."""
    part = f"{name}.part"
    try:
        with open(part, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(texts)
        os.replace(part, name)
    finally:
        if os.path.exists(part):
            os.remove(part)
