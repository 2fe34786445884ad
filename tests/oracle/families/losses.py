"""Softmax, and losses with a target."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from case import Case, exp, log, scalar, total


def log_softmax_of(x):
    return x - log(total(exp(x)))


def margin():
    def hinge_of(x, v, m):
        return sum((max(mp.mpf(0), x[j] - x[v] + m) for j in range(len(x)) if j != v), mp.mpf(0))

    def hinge(x, v, m=1.0):
        return scalar(hinge_of(x, v[0], mp.mpf(m)))

    def hinge_dim(classes):
        def f(x, v, d=0, m=1.0, classes=None):
            rows = np.moveaxis(x, d, 0).reshape(x.shape[d], -1, order="F")
            out = [hinge_of(rows[:, k], v[k], mp.mpf(m)) for k in range(rows.shape[1])]
            rest = tuple(s for k, s in enumerate(x.shape) if k != d) or (1,)
            return np.array(out, dtype=object).reshape(rest, order="F")

        f.payload = classes
        return f

    def cross_entropy(x, v, label_smoothing=0.0, ignored=None, w=None):
        n, s = len(x), mp.mpf(label_smoothing)
        if v[0] == ignored:
            return scalar(0 * total(x))
        q = [s / n + (1 - s if j == v[0] else 0) for j in range(n)]
        w = [1] * n if w is None else w
        return scalar(-sum(a * b * c for a, b, c in zip(q, w, log_softmax_of(x))))

    def weighted(x, w, v, **attributes):
        return cross_entropy(x, v, w=w, **attributes)

    def pick(x, v):
        return scalar(-log_softmax_of(x)[v[0]])

    def poisson(x, y):
        return exp(x) + mp.loggamma(y[0] + 1) - y[0] * x

    def rank(x, y, m=1.0):
        return np.frompyfunc(lambda a, b: max(mp.mpf(0), mp.mpf(m) - a + b), 2, 1)(x, y)

    def binary_log_loss(x, y):
        return scalar(-total(y * log(x) + (1 - y) * log(1 - x)))

    # Beside scores with a large part in common.
    smooth, pair, w = {"label_smoothing": 0.25}, [(3,), (3,)], [0.5, 2.0, 1.25]

    def dim_case(x, d, indices, batch=1, **more):
        classes = int(np.prod(x)) // x[d]
        return Case(
            "hinge_dim",
            hinge_dim(classes),
            [x],
            batch=batch,
            indices=indices,
            d=d,
            classes=classes,
            **more,
        )

    return [
        Case("hinge", hinge, [(7,)], indices=[3], m=1.0),
        Case("hinge", hinge, [(5,)], batch=3, indices=[0, 4, 2], m=0.25),
        Case("hinge", hinge, [(1,)], indices=[0], m=1.0),
        Case("hinge", hinge, [(3,)], indices=[1], m=0.0),
        dim_case((4, 3), 0, [3, 0, 2], m=1.0),
        dim_case((4, 3), 1, [2, 0, 1, 1], m=0.5),
        dim_case((4, 3), 0, [3, 0, 2], batch=2, m=1.0),
        dim_case((4, 3), 0, [3, 0, 2, 1, 1, 0], batch=2, m=1.0),
        dim_case((2, 3, 2), 1, [2, 1, 0, 1], m=1.0),
        dim_case((5,), 0, [4], m=1.0),
        Case("pairwise_rank_loss", rank, [(1, 5), (1, 5)], batch=2, m=1.0),
        Case("pairwise_rank_loss", rank, [(1,), (1,)], m=0.25),
        *(Case("poisson_loss", poisson, [(1,)], indices=[y]) for y in (0, 1, 7, 1000)),
        Case("poisson_loss", poisson, [(1,)], batch=3, indices=[2, 0, 5]),
        Case("cross_entropy", cross_entropy, [(5,)], batch=3, indices=[0, 4, 2]),
        Case(
            "cross_entropy", cross_entropy, [(5,)], batch=3, indices=[0, 4, 2], label_smoothing=0.1
        ),
        Case("cross_entropy", cross_entropy, [(4,)], batch=3, indices=[1, 0, 3], ignored=1),
        Case(
            "cross_entropy",
            cross_entropy,
            [(4,)],
            batch=3,
            indices=[4, 0, 3],
            ignored=4,
            label_smoothing=0.5,
        ),
        Case(
            "weighted_cross_entropy",
            weighted,
            [(5,), (5,)],
            batch=[3, 1],
            indices=[0, 4, 2],
            low=0.1,
        ),
        Case(
            "weighted_cross_entropy",
            weighted,
            [(5,), (5,)],
            batch=[3, 1],
            indices=[0, 4, 2],
            low=0.1,
            label_smoothing=0.1,
        ),
        Case(
            "weighted_cross_entropy",
            weighted,
            [(4,), (4,)],
            batch=2,
            indices=[4, 3],
            low=0.1,
            label_smoothing=0.5,
            ignored=4,
        ),
        *(
            case
            for x in ([1e6, 1e6 + 1, 1e6 + 2], [1e10, 1e10, 1e10], [-1e6, -1e6 - 2, -1e6])
            for case in (
                Case("pickneglogsoftmax", pick, [(3,)], data=[x], indices=[0]),
                Case("cross_entropy", cross_entropy, [(3,)], data=[x], indices=[1]),
                Case("cross_entropy", cross_entropy, [(3,)], data=[x], indices=[1], **smooth),
                Case("weighted_cross_entropy", weighted, pair, data=[x, w], indices=[1]),
                Case("weighted_cross_entropy", weighted, pair, data=[x, w], indices=[1], **smooth),
            )
        ),
        Case("binary_log_loss", binary_log_loss, [(3, 2), (3, 2)], batch=[2, 1], low=0.1, high=0.9),
        *(
            Case(
                "pickneglogsoftmax",
                pick,
                [(5,)],
                batch=b,
                indices=i,
            )
            for b, i in [(1, [3]), (3, [0, 4, 2])]
        ),
        *(
            Case(
                "softmax",
                lambda x, d: exp(x) / exp(x).sum(axis=d, keepdims=True),
                [(4, 3)],
                batch=2,
                d=d,
            )
            for d in (0, 1)
        ),
        *(
            Case(
                "log_softmax",
                lambda x, d: x - log(exp(x).sum(axis=d, keepdims=True)),
                [(4, 3)],
                batch=2,
                d=d,
            )
            for d in (0, 1)
        ),
    ]


TABLES = [margin]
