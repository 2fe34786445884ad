"""Selections, products of more than two dimensions, windows."""

from __future__ import annotations

import itertools

import numpy as np
from case import Case, mp, scalar, total


def with_payload(f, count):
    """`count`: how many indices one example has; a list of the node counts as one example's."""

    def g(*args, **attributes):
        return f(*args, **attributes)

    g.payload = count
    return g


def zeros(*shape):
    return np.full(shape, mp.mpf(0), dtype=object)


# ---- selections ----


def along(axis):
    return lambda x, index, **_: np.stack([x.take(i, axis) for i in index], axis)


def scatter(x, index, rows, d=0, n=0):
    x = np.moveaxis(x, d, 0)
    y = zeros(rows, *x.shape[1:])
    for i, at in enumerate(index):
        y[at] = y[at] + x[i]
    return np.moveaxis(y, 0, d)


def strided(x, strides, **lists):
    cut = zip(lists["from"], lists["to"], strides)
    return x[tuple(slice(a, b, s) for a, b, s in cut)]


def select():
    yield Case("select_rows", with_payload(along(0), 3), [(4, 3)], batch=2, indices=[2, 0, 2])
    yield Case("select_rows", with_payload(along(0), 2), [(3, 2, 2)], indices=[1, 1])
    yield Case("select_cols", with_payload(along(1), 4), [(2, 3)], batch=2, indices=[2, 0, 1, 2])
    yield Case(
        "gather", with_payload(along(0), 2), [(4, 3)], batch=2, indices=[3, 0, 1, 1], n=2, d=0
    )
    yield Case("gather", with_payload(along(0), 2), [(4,)], indices=[3, 0, 1, 1, 2, 0], n=2, d=0)
    yield Case("gather", with_payload(along(2), 1), [(2, 2, 3)], batch=2, indices=[2], n=1, d=2)
    yield Case("scatter_add", with_payload(scatter, 3), [(3, 2)], batch=2,
               indices=[0, 3, 0, 1, 1, 1], rows=4, n=3, d=0)  # fmt: skip
    yield Case("scatter_add", with_payload(scatter, 2), [(2, 2)], indices=[2, 0], rows=3, n=2, d=1)
    yield Case("strided_select", strided, [(7,)], batch=2, strides=[2], **{"from": [1]}, to=[6])
    yield Case(
        "strided_select",
        strided,
        [(4, 5, 2)],
        strides=[3, 2, 1],
        **{"from": [0, 1, 1]},
        to=[4, 5, 2],
    )
    yield Case(
        "pick_batch_elems",
        with_payload(along(2), 3),
        [(2, 3)],
        batch=3,
        whole=True,
        indices=[2, 0, 2],
    )


def by_segment(of_one, empty=None):
    """of_one(entries), a column of one or more entries, for each segment. The results lie in the
    places of the entries, or are one for each segment."""

    def g(x, index, segments, d=1, n=0):
        x = np.moveaxis(x, d, -1)
        y = np.empty((*x.shape[:-1], n if empty is None else segments), dtype=object)
        for row in np.ndindex(x.shape[:-1]):
            for s in range(segments):
                at = [i for i in range(n) if index[i] == s]
                found = of_one([x[(*row, i)] for i in at]) if at else empty
                if empty is None:
                    for i, v in zip(at, found or []):
                        y[(*row, i)] = v
                else:
                    y[(*row, s)] = found
        return np.moveaxis(y, -1, d)

    return g


def softmax(row):
    z = [mp.exp(v - max(row)) for v in row]
    return [v / sum(z) for v in z]


def segment():
    most, soft = by_segment(max, mp.mpf(0)), by_segment(softmax)
    for name, f in (("segment_max", most), ("segment_softmax", soft)):
        yield Case(name, with_payload(f, 5), [(3, 5)], batch=2, indices=[2, 0, 0, 2, 1],
                   segments=3, n=5, d=1)  # fmt: skip
        yield Case(name, with_payload(f, 3), [(2, 3)], batch=2, indices=[1, 0, 1, 0, 0, 1],
                   segments=2, n=3, d=1)  # fmt: skip
        yield Case(name, with_payload(f, 4), [(4,)], indices=[0, 0, 1, 0], segments=2, n=4, d=0)
        yield Case(name, with_payload(f, 2), [(2, 2, 2)], indices=[2, 2], segments=4, n=2, d=2)
    big = [1e30, 1e30, 300.0, -300.0, -2.5, 1e-30]
    yield Case("segment_softmax", with_payload(soft, 6), [(6,)], data=[big],
               indices=[0, 0, 1, 1, 2, 2], segments=3, n=6, d=0)  # fmt: skip


