"""Random nodes, noise and dropout: statistics within bounds, as truths, because the generators differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case

COUNT = 100_000
SPREAD = 6.0  # bounds of a mean in standard deviations of the mean


def draw(make: Callable[[], object]) -> np.ndarray:
    dy.renew_cg()
    return np.asarray(make().npvalue())


def has(drawn: np.ndarray, mean: float, variance: float) -> dict[str, bool]:
    """Whether mean and variance are as the distribution has them, to 6 deviations of 1e5 numbers, or 5 %."""
    off = abs(drawn.mean() - mean)
    return {
        "mean": bool(off < SPREAD * np.sqrt(variance / drawn.size) + 1e-6),
        "variance": bool(abs(drawn.var() - variance) < 0.05 * variance + 1e-9),
    }


def within(drawn: np.ndarray, low: float, high: float) -> bool:
    return bool((drawn >= low).all() and (drawn <= high).all())


def sources() -> Iterable[Case]:
    moments = {
        "random_normal": (lambda: dy.random_normal((COUNT,)), 0.0, 1.0),
        "random_normal mean=2 stddev=3": (lambda: dy.random_normal((COUNT,), 2.0, 3.0), 2.0, 9.0),
        "random_normal of a batch": (lambda: dy.random_normal((100, 10), batch_size=100), 0.0, 1.0),
        "random_bernoulli p=0.3": (lambda: dy.random_bernoulli((COUNT,), 0.3), 0.3, 0.21),
        "random_bernoulli p=0.3 scale=2": (
            lambda: dy.random_bernoulli((COUNT,), 0.3, 2.0),
            0.6,
            0.84,
        ),
        "random_uniform": (lambda: dy.random_uniform((COUNT,), -1.0, 3.0), 1.0, 16 / 12),
        "random_gumbel": (lambda: dy.random_gumbel((COUNT,)), np.euler_gamma, np.pi**2 / 6),
        "noise stddev=0.5": (lambda: dy.noise(dy.ones((COUNT,)), 0.5), 1.0, 0.25),
    }
    for name, (make, mean, variance) in moments.items():
        yield name, lambda make=make, mean=mean, variance=variance: has(draw(make), mean, variance)
    yield "dim of a batch", lambda: draw(lambda: dy.random_normal((2, 3), batch_size=4)).shape
    yield (
        "range of random_uniform",
        lambda: within(draw(lambda: dy.random_uniform((COUNT,), -1.0, 3.0)), -1.0, 3.0),
    )
    yield (
        "values of random_bernoulli",
        lambda: kinds(draw(lambda: dy.random_bernoulli((1000,), 0.5, 1.5))),
    )
    yield "correlation of two nodes", correlation
    yield "two nodes of one seed", same_after_seed
    yield "value twice", value_twice
    yield "recalculated", recalculated
    yield "gradient through noise", through_noise
    yield "gradient of random_normal", gradient_of_source


def kinds(drawn: np.ndarray) -> list[float]:
    return sorted({float(v) for v in drawn.ravel()})


def correlation() -> bool:
    dy.renew_cg()
    x, y = (dy.random_normal((COUNT,)).npvalue() for _ in range(2))
    return bool(abs((x * y).mean()) < SPREAD / np.sqrt(COUNT))


def same_after_seed() -> list[bool]:
    drawn = []
    for seed in (7, 7, 8):
        dy.reset_random_seed(seed)
        drawn.append(draw(lambda: dy.random_normal((50,))))
    return [bool((drawn[0] == drawn[1]).all()), bool((drawn[0] == drawn[2]).all())]


def value_twice() -> bool:
    dy.renew_cg()
    x = dy.random_normal((50,))
    y = x + 1
    return bool(np.allclose(x.npvalue() + 1, y.npvalue()) and (x.npvalue() == x.npvalue()).all())


def recalculated() -> bool:
    dy.renew_cg()
    x = dy.random_normal((50,))
    return bool((x.npvalue() == x.npvalue(recalculate=True)).all())


def through_noise() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(np.ones(4))
    dy.sum_elems(dy.noise(w, 0.5) * 3).backward()
    return w.grad_as_array()


def gradient_of_source() -> object:
    dy.renew_cg()
    x = dy.random_normal((3,))
    loss = dy.squared_norm(x)
    loss.backward(full=True)
    return np.asarray(x.gradient()).shape


def dropped(p: float) -> Iterable[Case]:
    yield (
        f"dropout p={p}",
        lambda: has(draw(lambda: dy.dropout(dy.ones((COUNT,)), p)), 1.0, p / (1 - p)),
    )
    yield f"values of dropout p={p}", lambda: kinds(draw(lambda: dy.dropout(dy.ones((COUNT,)), p)))
    yield f"gradient of dropout p={p}", lambda: mask_of(lambda x: dy.dropout(x, p), (1000,))
    yield (
        f"dropout p={p} of a batch",
        lambda: has(
            draw(lambda: dy.dropout(dy.ones((100, 10), batch_size=100), p)), 1.0, p / (1 - p)
        ),
    )
    for d in (0, 1):
        yield (
            f"dropout_dim d={d} p={p}",
            lambda d=d: slices(lambda x: dy.dropout_dim(x, d, p), d, p),
        )
        yield (
            f"gradient of dropout_dim d={d} p={p}",
            lambda d=d: mask_of(lambda x: dy.dropout_dim(x, d, p), (20, 30)),
        )
    yield f"dropout_batch p={p}", lambda: examples(p)
    yield f"block_dropout p={p}", lambda: blocks(p)
    yield (
        f"gradient of block_dropout p={p}",
        lambda: mask_of(lambda x: dy.block_dropout(x, p), (20, 30)),
    )


def mask_of(function: Callable[[object], object], shape: tuple[int, ...]) -> list[bool]:
    """Whether value and gradient have the same mask, for an argument of ones."""
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(np.ones(shape))
    y = function(w)
    dy.sum_elems(y).backward()
    return [bool(np.allclose(y.npvalue(), w.grad_as_array()))]


def slices(function: Callable[[object], object], d: int, p: float) -> dict[str, object]:
    drawn = draw(lambda: function(dy.ones((40, 40), batch_size=50)))
    first = np.take(drawn, [0], axis=d)
    return {
        "constant": bool((drawn == first).all()),
        "values": kinds(drawn),
        "moments": has(first, 1.0, p / (1 - p)),
    }


def examples(p: float) -> dict[str, object]:
    drawn = draw(lambda: dy.dropout_batch(dy.ones((3, 2), batch_size=20000), p))
    first = drawn[:1, :1]
    return {
        "constant": bool((drawn == first).all()),
        "values": kinds(drawn),
        "moments": has(first, 1.0, p / (1 - p)),
    }


def blocks(p: float) -> dict[str, object]:
    dy.renew_cg()
    drawn = [dy.block_dropout(dy.ones((2, 2)), p) for _ in range(4000)]
    values = np.array([x.npvalue() for x in drawn])
    return {"constant": bool((values == values[:, :1, :1]).all()), "values": kinds(values)} | has(
        values[:, 0, 0], 1.0, p / (1 - p)
    )


def cases() -> Iterable[Case]:
    yield from sources()
    for p in (0.25, 0.5):
        yield from dropped(p)
    yield "dropout p=0", lambda: draw(lambda: dy.dropout(dy.ones((5,)), 0.0))
    yield "block_dropout p=0", lambda: draw(lambda: dy.block_dropout(dy.ones((5,)), 0.0))
    yield "block_dropout p=1", lambda: draw(lambda: dy.block_dropout(dy.ones((5,)), 1.0))
    yield "dropout p=1", lambda: draw(lambda: dy.dropout(dy.ones((5,)), 1.0))
