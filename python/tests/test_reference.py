"""The reference pages (docs/operations): they are what tools/reference prints, their examples run, and C++, Python,
stub and pages list the same operations.

The names are collected here once more, by other means than tools/reference has.
"""

from __future__ import annotations

import ast
import pathlib
import re
import sys

import _dynet
import dynet as dy
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "reference"))

import headers  # noqa: E402
import pages  # noqa: E402
from output import agree  # noqa: E402
from topics import ELSEWHERE, ONLY_CPP, OTHER_NAMES, PYTHON_PARAMETERS  # noqa: E402

Names = set[str]
CPP_FUNCTION = r"^(?:Expression|std::(?:array|vector)<Expression[^>]*>) (\w+|operator[^\s(])\("
# parameter and const_parameter return one node or several: Any.
NODES = ("Expression", "tuple[Expression", "list[Expression", "Any", "typing.Any")


def cpp_names() -> Names:
    headers = [*(ROOT / "include/dynet/expr").glob("*.h"), ROOT / "include/dynet/sequence.h"]
    return {n for h in headers for n in re.findall(CPP_FUNCTION, h.read_text(), re.M)}


def module_names() -> Names:
    """By the first line of the documentation, which nanobind writes."""
    names = set()
    for name, value in vars(dy).items():
        line = (getattr(value, "__doc__", None) or "").split("\n")[0].replace("dynet.", "")
        if (
            callable(value)
            and re.match(r"\w+\(.*\) -> ", line)
            and line.split(" -> ")[-1].startswith(NODES)
        ):
            names.add(name)
    return names


def stub_names() -> Names:
    stub = pathlib.Path(_dynet.__file__).parent / "dynet" / "__init__.pyi"
    tree = ast.parse(stub.read_text())
    names = {
        n.name
        for n in tree.body
        if isinstance(n, ast.FunctionDef)
        and ast.unparse(n.returns or ast.Constant(None)).startswith(NODES)
    }
    aliases = re.findall(r"^(\w+) = (\w+)$", stub.read_text(), re.M)
    names |= {a for a, of in aliases if of in names}
    return {name for name in names if not name.startswith("_")}


def page_texts() -> dict[str, str]:
    return {
        p.stem: p.read_text(encoding="utf-8")
        for p in sorted((ROOT / "docs/operations").glob("*.md"))
    }


def blocks(texts: dict[str, str], language: str) -> str:
    fence = rf"^```{re.escape(language)}\n(.*?)^```$"
    return "\n".join(b for t in texts.values() for b in re.findall(fence, t, re.M | re.S))


def differences(cpp: Names, module: Names, stub: Names, texts: dict[str, str]) -> list[str]:
    """Names that one of the four has and another lacks, except for the list in
    tools/reference/topics.py."""
    page_cpp = set(re.findall(CPP_FUNCTION, blocks(texts, "c++"), re.M))
    python = blocks(texts, "py")
    page_python = set(re.findall(r"^(\w+)\(.*\) -> ", python, re.M)) | set(
        re.findall(r"^(\w+) = \w+$", python, re.M)
    )
    index = set(re.findall(r"^\[(\w+)\]\(", texts["README"], re.M))
    functions = {n for n in cpp if not n.startswith("operator")}
    other_cpp = {re.split(r"\W", reason)[0] for reason in OTHER_NAMES.values()}
    pairs = [
        ("C++", cpp, "the pages", page_cpp),
        ("the module", module - set(ELSEWHERE), "the pages", page_python),
        ("the module", module, "the stub", stub),
        ("C++ and Python", functions | (module - set(ELSEWHERE)), "the index", index),
        (
            "C++",
            functions - set(ONLY_CPP) - (other_cpp - module),
            "Python",
            module - set(OTHER_NAMES) - set(ELSEWHERE),
        ),
        (
            "the exceptions",
            set(ONLY_CPP) | other_cpp,
            "C++",
            functions & (set(ONLY_CPP) | other_cpp),
        ),
        (
            "the exceptions",
            set(OTHER_NAMES) | set(ELSEWHERE),
            "Python",
            module & (set(OTHER_NAMES) | set(ELSEWHERE)),
        ),
    ]
    return [
        f"{name}: in {here}, not in {there}" if name in a else f"{name}: in {there}, not in {here}"
        for here, a, there, b in pairs
        for name in sorted(a ^ b)
    ]


def test_the_same_names_everywhere():
    found = differences(cpp_names(), module_names(), stub_names(), page_texts())
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["elu", "pick", "max_dim", "sum_dim", "lookup_sequence"])
def test_a_missing_name_is_seen(name: str):
    names = [cpp_names(), module_names(), stub_names()]
    for k in range(3):
        planted = [n - {name} if i == k else n for i, n in enumerate(names)]
        assert differences(*planted, page_texts())
    for page, text in page_texts().items():
        lines = [line for line in text.split("\n") if not re.match(rf"(\[|.* )?{name}[\](]", line)]
        if len(lines) < len(text.split("\n")):
            assert differences(*names, page_texts() | {page: "\n".join(lines)})