def attention():
    def attend(q, k, v, lengths=None, heads=1, causal=False):
        q, k, v = (np.array(x).reshape(x.shape[0], -1, order="F") for x in (q, k, v))
        d, e = k.shape[0] // heads, v.shape[0] // heads
        n = k.shape[1] if lengths is None else lengths[0]
        y = zeros(v.shape[0], q.shape[1])
        for h in range(heads):
            for j in range(q.shape[1]):
                keys = [i for i in range(n) if not causal or i <= j]
                if not keys:
                    continue
                rows = range(h * d, (h + 1) * d)
                s = [sum(q[r, j] * k[r, i] for r in rows) / mp.sqrt(d) for i in keys]
                for r in range(h * e, (h + 1) * e):
                    y[r, j] = sum(p * v[r, i] for p, i in zip(softmax(s), keys))
        return y

    def of_a_vector(*args, **attributes):
        return attend(*args, **attributes)[:, 0]

    yield Case("attention", attend, [(4, 3), (4, 5), (2, 5)], batch=2, heads=1, causal=False)
    yield Case("attention", attend, [(4, 3), (4, 3), (6, 3)], batch=[2, 1, 1], heads=2, causal=True)
    yield Case("attention", attend, [(2, 2), (2, 4), (1, 4)], batch=[1, 2, 2], heads=1, causal=True)
    yield Case("attention", of_a_vector, [(6,), (6, 4), (3, 4)], heads=3, causal=False)
    yield Case("attention_to_lengths", attend, [(4, 2), (4, 5), (4, 5)], batch=3,
               indices=[3, 0, 5], heads=2, causal=False)  # fmt: skip
    yield Case("attention_to_lengths", attend, [(2, 3), (2, 4), (3, 4)], batch=2,
               indices=[2], heads=1, causal=True)  # fmt: skip
    yield Case("attention_to_lengths", attend, [(2, 2), (2, 3), (2, 3)],
               indices=[1, 3], heads=1, causal=False)  # fmt: skip


# ---- products ----


def contract(x, y, b):
    """Over the last dimension."""
    z = zeros(*x.shape[:-1])
    for k, factor in enumerate(y):
        z = z + x[..., k] * factor
    return z if b is None else z + b


def contract_twice(x, y, z, b=None):
    out = contract(contract(x, y, None), z, None)
    return out if b is None else out + b


def batch_matmul(x, y):
    vector = y.ndim == 1 and x.ndim <= 2
    nd = max(x.ndim, y.ndim, 2)
    x, y = (a.reshape(a.shape + (1,) * (nd - a.ndim)) for a in (x, y))
    outer = [max(a, b) for a, b in zip(x.shape[2:], y.shape[2:])]
    z = zeros(x.shape[0], y.shape[1], *outer)
    for e in np.ndindex(*outer):
        at = [tuple(i if n > 1 else 0 for i, n in zip(e, a.shape[2:])) for a in (x, y)]
        z[(slice(None), slice(None), *e)] = x[(slice(None), slice(None), *at[0])].dot(
            y[(slice(None), slice(None), *at[1])]
        )
    return z[:, 0] if vector else z


def contract_table():
    yield Case("contract3d_1d", contract, [(2, 3, 4), (4,), (2, 3)], batch=[1, 2, 1])
    yield Case("contract3d_1d", contract, [(3, 2, 2), (2,), None], batch=[2, 1, 1])
    yield Case("contract3d_1d_1d", contract_twice, [(2, 3, 4), (4,), (3,)], batch=2)
    yield Case(
        "contract3d_1d_1d", contract_twice, [(3, 2, 2), (2,), (2,), (3,)], batch=[1, 2, 1, 2]
    )
    yield Case(
        "trace_of_product", lambda x, y: scalar(total(x * y)), [(2, 3), (2, 3)], batch=[2, 1]
    )
    yield Case("colwise_add", lambda x, b: x + b.reshape(-1, 1), [(3, 4), (3,)], batch=[2, 1])
    yield Case("colwise_add", lambda x, b: x + b, [(3, 4), (3, 1)], batch=[1, 2])
    yield Case("batch_matmul", batch_matmul, [(2, 3, 2), (3, 2, 2)], batch=[2, 2])
    yield Case("batch_matmul", batch_matmul, [(2, 3), (3, 2, 2)], batch=[1, 2])
    yield Case("batch_matmul", batch_matmul, [(2, 3, 1, 2), (3, 1, 3)], batch=[2, 1])
    yield Case("batch_matmul", batch_matmul, [(2, 2, 3), (2,)], batch=[1, 2])
    yield Case("batch_matmul", batch_matmul, [(2, 3), (3,)], batch=[2, 1])


contract_table.__name__ = "contract"


# ---- windows ----


