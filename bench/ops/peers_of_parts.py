"""Parts, products, windows, cells and random numbers in PyTorch."""

from __future__ import annotations

import math
from typing import Callable

import torch
import torch.nn.functional as F
from case import Case
from registry import PEERS, Function, Peer, peer
from torch import Tensor

# ---- parts ----


@peer("pick")
def _pick(case: Case) -> Function:
    d, v = case.axis(), case.indices
    if len(v) > 1:
        index = torch.tensor(v)[:, None]
        return lambda x: x.gather(1, index)
    return lambda x: x.select(d, v[0]).contiguous()


@peer("pick_range")
def _pick_range(case: Case) -> Function:
    start, end, d = case.int("s"), case.int("e"), case.axis()
    return lambda x: x.narrow(d, start, end - start).contiguous()


@peer("pick_batch_elem")
def _pick_batch_elem(case: Case) -> Function:
    v = case.indices[0]
    return lambda x: x[v].clone()


def _index_select(axis: int) -> Peer:
    def made(case: Case) -> Function:
        index = torch.tensor(case.indices)
        return lambda x: x.index_select(axis, index)

    return made


PEERS |= {
    "pick_batch_elems": _index_select(0),
    "select_rows": _index_select(-1),
    "select_cols": _index_select(-2),
}


@peer("gather")
def _gather(case: Case) -> Function:
    return _index_select(case.axis())(case)


@peer("scatter_add")
def _scatter_add(case: Case) -> Function:
    index, rows, d = torch.tensor(case.indices), case.int("rows"), case.axis()

    def add(x: Tensor) -> Tensor:
        extents = list(x.shape)
        extents[d] = rows
        return torch.zeros(extents).index_add(d, index, x)

    return add


@peer("strided_select")
def _strided_select(case: Case) -> Function:
    lists = zip(case.ints("from"), case.ints("to"), case.ints("strides"))
    cut = tuple(reversed([slice(a, b, s) for a, b, s in lists]))
    return lambda x: x[cut].contiguous()


@peer("concatenate")
def _concatenate(case: Case) -> Function:
    d = case.axis()
    return lambda *xs: torch.cat(xs, d)


@peer("concatenate_to_batch")
def _concatenate_to_batch(case: Case) -> Function:
    if case.shapes[0].batch == 1:
        return lambda *xs: torch.stack(xs)
    return lambda *xs: torch.cat(xs)


@peer("transpose")
def _transpose(case: Case) -> Function:
    dims = case.ints("dims")
    order = tuple(len(dims) - 1 - d for d in reversed(dims))
    return lambda x: x.permute(order).contiguous()


# ---- products ----


@peer("matmul", "batch_matmul")
def _matmul(_case: Case) -> Function:
    return lambda x, y: y @ x


@peer("affine_transform")
def _affine_transform(_case: Case) -> Function:
    def affine(b: Tensor, w: Tensor, x: Tensor, *more: Tensor) -> Tensor:
        z = torch.addmv(b, w.t(), x) if x.dim() == 1 else torch.addmm(b, x, w)
        return affine(z, *more) if more else z

    return affine


@peer("contract3d_1d")
def _contract3d_1d(_case: Case) -> Function:
    return lambda x, y, b: torch.einsum("kji,k->ji", x, y) + b


@peer("contract3d_1d_1d")
def _contract3d_1d_1d(_case: Case) -> Function:
    return lambda x, y, z: torch.einsum("kji,k,j->i", x, y, z)


@peer("einsum")
def _einsum(case: Case) -> Function:
    # The dimensions of all arguments and of the result in the reversed order.
    arguments, _, result = case.attributes["spec"].partition("->")
    spec = ",".join(part[::-1] for part in arguments.split(",")) + "->" + result[::-1]
    return lambda *xs: torch.einsum(spec, *xs)


# ---- windows ----


def _with_batch(f: Function) -> Function:
    return lambda x, *more: f(x if x.dim() == 4 else x[None], *more)


