"""Errors of operators and of functions that are written in Python.

(`_calls.py` has the errors of functions of the extension module.)
"""

from __future__ import annotations

import ast
import os
import re
from typing import Any

import _dynet as _extension

import dynet as _dynet

from ._calls import (
    _MISSING,
    _check,
    _given,
    _is_number,
    _Parameter,
    _Problem,
    _text,
    name_of,
    told,
)

_REFUSED = _extension._Refused

# ---- operators ----------------------------------------------------------------------------------

#: Functions to use for operators without an operation.
_INSTEAD = {
    "@": "; * is the product of matrices, too",
    "/": "; a number divided by an expression is number * pow(x, constant(1, -1))",
    "**": "; a number to the power of an expression is exp(x * log(number))",
}


def operator_error(symbol: str, a: Any, b: Any, is_left: bool, line: str) -> Exception:
    """The error for an operator with an expression as operand: the left operand, if `is_left`."""
    other, side = (b, "right") if is_left else (a, "left")
    want = "an expression or a number"
    if symbol in ("@", "//", "%"):
        text = f"is no operation of expressions{_INSTEAD.get(symbol, '')}"
    elif hasattr(other, "__array__") and not isinstance(other, _dynet.Expression):
        text = f"the {side} operand is {told(other)}; want {want}, as inputTensor makes of an array"
    elif not is_left and symbol in _INSTEAD and _is_number(other):
        text = f"the left operand is {told(other)}; want an expression{_INSTEAD[symbol]}"
    else:
        text = f"the {side} operand is {told(other)}; want {want}"
    given = ", ".join(_text(x) for x in (a, b) if isinstance(x, _dynet.Expression))
    called = f"\n  called at {line}" if line else ""
    joint = " " if text.startswith("is ") else ": "
    return _dynet.TypeError(f"operator {symbol}{joint}{text}\n  given {given}{called}")


# ---- functions that are written in Python -------------------------------------------------------

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def _parameters_of(function: Any) -> list[_Parameter]:
    import inspect

    parameters = []
    for one in inspect.signature(function).parameters.values():
        promise = None
        if isinstance(one.annotation, str):
            promise = ast.parse(one.annotation, mode="eval").body
        parameters.append(
            _Parameter(
                one.name,
                promise,
                _MISSING if one.default is one.empty else one.default,
                one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_POSITIONAL),
                one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD, one.VAR_KEYWORD),
                one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD),
            )
        )
    return parameters


def _is_of_package(error: BaseException) -> bool:
    """Whether the error was raised in a function of the package itself, not further down."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_code.co_filename.startswith(_PACKAGE)


def _with_line(text: str) -> str:
    line = _extension._line_here()
    return f"{text}\n  called at {line}" if line else text


def _own_problem(
    parameters: list[_Parameter], args: list[Any], named: dict[str, Any]
) -> _Problem | None:
    try:
        given = _given(parameters, args, named)
        _check(parameters, given, None)
    except _Problem as problem:
        return problem
    for one in parameters:
        value = given.get(one.name)
        is_whole = isinstance(one.promise, ast.Name) and one.promise.id in ("int", "Whole")
        if is_whole and isinstance(value, float) and not value.is_integer():
            return _Problem(f"{one.name} is {value}, which is not whole; want a whole number")
    return None


def explain_own(
    function: Any, args: tuple[Any, ...], named: dict[str, Any], error: Exception
) -> BaseException | None:
    """The error for a call of a function of the package that failed with `error`; None if `error`
    is to come through, with the user's line added if missing."""
    if not _is_of_package(error):
        return None
    if not isinstance(error, (_dynet.Error, AssertionError)) or isinstance(error, _REFUSED):
        problem = _own_problem(_parameters_of(function), list(args), named)
        if problem is None and isinstance(error, _REFUSED):
            problem = _Problem("the arguments do not fit")
        if problem is not None:
            return problem.error(_with_line(f"{name_of(function)}: {problem}"))
    elif len(error.args) == 1 and not re.search(r"\n  (called|built) at ", str(error.args[0])):
        error.args = (_with_line(str(error.args[0])),)
    return None
