"""Parameters as expressions, tensors, holders of numbers, and the methods of a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case, numbers, weighted


def array(*shape: int) -> np.ndarray:
    return numbers(shape, 3)


def with_parameter(use: Callable[[object], object]) -> object:
    """The value of an expression of one parameter, and the gradient of the parameter."""
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(3, 3))
    y = use(w)
    value = y.npvalue()
    weighted(y).backward()
    return [value, w.grad_as_array()]


PARAMETERS: dict[str, Callable[[object], object]] = {
    "dy.parameter(w)": lambda w: dy.parameter(w) * dy.ones(3),
    "dy.parameter of two": lambda w: dy.parameter(w, w)[0] + dy.parameter(w, w)[1],
    "w": lambda w: w * dy.ones(3),
    "w.expr() and w": lambda w: w.expr() + w,
    "w.expr(update=True)": lambda w: w.expr(update=True),
    "const_parameter and w": lambda w: dy.const_parameter(w) + w,
    "nobackprop and w": lambda w: dy.nobackprop(w) + w,
    "flip_gradient": lambda w: dy.flip_gradient(w) + w * 3,
    "w * w": lambda w: w * w,
    "w[0]": lambda w: w[0],
    "w[1:]": lambda w: w[1:],
    "-w + 1": lambda w: -w + 1,
    "w used in ten sums": lambda w: dy.esum([w * dy.constant(3, 0.1 * i) for i in range(10)]),
}


def parameter_readings() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(3, 2))
    found = {"dim": w.dim(), "value": w.value(), "npvalue": w.npvalue(), "vec": w.vec_value()}
    found |= {"array": w.as_array(), "shape": w.shape(), "gradient": w.grad_as_array()}
    w.set_value(array(3, 2) * 2)
    dy.renew_cg()
    return found | {"after": w.npvalue()}


def frozen(before: bool) -> object:
    """Values with a parameter that is not updated; its gradient differs on purpose."""
    dy.renew_cg()
    m = dy.ParameterCollection()
    w, v = m.parameters_from_numpy(array(3)), m.parameters_from_numpy(array(3) + 1)
    w.set_updated(before)
    loss = dy.dot_product(w, v)
    loss.backward()
    return [w.is_updated(), v.is_updated(), loss.value(), v.grad_as_array()]


def tensors() -> Iterable[Case]:
    def tensor(values: np.ndarray, batched: bool = False) -> object:
        dy.renew_cg()
        return dy.inputTensor(values, batched=batched).tensor_value()

    yield "as_numpy", lambda: tensor(array(3, 4)).as_numpy()
    for dim in (0, 1):
        yield f"argmax dim={dim}", lambda d=dim: tensor(array(3, 4)).argmax(d).as_numpy()
        yield (
            f"topk dim={dim}",
            lambda d=dim: [t.as_numpy() for t in tensor(array(3, 4)).topk(d, 2)],
        )
    yield "argmax", lambda: tensor(array(5)).argmax().as_numpy()
    yield "argmax of a batch", lambda: tensor(array(5, 3), True).argmax().as_numpy()
    yield (
        "types of tensors",
        lambda: [
            str(tensor(array(3)).as_numpy().dtype),
            str(tensor(array(3)).argmax().as_numpy().dtype),
        ],
    )
    yield "texts of tensors", lambda: [str(tensor(array(3))), str(tensor(array(3)).argmax())]
    yield (
        "categorical_sample_log_prob of certainty",
        lambda: tensor(np.array([-90.0, 0.0, -90.0])).categorical_sample_log_prob().as_numpy(),
    )


def shares() -> object:
    """Whether the shares of 20000 samples are as their probabilities."""
    dy.renew_cg()
    p = np.array([0.1, 0.2, 0.7])
    scores = dy.inputTensor(np.tile(np.log(p)[:, None], (1, 20000)), batched=True)
    drawn = scores.tensor_value().categorical_sample_log_prob().as_numpy().ravel()
    return [bool(abs((drawn == i).mean() - p[i]) < 0.02) for i in range(3)]


def holders() -> Iterable[Case]:
    def of_number(kind: type, value: object, other: object) -> object:
        holder = kind(value)
        first = holder.get()
        holder.set(other)
        return [first, holder.get(), type(first).__name__, kind().get()]

    def of_list(kind: type, values: list[object], others: list[object]) -> object:
        holder = kind(values)
        first = list(holder.get())
        holder.set(others)
        return [first, list(holder.get()), holder.size()]

    yield "UnsignedValue", lambda: of_number(dy.UnsignedValue, 3, 5)
    yield "FloatValue", lambda: of_number(dy.FloatValue, 2.5, -1.0)
    yield "UnsignedVectorValue", lambda: of_list(dy.UnsignedVectorValue, [1, 2], [3, 4])
    yield "FloatVectorValue", lambda: of_list(dy.FloatVectorValue, [1.0, 2.0], [0.5, 4.0])


def graph_methods() -> object:
    cg = dy.renew_cg()
    first = dy.inputVector([1.0, 2.0, 3.0])
    total = dy.sum_elems(dy.square(first))
    found = [
        cg.forward_scalar(2),
        cg.inc_forward_scalar(2),
        cg.forward_vec(0),
        cg.inc_forward_vec(1),
        cg.forward(1),
    ]
    return [*found, total.value(), bool(cg), bool(dy.renew_cg()), dy.cg() is not None]


def sparse_and_dense() -> object:
    cg = dy.renew_cg()
    dense = cg.inputMatrixLiteral([1, 2, 3, 4, 5, 6], (2, 3))
    batched = cg.inputMatrixLiteral([1, 2, 3, 4, 5, 6], (3,), 2)
    sparse = cg.inputSparseTensor([0, 3], [1.5, 2.5], (2, 3), defval=0.5)
    return [x.npvalue() for x in (dense, batched, sparse)]


def full_backward(full: bool) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w = m.parameters_from_numpy(array(2, 3))
    x = dy.inputVector([0.1, 0.2, 0.3])
    h = w * x
    dy.squared_norm(h).backward(full=full)
    return [w.grad_as_array(), h.gradient()] + ([x.gradient()] if full else [])


def noisy_gates() -> bool:
    """Whether gates with nearly no noise on the weights are nearly those without."""
    dy.renew_cg()
    x, h, wx, wh, b = (dy.inputTensor(array(*s)) for s in ((3,), (2,), (8, 3), (8, 2), (8,)))
    plain = dy.vanilla_lstm_gates(x, h, wx, wh, b).npvalue()
    return bool(
        np.allclose(plain, dy.vanilla_lstm_gates(x, h, wx, wh, b, 1e-6).npvalue(), atol=1e-3)
    )


def gradients_without_loss() -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    w, unused = m.parameters_from_numpy(array(3)), m.parameters_from_numpy(array(3))
    dy.sum_elems(w).backward()
    return [w.grad_as_array(), unused.grad_as_array()]


def questions() -> object:
    """Programs ask in these ways which expressions they have."""
    dy.renew_cg()
    zero, one = dy.scalarInput(0.0), dy.scalarInput(1.0)
    kept = None
    for x in (zero, one):
        kept = kept or x + 2.0
    return {
        "truth": [bool(x) for x in (zero, zero + 0.0, one, dy.zeros(2))],
        "there": [x.value() for x in filter(None, [one, None, zero])],
        "kept": kept.value(),
        "in": [zero in [one, zero], zero in [one], [one, zero].index(zero)],
        "equal": [zero == zero, zero == one, zero == None, zero != one],  # noqa: E711
        "set": len({zero, one, zero}),
    }


def cases() -> Iterable[Case]:
    for name, use in PARAMETERS.items():
        yield name, lambda use=use: with_parameter(use)
    yield "readings of a parameter", parameter_readings
    yield "updated parameter", lambda: frozen(True)
    yield "parameter that is not updated", lambda: frozen(False)
    yield from tensors()
    yield "shares of categorical_sample_log_prob", shares
    yield from holders()
    yield "methods of a graph", graph_methods
    yield "inputs of a graph", sparse_and_dense
    yield "backward", lambda: full_backward(False)
    yield "backward full=True", lambda: full_backward(True)
    yield "gates with noise of 1e-6 on the weights", noisy_gates
    yield "gradient of an unused parameter", gradients_without_loss
    yield "truth and equality", questions
