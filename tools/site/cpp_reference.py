"""The reference of the C++ headers: the essay that a header opens with, and its declarations.

Code between `///` comments is shown as it stands, without private parts and without bodies.
Functions that add nodes have pages of their own, docs/operations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# Folders of public headers, with titles; expr/ is docs/operations.
FOLDERS = [
    ("", "What programs include"),
    ("trainers", "Trainers"),
    ("text", "Text"),
    ("workers", "Workers"),
    ("ext", "For operations of your own"),
]
# Nothing but includes, macros of DyNet 2.1, or operations.
LEFT_OUT = {"dynet.h", "expr.h", "nodes.h", "param-nodes.h", "exec.h", "gpu-ops.h", "sequence.h"}
OPENS = re.compile(r"\b(?:class|struct|enum|union)\b")
NAME = re.compile(
    r"\b(?:class|struct|enum class|enum|concept|using|namespace)\s+(?:\[\[\w+\]\]\s*)?(\w+)"
)


@dataclass
class Declaration:
    comment: list[str]
    code: list[str]

    @property
    def name(self) -> str:
        text = " ".join(line for line in self.code if not line.strip().startswith("//"))
        text = re.sub(r"^\s*(template\s*<.*?>\s+)?(\[\[nodiscard\]\]\s*)?", "", text)
        head = re.split(r"[{;]", text)[0]
        if found := NAME.match(head.removeprefix("inline constexpr ")):
            return found[1]
        if found := re.search(r"([\w:~]+|operator\S+)\s*\(", head):
            return found[1] + "()"
        found = re.search(r"(\w+)\s*(?:=.*)?$", head.strip())
        return found[1] if found else head.strip()


def without_strings(line: str) -> str:
    line = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', line)
    return line.split("//")[0]


def without_private(code: list[str]) -> list[str]:
    """A class without its private part, and functions without bodies of several lines."""
    kept, hidden, depth, body = [], False, 0, 0
    for line in code:
        plain = without_strings(line)
        opened, closed = plain.count("{"), plain.count("}")
        if depth == 1 and re.match(r"\s*(private|public|protected):", plain):
            hidden = plain.strip().startswith("private")
        if body:
            body += opened - closed
        elif not hidden or depth + opened - closed == 0:
            if opened > closed and ")" in plain and not OPENS.search(plain):
                body = opened - closed
                line = re.sub(r"\s*(:\s.*)?\{.*$", ";", line)
            kept.append(line)
        depth += opened - closed
    return kept


def essay(lines: list[str]) -> list[str]:
    """The comment below `#pragma once`, as paragraphs."""
    text = []
    for line in lines[1:]:
        if line.startswith("//"):
            text.append(re.sub(r"^// ?", "", line))
        elif line.strip():
            break
    return text


def declarations(lines: list[str]) -> list[Declaration]:
    """The contents of the namespaces of a header, except namespaces called detail."""
    found: list[Declaration] = []
    comment: list[str] = []
    code: list[str] = []
    depth, skipped = 0, None
    for line in lines:
        plain = without_strings(line)
        stripped = plain.strip()
        change = plain.count("{") - plain.count("}")
        if skipped is not None:
            depth += change
            if depth <= skipped:
                skipped = None
            continue
        if not code:
            if line.strip().startswith("///"):
                comment.append(re.sub(r"^\s*///<? ?", "", line))
                continue
            if opened := re.match(r"\s*(?:inline )?namespace\s*([\w:]*)", plain):
                if "{" in plain and ("detail" in opened[1] or not opened[1]):
                    skipped = depth
                depth += change
                comment = []
                continue
            if stripped == "template <int = 0>":  # a function that DyNet 2.1 lacks
                continue
            if not stripped or stripped.startswith("#") or stripped == "}":
                depth += change
                comment = [] if not stripped else comment
                continue
        code.append(line)
        depth_in = sum(without_strings(c).count("{") - without_strings(c).count("}") for c in code)
        if depth_in == 0 and re.search(r"[;}]\s*$", plain):
            if comment:
                found.append(Declaration(comment, without_private(code)))
            elif found and not re.match(r"\s*(class|struct)\s+\w+;", plain):
                found[-1].code += without_private(code)  # another form of it
            comment, code = [], []
    return found


def escaped(text: str) -> str:
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<*|\[])", r"\\\1", p) for p in parts)


def page(header: Path, root: Path) -> str:
    lines = header.read_text(encoding="utf-8").splitlines()
    title = str(header.relative_to(root / "include"))
    first = next(i for i, line in enumerate(lines) if line.startswith("#pragma once"))
    text = [f"# {title}", "", *map(escaped, essay(lines[first:])), ""]
    body = first + 1
    while body < len(lines) and (lines[body].startswith("//") or not lines[body].strip()):
        body += 1
    for one in declarations(lines[body:]):
        text += [
            f"## {one.name}",
            "",
            *map(escaped, one.comment),
            "",
            "```cpp",
            *one.code,
            "```",
            "",
        ]
    return "\n".join(text)


def pages(root: Path) -> dict[str, str]:
    """Texts by file name; index.md has links to all."""
    result, index = {}, ["# C++: headers", "",
        "The public headers in `include/dynet`. Functions that add nodes to a graph are among the "
        "[operations](../../docs/operations/README.md).", ""]  # fmt: skip
    for folder, title in FOLDERS:
        index += [f"## {title}", "", "```{toctree}", ":maxdepth: 1", ""]
        for header in sorted((root / "include" / "dynet" / folder).glob("*.h")):
            if not folder and header.name in LEFT_OUT:
                continue
            text = page(header, root)
            if "\n## " not in text:
                continue
            name = f"{folder}-{header.stem}" if folder else header.stem
            result[f"{name}.md"] = text
            index.append(name)
        index += ["```", ""]
    result["index.md"] = "\n".join(index)
    return result
