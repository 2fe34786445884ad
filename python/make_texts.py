"""Writes texts.h: the documentation of functions and builders that C++ and Python have alike.

    make_texts.py ROOT OUT

The comments of the C++ headers are the one text. Python's form has Python's names of parameters,
and lacks the text behind "C++:", which is true in C++ alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "tools" / "reference"))

from headers import Entry, keyed, read_header, read_headers  # noqa: E402
from topics import PYTHON_PARAMETERS  # noqa: E402

INCLUDE = ROOT / "include" / "dynet"


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


# ---- functions


def renamed(text: str, key: str) -> str:
    """Names of parameters stand in code: in shapes, in backticks, or before an index."""
    names = PYTHON_PARAMETERS.get(key, {})
    if not names:
        return text
    name = rf"\b(?:{'|'.join(names)})\b"
    code = r"^Shapes: .*" if text.startswith("Shapes: ") else rf"`[^`]*`|{name}(?=\[)"
    return re.sub(code, lambda c: re.sub(name, lambda m: names[m[0]], c[0]), text)


def of_function(key: str, entry: Entry) -> str:
    parts = [entry.summary]
    if entry.formula:
        parts.append("    " + renamed(f"`{entry.formula}`", key)[1:-1])
    parts += entry.notes
    for title, text in entry.titled.items():
        if title == "Python":
            parts.append(capital(text))
        elif title != "C++":
            parts.append(f"{title}: {text}")
    return "\n\n".join(renamed(part, key) for part in parts)


def functions() -> dict[str, str]:
    entries = read_headers(ROOT) + read_header(INCLUDE / "structured.h")
    texts = {key.replace("#", "_"): of_function(key, entry) for key, entry in keyed(entries)}
    return {key: text for key, text in texts.items() if key.isidentifier()}  # operators have none


# ---- builders, encodings and schedules

BUILDERS = (
    *("rnn", "gru", "lstm", "fast-lstm", "treelstm", "tree-builders", "attention", "transformer"),
    *("cfsm-builder", "hsm-builder", "adaptive-softmax", "sampled-softmax"),
    *("crf-builder", "semi-crf-builder", "trainers/schedule"),
)
COMMENT = re.compile(
    r"((?:^/// ?.*\n)+)(?:struct|class) (\w*(?:Builder|Encoding|Schedule))\b", re.M
)
ELSEWHERE = re.compile(r" \((\w+) has the formula\)")


def paragraphs(comment: str) -> list[str]:
    """Text on one line each, formulas as they stand, behind four spaces."""
    lines = [line.removeprefix("///").removeprefix(" ") for line in comment.splitlines()]
    found = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    return [
        re.sub(r"(?m)^ +", "    ", p) if p.startswith("  ") else " ".join(p.split()) for p in found
    ]


def builders() -> dict[str, str]:
    comments: dict[str, list[str]] = {}
    for name in BUILDERS:
        header = (INCLUDE / f"{name}.h").read_text(encoding="utf-8")
        comments |= {match[2]: paragraphs(match[1]) for match in COMMENT.finditer(header)}
    texts = {}
    for name, parts in comments.items():
        own = []
        for part in parts:
            if part.startswith("Python: "):
                own.append(capital(part.removeprefix("Python: ")))
            elif not part.startswith("C++: "):
                own.append(ELSEWHERE.sub("", part))
            if base := ELSEWHERE.search(part):
                own += [p for p in comments[base[1]] if p.startswith("    ")]
        text = "\n\n".join(own)
        for cpp, python in PYTHON_PARAMETERS.get(name, {}).items():
            text = re.sub(rf"\b{cpp}\b", python, text)
        texts[name] = text
    return texts


text = (
    "// Written by make_texts.py from the C++ headers.\n#pragma once\n\n"
    "namespace dynet::python::texts {\n\n"
    + "\n".join(
        f'inline constexpr char {name}[] = R"({text})";\n'
        for name, text in (functions() | builders()).items()
    )
    + "\n}  // namespace dynet::python::texts\n"
)
out = Path(sys.argv[2])
if not out.exists() or out.read_text(encoding="utf-8") != text:  # else all is compiled anew
    out.write_text(text, encoding="utf-8")
