"""Names of DyNet 2.1 and before that programs seldom use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn


class UnsignedValue:
    """A count that is passed around by reference."""

    def __init__(self, val: int = 0) -> None:
        self._value = _unsigned(val)

    def set(self, newval: int) -> None:
        """Replaces it."""
        self._value = _unsigned(newval)

    def get(self) -> int:
        """The count."""
        return self._value


class FloatValue:
    """A number that is passed around by reference."""

    def __init__(self, val: float = 0) -> None:
        self._value = float(val)

    def set(self, newval: float) -> None:
        """Replaces it."""
        self._value = float(newval)

    def get(self) -> float:
        """The number."""
        return self._value


class UnsignedVectorValue:
    """Counts that are passed around by reference."""

    def __init__(self, vals: Iterable[int]) -> None:
        self.set(vals)

    def set(self, newval: Iterable[int]) -> None:
        """Replaces all of them."""
        self._values = [_unsigned(x) for x in newval]

    def get(self) -> list[int]:
        """The counts, as a list of its own."""
        return list(self._values)

    def size(self) -> int:
        """How many there are."""
        return len(self._values)


class FloatVectorValue:
    """Numbers that are passed around by reference."""

    def __init__(self, vals: Iterable[float]) -> None:
        self.set(vals)

    def set(self, newval: Iterable[float]) -> None:
        """Replaces all of them."""
        self._values = [float(x) for x in newval]

    def get(self) -> list[float]:
        """The numbers, as a list of its own."""
        return list(self._values)

    def size(self) -> int:
        """How many there are."""
        return len(self._values)


def _unsigned(x: int) -> int:
    n = int(x)
    if n != x:
        raise TypeError(f"want a whole number, not {x!r}")
    if n < 0:
        raise OverflowError(f"want 0 or more, not {n}")
    return n


class Saveable:
    """What classes with parameters derived from before 2.0. Today a class has `spec`, `from_spec`
    and `param_collection` instead, and needs no base: see `dynet.save`."""

    def get_components(self) -> Any:
        """The parameters, tables and builders of the object, in an order of its own."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_components()")

    def restore_components(self, components: Any) -> None:
        """Takes what `get_components` gave, in its order."""
        raise NotImplementedError(f"{type(self).__name__} does not define restore_components()")


def matInput(d1: int, d2: int) -> NoReturn:
    """Raises DeprecationWarning, as in 2.1: `inputTensor` takes matrices."""
    raise DeprecationWarning("matInput is gone; use inputTensor(array)")


def inputMatrix(v: Iterable[float], d: tuple[int, ...]) -> NoReturn:
    """Raises DeprecationWarning, as in 2.1: `inputTensor` takes matrices."""
    raise DeprecationWarning(
        "inputMatrix is gone; use inputTensor(array), or inputTensorTranspose(v, d) for numbers in "
        "the order of memory"
    )
