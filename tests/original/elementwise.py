"""Operations on each element, and sums and products that broadcast."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
from checked import Case, case, numbers, table

SHAPES = ["1", "5", "3,1", "1,4", "3,4", "2,3,2", "5x3", "3,4x2", "2,3,2x2", "131", "2,3,2,2"]
UNARY = {
    "any": "sin cos tan atan sinh cosh tanh asinh exp square abs erf cube log_sigmoid logistic rectify elu selu silu"
    " nobackprop flip_gradient scale_gradient",
    "positive": "sqrt log lgamma",
    "inner": "asin acos atanh",
    "above": "acosh",
}
PAIRS = [
    ("5", "5"), ("3,4", "3,4"), ("2,3,2", "2,3,2"), ("5x3", "5x3"), ("3,4x2", "3,4x2"), ("5x3", "5"), ("5", "5x3"),
    ("3,4x2", "3,4"), ("3,4", "3,4x2"), ("3,1", "3"), ("3", "3,1"),
]  # fmt: skip
RIGHT_BROADCAST = [
    ("3,4", "3"), ("3,4", "3,1"), ("3,4", "1,4"), ("3,4", "1"), ("3,4x2", "3"), ("3,4x2", "1,4"), ("3,4x2", "1"),
    ("2,3,2", "2,3"), ("2,3,2", "1,3"), ("3,4x2", "3x2"), ("2,3,2x2", "2,1,2"),
    ("67,35", "67"), ("67,35", "1,35"), ("2,3,2,2", "2,3,1,2"), ("2,3,2,2", "2"),
]  # fmt: skip
LEFT_BROADCAST = [
    ("3", "3,4"), ("1", "3,4"), ("1,4", "3,4"), ("1,4", "3,4x2"), ("3x2", "3,4"), ("3,1", "1,4"), ("3", "1,4"),
    ("3,1x2", "1,4"), ("2,3", "2,3,2"),
]  # fmt: skip


def with_positive(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(x, f"{y} positive") for x, y in pairs]


def unary() -> Iterable[Case]:
    for kind, names in UNARY.items():
        for name in names.split():
            for shape in SHAPES:
                yield case(name, getattr(dy, name), shape if kind == "any" else f"{shape} {kind}")
    yield from table(
        [
            ("softsign", dy.softsign, ["1", "5", "5,1", "1,4", "3,4", "5x3"]),
            ("elu(alpha=0.3)", lambda x: dy.elu(x, 0.3), ["5", "3,4x2"]),
            ("silu(beta=1)", lambda x: dy.silu(x, 1.0), ["5", "3,4x2"]),
            ("silu(beta=2.5)", lambda x: dy.silu(x, 2.5), ["3,4x2"]),
            (
                "silu(beta=2.5) without a gradient",
                lambda x: dy.nobackprop(dy.silu(x, 2.5)),
                ["5", "3,4x2"],
            ),
            ("scale_gradient(lambd=-2.5)", lambda x: dy.scale_gradient(x, -2.5), ["5", "3,4x2"]),
            ("negate", lambda x: -x, SHAPES),
            ("const_parameter", lambda x: x + dy.const_parameter(x), ["5", "3,4"]),
        ]
    )
    for name in ("round", "ceil", "floor", "argmax"):
        rounded = getattr(dy, name)
        for mode in ("zero_gradient", "straight_through_gradient"):
            # 2.2 reads the mode from memory that it never set, so a gradient there is one of two
            function = lambda x, f=rounded, m=mode: f(x, m)  # noqa: E731
            value = function if name == "argmax" else lambda x, f=function: dy.nobackprop(f(x))
            yield from table(
                [(f"{name} {mode}", value, ["5", "5x3"] if name == "argmax" else SHAPES)]
            )
            yield f"halves of {name} {mode}", lambda f=function: halves(f)


def halves(function: Callable[[object], object]) -> object:
    dy.renew_cg()
    return function(
        dy.inputVector([-2.5, -1.5, -0.5, -0.3, 0.0, 0.5, 1.5, 2.5, 2.4, 2.5])
    ).npvalue()


def with_numbers() -> Iterable[Case]:
    functions = {
        "x + 3": lambda x: x + 3,
        "x - 3": lambda x: x - 3,
        "x * 3": lambda x: x * 3,
        "x / 3": lambda x: x / 3,
        "x ** 2": lambda x: x**2,
        "x ** 3.0": lambda x: x**3.0,
        "x * 2 - x / 4 + 1": lambda x: x * 2 - x / 4 + 1,
    }
    for name, function in functions.items():
        for shape in ("1", "5", "3,4", "2,3,2", "5x3", "3,4x2"):
            yield case(name, function, shape)
    yield from table(
        [
            ("0.5 + x", lambda x: 0.5 + x, ["3,4x2"]),
            ("0.5 - x", lambda x: 0.5 - x, ["3,4x2"]),
            ("3 * x", lambda x: 3 * x, ["3,4x2"]),
            ("sum([x, x, x])", lambda x: sum([x, x, x]), ["3,4x2"]),
        ]
    )
    for text in ("x ** 0.5", "x ** -1", "x ** -0.5", "x ** 0", "x ** 1"):
        power = float(text.split()[-1])
        yield case(text, lambda x, p=power: x**p, "3,4x2 positive")
    yield from table(
        [
            (
                "pow(x, y)",
                dy.pow,
                [(f"{s} positive", "1") for s in ("1", "5", "3,4", "5x3", "3,4x2", "2,3,2")],
            ),
            ("x ** y", lambda x, y: x**y, [("5 positive", "1"), ("3,4x2 positive", "1")]),
        ]
    )


def binary() -> Iterable[Case]:
    both = PAIRS + RIGHT_BROADCAST + LEFT_BROADCAST
    same = [
        ("1", "1"),
        ("5", "5"),
        ("3,4", "3,4"),
        ("2,3,2", "2,3,2"),
        ("5x3", "5x3"),
        ("3,4x2", "3,4x2"),
    ]
    yield from table(
        [
            ("x + y", lambda x, y: x + y, both),
            ("x - y", lambda x, y: x - y, both),
            ("cmult", dy.cmult, both),
            ("cdiv", dy.cdiv, with_positive([*PAIRS[:6], PAIRS[7], *RIGHT_BROADCAST])),
            ("bmin", dy.bmin, same),
            ("bmax", dy.bmax, same),
            ("colwise_add", dy.colwise_add, [("3,4", "3"), ("3,4x2", "3"), ("3,4x2", "3x2"), ("3,4", "3x2"),
                                             ("3,1", "3"), ("3,4", "3,1")]),
        ]
    )  # fmt: skip
    for name in ("bmin", "bmax", "emax", "emax of three"):
        yield f"{name} of equal numbers", lambda name=name: ties(name)
    for name, function in {
        "x + x": lambda x: x + x,
        "x - x": lambda x: x - x,
        "cmult(x, x)": lambda x: dy.cmult(x, x),
        "cdiv(x, x * x)": lambda x: dy.cdiv(x, dy.cmult(x, x)),
        "x + tanh(x) + x": lambda x: x + dy.tanh(x) + x,
    }.items():
        for shape in ("5 positive", "3,4 positive", "5x3 positive"):
            yield case(name, function, shape)


def ties(name: str) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    x, y, z = (m.parameters_from_numpy(numbers([4], 0) * 0 + v) for v in (1.0, 1.0, 1.0))
    taken = {
        "bmin": lambda: dy.bmin(x, y),
        "bmax": lambda: dy.bmax(x, y),
        "emax": lambda: dy.emax([x, y]),
        "emax of three": lambda: dy.emax([x, y, z]),
    }[name]()
    dy.sum_elems(taken).backward()
    return [p.grad_as_array() for p in (x, y, z)]


def lists() -> Iterable[Case]:
    triples = [
        ("5", "5", "5"),
        ("3,4", "3,4", "3,4"),
        ("2,3,2", "2,3,2", "2,3,2"),
        ("5x3", "5x3", "5x3"),
    ]
    mixed = [("5x3", "5", "5"), ("5", "5x3", "5"), ("3,4", "3,4", "3,4x2")]
    single = [("5",), ("3,4x2",)]
    pairs = [("5", "5"), ("3,4x2", "3,4x2")]
    yield from table(
        [
            (
                "esum",
                lambda *xs: dy.esum(list(xs)),
                triples + mixed + single + pairs + [("5", "5,1"), ("5,1", "5")],
            ),
            ("average", lambda *xs: dy.average(list(xs)), triples + mixed + single + pairs),
            ("logsumexp", lambda *xs: dy.logsumexp(list(xs)), triples + mixed + single + pairs),
            ("emax", lambda *xs: dy.emax(list(xs)), triples + single + pairs),
        ]
    )
    for name in ("esum", "average", "logsumexp"):
        function = getattr(dy, name)
        yield case(f"{name} of one argument twice", lambda x, f=function: f([x, x]), "3,4")


def cases() -> Iterable[Case]:
    yield from unary()
    yield from with_numbers()
    yield from binary()
    yield from lists()
