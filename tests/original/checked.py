"""Runs one operation: its value, its shape, and the gradient of each argument.

A text such as "3,4x2 positive" describes an argument: the dimensions, the number of examples of a batch, and the
range of the numbers. The numbers follow from the text and the position, so both libraries get the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np

RANGES = {
    "any": (-2.0, 2.0),
    "positive": (0.2, 3.0),
    "unit": (0.05, 0.95),
    "inner": (-0.9, 0.9),
    "above": (1.1, 3.0),
}
Case = tuple[str, Callable[[], object]]


def numbers(shape: Iterable[int], seed: int, kind: str = "any") -> np.ndarray:
    """Numbers that are floats of 32 bits, so that no library rounds them when it reads them."""
    low, high = RANGES[kind]
    drawn = np.random.RandomState(1000 + seed).uniform(low, high, size=tuple(shape))
    return drawn.astype(np.float32).astype(np.float64)


def arrays_of(text: str, seed: int) -> list[np.ndarray]:
    """One array for each example."""
    words = text.split()
    dims, _, examples = words[0].partition("x")
    shape = [int(d) for d in dims.split(",")]
    kind = words[1] if len(words) > 1 else "any"
    return [numbers(shape, seed + 10 * b, kind) for b in range(int(examples or 1))]


def operand(m: dy.ParameterCollection, arrays: list[np.ndarray]) -> tuple[list[object], object]:
    """Parameters, and one expression that has them as examples."""
    leaves = [m.parameters_from_numpy(a) for a in arrays]
    return leaves, leaves[0] if len(leaves) == 1 else dy.concatenate_to_batch(leaves)


def weighted(y: object) -> object:
    """The sum of the elements of y times fixed weights, over all examples."""
    dims, batch = y.dim()
    weights = numbers((*dims, batch) if batch > 1 else dims, 7, "positive")
    w = dy.inputTensor(weights, batched=batch > 1)
    return dy.sum_batches(dy.sum_elems(dy.cmult(y, w)))


def results(y: object, leaves: list[object]) -> dict[str, object]:
    found = {"dim": y.dim(), "value": y.npvalue()}
    weighted(y).backward()
    return found | {"gradients": [leaf.grad_as_array() for leaf in leaves]}


def measured(function: Callable[..., object], texts: Iterable[str]) -> dict[str, object]:
    dy.renew_cg()
    m = dy.ParameterCollection()
    leaves, operands = [], []
    for position, text in enumerate(texts):
        parameters, x = operand(m, arrays_of(text, position))
        leaves += parameters
        operands.append(x)
    return results(function(*operands), leaves)


def case(name: str, function: Callable[..., object], *texts: str) -> Case:
    """A function of as many expressions as there are texts."""
    return f"{name} {' '.join(f'[{text}]' for text in texts)}", lambda: measured(function, texts)


def table(
    rows: Iterable[tuple[str, Callable[..., object], Iterable[object]]],
) -> Iterable[Case]:
    """Each row has several tuples of arguments, or single arguments."""
    for name, function, calls in rows:
        for texts in calls:
            yield case(name, function, *((texts,) if isinstance(texts, str) else texts))
