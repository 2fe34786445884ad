"""Several objects in one place: `save` and `load`.

What objects there are is JSON: for a parameter or a table its key in the file, for a builder also
its class and what its `spec` was. Nothing in it runs: a class is looked up among the modules that
the program has imported by itself, and must have `from_spec`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from _dynet import (
    IoError,
    LookupParameters,
    ParameterCollection,
    Parameters,
    SafetensorsLoader,
    SafetensorsSaver,
)

_OBJECTS = "objects"  # the key of the metadata
_SAFETENSORS = ".safetensors"


def save(basename: str, objects: Iterable[Any]) -> None:
    """Writes parameters, tables and builders, in order.

    Where `basename` ends in ``.safetensors``, into that one file; else parameters into the text
    file ``basename.data`` and what they belong to into ``basename.meta``. A class of your own takes
    part if it has `spec`, a class method `from_spec(spec, model)`, and `param_collection()`. A
    `spec` may have numbers, strings, None, tuples, lists, dicts with strings as keys, and classes:
    TypeError for anything else.
    """
    objects = list(objects)
    used: set[str] = set()
    records = [_record(x, i, used) for i, x in enumerate(objects)]
    text = json.dumps(records)
    if basename.endswith(_SAFETENSORS):
        with SafetensorsSaver(basename) as saver:
            saver.set_metadata(_OBJECTS, text)
            for x, record in zip(objects, records):
                saver.save(_saved(x), record["key"])
        return
    for i, (x, record) in enumerate(zip(objects, records)):
        _saved(x).save(basename + ".data", record["key"], i > 0)
    temporary = f"{basename}.meta.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, basename + ".meta")


def load(basename: str, pc: ParameterCollection) -> list[Any]:
    """The objects that `save` wrote, added to a collection.

    IoError where a file is damaged, or names a class that the program has not imported or that has
    no `from_spec`.
    """
    return list(load_generator(basename, pc))


def load_generator(basename: str, pc: ParameterCollection) -> Iterator[Any]:
    """`load`, an object at a time. Files and classes are checked before the first."""
    if basename.endswith(_SAFETENSORS):
        data, meta = basename, basename
        loader = SafetensorsLoader(basename)
        loader.check_all()
        text = loader.metadata().get(_OBJECTS)
        if text is None:
            raise IoError(
                f"'{basename}' was not written by dynet.save: it does not say what objects it has"
            )
    else:
        data, meta = basename + ".data", basename + ".meta"
        text = _read_meta(meta)
    records = _checked(text, meta)
    return (_made(record, meta, data, pc) for record in records)


def _saved(x: Any) -> Any:
    """What is saved of an object."""
    return x if isinstance(x, (Parameters, LookupParameters)) else x.param_collection()


def _record(x: Any, i: int, used: set[str]) -> dict[str, Any]:
    """What is said about the i-th object. Its key is its name, unless another object has that."""
    if isinstance(x, (Parameters, LookupParameters)):
        names, key = [x.name()], x.name()
        record = {"kind": "Parameters" if isinstance(x, Parameters) else "LookupParameters"}
    else:
        members = ("spec", "from_spec", "param_collection")
        missing = [m for m in members if not hasattr(x, m)]
        if missing:
            raise TypeError(
                f"save: object {i} is a {type(x).__name__} without {', '.join(missing)}; want "
                "parameters, tables, and builders"
            )
        collection = x.param_collection()
        names = [
            p.name() for p in [*collection.parameters_list(), *collection.lookup_parameters_list()]
        ]
        key = collection.name().rstrip("/") or "/model"
        record = {"kind": _class_name(type(x)), "spec": _encoded(x.spec)}
    if not used.isdisjoint(names):
        key = f"/{i}" + key
    used.update(names)
    return {**record, "key": key}


def _class_name(cls: type) -> str:
    if "<" in cls.__qualname__:
        raise TypeError(
            f"save: the class {cls.__qualname__} is inside a function, where load cannot find it"
        )
    return f"{cls.__module__}:{cls.__qualname__}"


def _encoded(x: Any) -> Any:
    """A value of a spec as JSON; containers and classes are marked, and come back as such."""
    if x is None or isinstance(x, (bool, int, float, str)):
        return x
    if isinstance(x, (tuple, list)):
        return {type(x).__name__: [_encoded(y) for y in x]}
    if isinstance(x, dict) and all(isinstance(k, str) for k in x):
        return {"dict": {k: _encoded(v) for k, v in x.items()}}
    if isinstance(x, type):
        return {"class": _class_name(x)}
    raise TypeError(
        f"save: a spec has a {type(x).__name__}; want numbers, strings, None, tuples, lists, dicts "
        "and classes"
    )


def _decoded(x: Any, meta: str) -> Any:
    if not isinstance(x, dict):
        return x
    ((kind, value),) = x.items()
    if kind == "class":
        return _class(value, meta)
    if kind == "dict":
        return {k: _decoded(v, meta) for k, v in value.items()}
    items = [_decoded(y, meta) for y in value]
    return tuple(items) if kind == "tuple" else items


def _class(name: str, meta: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not hasattr(found, "from_spec"):
        raise IoError(
            f"'{meta}' names the class '{name}'; want one that is imported and has from_spec"
        )
    return found


def _read_meta(meta: str) -> str:
    try:
        with open(meta, "rb") as file:
            content = file.read()
    except OSError as e:
        raise IoError(f"cannot open '{meta}': {e.strerror}") from None
    if content[:1] != b"[":
        raise IoError(
            f"'{meta}', byte 0: it is not the JSON that dynet.save writes. Files of DyNet 2.1 are "
            "Python pickles, which could run anything and are not read: make the objects anew and "
            "use populate() with the .data file"
        )
    return content.decode("utf-8", "replace")


def _checked(text: str, meta: str) -> list[dict[str, Any]]:
    """The records; IoError unless they are as _record makes them and all classes are there."""
    try:
        records = json.loads(text)
        for record in records:
            if not isinstance(record["key"], str):
                raise TypeError
            if record["kind"] not in ("Parameters", "LookupParameters"):
                _class(record["kind"], meta)
                _decoded(record["spec"], meta)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        if isinstance(e, IoError):
            raise
        raise IoError(f"'{meta}': what it says about its objects is damaged: {e}") from None
    result: list[dict[str, Any]] = records
    return result


def _made(record: dict[str, Any], meta: str, data: str, pc: ParameterCollection) -> Any:
    key, kind = record["key"], record["kind"]
    if kind == "Parameters":
        return pc.load_param(data, key)
    if kind == "LookupParameters":
        return pc.load_lookup_param(data, key)
    made = _class(kind, meta).from_spec(_decoded(record["spec"], meta), pc)
    made.param_collection().populate(data, key)
    return made
