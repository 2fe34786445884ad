"""Graphs of forty nodes, which a seed chooses: values asked for on the way, two losses, all gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case, numbers

GRAPHS = 150
STEPS = 40
SIZE = 6
BATCH = 3
UNEQUAL = [0.1, 0.25, -0.4, 0.7, -0.15, 0.3]


class Draft:
    """Parameters, and the vectors and matrices that the graph has so far; each is {6} or {6,6}, of one or three examples."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.RandomState(seed)
        self.m = dy.ParameterCollection()
        self.table = self.m.lookup_parameters_from_numpy(numbers((5, SIZE), seed))
        self.weights = [
            self.m.parameters_from_numpy(numbers((SIZE, SIZE), seed + i, "inner")) for i in range(3)
        ]
        self.biases = [self.m.parameters_from_numpy(numbers((SIZE,), seed + i)) for i in range(3)]
        self.vectors = [*self.biases, self.table[1], dy.lookup_batch(self.table, [0, 3, 3])]
        self.matrices = list(self.weights)

    def one(self, items: list[object]) -> object:
        return items[self.rng.randint(len(items))]

    def two(self, items: list[object]) -> tuple[object, object]:
        return self.one(items), self.one(items)


def with_batch(x: object) -> object:
    return x if x.dim()[1] == BATCH else dy.concatenate_to_batch([x, x * 0.5, -x])


def halves(d: Draft) -> object:
    x, at = d.one(d.vectors), int(d.rng.randint(1, SIZE))
    return dy.concatenate([dy.pick_range(x, at, SIZE), d.one(d.vectors)[:at]])


def cell(d: Draft) -> object:
    x, h = d.two(d.vectors)
    w, u = d.two(d.weights)
    return dy.tanh(dy.affine_transform([d.one(d.biases), w, x, u, h]))


def gated(d: Draft) -> object:
    x, y = d.two(d.vectors)
    gate = dy.logistic(d.one(d.weights) * x)
    return dy.cmult(gate, y)


VECTORS: list[Callable[[Draft], object]] = [
    lambda d: dy.tanh(d.one(d.vectors)),
    lambda d: dy.sin(d.one(d.vectors)) * 0.5,
    lambda d: dy.erf(d.one(d.vectors)) + 0.25,
    lambda d: dy.rectify(d.one(d.vectors) - 0.3),
    lambda d: -d.one(d.vectors),
    lambda d: dy.softmax(d.one(d.vectors)),
    lambda d: dy.log_softmax(dy.tanh(d.one(d.vectors))),
    lambda d: d.one(d.weights) * dy.tanh(d.one(d.vectors)),
    lambda d: d.one(d.vectors) + d.one(d.vectors) * 0.5,
    lambda d: dy.cmult(*map(dy.tanh, d.two(d.vectors))),
    lambda d: dy.tanh(dy.esum([d.one(d.vectors) for _ in range(3)])),
    lambda d: dy.logsumexp([dy.tanh(x) for x in d.two(d.vectors)]),
    lambda d: dy.emax([with_batch(x) for x in d.two(d.vectors)]),
    lambda d: dy.mean_batches(d.one(d.vectors)),
    lambda d: dy.pick_batch_elem(with_batch(d.one(d.vectors)), int(d.rng.randint(BATCH))),
    lambda d: with_batch(d.one(d.vectors)),
    lambda d: d.table[int(d.rng.randint(5))],
    lambda d: dy.lookup_batch(d.table, [int(i) for i in d.rng.randint(5, size=BATCH)]),
    lambda d: dy.pick(d.one(d.matrices), int(d.rng.randint(SIZE)), int(d.rng.randint(2))),
    lambda d: dy.sum_dim(d.one(d.matrices), [int(d.rng.randint(2))]) * 0.2,
    lambda d: dy.max_dim(d.one(d.matrices), int(d.rng.randint(2))),
    # of unequal numbers, because equal ones have gradients of NaN in 2.2
    lambda d: dy.layer_norm(d.one(d.vectors) + dy.inputVector(UNEQUAL), *d.two(d.biases)),
    lambda d: dy.tanh(d.one(d.matrices) * d.one(d.vectors)),
    lambda d: dy.cdiv(d.one(d.vectors), dy.exp(dy.tanh(d.one(d.biases)))),
    halves,
    cell,
    gated,
]
MATRICES: list[Callable[[Draft], object]] = [
    lambda d: dy.tanh(d.one(d.matrices)),
    lambda d: dy.transpose(d.one(d.matrices)),
    lambda d: dy.tanh(d.one(d.weights) * d.one(d.matrices)),
    lambda d: dy.softmax(d.one(d.matrices), int(d.rng.randint(2))),
    lambda d: dy.concatenate_cols([d.one(d.vectors) for _ in range(SIZE)]),
    lambda d: dy.tanh(d.one(d.vectors) * dy.transpose(d.one(d.vectors))),
    lambda d: dy.colwise_add(d.one(d.matrices), d.one(d.biases)),
    lambda d: dy.cmult(dy.tanh(d.one(d.matrices)), d.one(d.biases)),
    lambda d: dy.select_cols(d.one(d.matrices), [int(i) for i in d.rng.randint(SIZE, size=SIZE)]),
]


def loss_of(d: Draft, number: int) -> object:
    parts = []
    for x in d.vectors[-number:]:
        label = int(d.rng.randint(SIZE))
        if x.dim()[1] == 1:
            parts.append(dy.pickneglogsoftmax(x, label))
        else:
            parts.append(dy.sum_batches(dy.pickneglogsoftmax_batch(x, [label, 0, label])))
    return dy.esum([*parts, dy.sum_batches(dy.squared_norm(dy.tanh(d.matrices[-1])))])


def built(seed: int) -> dict[str, object]:
    dy.renew_cg()
    d = Draft(seed)
    asked = []
    for _ in range(STEPS):
        is_vector = d.rng.rand() < 0.75
        items, makers = (d.vectors, VECTORS) if is_vector else (d.matrices, MATRICES)
        items.append(makers[d.rng.randint(len(makers))](d))
        if d.rng.rand() < 0.1:
            asked.append(items[-1].npvalue())
    found: dict[str, object] = {"asked": asked}
    for number in (3, 5):
        loss = loss_of(d, number)
        found[f"loss {number}"] = loss.value()
        loss.backward()
        # in one list: some are nothing but rounding beside the others
        gradients = [p.grad_as_array().ravel() for p in (d.table, *d.weights, *d.biases)]
        found[f"gradients {number}"] = np.concatenate(gradients)
    return found | {"dims": [x.dim() for x in (*d.vectors, *d.matrices)]}


def cases() -> Iterable[Case]:
    for seed in range(GRAPHS):
        yield f"graph {seed}", lambda seed=seed: built(seed)
