"""The reference of the Python module, printed from its stub and from the modules written in Python.

In: the stub, which is made of the texts that `help` shows. Out: pages by subject. Functions that
add nodes have pages of their own, docs/operations.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import dynet
import python_side  # of tools/reference

# Subjects, in the order of the pages: a title, and a pattern of the names of its classes. A class
# belongs to the first subject that fits.
SUBJECTS = [
    ("errors", "Exceptions", r"(?#exceptions are told by their bases)$^"),
    ("trees", "Builders for trees", r"Tree(?!Reader$)"),
    ("text", "Text", r"Reader$|^Columns?Sentence$|^Conllu|^Tree$|^Bucket"),
    ("graph", "Graphs and expressions", r"^Expression$|^ComputationGraph$|^no_grad$|^evaluating$"),
    ("parameters", "Parameters", r"Parameter|^[Mm]odel$|Initializer$"),
    ("trainers", "Trainers and schedules", r"Trainer$|Schedule$"),
    ("softmax", "Softmaxes over many words", r"Softmax"),
    ("attention", "Attention, Transformers, CRF", r"Attention|Transformer|Encoding|CRF"),
    ("structured", "Structured prediction", r"(?#functions)$^"),
    ("recurrent", "Recurrent builders", r"RNN|LSTM|GRU"),
    ("files", "Files", r"Safetensors|Checkpointer"),
    ("more", "Everything else", r""),
]
# Functions that are on no page of operations, by subject; all others are on the last page.
FUNCTIONS = {
    "graph": "renew_cg cg cg_version cg_checkpoint cg_revert forward values npvalues explain_batch "
    "print_text_graphviz dump_cg apply",
    "files": "save load load_generator",
    "text": "bucketed make_clusters",
    "structured": "max_spanning_tree eisner cky",
}
# Escapes for their text in Markdown: a name between bars or angles is no table and no tag.
SPECIAL = str.maketrans({"<": "\\<", "|": "\\|", "*": "\\*"})

Node = ast.FunctionDef


def plain(text: str) -> str:
    """Documentation as Markdown: code stays, other special characters lose their meaning."""
    lines = []
    for line in text.splitlines():
        if line.startswith("    "):
            lines.append(line)  # a formula
        else:
            parts = re.split(r"(``.*?``|`[^`]*`)", line)
            lines.append("".join(p if p.startswith("`") else p.translate(SPECIAL) for p in parts))
    return "\n".join(lines)


def signature(node: Node, *, method: bool) -> str:
    """As a user calls it: (x: Expression, d: int = 0) -> Expression."""
    arguments = node.args
    if method and arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments = ast.arguments(**{**vars(arguments), "args": arguments.args[1:]})
        if arguments.posonlyargs == [] and len(arguments.defaults) > len(arguments.args):
            arguments.defaults = arguments.defaults[1:]
    elif method and arguments.posonlyargs and arguments.posonlyargs[0].arg == "self":
        arguments = ast.arguments(**{**vars(arguments), "posonlyargs": arguments.posonlyargs[1:]})
    text = f"({ast.unparse(arguments)})"
    if node.returns is not None and node.name != "__init__":
        text += f" -> {ast.unparse(node.returns)}"
    return re.sub(r"\d+\.\d{7,}", python_side.short_number, text)


def is_property(node: Node) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list)


def is_setter(node: Node) -> bool:
    return any(isinstance(d, ast.Attribute) and d.attr == "setter" for d in node.decorator_list)


def directive(kind: str, heads: list[str], body: str, fence: str) -> str:
    indent = "\n  ".join(heads)  # several signatures of one name
    first, *others = indent.splitlines()
    lines = [f"{fence}{{py:{kind}}} {first}", *others]
    return "\n".join([*lines, "", body.rstrip(), fence, ""])


def functions(nodes: list[Node], kind: str, fence: str) -> list[str]:
    """One entry for all forms of a name."""
    forms: dict[str, list[Node]] = {}
    for node in nodes:
        forms.setdefault(node.name, []).append(node)
    entries = []
    for name, same in forms.items():
        method = kind == "method"
        if method and is_property(same[0]):
            returns = same[0].returns
            body = plain(ast.get_docstring(same[0]) or "")
            head = name if returns is None else f"{name}\n:type: {ast.unparse(returns)}"
            entries.append(directive("attribute", [head], body, fence))
            continue
        heads = [name + signature(node, method=method) for node in same]
        texts = dict.fromkeys(plain(ast.get_docstring(node) or "") for node in same)
        entries.append(directive(kind, list(dict.fromkeys(heads)), "\n\n".join(texts), fence))
    return entries


def own_methods(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[Node]:
    """Methods of the class, and of bases that have no entry of their own."""
    methods = [n for n in node.body if isinstance(n, Node) and not is_setter(n)]
    for base in node.bases:
        if (name := ast.unparse(base)).startswith("_") and name in classes:
            known = {m.name for m in methods}
            methods += [m for m in own_methods(classes[name], classes) if m.name not in known]
    return methods


def class_entry(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> str:
    methods = own_methods(node, classes)
    made = [m for m in methods if m.name == "__init__"]
    heads = [node.name + signature(m, method=True) for m in made] or [node.name]
    bases = [ast.unparse(b) for b in node.bases]
    shown = [b for b in bases if not b.startswith("_") and b not in ("object", "Exception")]
    texts = [plain(ast.get_docstring(node) or "")]
    texts += [plain(ast.get_docstring(m)) for m in made if ast.get_docstring(m)]
    if shown:
        texts.append("Bases: " + ", ".join(f"`{b}`" for b in shown))
    texts += functions([m for m in methods if not m.name.startswith("_")], "method", "```")
    return directive(
        "class", list(dict.fromkeys(heads)), "\n\n".join(t for t in texts if t), "````"
    )


def subject_of(node: ast.ClassDef) -> str:
    return next(name for name, _, pattern in SUBJECTS if re.search(pattern, node.name))


def other_names() -> dict[str, str]:
    """Names that stand for a class of another name: "Model" for ParameterCollection."""
    classes = {n: v for n, v in vars(dynet).items() if inspect.isclass(v)}
    return {n: v.__name__ for n, v in classes.items() if n != v.__name__}


def read(package: Path) -> tuple[dict[str, ast.ClassDef], list[Node]]:
    """Classes by name, and public functions."""
    texts = [python_side.stub_text()]
    texts += [p.read_text(encoding="utf-8") for p in sorted(package.glob("_*.py"))]
    classes: dict[str, ast.ClassDef] = {}
    functions_: list[Node] = []
    for text in texts:
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
            elif isinstance(node, Node) and not node.name.startswith("_"):
                functions_.append(node)
    return classes, functions_


def error_names(classes: dict[str, ast.ClassDef]) -> set[str]:
    errors = {"Error"}
    while (
        more := {c.name for c in classes.values() for b in c.bases if ast.unparse(b) in errors}
        - errors
    ):
        errors |= more
    return errors


def pages(package: Path) -> dict[str, str]:
    """Texts by file name; index.md has links to all."""
    classes, functions_ = read(package)
    aliases = other_names()
    of_nodes = {f.name for f in python_side.read_module().functions} - {"apply"}
    errors = error_names(classes)
    entries: dict[str, list[str]] = {name: [] for name, _, _ in SUBJECTS}
    for node in classes.values():
        if node.name.startswith("_"):
            continue
        entry = class_entry(node, classes)
        if other := sorted(a for a, of in aliases.items() if of == node.name):
            names = ", ".join(f"`{a}`" for a in other)
            entry = entry.replace("\n````\n", f"\n\nAlso called {names}.\n````\n")
        entries["errors" if node.name in errors else subject_of(node)].append(entry)
    subject = {f: name for name, names in FUNCTIONS.items() for f in names.split()}
    for name in entries:
        here = [f for f in functions_ if subject.get(f.name, "more") == name]
        entries[name] += functions([f for f in here if f.name not in of_nodes], "function", "````")
    module = "```{py:currentmodule} dynet\n```\n\n"
    result = {
        f"{name}.md": f"# {title}\n\n{module}" + "\n".join(entries[name])
        for name, title, _ in SUBJECTS
    }
    result["index.md"] = (
        "# Python: classes\n\n"
        "What `help(dynet.Name)` prints, by subject. Functions that add nodes to a graph are among "
        "the [operations](../../docs/operations/README.md).\n\n"
        "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(name for name, _, _ in SUBJECTS) + "\n```\n"
    )
    return result
