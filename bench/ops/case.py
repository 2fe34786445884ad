"""A case of cases.txt as the peer sees it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Shape:
    """The shape of a tensor in DyNet: neighbours in memory differ in the first dimension."""

    dims: tuple[int, ...]
    batch: int = 1

    def elements(self) -> int:
        """Numbers of the whole batch."""
        n = self.batch
        for extent in self.dims:
            n *= extent
        return n


def shape_of(text: str) -> Shape:
    """``{4,3}x2``."""
    dims, _, batch = text.strip("{").partition("}")
    extents = tuple(int(extent) for extent in dims.split(",") if extent)
    return Shape(extents, int(batch[1:]) if batch else 1)


@dataclass
class Case:
    """The lines that ``dynet_bench --as-child op-cases`` prints."""

    text: str
    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    shapes: list[Shape] = field(default_factory=list)  # without absent arguments
    indices: list[int] = field(default_factory=list)
    low: float = -2.0
    high: float = 2.0
    value: float = 0.0

    def axis(self) -> int:
        """Attribute d, counted from the end, as the memory order is reversed."""
        return -1 - int(self.attributes["d"])

    def axes(self) -> tuple[int, ...]:
        """Attribute dims, counted from the end."""
        return tuple(-1 - d for d in self.ints("dims"))

    def int(self, name: str) -> int:
        """An attribute that is a whole number."""
        return int(self.attributes[name])

    def ints(self, name: str) -> tuple[int, ...]:
        """An attribute that is a list."""
        return tuple(int(v) for v in self.attributes[name].split(","))

    def float(self, name: str) -> float:
        """An attribute that is a number."""
        return float(self.attributes[name])


def case_of(text: str) -> Case:
    """A case from its text, which cases.txt explains."""
    head, _, rest = text.partition(" :")
    name, *attributes = head.split()
    shapes, _, options = rest.partition(";")
    case = Case(text, name)
    case.attributes = dict(word.split("=", 1) for word in attributes)
    case.shapes = [shape_of(word) for word in shapes.split() if word != "absent"]
    for word in options.split():
        key, _, number = word.partition("=")
        if key == "indices":
            count, _, limit = number.partition("<")
            case.indices = [(i * 7 + 3) % int(limit) for i in range(int(count))]
        elif key in ("from", "to", "value"):
            setattr(case, {"from": "low", "to": "high"}.get(key, key), float(number))
    return case
