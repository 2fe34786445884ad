"""Errors for calls whose arguments do not fit, and the mending of some such calls.

The extension module calls :func:`explain` after it has refused a call (src/calls.h). The function's
parameters are read from the signature that the binding library keeps, and each argument is compared
with its parameter's type. The module's own finding while it read the arguments, the misfit, goes
first: it has the limits of numbers, and the place in a list at which the reading stopped.
"""

from __future__ import annotations

import ast
import difflib
import functools
import os
import re
import reprlib
import threading
import warnings
from typing import Any, NamedTuple

import _dynet as _extension

import dynet as _dynet

from ._renamed import instead
from ._renamed import renamed as renamed

_MISSING = object()
_OWN = ("self", "cls")  # the argument that the user does not write
#: (value; the value itself, or the list made of it; places in the list; the wanted kind;
#: (low, high) or None; whether the number is an index)
_Misfit = Any


class _Parameter(NamedTuple):
    name: str
    promise: ast.expr | None  # its type, as in the signature
    default: Any = _MISSING
    by_position: bool = True
    by_name: bool = True
    rest: bool = False  # *args or **kwargs


class _Problem(Exception):
    """An argument that does not fit. `at`: the number of fitting arguments before it."""

    def __init__(self, text: str, error: type[Exception] | None = None, at: float = 0):
        super().__init__(text)
        self.error = error or _dynet.TypeError
        self.at = at


# ---- signatures ---------------------------------------------------------------------------------


