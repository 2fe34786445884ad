"""Products, reductions and distances."""

from __future__ import annotations

import mpmath as mp
import numpy as np
from case import Case, absolute, align, f32, lift, scalar, sqrt, total


def linear():
    def matrix(x):
        return x.reshape(x.shape[0], -1, order="F")

    def product(x, y):
        z = matrix(x).dot(matrix(y))
        return z if y.ndim > 1 else z[:, 0]

    def affine(b, *terms):
        if not terms:
            return b
        z = sum(matrix(w).dot(matrix(x)) for w, x in zip(terms[::2], terms[1::2])) + matrix(b)
        return z if z.shape[1] > 1 else z[:, 0]

    return [
        Case("matmul", product, [(3, 4), (4,)], batch=[1, 2]),
        Case("matmul", product, [(3, 4), (4, 2)], batch=2),
        Case("matmul", product, [(2, 1), (1, 3)], batch=[2, 1]),
        Case("affine_transform", affine, [(3,), (3, 4), (4,), (3, 2), (2,)], batch=[1, 1, 2, 1, 2]),
        Case("affine_transform", affine, [(3,), (3, 2), (2, 4)], batch=[1, 1, 2]),
        Case("affine_transform", affine, [(3,)]),
        Case("transpose", lambda x: x.reshape(x.shape[0], -1).T, [(3, 4)], batch=2),
        Case("transpose", lambda x, dims: np.transpose(x, dims), [(2, 3, 2)], dims=(2, 0, 1)),
    ]


def reduce():
    def removed(f):
        """f over the dimensions dims."""

        def g(x, dims, **more):
            rows = np.moveaxis(x, dims, range(len(dims)))
            rest = rows.shape[len(dims) :]
            rows = rows.reshape((-1, *rest))
            out = np.empty(rest or (1,), dtype=object)
            for at in np.ndindex(rest or (1,)):
                out[at] = f(list(rows[(slice(None), *(at if rest else ()))]), **more)
            return out

        return g

    def over_d(f):
        return lambda x, d: removed(f)(x, (d,))

    def mean(row, n=0):
        return sum(row) / (n or len(row))

    def moment(row, r, n=0):
        return sum(v**r for v in row) / (n or len(row))

    def deviation(row, n=0):
        m = mean(row, n)
        return mp.sqrt(sum((v - m) ** 2 for v in row) / (n or len(row)))

    def logsumexp(row):
        return mp.log(sum(mp.exp(v) for v in row))

    def layer_norm(x, g, b, epsilon=0.0):
        m = x.sum(axis=0) / len(x)
        s = sqrt(((x - m) ** 2).sum(axis=0) / len(x) + mp.mpf(epsilon))
        beside = mp.mpf("1e-8") if epsilon == 0.0 else 0
        return align(g, x)[0] * (x - m) / (s + beside) + align(b, x)[0]

    some = [((4, 3), (0,)), ((4, 3), (1,)), ((2, 3, 2), (0, 2)), ((3, 2), (0, 1))]
    return [
        *(Case("sum_elems", lambda x: scalar(total(x)), [s], batch=2) for s in [(3, 2), (1,)]),
        Case("sum_batches", lambda x: x.sum(axis=-1, keepdims=True), [(3, 2)], batch=3, whole=True),
        *(Case("sum_dim", removed(sum), [s], batch=2, dims=d) for s, d in some),
        *(
            Case("mean_dim", removed(mean), [s], batch=2, dims=d, n=n)
            for (s, d), n in zip(some, (0, 5, 0, 0))
        ),
        *(
            Case("moment_dim", removed(moment), [s], batch=2, dims=d, r=r, n=n)
            for (s, d), r, n in zip(some, (1, 2, 3, 5), (0, 0, 7, 0))
        ),
        *(
            Case("std_dim", removed(deviation), [s], batch=2, dims=d, n=n)
            for (s, d), n in zip(some, (0, 6, 0, 0))
        ),
        *(Case("max_dim", over_d(max), [(4, 3)], batch=2, d=d) for d in (0, 1)),
        *(Case("min_dim", over_d(min), [(4, 3)], batch=2, d=d) for d in (0, 1)),
        *(Case("logsumexp_dim", over_d(logsumexp), [(4, 3)], batch=2, d=d) for d in (0, 1)),
        *(
            Case("logsumexp_dim", over_d(logsumexp), [(3,)], data=[x], d=0)
            for x in ([1e6, 1e6 + 1, 1e6 + 2], [1e10, 1e10, 1e10], [-1e6, -1e6 - 2, -1e6])
        ),
        Case("layer_norm", layer_norm, [(4, 2), (4,), (4,)], batch=[2, 1, 1]),
        Case("layer_norm", layer_norm, [(7,), (7,), (7,)]),
        Case("layer_norm", layer_norm, [(4, 2), (4,), (4,)], batch=[2, 1, 1], epsilon=0.25),
        Case("layer_norm", layer_norm, [(7,), (7,), (7,)], epsilon=1e-5),
    ]


def norm():
    def weight_norm(w, g):
        return g[0] * w / mp.sqrt(total(w * w))

    def rms_norm(x, g, epsilon=None):
        epsilon = f32(1e-6) if epsilon is None else epsilon
        mean = (x * x).sum(axis=0) / len(x)
        return align(g, x)[0] * x / sqrt(mean + mp.mpf(epsilon))

    return [
        *(
            Case("l2_norm", lambda x: scalar(mp.sqrt(total(x * x))), [s], batch=2)
            for s in [(3, 2), (1,)]
        ),
        Case("weight_norm", weight_norm, [(3, 2), (1,)], batch=[1, 2]),
        Case("weight_norm", weight_norm, [(1,), (1,)]),
        Case("rms_norm", rms_norm, [(4, 2), (4,)], batch=[2, 1]),
        Case("rms_norm", rms_norm, [(7,), (7,)], epsilon=0.25),
    ]


def distance():
    def pair(name, f, **attributes):
        g = lambda x, y, **_: scalar(f(x.flatten(order="F"), y.flatten(order="F")))  # noqa: E731
        return [
            Case(name, g, [(3, 2), (3, 2)], batch=[2, 1], **attributes),
            Case(name, g, [(5,), (5, 1)], **attributes),
            Case(name, g, [(1,), (1,)], batch=2, **attributes),
        ]

    def huber(c):
        c = mp.mpf(f32(c))
        return lift(lambda e: e * e / 2 if abs(e) < c else c * abs(e) - c * c / 2)

    def cosine(x, y):
        return total(x * y) / mp.sqrt(total(x * x) * total(y * y))

    return [
        *pair("l1_distance", lambda x, y: total(absolute(x - y))),
        *pair("huber_distance", lambda x, y: total(huber(1.345)(x - y)), c=1.345),
        *pair("huber_distance", lambda x, y: total(huber(0.3)(x - y)), c=0.3),
        *pair("cosine_similarity", cosine),
        *pair("squared_distance", lambda x, y: total((x - y) ** 2)),
        *pair("dot_product", lambda x, y: total(x * y))[::2],
        *(
            Case("squared_norm", lambda x: scalar(total(x * x)), [s], batch=2)
            for s in [(3, 2), (1,)]
        ),
    ]


TABLES = [linear, reduce, norm, distance]
