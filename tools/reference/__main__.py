"""Writes the reference pages of operations, docs/operations.

    python tools/reference [--check]      the Python must have the module of this tree

--check: writes nothing, ends with 1 and the names of pages that are not what the operations say.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pages import FOLDER, Missing, all_pages

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    try:
        pages = all_pages(ROOT)
    except Missing as missing:
        print(f"tools/reference: {missing}", file=sys.stderr)
        return 1
    folder = ROOT / FOLDER
    superfluous = {p.relative_to(ROOT) for p in folder.glob("*.md")} - set(pages)
    stale = [
        p
        for p, text in pages.items()
        if not (ROOT / p).exists() or (ROOT / p).read_text(encoding="utf-8") != text
    ]
    if sys.argv[1:] == ["--check"]:
        for page in sorted([*stale, *superfluous]):
            print(f"{page} is not what the operations say: run tools/generate-api", file=sys.stderr)
        return 1 if stale or superfluous else 0
    folder.mkdir(parents=True, exist_ok=True)
    for page in superfluous:
        (ROOT / page).unlink()
    for page in stale:
        (ROOT / page).write_text(pages[page], encoding="utf-8")
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
