"""The line of a node, in each kind of Python frame: their layout is another in each version of Python
(python/src/frames.h)."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable

import dynet as dy
import pytest

PLACE = re.compile(r"test_frames\.py:(\d+)(?: in ([^\s(]+)\(\))?")


def node() -> dy.Expression:
    return dy.inputVector([1.0, 2.0])


def place(x: dy.Expression) -> tuple[int, str]:
    found = PLACE.search(repr(x))
    assert found is not None, repr(x)
    return int(found[1]), found[2] or "<module>"


def line() -> int:
    """Of the caller."""
    return sys._getframe(1).f_lineno


def in_a_function() -> tuple[dy.Expression, int, str]:
    return dy.scalarInput(1.0), line(), "in_a_function"


def late_in_a_long_function() -> tuple[dy.Expression, int, str]:
    code = "\n".join(f"    v{i} = {i}" for i in range(3000))  # a large offset
    names: dict[str, object] = {"dy": dy}
    text = f"def far():\n{code}\n    return dy.scalarInput(v2)\n"
    exec(compile(text, "test_frames.py", "exec"), names)
    far = names["far"]
    assert callable(far)
    return far(), 3002, "far"


def in_a_lambda() -> tuple[dy.Expression, int, str]:
    return (lambda: dy.scalarInput(1.0))(), line(), "<lambda>"


def in_a_generator() -> tuple[dy.Expression, int, str]:
    def nodes():  # type: ignore[no-untyped-def]
        yield 1
        yield dy.scalarInput(1.0)

    return list(nodes())[1], nodes.__code__.co_firstlineno + 2, "nodes"


def in_a_generator_expression() -> tuple[dy.Expression, int, str]:
    return next(dy.scalarInput(v) for v in (1.0, 2.0)), line(), "<genexpr>"


def in_a_comprehension() -> tuple[dy.Expression, int, str]:
    # From 3.12 on a comprehension has no frame.
    name = "in_a_comprehension" if sys.version_info >= (3, 12) else "<listcomp>"
    return [dy.scalarInput(v) for v in (1.0, 2.0)][1], line(), name


def in_a_coroutine() -> tuple[dy.Expression, int, str]:
    async def step() -> dy.Expression:
        return dy.scalarInput(1.0)

    running = step()
    try:
        running.send(None)
    except StopIteration as end:
        return end.value, step.__code__.co_firstlineno + 1, "step"
    raise AssertionError


def in_a_constructor() -> tuple[dy.Expression, int, str]:
    class Model:
        def __init__(self) -> None:
            self.x = dy.scalarInput(1.0)

    models = [Model() for _ in range(100)]  # a class that is called often is called another way
    return models[-1].x, Model.__init__.__code__.co_firstlineno + 1, "__init__"


def in_a_class_body() -> tuple[dy.Expression, int, str]:
    class Model:
        x = dy.scalarInput(1.0)
        at = line() - 1

    return Model.x, Model.at, "Model"


def in_a_property() -> tuple[dy.Expression, int, str]:
    class Model:
        @property
        def x(self) -> dy.Expression:
            return dy.scalarInput(1.0)

    return Model().x, line() - 2, "x"


def called_by_code_in_c() -> tuple[dy.Expression, int, str]:
    def make(v: float) -> dy.Expression:
        return dy.scalarInput(v)

    return list(map(make, [1.0, 2.0]))[1], make.__code__.co_firstlineno + 1, "make"


def by_code_in_c_alone() -> tuple[dy.Expression, int, str]:
    """The function of the library is called from C, and no frame is its own."""
    return list(map(dy.scalarInput, [1.0, 2.0]))[1], line(), "by_code_in_c_alone"


def by_code_of_the_package() -> tuple[dy.Expression, int, str]:
    builder = dy.BiRNNBuilder(1, 2, 4, dy.ParameterCollection(), dy.GRUBuilder)
    return builder.transduce([node()])[0], line(), "by_code_of_the_package"


def of_executed_text() -> tuple[dy.Expression, int, str]:
    names = {"dy": dy}
    exec(compile("\n\n\nx = dy.scalarInput(1.0)", "test_frames.py", "exec"), names)
    return names["x"], 4, "<module>"  # type: ignore[return-value]


def of_a_caller_after_another_frame_has_ended() -> tuple[dy.Expression, int, str]:
    node()
    return dy.scalarInput(1.0), line(), "of_a_caller_after_another_frame_has_ended"


@pytest.mark.parametrize(
    "make",
    [
        in_a_function,
        late_in_a_long_function,
        in_a_lambda,
        in_a_generator,
        in_a_generator_expression,
        in_a_comprehension,
        in_a_coroutine,
        in_a_constructor,
        in_a_class_body,
        in_a_property,
        called_by_code_in_c,
        by_code_in_c_alone,
        by_code_of_the_package,
        of_executed_text,
        of_a_caller_after_another_frame_has_ended,
    ],
)
def test_a_node_names_the_line(make: Callable[[], tuple[dy.Expression, int, str]]) -> None:
    x, at, function = make()
    assert place(x) == (at, function)


def test_each_thread_names_its_own_line() -> None:
    made: list[tuple[int, str]] = []

    def first() -> None:
        made.append(place(dy.scalarInput(1.0)))

    def second() -> None:
        made.append(place(dy.scalarInput(1.0)))

    for run in (first, second, first):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    lines = [f.__code__.co_firstlineno + 1 for f in (first, second, first)]
    assert made == list(zip(lines, ("first", "second", "first")))


def test_a_node_of_an_inner_function_names_the_inner_one() -> None:
    at, function = place(node())
    assert (at, function) == (node.__code__.co_firstlineno + 1, "node")