@peer("conv2d")
def _conv2d(case: Case) -> Function:
    stride = tuple(reversed(case.ints("stride")))
    padding = (0, 0)
    if case.int("is_valid") == 0:
        padding = (case.shapes[1].dims[1] // 2, case.shapes[1].dims[0] // 2)
    return _with_batch(lambda x, f, b=None: F.conv2d(x, f, b, stride, padding))


@peer("maxpooling2d")
def _maxpooling2d(case: Case) -> Function:
    ksize, stride = tuple(reversed(case.ints("ksize"))), tuple(reversed(case.ints("stride")))
    padding = (0, 0) if case.int("is_valid") else (ksize[0] // 2, ksize[1] // 2)
    return _with_batch(lambda x: F.max_pool2d(x, ksize, stride, padding))


@peer("filter1d_narrow")
def _filter1d_narrow(case: Case) -> Function:
    # In the layout of PyTorch's own convolution, which differs from the other layouts.
    r, c = case.shapes[0].dims
    _, k, n = case.shapes[1].dims
    return lambda x, f: F.conv1d(x.view(1, r, c), f.view(n, r, k))


@peer("kmh_ngram")
def _kmh_ngram(case: Case) -> Function:
    n = case.int("n")
    return lambda x: x.unfold(0, n, 1).sum(-1)


@peer("fold_rows")
def _fold_rows(case: Case) -> Function:
    n = case.int("nrows")
    return lambda x: x.unflatten(-1, (-1, n)).sum(-1)


@peer("circ_conv")
def _circ_conv(case: Case) -> Function:
    n = case.shapes[0].dims[0]
    return lambda u, v: torch.fft.irfft(torch.fft.rfft(u) * torch.fft.rfft(v), n)


@peer("circ_corr")
def _circ_corr(case: Case) -> Function:
    n = case.shapes[0].dims[0]
    return lambda u, v: torch.fft.irfft(torch.fft.rfft(u).conj() * torch.fft.rfft(v), n)


# ---- recurrent ----


@peer("lstm_cell")
def _lstm_cell(_case: Case) -> Function:
    def cell(a: Tensor, c: Tensor) -> Tensor:
        i, f, o, g = a.chunk(4, -1)
        new = torch.sigmoid(i) * torch.tanh(g) + torch.sigmoid(f + 1.0) * c
        return torch.sigmoid(o) * torch.tanh(new)

    return cell


@peer("lstm_gates")
def _lstm_gates(_case: Case) -> Function:
    def gates(a: Tensor) -> Tensor:
        i, f, o, g = a.chunk(4, -1)
        parts = (torch.sigmoid(i), torch.sigmoid(f + 1.0), torch.sigmoid(o), torch.tanh(g))
        return torch.cat(parts, -1)

    return gates


@peer("vanilla_lstm_c")
def _vanilla_lstm_c(_case: Case) -> Function:
    def new(c: Tensor, gates: Tensor) -> Tensor:
        i, f, _, g = gates.chunk(4, -1)
        return i * g + f * c

    return new


@peer("vanilla_lstm_h")
def _vanilla_lstm_h(_case: Case) -> Function:
    return lambda c, gates: gates.chunk(4, -1)[2] * torch.tanh(c)


@peer("coupled_lstm_cell")
def _coupled_lstm_cell(_case: Case) -> Function:
    def cell(i: Tensor, g: Tensor, o: Tensor, c: Tensor) -> Tensor:
        gate = torch.sigmoid(i)
        return torch.sigmoid(o) * torch.tanh(gate * torch.tanh(g) + (1 - gate) * c)

    return cell


@peer("coupled_lstm_c")
def _coupled_lstm_c(_case: Case) -> Function:
    def new(i: Tensor, g: Tensor, c: Tensor) -> Tensor:
        gate = torch.sigmoid(i)
        return gate * torch.tanh(g) + (1 - gate) * c

    return new


@peer("coupled_lstm_h")
def _coupled_lstm_h(_case: Case) -> Function:
    return lambda o, c: torch.sigmoid(o) * torch.tanh(c)


@peer("gated_sum")
def _gated_sum(_case: Case) -> Function:
    return lambda a, x, b, y: torch.sigmoid(a) * x + torch.sigmoid(b) * y


@peer("tree_lstm_step")
def _tree_lstm_step(_case: Case) -> Function:
    def step(*args: Tensor) -> Tensor:
        i, o, u, f1, f2, c1, c2, s = args
        c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f1) * c1 + torch.sigmoid(f2) * c2 + s
        return torch.sigmoid(o) * torch.tanh(c)

    return step


@peer("tree_lstm_cell")
def _tree_lstm_cell(_case: Case) -> Function:
    def cell(a: Tensor, f1: Tensor, f2: Tensor, c1: Tensor, c2: Tensor) -> Tensor:
        i, o, g = a.chunk(3, -1)
        c = torch.sigmoid(i) * torch.tanh(g) + torch.sigmoid(f1) * c1 + torch.sigmoid(f2) * c2
        return torch.sigmoid(o) * torch.tanh(c)

    return cell


# ---- random ----


@peer("dropout")
def _dropout(case: Case) -> Function:
    p = case.float("p")
    return lambda x: F.dropout(x, p)


@peer("dropout_dim", "dropout_batch", "block_dropout")
def _dropout_of_parts(case: Case) -> Function:
    p = case.float("p")
    extents = {"dropout_dim": (-1, 1), "dropout_batch": (-1, 1), "block_dropout": (1,)}[case.name]
    rows = case.shapes[0].dims[-1] if case.name == "dropout_dim" else case.shapes[0].batch
    ones = torch.ones(rows if extents[0] == -1 else 1).view(extents)
    return lambda x: x * F.dropout(ones, p)


@peer("noise")
def _noise(case: Case) -> Function:
    by = case.float("stddev")
    return lambda x: x + by * torch.randn_like(x)


def _drawn(draw: Callable[[int], Tensor]) -> Peer:
    def made(case: Case) -> Function:
        n = int(case.attributes["dim"].strip("{}"))
        return lambda: draw(n)

    return made


PEERS |= {
    "random_bernoulli": _drawn(lambda n: torch.empty(n).bernoulli_(0.5)),
    "random_normal": _drawn(torch.randn),
    "random_uniform": _drawn(lambda n: torch.empty(n).uniform_(-1.0, 1.0)),
    "random_gumbel": _drawn(lambda n: -torch.empty(n).exponential_().log()),
    "constant": _drawn(lambda n: torch.full((n,), 0.5)),
}


@peer("input")
def _input(case: Case) -> Function:
    import numpy as np

    numbers = np.full(int(case.attributes["dim"].strip("{}")), 0.5, dtype=np.float32)
    return lambda: torch.tensor(numbers)


# ---- attention, segments, chains ----


@peer("attention", "attention_to_lengths")
def _attention(case: Case) -> Function:
    heads, is_causal = case.int("heads"), bool(case.int("causal"))
    mask = None
    if case.indices:
        keys = torch.arange(case.shapes[1].dims[1])
        mask = (keys < torch.tensor(case.indices)[:, None])[:, None, None]

    def part(x: Tensor) -> Tensor:
        x = x if x.dim() == 3 else x[None]
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        y = F.scaled_dot_product_attention(part(q), part(k), part(v), mask, is_causal=is_causal)
        return y.transpose(1, 2).flatten(2)

    return attend


def _largest_of_segments(case: Case) -> tuple[Tensor, Function]:
    """The index, as wide as the rows, and the function."""
    index = torch.tensor(case.indices)[:, None].expand(-1, case.shapes[0].dims[0])
    extents = (case.int("segments"), case.shapes[0].dims[0])

    def largest(x: Tensor) -> Tensor:
        return torch.full(extents, -math.inf).scatter_reduce(0, index, x, "amax")

    return index, largest


@peer("segment_max")
def _segment_max(case: Case) -> Function:
    return _largest_of_segments(case)[1]


@peer("segment_softmax")
def _segment_softmax(case: Case) -> Function:
    index, largest = _largest_of_segments(case)

    def softmax(x: Tensor) -> Tensor:
        top = largest(x.detach())
        e = (x - top.gather(0, index)).exp()
        return e / torch.zeros_like(top).scatter_add(0, index, e).gather(0, index)

    return softmax


@peer("crf_log_partition")
def _crf_log_partition(_case: Case) -> Function:
    def partition(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        alpha = start + emissions[0]
        for step in emissions[1:]:
            alpha = torch.logsumexp(alpha[None] + transitions, 1) + step
        return torch.logsumexp(alpha + end, 0)

    return partition


@peer("crf_score")
def _crf_score(case: Case) -> Function:
    tags = torch.tensor(case.indices)
    steps = torch.arange(len(case.indices))

    def score(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        inside = emissions[steps, tags].sum() + transitions[tags[1:], tags[:-1]].sum()
        return inside + start[tags[0]] + end[tags[-1]]

    return score


@peer("crf_viterbi")
def _crf_viterbi(_case: Case) -> Function:
    def best(emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> Tensor:
        score, back = start + emissions[0], []
        for step in emissions[1:]:
            top, before = (score[None] + transitions).max(1)
            score = top + step
            back.append(before)
        path = [(score + end).argmax()]
        for before in reversed(back):
            path.append(before[path[-1]])
        return torch.stack(path[::-1]).float()

    return best


@peer("ctc_loss")
def _ctc_loss(case: Case) -> Function:
    labels = torch.tensor(case.indices)
    steps, count = torch.tensor(case.shapes[0].dims[1]), torch.tensor(len(case.indices))
    blank = case.int("blank")
    return lambda x: F.ctc_loss(x, labels, steps, count, blank, reduction="none")
