"""Several objects in one place: `save` and `load`.

The list of objects is JSON: for a parameter or a table its key in the file, for a builder also its
class and its `spec`; for plain data its value. Objects with names are a JSON object of the same
records, by name, from which C++ makes them too (dynet/load-model.h). Nothing in the list runs: a
class is looked up among the program's classes and the modules that the program has imported by
itself, and must have `from_spec`.
"""

from __future__ import annotations

import os

import _dynet
from _dynet import _Additions, _foreign_file, _save_text

from . import (
    IoError,
    LookupParameters,
    MissingFileError,
    ParameterCollection,
    Parameters,
    SafetensorsLoader,
    SafetensorsSaver,
)
from ._told import Refused, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ._specs import Source

_OBJECTS = "objects"  # the key of the metadata
_SAFETENSORS = ".safetensors"


@told
def save(basename: str | os.PathLike[str], objects: Iterable[Any] | Mapping[str, Any]) -> None:
    """Writes parameters, tables and builders, in order.

    A dict gives each object a name. It may have plain data too, such as a vocabulary, numbers and
    text, and C++ loads such a ``.safetensors`` file with `load_model`.

    If `basename` ends in ``.safetensors``, everything goes into that one file, which replaces an
    old file at once. Else parameters go into the text file ``basename.data``, and the list of
    objects into ``basename.meta``. Both files are complete before the old ones are replaced, but
    one after the other: a process killed in between leaves a new file and an old one. A class of
    your own takes part if it has `spec`, a class method `from_spec(spec, model)`, and
    `param_collection()`. A `spec` may have numbers, text, bytes, None, tuples, lists, sets, dicts,
    numbers and small arrays of NumPy, members of enumerations, named tuples, objects of your own
    classes that consist of a `__dict__` with such values, classes with `from_spec`, and the
    module's own functions, such as `dynet.tanh`. TypeError, with the place, for other values.
    """
    import json  # here, because most programs do not save with it
    from collections.abc import Mapping

    basename = os.fspath(basename)
    names = _names(objects) if isinstance(objects, Mapping) else None
    objects = list(objects.values() if isinstance(objects, Mapping) else objects)
    keys = _Keys()
    if names is None:
        records = [_record(x, i, keys) for i, x in enumerate(objects)]
    else:
        records = [_named_record(x, i, names[i], keys) for i, x in enumerate(objects)]
    text = json.dumps(records if names is None else dict(zip(names, records)), allow_nan=False)
    if basename.endswith(_SAFETENSORS):
        with SafetensorsSaver(basename) as saver:
            saver.set_metadata(_OBJECTS, text)
            for part, key in _parts(objects, records):
                saver.save(part, key)
    else:
        _save_text(basename, list(_parts(objects, records)), text)


@told
def load(
    basename: str | os.PathLike[str],
    params: ParameterCollection,
    *,
    classes: Iterable[type] = (),
    trust: bool = False,
) -> Any:
    """The objects that `save` wrote, added to a collection: a list, or a dict if they have names.

    Nothing of a file runs. Classes are found in modules that the program has imported; a class in
    `classes` stands for the class of its name in any module. With `trust`, the `.meta` file of
    DyNet 2.1 is run as a pickle, which may import and run anything: use it only for your own files.

    All or nothing: any error leaves the collection as it was. IoError if a file is damaged, or
    names a class that the program has not imported or that lacks `from_spec`.
    """
    if not isinstance(params, ParameterCollection):
        raise Refused
    additions = _Additions(params)
    try:
        names, objects = _loaded(os.fspath(basename), params, classes, trust)
        return list(objects) if names is None else dict(zip(names, objects))
    except BaseException:
        additions.undo()
        raise


@told
def load_generator(
    basename: str | os.PathLike[str],
    params: ParameterCollection,
    *,
    classes: Iterable[type] = (),
    trust: bool = False,
) -> Iterator[Any]:
    """`load`, one object at a time, without names. Files and classes are checked before the first
    object. After an error the earlier objects stay in the collection."""
    if not isinstance(params, ParameterCollection):
        raise Refused
    return _loaded(os.fspath(basename), params, classes, trust)[1]


