"""Order, distributions with zeros or bounds, and small matrices."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from case import Case, scalar


def along(f):
    """f of each row along dimension d, which gives a row."""

    def g(*xs, d=0, **more):
        rows = [np.moveaxis(x, d, 0) for x in xs]
        rest = rows[0].shape[1:]
        out = None
        for at in np.ndindex(rest):
            row = f(*(list(r[(slice(None), *at)]) for r in rows), **more)
            if out is None:
                out = np.empty((len(row), *rest), dtype=object)
            out[(slice(None), *at)] = row
        return np.moveaxis(out, 0, d)

    return g


def order():
    def largest(row, k):
        return sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]

    def kmax(x, k, d):
        return along(lambda row: [row[i] for i in sorted(largest(row, k))])(x, d=d)

    def top(x, k, d):
        values = along(lambda row: [row[i] for i in largest(row, k)])(x, d=d)
        places = along(lambda row: [mp.mpf(i) for i in largest(row, k)])(x, d=d)
        return values, places

    some = [((4, 3), 0), ((4, 3), 1), ((2, 3, 2), 1), ((7,), 0)]
    return [
        *(Case("cumsum", lambda x, d: np.cumsum(x, axis=d), [s], batch=2, d=d) for s, d in some),
        *(Case("kmax_pooling", kmax, [s], batch=2, k=2, d=d) for s, d in some),
        *(Case("topk", top, [s], batch=2, k=3, d=d) for s, d in some),
    ]


def threshold(row):
    """By Michelot's method: numbers below the threshold leave, until none does."""
    stays = list(row)
    while True:
        t = (sum(stays) - 1) / len(stays)
        if all(v > t for v in stays):
            return t
        stays = [v for v in stays if v > t]


def sparsemax():
    def project(row):
        t = threshold(row)
        return [v - t if v > t else mp.mpf(0) for v in row]

    def loss_of(count):
        def loss(x, support):
            row = list(x.flatten())
            t = threshold(row)
            inside = sum((v * v - t * t for v in row if v > t), mp.mpf(0))
            y = (inside + mp.mpf(1) / count) / 2 - sum(row[i] for i in support) / mp.mpf(count)
            return scalar(max(mp.mpf(0), y))

        loss.payload = count  # one list for all examples
        return loss

    def restricted_of(count):
        def restricted(x, restriction, d):
            def of(row):
                z = mp.log(sum(mp.exp(row[i]) for i in set(restriction)))
                return [v - z for v in row]

            return along(of)(x, d=d)

        restricted.payload = count
        return restricted

    def clip(row, bounds):
        """As in 2.1: numbers above their bound are set to it, the others share the rest."""
        bounded = set()
        while True:
            mass = 1 - sum(bounds[i] for i in bounded)
            free = [i for i in range(len(row)) if i not in bounded]
            z = sum(mp.exp(row[i]) for i in free)
            y = [bounds[i] if i in bounded else mass * mp.exp(row[i]) / z for i in range(len(row))]
            above = {i for i in free if y[i] > bounds[i]}
            if not above:
                return y
            bounded |= above

    return [
        *(
            Case("sparsemax", along(project), [s], batch=2, d=d)
            for s, d in [((7,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 2), 1)]
        ),
        *(
            Case("sparsemax_loss", loss_of(len(v)), [(n,)], batch=2, indices=v)
            for n, v in [(7, [3]), (5, [4, 0, 1]), (1, [0])]
        ),
        Case("restricted_log_softmax", restricted_of(3), [(3, 2)], batch=2, indices=[2, 0, 1], d=0),
        Case("restricted_log_softmax", restricted_of(2), [(3, 2)], batch=2, indices=[1, 0], d=1),
        *(
            Case("constrained_softmax", along(clip), [s, s], batch=2, low=a, high=b, d=d)
            for s, d, a, b in [((7,), 0, 0.1, 0.4), ((4, 3), 0, 0.2, 0.6), ((2, 5), 1, 0.15, 0.5)]
        ),
    ]


def matrix():
    def numpy_of(m):
        return np.array(m.tolist(), dtype=object)

    def matrix_of(x):
        return mp.matrix(x.tolist()) if x.ndim == 2 else mp.matrix([[x[0]]])

    wide = [3.0, 1.0, 0.5, -1.0, 2.5, 0.25, 0.5, -0.75, 2.0]
    swapped = [0.25, 2.0, 0.5, -2.0, 0.125, 0.5, 0.75, 0.25, 3.0]
    both = [[v for m in (wide, swapped) for v in m]]
    return [
        Case("inverse", lambda x: numpy_of(matrix_of(x) ** -1), [(3, 3)], batch=2, data=both),
        Case("inverse", lambda x: 1 / x, [(1,)], data=[[0.75]]),
        Case(
            "logdet", lambda x: scalar(mp.log(mp.det(matrix_of(x)))), [(3, 3)], batch=2, data=both
        ),
        Case("logdet", lambda x: scalar(mp.log(x[0, 0])), [(1, 1)], batch=2, data=[[0.75, 3.0]]),
    ]


TABLES = [order, sparsemax, matrix]
