"""Writes function_texts.h: the documentation of functions that C++ and Python have alike.

The comments of the C++ headers are the one text. This script gives them Python's form: names of
parameters are Python's, and the line that is true in C++ alone is left out.

    make_function_texts.py ROOT OUT
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools" / "reference"))

from headers import Entry, keyed, read_header, read_headers  # noqa: E402
from topics import PYTHON_PARAMETERS  # noqa: E402


def in_python(text: str, key: str) -> str:
    """Names of parameters stand in code: in shapes, in backticks, or before an index."""
    names = PYTHON_PARAMETERS.get(key, {})
    if not names:
        return text
    name = rf"\b(?:{'|'.join(names)})\b"

    def renamed(code: re.Match[str]) -> str:
        return re.sub(name, lambda m: names[m[0]], code[0])

    return re.sub(
        r"^Shapes: .*" if text.startswith("Shapes: ") else rf"`[^`]*`|{name}(?=\[)", renamed, text
    )


def documentation(key: str, entry: Entry) -> str:
    parts = [entry.summary]
    if entry.formula:
        parts.append("    " + in_python(f"`{entry.formula}`", key)[1:-1])
    parts += entry.notes
    for title, text in entry.titled.items():
        if title == "Python":
            parts.append(text[0].upper() + text[1:])
        elif title != "C++":
            parts.append(f"{title}: {text}")
    return "\n\n".join(in_python(part, key) for part in parts)


def constant(key: str, entry: Entry) -> str:
    name = key.replace("#", "_")
    return f'inline constexpr char {name}[] = R"({documentation(key, entry)})";\n'


def header(root: Path) -> str:
    entries = read_headers(root) + read_header(root / "include" / "dynet" / "structured.h")
    names = [(key, entry) for key, entry in keyed(entries) if key.replace("#", "").isidentifier()]
    texts = [constant(key, entry) for key, entry in names]
    return (
        "// Written by make_function_texts.py from the C++ headers.\n#pragma once\n\n"
        "namespace dynet::python::texts {\n\n"
        + "\n".join(texts)
        + "\n}  // namespace dynet::python::texts\n"
    )


out, text = Path(sys.argv[2]), header(ROOT)
if not out.exists() or out.read_text(encoding="utf-8") != text:  # else all is compiled anew
    out.write_text(text, encoding="utf-8")
