"""Sums, means, moments, deviations, norms, and extremes along dimensions and over examples."""

from __future__ import annotations

from collections.abc import Iterable

import dynet as dy
from checked import Case, case, table

SHAPES = ["1", "5", "3,1", "1,4", "3,4", "5x3", "3,4x2", "67,35"]
DEEP = ["2,3,2", "2,3,2x2"]
# Dimensions to reduce, by the number of dimensions that the argument has.
SETS = {
    1: [[], [0]],
    2: [[], [0], [1], [0, 1], [1, 0]],
    3: [[0], [1], [2], [0, 1], [0, 2], [1, 2], [2, 0]],
}
TEXTS = {1: ["5", "5x3"], 2: ["3,4", "3,1", "1,4", "67,35", "3,4x2"], 3: ["2,3,4", "2,3,4x2"]}


def whole() -> Iterable[Case]:
    for name in ("sum_elems", "squared_norm", "l2_norm", "sum_batches", "mean_batches"):
        for shape in SHAPES + DEEP:
            yield case(name, getattr(dy, name), shape)
    yield from table(
        [
            ("mean_elems", dy.mean_elems, SHAPES),
            ("mean_elems", dy.mean_elems, ["2,3,2"]),
            ("std_elems", dy.std_elems, ["5", "3,4", "1,4", "5x3", "3,4x2", "2,3,2"]),
            ("std_batches", dy.std_batches, ["1x3", "5x3", "3,4x2", "2,3,2x2"]),
        ]
    )
    for r in (1, 2, 3):
        yield from table(
            [
                (f"moment_elems r={r}", lambda x, r=r: dy.moment_elems(x, r), [*SHAPES, "2,3,2"]),
                (f"moment_batches r={r}", lambda x, r=r: dy.moment_batches(x, r), SHAPES + DEEP),
            ]
        )


def along() -> Iterable[Case]:
    for rank, sets in SETS.items():
        for dims in sets:
            for over_batch in (False, True):
                if not dims and not over_batch:
                    continue
                yield from along_set(dims, over_batch, TEXTS[rank])


def along_set(dims: list[int], over_batch: bool, texts: list[str]) -> Iterable[Case]:
    told = f"{dims} b={over_batch}"
    for text in texts:
        yield case(f"sum_dim {told}", lambda x: dy.sum_dim(x, dims, over_batch), text)
        yield case(f"mean_dim {told}", lambda x: dy.mean_dim(x, dims, over_batch), text)
        yield case(f"moment_dim r=2 {told}", lambda x: dy.moment_dim(x, dims, 2, over_batch), text)
    # the text has no dimension of 1: a deviation of one number is 0, and its gradient in 2.2 is NaN
    yield case(f"std_dim {told}", lambda x: dy.std_dim(x, dims, over_batch), texts[-1])


def with_count() -> Iterable[Case]:
    for text in ("3,4", "3,4x2"):
        for b in (False, True):
            yield case(f"mean_dim n=7 b={b}", lambda x, b=b: dy.mean_dim(x, [1], b, 7), text)
            yield case(
                f"moment_dim n=7 r=3 b={b}", lambda x, b=b: dy.moment_dim(x, [1], 3, b, 7), text
            )
            yield case(f"sum_dim n=7 b={b}", lambda x, b=b: dy.sum_dim(x, [1], b, 7), text)
    yield case("std_dim n=7", lambda x: dy.std_dim(x, [1], False, 7), "3,4")
    yield case("moment_dim r=1", lambda x: dy.moment_dim(x, [0], 1, False), "3,4")
    yield case("moment_dim r=3", lambda x: dy.moment_dim(x, [0], 3, False), "3,4x2")


def extremes() -> Iterable[Case]:
    for name in ("max_dim", "min_dim", "cumsum", "logsumexp_dim"):
        function = getattr(dy, name)
        yield from table([(name, function, ["5", "3,4", "5x3", "3,4x2", "3,1", "1,4"])])
        yield from table(
            [
                (
                    f"{name} d=1",
                    lambda x, f=function: f(x, 1),
                    ["3,3", "3,3x2", "3,4", "4,3x2", "3,1"],
                )
            ]
        )
        if name != "logsumexp_dim":
            for d in range(3):
                yield from table(
                    [(f"{name} d={d}", lambda x, f=function, d=d: f(x, d), ["2,3,4", "2,3,4x2"])]
                )
    for name in ("max_dim", "min_dim"):
        function = getattr(dy, name)
        flat = lambda x, f=function, d=0: f(x - dy.nobackprop(x), d)  # noqa: E731
        yield case(f"{name} of equal numbers", flat, "3,4")
        yield case(f"{name} of equal numbers d=1", lambda x, f=flat: f(x, d=1), "3,4")
    for k, d in ((1, 1), (2, 1), (4, 1), (2, 0)):
        function = lambda x, k=k, d=d: dy.kmax_pooling(x, k, d)  # noqa: E731
        yield from table([(f"kmax_pooling k={k} d={d}", function, ["3,4", "3,4x2"])])
    yield from table(
        [("kmax_pooling k=2 d=2", lambda x: dy.kmax_pooling(x, 2, 2), ["2,3,4", "2,3,4x2"])]
    )
    yield from table([("kmax_pooling", lambda x: dy.kmax_pooling(x, 2), ["3,4"])])


def cases() -> Iterable[Case]:
    yield from whole()
    yield from along()
    yield from with_count()
    yield from extremes()
