"""Reads the C++ headers of the functions: declarations, and the comments before them.

In: include/dynet/expr/*.h and include/dynet/sequence.h. Comments of generated headers
(tools/generate-api) and of hand-written ones have one form, which is read here: a summary, a
formula in backticks on a line of its own, notes about parameters ("`name`: ..."), and TITLES, each
beginning a line.
Out: entries, one for each comment with the declarations that follow it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

LANGUAGES = ("C++", "Python")  # what is true in one language alone
TITLES = ("Shapes", "Results", "Errors", *LANGUAGES, "Source")
NOTICE = "// Written by tools/generate-api"
# How a parameter's type is written for readers, who need not know how the user's line gets there.
READABLE = [
    ("template <int = 0> ", ""),  # a function that DyNet 2.1 lacks
    ("const detail::LocatedGraph& g", "ComputationGraph& g"),
    ("const detail::Located&", "const Expression&"),
    ("Where where = Where::here()", ""),
]
POINTER = re.compile(r"detail::Pointer<((?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*)>")


@dataclass
class Declaration:
    """``Expression elu(const Expression& x, float alpha = 1.0F)``, as readers should see it."""

    name: str
    result: str
    parameters: list[str]

    @property
    def text(self) -> str:
        return f"{self.result} {self.name}({', '.join(self.parameters)});"

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        plain = (p.split("=")[0].strip() for p in self.parameters)
        return [re.split(r"[\s&*]+", p)[-1] for p in plain]

    @property
    def given(self) -> list[str]:
        """Names of the parameters that take part in the result: not the graph and the device."""
        place = ("ComputationGraph&", "Device* device")
        return [n for n, p in zip(self.names, self.parameters) if not p.startswith(place)]

    @property
    def operator(self) -> str:
        """``+`` of ``operator+``, else nothing."""
        return self.name.removeprefix("operator") if self.name.startswith("operator") else ""


@dataclass
class Entry:
    """One comment and its declarations."""

    header: str  # "activation"
    generated: bool
    declarations: list[Declaration] = field(default_factory=list)
    summary: str = ""
    formula: str = ""
    notes: list[str] = field(default_factory=list)
    titled: dict[str, str] = field(default_factory=dict)  # "Shapes": "any -> the same."

    @property
    def names(self) -> list[str]:
        """C++ names, each once."""
        return list(dict.fromkeys(d.name for d in self.declarations))


def parameters_of(text: str) -> list[str]:
    """Splits at the commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text + ","):
        depth += (char in "(<{[") - (char in ")>}]")
        if char == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [p for p in parts if p]


def declaration_of(text: str) -> Declaration:
    for written, readable in READABLE:
        text = text.replace(written, readable)
    text = POINTER.sub(r"const \1*", " ".join(text.split()))
    match = re.fullmatch(r"(.*?)\s*(operator\S|\w+)\((.*)\)", text)
    if match is None:
        raise ValueError(f"no declaration of a function: {text}")
    return Declaration(match[2], match[1], parameters_of(match[3]))


def read_comment(entry: Entry, lines: list[str]) -> None:
    items: list[str] = []
    titled = re.compile("(?:" + "|".join(map(re.escape, TITLES)) + "): |`\\w+`: |`[^`]*$|`[^`]*`$")
    for line in filter(None, lines):
        if not items or (not is_open(items[-1]) and (titled.match(line) or is_whole(items[-1]))):
            items.append(line)
        else:
            items[-1] += " " + line
    for item in items:
        title = item.split(":")[0]
        if title in TITLES:
            entry.titled[title] = item[len(title) + 2 :]
        elif is_whole(item):
            entry.formula = item[1:-1]
        elif re.match(r"`\w+`: ", item):
            entry.notes.append(item)
        else:
            entry.summary += (" " if entry.summary else "") + item


def is_open(item: str) -> bool:
    """A formula that goes on."""
    return item.startswith("`") and item.count("`") == 1


def is_whole(item: str) -> bool:
    """A formula and nothing else."""
    return re.fullmatch(r"`[^`]*`", item) is not None


def read_header(path: Path) -> list[Entry]:
    text = path.read_text(encoding="utf-8")
    entries: list[Entry] = []
    comment: list[str] = []
    statement = ""
    inside = False
    for line in text.splitlines():
        stripped = line.strip()
        if stripped == "namespace dynet {":
            inside = True
        elif not inside or stripped.startswith("}  // namespace"):
            continue
        elif stripped.startswith("///"):
            comment.append(stripped.removeprefix("///").strip())
        elif stripped:
            statement += " " + stripped
            if stripped.endswith(";"):
                if "(" not in statement:  # a constant
                    comment, statement = [], ""
                    continue
                if comment:
                    entries.append(Entry(path.stem, NOTICE in text))
                    read_comment(entries[-1], comment)
                    comment = []
                entries[-1].declarations.append(declaration_of(statement.strip()[:-1]))
                statement = ""
    return entries


def read_headers(root: Path) -> list[Entry]:
    """All functions that make nodes, header by header."""
    folder = root / "include" / "dynet" / "expr"
    left_out = {"all", "arguments"}
    paths = [p for p in sorted(folder.glob("*.h")) if p.stem not in left_out]
    paths.append(folder.parent / "sequence.h")
    return [entry for path in paths for entry in read_header(path)]


def keyed(entries: list[Entry]) -> list[tuple[str, Entry]]:
    """Entries written by hand under each of their names: "input", "input#2" for the next one of that name."""
    count: dict[str, int] = {}
    keys = []
    for entry in entries:
        for name in [] if entry.generated else entry.names:
            count[name] = count.get(name, 0) + 1
            keys.append((name if count[name] == 1 else f"{name}#{count[name]}", entry))
    return keys
