"""Softmaxes and losses, with lists of classes and batches."""

from __future__ import annotations

from collections.abc import Iterable

import dynet as dy
import numpy as np
from checked import Case, case, numbers, results, table

VECTORS = ["5", "5,1", "1"]


def softmaxes() -> Iterable[Case]:
    yield from table(
        [
            ("softmax", dy.softmax, ["1", "5", "3,4", "5x3", "3,4x2", "1,4"]),
            ("softmax d=1", lambda x: dy.softmax(x, 1), ["3,4", "3,4x2", "1,4", "3,1"]),
            ("log_softmax", dy.log_softmax, ["1", "5", "3,4", "5x3", "3,4x2", "1,4"]),
            ("log_softmax restrict=[0, 3]", lambda x: dy.log_softmax(x, [0, 3]), ["5"]),
            ("log_softmax restrict=[2]", lambda x: dy.log_softmax(x, restrict=[2]), ["5"]),
            (
                "log_softmax restrict=[4, 1, 2]",
                lambda x: dy.log_softmax(x, [4, 1, 2]),
                ["5", "5,1"],
            ),
            ("sparsemax", dy.sparsemax, ["5", "5,1", "1", "12 unit", "9 inner"]),
        ]
    )
    for bounds in (
        [0.1, 0.2, 0.9, 0.9, 0.3],
        [1.0] * 5,
        [0.2, 0.25, 0.3, 0.2, 0.1],
        [0.0, 0.4, 1.0, 1.0, 1.0],
    ):
        yield f"constrained_softmax {bounds}", lambda u=bounds: constrained(u)


def constrained(bounds: list[float]) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    x, u = m.parameters_from_numpy(numbers([5], 1)), m.parameters_from_numpy(np.array(bounds))
    return results(dy.constrained_softmax(x, u), [x, u])


def classes() -> Iterable[Case]:
    for v in (0, 3):
        yield from table(
            [
                (f"pickneglogsoftmax {v}", lambda x, v=v: dy.pickneglogsoftmax(x, v), ["5", "5,1"]),
                (f"hinge {v}", lambda x, v=v: dy.hinge(x, v), ["5", "5,1"]),
                (f"hinge {v} m=0.2", lambda x, v=v: dy.hinge(x, v, 0.2), ["5"]),
                (f"hinge {v} m=0", lambda x, v=v: dy.hinge(x, v, m=0.0), ["5"]),
            ]
        )
    for vs in ([0, 1, 2], [4, 4, 4], [3, 0, 3]):
        yield from table(
            [
                (
                    f"pickneglogsoftmax_batch {vs}",
                    lambda x, vs=vs: dy.pickneglogsoftmax_batch(x, vs),
                    ["5x3", "5,1x3"],
                ),
                (f"hinge_batch {vs}", lambda x, vs=vs: dy.hinge_batch(x, vs), ["5x3"]),
                (f"hinge_batch {vs} m=2.5", lambda x, vs=vs: dy.hinge_batch(x, vs, 2.5), ["5x3"]),
            ]
        )
    yield case("pickneglogsoftmax_batch of one", lambda x: dy.pickneglogsoftmax_batch(x, [2]), "5")
    yield case("hinge_batch of one", lambda x: dy.hinge_batch(x, [2]), "5")
    yield from table(
        [
            ("hinge_dim d=0", lambda x: dy.hinge_dim(x, [0, 2, 1, 1]), ["3,4", "3,4x2"]),
            (
                "hinge_dim d=0 m=0.3",
                lambda x: dy.hinge_dim(x, [0, 2, 1, 1], 0, 0.3),
                ["3,4", "3,4x2"],
            ),
            ("hinge_dim d=1", lambda x: dy.hinge_dim(x, [0, 2, 1], 1), ["3,4", "3,4x2"]),
            ("hinge_dim d=1 m=2", lambda x: dy.hinge_dim(x, [0, 2, 1], d=1, m=2.0), ["3,4"]),
            ("hinge_dim d=1, class 3 of 4", lambda x: dy.hinge_dim(x, [0, 3, 1], 1), ["3,4"]),
        ]
    )


def distances() -> Iterable[Case]:
    pairs = [("5", "5"), ("3,4", "3,4"), ("2,3,2", "2,3,2"), ("5", "5,1"), ("1", "1")]
    batched = [("5x3", "5x3"), ("5x3", "5"), ("5", "5x3"), ("3,4x2", "3,4")]
    yield from table(
        [
            ("squared_distance", dy.squared_distance, pairs + batched),
            ("dot_product", dy.dot_product, pairs[:3] + pairs[4:] + batched),
            ("l1_distance", dy.l1_distance, pairs),
            ("huber_distance", dy.huber_distance, pairs),
            ("huber_distance c=0.5", lambda x, y: dy.huber_distance(x, y, 0.5), pairs),
            ("huber_distance c=10", lambda x, y: dy.huber_distance(x, y, c=10.0), pairs),
            ("pairwise_rank_loss", dy.pairwise_rank_loss, [("1", "1"), ("1,4", "1,4"), ("1,4x2", "1,4x2"),
                                                           ("1x3", "1x3")]),
            ("pairwise_rank_loss m=0.1", lambda x, y: dy.pairwise_rank_loss(x, y, 0.1), [("1,4", "1,4"),
                                                                                       ("1x3", "1x3")]),
            ("trace_of_product", dy.trace_of_product, [("3,4", "3,4"), ("4,3", "4,3"), ("5", "5")]),
        ]
    )  # fmt: skip
    for name in ("l1_distance", "squared_distance", "huber_distance"):
        function = getattr(dy, name)
        yield case(f"{name} from itself", lambda x, f=function: f(x, x), "5")


def probabilities() -> Iterable[Case]:
    targets = {
        "ones and zeros": [1, 0, 0, 1, 1],
        "fractions": [0.1, 0.5, 0.9, 0.25, 0.3],
        "all ones": [1] * 5,
    }
    for name, values in targets.items():
        yield f"binary_log_loss {name}", lambda v=values: binary(numbers([5], 0, "unit"), v)
        yield (
            f"binary_log_loss of the target, {name}",
            lambda v=values: binary(np.array(v, dtype=float), v),
        )
    yield "binary_log_loss of wrong certainty", lambda: binary(np.array([1.0, 0.0]), [0, 1])
    yield (
        "binary_log_loss of matrices",
        lambda: binary(numbers([2, 3], 1, "unit"), [[1, 0, 1], [0, 0.5, 1]]),
    )
    for y in (0, 1, 4):
        yield f"poisson_loss {y}", lambda y=y: poisson(y, 1.0)
    yield "poisson_loss of three times", lambda: poisson(2, 3.0)


def binary(x: object, target: object) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    p = m.parameters_from_numpy(x)
    return results(dy.binary_log_loss(p, dy.inputTensor(np.array(target, dtype=float))), [p])


def poisson(y: int, scale: float) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    p = m.parameters_from_numpy(numbers([1], 1))
    loss = dy.poisson_loss(p, y)
    (loss if scale == 1.0 else loss * scale).backward()
    return [loss.value(), p.grad_as_array()]


def cases() -> Iterable[Case]:
    yield from softmaxes()
    yield from classes()
    yield from distances()
    yield from probabilities()
