"""Reads the `.meta` files of DyNet 2.1, which are Python pickles, without running anything in them.

A pickle is a program that may call any function it can name. Here a name is no function: it becomes
a `_Name`, which cannot be called and has no attributes to set, and `_files.py` looks the class up
afterwards, as it does for files of its own. The one exception are numbers of NumPy, which many
programs put into a `spec`; they are read by functions of this file.

Nor does a file take long: a pickle of a few bytes may have a tuple with the same tuple twice in it,
and so on, sixty times, and whoever looks at all of that is never done. So nothing of a file is
hashed or shown but texts, and what it has is counted.
"""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any, ClassVar, NoReturn

from _dynet import IoError


class _Name:
    """A class that the file names."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __setstate__(self, state: object) -> NoReturn:
        raise ValueError("attributes of a class")


class _NumberType:
    """What a file says of NumPy's dtype: the letters are all that counts."""

    __slots__ = ("code", "order")

    def __init__(self, code: str) -> None:
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = ">" if state[1] == ">" else "<"


class _MakeNumberType:
    """`numpy.dtype`. An object without attributes, of which a file cannot change anything."""

    __slots__ = ()

    def __call__(self, code: Any, *_: Any) -> _NumberType:
        if type(code) is not str or code not in _FORMATS:
            raise ValueError(f"a number of a type that is {_shown(code)}")
        return _NumberType(code)


class _MakeNumber:
    """What NumPy's numbers are pickled as: a type and bytes."""

    __slots__ = ()

    def __call__(self, kind: Any, content: Any) -> Any:
        if not isinstance(kind, _NumberType) or not isinstance(content, bytes):
            raise ValueError("a number without its type")
        return struct.unpack(kind.order + _FORMATS[kind.code], content)[0]


_FORMATS = {"f2": "e", "f4": "f", "f8": "d", "b1": "?"}
_FORMATS |= {"i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}

# Functions that a file may call. Those of NumPy are under the names of its versions 1 and 2.
_CALLED = {
    ("numpy", "dtype"): _MakeNumberType(),
    ("numpy.core.multiarray", "scalar"): _MakeNumber(),
    ("numpy._core.multiarray", "scalar"): _MakeNumber(),
}
# Modules whose classes are the library's, and how their classes are found here.
_LIBRARY = ("_dynet", "_gdynet", "dynet")


# The one in C takes memory for as many objects as a file says it is going to have.
class _Reader(pickle._Unpickler):
    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _CALLED:
            return _CALLED[module, name]
        return _Name(f"{'dynet' if module in _LIBRARY else module}:{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError(f"it refers to something outside, {_shown(pid)}")

    def get_extension(self, code: int) -> NoReturn:
        # Programs register them, and those once used are found without find_class.
        raise pickle.UnpicklingError(f"it refers to the extension {code}")


def _refuse(reader: _Reader) -> NoReturn:
    raise pickle.UnpicklingError("it has a set or a buffer")


def _with_texts_as_keys(load: Any, first: int) -> Any:
    """Of an instruction that puts what is on the stack into a dict, keys and values in turns."""

    def checked(reader: Any) -> None:
        if any(type(key) is not str for key in reader.stack[first::2]):
            raise pickle.UnpicklingError("a dict has a key that is no text")
        load(reader)

    return checked


_SETS = (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET)
for _code in (*_SETS, pickle.BYTEARRAY8, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER):
    _Reader.dispatch[_code[0]] = _refuse
for _code, _first in ((pickle.DICT, 0), (pickle.SETITEMS, 0), (pickle.SETITEM, -2)):
    _Reader.dispatch[_code[0]] = _with_texts_as_keys(_Reader.dispatch[_code[0]], _first)


def records_of(content: bytes, meta: str) -> list[dict[str, Any]]:
    """What _files.py has in its own files. IoError for all that 2.1 does not write."""
    if not 0 < len(content) <= _MOST_BYTES:
        raise IoError(f"'{meta}' has {len(content)} bytes; want 1 to {_MOST_BYTES}")
    stream = io.BytesIO(content)
    left = [_MOST]
    records: list[dict[str, Any]] = []
    try:
        while stream.tell() < len(content):
            records.append(_record(_Reader(stream).load(), left))
    except MemoryError:
        raise
    except Exception as e:  # a pickle that is damaged may raise anything
        raise IoError(
            f"'{meta}', object {len(records)}: neither JSON nor what DyNet 2.1 writes: {e}"
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


def _encoded(x: Any, left: list[int]) -> Any:
    """As `_encoded` of _files.py, with classes by name. `left`: how many more there may be."""
    left[0] -= 1 + (len(x) if type(x) is str else 0)
    if left[0] < 0:
        raise ValueError(f"its specs have more than {_MOST} members and characters")
    if type(x) is int and x.bit_length() > _MOST_BITS:
        raise ValueError(f"a spec has a number of {x.bit_length()} bits")
    if x is None or type(x) in (bool, int, float, str):
        return x
    if type(x) in (tuple, list):
        return {type(x).__name__: [_encoded(y, left) for y in x]}
    if type(x) is dict:  # its keys are texts
        left[0] -= sum(map(len, x))
        return {"dict": {k: _encoded(v, left) for k, v in x.items()}}
    if type(x) is _Name:
        return {"class": x.text}
    raise ValueError(f"a spec has {_shown(x)}")


def _shown(x: Any) -> str:
    """Briefly."""
    text = x.text if type(x) is _Name else x
    if type(text) is not str:
        return f"a {type(x).__name__}"
    return f"the name {text[:60]}" if type(x) is _Name else f"the text {text[:60]!r}"
