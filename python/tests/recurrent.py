"""The recurrent builders, and inputs for them."""

from __future__ import annotations

import dynet as dy
import numpy as np

HIDDEN_ONLY = [dy.SimpleRNNBuilder, dy.GRUBuilder]
RECURRENT = [
    *HIDDEN_ONLY,
    dy.CoupledLSTMBuilder,
    dy.VanillaLSTMBuilder,
    dy.SparseLSTMBuilder,
    dy.CompactVanillaLSTMBuilder,
    dy.FastLSTMBuilder,
]


def inputs(count: int, size: int = 3) -> list[dy.Expression]:
    return [dy.inputVector(np.random.default_rng(k).normal(size=size)) for k in range(count)]
