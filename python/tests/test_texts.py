"""Classes and methods: the comment of the C++ header, `help`, the stub and the page have one text.

The classes that C++ and Python both have are looked at: a method's text may be Python's own only if
the header has no text for it.
"""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
import sys
from collections.abc import Iterator

import _dynet
import dynet  # noqa: F401  # makes the Functions
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = str(ROOT / "python")
sys.path[:0] = [PYTHON, str(ROOT / "tools" / "reference"), str(ROOT / "tools" / "site")]

import make_texts  # noqa: E402
import python_reference  # noqa: E402
import python_side  # noqa: E402
from classes import bases_of  # noqa: E402

sys.path.remove(PYTHON)  # mypy would find `dynet` there, without its stub (test_types.py)

#: Classes with another name in C++.
CPP = {
    "Parameters": "Parameter",
    "LookupParameters": "LookupParameter",
    "PyInitializer": "ParameterInit",
    "NumpyInitializer": "ParameterInitFromVector",
    "_RNNBuilder": "RNNBuilder",
    "_BinaryTreeBuilder": "BinaryTreeBuilder",
    "_TreeNodesBuilder": "TreeNodesBuilder",
    "_DistributedTrainer": "DistributedTrainer",
    "DeviceInfo": "Device",
    "evaluating": "Evaluating",
    "no_grad": "InferenceScope",
    **{
        f"{name}Initializer": f"ParameterInit{name}"
        for name in ("Normal", "Uniform", "Const", "Identity", "Glorot", "Saxe", "FromFile")
    },
}
#: Members with another name in C++.
MEMBERS = {
    "name": "get_fullname",
    "param_collection": "get_parameter_collection",
    "device_name": "get_device_name",
    "set_dropouts": "set_dropout",
    "init_row": "initialize",
    "update_subset": "update_3",
    "neg_log_softmax_batch": "neg_log_softmax_2",
    "sampled_loss_batch": "sampled_loss_2",
    "lookup_updates": "set_lookup_updates",
    "set_clip_value": "clip_value",
    "set_clip_threshold": "clip_threshold",
    "set_weight_decay": "set_weight_decay_lambda",
    "get_weight_decay": "get_weight_decay_lambda",
    "__contains__": "contains",
    "inc_forward": "incremental_forward",
}
#: Members whose text is Python's own, each with the reason.
PYTHON_S_OWN = {
    "ComputationGraph.backward": "by index",
    "ComputationGraph.checkpoint": "the function cg_checkpoint has the text",
    "ComputationGraph.revert": "the function cg_revert has the text",
    "ComputationGraph.dump": "the function dump_cg has the text",
    "Checkpointer.__init__": "the arguments of CheckpointPolicy",
    "Dict.save": "dict_file.h has it as a function",
    "SafetensorsLoader.populate": "one function for collections, parameters and tables",
    "LookupParameters.shape": "rows first",
    "_TreeNodesBuilder.start_new_sequence": "begins a tree",
    "_TreeNodesBuilder.set_dropout": "masks that a tree's nodes share",
}

TEXTS, BASES = make_texts.classes()


def texts_of(member: object) -> list[str]:
    """The texts of a method's forms, or of a property."""
    if isinstance(member, property):
        member = member.fget
    return [text or "" for _, text, *_ in getattr(member, "__nb_signature__", ())]


def bound_classes() -> Iterator[tuple[str, type]]:
    for name, cls in sorted(vars(_dynet).items()):
        if inspect.isclass(cls) and name == cls.__name__ and cls.__module__ in ("dynet", "_dynet"):
            yield name, cls


def header_texts(cpp: str, member: str) -> set[str]:
    """All texts of the member in the headers: of its class, and of the bases."""
    member = MEMBERS.get(member, member)
    name = re.compile(rf"{member}(_\d+)?" if not member[-1].isdigit() else member)
    return {
        text
        for cls in [cpp, *bases_of(cpp, BASES)]
        for key, text in TEXTS.items()
        if key.startswith(f"{cls}_") and name.fullmatch(key.removeprefix(f"{cls}_"))
    }


def described() -> dict[str, list[str]]:
    """The texts of all classes and members that C++ has too: "Trainer", "Trainer.update"."""
    found = {}
    for name, cls in bound_classes():
        cpp = CPP.get(name, name)
        if cpp not in TEXTS:
            continue
        found[name] = [cls.__doc__ or ""]
        for member, value in vars(cls).items():
            texts = [t for t in texts_of(value) if t]
            if texts and header_texts(cpp, member):
                found[f"{name}.{member}"] = texts
    return {key: texts for key, texts in found.items() if key not in PYTHON_S_OWN}


DESCRIBED = described()


@pytest.mark.parametrize("key", DESCRIBED)
def test_help_is_the_comment_of_the_header(key: str) -> None:
    name, _, member = key.partition(".")
    cpp = CPP.get(name, name)
    wanted = header_texts(cpp, member) if member else {TEXTS[cpp]}
    for text in DESCRIBED[key]:
        assert text in wanted


def test_members_with_a_comment_have_a_text_in_python() -> None:
    bare = []
    for name, cls in bound_classes():
        cpp = CPP.get(name, name)
        for member, value in vars(cls).items():
            is_bare = hasattr(value, "__nb_signature__") and not any(texts_of(value))
            if is_bare and cpp in TEXTS and header_texts(cpp, member):
                bare.append(f"{name}.{member}")
    assert not bare


def test_most_classes_of_users_are_looked_at() -> None:
    assert len(DESCRIBED) >= 250
    for key in ("AdamTrainer", "ParameterCollection.add_parameters", "GlorotInitializer",
                "Expression.gradient", "GRUBuilder", "ShapeError"):  # fmt: skip
        assert key in DESCRIBED


def test_exceptions_are_needed() -> None:
    for key in PYTHON_S_OWN:
        name, _, member = key.partition(".")
        value = vars(getattr(_dynet, name))[member]
        assert not set(texts_of(value)) <= header_texts(CPP.get(name, name), member)


def stub_texts() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in ast.parse(python_side.stub_text()).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = [ast.get_docstring(node) or ""]
            for one in node.body:
                if isinstance(one, ast.FunctionDef):
                    key = f"{node.name}.{one.name}"
                    found.setdefault(key, []).append(ast.get_docstring(one) or "")
    return found


def test_the_stub_has_these_texts() -> None:
    stub = stub_texts()
    for key, texts in DESCRIBED.items():
        for text in texts:
            assert text in stub[key], key


def test_the_pages_have_these_texts() -> None:
    pages = "\n".join(python_reference.pages(ROOT / "python" / "dynet").values())
    for key, texts in DESCRIBED.items():
        if key.startswith("_") or "._" in key:
            continue  # a base, whose methods the classes of users have; an operator
        for text in texts:
            assert python_reference.plain(text).rstrip() in pages, key
