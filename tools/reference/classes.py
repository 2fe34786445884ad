"""Reads the comments of the public classes of a C++ header, and of their members.

In: a header of include/dynet. Out: texts by "Class" and "Class.member"; the second member of a name
is "Class.member#2", unless it has no comment of its own. Private and protected members have none.
"""

from __future__ import annotations

import re
from pathlib import Path

#: Headers whose classes programs of both languages have; text/ and trainers/ are whole folders.
HEADERS = (
    *("adaptive-softmax", "attention", "beam", "cfsm-builder", "checkpoint", "crf-builder"),
    *("devices", "dict", "distributed", "dynet", "errors", "evaluating", "expression", "fast-lstm"),
    *("gru", "hsm-builder", "inference", "lstm", "model", "param-init", "rnn", "safetensors"),
    *("sampled-softmax", "semi-crf-builder", "transformer", "tree-builders", "treelstm"),
)
CLASS = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:class|struct)\s+(\w+)(?:\s+final)?\s*(?::([^:].*))?$", re.S
)
ACCESS = re.compile(r"(public|private|protected):$")


def without_literals(line: str) -> str:
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', line)


def member_of(statement: str) -> str:
    """The name that a declaration in a class declares."""
    head = re.sub(r"^template\s*<.*?>\s+", "", statement)
    if found := re.match(r"[^=]*?(~?\w+|operator\W+)\s*\(", head):
        return found[1]
    names = re.findall(r"\w+", head.split("=")[0].split("{")[0].split("[")[0])
    return names[-1] if names else ""


class Reader:
    """Goes through a header character by character; a scope is a class, its access, or other."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.scopes: list[tuple[str, str]] = []  # a class's name, or "", and what is read now
        self.comment: list[str] = []
        self.statement = ""
        self.count: dict[str, int] = {}
        self.bases: dict[str, list[str]] = {}

    def add(self, key: str) -> None:
        if not self.comment:
            return
        self.count[key] = self.count.get(key, 0) + 1
        more = f"#{self.count[key]}" if self.count[key] > 1 else ""
        self.texts[key + more] = "\n".join(self.comment)

    def declare(self) -> None:
        """The end of a declaration, or of its head."""
        found = CLASS.match(self.statement.strip())
        if found and not self.statement.endswith(";"):
            self.add(found[1])
        elif self.scopes and self.scopes[-1][0] and self.scopes[-1][1] == "public":
            self.add(f"{self.scopes[-1][0]}.{member_of(self.statement)}")
        self.comment = []

    def opened(self) -> None:
        head = self.statement.strip()
        found = CLASS.match(head)
        inside = not self.scopes or bool(self.scopes[-1][0]) or self.scopes[-1][1] == "namespace"
        if found and inside:
            self.declare()
            named = re.sub(r"<.*>|\bpublic\b|\bvirtual\b|\w+::", "", found[2] or "")
            self.bases[found[1]] = re.findall(r"\w+", named)
            access = "private" if re.search(r"\bclass\s", head) else "public"
            self.scopes.append((found[1], access))
        elif head == "union":  # its members are the class's
            self.scopes.append(self.scopes[-1])
        elif head.startswith(("namespace", "inline namespace")):
            self.scopes.append(("", "namespace"))
        else:
            if inside:
                self.declare()
            self.scopes.append(("", "other"))
        self.statement = ""

    def line(self, line: str) -> None:
        stripped = line.strip()
        if stripped.startswith("///") and not stripped.startswith("///<"):
            self.comment.append(stripped.removeprefix("///").removeprefix(" "))
            return
        code, _, trailing = without_literals(line).partition("//")
        if not code.strip() or code.startswith("#"):
            return
        if found := ACCESS.match(code.strip()):
            if self.scopes and self.scopes[-1][0]:
                self.scopes[-1] = (self.scopes[-1][0], found[1])
            return
        if trailing.startswith("/< ") and (not self.scopes or self.scopes[-1][1] != "other"):
            self.comment = [trailing.removeprefix("/< ").strip()]
        for character in code + " ":
            if character == "{" and self.statement.count("(") == self.statement.count(")"):
                self.opened()
            elif character == "}" and self.statement.count("(") == self.statement.count(")"):
                self.scopes.pop()
                self.statement = ""
            elif character == ";" and self.statement.count("(") == self.statement.count(")"):
                if self.statement.strip():
                    self.statement += ";"
                    self.declare()
                self.statement = ""
            else:
                self.statement += character


def read_classes(path: Path) -> Reader:
    reader = Reader()
    for line in path.read_text(encoding="utf-8").splitlines():
        reader.line(line)
    return reader


def class_headers(root: Path) -> list[Path]:
    include = root / "include" / "dynet"
    folders = [p for folder in ("text", "trainers") for p in sorted((include / folder).glob("*.h"))]
    return [include / f"{name}.h" for name in HEADERS] + folders


def bases_of(name: str, bases: dict[str, list[str]]) -> list[str]:
    """All bases of a class, the nearest first."""
    found = list(bases.get(name, ()))
    for base in found:
        found += [b for b in bases.get(base, ()) if b not in found]
    return found
