"""Errors for wrong calls of functions written in Python, as the module has them."""

from __future__ import annotations

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, SupportsIndex, TypeAlias, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])
    #: A size or a count: 3, 6 / 2, numpy.int64(3).
    Whole: TypeAlias = SupportsIndex | float

#: The error of such a function for an argument that breaks the promise of its annotation.
Refused: type[Exception] = _dynet._Refused


def told(function: F) -> F:
    """Decorates a function. A call that succeeds costs one more call. If a call fails,
    `_own_calls.py` looks at the arguments, and an error of the library gets the user's line.
    Exceptions of a program's own code come through."""

    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except Exception as e:
            from ._own_calls import explain_own

            error = explain_own(function, args, named, e)
            if error is None:
                raise
        raise error

    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        setattr(call, name, getattr(function, name))
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def whole(x: Any) -> int:
    """A whole number of any type that the module accepts. Refused, or an error of Python's, for
    other values."""
    n = int(x)
    if isinstance(x, (str, bytes)) or n != x:
        raise Refused
    return n
