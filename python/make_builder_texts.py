"""Writes builder_texts.h: the documentation of builders that C++ and Python have alike.

    make_builder_texts.py ROOT OUT

The comment before a class in a C++ header is the one text, with the formula of a step, and the
names, shapes and order of the parameters. Python's text has no sentence about a member that C++
alone has, and ends with the sentences below.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HEADERS = ("rnn", "gru", "lstm", "fast-lstm", "treelstm", "tree-builders")
#: Builders whose formula stands at their base.
BASE = "StandardLSTMBuilder"
STANDARD = ("VanillaLSTMBuilder", "SparseLSTMBuilder", "CompactVanillaLSTMBuilder")
PYTHON = {
    "CoupledLSTMBuilder": "It is `LSTMBuilder`, unless the program starts with DYNET_LSTM=vanilla "
    "or --dynet-lstm vanilla. A call with `ln_lstm` or `forget_bias` makes a "
    "`VanillaLSTMBuilder`, which has them.",
}
#: Parts of sentences that are other ones in Python, which has no members with these names.
REPLACED = {
    ", and with `support_lags` l2h {h,h}": "",
    "then `ln_params` has, made in": "its parameters are made in",
    " (StandardLSTMBuilder has the formula)": "",
    "Two such LSTMs": "Two standard LSTMs",
}
#: A sentence with one of these is left out: members of C++ alone.
CPP_ALONE = ("`params`", "`lparams`")
COMMENT = re.compile(r"((?:^/// ?.*\n)+)(?:struct|class) (\w+Builder)\b", re.M)


def paragraphs(comment: str) -> list[str]:
    """Text on one line each, formulas as they stand, behind four spaces."""
    lines = [line.removeprefix("///").removeprefix(" ") for line in comment.splitlines()]
    found = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    return [
        re.sub(r"(?m)^ +", "    ", p) if p.startswith("  ") else " ".join(p.split()) for p in found
    ]


def is_formula(paragraph: str) -> bool:
    return paragraph.startswith("    ")


def for_python(paragraph: str) -> str:
    if is_formula(paragraph):
        return paragraph
    for cpp, python in REPLACED.items():
        paragraph = paragraph.replace(cpp, python)
    sentences = re.split(r"(?<=\.) +", paragraph)
    return " ".join(s for s in sentences if not any(name in s for name in CPP_ALONE))


def texts(root: Path) -> dict[str, str]:
    """By class, in the order of the headers."""
    comments = {}
    for name in HEADERS:
        header = (root / "include" / "dynet" / f"{name}.h").read_text(encoding="utf-8")
        comments |= {match[2]: paragraphs(match[1]) for match in COMMENT.finditer(header)}
    everything = "\n".join(p for parts in comments.values() for p in parts)
    if missing := [text for text in (*REPLACED, *CPP_ALONE) if text not in everything]:
        raise SystemExit(f"make_builder_texts.py: no comment has {missing}")
    result = {}
    for name, own in comments.items():
        if name in STANDARD:
            own = [own[0], *base_paragraphs(comments[BASE], name), *own[1:]]
        if name in PYTHON:
            own = [*own, PYTHON[name]]
        result[name] = "\n\n".join(filter(None, map(for_python, own)))
    return result


def base_paragraphs(base: list[str], name: str) -> list[str]:
    """The formula; and the option of one class alone in Python."""
    return [p for p in base if is_formula(p) or ("`ln_lstm`" in p and name == "VanillaLSTMBuilder")]


def main() -> None:
    found = texts(Path(sys.argv[1]))
    constants = [f'inline constexpr char {n}[] = R"({text})";\n' for n, text in found.items()]
    text = (
        "// Written by make_builder_texts.py from the C++ headers.\n#pragma once\n\n"
        "namespace dynet::python::builder_texts {\n\n"
        + "\n".join(constants)
        + "\n}  // namespace dynet::python::builder_texts\n"
    )
    out = Path(sys.argv[2])
    if not out.exists() or out.read_text(encoding="utf-8") != text:  # else all is compiled anew
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
