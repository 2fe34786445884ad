"""Reshaping, selecting, slicing, concatenating, and picking from batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import dynet as dy
from checked import Case, case, table


def reshaped() -> Iterable[Case]:
    for text, dims, batch in (
        ("6", (2, 3), 1), ("2,3", (6,), 1), ("2,3", (3, 2), 1), ("2,3x2", (3, 2), 2), ("2,3x2", (3, 2), 1),
        ("2,3x2", (2, 3, 2), 1), ("2,3,2", (2, 3), 2), ("6", (1,), 6), ("1x6", (6,), 1), ("2,3", (1, 6), 1),
        ("2,3", (2, 3, 1), 1), ("4", (2, 2, 1), 1), ("2,3x2", (4,), 3),
    ):  # fmt: skip
        yield case(
            f"reshape {dims} batch_size={batch}",
            lambda x, d=dims, b=batch: dy.reshape(x, d, b),
            text,
        )
    yield case("reshape 6", lambda x: dy.reshape(x, (6,)), "2,3x2")
    yield from table([("transpose", dy.transpose, ["5", "3,4", "1,4", "4,1", "5x3", "3,4x2", "1"])])
    for dims in itertools.permutations(range(3)):
        turned = lambda x, d=dims: dy.transpose(x, list(d))  # noqa: E731
        yield from table([(f"transpose {list(dims)}", turned, ["2,3,4", "2,3,4x2"])])
    yield case("transpose [0, 1]", lambda x: dy.transpose(x, dims=[0, 1]), "3,4")
    yield case("transpose [3, 1, 2, 0]", lambda x: dy.transpose(x, [3, 1, 2, 0]), "2,3,2,3")


def picked() -> Iterable[Case]:
    for index in (0, 2, 4):
        yield from table(
            [
                (
                    f"pick {index}",
                    lambda x, i=index: dy.pick(x, i),
                    ["5", "5x3", "5,2", "5,2x2", "5,1"],
                )
            ]
        )
    for dim, index in ((0, 1), (1, 2), (2, 3)):
        function = lambda x, d=dim, i=index: dy.pick(x, i, d)  # noqa: E731
        yield from table([(f"pick {index} dim={dim}", function, ["2,3,4", "2,3,4x2"])])
    yield case("pick without an index", dy.pick, "3,4")
    yield case("pick dim=1 without an index", lambda x: dy.pick(x, dim=1), "3,4")
    for indices, text in (
        ([0, 2, 4], "5"),
        ([4, 4, 0], "5x3"),
        ([0, 1], "3,4"),
        ([2, 0], "3,4x2"),
        ([1], "5"),
    ):
        yield case(f"pick_batch {indices}", lambda x, i=indices: dy.pick_batch(x, i), text)
    for dim in range(3):
        function = lambda x, d=dim: dy.pick_batch(x, [1, 0], d)  # noqa: E731
        yield from table([(f"pick_batch [1, 0] dim={dim}", function, ["2,3,4", "2,3,4x2"])])
    for v in (0, 2):
        function = lambda x, v=v: dy.pick_batch_elem(x, v)  # noqa: E731
        yield from table([(f"pick_batch_elem {v}", function, ["5x3", "3,4x3", "2,3,2x3", "1x3"])])
    for vs in ([0], [2, 0], [1, 1, 1, 0]):
        function = lambda x, vs=vs: dy.pick_batch_elems(x, vs)  # noqa: E731
        yield from table([(f"pick_batch_elems {vs}", function, ["5x3", "3,4x3", "2,3,2x3", "1x3"])])
    yield case("pick_batch_elem 0 of one", lambda x: dy.pick_batch_elem(x, 0), "3,4")
    yield case("pick_batch_elems [0, 0] of one", lambda x: dy.pick_batch_elems(x, [0, 0]), "3,4")


def ranges() -> Iterable[Case]:
    for s, e in ((0, 2), (1, 4), (4, 5), (0, 5)):
        yield from table(
            [
                (
                    f"pick_range {s} {e}",
                    lambda x, s=s, e=e: dy.pick_range(x, s, e),
                    ["5", "5x3", "5,2", "5,2,2x2"],
                )
            ]
        )
    for d, s, e in ((0, 1, 2), (1, 0, 2), (1, 1, 3), (2, 1, 4), (2, 3, 4)):
        function = lambda x, s=s, e=e, d=d: dy.pick_range(x, s, e, d)  # noqa: E731
        yield from table([(f"pick_range {s} {e} d={d}", function, ["2,3,4", "2,3,4x2"])])
    yield case("pickrange", lambda x: dy.pickrange(x, 1, 3), "5,2")
    for rows in ([0], [2, 0], [1, 1, 1, 2]):
        yield from table(
            [
                (
                    f"select_rows {rows}",
                    lambda x, r=rows: dy.select_rows(x, r),
                    ["3", "3,4", "3,4x2", "3,2,2", "3x2"],
                )
            ]
        )
        yield from table(
            [
                (
                    f"select_cols {rows}",
                    lambda x, r=rows: dy.select_cols(x, r),
                    ["2,3", "2,3x2", "1,3"],
                )
            ]
        )


def indexed() -> Iterable[Case]:
    functions = {
        "x[0]": lambda x: x[0],
        "x[2]": lambda x: x[2],
        "x[-1]": lambda x: x[-1],
        "x[-3]": lambda x: x[-3],
        "x[1:3]": lambda x: x[1:3],
        "x[:2]": lambda x: x[:2],
        "x[1:]": lambda x: x[1:],
        "x[:]": lambda x: x[:],
        "x[::2]": lambda x: x[::2],
        "x[1::2]": lambda x: x[1::2],
        "x[0:3:2]": lambda x: x[0:3:2],
        "concatenate of the items": lambda x: dy.concatenate(list(x)),
    }
    for name, function in functions.items():
        yield from table([(name, function, ["3", "3x2", "3,4", "3,4x2", "3,2,2"])])
    for name, function in {
        "x[:, 1:3]": lambda x: x[:, 1:3],
        "x[1:, ::2]": lambda x: x[1:, ::2],
        "x[0:1, 0:1]": lambda x: x[0:1, 0:1],
        "x[:, :]": lambda x: x[:, :],
    }.items():
        yield from table([(name, function, ["3,4", "3,4x2", "3,4,2"])])
    yield case("x[:, :, 1:2]", lambda x: x[:, :, 1:2], "3,4,2")
    yield case("x[:, :, 1:2] of a batch", lambda x: x[:, :, 1:2], "3,4x3")
    yield case("x[:, :, 0:2] of a batch", lambda x: x[:, :, 0:2], "3,4x3")
    yield case("x[:, ::2] of a batch of vectors", lambda x: x[:, ::2], "3x3")
    yield case("x[1:, :, ::2] of a batch", lambda x: x[1:, :, ::2], "3,4x3")
    yield case("x[1][2]", lambda x: x[1][2], "3,4")
    strides = [
        ([1], [0], [2]), ([2], [0], [5]), ([2, 2], [1, 0], [5, 4]), ([1, 2], [0, 1], [5, 3]), ([], [], []),
        ([3], [1], [5]), ([1, 1], [0, 0], [5, 4]), ([2], [], []), ([2], [1], []), ([], [1], [3]), ([], [], [3]),
    ]  # fmt: skip
    for s, begin, end in strides:
        function = lambda x, s=s, b=begin, e=end: dy.strided_select(x, s, b, e)  # noqa: E731
        yield from table([(f"strided_select {s} {begin} {end}", function, ["5,4", "5,4x2"])])
    yield case(
        "strided_select of the batch",
        lambda x: dy.strided_select(x, [1, 1, 2], [0, 0, 1], [5, 4, 4]),
        "5,4x4",
    )


def joined() -> Iterable[Case]:
    yield from table(
        [
            ("concatenate", lambda *xs: dy.concatenate(list(xs)), [
                ("5",), ("5", "3"), ("5", "3", "1"), ("3,4", "2,4"), ("5x3", "2"), ("5", "2x3"), ("5x3", "2x3"),
                ("2,3,2", "1,3,2"), ("3", "2,1"), ("2,1", "3"), ("3,4x2", "1,4"), ("1", "1", "1", "1"),
            ]),
            ("concatenate d=1", lambda *xs: dy.concatenate(list(xs), 1), [
                ("3,4", "3,2"), ("3", "3"), ("3", "3,2"), ("3,2", "3"), ("3x2", "3"), ("2,3,2", "2,1,2"), ("3,4x2", "3,1"),
            ]),
            ("concatenate d=2", lambda *xs: dy.concatenate(list(xs), d=2), [
                ("2,3", "2,3"), ("2,3,2", "2,3,1"), ("2,3,2", "2,3"), ("2,3x2", "2,3"), ("2", "2"),
            ]),
            ("concatenate_cols", lambda *xs: dy.concatenate_cols(list(xs)), [
                ("3",), ("3", "3"), ("3", "3", "3"), ("3,4", "3,2"), ("3x2", "3"), ("3", "3x2"), ("3,4", "3"), ("1", "1"),
            ]),
            ("concatenate_to_batch", lambda *xs: dy.concatenate_to_batch(list(xs)), [
                ("3",), ("3", "3"), ("3x2", "3"), ("3,4", "3,4x2", "3,4"), ("2,3,2", "2,3,2"), ("1", "1", "1x2"),
            ]),
        ]
    )  # fmt: skip
    yield case("concatenate of one argument twice", lambda x: dy.concatenate([x, x]), "3,2")
    yield case(
        "concatenate_to_batch of one argument twice",
        lambda x: dy.concatenate_to_batch([x, x]),
        "3,2",
    )


def cases() -> Iterable[Case]:
    yield from reshaped()
    yield from picked()
    yield from ranges()
    yield from indexed()
    yield from joined()
