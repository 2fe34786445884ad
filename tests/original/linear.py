"""Products, contractions, convolutions, poolings, normalisations, and the gates of the LSTM."""

from __future__ import annotations

from collections.abc import Iterable

import dynet as dy
import numpy as np
from checked import Case, case, numbers, results, table

PRODUCTS = [
    ("3,4", "4"), ("3,4", "4,2"), ("3,4", "4,1"), ("1,4", "4"), ("3,1", "1,4"), ("3", "1,4"), ("1", "1"), ("3,1", "1"),
    ("3,4", "4x2"), ("3,4", "4,2x2"), ("3,4x2", "4"), ("3,4x2", "4,2"), ("3,4x2", "4x2"), ("3,4x2", "4,5x2"),
    ("3x2", "1,4x2"), ("1,4x2", "4x2"), ("17,33", "33,9"),
]  # fmt: skip


def products() -> Iterable[Case]:
    yield from table([("x * y", lambda x, y: x * y, PRODUCTS)])
    affine = [
        ("3", "3,4", "4"), ("3", "3,4", "4,2"), ("3,2", "3,4", "4,2"), ("3,1", "3,4", "4"), ("3", "3,4", "4,1"),
        ("3", "3,4", "4x2"), ("3x2", "3,4", "4"), ("3x2", "3,4", "4x2"), ("3", "3,4x2", "4"), ("3", "3,4x2", "4x2"),
        ("3", "3,4", "4,2x2"), ("3", "3,4", "4", "3,5", "5"), ("3", "3,4", "4x2", "3,5", "5"),
        ("3", "3,4", "4", "3,5", "5x2"), ("3", "3,4", "4,2", "3,5", "5,2"), ("3",), ("3x2",),
        ("3", "3,4", "4", "3,3", "3", "3,2", "2"), ("3,2x2", "3,4", "4,2"), ("3,1", "3,4", "4,2"),
    ]  # fmt: skip
    yield from table([("affine_transform", lambda *xs: dy.affine_transform(list(xs)), affine)])
    yield case(
        "affine_transform, one matrix twice",
        lambda b, w, x: dy.affine_transform([b, w, x, w, x]),
        "3",
        "3,4",
        "4",
    )
    yield case(
        "affine_transform, b batched over columns",
        lambda b, w, x: dy.affine_transform([b, w, x]),
        "3x2",
        "3,4",
        "4,5",
    )
    chain = lambda x, y, z: dy.tanh(x * y) + x * dy.tanh(z)  # noqa: E731
    yield from table(
        [
            (
                "tanh(x * y) + x * tanh(z)",
                chain,
                [("3,4", "4", "4"), ("3,4", "4x2", "4"), ("3,4", "4,2", "4,2")],
            )
        ]
    )


def contractions() -> Iterable[Case]:
    yield from table(
        [
            ("contract3d_1d_bias", dy.contract3d_1d_bias, [("2,3,4", "4", "2,3"), ("2,3,4x2", "4x2", "2,3x2"),
                                                           ("2,3,4", "4x2", "2,3"), ("2,3,4x2", "4", "2,3")]),
            ("contract3d_1d_1d", dy.contract3d_1d_1d, [("2,3,4", "4", "3")]),
            ("contract3d_1d_1d_bias", dy.contract3d_1d_1d_bias, [("2,3,4", "4", "3", "2")]),
            ("circ_conv", dy.circ_conv, [("5", "5"), ("8", "8"), ("1", "1")]),
            ("circ_corr", dy.circ_corr, [("5", "5"), ("8", "8"), ("1", "1")]),
        ]
    )  # fmt: skip
    far = lambda x: x + dy.inputTensor(4.0 * np.eye(3))  # noqa: E731
    yield case("inverse", lambda x: dy.inverse(far(x)), "3,3")
    yield case("logdet", lambda x: dy.logdet(far(x)), "3,3")
    yield case("inverse of one", dy.inverse, "1,1 positive")
    yield case("logdet of one", dy.logdet, "1,1 positive")


