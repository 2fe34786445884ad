"""Table 6: characters of code, without comments, documentation and white space."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
CPP = ROOT / "examples" / "cpp"
PYTHON = ROOT / "examples" / "python"
TWINS = Path(__file__).parent / "twins"

# Comments; and strings and characters, which may look like comments inside and stay.
_CPP_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_BLANK = re.compile(r"\s+")


def count_cpp(text: str) -> int:
    def keep(found: re.Match[str]) -> str:
        return "" if found.group().startswith("/") else found.group()

    return len(_BLANK.sub("", _CPP_TOKEN.sub(keep, text)))


def count_python(text: str) -> int:
    docs = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            docs.add((node.body[0].lineno, node.body[0].col_offset))
    size = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT and token.start not in docs:
            size += len(_BLANK.sub("", token.string))
    return size


def count(file: Path) -> int:
    text = file.read_text(encoding="utf-8")
    return count_python(text) if file.suffix == ".py" else count_cpp(text)


# The model alone, each in its natural form; trees are one file in ours as well.
MODELS = {
    "language model": ("rnnlm", "rnnlm"),
    "tagger, with characters": ("tagger", "tagger"),
    "tree LSTM": ("tree", "tree_lstm"),
}


def render() -> str:
    """Markdown."""
    lines = [
        "| model | C++ | Python | PyTorch one by one | PyTorch by hand |",
        "| --- | --: | --: | --: | --: |",
    ]
    for title, (ours, twin) in MODELS.items():
        cells = [
            count(CPP / f"{ours}_model.h"),
            count(PYTHON / f"{ours}_model.py"),
            count(TWINS / f"{twin}_one_by_one.py"),
            count(TWINS / f"{twin}_by_hand.py"),
        ]
        lines.append("| " + " | ".join([title, *(f"{n:,}" for n in cells)]) + " |")
    return "\n".join(lines) + "\n"
