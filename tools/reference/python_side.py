"""The Python module: its functions, from the stub, and the list of operations with examples."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _dynet

# Result types of functions of operations.
NODES = ("Expression", "tuple[Expression", "list[Expression]", "Any")
SYMBOLS = {"__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__pow__": "**", "__neg__": "-",
           "__radd__": "+", "__rsub__": "-", "__rmul__": "*", "__rtruediv__": "/"}  # fmt: skip


@dataclass
class Function:
    """A function of the module; an overloaded one is there once for each form."""

    name: str
    signature: str  # "elu(x: Expression, alpha: float = 1.0) -> Expression"
    parameters: list[str]
    defaults: dict[str, Any]
    documentation: str


@dataclass
class Module:
    """All that makes nodes."""

    functions: list[Function] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)  # "cwise_multiply": "cmult"
    operators: set[str] = field(default_factory=set)  # methods of Expression: "__add__"
    operations: list[dict[str, Any]] = field(default_factory=list)

    def forms(self, name: str) -> list[Function]:
        return [f for f in self.functions if f.name == name]

    @property
    def names(self) -> set[str]:
        return {f.name for f in self.functions} | set(self.aliases)


def stub_path() -> Path:
    return Path(_dynet.__file__).parent / "dynet" / "__init__.pyi"


def stub_text() -> str:
    """The stub, with the types for people: int for any whole number."""
    text = stub_path().read_text(encoding="utf-8")
    for alias, plain in {"_Whole": "int", "_Number": "float", "_Flag": "bool"}.items():
        text = re.sub(rf"^{alias}: .*\n", "", text, flags=re.M)
        text = re.sub(rf"\b{alias}\b", plain, text)
    return text


def short_number(match: re.Match[str]) -> str:
    """1.345 for the float 1.3450000286102295."""
    return f"{float(match[0]):g}"


def function_of(node: ast.FunctionDef, lines: list[str]) -> Function:
    line = lines[node.lineno - 1].removeprefix("def ").removesuffix(":")  # nanobind writes one
    signature = re.sub(r"\d+\.\d{7,}", short_number, line)
    documentation = inspect.cleandoc(ast.get_docstring(node) or "")
    parameters = [a.arg for a in node.args.args]
    with_default = parameters[len(parameters) - len(node.args.defaults) :]
    defaults = dict(zip(with_default, map(ast.literal_eval, node.args.defaults)))
    return Function(node.name, signature, parameters, defaults, documentation)


def read_module() -> Module:
    text = stub_text()
    tree, lines = ast.parse(text), text.splitlines()
    module = Module(operations=_dynet._operations())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            if node.returns and ast.unparse(node.returns).startswith(NODES):
                module.functions.append(function_of(node, lines))
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    module.aliases[target.id] = node.value.id
        elif isinstance(node, ast.ClassDef) and node.name == "Expression":
            names = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            module.operators = names & set(SYMBOLS)
    nodes = {f.name for f in module.functions}
    module.aliases = {a: of for a, of in module.aliases.items() if of in nodes}
    return module
