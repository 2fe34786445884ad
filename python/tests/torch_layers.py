"""Layers of PyTorch in NumPy: the formulas of PyTorch's documentation, in double, and the names and
shapes of state_dicts, which tests compare with the builders here."""

from __future__ import annotations

import math

import dynet as dy
import numpy as np

# ---- the formulas of PyTorch's documentation ------------------------------------------------------


def logistic(x):
    return 1 / (1 + np.exp(-x))


def linear(x, w, name):
    return x @ w[name + "weight"].T + w.get(name + "bias", 0)


def layer_norm(x, w, name, eps=1e-5):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + eps) * w[name + "weight"] + w.get(name + "bias", 0)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def one_direction(xs, w, end, kind):
    """nn.LSTM, nn.GRU and nn.RNN, one layer: outputs of all steps."""
    hidden = w["weight_hh_" + end].shape[1]
    h, c, outputs = np.zeros(hidden), np.zeros(hidden), []
    for x in xs:
        of_x = w["weight_ih_" + end] @ x + w.get("bias_ih_" + end, 0)
        of_h = w["weight_hh_" + end] @ h + w.get("bias_hh_" + end, 0)
        z = of_x + of_h
        if kind == "LSTM":
            i, f, g, o = np.split(z, 4)
            c = logistic(f) * c + logistic(i) * np.tanh(g)
            h = logistic(o) * np.tanh(c)
        elif kind == "GRU":
            r, keep, _ = map(logistic, np.split(z, 3))
            n = np.tanh(of_x[2 * hidden :] + r * of_h[2 * hidden :])
            h = (1 - keep) * n + keep * h
        else:
            h = np.tanh(z)
        outputs.append(h)
    return np.array(outputs)


def recurrent(xs, w, layers, is_both, kind):
    for k in range(layers):
        ys = one_direction(xs, w, f"l{k}", kind)
        if is_both:
            ys = np.hstack([ys, one_direction(xs[::-1], w, f"l{k}_reverse", kind)[::-1]])
        xs = ys
    return xs