def test_a_superfluous_name_is_seen():
    names = [cpp_names(), module_names(), stub_names()]
    for k in range(3):
        planted = [n | {"fancy_norm"} if i == k else n for i, n in enumerate(names)]
        assert differences(*planted, page_texts())


@pytest.mark.skipif(
    not hasattr(_dynet, "_operations"),
    reason="the module has no descriptions of operations (DYNET_DESCRIPTIONS)",
)
def test_pages_are_what_the_operations_say():
    """If a page differs, `tools/generate-api` writes it anew. This also runs all examples."""
    written = pages.all_pages(ROOT)
    assert {p.name for p in (ROOT / pages.FOLDER).glob("*.md")} == {p.name for p in written}
    for page, text in written.items():
        assert (ROOT / page).read_text(encoding="utf-8") == text, f"{page}: run tools/generate-api"


def test_each_entry_has_an_example_that_prints():
    for page, text in page_texts().items():
        for entry in text.split("\n### ")[1:]:
            assert re.search(r"^```python\n[^`]+^```\n```text output\n[^`]+^```$", entry, re.M), (
                page,
                entry[:40],
            )


def test_agreement_is_up_to_the_last_printed_digit():
    assert agree("[0.5    1.2347]\n", "[0.4999 1.2346]\n")
    assert agree("[3 4]", "[3 4]")
    assert not agree("[0.5    1.2348]", "[0.5    1.2346]")
    assert not agree("[3 4]", "[3 5]")
    assert not agree("[3 4]", "[3 4 5]")
    assert not agree("[0.5 nan]", "[0.5 inf]")
    assert not agree("-0.0001 at x", "0.0001 at x")


def flat(text: str) -> str:
    return " ".join(text.split())


def test_header_and_help_are_one_text() -> None:
    """Functions that are written by hand: summary, shapes and errors of the header, with Python's names."""
    for key, entry in headers.keyed(headers.read_headers(ROOT)):
        written = pages.WRITTEN.get(key)
        if key.startswith(("input", "parameter", "operator", "const_")) or written is None:
            continue  # Python has its own forms, and texts, or none
        for name in written.python if written.python is not None else [key]:
            text = flat(getattr(dy, name).__doc__)
            renamed = PYTHON_PARAMETERS.get(key, {})
            for part in [
                entry.summary,
                *(f"{t}: {s}" for t, s in entry.titled.items() if t not in headers.LANGUAGES),
            ]:
                words = [
                    w for w in part.split() if not any(re.search(rf"\b{c}\b", w) for c in renamed)
                ]
                at = 0
                for word in words:
                    at = text.find(word, at)
                    assert at >= 0, (
                        f"{name}: {word!r} of {part!r} is not in the documentation of Python"
                    )


CLASS = r"((?:^/// ?.*\n)+)(?:struct|class) (\w*(?:Builder|Encoding|Schedule))\b"
#: Their headers describe the class of C++ alone.
OWN_TEXTS = {"BiRNNBuilder", "DeepLSTMBuilder"}


def test_header_and_help_of_builders_are_one_text() -> None:
    """Each paragraph of a class's comment, but for what is true in C++ alone."""
    found = set()
    for header in sorted((ROOT / "include" / "dynet").rglob("*.h")):
        for comment, name in re.findall(CLASS, header.read_text(), re.M):
            if not hasattr(dy, name) or name in OWN_TEXTS:
                continue
            found.add(name)
            text = flat(getattr(dy, name).__doc__)
            for paragraph in re.sub(r"(?m)^/// ?", "", comment).split("\n\n"):
                words = flat(
                    re.sub(r"^Python: ", "", re.sub(r" \(\w+ has the formula\)", "", paragraph))
                )
                for cpp, python in PYTHON_PARAMETERS.get(name, {}).items():
                    words = re.sub(rf"\b{cpp}\b", python, words)
                if not words.startswith("C++: "):
                    assert words[:1].upper() + words[1:] in text or words in text, (
                        f"{name}: {words}"
                    )
    written = {
        n
        for n in dir(dy)
        if n.endswith(("Builder", "Encoding", "Schedule")) and isinstance(getattr(dy, n), type)
    }
    assert written - found - OWN_TEXTS == {"LSTMBuilder"}  # another name of one of them


def test_functions_say_their_shapes() -> None:
    own_form = {"apply", "parameter", "const_parameter"}
    without = {n for n in module_names() - own_form if "Shapes: " not in getattr(dy, n).__doc__}
    assert without == set()
