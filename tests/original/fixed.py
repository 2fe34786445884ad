"""Parameters and data from formulas, so that two libraries start from the same numbers."""

from __future__ import annotations

import dynet as dy
import numpy as np

# In 2.2, neither parameters nor trainers keep their collection alive.
_alive: list[dy.ParameterCollection] = []


def keep(model: dy.ParameterCollection) -> dy.ParameterCollection:
    _alive.append(model)
    return model


def wave(shape: tuple[int, ...], start: float, scale: float) -> np.ndarray:
    """Numbers of a sine, different for each `start`."""
    count = int(np.prod(shape))
    return (scale * np.sin(1.7 * np.arange(1, count + 1) + 0.9 * start)).reshape(shape)


def fill(model: dy.ParameterCollection, scale: float = 0.3) -> None:
    """Gives all parameters of the model, in their order, fixed numbers."""
    keep(model)
    for i, p in enumerate(model.parameters_list()):
        p.set_value(wave(p.shape(), i, scale))
    for i, table in enumerate(model.lookup_parameters_list()):
        for row, numbers in enumerate(wave(table.shape(), i + 0.5, scale)):
            table.init_row(row, numbers.ravel(order="F").tolist())


def sentence(number: int, length: int, words: int) -> list[int]:
    return [(7 * i * i + 3 * i * number + 5 * number + 1) % words for i in range(length)]


def values_of(model: dy.ParameterCollection) -> dict[str, list[np.ndarray]]:
    return {
        "dense": [p.as_array() for p in model.parameters_list()],
        "tables": [t.as_array() for t in model.lookup_parameters_list()],
    }


def gradients_of(model: dy.ParameterCollection) -> dict[str, list[np.ndarray]]:
    return {
        "dense": [p.grad_as_array() for p in model.parameters_list()],
        "tables": [t.grad_as_array() for t in model.lookup_parameters_list()],
    }
