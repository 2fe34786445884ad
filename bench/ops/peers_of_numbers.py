"""Functions of each element, of rows, losses and order, in PyTorch."""

from __future__ import annotations

import math
from typing import Callable

import torch
import torch.nn.functional as F
from case import Case
from registry import PEERS, Function, Peer, peer
from torch import Tensor

# ---- of each element ----


# fmt: off
_OF_THE_SAME_NAME = [
    "tanh", "exp", "expm1", "log", "log1p", "sqrt", "square", "abs", "erf", "lgamma",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
    "round", "ceil", "floor",
]
# fmt: on
_ELEMENTWISE: dict[str, Function] = {
    **{name: getattr(torch, name) for name in _OF_THE_SAME_NAME},
    "logistic": torch.sigmoid,
    "rectify": torch.relu,
    "elu": F.elu,
    "silu": F.silu,
    "selu": F.selu,
    "softsign": F.softsign,
    "log_sigmoid": F.logsigmoid,
    "softplus": F.softplus,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "negate": torch.neg,
    "cube": lambda x: x**3,
    "add": torch.add,
    "colwise_add": torch.add,
    "subtract": torch.sub,
    "cmult": torch.mul,
    "cdiv": torch.div,
    "max": torch.maximum,
    "min": torch.minimum,
    "pow": torch.pow,
    "pairwise_rank_loss": lambda x, y: F.relu(1.0 - x + y),
    "sum": lambda a, b, c, d: a + b + c + d,
    "average": lambda a, b, c, d: (a + b + c + d) / 4,
    "max(list)": lambda *xs: torch.stack(xs).amax(0),
    "min(list)": lambda *xs: torch.stack(xs).amin(0),
    "logsumexp(list)": lambda *xs: torch.logsumexp(torch.stack(xs), 0),
    "nobackprop": lambda x: x.detach(),
    "sum_elems": torch.sum,
    "squared_norm": lambda x: x.square().sum(),
    "l2_norm": torch.linalg.vector_norm,
    "sum_batches": lambda x: x.sum(0),
    "weight_norm": lambda w, g: g * w / torch.linalg.vector_norm(w),
    "dot_product": torch.dot,
    "squared_distance": lambda x, y: F.mse_loss(x, y, reduction="sum"),
    "l1_distance": lambda x, y: F.l1_loss(x, y, reduction="sum"),
    "huber_distance": lambda x, y: F.huber_loss(x, y, reduction="sum", delta=1.345),
    "cosine_similarity": lambda x, y: F.cosine_similarity(x, y, dim=0),
    "trace_of_product": lambda x, y: (x * y).sum(),
    "inverse": torch.linalg.inv,
    "logdet": torch.logdet,
}
for _name, _function in _ELEMENTWISE.items():
    PEERS[_name] = lambda _case, f=_function: f

_WITH_NUMBER: dict[str, Callable[[Tensor, float], Tensor]] = {
    "add_scalar": lambda x, a: x + a,
    "subtract_scalar": lambda x, a: x - a,
    "subtract_from": lambda x, a: a - x,
    "multiply_scalar": lambda x, a: x * a,
    "divide_scalar": lambda x, a: x / a,
    "pow_scalar": lambda x, a: x**a,
}
for _name, _operator in _WITH_NUMBER.items():
    PEERS[_name] = lambda case, f=_operator: lambda x: f(x, case.value)


@peer("clip")
def _clip(case: Case) -> Function:
    low, high = case.float("lo"), case.float("hi")
    return lambda x: torch.clamp(x, low, high)


@peer("where")
def _where(case: Case) -> Function:
    mask = torch.ones(case.shapes[0].dims, dtype=torch.bool)
    return lambda _cond, x, y: torch.where(mask, x, y)


class _Scaled(torch.autograd.Function):
    """The value unchanged, its gradient times a number."""

    @staticmethod
    def forward(ctx, x: Tensor, by: float) -> Tensor:
        ctx.by = by
        return x.view_as(x)

    @staticmethod
    def backward(ctx, dy: Tensor):
        return dy * ctx.by, None


@peer("flip_gradient")
def _flip(_case: Case) -> Function:
    return lambda x: _Scaled.apply(x, -1.0)


@peer("scale_gradient")
def _scale(case: Case) -> Function:
    by = case.float("lambd")
    return lambda x: _Scaled.apply(x, by)


@peer("reshape")
def _reshape(case: Case) -> Function:
    extents = tuple(int(v) for v in reversed(case.attributes["d"].strip("{}").split(",")))
    return lambda x: x.reshape(extents)


# ---- of rows ----


def _along(f: Callable[[Tensor, int], Tensor]) -> Peer:
    def made(case: Case) -> Function:
        d = case.axis()
        return lambda x: f(x, d)

    return made


PEERS |= {
    "max_dim": _along(lambda x, d: torch.max(x, d).values),
    "min_dim": _along(lambda x, d: torch.min(x, d).values),
    "logsumexp_dim": _along(torch.logsumexp),
    "softmax": _along(F.softmax),
    "log_softmax": _along(F.log_softmax),
    "cumsum": _along(torch.cumsum),
}


@peer("sum_dim")
def _sum_dim(case: Case) -> Function:
    dims = case.axes()
    return lambda x: x.sum(dims)


