"""Reads the `.meta` files of DyNet 2.1, which are Python pickles, and runs nothing in them.

A pickle is a program that may call any function by name. Here a name is no function: it becomes a
`_Name`, which cannot be called; afterwards `_specs.py` looks the class up, as for the library's own
files. Calls that make sets, bytes, ordered dicts, named tuples and NumPy's numbers and arrays go to
functions of this file. These make a `_Value`: a kind and its contents, as `_specs.py` writes it.

Reading never takes long. A pickle of a few bytes may have a tuple with the same tuple twice in it,
and so on, sixty times: 2^60 entries to look at. So only texts of a file are hashed or shown, and
its contents are counted.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any, ClassVar, NoReturn

from _dynet import IoError

from ._specs import array_code, bytes_code


class _Name:
    """A class that the file names."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class _Value:
    """A value of a kind of `_specs.py`, and its members, or pairs of a key and a value."""

    __slots__ = ("kind", "members")

    def __init__(self, kind: str, members: list[Any]) -> None:
        self.kind, self.members = kind, members

    def __setitem__(self, key: Any, value: Any) -> None:
        self.members.append((key, value))

    def add(self, member: Any) -> None:
        self.members.append(member)


class _NumberType:
    """A NumPy dtype in a file: only its letters count."""

    __slots__ = ("code", "order")

    def __init__(self, code: str) -> None:
        self.code, self.order = code, "<"

    def set_state(self, state: tuple[Any, ...]) -> None:
        self.order = ">" if state[1] == ">" else "<"

    def text(self) -> str:
        return ("|" if self.code in ("b1", "i1", "u1") else self.order) + self.code


class _Array:
    """A NumPy array, which a file first makes and then fills."""

    __slots__ = ("content", "is_fortran", "kind", "shape")

    def set_state(self, state: tuple[Any, ...]) -> None:
        _, shape, kind, is_fortran, content = state
        sizes = shape if type(shape) is tuple else (-1,)
        if not isinstance(kind, _NumberType) or type(content) is not bytes:
            raise ValueError("an array without numbers")
        if any(type(n) is not int or n < 0 for n in sizes) or len(sizes) > 32:
            raise ValueError("an array without a shape")
        self.kind, self.shape, self.content = kind, list(sizes), content
        self.is_fortran = is_fortran is True and len(sizes) > 1

    def code(self) -> Any:
        """The array as `_specs.py` writes arrays."""
        content = self.content
        if self.is_fortran:
            size = struct.calcsize(_FORMATS[self.kind.code])
            content = _in_order_of_c(content, self.shape, size)
        return array_code(self.kind.text(), self.shape, content)


def _in_order_of_c(content: bytes, shape: list[int], size: int) -> bytes:
    """Elements of `size` bytes in the order of C. In `content` the first axis varies first."""
    count = 1
    for n in shape:
        count *= n
    if count * size != len(content):
        raise ValueError("an array whose numbers are not as many as its shape says")
    if not content:
        return content
    places = [0]
    step = 1
    for n in shape:
        places = [at + i * step for at in places for i in range(n)]
        step *= n
    return b"".join(content[at * size : (at + 1) * size] for at in places)


_FORMATS = {"f2": "e", "f4": "f", "f8": "d", "b1": "?"}
_FORMATS |= {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}


# ---- the functions of a file --------------------------------------------------------------------


class _Function:
    """One of the functions below. A file can call it, and nothing else."""

    __slots__ = ("make",)

    def __init__(self, make: Any) -> None:
        self.make = make


def _number_type(code: Any, *_: Any) -> _NumberType:
    if type(code) is not str or code not in _FORMATS:
        raise ValueError(f"a number of a type that is {_shown(code)}")
    return _NumberType(code)


def _number(kind: Any, content: Any) -> Any:
    """The pickled form of NumPy's numbers: a type and bytes."""
    if not isinstance(kind, _NumberType) or not isinstance(content, bytes):
        raise ValueError("a number without its type")
    return struct.unpack(kind.order + _FORMATS[kind.code], content)[0]


def _empty_array(*_: Any) -> _Array:
    return _Array()


def _bytes(text: Any = "", encoding: Any = "latin1") -> bytes:
    """Bytes as protocols before 3 write them: text with a character for each byte."""
    if type(text) is bytes:
        return text
    if type(text) is not str or encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes that are {_shown(text)}")
    return text.encode("latin-1")


def _set(members: Any = ()) -> _Value:
    return _Value("set", _members(members))


def _frozenset(members: Any = ()) -> _Value:
    return _Value("frozenset", _members(members))


def _ordered(pairs: Any = ()) -> _Value:
    pairs = _members(pairs)
    if any(type(pair) not in (list, tuple) or len(pair) != 2 for pair in pairs):
        raise ValueError("an ordered dict without pairs")
    return _Value("ordered", [tuple(pair) for pair in pairs])


def _numbers(kind: str, wanted: tuple[type, ...], count: int) -> _Function:
    def make(*members: Any) -> _Value:
        if len(members) != count or any(type(x) not in wanted for x in members):
            raise ValueError(f"a {kind} without its {count} numbers")
        return _Value(kind, list(members))

    return _Function(make)


