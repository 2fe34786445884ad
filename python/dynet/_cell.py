"""Cells: a function of expressions whose calls are one node each.

`Cell` sorts the arguments of a call into expressions and other values. Calls with equal other
values in equal places share a `_dynet._CellPrograms`, which knows the programs for each kind of
expressions.
"""

from __future__ import annotations

import weakref

import _dynet
from _dynet import Expression

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar, overload

    F = TypeVar("F", bound=Callable[..., Any])


class _Names:
    """The names of a function's parameters, by position."""

    def __init__(self, function: Callable[..., Any], skipped: int) -> None:
        from inspect import Parameter, signature

        parameters = list(signature(function).parameters.values())
        positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        self.positional = [p.name for p in parameters if p.kind in positional][skipped:]
        self.rest = next((p.name for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
        self.all = {p.name for p in parameters}

    def at(self, position: int) -> str | None:
        return self.positional[position] if position < len(self.positional) else self.rest


class _Sorted:
    """The arguments of a call: expressions, and a key of all else."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.expressions: list[Expression] = []

    def key(self, value: Any) -> Any:
        if isinstance(value, Expression):
            self.expressions.append(value)
            return Expression
        if isinstance(value, (list, tuple)):
            return (type(value), tuple([self.key(item) for item in value]))
        if isinstance(value, float):
            return (type(value), value.hex())
        try:
            hash(value)
        except TypeError:
            raise _dynet.TypeError(
                f"cell({self.name}): an argument is of type {type(value).__name__}, which may "
                "change; want expressions, lists and tuples of them, and values that have a hash"
            ) from None
        return (type(value), value)


def _placed(value: Any, placeholders: Iterable[Expression]) -> Any:
    """`value` with the next placeholders for its expressions."""
    if isinstance(value, Expression):
        return next(placeholders)  # type: ignore[call-overload]
    if isinstance(value, (list, tuple)):
        items = [_placed(item, placeholders) for item in value]
        is_named = hasattr(value, "_fields")
        return type(value)(*items) if is_named else type(value)(items)
    return value


class _Programs:
    """The programs of one function."""

    def __init__(self, name: str, names: _Names, inputs: frozenset[str]) -> None:
        self._name, self._names, self._inputs = name, names, inputs
        #: By the number of arguments: of calls with expressions alone.
        self._flat: dict[int, _dynet._CellPrograms] = {}
        self._by_key: dict[Any, _dynet._CellPrograms] = {}

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], named: Any) -> Any:
        if not named:
            flat = self._flat.get(len(args))
            if flat is not None:
                found = flat.call(args)
                if found is not None and found is not NotImplemented:
                    return found
        return self._sort_and_call(function, args, named)

    def _sort_and_call(
        self, function: Callable[..., Any], args: tuple[Any, ...], named: Any
    ) -> Any:
        sort = _Sorted(self._name)
        inputs: list[int] = []
        keys = []
        places = [(self._names.at(i), value) for i, value in enumerate(args)]
        for name, value in [*places, *named.items()]:
            before = len(sort.expressions)
            keys.append(sort.key(value))
            if name in self._inputs:
                inputs += range(before, len(sort.expressions))
        key = (len(args), tuple(named), tuple(keys))
        programs = self._by_key.get(key)
        if programs is None:
            programs = self._by_key[key] = _dynet._CellPrograms(self._name, inputs)
            if not named and all(k is Expression for k in keys):
                self._flat[len(args)] = programs
        expressions = tuple(sort.expressions)
        found = programs.call(expressions)
        if found is None:

            def run(placeholders: list[Expression]) -> Any:
                rest = iter(placeholders)
                placed = [_placed(value, rest) for value in args]
                result = function(*placed, **{k: _placed(v, rest) for k, v in named.items()})
                for e in result if isinstance(result, (list, tuple)) else [result]:
                    if not isinstance(e, Expression):
                        raise _dynet.TypeError(
                            f"cell({self._name}): its function returns a value of type "
                            f"{type(e).__name__}; want an expression, or a tuple or list of "
                            "expressions"
                        )
                return result

            programs.record(expressions, run)
            found = programs.call(expressions)
        return function(*args, **named) if found is NotImplemented else found


class Cell:
    """A function of expressions whose calls are one node each: see `cell`."""

    def __init__(
        self, function: Callable[..., Any], inputs: Iterable[str], name: str, recorded: bool
    ) -> None:
        self.__wrapped__ = function
        self.__doc__ = function.__doc__
        self.__name__ = name
        self._inputs, self._recorded = frozenset(inputs), recorded
        self._own = self._new(0)
        self._methods: dict[int, _Programs] = {}  #: by the number of the object
        self._for_ever: list[Any] = []  #: objects whose end nobody is told of
        unknown = sorted(self._inputs - _Names(function, 0).all)
        if unknown:
            raise _dynet.ValueError(
                f"cell({name}): inputs names {unknown[0]!r}, which is no parameter of the function"
            )

    def _new(self, skipped: int) -> _Programs:
        return _Programs(self.__name__, _Names(self.__wrapped__, skipped), self._inputs)

    def __call__(self, *args: Any, **named: Any) -> Any:
        if not self._recorded:
            return self.__wrapped__(*args, **named)
        return self._own.call(self.__wrapped__, args, named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else _Method(self, instance)

    def __repr__(self) -> str:
        return f"<cell {self.__name__}>"

    def _programs_of(self, instance: Any) -> _Programs:
        """Programs of a method belong to the object, and end with it."""
        programs = self._methods.get(id(instance))
        if programs is None:
            programs = self._new(1)
            try:
                end = weakref.finalize(instance, self._methods.pop, id(instance), None)
                end.atexit = False
            except TypeError:
                self._for_ever.append(instance)  # so that no other object gets its number
            self._methods[id(instance)] = programs
        return programs


class _Method:
    """A cell as a method of an object."""

    __slots__ = ("__self__", "_cell", "_programs")

    def __init__(self, cell: Cell, instance: Any) -> None:
        self._cell, self.__self__ = cell, instance
        self._programs = cell._programs_of(instance)

    def __call__(self, *args: Any, **named: Any) -> Any:
        function = self._cell.__wrapped__.__get__(self.__self__)
        if not self._cell._recorded:
            return function(*args, **named)
        return self._programs.call(function, args, named)

    def __repr__(self) -> str:
        return f"<cell {self._cell.__name__} of {self.__self__!r}>"


if TYPE_CHECKING:

    @overload
    def cell(function: F) -> F: ...
    @overload
    def cell(
        *, inputs: Iterable[str] = (), name: str = "", recorded: bool = True
    ) -> Callable[[F], F]: ...


def cell(
    function: Any = None,
    *,
    inputs: Iterable[str] = (),
    name: str = "",
    recorded: bool = True,
) -> Any:
    """Decorates a function of expressions: each call of it adds one node.

    The function runs once on placeholders, and the operations that it adds are noted as a program;
    later calls add one node, with the same values and gradients, that runs the program. Example::

        class Network:
            @dy.cell(inputs=["x"])
            def step(self, x, h):
                z = dy.logistic(dy.affine_transform([self.bz, self.wz, x, self.uz, h]))
                g = dy.tanh(dy.affine_transform([self.bg, self.wg, x, self.ug, dy.cmult(z, h)]))
                return h + dy.cmult(z, g - h)

    Arguments are expressions, parameters, lists and tuples of them, and other values that have a
    hash. The function runs once for each structure of arguments, for each combination of shapes
    (batched or not) and devices of the expressions, for each value of the others, and once more
    within `evaluating()`. So loops and choices may depend on these, and on no value of an
    expression. The values of parameters count as they are at each computation; which parameters the
    function reads, and its numbers as in ``0.5 * x``, count as they were when the function ran. The
    function returns an expression, or a tuple or list of up to four.

    `inputs` names the parameters of the function that do not depend on the state of a recurrence.
    Whatever depends on them and on model parameters alone becomes a node of its own, which runs for
    all steps of a sequence at once.

    Random operations such as dropout, lookups, inputs of numbers, operations written in Python and
    operations that mix the examples of a batch stay outside: UsageError, which names the line.
    Asking for a value within the function is a UsageError, too. `name` is for errors and pictures;
    ``recorded=False`` calls the function as it is, for comparison.
    """
    named = [inputs] if isinstance(inputs, str) else inputs

    def decorate(given: Any) -> Cell:
        return Cell(given, named, name or getattr(given, "__name__", "cell").strip("<>"), recorded)

    return decorate if function is None else decorate(function)
