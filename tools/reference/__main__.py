"""Writes the reference pages of operations, docs/operations; `tools/generate-api` calls it.

The Python that runs it must have the module of this tree. python/tests/test_reference.py looks
whether the pages are as they would be written.
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
        print(f"docs/operations is not written: {missing}", file=sys.stderr)
        return 1
    folder = ROOT / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for page in {p.relative_to(ROOT) for p in folder.glob("*.md")} - set(pages):
        (ROOT / page).unlink()
    for page, text in pages.items():
        if not (ROOT / page).exists() or (ROOT / page).read_text(encoding="utf-8") != text:
            (ROOT / page).write_text(text, encoding="utf-8")
            print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
