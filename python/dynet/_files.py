"""Several objects in one place: `save` and `load`.

What objects there are is JSON: for a parameter or a table its key in the file, for a builder also
its class and what its `spec` was. Nothing in it runs: a class is looked up among the modules that
the program has imported by itself, and must have `from_spec`.
"""

from __future__ import annotations

import os
import sys
import types

from _dynet import _Additions, _save_text

from . import (
    IoError,
    LookupParameters,
    ParameterCollection,
    Parameters,
    SafetensorsLoader,
    SafetensorsSaver,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_OBJECTS = "objects"  # the key of the metadata
_SAFETENSORS = ".safetensors"


def save(basename: str | os.PathLike[str], objects: Iterable[Any]) -> None:
    """Writes parameters, tables and builders, in order.

    Where `basename` ends in ``.safetensors``, into that one file, which takes the place of the old
    one at once; else parameters into the text file ``basename.data`` and what they belong to into
    ``basename.meta``. Both are complete before the old ones are replaced, but one after the other:
    who is killed in between has a new and an old one. A class of your own takes part if it has
    `spec`, a class method `from_spec(spec, model)`, and `param_collection()`. A `spec` may have
    numbers, strings, None, tuples, lists, dicts with strings as keys, and classes: TypeError for
    anything else, such as a named tuple.
    """
    import json  # here: most programs that import dynet save nothing with it

    basename = os.fspath(basename)
    objects = list(objects)
    keys = _Keys()
    records = [_record(x, i, keys) for i, x in enumerate(objects)]
    text = json.dumps(records)
    if basename.endswith(_SAFETENSORS):
        with SafetensorsSaver(basename) as saver:
            saver.set_metadata(_OBJECTS, text)
            for part, key in _parts(objects, records):
                saver.save(part, key)
    else:
        _save_text(basename, list(_parts(objects, records)), text)


def load(basename: str | os.PathLike[str], params: ParameterCollection) -> list[Any]:
    """The objects that `save` wrote, added to a collection.

    All or nothing: an error, whatever it is, leaves the collection as it was. IoError where a file
    is damaged, or names a class that the program has not imported or that has no `from_spec`.
    """
    additions = _Additions(params)
    try:
        return list(load_generator(basename, params))
    except BaseException:
        additions.undo()
        raise


def load_generator(basename: str | os.PathLike[str], params: ParameterCollection) -> Iterator[Any]:
    """`load`, an object at a time. Files and classes are checked before the first; after an error
    the objects before it stay in the collection."""
    basename = os.fspath(basename)
    text: str | list[Any] | None
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
    records = text if isinstance(text, list) else _parsed(text, meta)
    _check(records, meta)
    return (_made(record, meta, data, params) for record in records)


def _parts(objects: list[Any], records: list[dict[str, Any]]) -> Iterator[tuple[Any, str]]:
    """What is saved of the objects, with keys."""
    for x, record in zip(objects, records):
        is_one = isinstance(x, (Parameters, LookupParameters))
        yield x if is_one else x.param_collection(), record["key"]


def _above(key: str) -> list[str]:
    """The folders of a key, as that of a file: /a and /a/b of /a/b/c."""
    return [key[:i] for i, c in enumerate(key) if c == "/" and i > 0]


class _Keys:
    """Keys of objects in a file: none is the same as or above another one.

    What is below the key of a collection is taken for its parameters.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._above: set[str] = set()

    def add(self, wanted: str, i: int) -> str:
        """The key of the i-th object: the one that is wanted, or else one below its number."""
        key, tries = wanted, 0
        while key in self._above or not self._taken.isdisjoint([key, *_above(key)]):
            key = f"/{i}{'' if tries == 0 else f'_{tries}'}/{wanted.lstrip('/')}"
            tries += 1
        self._taken.add(key)
        self._above.update(_above(key))
        return key


def _record(x: Any, i: int, keys: _Keys) -> dict[str, Any]:
    """What is said about the i-th object. Its key is its name, where that is free."""
    if isinstance(x, (Parameters, LookupParameters)):
        kind = "Parameters" if isinstance(x, Parameters) else "LookupParameters"
        return {"kind": kind, "key": keys.add(x.name(), i)}
    members = ("spec", "from_spec", "param_collection")
    missing = [m for m in members if not hasattr(x, m)]
    if missing:
        raise TypeError(
            f"save: object {i} is a {type(x).__name__} without {', '.join(missing)}; want "
            "parameters, tables, and builders"
        )
    key = keys.add(x.param_collection().name().rstrip("/") or "/model", i)
    return {"kind": _class_name(type(x)), "spec": _encoded(x.spec), "key": key}


def _class_name(cls: type) -> str:
    if "<" in cls.__qualname__:
        raise TypeError(
            f"save: the class {cls.__qualname__} is inside a function, where load cannot find it"
        )
    return f"{cls.__module__}:{cls.__qualname__}"


def _encoded(x: Any) -> Any:
    """A value of a spec as JSON; containers and classes are marked, and come back as such."""
    if _is_plain(x):
        return x
    if type(x) in (tuple, list):  # no class made from these, whose kind would be lost
        return {type(x).__name__: [_encoded(y) for y in x]}
    if type(x) is dict and all(isinstance(k, str) for k in x):
        return {"dict": {k: _encoded(v) for k, v in x.items()}}
    if isinstance(x, type):
        return {"class": _class_name(x)}
    raise TypeError(
        f"save: a spec has a {type(x).__name__}; want numbers, strings, None, tuples, lists, dicts "
        "and classes"
    )


def _is_plain(x: Any) -> bool:
    return x is None or isinstance(x, (bool, int, float, str))


def _decoded(x: Any, meta: str) -> Any:
    """What _encoded was given; TypeError, ValueError or AttributeError where it gives no such."""
    if _is_plain(x):
        return x
    ((kind, value),) = x.items()
    if kind == "class":
        return _class(value, meta)
    if kind == "dict":
        return {k: _decoded(v, meta) for k, v in value.items()}
    if kind not in ("tuple", "list") or not isinstance(value, list):
        raise TypeError(f"a spec has '{kind}'; want tuple, list, dict or class")
    items = [_decoded(y, meta) for y in value]
    return tuple(items) if kind == "tuple" else items


def _class(name: str, meta: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        # What is there already: a module may have a __getattr__ of its own, which imports.
        is_place = isinstance(found, (type, types.ModuleType))
        found = vars(found).get(part) if is_place else None
    if not isinstance(found, type) or not hasattr(found, "from_spec"):
        raise IoError(
            f"'{meta}' names the class '{name}'; want one that is imported and has from_spec"
        )
    return found


def _read_meta(meta: str) -> str | list[Any]:
    """What _parsed reads, or the records of a file of 2.1."""
    try:
        with open(meta, "rb") as file:
            content = file.read()
    except OSError as e:
        raise IoError(f"cannot open '{meta}': {e.strerror}") from None
    if content[:1] != b"[":
        from ._old_meta import records_of

        return records_of(content, meta)
    return content.decode("utf-8", "replace")


def _parsed(text: str, meta: str) -> list[Any]:
    import json

    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _damaged(meta, e) from None
    if not isinstance(records, list):
        raise _damaged(meta, TypeError("want a list"))
    return records


def _check(records: list[Any], meta: str) -> None:
    """IoError unless they are as _record makes them and all classes are there."""
    try:
        for record in records:
            if not isinstance(record["key"], str):
                raise TypeError("a key is no text")
            if record["kind"] not in ("Parameters", "LookupParameters"):
                _class(record["kind"], meta)
                _decoded(record["spec"], meta)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        if isinstance(e, IoError):
            raise
        raise _damaged(meta, e) from None


def _damaged(meta: str, e: Exception) -> IoError:
    return IoError(f"'{meta}': what it says about its objects is damaged: {e}")


def _made(record: dict[str, Any], meta: str, data: str, pc: ParameterCollection) -> Any:
    key, kind = record["key"], record["kind"]
    if kind == "Parameters":
        return pc.load_param(data, key)
    if kind == "LookupParameters":
        return pc.load_lookup_param(data, key)
    try:
        made = _class(kind, meta).from_spec(_decoded(record["spec"], meta), pc)
    except (TypeError, ValueError, OverflowError, LookupError) as e:
        if isinstance(e, IoError):
            raise
        raise IoError(f"'{meta}', '{key}': no {kind} can be made of its spec: {e}") from e
    made.param_collection().populate(data, key)
    return made
