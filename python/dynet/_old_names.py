"""Names of DyNet 2.1 and before that programs seldom use."""

from __future__ import annotations

import _dynet

from ._told import Refused, told, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Generic, NoReturn, TypeVar

    Number = TypeVar("Number", int, float)
else:  # without typing, which takes longer to import than all of dynet
    Number = None

    class Generic:
        def __class_getitem__(cls, _):
            return cls


def _number(owner: object, name: str, x: Any, is_count: bool) -> Any:
    """A count or a float. TypeError or OverflowError, which name the argument."""
    place = f"{type(owner).__name__}: {name} is"
    try:
        number = whole(x) if is_count else float(x)
    except (TypeError, ValueError, OverflowError, Refused):
        want = "a whole number" if is_count else "a number"
        raise _dynet.TypeError(f"{place} {x!r}; want {want}") from None
    if is_count and number < 0:
        raise _dynet.RangeError(f"{place} {number}; want 0 or more")
    return number


class _Value(Generic[Number]):
    """A number that is passed around by reference."""

    _is_count = False

    @told
    def __init__(self, val: Number = 0) -> None:
        self.set(val)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._value})"

    @told
    def set(self, val: Number) -> None:
        """Replaces the number."""
        self._value: Number = _number(self, "the number", val, self._is_count)

    def get(self) -> Number:
        """The number."""
        return self._value


class _Values(Generic[Number]):
    """Numbers that are passed around by reference."""

    _is_count = False

    @told
    def __init__(self, vals: Iterable[Number]) -> None:
        self.set(vals)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values})"

    @told
    def set(self, newval: Iterable[Number]) -> None:
        """Replaces all numbers."""
        self._values: list[Number] = [
            _number(self, f"number {i}", x, self._is_count) for i, x in enumerate(newval)
        ]

    def get(self) -> list[Number]:
        """The numbers, as a new list."""
        return list(self._values)

    def size(self) -> int:
        """The number of numbers."""
        return len(self._values)


class UnsignedValue(_Value[int]):
    """A count that is passed around by reference."""

    _is_count = True


class FloatValue(_Value[float]):
    """A number that is passed around by reference."""


class UnsignedVectorValue(_Values[int]):
    """Counts that are passed around by reference."""

    _is_count = True


class FloatVectorValue(_Values[float]):
    """Numbers that are passed around by reference."""


class Saveable:
    """The base of classes with parameters before 2.0. Today a class has `spec`, `from_spec` and
    `param_collection` instead, and needs no base: see `dynet.save`."""

    def get_components(self) -> Any:
        """The parameters, tables and builders of the object, in an order that the class chooses."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_components()")

    def restore_components(self, components: Any) -> None:
        """Takes the components from `get_components`, in the same order."""
        raise NotImplementedError(f"{type(self).__name__} does not define restore_components()")


@told
def matInput(d1: int, d2: int) -> NoReturn:
    """Raises DeprecationWarning, as in 2.1: `inputTensor` takes matrices."""
    raise DeprecationWarning("matInput is gone; use inputTensor(array)")


@told
def inputMatrix(v: Iterable[float], d: tuple[int, ...]) -> NoReturn:
    """Raises DeprecationWarning, as in 2.1: `inputTensor` takes matrices."""
    raise DeprecationWarning(
        "inputMatrix is gone; use inputTensor(array), or inputTensorTranspose(v, d) for numbers in "
        "the order of memory"
    )
