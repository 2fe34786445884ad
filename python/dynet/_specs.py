"""The contents of a builder's `spec`, as JSON and back: `encoded` and `decoded`.

A value comes back equal and of the same type, or writing refuses the value. Nothing in a file runs:
classes are looked up among the program's classes and the modules that the program has imported by
itself, and their objects (a member of an enumeration, a named tuple, an object that is plain data)
are made without their code.

A value that JSON lacks is a dict with one member, which names the kind: ``{"tuple": [1, 2]}``.
Infinity and NaN are such values, ``{"float": "-inf"}``: C++ reads strict JSON.
"""

from __future__ import annotations

import base64
import re
import sys
import types

import _dynet
from _dynet import IoError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_PLAIN = (type(None), bool, int, float, str)
_NO_JSON = ("inf", "-inf", "nan")  # floats
#: Types that hash quickly, and with few values of the same hash.
_QUICK_KEYS = (type(None), bool, float, str, bytes)
#: The most keys of other types, such as tuples: a hostile file may give all of them one hash.
MOST_SLOW_KEYS = 4096
MOST_ARRAY_BYTES = 1 << 20
_NUMBERS = re.compile(r"[<>|]?[biufc]\d+")
_ELEMENTS = re.compile(r"[<>|]?[biufcSU][1-9]\d*")
_WANT = (
    "numbers, text, bytes, None, tuples, lists, sets, dicts, Dicts, small arrays, members of "
    "enumerations, named tuples and objects of modules that have such things in a __dict__ and "
    "nothing else, classes with from_spec, and dynet's functions of expressions"
)


class _NotEncodable(Exception):
    """`where` in the spec, from the innermost place outwards."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.where = ""


def encoded(spec: Any, owner: str, what: str = "spec") -> Any:
    """A spec as JSON. TypeError, which names the place, for a value that cannot be written."""
    try:
        return _encoded(spec)
    except _NotEncodable as e:
        raise _dynet.TypeError(f"save: {what}{e.where} of {owner} is {e}; want {_WANT}") from None
    except RecursionError:
        raise _dynet.TypeError(
            f"save: the {what} of {owner} has itself as a member, or is nested too deeply"
        ) from None


def class_name(cls: type, owner: str) -> str:
    """The name of the class of `owner`. TypeError if that name does not lead to the class."""
    try:
        return _name_of_class(cls)
    except _NotEncodable as e:
        raise _dynet.TypeError(f"save: {owner} is {e}, where load cannot find it") from None


def _encoded(x: Any) -> Any:
    kind = type(x)
    if kind is float and repr(x) in _NO_JSON:
        return {"float": repr(x)}
    if kind in _PLAIN:
        return x
    if kind in _CODES:
        name, encode, _ = _CODES[kind]
        return {name: encode(x)}
    if kind is dict:
        if all(type(k) is str for k in x):
            return {"dict": {k: _within(f"[{k!r}]", v) for k, v in x.items()}}
        return {"items": _pairs(x)}
    if isinstance(x, type) or hasattr(x, "__nb_signature__"):
        return {"class": _class_text(x)}
    if isinstance(x, tuple) and hasattr(kind, "_fields"):
        return {"named": [_name_of_class(kind), *_list(tuple(x))]}
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(x, (numpy.generic, numpy.ndarray)):
        return _array(x, numpy)
    if _is_enumeration(kind):
        return {"member": [_name_of_class(kind), x.name]}
    return _object(x)


def _object(x: Any) -> dict[str, Any]:
    """An object of a class of the program's own, as its `__dict__`."""
    from ._plain_objects import why_not_plain

    kind = type(x)
    why = why_not_plain(kind)
    if why:
        told = _told(x)
        raise _NotEncodable(f"{told}, {why}" if told.startswith("of type") else told)
    state = object.__getattribute__(x, "__dict__")
    if not all(type(name) is str for name in state):
        raise _NotEncodable(f"{_told(x)}, with attributes whose names are no text")
    members = {name: _within(f".{name}", value) for name, value in state.items()}
    return {"object": [_name_of_class(kind), members]}


def _within(place: str, x: Any) -> Any:
    try:
        return _encoded(x)
    except _NotEncodable as e:
        e.where = place + e.where
        raise


