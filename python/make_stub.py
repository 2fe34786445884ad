"""Writes the types of the package: make_stub.py DIRECTORY

DIRECTORY/dynet/__init__.pyi          what users see: the extension module, as nanobind describes
                                      it, and what dynet/__init__.py adds
DIRECTORY/_dynet-stubs/__init__.pyi   the extension module by its own name: the same types
DIRECTORY/dynet_config-stubs/...      a module that is one file, and so has no types of its own

The extension module lies in DIRECTORY; it is not started.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from pathlib import Path

# Not by PYTHONPATH, in which pip gives the folder of nanobind.
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True

builtins.__dict__["__DYNET_STUBS"] = True  # the module keeps the functions of nanobind
import _dynet  # noqa: E402
from nanobind.stubgen import StubGen  # noqa: E402

CONFIG = Path(__file__).parent / "dynet_config.py"
PACKAGE = Path(__file__).parent / "dynet" / "__init__.py"
#: Names that dynet/__init__.py makes when they are asked for.
LAZY = """import pickle as pickle

import numpy as np

from dynet import callbacks as callbacks
from dynet import metrics as metrics
from dynet import text as text

np = np
"""


def module_text() -> str:
    """nanobind's text of the extension module, as part of the package."""
    _dynet.__name__ = "dynet"  # the module in the names of its types
    generator = StubGen(_dynet, include_private=True)
    generator.put(_dynet)
    return generator.get()


def with_builtins(text: str) -> str:
    """Bases by their full names, if an exception of ours has the name of Python's own."""
    for name, value in vars(_dynet).items():
        if isinstance(value, type) and issubclass(value, Exception):
            bases = [
                f"builtins.{base.__name__}"
                if base.__module__ == "builtins" and hasattr(_dynet, base.__name__)
                else base.__name__
                for base in value.__bases__
            ]
            text = re.sub(
                rf"^class {name}\(.*\):$", f"class {name}({', '.join(bases)}):", text, flags=re.M
            )
    return re.sub(
        r"^from collections", "import builtins\nfrom collections", text, count=1, flags=re.M
    )


def with_any(text: str) -> str:
    """Types that the binding leaves open, as strict checkers want them said."""
    for bare, full in [
        (r"\bos\.PathLike\b(?!\[)", "os.PathLike[str]"),
        (r"(?<=: )(dict|list)(?=[,)=]| =)", r"\1[Any, Any]"),
        (r"(?<=-> )(dict|list)(?=:)", r"\1[Any, Any]"),
        (r"\(self, \*args\)", "(self, *args: object)"),
    ]:
        text = re.sub(bare, full, text)
    text = text.replace("list[Any, Any]", "list[Any]")
    # Python iterates over objects with __getitem__ by numbers; checkers want __iter__.
    at = text.index("def __getitem__(", text.index("class Expression"))
    text = text[:at] + "def __iter__(self) -> Iterator[Expression]: ...\n\n    " + text[at:]
    # Arrays of results are always of this type.
    arrays = "npvalue|gradient|as_array|grad_as_array|row_as_array|rows_as_array"
    any_array = rf"(def (?:{arrays})\(.*-> numpy\.typing\.NDArray)\[Any\]"
    text = re.sub(any_array, r"\1[numpy.float64]", text)
    # A row of a table is looked up by its number alone.
    table = text.index("class LookupParameters(")
    at = text.index("def __getitem__(", table)
    end = text.index("\n", at)
    return text[:end] + "  # type: ignore[override]" + text[end:]


#: Types that arguments take beside their signatures, which are for people: 6 / 2 and numbers of
#: NumPy for a size, and 0 and 1 for a flag.
WIDER = {"int": "_Whole", "float": "_Number", "bool": "_Flag"}
ALIASES = """
_Whole: TypeAlias = SupportsIndex | float
_Number: TypeAlias = SupportsFloat | SupportsIndex
_Flag: TypeAlias = SupportsIndex
"""


def wider_names(node: ast.expr | None) -> list[ast.Name]:
    """The names in an argument's type that stand for more: not names in types that cannot vary."""
    if isinstance(node, ast.Name):
        return [node] if node.id in WIDER else []
    if isinstance(node, ast.BinOp):
        return wider_names(node.left) + wider_names(node.right)
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in ("Sequence", "Iterable"):
        return wider_names(node.slice)
    return []