def _loaded(
    basename: str, params: ParameterCollection, classes: Iterable[type], trust: bool
) -> tuple[list[str] | None, Iterator[Any]]:
    """The names, if there are any, and the objects."""
    from . import _specs

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
        text = _read_meta(meta, trust)
    names, records = (None, text) if isinstance(text, list) else _parsed(text, meta)
    source = _specs.Source(meta, classes)
    _check(records, source)
    return names, (_made(record, source, data, params) for record in records)


def _parts(objects: list[Any], records: list[dict[str, Any]]) -> Iterator[tuple[Any, str]]:
    """The saved parts of the objects, with keys."""
    for x, record in zip(objects, records):
        if "value" in record:
            continue
        is_one = isinstance(x, (Parameters, LookupParameters))
        yield x if is_one else x.param_collection(), record["key"]


def _above(key: str) -> list[str]:
    """The folders of a key, as of a file: /a and /a/b of /a/b/c."""
    return [key[:i] for i, c in enumerate(key) if c == "/" and i > 0]


class _Keys:
    """Keys of objects in a file: no key is equal to another or above it.

    Keys below the key of a collection count as its parameters.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._above: set[str] = set()

    def add(self, wanted: str, i: int) -> str:
        """The key of the i-th object: the wanted key, or else a key below the number i."""
        key, tries = wanted, 0
        while key in self._above or not self._taken.isdisjoint([key, *_above(key)]):
            key = f"/{i}{'' if tries == 0 else f'_{tries}'}/{wanted.lstrip('/')}"
            tries += 1
        self._taken.add(key)
        self._above.update(_above(key))
        return key


_MEMBERS = ("spec", "from_spec", "param_collection")


def _names(objects: Mapping[Any, Any]) -> list[str]:
    for name in objects:
        if type(name) is not str or not name:
            raise _dynet.TypeError(
                f"save: the name {name!r} of an object; want a text that is not empty"
            )
    return list(objects)


def _named_record(x: Any, i: int, name: str, keys: _Keys) -> dict[str, Any]:
    """The record of the i-th object, which may be plain data."""
    if isinstance(x, (Parameters, LookupParameters)) or all(hasattr(x, m) for m in _MEMBERS):
        return _record(x, i, keys)
    from . import _specs  # here, because most programs do not save with it

    return {"value": _specs.encoded(x, f"object {name!r}", "value")}


def _record(x: Any, i: int, keys: _Keys) -> dict[str, Any]:
    """The record of the i-th object. Its key is its name, if the name is free."""
    if isinstance(x, (Parameters, LookupParameters)):
        kind = "Parameters" if isinstance(x, Parameters) else "LookupParameters"
        return {"kind": kind, "key": keys.add(x.name(), i)}
    missing = [m for m in _MEMBERS if not hasattr(x, m)]
    if missing:
        raise _dynet.TypeError(
            f"save: object {i} is a {type(x).__name__} without {', '.join(missing)}; want "
            "parameters, tables, and builders"
        )
    key = keys.add(x.param_collection().name().rstrip("/") or "/model", i)
    from . import _specs  # here, because most programs do not save with it

    owner = f"object {i}, a {type(x).__name__},"
    spec = _specs.encoded(x.spec, owner)
    record = {"kind": _specs.class_name(type(x), owner), "spec": spec, "key": key}
    settings = _settings(x)
    if settings:
        record["settings"] = _specs.encoded(settings, owner, "settings")
    return record


#: Settings for training, which a program makes again.
_FOR_TRAINING = {"set_dropout", "set_dropouts", "set_weightnoise", "set_updated"}


def _builders_in(x: Any) -> list[Any]:
    """The builders of the module that `x` is or consists of."""
    from ._bidirectional import BiRNNBuilder

    if isinstance(x, BiRNNBuilder):
        return [builder for layer in x.builder_layers for builder in layer]
    return [x]


def _settings(x: Any) -> list[tuple[int, str, tuple[Any, ...]]]:
    """The calls after the constructor that change the function of a builder, such as `forbid`:
    which of its builders, the method, and the arguments."""
    settings = []
    for i, builder in enumerate(_builders_in(x)):
        made = _dynet._made_of(builder)
        for method, arguments in made[-1] if made is not None else ():
            if method not in _FOR_TRAINING:
                settings.append((i, method, arguments))
    return settings


def _set(x: Any, settings: list[tuple[int, str, tuple[Any, ...]]]) -> None:
    from ._pickling import ours

    builders = _builders_in(x)
    for i, method, arguments in settings:
        is_setting = type(method) is str and method.startswith(("set_", "forbid"))
        is_ours = _dynet._made_of(builders[i]) is not None
        if not is_setting or not is_ours or not hasattr(ours(type(builders[i])), method):
            raise ValueError(f"'{method}' is no setting of a {type(builders[i]).__name__}")
        getattr(ours(type(builders[i])), method)(builders[i], *arguments)


def _read_meta(meta: str, trust: bool) -> str | list[Any]:
    """The result of _parsed, or the records of a file of 2.1."""
    try:
        with open(meta, "rb") as file:
            content = file.read()
    except OSError as e:
        kind = MissingFileError if isinstance(e, FileNotFoundError) else IoError  # as in 2.1
        raise kind(f"cannot open '{meta}': {e.strerror}{_what_is_there(meta)}") from None
    if content[:1] in (b"[", b"{"):
        return content.decode("utf-8", "replace")
    what = _foreign_file(content[:512])
    if what and "pickle" not in what:
        raise IoError(f"'{meta}' does not say what objects there are: {what}")
    from . import _old_meta

    return _old_meta.trusted(content, meta) if trust else _old_meta.records_of(content, meta)


def _what_is_there(meta: str) -> str:
    """A hint, if there is a file of this name without ".meta"."""
    name = meta[: -len(".meta")]
    try:
        with open(name, "rb") as file:
            what = _foreign_file(file.read(512))
    except OSError:
        return ""
    return f"; there is '{name}', which save did not write" + (f": {what}" if what else "")


def _parsed(text: str, meta: str) -> tuple[list[str] | None, list[Any]]:
    """The names, if there are any, and the records."""
    import json

    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _damaged(meta, e) from None
    names = list(records) if isinstance(records, dict) else None
    records = list(records.values()) if isinstance(records, dict) else records
    if not isinstance(records, list):
        raise _damaged(meta, TypeError("want a list"))
    if any(isinstance(record, dict) and "made" in record for record in records):
        raise _damaged(meta, ValueError("it has what only a pickle has"))
    return names, records


def _check(records: list[Any], meta: Source) -> None:
    """IoError unless the records look as _record makes them, and all classes are there."""
    from . import _specs

    try:
        for record in records:
            if "value" in record:
                _specs.decoded(record["value"], meta)
                continue
            if not isinstance(record["key"], str):
                raise TypeError("a key is no text")
            if record["kind"] not in ("Parameters", "LookupParameters") and "made" not in record:
                _specs.class_of(record["kind"], meta)
                _specs.decoded(record["spec"], meta)
                _specs.decoded(record.get("settings"), meta)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as e:
        if isinstance(e, IoError):
            raise
        raise _damaged(meta, e) from None


def _damaged(meta: str | Source, e: Exception) -> IoError:
    return IoError(f"'{meta}': what it says about its objects is damaged: {e}")


def _made(record: dict[str, Any], meta: Source, data: str, pc: ParameterCollection) -> Any:
    from . import _specs

    if "value" in record:
        return _specs.decoded(record["value"], meta)
    key, kind = record["key"], record["kind"]
    if kind == "Parameters":
        return pc.load_param(data, key)
    if kind == "LookupParameters":
        return pc.load_lookup_param(data, key)
    try:
        if "made" in record:  # by a trusted pickle
            cls, spec = record["made"]
        else:
            cls, spec = _specs.class_of(kind, meta), _specs.decoded(record["spec"], meta)
        made = cls.from_spec(spec, pc)
        _set(made, _specs.decoded(record.get("settings"), meta) or [])
    except (TypeError, ValueError, OverflowError, LookupError) as e:
        if isinstance(e, IoError):
            raise
        raise IoError(f"'{meta}', '{key}': no {kind} can be made of its spec: {e}") from e
    made.param_collection().populate(data, key)
    return made
