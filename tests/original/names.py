"""Names of 2.2, with the names and defaults of arguments: the list of those that are different."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import dynet as dy
from fixed import keep

Case = Callable[[], object]

# Not offered here, or different: name or class.method, and why.
MEANT = {
    "ERRMSG": "a text of the module's own",
    "print_function": "a name of Python 2 that the module imports",
    "LSTMBuilder.set_dropouts": "LSTMBuilder is the coupled LSTM here, which has a third rate",
}


def arguments_of(function: object) -> list[list[object]] | None:
    """Names and defaults, if Python tells them."""
    try:
        parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    found: list[list[object]] = []
    for p in [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]:
        default = "none" if p.default is p.empty else p.default
        is_plain = isinstance(default, (bool, int, float, str, list, tuple, type(None)))
        found.append([p.name, default if is_plain else "an object"])
    return found


def public() -> dict[str, list[list[object]] | None]:
    """All names of the module, and of its classes, that do not begin with "_"."""
    found: dict[str, list[list[object]] | None] = {}
    for name in [n for n in dir(dy) if not n.startswith("_")]:
        found[name] = arguments_of(getattr(dy, name))
        if not isinstance(getattr(dy, name), type):
            continue
        for inner in [n for n in dir(getattr(dy, name)) if not n.startswith("_")]:
            found[f"{name}.{inner}"] = arguments_of(getattr(getattr(dy, name), inner))
    return found


def write() -> object:
    (Path(os.environ["FILES"]) / "names").write_text(json.dumps(public()))
    return "written"


def is_equal(x: object, y: object) -> bool:
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        return math.isclose(x, y, rel_tol=1e-6)
    return x == y


def offered(name: str) -> object:
    found: object = dy
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def differences(name: str, theirs: list[list[object]] | None) -> str:
    """Empty if each call by position or by name, and each omitted argument, means the same."""
    owner, _, method = name.rpartition(".")
    if method and not isinstance(offered(owner), type):
        return ""  # a class there, a function that makes an expression here
    if name in MEANT:
        return ""
    if offered(name) is None:
        return f"{name} is missing"
    ours = arguments_of(offered(name))
    if theirs is None or ours is None:
        return ""
    for i, (argument, default) in enumerate(theirs):
        if i >= len(ours) or ours[i][0] != argument:
            return f"{name}: argument {i} is {ours[i][0] if i < len(ours) else 'missing'}"
        if default != "none" and not is_equal(default, json.loads(json.dumps(ours[i][1]))):
            return f"{name}: {argument}={default}; here {ours[i][1]}"
    without = [a for a, default in ours[len(theirs) :] if default == "none"]
    return f"{name}: {without} must be given" if without else ""


def compare() -> object:
    theirs = json.loads((Path(os.environ["FILES"]) / "names").read_text())
    if "MissingFileError" in theirs:
        return []  # written here: many names are new
    return [d for name, arguments in theirs.items() if (d := differences(name, arguments))]


# Constructors, of which 2.2 does not tell the arguments.
CONSTRUCTED: dict[str, dict[str, object]] = {
    "SimpleSGDTrainer": {"learning_rate": 0.1},
    "CyclicalSGDTrainer": {
        "learning_rate_min": 0.01,
        "learning_rate_max": 0.1,
        "step_size": 2000,
        "gamma": 1.0,
    },
    "MomentumSGDTrainer": {"learning_rate": 0.01, "mom": 0.9},
    "AdagradTrainer": {"learning_rate": 0.1, "eps": 1e-20},
    "AdadeltaTrainer": {"eps": 1e-6, "rho": 0.95},
    "RMSPropTrainer": {"learning_rate": 0.001, "eps": 1e-8, "rho": 0.9},
    "AdamTrainer": {"alpha": 0.001, "beta_1": 0.9, "beta_2": 0.999, "eps": 1e-8},
    "AmsgradTrainer": {"alpha": 0.001, "beta_1": 0.9, "beta_2": 0.999, "eps": 1e-8},
    "NormalInitializer": {"mean": 0, "var": 1},
    "UniformInitializer": {"scale": 0.5},
    "ConstInitializer": {"c": 0.5},
    "GlorotInitializer": {"is_lookup": True, "gain": 2.0},
    "SaxeInitializer": {"scale": 1.0},
    "VanillaLSTMBuilder": {
        "layers": 1,
        "input_dim": 2,
        "hidden_dim": 3,
        "ln_lstm": True,
        "forget_bias": 0.5,
    },
    "GRUBuilder": {"layers": 1, "input_dim": 2, "hidden_dim": 3},
    "StandardSoftmaxBuilder": {"input_dim": 2, "num_classes": 3, "bias": False},
    "FloatValue": {"val": 1.5},
    "UnsignedVectorValue": {"vals": [1, 2]},
}


def constructed() -> object:
    """Constructors that refuse arguments by their names; the model has other names."""
    refused = []
    for name, arguments in CONSTRUCTED.items():
        m = keep(dy.ParameterCollection())
        model = {"Trainer": "m", "GRUBuilder": "model", "LSTMBuilder": "model", "Softmax": "pc"}
        given = {key: m for part, key in model.items() if part in name}
        try:
            getattr(dy, name)(**arguments, **given)
        except TypeError as error:
            refused.append(f"{name}: {error}")
    return refused


def starred() -> object:
    """The names that `from dynet import *` leaves in a program."""
    program: dict[str, object] = {}
    exec("from dynet import *", program)
    wanted = ["np", "sys", "os", "pickle", "dynet_config", "abs", "pow", "round", "Expression"]
    return [name for name in wanted if name not in program]


def cases() -> Iterator[tuple[str, Case]]:
    yield "written", write
    yield "arguments of constructors", constructed
    yield "starred", starred


def reading() -> Iterator[tuple[str, Case]]:
    yield "names and arguments", compare