def with_wider_arguments(text: str) -> str:
    lines = text.splitlines(keepends=True)
    places = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            for arg in node.args.posonlyargs + node.args.args + node.args.kwonlyargs:
                places += wider_names(arg.annotation)
    for name in sorted(places, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        line = lines[name.lineno - 1].encode()
        line = line[: name.col_offset] + WIDER[name.id].encode() + line[name.end_col_offset :]
        lines[name.lineno - 1] = line.decode()
    text = "".join(lines)
    for module, names in (
        ("collections.abc", {"Iterator"}),
        ("typing", {"SupportsFloat", "SupportsIndex", "TypeAlias"}),
    ):
        text = with_imports(text, module, names)
    at = text.index("\nclass ")
    return text[:at] + ALIASES + text[at:]


def with_expressions_first(text: str) -> str:
    """Puts the form of an operator for expressions before the form for numbers, which would take
    expressions of one element too, because they have a `__float__`."""
    lines = text.splitlines(keepends=True)
    for of_class in reversed([n for n in ast.parse(text).body if isinstance(n, ast.ClassDef)]):
        functions = [n for n in of_class.body if isinstance(n, ast.FunctionDef)]
        for one, two in reversed(list(zip(functions, functions[1:]))):
            types = [ast.unparse(f.args.posonlyargs[-1].annotation or ast.Constant(None))
                     for f in (one, two) if f.args.posonlyargs]  # fmt: skip
            if one.name == two.name and types == ["_Number", "Expression"]:
                begins = [f.decorator_list[0].lineno - 1 for f in (one, two)]
                first, second = (lines[b : f.end_lineno] for b, f in zip(begins, (one, two)))
                between = lines[one.end_lineno : begins[1]]
                lines[begins[0] : two.end_lineno] = second + between + first
    return "".join(lines)


def with_imports(text: str, module: str, names: set[str]) -> str:
    found = re.search(rf"^from {re.escape(module)} import (.*)$", text, re.M)
    assert found, f"nothing is imported from {module}"
    every = ", ".join(sorted(names | set(found[1].split(", "))))
    return text[: found.start(1)] + every + text[found.end(1) :]


def declared(node: ast.stmt) -> str:
    """A statement of dynet/__init__.py as a declaration; empty for statements that no user sees."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return "\n".join(map(declared, node.body))
    if isinstance(node, ast.ImportFrom) and node.level == 1:
        return ast.unparse(node)
    if isinstance(node, ast.Import):
        return "\n".join(f"import {one.name} as {one.asname or one.name}" for one in node.names)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
        if isinstance(node, ast.FunctionDef):
            node.body = [n for n in node.body[:1] if ast.get_docstring(node)] or [
                ast.Expr(ast.Constant(...))
            ]
        return ast.unparse(node)
    if isinstance(node, ast.AnnAssign):
        return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        name = ast.unparse(node.targets[0])
        return "" if name == "TYPE_CHECKING" else f"{name}: {type(node.value.value).__name__}"
    return ""


def package_text(source: Path) -> str:
    statements = map(declared, ast.parse(source.read_text(encoding="utf-8")).body)
    return "\n".join(filter(None, statements)) + "\n"


def star(text: str, package: str) -> str:
    """`__all__`: the public names of a stub without names that dynet/__init__.py keeps from
    ``from dynet import *``."""
    hidden: set[str] = set()
    for node in ast.parse(package).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NOT_FOR_STAR":
            hidden = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
    assert hidden, "dynet/__init__.py has no _NOT_FOR_STAR"
    own = ("dynet", "numpy", "pickle", "_dynet")  # modules whose names are for users
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names.add(node.targets[0].id)
        elif isinstance(node, ast.ImportFrom) and (node.level or node.module in own):
            names |= {one.asname or one.name for one in node.names}
        elif isinstance(node, ast.Import):
            names |= {one.asname for one in node.names if one.asname and one.name in own}
    public = sorted(n for n in names - hidden if not n.startswith("_"))
    return "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in public) + "]\n"


def main(directory: Path) -> None:
    text = (
        with_expressions_first(with_wider_arguments(with_any(with_builtins(module_text()))))
        + "\n# What the package adds.\n"
        + LAZY
        + package_text(PACKAGE)
    )
    text += star(text, PACKAGE.read_text(encoding="utf-8"))
    (directory / "dynet" / "__init__.pyi").write_text(text, encoding="utf-8")
    private = sorted(n for n in vars(_dynet) if n.startswith("_") and not n.startswith("__"))
    names = "".join(f"from dynet import {name} as {name}\n" for name in private)
    (directory / "dynet_config-stubs").mkdir(exist_ok=True)
    (directory / "dynet_config-stubs" / "__init__.pyi").write_text(
        "from typing import Any\n\n" + package_text(CONFIG), encoding="utf-8"
    )
    (directory / "_dynet-stubs").mkdir(exist_ok=True)
    (directory / "_dynet-stubs" / "__init__.pyi").write_text("from dynet import *\n" + names)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
