#!/bin/sh
# DyNet 2.2 of the first authors, as the package dyNET38 2.2: with automatic batching, nodes that differ in an attribute
# alone, or in the operation, are computed as one of them. The second of two softmaxes along different dimensions gets
# the first one's dimension, elu gets the alpha of another elu, rectify beside elu gives negative numbers, ceil beside
# round rounds; the same with silu, pick_range, transpose and vanilla_lstm_h beside vanilla_lstm_c. Without batching
# each is right. Nothing is said.
#
# A good guess is that batching changes results by rounding at most.
#
# Seen with dyNET38 2.2. Ends with 1 if that changes. It needs Python 3.11 with venv, on x86-64, and PyPI.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dyNET38==2.2 numpy==1.26.4
cat >"$folder/batching.py" <<'END'
import sys
from importlib.metadata import version

import dynet as dy
import numpy as np

def matrix():
    return dy.inputTensor(np.array([[1.0, 2.0], [3.0, 5.0]]))


def cube():
    return dy.inputTensor(np.arange(8.0).reshape(2, 2, 2))


def cell():
    return dy.inputVector([0.1, 0.2]), dy.inputVector([k / 8 for k in range(8)])


PAIRS = {
    "softmax along 0, 1": lambda: (dy.softmax(matrix(), 0), dy.softmax(matrix(), 1)),
    "elu of alpha 1, 0.5": lambda: (dy.elu(-matrix(), 1.0), dy.elu(-matrix(), 0.5)),
    "elu, rectify": lambda: (dy.elu(-matrix()), dy.rectify(-matrix())),
    "silu of beta 1, 2": lambda: (dy.silu(matrix(), 1.0), dy.silu(matrix(), 2.0)),
    "round, ceil": lambda: (dy.round(matrix() * 0.4, "zero_gradient"), dy.ceil(matrix() * 0.4, "zero_gradient")),
    "pick_range along 0, 1": lambda: (dy.pick_range(matrix(), 0, 1, 0), dy.pick_range(matrix(), 0, 1, 1)),
    "transpose 102, 021": lambda: (dy.transpose(cube(), [1, 0, 2]), dy.transpose(cube(), [0, 2, 1])),
    "vanilla_lstm_c, _h": lambda: (dy.vanilla_lstm_c(*cell()), dy.vanilla_lstm_h(*cell())),
}


def second(pair, batching):
    """The second node of a pair, both computed by one request."""
    dy.renew_cg(autobatching=batching)
    nodes = pair()
    dy.esum([dy.sum_elems(node) for node in nodes]).value()
    return np.asarray(nodes[1].npvalue()).ravel(order="F").round(4).tolist()


print("dyNET38", version("dyNET38"))
right = 0
for name, pair in PAIRS.items():
    alone, batched = second(pair, False), second(pair, True)
    right += np.allclose(alone, batched, atol=1e-3)
    print(f"{name}: second node {alone}, with batching {batched}")
sys.exit(0 if right == 0 else 1)
END
"$folder/venv/bin/python" "$folder/batching.py"
