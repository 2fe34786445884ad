"""Functions of each element."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from case import Case, align, broadcast, elementwise, exp, f32, lift, log, passes


def trigonometry():
    near = [-2.0, -1.0, -0.5, -1e-4, 1e-4, 0.5, 1.0, 2.0]
    inside = [-0.999, -0.5, -1e-4, 1e-4, 0.5, 0.999]
    return [
        *elementwise("sin", mp.sin, -8, 8, [*near, 100.0, 1e4, 1e6, 1e12, 3e38]),
        *elementwise("cos", mp.cos, -8, 8, [*near, 100.0, 1e4, 1e6, 1e12, 3e38]),
        *elementwise("tan", mp.tan, -1.4, 1.4, [*near, 100.0, 1e4, 1e6, 1e12, 3e38]),
        *elementwise("asin", mp.asin, -0.95, 0.95, inside),
        *elementwise("acos", mp.acos, -0.95, 0.95, inside),
        *elementwise("atan", mp.atan, -8, 8, [*near, 1e4, -1e20]),
        *elementwise("sinh", mp.sinh, -4, 4, [*near, 20.0, -30.0]),
        *elementwise("cosh", mp.cosh, -4, 4, [*near, 20.0, -30.0]),
        *elementwise("tanh", mp.tanh, -4, 4, [*near, 20.0, -30.0]),
        *elementwise("asinh", mp.asinh, -8, 8, [*near, 1e6, -1e7, 1e9, -3e38]),
        *elementwise("acosh", mp.acosh, 1.1, 8, [1.001, 1.5, 1e6, 1e7, 1e9, 3e38]),
        *elementwise("atanh", mp.atanh, -0.95, 0.95, inside),
    ]


def rounding(name, f):
    g = lift(f)
    at = [-2.5, -1.5, -0.5, -0.49999997, -0.25, 0.25, 0.49999997, 0.5, 1.5, 2.5, 8388609.0, -1e10]
    return [
        Case(
            name,
            lambda x, **_: g(x),
            [(len(at),)],
            data=[at],
            gradient_mode=mode,
            gradient=lambda _k, _x, seeds, mode=mode: [mode * s for s in seeds[0]],
        )
        for mode in (0, 1)
    ]


def nearest(v):
    return mp.sign(v) * mp.floor(abs(v) + mp.mpf(1) / 2)


def first_largest(x, **_):
    y = np.array([mp.mpf(0)] * len(x), dtype=object)
    y[int(np.argmax(x))] = mp.mpf(1)
    return y


def choose(c, x, y):
    c, x, y = align(c, x, y)
    return np.where(c != 0, x, y)


def no_gradient_of_first(k, inputs, _seeds):
    return [mp.mpf(0)] * len(inputs[0]) if k == 0 else None


def elementary():
    wide = [1e-30, 1e-4, 0.5, 1.0, 2.0, 1e4, 1e20]
    both = [-20.0, -1.0, -1e-4, 1e-4, 0.5, 1.0, 4.0]
    gamma = [1e-3, 0.5, 1.0, 1.4616, 1.5, 2.0, 2.5, 3.5, 4.5, 6.0, 30.0, 1e4, -0.5, -1.25, -7.7]
    return [
        *elementwise("exp", mp.exp, at=[*both, 20.0]),
        *elementwise("expm1", mp.expm1, at=[*both, 20.0]),
        *elementwise("log", mp.log, 0.1, 4, wide),
        *elementwise("log1p", mp.log1p, -0.9, 4, [-0.999, -1e-4, *wide]),
        *elementwise("square", lambda v: v * v, at=both),
        *elementwise("cube", lambda v: v**3, at=both),
        *elementwise("sqrt", mp.sqrt, 0.1, 4, wide[1:]),
        *elementwise("abs", abs, at=both),
        *elementwise("erf", mp.erf, -4, 4, both),
        *elementwise("lgamma", lambda v: mp.log(abs(mp.gamma(v))), 0.2, 12, gamma),
        Case("pow", lambda x, y: x ** y[0], [(3, 2), (1,)], batch=[2, 1], low=0.3, high=3),
        Case(
            "pow",
            lambda x, y: x ** y[0],
            [(7,), (1,)],
            low=0.3,
            high=3,
            data=[[1e-3, 0.5, 1, 2, 10, 100, 1e4], [-2.5]],
        ),
        *(
            Case(
                "pow_scalar",
                lambda x, a: x ** mp.mpf(a[0]),
                [(6,)],
                values=[a],
                data=[[0.01, 0.5, 1, 1.5, 3, 100]],
            )
            for a in (2.0, -0.5, 3.25, 0.0)
        ),
        Case(
            "pow_scalar",
            lambda x, a: x ** int(a[0]),
            [(4,)],
            values=[3.0],
            data=[[-2, -0.5, 0.5, 2]],
        ),
        *elementwise(
            "clip",
            lambda v: min(max(v, mp.mpf(f32(-0.7))), mp.mpf(f32(1.1))),
            at=[-5.0, 5.0],
            lo=-0.7,
            hi=1.1,
        ),
        Case(
            "where",
            choose,
            [(3, 2), (3,), (1, 2)],
            data=[[0, 1, -2, 0, 0.5, 0], None, None],
            gradient=no_gradient_of_first,
        ),
        Case(
            "where",
            choose,
            [(1,), (4,), (4,)],
            batch=[2, 2, 1],
            data=[[0, 3], None, None],
            gradient=no_gradient_of_first,
        ),
        *rounding("round", nearest),
        *rounding("ceil", mp.ceil),
        *rounding("floor", mp.floor),
        *(
            Case(
                "argmax", first_largest, [(5,)], batch=2, gradient_mode=mode, gradient=passes(mode)
            )
            for mode in (0, 1)
        ),
        Case(
            "argmax",
            first_largest,
            [(6,)],
            data=[[1, 3, 2, 3, -1, 3]],
            gradient_mode=0,
            gradient=passes(0),
        ),
        Case("flip_gradient", lambda x: x, [(3, 2)], gradient=passes(-1)),
        Case("scale_gradient", lambda x, **_: x, [(3, 2)], lambd=0.25, gradient=passes(0.25)),
    ]


def normal_cdf(v):
    return (1 + mp.erf(v / mp.sqrt(2))) / 2


def activation():
    at = [-80.0, -20.0, -1.0, -1e-4, 1e-4, 1.0, 20.0, 80.0]
    scale, alpha = (
        mp.mpf("1.0507009873554804934193349852946"),
        mp.mpf("1.6732632423543772848170429916717"),
    )

    def gelu_tanh(v):
        return v * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (v + mp.mpf("0.044715") * v**3))) / 2

    return [
        *elementwise("logistic", lambda v: 1 / (1 + mp.exp(-v)), -8, 8, at),
        *elementwise("rectify", lambda v: max(v, mp.mpf(0)), at=at),
        *elementwise("elu", lambda v: v if v > 0 else mp.expm1(v), at=at),
        *elementwise("elu", lambda v: v if v > 0 else mp.mpf(2.5) * mp.expm1(v), alpha=2.5),
        *elementwise("silu", lambda v: v / (1 + mp.exp(-v)), at=at),
        *elementwise("silu", lambda v: v / (1 + mp.exp(-mp.mpf(0.75) * v)), beta=0.75),
        *elementwise("selu", lambda v: scale * (v if v > 0 else alpha * mp.expm1(v)), at=at),
        *elementwise("softsign", lambda v: v / (1 + abs(v)), at=at),
        *elementwise("log_sigmoid", lambda v: -mp.log1p(mp.exp(-v)), -8, 8, at),
        *elementwise("softplus", lambda v: mp.log1p(mp.exp(v)), -8, 8, at),
        *elementwise(
            "softplus", lambda v: mp.log1p(mp.exp(mp.mpf(2.5) * v)) / mp.mpf(2.5), beta=2.5
        ),
        *elementwise("gelu", lambda v: v * normal_cdf(v), -4, 4, [-10.0, -1e-4, 1e-4, 10.0]),
        *elementwise("gelu_tanh", gelu_tanh, -4, 4, [-10.0, -1e-4, 1e-4, 10.0]),
    ]


def arithmetic():
    def one_number(name, f):
        return Case(name, lambda x, a: f(x, mp.mpf(a[0])), [(3, 2)], batch=2, values=[2.5])

    def extreme(name, f):
        return Case(name, np.frompyfunc(f, 2, 1), [(3, 2), (3, 2)], batch=[2, 1])

    def of_list(name, f, **more):
        g = lambda *xs: f(xs)  # noqa: E731
        return [
            Case(name, g, [(3, 2)] * 3, batch=[2, 1, 2], **more),
            Case(name, g, [(4,)], **more),
            Case(name, g, [(2, 1)] * 5, **more),
        ]

    def logsumexp(xs):
        return log(sum(exp(x) for x in xs))

    return [
        *elementwise("negate", lambda v: -v),
        *broadcast("add", lambda x, y: x + y),
        *broadcast("subtract", lambda x, y: x - y),
        *broadcast("cmult", lambda x, y: x * y),
        Case("cdiv", lambda x, y: x / y, [(3, 2), (3, 1)], batch=[2, 1], low=0.5, high=2),
        Case("cdiv", lambda x, y: x / y, [(4,), (1,)], batch=2, low=-2, high=-0.5),
        one_number("add_scalar", lambda x, a: x + a),
        one_number("subtract_scalar", lambda x, a: x - a),
        one_number("subtract_from", lambda x, a: a - x),
        one_number("multiply_scalar", lambda x, a: x * a),
        one_number("divide_scalar", lambda x, a: x / a),
        extreme("max", max),
        extreme("min", min),
        *of_list("sum", sum),
        *of_list("average", lambda xs: sum(xs) / len(xs)),
        *of_list("max(list)", lambda xs: np.frompyfunc(max, len(xs), 1)(*xs) if xs[1:] else xs[0]),
        *of_list("min(list)", lambda xs: np.frompyfunc(min, len(xs), 1)(*xs) if xs[1:] else xs[0]),
        *of_list("logsumexp(list)", logsumexp),
        Case(
            "logsumexp(list)",
            lambda *xs: logsumexp(xs),
            [(2,)] * 3,
            data=[[1000, -1e30], [999, -5], [-1000, 3]],
        ),
    ]


TABLES = [trigonometry, elementary, activation, arithmetic]
