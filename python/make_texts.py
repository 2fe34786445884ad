"""Writes texts.h: the documentation of functions and classes that C++ and Python have alike.

    make_texts.py OUT

Prints the headers that CMake has to watch.

The comments of the C++ headers are the one text. Python's form has Python's names of parameters,
and lacks the text behind "C++:", which is true in C++ alone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "reference"))

from classes import bases_of, class_headers, read_classes  # noqa: E402
from headers import Entry, keyed, read_header, read_headers  # noqa: E402
from topics import PYTHON_PARAMETERS  # noqa: E402

INCLUDE = ROOT / "include" / "dynet"
HEADERS = class_headers(ROOT)


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


# ---- classes

COUNTED = re.compile(r"(.*)#(\d+)$")
ELSEWHERE = re.compile(r" \((\w+) has the formula\)")


def paragraphs(comment: str) -> list[str]:
    """Text on one line each, formulas as they stand, behind four spaces."""
    comment = re.sub(r"(?m)^(Shapes: |`[^`]*`$)", r"\n\1", comment)
    found = re.split(r"\n\s*\n", comment.strip("\n"))
    found = [f"  {p[1:-1]}" if re.fullmatch(r"`[^`]*`", p) else p for p in found]
    return [
        re.sub(r"(?m)^  ", "    ", p) if p.startswith("  ") else " ".join(p.split()) for p in found
    ]


def of_class(comment: str, comments: dict[str, str], names: dict[str, str]) -> str:
    """Python's form of a comment; empty if all of it is about C++."""
    own = []
    for part in paragraphs(comment):
        if part.startswith("Python: "):
            own.append(capital(part.removeprefix("Python: ")))
        elif not part.startswith("C++: "):
            own.append(ELSEWHERE.sub("", part))
        if base := ELSEWHERE.search(part):
            own += [p for p in paragraphs(comments[base[1]]) if p.startswith("    ")]
    text = "\n\n".join(own)
    for cpp, python in names.items():
        text = re.sub(rf"\b{cpp}\b", python, text)
    text = re.sub(r"\b([A-Z]\w+)::(\w+)", r"\1.\2", text)
    return text.replace("std::runtime_error", "RuntimeError")


def classes() -> tuple[dict[str, str], dict[str, list[str]]]:
    """Texts by "Class" and "Class_member", and the bases of the classes."""
    comments: dict[str, str] = {}
    bases: dict[str, list[str]] = {}
    for header in HEADERS:
        read = read_classes(header)
        comments |= read.texts
        bases |= read.bases
    texts: dict[str, str] = {}
    for key, comment in comments.items():
        if not COUNTED.sub(r"\1", key).replace(".", "_").isidentifier():
            continue  # operators and destructors
        names = PYTHON_PARAMETERS.get(key.split(".")[0], {})
        if text := of_class(comment, comments, names):
            texts[key] = "\n\n".join(renamed(part, key) for part in text.split("\n\n"))
    named = {COUNTED.sub(r"\1_\2", key).replace(".", "_"): text for key, text in texts.items()}
    return named, bases


NAMED = re.compile(r"\w+(Builder|Encoding|Trainer)")


def named(texts: dict[str, str], bases: dict[str, list[str]]) -> list[str]:
    """Rows of a table, for bindings that are written once for several classes: "Class.member" and
    the constant that has its text, if need be a base's."""
    rows = {}
    for name in filter(NAMED.fullmatch, bases):
        for base in [name, *bases_of(name, bases)]:
            for key in texts:
                if key == name:
                    rows[name] = key
                elif key.startswith(f"{base}_"):
                    rows.setdefault(f"{name}.{key.removeprefix(f'{base}_')}", key)
    return [f'    {{"{row}", {key}}},' for row, key in sorted(rows.items())]


def main() -> None:
    own, bases = classes()
    texts = functions() | own
    text = (
        "// Written by make_texts.py from the C++ headers.\n#pragma once\n\n"
        "#include <string_view>\n\nnamespace dynet::python::texts {\n\n"
        + "\n".join(
            f'inline constexpr char {name}[] = R"({text})";\n' for name, text in texts.items()
        )
        + "\nstruct Named {\n  std::string_view name;\n  const char* text;\n};\n"
        + "inline constexpr Named kNamed[] = {\n"
        + "\n".join(named(own, bases))
        + "\n};\n\n}  // namespace dynet::python::texts\n"
    )
    out = Path(sys.argv[1])
    if not out.exists() or out.read_text(encoding="utf-8") != text:  # else all is compiled anew
        out.write_text(text, encoding="utf-8")
    print(
        ";".join(map(str, [INCLUDE / "sequence.h", INCLUDE / "structured.h", *HEADERS])), end=""
    )  # for CMake


if __name__ == "__main__":
    main()
