"""Common code of the tests of copies."""

from __future__ import annotations

import pickle

import dynet as dy


def names(collection):
    return [p.name() for p in collection.parameters_list() + collection.lookup_parameters_list()]


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


BUILDERS = [
    dy.SimpleRNNBuilder,
    dy.GRUBuilder,
    dy.CoupledLSTMBuilder,
    dy.VanillaLSTMBuilder,
    dy.SparseLSTMBuilder,
    dy.CompactVanillaLSTMBuilder,
    dy.FastLSTMBuilder,
]
