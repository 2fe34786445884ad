"""Selections, windows and contractions against NumPy."""

from __future__ import annotations

from typing import Any

import dynet as dy
import numpy as np
import pytest

RNG = np.random.default_rng(3)


def array(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def same(e: dy.Expression, wanted: np.ndarray[Any, Any]):
    np.testing.assert_allclose(e.npvalue(), wanted, rtol=1e-5, atol=1e-6)


def test_rows_and_columns():
    a = array(4, 3)
    x = dy.inputTensor(a)
    same(dy.select_rows(x, [2, 0, 2]), a[[2, 0, 2]])
    same(dy.select_cols(x, cs=[1]), a[:, [1]])
    with pytest.raises(IndexError):
        dy.select_rows(x, rs=[4])
    with pytest.raises(ValueError):
        dy.select_rows(x, [])
    y = dy.select_rows(x, [0, 1])
    y.set_index([3, 3])
    same(y, a[[3, 3]])


def test_batches():
    a = array(4, 2, 3)
    x = dy.inputTensor(a, batched=True)
    same(dy.pick_batch_elems(x, [2, 0]), a[..., [2, 0]])
    same(dy.gather(x, [1, 3], n=2), a[[1, 3]])
    each = dy.gather(x, [0, 1, 2], 1, 0)
    same(each, np.stack([a[[e], :, e] for e in range(3)], -1))
    y = dy.scatter_add(x, [0, 0, 1, 1], 5)
    wanted = np.zeros((5, 2, 3), np.float32)
    wanted[0], wanted[1] = a[:2].sum(0), a[2:].sum(0)
    same(y, wanted)
    assert dy.scatter_add(x, indices=[0, 1], rows=2, d=1).dim() == ((4, 2), 3)


def test_slices_with_steps_and_of_the_batch():
    a = array(5, 4, 3)
    x = dy.inputTensor(a, batched=True)
    same(x[::2], a[::2])
    same(x[1:5:3, ::3], a[1:5:3, ::3])
    same(x[:, 1:, ::2], a[:, 1:, ::2])
    same(x[:, :, 1:2], a[:, :, 1])
    same(dy.strided_select(x, [2, 1], [1], [4, 3]), a[1:4:2, :3])
    assert x[:].dim() == x.dim()
    for step in [0, -1]:
        with pytest.raises(IndexError):
            x[::step]
    same(x[-2:, :-1], a[-2:, :-1])
    with pytest.raises(ValueError):
        x[3:2]
    with pytest.raises(TypeError):
        x[:, :, :, :]


def convolved(x: np.ndarray[Any, Any], f: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    h, w = (n - k + 1 for n, k in zip(x.shape[:2], f.shape))
    y = np.zeros((h, w, f.shape[3]), np.float32)
    for i, j in np.ndindex(h, w):
        y[i, j] = np.tensordot(x[i : i + f.shape[0], j : j + f.shape[1]], f, 3)
    return y


def test_windows():
    a, f, b = array(5, 4, 2), array(2, 3, 2, 3), array(3)
    x = dy.inputTensor(a)
    same(dy.conv2d(x, dy.inputTensor(f), [1, 1]), convolved(a, f))
    biased = dy.conv2d_bias(x, dy.inputTensor(f), dy.inputTensor(b), stride=[2, 1], is_valid=True)
    same(biased, convolved(a, f)[::2] + b)
    padded = np.pad(a, [(0, 1), (1, 1), (0, 0)])
    same(dy.conv2d(x, dy.inputTensor(f), [1, 1], False), convolved(padded, f))
    blocks = a[:4].reshape(2, 2, 2, 2, 2).max((1, 3))
    same(dy.maxpooling2d(x, [2, 2], [2, 2]), blocks)
    same(dy.maxpooling2d(x, ksize=[5, 4], stride=[1, 1], is_valid=True), a.max((0, 1))[None, None])
    with pytest.raises(ValueError):
        dy.maxpooling2d(x, [], [1, 1])


def test_sums_that_slide():
    a = array(4, 5)
    x = dy.inputTensor(a)
    same(dy.kmh_ngram(x, v=2), a[:, :-1] + a[:, 1:])
    same(dy.fold_rows(x), a[::2] + a[1::2])
    f = array(4, 2)
    wanted = [[np.sum(a[:, j : j + 2] * f) for j in range(4)]]
    same(dy.filter1d_narrow(x, y=dy.inputTensor(f)), np.array(wanted))
    u, v = array(6), array(6)
    circle = np.fft.ifft(np.fft.fft(u) * np.fft.fft(v)).real
    same(dy.circ_conv(dy.inputTensor(u), dy.inputTensor(v)), circle)
    circle = np.fft.ifft(np.conj(np.fft.fft(u)) * np.fft.fft(v)).real
    same(dy.circ_corr(u=dy.inputTensor(u), v=dy.inputTensor(v)), circle)


def test_contractions():
    t, y, z, b, c = array(2, 3, 4), array(4), array(3), array(2, 3), array(2)
    x = dy.inputTensor(t)
    ey, ez = dy.inputTensor(y), dy.inputTensor(z)
    same(dy.contract3d_1d(x, ey), t @ y)
    same(dy.contract3d_1d_bias(x, ey, dy.inputTensor(b)), t @ y + b)
    same(dy.contract3d_1d_1d(x, ey, ez), t @ y @ z)
    same(dy.contract3d_1d_1d_bias(x, ey, ez, dy.inputTensor(c)), t @ y @ z + c)
    m = dy.inputTensor(b)
    same(dy.colwise_add(m, dy.inputTensor(c)), b + c[:, None])
    assert dy.trace_of_product(m, m).value() == pytest.approx(np.sum(b * b), rel=1e-5)
    p, q = array(2, 3, 4), array(3, 5, 4)
    same(dy.batch_matmul(dy.inputTensor(p), dy.inputTensor(q)), np.einsum("ikb,kjb->ijb", p, q))


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ijk->j", [(2, 3, 4)]),
        ("ij->", [(2, 3)]),
        ("i,i->", [(4,), (4,)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,->i", [(3,), (1,)]),
        ("bqd,bkd->bqk", [(2, 3, 4), (2, 5, 4)]),
        ("abij,abjk->abik", [(2, 3, 2, 3), (2, 3, 3, 2)]),
        ("ijx,jk->ik", [(2, 3, 2), (3, 4)]),
        ("ijk,j,k->i", [(2, 3, 4), (3,), (4,)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
        ("bi,bj,ijk->bk", [(5, 2), (5, 3), (2, 3, 4)]),
        ("ij,ij,ij->ij", [(2, 3), (2, 3), (2, 3)]),
        ("abcdefg->gfedcba", [(1, 2, 1, 3, 2, 1, 2)]),
    ],
)
def test_einsum(spec: str, shapes: list[tuple[int, ...]]):
    arrays = [array(*s) for s in shapes]
    inputs = [dy.inputTensor(a) for a in arrays]
    y = dy.einsum(spec, inputs)
    named = [
        a.reshape(()) if not part else a for a, part in zip(arrays, spec.split("->")[0].split(","))
    ]
    wanted = np.einsum(spec, *named)
    same(y, wanted.reshape(wanted.shape or (1,)))
    batch = [dy.concatenate_to_batch([x, 2 * x]) for x in inputs]
    both = dy.einsum(spec, batch).npvalue().reshape(*(wanted.shape or (1,)), 2)
    np.testing.assert_allclose(both[..., 1], 2 ** len(inputs) * both[..., 0], rtol=1e-5, atol=1e-5)
    seed = dy.inputTensor(array(*(wanted.shape or (1,))))
    dy.dot_product(y, seed).backward(full=True)
    for x, a in zip(inputs, arrays):  # it is linear in each argument
        total = np.sum(x.gradient() * a)
        assert total == pytest.approx(dy.dot_product(y, seed).value(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [
        ("ij,jk", [(2, 3), (3, 4)]), ("ii->i", [(2, 2)]), ("ij->k", [(2, 3)]), ("i1->i", [(2, 3)]),
        ("ij,jk->ik", [(2, 3)]), ("i,j,k,l->", [(1,)] * 4), ("i->ii", [(2,)]),
        ("ij->i", [(2,)]), ("ij,jk->ik", [(2, 3), (4, 2)]), ("abcdefgh->", [(2,)]),
    ],
)  # fmt: skip
def test_einsum_refuses(spec: str, shapes: list[tuple[int, ...]]):
    with pytest.raises(ValueError, match="einsum"):
        dy.einsum(spec, [dy.inputTensor(array(*s)) for s in shapes])


def test_segments():
    a = array(3, 5)
    x = dy.inputTensor(a)
    to = [2, 0, 0, 2, 0]
    parts = [[1, 2, 4], [], [0, 3]]
    sums = np.stack([a[:, p].sum(1) for p in parts], 1)
    same(dy.segment_sum(x, to, 4), np.pad(sums, ((0, 0), (0, 1))))
    same(dy.segment_mean(x, to, 3), sums / np.array([3, 1, 2]))
    most = dy.segment_max(x, indices=to, segments=3)
    same(dy.pick(most, 2, 1), a[:, parts[2]].max(1))
    assert not most.npvalue()[:, 1].any()
    soft = dy.segment_softmax(x, to, 3).npvalue()
    for p in parts:
        powers = np.exp(a[:, p])
        np.testing.assert_allclose(soft[:, p], powers / powers.sum(1, keepdims=True), rtol=1e-5)
    y = dy.segment_max(dy.inputVector([1.0, 2.0, 3.0]), [0, 1, 1], 2, d=0)
    same(y, np.array([1.0, 3.0]))
    y.set_index([0, 0, 1])
    same(y, np.array([2.0, 3.0]))
    assert dy.segment_sum(x, [0] * 10, 2).dim() == ((3, 2), 2)
    with pytest.raises(IndexError):
        dy.segment_max(x, to, 2)
    with pytest.raises(ValueError):
        dy.segment_softmax(x, to[:2], 3)


def attend(
    q: np.ndarray[Any, Any], k: np.ndarray[Any, Any], v: np.ndarray[Any, Any], causal: bool = False
) -> np.ndarray[Any, Any]:
    s = k.T @ q / np.sqrt(len(k))
    if causal:
        s[np.arange(s.shape[0])[:, None] > np.arange(s.shape[1])] = -np.inf
    p = np.exp(s - s.max(0))
    return v @ (p / p.sum(0))


def test_attention():
    a, b, c = array(4, 3), array(4, 5), array(6, 5)
    q, k, v = dy.inputTensor(a), dy.inputTensor(b), dy.inputTensor(c)
    same(dy.attention(q, k, v), attend(a, b, c))
    same(dy.attention(q, k, v, causal=True), attend(a, b, c, True))
    heads = [attend(a[h : h + 2], b[h : h + 2], c[r : r + 3]) for h, r in ((0, 0), (2, 3))]
    same(dy.attention(q, k, v, heads=2), np.concatenate(heads))
    y = dy.attention(q, k, v, [2, 5])
    same(y, np.stack([attend(a, b[:, :2], c[:, :2]), attend(a, b, c)], -1))
    y.set_index([0, 1])
    same(y, np.stack([np.zeros((6, 3)), c[:, [0, 0, 0]]], -1))
    with pytest.raises(IndexError):
        dy.attention(q, k, v, lengths=[6])
    with pytest.raises(ValueError):
        dy.attention(q, k, v, heads=4)
