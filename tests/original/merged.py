"""Graphs of several examples with batching switched on, and the same graphs node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
from checked import Case, numbers, weighted

Function = Callable[..., object]


def compute(function: Function, shapes: list[tuple[int, ...]], autobatching: bool) -> list[object]:
    """One node of the function for each of five examples, all of which share no argument."""
    dy.renew_cg(autobatching=autobatching)
    m = dy.ParameterCollection()
    arguments = [
        [m.parameters_from_numpy(numbers(s, 10 * e + i)) for i, s in enumerate(shapes)]
        for e in range(5)
    ]
    outputs = [function(e, *xs) for e, xs in enumerate(arguments)]
    total = dy.esum([weighted(y) for y in outputs])
    total.backward()
    gradients = [x.grad_as_array() for xs in arguments for x in xs]
    return [total.value(), [y.npvalue() for y in outputs], gradients]


V, M = (6,), (3, 4)
EACH: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "tanh": (lambda _, x: dy.tanh(x), [V]),
    "x + y": (lambda _, x, y: x + y, [M, M]),
    "x + y, broadcast": (lambda _, x, y: x + y, [M, (3,)]),
    "x - y": (lambda _, x, y: x - y, [V, V]),
    "cmult": (lambda _, x, y: dy.cmult(x, y), [M, M]),
    "cdiv": (lambda _, x, y: dy.cdiv(x, y + 4), [V, V]),
    "x * y": (lambda _, x, y: x * y, [M, (4,)]),
    "x * y of matrices": (lambda _, x, y: x * y, [M, (4, 2)]),
    "affine_transform": (lambda _, b, w, x: dy.affine_transform([b, w, x]), [(3,), M, (4,)]),
    "concatenate": (lambda _, x, y: dy.concatenate([x, y]), [V, (2,)]),
    "concatenate_cols": (lambda _, x, y: dy.concatenate_cols([x, y]), [V, V]),
    "softmax": (lambda _, x: dy.softmax(x), [M]),
    "log_softmax": (lambda _, x: dy.log_softmax(x), [V]),
    "pick": (lambda e, x: dy.pick(x, e), [V]),
    "pick_range": (lambda _, x: dy.pick_range(x, 1, 3), [V]),
    "pick_range of different ranges": (lambda e, x: dy.pick_range(x, e % 3, e % 3 + 2), [V]),
    "transpose": (lambda _, x: dy.transpose(x), [M]),
    "reshape": (lambda _, x: dy.reshape(x, (4, 3)), [M]),
    "pickneglogsoftmax": (lambda e, x: dy.pickneglogsoftmax(x, e), [V]),
    "hinge": (lambda e, x: dy.hinge(x, e), [V]),
    "squared_distance": (lambda _, x, y: dy.squared_distance(x, y), [V, V]),
    "dot_product": (lambda _, x, y: dy.dot_product(x, y), [V, V]),
    "sum_elems": (lambda _, x: dy.sum_elems(x), [M]),
    "mean_dim": (lambda _, x: dy.mean_dim(x, [1], False), [M]),
    "max_dim": (lambda _, x: dy.max_dim(x, 1), [M]),
    "x + a": (lambda _, x: x + 2, [V]),
    "x + different a": (lambda e, x: x + float(e), [V]),
    "x * different a": (lambda e, x: x * (e + 1.0), [V]),
    "x ** 2": (lambda _, x: x**2, [V]),
    "logsumexp": (lambda _, x, y: dy.logsumexp([x, y]), [V, V]),
    "average": (lambda _, x, y: dy.average([x, y]), [V, V]),
    "emax": (lambda _, x, y: dy.emax([x, y]), [V, V]),
    "layer_norm": (lambda _, x, g, b: dy.layer_norm(x, g, b), [V, V, V]),
    "conv2d": (lambda _, x, f: dy.conv2d(x, f, [1, 1]), [(4, 5, 2), (2, 2, 2, 3)]),
    "vanilla_lstm_gates": (
        lambda _, x, h, wx, wh, b: dy.vanilla_lstm_gates(x, h, wx, wh, b),
        [(3,), (2,), (8, 3), (8, 2), (8,)],
    ),
    "vanilla_lstm_gates_concat": (
        lambda _, x, y, z, h, wx, wh, b: dy.vanilla_lstm_gates_concat([x, y, z], h, wx, wh, b),
        [(1,), (1,), (1,), (2,), (8, 3), (8, 2), (8,)],
    ),
    "vanilla_lstm_c": (lambda _, c, g: dy.vanilla_lstm_c(c, g), [(2,), (8,)]),
    "two shapes": (lambda e, x, y: dy.tanh(x if e % 2 else y), [V, M]),
    "elu and rectify": (lambda e, x: dy.elu(x, 0.5) if e % 2 else dy.rectify(x), [V]),
    "elu of two alphas": (lambda e, x: dy.elu(x, 0.5 + e), [V]),
    "elu and selu": (lambda e, x: dy.selu(x) if e % 2 else dy.elu(x), [V]),
    "silu of two betas": (lambda e, x: dy.nobackprop(dy.silu(x, 1.0 + e)), [V]),
    "softmax of both dimensions": (lambda e, x: dy.softmax(x, e % 2), [M]),
    "transpose of two permutations": (lambda e, x: dy.transpose(x, [e % 2, 1 - e % 2]), [(3, 3)]),
    "pick_range of two dimensions": (lambda e, x: dy.pick_range(x, 0, 2, e % 2), [(3, 3)]),
    "concatenate along two dimensions": (
        lambda e, x, y: dy.concatenate([x, y], e % 2),
        [(3, 3), (3, 3)],
    ),
    "gates, c and h": (
        lambda e, c, g: dy.vanilla_lstm_c(c, g) if e % 2 else dy.vanilla_lstm_h(c, g),
        [(2,), (8,)],
    ),
    "scale_gradient of two factors": (lambda e, x: dy.scale_gradient(x, 1.0 + e), [V]),
    "sum_dim of two dimensions": (lambda e, x: dy.sum_dim(x, [e % 2]), [(3, 3)]),
    "hinge of two margins": (lambda e, x: dy.hinge(x, 1, 0.5 + e), [V]),
    "huber_distance of two widths": (lambda e, x, y: dy.huber_distance(x, y, 0.5 + e), [V, V]),
    "moments of two orders": (lambda e, x: dy.moment_dim(x, [0], 1 + e % 3, False), [M]),
}


def with_shared(autobatching: bool) -> list[object]:
    """A tagger of five words with one matrix, and a table of which two words are the same."""
    dy.renew_cg(autobatching=autobatching)
    m = dy.ParameterCollection()
    table = m.lookup_parameters_from_numpy(numbers((4, 3), 1))
    w, b, v = (m.parameters_from_numpy(numbers(s, i)) for i, s in enumerate([(5, 3), (5,), (4, 5)]))
    losses = []
    for word, tag in ((0, 1), (2, 3), (2, 0), (3, 3), (1, 2)):
        h = dy.tanh(dy.affine_transform([b, w, table[word]]))
        losses.append(dy.pickneglogsoftmax(v * h, tag))
    total = dy.esum(losses)
    total.backward()
    return [
        total.value(),
        [x.value() for x in losses],
        [p.grad_as_array() for p in (table, w, b, v)],
    ]


def recurrent(autobatching: bool) -> list[object]:
    """Sequences of different lengths, each a recurrent network written by hand."""
    dy.renew_cg(autobatching=autobatching)
    m = dy.ParameterCollection()
    w, u, b = (m.parameters_from_numpy(numbers(s, i)) for i, s in enumerate([(3, 3), (3, 2), (3,)]))
    outputs = []
    for length in (1, 3, 2, 3, 5):
        h = dy.zeros(3)
        for t in range(length):
            h = dy.tanh(
                dy.affine_transform([b, w, h, u, dy.inputVector([0.5 * t, 1.0 - length / 5])])
            )
        outputs.append(h)
    total = dy.esum([dy.squared_norm(h) for h in outputs])
    total.backward()
    return [total.value(), [h.npvalue() for h in outputs], [p.grad_as_array() for p in (w, u, b)]]


def in_batches(autobatching: bool) -> list[object]:
    """Nodes that have batches of their own, of two sizes."""
    dy.renew_cg(autobatching=autobatching)
    m = dy.ParameterCollection()
    table = m.lookup_parameters_from_numpy(numbers((6, 3), 1))
    w = m.parameters_from_numpy(numbers((4, 3), 2))
    losses = []
    for words, tags in (([0, 1], [0, 3]), ([4, 4, 5], [1, 2, 2]), ([3, 2], [3, 1])):
        scores = w * dy.tanh(dy.lookup_batch(table, words))
        losses.append(dy.sum_batches(dy.pickneglogsoftmax_batch(scores, tags)))
    total = dy.esum(losses)
    total.backward()
    return [total.value(), table.grad_as_array(), w.grad_as_array()]


def cases() -> Iterable[Case]:
    for is_merged, told in ((True, "merged"), (False, "one by one")):
        for name, (function, shapes) in EACH.items():
            yield f"{told}, {name}", lambda f=function, s=shapes, on=is_merged: compute(f, s, on)
        for program in (with_shared, recurrent, in_batches):
            yield f"{told}, {program.__name__}", lambda p=program, on=is_merged: p(on)