def axis(n, k, s, is_valid):
    """The number of windows, and the begin of the first one."""
    if is_valid:
        return -(-(n - k + 1) // s), 0
    out = -(-n // s)
    return out, -(max(0, (out - 1) * s + k - n) // 2)


def windows(x, size, stride, is_valid):
    """The place of each window, and its elements inside: (r, c, numbers of all channels)."""
    (h, p), (w, q) = (axis(n, k, s, is_valid) for n, k, s in zip(x.shape, size, stride))
    for i, j in itertools.product(range(h), range(w)):
        inside = []
        for r, c in itertools.product(range(size[0]), range(size[1])):
            a, b = i * stride[0] + p + r, j * stride[1] + q + c
            if 0 <= a < x.shape[0] and 0 <= b < x.shape[1]:
                inside.append((r, c, x[a, b]))
        yield h, w, i, j, inside


def conv2d(x, f, b, stride, is_valid=True):
    x = x.reshape(x.shape + (1,) * (3 - x.ndim))
    y = None
    for h, w, i, j, inside in windows(x, f.shape[:2], stride, is_valid):
        y = zeros(h, w, f.shape[3]) if y is None else y
        for r, c, numbers in inside:
            y[i, j] = y[i, j] + numbers.dot(f[r, c])
    return y if b is None else y + b


def pool(x, ksize, stride, is_valid=True):
    image = x.reshape(x.shape + (1,) * (3 - x.ndim))
    y = None
    for h, w, i, j, inside in windows(image, ksize, stride, is_valid):
        y = zeros(h, w, image.shape[2]) if y is None else y
        for q in range(image.shape[2]):
            y[i, j, q] = max(numbers[q] for _, _, numbers in inside)
    return y.reshape(y.shape[: x.ndim])


def circle(sign):
    def f(u, v):
        n = len(u)
        y = zeros(n)
        for i, k in np.ndindex(n, n):
            y[k] = y[k] + u[i] * v[(k + sign * i) % n]
        return y

    return f


def filter1d(x, f):
    f = f.reshape(f.shape + (1,) * (3 - f.ndim))
    y = zeros(f.shape[2], x.shape[1] - f.shape[1] + 1)
    for o, j in np.ndindex(*y.shape):
        y[o, j] = total(x[:, j : j + f.shape[1]] * f[:, :, o])
    return y


def convolve():
    for stride, is_valid in [([1, 1], 1), ([2, 1], 1), ([1, 1], 0), ([2, 3], 0)]:
        yield Case(
            "conv2d",
            conv2d,
            [(5, 4, 2), (2, 3, 2, 2), (2,)],
            batch=[2, 1, 1],
            stride=stride,
            is_valid=is_valid,
        )
    yield Case(
        "conv2d", conv2d, [(4, 3), (3, 2, 1, 2), None], batch=[1, 2, 1], stride=[1, 1], is_valid=0
    )
    yield Case(
        "conv2d",
        conv2d,
        [(2, 2, 1), (4, 5, 1, 1), (1,)],
        batch=[1, 1, 2],
        stride=[1, 1],
        is_valid=0,
    )
    for size, stride, is_valid in [
        ([2, 2], [1, 1], 1),
        ([2, 2], [2, 2], 1),
        ([3, 2], [2, 1], 0),
        ([5, 7], [1, 3], 0),
    ]:
        yield Case(
            "maxpooling2d", pool, [(5, 4, 2)], batch=2, ksize=size, stride=stride, is_valid=is_valid
        )
    yield Case("maxpooling2d", pool, [(4, 3)], ksize=[1, 3], stride=[1, 1], is_valid=1)


def sliding():
    yield Case("filter1d_narrow", filter1d, [(3, 5), (3, 2)], batch=[2, 1])
    yield Case("filter1d_narrow", filter1d, [(2, 4), (2, 4, 3)], batch=[1, 2])
    ngram = lambda x, n: sum(x[:, k : x.shape[1] - n + 1 + k] for k in range(n))  # noqa: E731
    yield Case("kmh_ngram", ngram, [(3, 5)], batch=2, n=2)
    yield Case("kmh_ngram", ngram, [(2, 4)], n=4)
    fold = lambda x, nrows: sum(x[k::nrows] for k in range(nrows))  # noqa: E731
    yield Case("fold_rows", fold, [(6, 3)], batch=2, nrows=3)
    yield Case("fold_rows", fold, [(4, 2, 2)], nrows=2)
    yield Case("circ_conv", circle(-1), [(5,), (5,)], batch=[2, 1])
    yield Case("circ_conv", circle(-1), [(4,), (4,)], batch=[1, 2])
    yield Case("circ_corr", circle(1), [(5,), (5,)], batch=[2, 1])
    yield Case("circ_corr", circle(1), [(4,), (4,)], batch=[1, 2])


TABLES = [select, segment, contract_table, attention, convolve, sliding]