def _told(x: Any) -> str:
    """A value that cannot be written, briefly."""
    kind = type(x)
    if isinstance(x, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        name = getattr(x, "__qualname__", "?")
        return f"the function {name}; give from_spec its name, which finds it"
    if hasattr(kind, "from_spec") or kind in (_dynet.Parameters, _dynet.LookupParameters):
        return f"a {kind.__name__}, which save takes as an object of its own, not within another"
    return f"of type {kind.__module__}.{kind.__qualname__}"


def _list(x: Iterable[Any]) -> list[Any]:
    return [_within(f"[{i}]", y) for i, y in enumerate(x)]


def _set(x: Iterable[Any]) -> list[Any]:
    """The entries, in an order that is the same each time."""
    try:
        _check_keys(x)
    except ValueError as e:
        raise _NotEncodable(f"of type {type(x).__name__}, and {e}") from None
    return sorted(map(_encoded_key, x), key=repr)


def _pairs(x: dict[Any, Any]) -> list[Any]:
    try:
        _check_keys(x)
    except ValueError as e:
        raise _NotEncodable(f"of type {type(x).__name__}, and {e}") from None
    return [[_encoded_key(k), _within(f"[{k!r}]", v)] for k, v in x.items()]


def _encoded_key(x: Any) -> Any:
    code = _encoded(x)
    if _has_object(code):
        raise _NotEncodable(f"a dict or set that has to hash an object, {_told(x)}")
    return code


def _has_object(code: Any) -> bool:
    """Whether the code holds an object."""
    if type(code) is dict:
        return "object" in code or any(map(_has_object, code.values()))
    return type(code) is list and any(map(_has_object, code))


def _check_keys(keys: Iterable[Any]) -> None:
    """ValueError if putting the keys into a dict may take long."""
    slow = 0
    for key in keys:
        if type(key) is int:
            if key.bit_length() > 64:
                raise ValueError(f"a whole number of {key.bit_length()} bits is a key")
        elif type(key) not in _QUICK_KEYS:
            slow += 1
            if slow > MOST_SLOW_KEYS:
                raise ValueError(f"more than {MOST_SLOW_KEYS} keys are neither numbers nor text")


# ---- classes ------------------------------------------------------------------------------------


def _name_of_class(cls: type) -> str:
    """`module:Class`, by which the class can be found."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    if _found(name) is not cls:
        where = "inside a function" if "<" in name else "not found by its name"
        raise _NotEncodable(f"of the class {cls.__qualname__}, which is {where}")
    return name


def _class_text(x: Any) -> str:
    if not isinstance(x, type):
        if _is_operation(x):
            return f"dynet:{x.__name__}"
        raise _NotEncodable(f"the function {x.__name__}, which is none of expressions")
    name = f"{x.__module__}:{x.__qualname__}"
    if _found(name) is not x or not hasattr(x, "from_spec"):
        why = "without from_spec" if _found(name) is x else "not found by its name"
        if "<" in name:
            why = "inside a function, where load cannot find it"
        raise _NotEncodable(f"the class {x.__qualname__}, which is {why}")
    return name


def _found(name: str) -> Any:
    """An attribute that is there already, because a module's own __getattr__ might import."""
    module, _, path = name.partition(":")
    if module.startswith("dynet.text."):  # imported at its first use only
        import dynet.text  # noqa: F401
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        is_place = isinstance(found, (type, types.ModuleType))
        found = vars(found).get(part) if is_place else None
    return found


def _is_operation(x: Any) -> bool:
    """Whether x is a function of the module from expressions to an expression. Any file may call
    such a function: it does no harm."""
    if isinstance(x, type) or getattr(_dynet, getattr(x, "__name__", ""), None) is not x:
        return False
    signatures = getattr(x, "__nb_signature__", ())
    return any(re.search(r"Expression.*-> (dynet\.)?Expression$", s[0]) for s in signatures)


class Source:
    """A file that is read, by its name, and the classes that the program names for it.

    A class of the list stands for the class of its name in any module: the program that wrote the
    file may have had the class in another module, such as `__main__`.
    """

    def __init__(self, meta: str, classes: Iterable[type] = ()) -> None:
        self._meta = meta
        self._classes: dict[str, type] = {}
        for cls in classes:
            if not isinstance(cls, type):
                raise _dynet.TypeError(f"load: classes has {cls!r}; want classes")
            if self._classes.setdefault(cls.__qualname__, cls) is not cls:
                raise _dynet.ValueError(
                    f"load: classes has two that are called {cls.__qualname__}; want one"
                )

    def __str__(self) -> str:
        return self._meta

    def found(self, name: Any) -> Any:
        """The program's class or function of this name, or None."""
        if type(name) is not str:
            raise TypeError("the name of a class is no text")
        named = self._classes.get(name.partition(":")[2])
        return _found(name) if named is None else named


def _plain_object(value: Any, meta: Source) -> Any:
    from ._plain_objects import made

    name, members = value
    found = meta.found(name)
    if not isinstance(found, type):
        raise IoError(
            f"'{meta}' has an object of the class '{name}'; want one that is imported, or named in "
            "load(..., classes=[...])"
        )
    return made(found, {k: decoded(x, meta) for k, x in members.items()})


def class_of(name: str, meta: Source) -> Any:
    """The class with this name. IoError unless it is imported or named, and has `from_spec`."""
    found = meta.found(name)
    if not isinstance(found, type) or not hasattr(found, "from_spec"):
        raise IoError(
            f"'{meta}' names the class '{name}'; want one that is imported and has from_spec, or "
            "is named in load(..., classes=[...])"
        )
    return found


def _is_enumeration(cls: Any) -> bool:
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(cls, enum.EnumMeta)


def _member(value: Any, meta: Source) -> Any:
    cls, name = value
    found = meta.found(cls)
    if not _is_enumeration(found):
        raise TypeError(f"'{cls}' is no enumeration of a module that is imported")
    return found._member_map_[name]


def _named(value: Any, meta: Source) -> Any:
    cls, *items = value
    found = meta.found(cls)
    is_named = isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")
    if not is_named or len(found._fields) != len(items):
        raise TypeError(f"'{cls}' is no named tuple of {len(items)} in a module that is imported")
    return tuple.__new__(found, [decoded(x, meta) for x in items])


# ---- bytes and arrays ---------------------------------------------------------------------------


def _text(x: bytes | bytearray) -> str:
    return base64.b64encode(x).decode("ascii")


def _bytes(x: str) -> bytes:
    return base64.b64decode(x, validate=True)


def bytes_code(x: bytes) -> dict[str, Any]:
    return {"bytes": _text(x)}


def array_code(kind: str, shape: list[int] | None, content: bytes) -> dict[str, Any]:
    """Numbers in the order of C; without a shape a number of NumPy's."""
    if shape is None:
        return {"number": [kind, _text(content)]}
    return {"array": [kind, shape, _text(content)]}


def _array(x: Any, numpy: Any) -> dict[str, Any]:
    is_number = isinstance(x, numpy.generic)
    if not (_NUMBERS if is_number else _ELEMENTS).fullmatch(x.dtype.str) or not (
        is_number or type(x) is numpy.ndarray
    ):
        raise _NotEncodable(f"of type {type(x).__name__} and dtype {x.dtype}")
    if x.nbytes > MOST_ARRAY_BYTES:
        raise _NotEncodable(
            f"an array of {x.nbytes:,} bytes, which is more than {MOST_ARRAY_BYTES:,}; make it a "
            "parameter"
        )
    return array_code(x.dtype.str, None if is_number else list(x.shape), x.tobytes())


def _array_of(value: Any, is_number: bool) -> Any:
    try:
        import numpy
    except ModuleNotFoundError:
        raise IoError("a spec has numbers of NumPy, which is not installed") from None
    kind, shape, content = [value[0], (), value[1]] if is_number else value
    if not isinstance(kind, str) or not (_NUMBERS if is_number else _ELEMENTS).fullmatch(kind):
        raise TypeError("a spec has an array of a type that is none")
    array = numpy.frombuffer(_bytes(content), numpy.dtype(kind)).reshape(shape)
    return array[()] if is_number else array.copy()


# ---- the table ----------------------------------------------------------------------------------


def _key(code: Any, meta: Source) -> Any:
    """The key of a dict. An object is refused, because hashing it runs code of its class."""
    if _has_object(code):
        raise TypeError("an object is a key, or a member of a set")
    return decoded(code, meta)


def _decoded_items(value: Any, meta: Source) -> list[tuple[Any, Any]]:
    items = [(_key(k, meta), decoded(v, meta)) for k, v in value]
    _check_keys(k for k, _ in items)
    return items


def _decoded_keys(value: Any, meta: Source) -> list[Any]:
    keys = [_key(x, meta) for x in value]
    _check_keys(keys)
    return keys


def _words(state: list[Any]) -> Any:
    words = _dynet.Dict.__new__(_dynet.Dict)
    words.__setstate__(tuple(state))
    return words


def _float(text: Any) -> float:
    if text not in _NO_JSON:
        raise TypeError("a spec has a 'float' that is neither infinite nor NaN")
    return float(text)


#: A defaultdict of a file may make values with these types, whose calls do no harm.
_FACTORIES = {kind.__name__: kind for kind in (bool, int, float, str, list, tuple, dict, set)}


def _defaults(x: Any) -> list[Any]:
    factory = x.default_factory
    name = getattr(factory, "__name__", "?")
    if factory is not None and _FACTORIES.get(name) is not factory:
        raise _NotEncodable(f"a defaultdict with values of {name}; make it a dict")
    return [None if factory is None else name, _pairs(x)]


def _codes() -> dict[Any, tuple[str, Callable[[Any], Any], Callable[[Any, Source], Any]]]:
    """For each type its name in the file, its JSON, and the function that makes the value again."""
    from collections import Counter, OrderedDict, defaultdict

    def with_defaults(value: Any, meta: Source) -> Any:
        factory, items = value
        return defaultdict(factory and _FACTORIES[factory], _decoded_items(items, meta))

    return {
        tuple: ("tuple", _list, lambda v, meta: tuple([decoded(x, meta) for x in v])),
        list: ("list", _list, lambda v, meta: [decoded(x, meta) for x in v]),
        set: ("set", _set, lambda v, meta: set(_decoded_keys(v, meta))),
        frozenset: ("frozenset", _set, lambda v, meta: frozenset(_decoded_keys(v, meta))),
        OrderedDict: ("ordered", _pairs, lambda v, meta: OrderedDict(_decoded_items(v, meta))),
        Counter: ("counter", _pairs, lambda v, meta: Counter(dict(_decoded_items(v, meta)))),
        defaultdict: ("defaults", _defaults, with_defaults),
        bytes: ("bytes", _text, lambda v, meta: _bytes(v)),
        bytearray: ("bytearray", _text, lambda v, meta: bytearray(_bytes(v))),
        complex: (
            "complex",
            lambda x: _list([x.real, x.imag]),
            lambda v, meta: complex(*[decoded(x, meta) for x in v]),
        ),
        _dynet.Dict: (
            "Dict",
            lambda x: [x.get_words(), x.is_frozen(), x.get_unk_id()],
            lambda v, meta: _words(v),
        ),
        range: ("range", lambda x: [x.start, x.stop, x.step], lambda v, meta: range(*v)),
    }


_CODES = _codes()
_DECODE: dict[str, Callable[[Any, Source], Any]] = {
    **{name: decode for name, _, decode in _CODES.values()},
    "dict": lambda v, meta: {k: decoded(x, meta) for k, x in v.items()},
    "items": lambda v, meta: dict(_decoded_items(v, meta)),
    "float": lambda v, meta: _float(v),
    "class": lambda v, meta: _operation(v) or class_of(v, meta),
    "member": _member,
    "object": _plain_object,
    "named": _named,
    "number": lambda v, meta: _array_of(v, True),
    "array": lambda v, meta: _array_of(v, False),
}
_LISTS = {
    *("tuple", "list", "set", "frozenset", "ordered"),
    *("counter", "defaults", "items", "named", "object"),
}


def _operation(name: str) -> Any:
    found = getattr(_dynet, name[6:], None) if name.startswith("dynet:") else None
    return found if _is_operation(found) else None


def decoded(x: Any, meta: Source) -> Any:
    """The value that `encoded` wrote. IoError for a missing class; TypeError, ValueError,
    LookupError or AttributeError for JSON that `encoded` does not write."""
    if type(x) in _PLAIN:
        return x
    ((kind, value),) = x.items()
    if kind not in _DECODE:
        raise TypeError(f"a spec has '{kind}', which no value is")
    if kind in _LISTS and not isinstance(value, list):
        raise TypeError(f"a spec has a '{kind}' that is no list")
    return _DECODE[kind](value, meta)