def attention(q, k, w, name, heads, is_causal=False):
    size = q.shape[-1]
    if name + "in_proj_weight" in w:
        wq, wk, wv = np.split(w[name + "in_proj_weight"], 3)
    else:
        wq, wk, wv = (w[f"{name}{part}_proj_weight"] for part in "qkv")
    bq, bk, bv = np.split(w.get(name + "in_proj_bias", np.zeros(3 * size)), 3)
    parts = [np.split(x, heads, axis=-1) for x in (q @ wq.T + bq, k @ wk.T + bk, k @ wv.T + bv)]
    results = []
    for a, b, v in zip(*parts):
        scores = a @ b.T / math.sqrt(size // heads)
        if is_causal:
            scores = np.where(np.tri(len(q), len(k)) > 0, scores, -np.inf)
        results.append(softmax(scores) @ v)
    return linear(np.concatenate(results, -1), w, name + "out_proj.")


def feed_forward(x, w, name, gelu):
    z = linear(x, w, name + "linear1.")
    erf = np.vectorize(math.erf)
    z = z * (1 + erf(z / math.sqrt(2))) / 2 if gelu else np.maximum(z, 0)
    return linear(z, w, name + "linear2.")


def stack(x, w, layers, heads, pre_norm, gelu, memory=None, is_causal=False):
    """nn.TransformerEncoder, and with a memory nn.TransformerDecoder."""
    is_causal = is_causal or memory is not None
    for k in range(layers):
        at = f"layers.{k}."
        parts = [lambda x, at=at: attention(x, x, w, at + "self_attn.", heads, is_causal)]
        if memory is not None:
            parts.append(lambda x, at=at: attention(x, memory, w, at + "multihead_attn.", heads))
        parts.append(lambda x, at=at: feed_forward(x, w, at, gelu))
        for n, part in enumerate(parts, 1):
            norm = f"{at}norm{n}."
            x = x + part(layer_norm(x, w, norm)) if pre_norm else layer_norm(x + part(x), w, norm)
    return layer_norm(x, w, "norm.") if pre_norm else x


# ---- shapes of a state_dict -----------------------------------------------------------------------


def state(shapes, seed=1):
    """Numbers of float32 for names."""
    rng = np.random.default_rng(seed)
    return {n: rng.uniform(-0.7, 0.7, s).astype(np.float32) for n, s in shapes.items()}


def double(w):
    return {name: np.asarray(x, float) for name, x in w.items()}


def recurrent_shapes(inputs, hidden, layers=1, is_both=False, gates=4):
    shapes = {}
    for k in range(layers):
        for end in [f"l{k}", f"l{k}_reverse"] if is_both else [f"l{k}"]:
            size = inputs if k == 0 else hidden * (2 if is_both else 1)
            shapes["weight_ih_" + end] = (gates * hidden, size)
            shapes["weight_hh_" + end] = (gates * hidden, hidden)
            shapes["bias_ih_" + end] = shapes["bias_hh_" + end] = (gates * hidden,)
    return shapes


def attention_shapes(size, memory, name=""):
    if memory == size:
        shapes = {name + "in_proj_weight": (3 * size, size)}
    else:
        shapes = {f"{name}{part}_proj_weight": (size, memory) for part in "kv"}
        shapes = {name + "q_proj_weight": (size, size), **shapes}
    shapes[name + "in_proj_bias"] = (3 * size,)
    return {**shapes, name + "out_proj.weight": (size, size), name + "out_proj.bias": (size,)}


def pair_shapes(name, *shape):
    return {name + "weight": shape, name + "bias": shape[:1]}


def stack_shapes(layers, size, hidden, pre_norm, is_decoder=False):
    shapes = {}
    for k in range(layers):
        at = f"layers.{k}."
        shapes |= attention_shapes(size, size, at + "self_attn.")
        if is_decoder:
            shapes |= attention_shapes(size, size, at + "multihead_attn.")
        shapes |= pair_shapes(at + "linear1.", hidden, size)
        shapes |= pair_shapes(at + "linear2.", size, hidden)
        for n in range(1, 4 if is_decoder else 3):
            shapes |= pair_shapes(f"{at}norm{n}.", size)
    return shapes | pair_shapes("norm.", size) if pre_norm else shapes


# ---- builders ------------------------------------------------------------------------------------

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def gru(layers, inputs, hidden, m):
    return dy.GRUBuilder(layers, inputs, hidden, m, reset_after=True)


BUILDERS = {"LSTM": dy.VanillaLSTMBuilder, "GRU": gru, "RNN": dy.SimpleRNNBuilder}


def made(kind, inputs, hidden, layers, is_both):
    m = dy.ParameterCollection()
    if is_both:
        return dy.BiRNNBuilder(layers, inputs, 2 * hidden, m, BUILDERS[kind])
    return BUILDERS[kind](layers, inputs, hidden, m)


def outputs(builder, xs):
    dy.renew_cg()
    nodes = [dy.inputTensor(x) for x in xs]
    is_both = isinstance(builder, dy.BiRNNBuilder)
    read = builder.transduce if is_both else builder.initial_state().transduce
    return np.array([np.reshape(y.npvalue(), -1) for y in read(nodes)])


def attended(builder, q, k):
    dy.renew_cg()
    return builder.attend(dy.inputTensor(q.T), builder.read(dy.inputTensor(k.T))).npvalue().T


def made_stack(layers, size, heads, hidden, pre_norm, gelu, is_decoder):
    kind = dy.TransformerDecoderBuilder if is_decoder else dy.TransformerEncoderBuilder
    m = dy.ParameterCollection()
    return kind(layers, size, heads, hidden, m, pre_norm=pre_norm, gelu=gelu, epsilon=1e-5)


def stacked(builder, x, memory):
    dy.renew_cg()
    if isinstance(builder, dy.TransformerEncoderBuilder):
        return builder.encode(dy.inputTensor(x.T)).npvalue().T
    start = builder.start(dy.inputTensor(memory.T))
    return builder.add_input(start, dy.inputTensor(x.T)).output().npvalue().T


def numbers(*shape, seed=5):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def apart(ours, theirs):
    """The largest difference, as a share of the largest number."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max() / np.abs(theirs).max()
