"""Objects of a program's own classes that are plain data: a class, and a `__dict__`.

Such an object is made without any of its class's code: `object.__new__`, and then its `__dict__` is
filled. So a class takes part only if its objects are nothing more. A class with a `__del__`, a
`__setstate__` or a `__slots__` takes no part, nor does a class of Python's own modules, whose
objects may hold files and processes.
"""

from __future__ import annotations

import abc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Names that a class may not define, because its objects would be more than their `__dict__`.
_CODE = (
    *("__del__", "__new__", "__setstate__", "__getstate__", "__reduce__", "__reduce_ex__"),
    *("__getnewargs__", "__getnewargs_ex__", "__dict__"),
)
_MADE_IN_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def why_not_plain(cls: type) -> str:
    """Why objects of a class cannot be stored as their `__dict__`; empty if they can."""
    if type(cls) not in (type, abc.ABCMeta):
        return "whose class has a metaclass"
    if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
        return "whose class is one of Python's own"
    has_dict = False
    for base in cls.__mro__[:-1]:
        members = vars(base)
        if not base.__flags__ & _MADE_IN_PYTHON or base.__module__.startswith("_dynet"):
            return f"which derives from {base.__qualname__}"
        if members.get("__slots__", ()):
            return "whose class has __slots__"
        own = "__dict__" in members
        is_descriptor = own and type(members["__dict__"]).__name__ == "getset_descriptor"
        has_dict = has_dict or is_descriptor
        for name in _CODE:
            if name in members and not (name == "__dict__" and is_descriptor):
                return f"whose class has {name}"
    return "" if has_dict else "which has no __dict__"


def made(cls: type, state: dict[str, Any]) -> Any:
    """An object with this `__dict__`. TypeError if the class is not plain."""
    why = why_not_plain(cls)
    if why:
        raise TypeError(f"an object of '{cls.__module__}:{cls.__qualname__}', {why}")
    x: Any = object.__new__(cls)
    object.__getattribute__(x, "__dict__").update(state)
    return x