def windows() -> Iterable[Case]:
    images = [
        ("5,6,2", "2,3,2,3"),
        ("5,6", "2,3,1,3"),
        ("5,6,2x2", "2,3,2,3"),
        ("5,6,1", "3,3,1,1"),
        ("4,4,3", "1,1,3,2"),
    ]
    for stride in ([1, 1], [2, 2], [1, 3]):
        for is_valid in (True, False):
            told = f"{stride} is_valid={is_valid}"
            conv = lambda x, f, s=stride, v=is_valid: dy.conv2d(x, f, s, v)  # noqa: E731
            bias = lambda x, f, b, s=stride, v=is_valid: dy.conv2d_bias(x, f, b, s, v)  # noqa: E731
            pool = lambda x, s=stride, v=is_valid: dy.maxpooling2d(x, [2, 3], s, v)  # noqa: E731
            yield from table([(f"conv2d {told}", conv, images)])
            yield from table(
                [(f"conv2d_bias {told}", bias, [(x, f, f.split(",")[-1]) for x, f in images[:3]])]
            )
            yield from table([(f"maxpooling2d {told}", pool, ["5,6,2", "5,6", "5,6,2x2"])])
    yield case("conv2d without is_valid", lambda x, f: dy.conv2d(x, f, [2, 1]), "5,6,2", "2,3,2,3")
    yield from table(
        [
            (
                "filter1d_narrow",
                dy.filter1d_narrow,
                [("3,6", "3,2"), ("3,6", "3,2,4"), ("1,6", "1,6"), ("3,6", "3,1")],
            ),
            ("fold_rows", dy.fold_rows, ["4,3", "4,1", "4"]),
            ("fold_rows nrows=3", lambda x: dy.fold_rows(x, 3), ["6,2"]),
            ("kmh_ngram 2", lambda x: dy.kmh_ngram(x, 2), ["3,5"]),
            ("kmh_ngram 5", lambda x: dy.kmh_ngram(x, 5), ["3,5"]),
            ("kmh_ngram 1", lambda x: dy.kmh_ngram(x, 1), ["3,5"]),
        ]
    )


def norms() -> Iterable[Case]:
    yield from table(
        [
            (
                "layer_norm",
                dy.layer_norm,
                [
                    ("5", "5", "5"),
                    ("5,1", "5,1", "5,1"),
                    ("5x3", "5", "5"),
                    ("5x3", "5x3", "5x3"),
                    ("3,4", "3", "3"),
                    ("3", "3,1", "3,1"),
                ],
            ),
            ("weight_norm", dy.weight_norm, [("3,4", "1"), ("5", "1"), ("2,3,2", "1")]),
        ]
    )


def gates() -> Iterable[Case]:
    shapes = ("3", "2", "8,3", "8,2", "8")
    batched = ("3x2", "2x2", "8,3", "8,2", "8")
    masks = ("3 positive", "2 positive")
    yield from table([("vanilla_lstm_gates", dy.vanilla_lstm_gates, [shapes, batched])])
    concat = lambda x, y, h, wx, wh, b: dy.vanilla_lstm_gates_concat([x, y], h, wx, wh, b)  # noqa: E731
    for texts in (("2", "1", *shapes[1:]), ("2x2", "1x2", *batched[1:])):
        yield case("vanilla_lstm_gates_concat", concat, *texts)
    dropped = lambda x, h, wx, wh, b, p, q: dy.vanilla_lstm_gates_dropout(  # noqa: E731
        x, h, wx, wh, b, dy.nobackprop(p), dy.nobackprop(q)
    )
    for texts in (
        (*shapes, *masks),
        (*batched, *masks),
        (*batched, "3x2 positive", "2x2 positive"),
    ):
        yield case("vanilla_lstm_gates_dropout", dropped, *texts)
    both = lambda x, y, h, wx, wh, b, p, q: dy.vanilla_lstm_gates_dropout_concat(  # noqa: E731
        [x, y], h, wx, wh, b, dy.nobackprop(p), dy.nobackprop(q)
    )
    for texts in (("2", "1", *shapes[1:], *masks), ("2x2", "1x2", *batched[1:], *masks)):
        yield case("vanilla_lstm_gates_dropout_concat", both, *texts)
    for name in ("vanilla_lstm_c", "vanilla_lstm_h"):
        yield from table([(name, getattr(dy, name), [("3", "12"), ("3x2", "12x2")])])
    yield "two steps of an LSTM", two_steps


def two_steps() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    x, wx, wh, b = (
        m.parameters_from_numpy(numbers(s, i)) for i, s in enumerate([(3,), (8, 3), (8, 2), (8,)])
    )
    h, c = dy.zeros(2), dy.zeros(2)
    for _ in range(2):
        g = dy.vanilla_lstm_gates(x, h, wx, wh, b)
        c = dy.vanilla_lstm_c(c, g)
        h = dy.vanilla_lstm_h(c, g)
    return results(h + c, [x, wx, wh, b])


def cases() -> Iterable[Case]:
    yield from products()
    yield from contractions()
    yield from windows()
    yield from norms()
    yield from gates()