def _default_of(node: ast.expr, defaults: tuple[Any, ...]) -> Any:
    """The default of a parameter. Defaults that are objects have numbers in the signature."""
    if isinstance(node, ast.Call) and ast.unparse(node) == "float('inf')":
        return float("inf")
    if isinstance(node, ast.Call):
        assert isinstance(node.args[0], ast.Constant)
        value = node.args[0].value
        return float(str(value)) if _last_name(node.func) == "float" else defaults[int(str(value))]
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _parameters(signature: tuple[str, str | None, tuple[Any, ...] | None]) -> list[_Parameter]:
    text, _, defaults = signature
    text = re.sub(r"= \\=?(\d+)", r"= default(\1)", text.splitlines()[-1])
    if text.startswith("def ("):  # the setter of a property
        text = text.replace("def (", "def set(").replace("arg: ", "value: ")
    definition = ast.parse(text + ": ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    all_args = definition.args
    parameters: list[_Parameter] = []
    positional = all_args.posonlyargs + all_args.args
    absent = len(positional) - len(all_args.defaults)
    for i, arg in enumerate(positional):
        default = (
            _MISSING if i < absent else _default_of(all_args.defaults[i - absent], defaults or ())
        )
        by_name = i >= len(all_args.posonlyargs)
        parameters.append(_Parameter(arg.arg, arg.annotation, default, True, by_name))
    if all_args.vararg:
        parameters.append(_Parameter(all_args.vararg.arg, None, rest=True, by_name=False))
    for arg, node in zip(all_args.kwonlyargs, all_args.kw_defaults):
        default = _MISSING if node is None else _default_of(node, defaults or ())
        parameters.append(_Parameter(arg.arg, arg.annotation, default, False))
    if all_args.kwarg:
        parameters.append(_Parameter(all_args.kwarg.arg, None, rest=True, by_position=False))
    return parameters


@functools.cache
def _forms(function: Any) -> list[list[_Parameter]]:
    """The parameters of each form of a function, without forms that no user calls."""
    forms = [_parameters(signature) for signature in function.__nb_signature__]
    for form in forms:
        if form and form[0].name == "self":
            form[0] = form[0]._replace(promise=ast.Name(function.__objclass__.__name__))
    if function.__name__ == "__new__" and len(forms) > 1:
        del forms[0]  # the binding library's own, for pickling
    return forms


#: The users' names of functions that only the package itself calls.
_CALLED_FOR = {
    "_add_inputs_both": "BiRNNBuilder.add_inputs",
    "_back_of_both": "BiRNNBuilder.back",
    "_transduce_both": "BiRNNBuilder.transduce",
    **dict.fromkeys(("_Beam.__init__", "_Beam.step"), "beam_search_task"),
}


def name_of(function: Any, first: Any = None) -> str:
    """``ParameterCollection.save``; for constructors and operators, the class. `first`: the first
    argument, whose class goes before a base of the module that no program names."""
    name = str(function.__qualname__ or function.__name__)
    name = _CALLED_FOR.get(name, name)
    if name.startswith("_") and "." in name:
        name = _name_of_owner(first, name.split(".")[0]) + name[name.index(".") :]
    if "." not in name and isinstance(first, type):  # a class method
        name = f"{first.__name__}.{name}"
    if not name or name.endswith("."):
        return _property_of(function)
    return name.replace(".__getitem__", "[index]").split(".__")[0]


def _name_of_owner(value: Any, otherwise: str) -> str:
    for cls in type(value).__mro__:
        if cls.__module__ == "dynet":
            return cls.__name__
    return otherwise


def _property_of(function: Any) -> str:
    """``Trainer.learning_rate``, for the nameless function that gets or sets it."""
    owner = function.__objclass__
    for name, member in vars(owner).items():
        if isinstance(member, property) and function in (member.fget, member.fset):
            return f"{owner.__name__}.{name}"
    return "a property"


# ---- words --------------------------------------------------------------------------------------

_WORDS = {
    "int": "a whole number",
    "Whole": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "bytes": "bytes",
    "dict": "a dict",
    "Mapping": "a dict",
    "slice": "a slice",
    "Expression": "an expression",
    "ArrayLike": "an array of numbers",
    "PathLike": "a path",
    "Callable": "a function",
    "object": "a value",
    "Any": "a value",
}
_KINDS = {"Parameters": "a parameter", "LookupParameters": "a table"}
_PLURALS = {
    "int": "whole numbers",
    "float": "numbers",
    "str": "texts",
    "Expression": "expressions",
    "Example": "examples",
    "Generator": "generators",
    "Any": "values",
}


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def _alternatives(promise: ast.expr) -> list[ast.expr]:
    if isinstance(promise, ast.BinOp):
        return _alternatives(promise.left) + _alternatives(promise.right)
    return [promise]


def _words(promise: ast.expr) -> str:
    """The promise, in plain words."""
    parts = []
    for one in _alternatives(promise):
        if isinstance(one, ast.Constant):
            parts.append("None")
        elif isinstance(one, ast.Subscript):
            name = _last_name(one.value)
            inner = one.slice.elts[0] if isinstance(one.slice, ast.Tuple) else one.slice
            if name in _WORDS:
                parts.append(_WORDS[name])
            elif name == "Literal":
                parts += map(ast.unparse, _members(one))
            elif isinstance(inner, ast.Subscript):
                lists = "lists of " + _PLURALS.get(_last_name(_entry(inner)), "values")
                parts.append("a list of " + _PLURALS.get(_last_name(inner.value), lists))
            else:
                kind = "tuple" if name == "tuple" else "list"
                parts.append(f"a {kind} of " + " or ".join(map(_plural, _alternatives(inner))))
        else:
            name = _last_name(one).lstrip("_")  # of a base that no program names
            is_an = name[0] in "AEIOU" or name.startswith("RNN")
            parts.append(_WORDS.get(name) or ("an " if is_an else "a ") + name)
    return " or ".join(dict.fromkeys(parts))


def _plural(entry: ast.expr) -> str:
    if isinstance(entry, ast.Constant):
        return str(entry.value)
    name = _last_name(entry)
    return _PLURALS.get(name, name + "s")


def _members(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _entry(node: ast.Subscript) -> ast.expr:
    return node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice


def _shape(value: Any) -> str:
    """As the library writes shapes: {3,2}x8. Adds no node for a parameter."""
    if isinstance(value, (_dynet.Parameters, _dynet.LookupParameters)):
        extents, batch = value.shape(), 1
    else:
        extents, batch = value.dim()
    return "{" + ",".join(map(str, extents)) + "}" + (f"x{batch}" if batch != 1 else "")


def _text(value: Any) -> str:
    """A value, short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the binding library's, of objects not initialised
        return _short(value)


#: The number of values in the error being written: a value without a shape may add an error.
_telling = threading.local()


def _short(value: Any) -> str:
    _telling.depth = getattr(_telling, "depth", 0) + 1
    try:
        if _telling.depth > 3:
            return "a value"
        if isinstance(value, _dynet.Expression):
            return _KINDS.get(type(value).__name__, "an expression") + " " + _shape(value)
        if hasattr(value, "__array__") and hasattr(value, "shape") and value.shape != ():
            return f"an array of shape {tuple(value.shape)}"
        return reprlib.repr(value)
    except _dynet.StaleExpression:
        return "an expression of an earlier graph"
    except Exception:  # a repr that fails
        return "a value"
    finally:
        _telling.depth -= 1


def told(value: Any) -> str:
    """A value and its type."""
    if value is None or isinstance(value, _dynet.Expression):
        return _text(value)
    if hasattr(value, "__nb_signature__"):
        owner = getattr(value, "__self__", None)  # of a bound method
        text = repr(value) if owner is None else f"<method {name_of(value, owner)}>"
        return f"{text}, which is not called"
    return f"{_text(value)}, of type {type(value).__name__}"


# ---- do arguments fit? --------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    is_one = hasattr(value, "__float__") or hasattr(value, "__index__")
    return is_one and not isinstance(value, _dynet.Expression)


#: Python's own types, by their names.
_PLAIN = {one.__name__: one for one in (bytes, dict, list, slice, str, tuple)}


def _fits_name(name: str, value: Any) -> bool:
    """Whether a value fits a type without entries. Numbers were checked by the module before."""
    if name in ("object", "Any"):
        return True
    if name in ("int", "float", "Whole"):
        return _is_number(value)
    if name == "bool":
        return isinstance(value, bool)
    if name == "PathLike":
        return hasattr(value, "__fspath__")
    if name in _PLAIN:
        return isinstance(value, _PLAIN[name])
    kind = getattr(_dynet, name, None) or getattr(_extension, name, None)
    return not isinstance(kind, type) or isinstance(value, kind)


def _fits(promise: ast.expr | None, value: Any) -> bool:
    if promise is None:
        return True
    for one in _alternatives(promise):
        if isinstance(one, ast.Constant):
            fits = value is one.value
        elif not isinstance(one, ast.Subscript):
            fits = _fits_name(_last_name(one), value)
        elif _last_name(one.value) == "Callable":
            fits = callable(value)
        elif _last_name(one.value) == "Literal":
            fits = any(value == ast.literal_eval(member) for member in _members(one))
        else:
            is_list = hasattr(value, "__iter__") and not isinstance(value, (str, bytes))
            entries = value if isinstance(value, (list, tuple)) else ()
            fits = is_list and all(_fits(_entry(one), entry) for entry in entries)
        if fits:
            return True
    return False


def _mended(parameter: _Parameter, value: Any) -> Any:
    """The replacement of a value that does not fit; the value itself if there is none. None stands
    for the default of a text, but not of a number: there it is a mistake, as in DyNet 2.1."""
    if parameter.promise is None:
        return value
    names = {_last_name(one) for one in _alternatives(parameter.promise)}
    if "bool" in names:
        return _truth(value)
    if value is None and "str" in names and parameter.default is not _MISSING:
        return parameter.default
    if "str" in names and isinstance(value, (bytes, os.PathLike)):
        return os.fsdecode(value)
    return value


def _truth(value: Any) -> Any:
    """Any object is a flag, by its truth value. An object without one, such as an array, stays."""
    try:
        return bool(value)
    except Exception as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # of the user's own code
        return value


# ---- one call -----------------------------------------------------------------------------------


def _names(parameters: list[_Parameter]) -> str:
    return ", ".join(p.name for p in parameters if not p.rest and p.name not in _OWN) or "none"


def _given(parameters: list[_Parameter], args: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, without *args. _Problem if the call has others."""
    given: dict[str, Any] = {}
    by_position = [p for p in parameters if p.by_position and not p.rest]
    if len(args) > len(by_position) and not any(p.rest and p.by_position for p in parameters):
        own = sum(p.name in _OWN for p in by_position)
        most, count = len(by_position) - own, len(args) - own
        wanted = f"it takes {most}: {_names(by_position)}" if most else "it takes none"
        named_only = _names([p for p in parameters if not p.by_position])
        wanted += f", and by name {named_only}" if named_only != "none" else ""
        # Of the forms of a function the one that takes the most arguments is nearest.
        nearness = -0.5 + most / 1000
        raise _Problem(f"{count} argument{'' if count == 1 else 's'} given; {wanted}", at=nearness)
    given.update(zip((p.name for p in by_position), args))
    known = {p.name for p in parameters if p.by_name and not p.rest}
    for name, value in named.items():
        if name in given:
            raise _Problem(f"the argument {name} is given twice")
        if name not in known and not any(p.rest and p.by_name for p in parameters):
            near = difflib.get_close_matches(name, known, 1)
            hint = instead(name, known) or (f"did you mean {near[0]}?" if near else "")
            there = f"there is no argument {name}; there are: {_names(parameters)}"
            raise _Problem(f"{there}; {hint}" if hint else there)
        given[name] = value
    missing = [
        p for p in parameters if p.default is _MISSING and not p.rest and p.name not in given
    ]
    if missing:
        words = _words(missing[0].promise) if missing[0].promise is not None else "a value"
        fitting = [_is_right(p, given[p.name]) for p in parameters if p.name in given]
        at = fitting.index(False) if False in fitting else len(given)
        raise _Problem(f"the argument {missing[0].name} is missing; want {words}", at=at)
    return given


def _misfit_problem(given: dict[str, Any], parameters: list[_Parameter], misfit: _Misfit) -> None:
    """Raises the problem that the module found itself."""
    argument, value, places, want, limits, is_index = misfit
    name, promise = "an argument", None
    # The same small number may be several arguments.
    same = [p for p in parameters if given.get(p.name, _MISSING) is argument]
    same.sort(key=lambda p: _fits(p.promise, argument))
    if same:
        name, promise = same[0].name, same[0].promise
    else:  # a value of a dict, such as the options of dynet_config
        keys = (
            f"{owner}[{key!r}]"
            for owner, held in given.items()
            if isinstance(held, dict)
            for key in held
            if held[key] is argument
        )
        name = next(keys, name)
    name += "".join(f"[{place}]" for place in places)
    try:
        for place in places:
            value = value[place]
    except Exception:  # an iterator among the entries
        value = _MISSING
    is_own_want = want == "a real number"
    if promise is not None and not places and not is_own_want and not _fits(promise, value):
        want = _words(promise)
    if limits is not None:
        want = f"a whole number from {limits[0]} to {limits[1]}"
        for table in given.values():
            if is_index and isinstance(table, _dynet.LookupParameters):
                want = f"a row from 0 to {len(table) - 1}"
    got = "does not fit" if value is _MISSING else f"is {told(value)}"
    error = None
    if limits is not None:
        got = "is out of range" if value is _MISSING else f"is {_text(value)}"
        error = _dynet.IndexRangeError if is_index else _dynet.RangeError
    elif isinstance(value, float) and want.startswith("a whole number"):
        got = f"is {_text(value)}, which is not whole"
    raise _Problem(f"{name} {got}; want {want}", error, at=len(given) + 1)


def _check(parameters: list[_Parameter], given: dict[str, Any], misfit: _Misfit | None) -> None:
    """Raises the first problem among the values."""
    if misfit is not None:
        _misfit_problem(given, parameters, misfit)
    for i, parameter in enumerate(parameters):
        value = given.get(parameter.name, _MISSING)
        if value is _MISSING or _fits(parameter.promise, value):
            continue
        assert parameter.promise is not None
        raise _Problem(_problem_of(parameter.name, parameter.promise, value), at=i)
    for i, parameter in enumerate(parameters):
        if given.get(parameter.name, _MISSING) is None and not _fits_none(parameter):
            raise _Problem(f"{parameter.name} is None; want {_words_of(parameter)}", at=i)


def _problem_of(name: str, promise: ast.expr, value: Any) -> str:
    """The mistake in a value; of a list, in the first wrong entry."""
    for one in _alternatives(promise) if isinstance(value, (list, tuple)) else ():
        if isinstance(one, ast.Subscript) and _last_name(one.value) not in ("Callable", "Literal"):
            for i, entry in enumerate(value):
                if not _fits(_entry(one), entry):
                    return _problem_of(f"{name}[{i}]", _entry(one), entry)
    return f"{name} is {told(value)}; want {_words(promise)}"


#: Words for an argument of any type, by the name of the argument.
_MEANT = {
    "arr": "an array or a list of numbers",
    "operation": "an operation: an object with forward and backward",
    "idxs": "a list of lists of whole numbers, one for each axis",
    "vecs": "a list of arrays",
    "row": "a list of numbers",
    "idx": "a whole number or a list of whole numbers",
    "objects": "a list of parameters, tables and builders",
}


def _words_of(parameter: _Parameter) -> str:
    words = "a value" if parameter.promise is None else _words(parameter.promise)
    return _MEANT.get(parameter.name, words) if words == "a value" else words


def _fits_none(parameter: _Parameter) -> bool:
    """Whether the promise includes None. (An argument of any type may take None, or not.)"""
    if parameter.promise is None or parameter.default is None:
        return True
    alternatives = _alternatives(parameter.promise)
    return any(isinstance(one, ast.Constant) and one.value is None for one in alternatives)


def _is_right(parameter: _Parameter, value: Any) -> bool:
    return _fits(parameter.promise, value) and (value is not None or _fits_none(parameter))


def _try_form(
    parameters: list[_Parameter],
    args: list[Any],
    named: dict[str, Any],
    misfit: _Misfit | None,
    may_mend: bool,
) -> tuple[list[Any], tuple[str, ...]]:
    """The mended call: its arguments, and the names of the last ones. _Problem if there is none."""
    given = _given(parameters, args, named)
    changed = False
    if may_mend:
        for parameter in parameters:
            value = given.get(parameter.name, _MISSING)
            if value is _MISSING or _fits(parameter.promise, value):
                continue
            given[parameter.name] = _mended(parameter, value)
            changed = changed or given[parameter.name] is not value
    if not changed:
        _check(parameters, given, misfit)
        raise _Problem(f"the arguments do not fit; it takes: {_names(parameters)}", at=-1)
    by_position = [p.name for p in parameters if p.by_position and not p.rest][: len(args)]
    values = [given.pop(name) for name in by_position] + args[len(by_position) :]
    return values + list(given.values()), tuple(given)


def explain(
    function: Any,
    args: list[Any],
    named: dict[str, Any],
    misfit: _Misfit | None,
    line: str,
    may_mend: bool,
    said: Exception | None = None,
) -> Any:
    """The error for a call that was refused; or, as a tuple, a call to make instead. `said`: the
    error, if Python itself refused."""
    problem = None
    for form in _forms(function):
        try:
            return _try_form(form, args, named, misfit, may_mend)
        except _Problem as one:
            if problem is None or one.at > problem.at:
                problem = one
    assert problem is not None
    if said is not None and problem.at == -1:  # all promises are kept
        is_value = isinstance(said, ValueError)
        problem = _Problem(str(said), _dynet.ValueError if is_value else _dynet.TypeError)
    text = f"{name_of(function, args[0] if args else None)}: {problem}"
    shapes = [
        f"{_text(value)}"
        for value in [*args, *named.values()]
        if isinstance(value, _dynet.Expression)
    ]
    if shapes:
        text += "\n  given " + ", ".join(shapes)
    if line:
        text += "\n  called at " + line
    return problem.error(text)


# ---- signatures for inspect ---------------------------------------------------------------------


def signature_of(function: Any, is_bound: bool = False) -> Any:
    """`inspect.Signature` of the form with the most arguments."""
    import inspect

    kinds = inspect.Parameter
    form = max(_forms(function), key=len)
    if is_bound and form and form[0].name in _OWN:
        form = form[1:]
    parameters = []
    for one in form:
        kind: Any = kinds.POSITIONAL_OR_KEYWORD if one.by_name else kinds.POSITIONAL_ONLY
        if one.rest:
            kind = kinds.VAR_POSITIONAL if one.by_position else kinds.VAR_KEYWORD
        elif not one.by_position:
            kind = kinds.KEYWORD_ONLY
        promise = kinds.empty if one.promise is None else _type_text(ast.unparse(one.promise))
        if one.name in _OWN:
            promise = kinds.empty
        default = kinds.empty if one.default is _MISSING else one.default
        parameters.append(kinds(one.name, kind, default=default, annotation=promise))
    text = max((s[0] for s in function.__nb_signature__), key=len)
    returns = _type_text(text.rpartition("->")[2].strip()) or inspect.Signature.empty
    return inspect.Signature(parameters, return_annotation=returns)


def signature_of_class(cls: Any) -> Any:
    """The signature of `__init__`, if the library's own. Programs' classes have their own."""
    init = cls.__init__
    if not hasattr(init, "__nb_signature__"):
        raise AttributeError("__signature__")
    return signature_of(init, True)


def _type_text(annotation: str) -> str:
    return re.sub(r"\b(dynet|collections\.abc|typing)\.", "", annotation)