def _members(x: Any) -> list[Any]:
    if type(x) not in (list, tuple):
        raise ValueError(f"members that are {_shown(x)}")
    return list(x)


def _named(name: Any, base: Any, members: Any) -> _Value:
    """A named tuple, as protocols before 2 write it."""
    if type(name) is not _Name or type(base) is not _Name or base.text[-6:] != ":tuple":
        raise ValueError(f"an object of {_shown(name)}")
    return _Value("named", [name.text, *_members(members)])


# Functions that a file may call, also under the names of Python 2 and NumPy 1.
_CALLED = {
    ("numpy", "dtype"): _Function(_number_type),
    ("_codecs", "encode"): _Function(_bytes),
    ("collections", "OrderedDict"): _Function(_ordered),
}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _CALLED[_module, "scalar"] = _Function(_number)
    _CALLED[_module, "_reconstruct"] = _Function(_empty_array)
for _module in ("builtins", "__builtin__"):
    _CALLED[_module, "set"] = _Function(_set)
    _CALLED[_module, "frozenset"] = _Function(_frozenset)
    _CALLED[_module, "bytes"] = _Function(_bytes)
    _CALLED[_module, "complex"] = _numbers("complex", (int, float), 2)
    for _range in ("range", "xrange"):
        _CALLED[_module, _range] = _numbers("range", (int,), 3)
for _module in ("copyreg", "copy_reg"):
    _CALLED[_module, "_reconstructor"] = _Function(_named)
# Modules of the library's classes, and the places of these classes here.
_LIBRARY = ("_dynet", "_gdynet", "dynet")


