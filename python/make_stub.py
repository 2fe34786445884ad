"""Writes the types of the package: make_stub.py DIRECTORY

DIRECTORY/dynet/__init__.pyi          what users see: the extension module, as nanobind describes
                                      it, and what dynet/__init__.py adds
DIRECTORY/_dynet-stubs/__init__.pyi   the extension module by its own name: the same types

The extension module lies in DIRECTORY; it is not started.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

# Not by PYTHONPATH, which is how pip says where it has put nanobind.
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True

import _dynet  # noqa: E402
from nanobind.stubgen import StubGen  # noqa: E402

PACKAGE = Path(__file__).parent / "dynet" / "__init__.py"
#: Names that dynet/__init__.py makes when they are asked for.
LAZY = "import pickle as pickle\n\nimport numpy as np\n\nnp = np\n"


def module_text() -> str:
    """What nanobind says of the extension module, as part of the package."""
    _dynet.__name__ = "dynet"  # where its types say they are
    generator = StubGen(_dynet, include_private=True)
    generator.put(_dynet)
    return generator.get()


def with_builtins(text: str) -> str:
    """Bases by their full names, where an exception of ours has the name of Python's own."""
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
    # A row of a table is looked up by its number alone.
    table = text.index("class LookupParameters(")
    at = text.index("def __getitem__(", table)
    end = text.index("\n", at)
    return text[:end] + "  # type: ignore[override]" + text[end:]


def declared(node: ast.stmt) -> str:
    """A statement of dynet/__init__.py as a declaration; empty for what no user sees."""
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
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
        name = ast.unparse(node.targets[0])
        return "" if name == "TYPE_CHECKING" else f"{name}: {type(node.value.value).__name__}"
    return ""


def package_text() -> str:
    statements = map(declared, ast.parse(PACKAGE.read_text(encoding="utf-8")).body)
    return "\n".join(filter(None, statements)) + "\n"


def main(directory: Path) -> None:
    text = (
        with_any(with_builtins(module_text()))
        + "\n# What the package adds.\n"
        + LAZY
        + package_text()
    )
    (directory / "dynet" / "__init__.pyi").write_text(text, encoding="utf-8")
    private = sorted(n for n in vars(_dynet) if n.startswith("_") and not n.startswith("__"))
    names = "".join(f"from dynet import {name} as {name}\n" for name in private)
    (directory / "_dynet-stubs").mkdir(exist_ok=True)
    (directory / "_dynet-stubs" / "__init__.pyi").write_text("from dynet import *\n" + names)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