@peer("mean_dim")
def _mean_dim(case: Case) -> Function:
    dims = case.axes()
    return lambda x: x.mean(dims)


@peer("std_dim")
def _std_dim(case: Case) -> Function:
    dims = case.axes()
    return lambda x: torch.std(x, dims, correction=0)


@peer("moment_dim")
def _moment_dim(case: Case) -> Function:
    dims, r = case.axes(), case.int("r")
    return lambda x: (x**r).mean(dims)


@peer("layer_norm")
def _layer_norm(case: Case) -> Function:
    n = case.shapes[0].dims[0]
    return lambda x, g, b: F.layer_norm(x, (n,), g, b)


@peer("rms_norm")
def _rms_norm(case: Case) -> Function:
    n = case.shapes[0].dims[0]
    return lambda x, g: F.rms_norm(x, (n,), g, 1e-6)


@peer("binary_log_loss")
def _binary_log_loss(_case: Case) -> Function:
    # The targets of DyNet's loss get a gradient, which PyTorch's own loss does not compute.
    return lambda x, y: -(y * torch.log(x) + (1 - y) * torch.log1p(-x)).sum()


# ---- losses with a target ----


def _classes(case: Case) -> Tensor:
    """One per example; a single one without a dimension."""
    batch = case.shapes[0].batch
    return torch.tensor(case.indices if batch > 1 else case.indices[0])


@peer("pickneglogsoftmax", "cross_entropy")
def _cross_entropy(case: Case) -> Function:
    v = _classes(case)
    return lambda x: F.cross_entropy(x, v, reduction="none")


@peer("weighted_cross_entropy")
def _weighted_cross_entropy(case: Case) -> Function:
    # The weights of DyNet's loss get a gradient, which PyTorch's own loss does not compute.
    v = _classes(case)
    return lambda x, w: F.cross_entropy(x, v, reduction="none") * w[v]


@peer("hinge", "hinge_dim")
def _hinge(case: Case) -> Function:
    v = torch.tensor(case.indices)
    if v.numel() == 1:
        return lambda x: F.relu(x - x[v] + 1.0).sum() - 1.0
    v = v[:, None]
    return lambda x: F.relu(x - x.gather(1, v) + 1.0).sum(1) - 1.0


@peer("poisson_loss")
def _poisson_loss(case: Case) -> Function:
    y = torch.tensor(case.indices, dtype=torch.float32)[:, None]
    constant = torch.lgamma(y + 1)
    return lambda x: x.exp() + constant - y * x


# ---- order ----


@peer("topk")
def _topk(case: Case) -> Function:
    k, d = case.int("k"), case.axis()
    return lambda x: torch.topk(x, k, d).values


@peer("kmax_pooling")
def _kmax_pooling(case: Case) -> Function:
    k, d = case.int("k"), case.axis()
    return lambda x: x.gather(d, torch.topk(x, k, d, sorted=False).indices.sort(d).values)


@peer("argmax")
def _argmax(case: Case) -> Function:
    n = case.shapes[0].dims[0]

    def straight_through(x: Tensor) -> Tensor:
        one = F.one_hot(x.argmax(-1), n).float()
        return x + (one - x).detach() if x.requires_grad else one

    return straight_through


def _sparsemax_of(x: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    """The projection along the last dimension, and its threshold."""
    ordered = x.sort(-1, descending=True).values
    sums = ordered.cumsum(-1) - 1
    support = (steps * ordered > sums).sum(-1, keepdim=True)
    threshold = sums.gather(-1, support - 1) / support
    return F.relu(x - threshold), threshold


@peer("sparsemax")
def _sparsemax(case: Case) -> Function:
    steps = torch.arange(1, case.shapes[0].dims[0] + 1)
    return lambda x: _sparsemax_of(x, steps)[0]


@peer("sparsemax_loss")
def _sparsemax_loss(case: Case) -> Function:
    n = case.shapes[0].dims[0]
    steps = torch.arange(1, n + 1)
    target = torch.zeros(n)
    target[case.indices] = 1 / len(case.indices)

    def loss(x: Tensor) -> Tensor:
        p, threshold = _sparsemax_of(x, steps)
        inside = (p > 0).float() * (x.square() - threshold.square())
        return -(target * x).sum() + 0.5 * inside.sum() + 0.5 * (target * target).sum()

    return loss


@peer("restricted_log_softmax")
def _restricted_log_softmax(case: Case) -> Function:
    some = torch.tensor(case.indices)

    def log_softmax(x: Tensor) -> Tensor:
        y = torch.full_like(x, -math.inf)
        y[..., some] = F.log_softmax(x[..., some], -1)
        return y

    return log_softmax


@peer("constrained_softmax")
def _constrained_softmax(_case: Case) -> Function:
    def bounded(x: Tensor, u: Tensor) -> Tensor:
        e = (x - x.amax(-1, keepdim=True)).exp()
        order = (e / u).argsort(-1, descending=True)
        sorted_e, sorted_u = e.gather(-1, order), u.gather(-1, order)
        bound_before = sorted_u.cumsum(-1) - sorted_u
        free_from = sorted_e.flip(-1).cumsum(-1).flip(-1)
        factor = (1 - bound_before) / free_from
        fits = (factor * sorted_e <= sorted_u).float().argmax(-1, keepdim=True)
        return torch.minimum(u, factor.gather(-1, fits) * e)

    return bounded
