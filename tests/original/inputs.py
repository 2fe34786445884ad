"""Leaves of a graph, the types of values, texts, changed inputs, stale expressions, and modes of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case, numbers, results


def kind_of(value: object) -> object:
    """The type of a value, the types within a list, and shape and type of numbers of an array."""
    if isinstance(value, np.ndarray):
        return ["array", list(value.shape), str(value.dtype), value]
    if isinstance(value, list):
        return ["list", [kind_of(v) for v in value]]
    return [type(value).__name__, value]


def seen(make: Callable[[], object]) -> object:
    """All ways to read the value of an expression."""
    dy.renew_cg()
    x = make()
    found = {"dim": x.dim(), "types": [type(x.dim()).__name__, type(x.dim()[0]).__name__]}
    found |= {
        "value": kind_of(x.value()),
        "npvalue": kind_of(x.npvalue()),
        "vec": kind_of(x.vec_value()),
    }
    found |= {"tensor": kind_of(x.tensor_value().as_numpy()), "text": str(x)}
    if len(x.vec_value()) == 1:
        found["scalar"] = kind_of(x.scalar_value())
    return found


def array(*shape: int) -> np.ndarray:
    return numbers(shape, 3)


LEAVES: dict[str, Callable[[], object]] = {
    "scalarInput(2.5)": lambda: dy.scalarInput(2.5),
    "scalarInput(3)": lambda: dy.scalarInput(3),
    "vecInput(3)": lambda: dy.vecInput(3),
    "inputVector of floats": lambda: dy.inputVector([1.5, 2.5, -1.0]),
    "inputVector of ints": lambda: dy.inputVector([1, 2, 3]),
    "inputVector of one": lambda: dy.inputVector([4.0]),
    "inputVector of an array": lambda: dy.inputVector(array(4)),
    "inputTensor of a vector": lambda: dy.inputTensor(array(4)),
    "inputTensor of a matrix": lambda: dy.inputTensor(array(3, 4)),
    "inputTensor of three dimensions": lambda: dy.inputTensor(array(2, 3, 2)),
    "inputTensor of four dimensions": lambda: dy.inputTensor(array(2, 3, 2, 2)),
    "inputTensor of {1,1}": lambda: dy.inputTensor(array(1, 1)),
    "inputTensor of {1,4}": lambda: dy.inputTensor(array(1, 4)),
    "inputTensor in memory order of Fortran": lambda: dy.inputTensor(np.asfortranarray(array(3, 4))),
    "inputTensor of a transposed array": lambda: dy.inputTensor(array(3, 4).T),
    "inputTensor of every second number": lambda: dy.inputTensor(array(6, 4)[::2, ::2]),
    "inputTensor of float32": lambda: dy.inputTensor(array(3, 4).astype(np.float32)),
    "inputTensor of integers": lambda: dy.inputTensor(np.arange(6).reshape(2, 3)),
    "inputTensor of a list": lambda: dy.inputTensor([[1, 2], [3, 4], [5, 6]]),
    "inputTensor of a flat list": lambda: dy.inputTensor([1.0, 2.0]),
    "inputTensor of a list of arrays": lambda: dy.inputTensor([array(3), array(3) * 2]),
    "inputTensor batched": lambda: dy.inputTensor(array(3, 4), batched=True),
    "inputTensor batched vector": lambda: dy.inputTensor(array(4), batched=True),
    "inputTensor batched matrices": lambda: dy.inputTensor(array(3, 4, 2), batched=True),
    "inputTensor batched list": lambda: dy.inputTensor([[1, 2], [3, 4]], batched=True),
    "inputTensor batched, one example": lambda: dy.inputTensor(array(3, 1), batched=True),
    "inputTensorTranspose": lambda: dy.inputTensorTranspose([1, 2, 3, 4, 5, 6], (2, 3)),
    "inputTensorTranspose, batch": lambda: dy.inputTensorTranspose([1, 2, 3, 4, 5, 6], (3,), 2),
    "sparse_inputTensor": lambda: dy.sparse_inputTensor([[0, 1, 1], [2, 0, 3]], np.array([1.5, 2, 3]), (2, 4)),
    "sparse_inputTensor defval=0.5": lambda: dy.sparse_inputTensor([[1, 0]], np.array([2.0, 3]), (4,), defval=0.5),
    "sparse_inputTensor batched": lambda: dy.sparse_inputTensor(
        ([0, 1], [1, 0]), np.array([2.0, 3.0]), (2, 3), batched=True
    ),
    "one_hot": lambda: dy.one_hot(4, 2),
    "one_hot of a list": lambda: dy.one_hot(4, [2, 0, 3]),
    "zeros(3)": lambda: dy.zeros(3),
    "zeros((2, 3))": lambda: dy.zeros((2, 3)),
    "zeroes((2,))": lambda: dy.zeroes((2,)),
    "ones batch_size=2": lambda: dy.ones((2, 3), batch_size=2),
    "constant": lambda: dy.constant((2, 2), 2.5),
    "constant batch_size=3": lambda: dy.constant(2, -1.5, batch_size=3),
    "sum of the elements of a batch": lambda: dy.sum_elems(dy.inputTensor(array(3, 2), batched=True)),
    "a product {1,1}": lambda: dy.inputTensor(array(1, 3)) * dy.inputTensor(array(3, 1)),
    "a product {1}": lambda: dy.inputTensor(array(1, 3)) * dy.inputTensor(array(3)),
}  # fmt: skip


def table_of(shape: tuple[int, ...]) -> tuple[object, object]:
    dy.renew_cg()
    m = dy.ParameterCollection()
    return m, m.lookup_parameters_from_numpy(numbers(shape, 5))


def looked_up(make: Callable[[object], object]) -> object:
    kept, p = table_of((5, 3))
    found = results(make(p), [p])
    return found | {
        "count": kept.parameter_count(),
        "rows": [p.shape(), len(p), p.row_grad_as_array(2)],
    }


LOOKUPS: dict[str, Callable[[object], object]] = {
    "p[2]": lambda p: p[2],
    "lookup": lambda p: dy.lookup(p, 4),
    "lookup without an index": lambda p: dy.lookup(p),
    "lookup update=False": lambda p: dy.lookup(p, 2, update=False) + p[1],
    "lookup_batch": lambda p: dy.lookup_batch(p, [2, 2, 0]),
    "lookup_batch update=False": lambda p: dy.lookup_batch(p, [2, 2, 0], update=False) + p[1],
    "p.batch": lambda p: p.batch([4, 2]),
    "one row twice": lambda p: dy.cmult(p[2], p[2]) + p[0],
    "the whole table": lambda p: p * dy.inputVector([1, 2, 3, 4, 5]),
    "rows and the whole table": lambda p: p * dy.inputVector([1, 2, 3, 4, 5]) + p[2],
}


def changed() -> Iterable[Case]:
    """Inputs that change, and values that follow."""
    vectors: dict[str, Callable[[], object]] = {
        "scalarInput": lambda: (dy.scalarInput(1.0), [2.5, -1.0]),
        "vecInput": lambda: (dy.vecInput(2), [[2.0, 3.0], [0.5, 1.0]]),
        "inputVector": lambda: (dy.inputVector([1.0, 4.0]), [[2.0, 3.0], [0.5, 1.0]]),
        "inputTensor": lambda: (
            dy.inputTensor(array(2, 2), reusable_expr=True),
            [[1.0, 2.0, 3.0, 4.0]],
        ),
        "lookup": lambda: (dy.lookup(table_of((5, 3))[1], 1), [0, 4]),
        "lookup_batch": lambda: (dy.lookup_batch(table_of((5, 3))[1], [1, 2]), [[0, 4], [3, 3]]),
    }
    for name, make in vectors.items():
        yield f"{name}.set", lambda make=make: after_sets(make, lambda x, v: x.set(v))
    many: dict[str, Callable[[], object]] = {
        "pick_batch.set_index": lambda: (
            dy.pick_batch(dy.inputVector([1.0, 2.0, 3.0]), [1, 0]),
            [[0, 2], [2, 2]],
        ),
        "pick.set_index": lambda: (dy.pick(dy.inputVector([1.0, 2.0, 3.0]), 1), [0, 2]),
    }
    for name, make in many.items():
        yield name, lambda make=make: after_sets(make, lambda x, v: x.set_index(v))
    yield "updates of a graph that changes", gradients_after_set


def after_sets(make: Callable[[], object], set_to: Callable[[object, object], None]) -> object:
    dy.renew_cg()
    x, values = make()
    y = dy.square(x) + x
    found = [y.npvalue()]
    for value in values:
        set_to(x, value)
        found += [y.npvalue(), dy.sum_batches(dy.sum_elems(y)).scalar_value()]
    return found


def gradients_after_set() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(2, 2))
    x = dy.vecInput(2)
    y = dy.sum_elems(dy.tanh(w * x))
    found = []
    for values in ([1.0, 2.0], [-1.0, 0.5]):
        x.set(values)
        found.append(y.value())
        y.backward()
        found.append(w.grad_as_array())
    return found


def modes() -> Iterable[Case]:
    for immediate in (False, True):
        for check in (False, True):
            yield (
                f"immediate_compute={immediate} check_validity={check}",
                lambda i=immediate, c=check: loss_in(i, c),
            )
    yield (
        "check_validity of a NaN",
        lambda: not_a_number(dy.renew_cg(immediate_compute=True, check_validity=True)),
    )
    yield "checkpoint and revert", checkpoints
    yield "cg_version", versions
    yield "forward and values of lists", lists_of_values
    yield "two losses of one graph", two_losses
    yield "backward twice", backward_twice
    yield "gradient of nodes", gradients_of_nodes
    yield "recalculate", recalculated
    yield "print of expressions", texts


def loss_in(immediate: bool, check: bool) -> object:
    dy.renew_cg(immediate_compute=immediate, check_validity=check)
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(2, 3))
    y = dy.tanh(w * dy.inputVector([1.0, 2.0, 0.5]))
    found = [y.value()]
    loss = dy.squared_norm(y)
    loss.backward()
    return [*found, loss.value(), w.grad_as_array()]


def not_a_number(_: object) -> object:
    return dy.log(dy.scalarInput(-1.0)).value()


def checkpoints() -> object:
    dy.renew_cg()
    x = dy.inputVector([1.0, 2.0])
    found = [x.value()]
    for scale in (2.0, 3.0):
        dy.cg_checkpoint()
        found.append((x * scale).value())
        dy.cg_revert()
    return [*found, dy.sum_elems(x + 1).value()]


def versions() -> object:
    dy.renew_cg()
    before = dy.cg_version()
    dy.renew_cg()
    return [dy.cg_version() - before, type(before).__name__, dy.cg().version() - before]


def lists_of_values() -> object:
    dy.renew_cg()
    x = dy.inputVector([1.0, 2.0])
    exps = [x, dy.sum_elems(x), dy.inputTensor(array(2, 2))]
    forward = dy.forward(exps)
    return [forward, [kind_of(v) for v in dy.values(exps)], [kind_of(v) for v in dy.npvalues(exps)]]


def two_losses() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(3))
    first, second = dy.squared_norm(w), dy.sum_elems(dy.exp(w))
    first.backward()
    found = [w.grad_as_array().copy()]
    second.backward()
    return [*found, w.grad_as_array(), first.value(), second.value()]


def backward_twice() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(3))
    loss = dy.squared_norm(w)
    loss.backward()
    loss.backward()
    return w.grad_as_array()


def gradients_of_nodes() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(2, 3))
    h = w * dy.inputVector([0.1, 0.2, 0.3])
    t = dy.tanh(h)
    loss = dy.squared_norm(t)
    loss.backward()
    return [kind_of(e.gradient()) for e in (h, t, w, loss)]


def recalculated() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(3))
    y = dy.square(w)
    return [
        y.value(),
        y.npvalue(recalculate=True),
        y.vec_value(True),
        dy.sum_elems(y).scalar_value(True),
    ]


def texts() -> object:
    dy.renew_cg()
    version = dy.cg_version()
    m = dy.ParameterCollection()
    x = dy.inputVector([1.0, 2.0])
    y = x + x
    named = [
        str(m.add_parameters((2, 2))),
        str(m.add_lookup_parameters((3, 2))),
        str(m.add_parameters(2, name="w")),
    ]
    return [
        str(x).replace(f"/{version}", "/v"),
        str(y).replace(f"/{version}", "/v"),
        *named,
        str(y.tensor_value()),
    ]


def stale(use: Callable[[object], object]) -> object:
    dy.renew_cg()
    x = dy.inputVector([1.0, 2.0])
    x.value()
    dy.renew_cg()
    dy.inputVector([3.0, 4.0]).value()
    return use(x)


STALE: dict[str, Callable[[object], object]] = {
    "value": lambda x: x.value(),
    "npvalue": lambda x: x.npvalue(),
    "vec_value": lambda x: x.vec_value(),
    "scalar_value": lambda x: dy.pick(x, 0).scalar_value(),
    "dim": lambda x: x.dim(),
    "forward": lambda x: x.forward(),
    "backward": lambda x: x.backward(),
    "gradient": lambda x: x.gradient(),
    "second argument": lambda x: dy.cmult(dy.inputVector([1.0, 2.0]), x),
    "right of +": lambda x: dy.inputVector([1.0, 2.0]) + x,
    "in a list": lambda x: dy.esum([dy.inputVector([1.0, 2.0]), x]),
}


def cases() -> Iterable[Case]:
    for name, make in LEAVES.items():
        yield name, lambda make=make: seen(make) | {"text": ""}
    for name, use in LOOKUPS.items():
        yield name, lambda use=use: looked_up(use)
    yield from changed()
    yield from modes()
    for name, use in STALE.items():
        yield f"stale expression, {name}", lambda use=use: stale(use)
