"""Zeros, infinities, NaN and large numbers, as masks and logarithms make them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case, results

INF, NAN = float("inf"), float("nan")
NUMBERS = [0.0, 20.0, -20.0, 80.0, -80.0, 1e-4, -1e-4, INF, -INF, NAN]
UNARY = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "square",
    "sqrt",
    "abs",
    "erf",
    "cube",
    "log",
    "log_sigmoid",
    "lgamma",
    "logistic",
    "rectify",
    "elu",
    "selu",
    "silu",
    "softsign",
]
ROWS = {
    "zeros": [0.0, 0.0, 0.0, 0.0],
    "equal numbers": [2.5, 2.5, 2.5, 2.5],
    "large numbers": [1000.0, 1001.0, 999.0, -1000.0],
    "a mask": [1.0, -INF, 2.0, -INF],
    "all but one masked": [-INF, 1.0, -INF, -INF],
    "all masked": [-INF, -INF, -INF, -INF],
    "an infinity": [1.0, INF, 2.0, 0.0],
    "a NaN": [1.0, NAN, 2.0, 0.0],
}
ON_ROWS: dict[str, Callable[[object], object]] = {
    "softmax": dy.softmax,
    "log_softmax": dy.log_softmax,
    "logsumexp_dim": dy.logsumexp_dim,
    "pickneglogsoftmax": lambda x: dy.pickneglogsoftmax(x, 0),
    "pickneglogsoftmax 1": lambda x: dy.pickneglogsoftmax(x, 1),
    "hinge": lambda x: dy.hinge(x, 0),
    "l2_norm": dy.l2_norm,
    "squared_norm": dy.squared_norm,
    "std_elems": dy.std_elems,
    "mean_elems": dy.mean_elems,
    "max_dim": dy.max_dim,
    "min_dim": dy.min_dim,
    "sum_elems": dy.sum_elems,
    "logsumexp of two": lambda x: dy.logsumexp([x, x]),
    "bmax": lambda x: dy.bmax(x, dy.zeros(4)),
    "bmin": lambda x: dy.bmin(x, dy.zeros(4)),
    "argmax": lambda x: dy.argmax(x, "zero_gradient"),
    "round": lambda x: dy.nobackprop(dy.round(x, "zero_gradient")),
    "x ** 0.5": lambda x: x**0.5,
    "x ** -1": lambda x: x**-1,
    "x ** 2": lambda x: x**2,
    "layer_norm": lambda x: dy.layer_norm(x, dy.ones(4), dy.zeros(4)),
}


def at(function: Callable[[object], object], row: list[float]) -> dict[str, object]:
    dy.renew_cg()
    m = dy.ParameterCollection()
    x = m.parameters_from_numpy(np.array(row))
    return results(function(x), [x])


def cases() -> Iterable[Case]:
    for name in UNARY:
        function = getattr(dy, name)
        for number in NUMBERS:
            yield f"{name} at {number}", lambda f=function, v=number: at(f, [v])
    for name, function in ON_ROWS.items():
        for told, row in ROWS.items():
            yield f"{name} of {told}", lambda f=function, r=row: at(f, r)
