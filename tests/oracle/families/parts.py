"""Shapes and parts of tensors, and recurrent cells."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from case import Case, lift, passes, scalar, tanh


def shape():
    def join_along(*xs, d):
        return np.concatenate([x.reshape(x.shape + (1,) * (d + 1 - x.ndim)) for x in xs], axis=d)

    def pick(x, v, d):
        y = x.take(v[0], axis=d)
        return y if x.ndim > 1 else scalar(y)

    def pick_range(x, s, e, d):
        return x[tuple(slice(s, e) if k == d else slice(None) for k in range(x.ndim))]

    return [
        Case("reshape", lambda x, **_: x.reshape((2, 3), order="F"), [(3, 2)], batch=2, d="{2,3}"),
        Case("nobackprop", lambda x: x, [(3, 2)], gradient=passes(0)),
        Case("concatenate", join_along, [(4,), (3,), (1,)], batch=[2, 1, 2], d=0),
        Case("concatenate", join_along, [(3, 2), (3,)], d=1),
        Case(
            "concatenate_to_batch",
            lambda *xs: np.concatenate(xs, axis=-1),
            [(3,), (3,)],
            batch=[2, 1],
            whole=True,
        ),
        Case(
            "pick_batch_elem",
            lambda x, v: x[..., v[0] : v[0] + 1],
            [(3, 2)],
            batch=3,
            indices=[1],
            whole=True,
        ),
        *(
            Case("pick", pick, [(4, 3)], batch=2, indices=i, d=d)
            for d, i in [(0, [3]), (1, [2]), (0, [3, 0])]
        ),
        Case("pick", pick, [(5,)], indices=[4], d=0),
        *(Case("pick_range", pick_range, [(4, 3)], batch=2, s=1, e=3, d=d) for d in (0, 1)),
    ]


def recurrent():
    logistic = lift(lambda v: 1 / (1 + mp.exp(-v)))

    def parts(a, n):
        h = len(a) // n
        return [a[k * h : (k + 1) * h] for k in range(n)]

    def lstm_cell(a, c, forget_bias):
        i, f, o, g = parts(a, 4)
        new = logistic(i) * tanh(g)
        if c is not None:
            new = new + logistic(f + mp.mpf(forget_bias)) * c
        return new, logistic(o) * tanh(new)

    def lstm_gates(a, forget_bias):
        i, f, o, g = parts(a, 4)
        return np.concatenate(
            [logistic(i), logistic(f + mp.mpf(forget_bias)), logistic(o), tanh(g)]
        )

    def lstm_c(c, gates):
        i, f, _, g = parts(gates, 4)
        return i * g + f * c

    def lstm_h(c, gates):
        return parts(gates, 4)[2] * tanh(c)

    def coupled_c(i, g, c):
        new = logistic(i) * tanh(g)
        return new if c is None else new + (1 - logistic(i)) * c

    def coupled_cell(i, g, o, c):
        new = coupled_c(i, g, c)
        return new, logistic(o) * tanh(new)

    def gated(a, x, b, y):
        return logistic(a) * x + (0 if b is None else logistic(b) * y)

    def tree_step(i, o, u, f1, f2, c1, c2, s):
        new = logistic(i) * tanh(u)
        for f, c in ((f1, c1), (f2, c2)):
            new = new if c is None else new + logistic(f) * c
        new = new if s is None else new + s
        return new, logistic(o) * tanh(new)

    def tree(a, f1, f2, c1, c2):
        return tree_step(*parts(a, 3), f1, f2, c1, c2, None)

    return [
        Case("lstm_cell", lstm_cell, [(12,), (3,)], batch=2, forget_bias=1.0),
        Case("lstm_cell", lstm_cell, [(8,), None], forget_bias=0.5),
        Case("lstm_gates", lstm_gates, [(12,)], batch=2, forget_bias=1.0),
        Case("vanilla_lstm_c", lstm_c, [(3,), (12,)], batch=2),
        Case("vanilla_lstm_h", lstm_h, [(3,), (12,)], batch=2),
        Case("coupled_lstm_cell", coupled_cell, [(3,)] * 4, batch=2),
        Case("coupled_lstm_cell", coupled_cell, [(2,)] * 3 + [None]),
        Case("coupled_lstm_c", coupled_c, [(3,), (3,), (3,)], batch=2),
        Case("coupled_lstm_c", coupled_c, [(3,), (3,), None]),
        Case("coupled_lstm_h", lambda o, c: logistic(o) * tanh(c), [(3,), (3,)], batch=2),
        Case("tree_lstm_cell", tree, [(9,), (3,), (3,), (3,), (3,)], batch=2),
        Case("tree_lstm_cell", tree, [(6,), None, None, None, None]),
        Case("gated_sum", gated, [(3,)] * 4, batch=2),
        Case("gated_sum", gated, [(3,)] * 2 + [None] * 2),
        Case("tree_lstm_step", tree_step, [(3,)] * 8, batch=2),
        Case("tree_lstm_step", tree_step, [(2,)] * 7 + [None]),
        Case("tree_lstm_step", tree_step, [(2,)] * 3 + [None] * 4 + [(2,)]),
        Case("tree_lstm_step", tree_step, [(2,)] * 3 + [None] * 5),
    ]


TABLES = [shape, recurrent]
