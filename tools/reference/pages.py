"""Puts headers, module, topics and examples together, and prints the pages.

An entry of a page is one comment of a C++ header: its functions, with their names in Python, a
description, and an example. The pages are complete: an operation without a topic, a function
without an example, a name that one language lacks are mistakes, and raise Missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import examples
from headers import LANGUAGES, TITLES, Entry, keyed, read_headers
from output import agree
from python_side import SYMBOLS, Function, Module, read_module
from topics import ELSEWHERE, ONLY_CPP, TOPICS, WRITTEN, Topic

FOLDER = Path("docs") / "operations"
NOTICE = "<!-- Written by tools/generate-api from the operations, the headers and tools/reference. Not to be edited. -->"


class Missing(Exception):
    """Something that a page needs is not there."""


@dataclass
class Item:
    """An entry with its part in Python."""

    entry: Entry
    forms: list[Function] = field(default_factory=list)
    operation: dict[str, Any] | None = None
    key: str = ""  # of a function written by hand: its key in WRITTEN
    anchor: str = ""  # on its page

    @property
    def is_operator(self) -> bool:
        return bool(self.entry.declarations[0].operator)

    @property
    def title(self) -> str:
        first = self.entry.declarations[0]
        if self.is_operator:
            names = first.names if len(first.names) == 2 else ["", first.names[0]]
            return f"{names[0]} {first.operator} {names[1]}".strip().replace(
                "- ", "-" if not names[0] else "- "
            )
        return f"{', '.join(self.entry.names)}({', '.join(first.given)})"

    @property
    def python_operators(self) -> list[str]:
        """How Python writes it: "x + a" and "a + x"."""
        first = self.entry.declarations[0]
        if self.key:
            return [f"{first.names[0]} {first.operator} {first.names[1]}"] if first.operator else []
        op = self.operation or {}
        if op["python"] == "__neg__":
            return [f"-{first.names[0]}"]
        names = list(op["args"]) + [op["payload"]] * bool(op["payload"])
        written = []
        for dunder in (op["python"], op["mirrored"]):
            if dunder in SYMBOLS:
                left, right = reversed(names) if dunder.startswith("__r") else names
                written.append(f"{left} {SYMBOLS[dunder]} {right}")
        return written

    @property
    def python_names(self) -> list[str]:
        return list(dict.fromkeys(f.name for f in self.forms))


# ---- finding pages that belong together


def match_operations(entries: list[Entry], module: Module) -> list[Item]:
    """Items of the generated headers. Summary and formula say which operation an entry is."""
    by_text = {(o["summary"], o["formula"]): o for o in module.operations}
    items = []
    for entry in entries:
        if not entry.generated:
            continue
        operation = by_text.get((entry.summary, entry.formula))
        if operation is None:
            raise Missing(
                f"the module has no operation with the text of {entry.names[0]} in "
                f"dynet/expr/{entry.header}.h: build the module anew"
            )
        names = [operation["python"], operation["python_batch"]]
        forms = [f for n in names for f in module.forms(n) if entry.summary in f.documentation]
        if not forms and operation["python"] == "-" and not operation["mirrored"]:
            # Bound by hand.
            forms = module.forms(entry.names[0])
            operation = operation | {"python": entry.names[0]}
        items.append(Item(entry, forms, operation))
    return items


def match_written(entries: list[Entry], module: Module) -> list[Item]:
    """Items of the headers written by hand, with their operation if they add one node of it."""
    taken = {o["summary"] for o in module.operations if o["python"] != "-"}
    by_name = {o["name"]: o for o in module.operations}
    items = []
    for key, entry in keyed(entries):
        name = entry.names[0]
        if not key.startswith(name):
            continue  # a second name of the entry
        if key not in WRITTEN:
            raise Missing(
                f"{key} of dynet/expr/{entry.header}.h has no line in WRITTEN of tools/reference/topics.py"
            )
        written = WRITTEN[key]
        names = entry.names if written.python is None else written.python
        forms = [f for n in names for f in module.forms(n)
                 if not any(summary in f.documentation for summary in taken)]  # fmt: skip
        own = by_name.get(name, {"python": ""})
        operation = (
            by_name[written.operation]
            if written.operation
            else own
            if own["python"] == "-"
            else None
        )
        items.append(Item(entry, forms, operation, key))
    return items


def items_of(topic: Topic, items: list[Item]) -> list[Item]:
    """The items of one page, with the anchors that GitHub gives their titles."""
    generated = [i for f in topic.families for i in items if not i.key and i.entry.header == f]
    by_key = {i.key: i for i in items if i.key}
    of_page = generated + [by_key[k] for k in topic.functions]
    seen: dict[str, int] = {}
    for item in of_page:
        slug = re.sub(r"[^\w\- ]", "", item.title.lower()).replace(" ", "-")
        item.anchor = f"{slug}-{seen[slug]}" if slug in seen else slug
        seen[slug] = seen.get(slug, 0) + 1
    return of_page


def all_topics(items: list[Item]) -> list[tuple[Topic, list[Item]]]:
    families = {f for t in TOPICS for f in t.families}
    functions = {f for t in TOPICS for f in t.functions}
    for item in items:
        if (item.key and item.key not in functions) or (
            not item.key and item.entry.header not in families
        ):
            what = item.key or f"the family {item.entry.header}"
            raise Missing(f"{what} is in no topic of tools/reference/topics.py")
    for item in items:
        if "Shapes" not in item.entry.titled:
            raise Missing(
                f"the comment of {item.entry.names[0]} in dynet/expr/{item.entry.header}.h has no line that begins "
                "with Shapes (clang-format joins lines where one has over 100 columns)"
            )
    here = {item.key or item.entry.header for item in items}
    if lost := sorted((families | functions | set(WRITTEN)) - here):
        raise Missing(f"{', '.join(lost)} of tools/reference/topics.py: no header has that")
    return [(topic, items_of(topic, items)) for topic in TOPICS]


# ---- one entry


def kind_text(item: Item) -> str:
    op = item.operation
    if op is None:
        return "a composition of other operations"
    if op["kind"] == "leaf":
        return "a leaf; nothing is computed"
    if op["kind"] == "view":
        return "a view; nothing is computed, it has the memory of its argument"
    kind = {"elementwise": "elementwise", "rows": "a rule over rows", "loops": "loops"}[op["kind"]]
    if "whole" in op["roles"]:
        return kind + "; the examples of a batch are mixed (whole)"
    names = op["args"] if item.key else item.entry.declarations[0].given
    each = ", ".join(f"`{n}` {r}" for n, r in zip(names, op["roles"]))
    return f"{kind}; {each}" if each else kind


def gradient_notes(item: Item) -> list[str]:
    if item.operation is None or item.operation["gradient_in_operations"]:
        return []
    return ["* No gradient of a gradient: `gradient` refuses this operation."]


def renamed(item: Item) -> str:
    """Parameters that have another name in Python."""
    if item.is_operator or not item.forms:
        return ""
    cpp = item.entry.declarations[0].given
    python = item.forms[0].parameters
    pairs = [(c, p) for c, p in zip(cpp, python) if c != p]
    in_another_order = set(cpp) <= set(python)
    if len(cpp) > len(python) or not pairs or in_another_order or item.key:
        return ""
    return ", ".join(f"`{c}` is `{p}`" for c, p in pairs)


def signatures(item: Item, aliases: dict[str, str]) -> list[str]:
    lines = ["```c++"]
    declarations = item.entry.declarations
    for d in declarations:
        if any("initializer_list" in p for p in d.parameters) and len(declarations) > 1:
            continue  # a list in braces: the form with a vector beside it says enough
        lines.append(d.text)
    lines.append("```")
    if item.python_operators:
        lines += ["```py", *item.python_operators, "```"]
    elif item.forms:
        lines += ["```py", *dict.fromkeys(f.signature for f in item.forms)]
        lines += [f"{a} = {of}" for a, of in aliases.items() if of in item.python_names]
        lines.append("```")
    return lines


def entry_text(item: Item, code: str, printed: str, aliases: dict[str, str]) -> str:
    entry = item.entry
    lines = [f"### {item.title}", "", entry.summary, ""]
    if entry.formula:
        lines += [f"`{entry.formula}`", ""]
    lines += [*signatures(item, aliases), ""]
    lines += [f"* {note}" for note in entry.notes]
    if other := renamed(item):
        lines.append(f"* In Python {other}.")
    if not item.forms and not item.python_operators:
        lines.append(f"* In Python: {ONLY_CPP[entry.names[0]]}.")
    lines += [f"* {'In ' * (title in LANGUAGES)}{title}: {entry.titled[title]}"
              for title in TITLES if title in entry.titled]  # fmt: skip
    lines += [
        f"* Kind: {kind_text(item)}.",
        *gradient_notes(item),
        "",
        "```python",
        code + "```",
        "```text output",
        printed + "```",
        "",
    ]
    return "\n".join(lines) + "\n"


# ---- pages


def code_of(item: Item) -> str:
    if item.key:
        seed = examples.SEED if "random" in item.key or item.key == "sample_categorical" else ""
        return seed + WRITTEN[item.key].example
    defaults = item.forms[0].defaults if item.forms else {}
    return examples.operation_example(item.operation or {}, defaults)


def kept_outputs(page: Path) -> dict[str, str]:
    """The outputs of the examples that the page has now."""
    if not page.exists():
        return {}
    blocks = re.findall(
        r"^```python\n(.*?)^```\n```text output\n(.*?)^```$",
        page.read_text(encoding="utf-8"),
        re.M | re.S,
    )
    return dict(blocks)


def topic_page(root: Path, topic: Topic, items: list[Item], aliases: dict[str, str]) -> str:
    codes = [code_of(item) for item in items]
    try:
        outputs = examples.run(codes)
    except Exception as error:
        raise Missing(f"an example of {topic.page} does not run: {error}") from error
    kept = kept_outputs(root / FOLDER / f"{topic.page}.md")
    texts = []
    for item, code, printed in zip(items, codes, outputs):
        old = kept.get(code, "")
        texts.append(entry_text(item, code, old if agree(printed, old) else printed, aliases))
    links = ", ".join(f"[{i.title}](#{i.anchor})" for i in items)
    head = [NOTICE, f"# {topic.title}", "", topic.text, "", links, "",
            "All [operations](README.md). The examples of this page begin with", "",
            "```python", examples.PRELUDE + "```", ""]  # fmt: skip
    return "\n".join(head) + "\n" + "\n".join(texts).rstrip("\n") + "\n"


def without_gradient(topics: list[tuple[Topic, list[Item]]], module: Module) -> str:
    """The operations of which `gradient` cannot make nodes, with links."""
    links: dict[str, str] = {}
    for topic, items in topics:
        for item in items:
            if item.operation:
                links.setdefault(item.operation["name"], f"{topic.page}.md#{item.anchor}")
    names = sorted(o["name"] for o in module.operations if not o["gradient_in_operations"])
    return ",\n".join(f"[`{n}`]({links[n]})" if n in links else f"`{n}`" for n in names)


def index_page(topics: list[tuple[Topic, list[Item]]], module: Module) -> str:
    introduction = (Path(__file__).parent / "introduction.md").read_text(encoding="utf-8")
    introduction = introduction.replace("@without@", without_gradient(topics, module))
    places: dict[str, list[str]] = {}
    for topic, items in topics:
        for item in items:
            link = f"{topic.page}.md#{item.anchor}"
            names = [item.title] if item.is_operator else [*item.entry.names, *item.python_names]
            names += [a for a, of in module.aliases.items() if of in item.python_names]
            for name in dict.fromkeys(names):
                places.setdefault(name, []).append(link)
    rows = [
        f"| [{topic.title}]({topic.page}.md) | "
        + ", ".join(
            dict.fromkeys(
                n for i in items for n in ([f"`{i.title}`"] if i.is_operator else i.entry.names)
            )
        )
        + " |"
        for topic, items in topics
    ]
    every = [
        " ".join(f"[{name if k == 0 else k + 1}]({link})" for k, link in enumerate(links))
        for name, links in sorted(places.items(), key=lambda p: p[0].lower())
    ]
    return "\n".join(
        [NOTICE, introduction.rstrip("\n"), "", "## Topics", "", "| topic | functions |", "|---|---|", *rows, "",
         "## All names", "", ",\n".join(every) + ".", ""]
    )  # fmt: skip


def check_names(items: list[Item], module: Module) -> None:
    """Raises Missing if a name of one language is on no page."""
    shown = {n for i in items for n in i.python_names}
    lost = {f.name for f in module.functions} - shown - set(ELSEWHERE)
    if lost:
        raise Missing(
            f"{', '.join(sorted(lost))} of Python: on no page, nor in ELSEWHERE of tools/reference/topics.py"
        )
    for item in items:
        if not item.forms and not item.python_operators and item.entry.names[0] not in ONLY_CPP:
            raise Missing(
                f"{item.entry.names[0]} has no function in Python, nor a line in ONLY_CPP of tools/reference/topics.py"
            )
        op = item.operation
        dunders = [op["python"], op["mirrored"]] if op else []
        if any(d in SYMBOLS and d not in module.operators for d in dunders):
            raise Missing(f"{item.title} has no operator in Python")


def all_pages(root: Path) -> dict[Path, str]:
    """Texts of all pages by their place below `root`."""
    module = read_module()
    entries = read_headers(root)
    items = match_operations(entries, module) + match_written(entries, module)
    check_names(items, module)
    topics = all_topics(items)
    pages = {FOLDER / "README.md": index_page(topics, module)}
    for topic, of_topic in topics:
        pages[FOLDER / f"{topic.page}.md"] = topic_page(root, topic, of_topic, module.aliases)
    return pages