# The reader in C takes memory for the number of objects that a file announces.
class _Reader(pickle._Unpickler):
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def __init__(self, stream: io.BytesIO, left: list[int]) -> None:
        super().__init__(stream)
        self._left = left

    def count(self, arguments: Any) -> None:
        """Counts the arguments of a call, because a file may ask for many copies of them."""
        self._left[0] -= sum(len(x) for x in arguments if type(x) in (str, bytes, list, tuple))
        _check_left(self._left)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CALLED:
            return _CALLED[module, name]
        return _Name(f"{'dynet' if module in _LIBRARY else module}:{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError(f"it refers to something outside, {_shown(pid)}")

    def get_extension(self, code: int) -> NoReturn:
        # Programs register extensions, and used extensions are found without find_class.
        raise pickle.UnpicklingError(f"it refers to the extension {code}")


# ---- instructions of a pickle that are other ones here ------------------------------------------


def _refuse(reader: _Reader) -> NoReturn:
    raise pickle.UnpicklingError("it has a buffer")


def _call(reader: Any) -> None:
    arguments = reader.stack.pop()
    function = reader.stack[-1]
    if type(function) is not _Function:
        raise pickle.UnpicklingError(f"it calls {_shown(function)}")
    reader.count(arguments)
    reader.stack[-1] = function.make(*arguments)


def _new_object(reader: Any) -> None:
    members = reader.stack.pop()
    name = reader.stack.pop()
    if type(name) is not _Name:
        raise pickle.UnpicklingError(f"it makes an object of {_shown(name)}")
    reader.count([members])
    reader.append(_Value("named", [name.text, *_members(members)]))


def _set_state(reader: Any) -> None:
    state = reader.stack.pop()
    of = reader.stack[-1]
    if not isinstance(of, (_NumberType, _Array)) or type(state) is not tuple:
        raise pickle.UnpicklingError(f"it sets attributes of {_shown(of)}")
    of.set_state(state)


def _dict(reader: Any) -> None:
    both = reader.pop_mark()
    reader.append(_Value("items", list(zip(both[::2], both[1::2]))))


def _frozen(reader: Any) -> None:
    members = reader.pop_mark()
    reader.append(_Value("frozenset", members))


_OTHER = {
    pickle.EMPTY_DICT: lambda reader: reader.append(_Value("items", [])),
    pickle.DICT: _dict,
    pickle.EMPTY_SET: lambda reader: reader.append(_Value("set", [])),
    pickle.FROZENSET: _frozen,
    pickle.REDUCE: _call,
    pickle.NEWOBJ: _new_object,
    pickle.BUILD: _set_state,
    pickle.BYTEARRAY8: _refuse,
    pickle.NEXT_BUFFER: _refuse,
    pickle.READONLY_BUFFER: _refuse,
}
_Reader.dispatch.update({code[0]: load for code, load in _OTHER.items()})


def records_of(content: bytes, meta: str) -> list[dict[str, Any]]:
    """The records of _files.py's own files. IoError for anything that 2.1 does not write."""
    if not 0 < len(content) <= _MOST_BYTES:
        raise IoError(f"'{meta}' has {len(content)} bytes; want 1 to {_MOST_BYTES}")
    stream = io.BytesIO(content)
    left = [_MOST]
    records: list[dict[str, Any]] = []
    try:
        while stream.tell() < len(content):
            records.append(_record(_Reader(stream, left).load(), left))
    except MemoryError:
        raise
    except Exception as e:  # a pickle that is damaged may raise anything
        raise IoError(
            f"'{meta}', object {len(records)}: neither JSON nor what DyNet 2.1 writes: {e}; if you "
            "trust it as a program of yours, load(..., trust=True) runs it"
        ) from None
    return records


def _record(entry: Any, left: list[int]) -> dict[str, Any]:
    if type(entry) is not tuple or len(entry) not in (2, 3) or type(entry[-1]) is not str:
        raise ValueError(f"want a tuple of a class, a spec and a name, not {_shown(entry)}")
    key = entry[-1].rstrip("/") or "/model"
    if len(entry) == 2:
        if entry[0] not in ("Parameters", "LookupParameters"):
            raise ValueError(f"want Parameters or LookupParameters, not {_shown(entry[0])}")
        return {"kind": entry[0], "key": key}
    if type(entry[0]) is not _Name:
        raise ValueError(f"want a class, not {_shown(entry[0])}")
    return {"kind": entry[0].text, "spec": _encoded(entry[1], left), "key": key}


_MOST_BYTES = 4 << 20  # some hundred thousand objects
_MOST = 1_000_000  # members of all specs, and the characters of their texts
_MOST_BITS = 1024  # of a whole number


def _check_left(left: list[int]) -> None:
    if left[0] < 0:
        raise ValueError(f"its specs have more than {_MOST} members and characters")


def _encoded(x: Any, left: list[int]) -> Any:
    """Like `encoded` of _specs.py, with classes by name. `left`: the entries still allowed."""
    left[0] -= 1 + (len(x) if type(x) in (str, bytes) else 0)
    if type(x) is _Array:
        left[0] -= len(x.content)
    _check_left(left)
    if type(x) is int and x.bit_length() > _MOST_BITS:
        raise ValueError(f"a spec has a number of {x.bit_length()} bits")
    if x is None or type(x) in (bool, int, float, str):
        return x
    if type(x) in (tuple, list):
        return {type(x).__name__: [_encoded(y, left) for y in x]}
    if type(x) is bytes:
        return bytes_code(x)
    if type(x) is _Array:
        return x.code()
    if type(x) is _Value:
        return _encoded_value(x, left)
    if type(x) is _Name:
        return {"class": x.text}
    raise ValueError(f"a spec has {_shown(x)}")


def _encoded_value(x: _Value, left: list[int]) -> Any:
    if x.kind in ("items", "ordered"):
        pairs = [(_encoded(k, left), _encoded(v, left)) for k, v in x.members]
        if x.kind == "items" and all(type(k) is str for k, _ in pairs):
            return {"dict": dict(pairs)}
        return {x.kind: [list(pair) for pair in pairs]}
    return {x.kind: [_encoded(y, left) for y in x.members]}


def _shown(x: Any) -> str:
    """A short text for x."""
    text = x.text if type(x) is _Name else x
    if type(text) is not str:
        return f"a {type(x).__name__}"
    return f"the name {text[:60]}" if type(x) is _Name else f"the text {text[:60]!r}"


# ---- files that the program trusts --------------------------------------------------------------


class _TrustedReader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return super().find_class("dynet" if module in _LIBRARY else module, name)


def trusted(content: bytes, meta: str) -> list[dict[str, Any]]:
    """The records of a pickle, which runs like any pickle. IoError if running fails, or for
    contents that 2.1 does not write."""
    records: list[dict[str, Any]] = []
    stream = io.BytesIO(content)
    try:
        while stream.tell() < len(content):
            records.append(_trusted_record(stream))
    except MemoryError:
        raise
    except Exception as e:  # whatever the pickle runs
        raise IoError(
            f"'{meta}', object {len(records)}: no pickle that DyNet 2.1 wrote, or one that cannot "
            f"be read here: {type(e).__name__}: {e}"
        ) from e
    return records


def _trusted_record(stream: io.BytesIO) -> dict[str, Any]:
    start = stream.tell()
    try:
        entry = _TrustedReader(stream).load()
    except UnicodeDecodeError:  # bytes of Python 2, as NumPy's arrays have them
        stream.seek(start)
        entry = _TrustedReader(stream, encoding="latin1").load()
    if type(entry) is not tuple or len(entry) not in (2, 3) or type(entry[-1]) is not str:
        raise ValueError(f"want a tuple of a class, a spec and a name, not {_shown(entry)}")
    key = entry[-1].rstrip("/") or "/model"
    if len(entry) == 2:
        if entry[0] not in ("Parameters", "LookupParameters"):
            raise ValueError(f"want Parameters or LookupParameters, not {_shown(entry[0])}")
        return {"kind": entry[0], "key": key}
    cls = entry[0]
    if not isinstance(cls, type) or not hasattr(cls, "from_spec"):
        raise ValueError(f"want a class with from_spec, not {_shown(cls)}")
    return {"kind": cls.__qualname__, "made": (cls, entry[1]), "key": key}
