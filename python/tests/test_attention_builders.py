"""Attention, Transformers and conditional random fields as builders."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import dynet as dy
import numpy as np
import pytest

TORCH = json.loads(Path(__file__).with_name("torch_transformers.json").read_text())


def matrix(rows: int, cols: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, cols))


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=0))
    return e / e.sum(axis=0)


def numbers(m: dy.ParameterCollection) -> list[np.ndarray]:
    return [p.as_array() for p in m.parameters_list()]


def randomise(m: dy.ParameterCollection) -> None:
    for k, p in enumerate(m.parameters_list()):
        p.set_value(np.random.default_rng(k).normal(size=p.shape()) * 0.5)


def close(got: dy.Expression, want: np.ndarray) -> None:
    np.testing.assert_allclose(got.npvalue(), want, rtol=1e-4, atol=1e-5)


# ---- attention


def scores_by_hand(kind: str, p: list[np.ndarray], k: np.ndarray, q: np.ndarray) -> np.ndarray:
    if kind == "dot":
        return k.T @ q / np.sqrt(len(k))
    if kind == "biaffine":
        return k.T @ (p[0] @ q + p[1][:, None])
    wk, b, wq, v = p
    v = v.reshape(1, -1)
    columns = [v @ np.tanh(wk @ k + b[:, None] + (wq @ c)[:, None]) for c in q.T]
    return np.concatenate(columns).T


def make_attention(kind: str, m: dy.ParameterCollection):
    if kind == "mlp":
        return dy.MLPAttentionBuilder(2, 3, 5, m), 2
    if kind == "dot":
        return dy.DotAttentionBuilder(3, m), 3
    return dy.BiaffineAttentionBuilder(2, 3, m), 2


@pytest.mark.parametrize("kind", ["mlp", "dot", "biaffine"])
def test_scores_weights_and_sums(kind):
    m = dy.ParameterCollection()
    builder, size = make_attention(kind, m)
    randomise(m)
    for _ in range(2):
        dy.renew_cg()
        keys, values, queries = matrix(3, 4), matrix(2, 4, 2), matrix(size, 3, 3)
        memory = builder.read(dy.inputTensor(keys), dy.inputTensor(values))
        assert memory.positions() == 4
        want = scores_by_hand(kind, numbers(m), keys, queries)
        q = dy.inputTensor(queries)
        close(builder.scores(q, memory), want)
        close(builder.weights(q, memory), softmax(want))
        close(builder.attend(q, memory), values @ softmax(want))
        close(builder.attend(dy.inputVector(queries[:, 1]), memory), values @ softmax(want[:, 1]))
        short = builder.read(dy.inputTensor(keys), lengths=[3])
        assert short.lengths == [3]
        close(builder.attend(q, short), keys[:, :3] @ softmax(want[:3]))
    with pytest.raises(IndexError, match="a length is 0"):
        builder.read(dy.inputTensor(keys), lengths=[0])
    with pytest.raises(dy.ShapeError, match=r"\{2,4\}"):
        builder.read(dy.inputTensor(matrix(2, 4)))


def test_several_heads_step_by_step():
    m = dy.ParameterCollection()
    builder = dy.MultiHeadAttentionBuilder(4, 2, m)
    randomise(m)
    x = dy.inputTensor(matrix(4, 5))
    whole = builder.attend_causally(x, builder.read(x)).npvalue()
    memory = builder.append(dy.pick(x, 0, 1))
    for t in range(5):
        memory = builder.append(memory, dy.pick(x, t, 1)) if t > 0 else memory
        close(builder.attend(dy.pick(x, t, 1), memory), whole[:, t])
    with pytest.raises(ValueError, match="3 heads of a dimension of 4"):
        dy.MultiHeadAttentionBuilder(4, 3, m)


# ---- Transformers


def set_parameters(m: dy.ParameterCollection, values: list) -> None:
    parameters = m.parameters_list()
    assert len(parameters) == len(values)
    for p, value in zip(parameters, values):
        p.set_value(np.array(value))


def test_transformers_have_an_epsilon():
    nearly_equal = 0.5 + 1e-5 * np.arange(4.0)  # equal numbers have gradients of 0 either way
    x = dy.inputTensor(np.stack([nearly_equal, nearly_equal], axis=1))
    largest = []
    for epsilon in (0.0, 1e-5):
        m = dy.ParameterCollection()
        encoder = dy.TransformerEncoderBuilder(1, 4, 2, 8, m, epsilon=epsilon)
        assert encoder.spec == (1, 4, 2, 8, True, False, pytest.approx(epsilon))
        random = np.random.default_rng(1)
        for p in m.parameters_list():
            p.set_value(random.uniform(-0.5, 0.5, p.shape()))
        dy.sum_elems(dy.cube(encoder.encode(x))).backward(full=True)
        largest.append(np.abs(x.gradient()).max())
    assert largest[0] > 100 * largest[1] > 0
    with pytest.raises(
        ValueError, match="TransformerDecoderBuilder: epsilon is -1; want at least 0"
    ):
        dy.TransformerDecoderBuilder(1, 4, 2, 8, m, epsilon=-1.0)


@pytest.mark.parametrize("case", TORCH)
def test_values_and_gradients_are_those_of_pytorch(case):
    m = dy.ParameterCollection()
    options = {"pre_norm": case["pre_norm"], "gelu": case["gelu"]}
    x = dy.inputTensor(np.array(case["x"]))
    if case["has_memory"]:
        decoder = dy.TransformerDecoderBuilder(2, 4, 2, 5, m, **options)
        set_parameters(m, case["parameters"])
        start = decoder.start(dy.inputTensor(np.array(case["memory"])))
        y = decoder.add_input(start, x).output()
    else:
        encoder = dy.TransformerEncoderBuilder(2, 4, 2, 5, m, **options)
        set_parameters(m, case["parameters"])
        y = encoder.encode(x)
    close(y, np.array(case["y"]))
    dy.sum_elems(dy.cube(y)).backward(full=True)
    scale = np.abs(case["dx"]).max()
    np.testing.assert_allclose(x.gradient() / scale, np.array(case["dx"]) / scale, atol=1e-4)
    for p, want in zip(m.parameters_list(), case["gradients"]):
        scale = max(1.0, np.abs(want).max())
        got = p.grad_as_array().reshape(np.shape(want))
        np.testing.assert_allclose(got / scale, np.array(want) / scale, atol=1e-4)


def test_decoding_step_by_step():
    m = dy.ParameterCollection()
    decoder = dy.TransformerDecoderBuilder(2, 4, 2, 8, m, has_memory=False)
    positions = dy.LearnedEncoding(4, 6, m)
    randomise(m)
    x = dy.inputTensor(matrix(4, 5))
    start = decoder.start()
    assert start.output() is None
    whole = decoder.add_input(start, positions.add(x)).output().npvalue()
    state = start
    for t in range(5):
        state = decoder.add_input(state, positions.add(dy.pick(x, t, 1), t))
        assert state.positions() == t + 1
        close(state.output(), whole[:, t])
    with pytest.raises(IndexError, match="from position 6 on; there are 6"):
        positions.add(x, 6)
    with pytest.raises(dy.StateError, match="which no layer attends to"):
        decoder.start(x)
    dy.renew_cg()
    with pytest.raises(dy.StaleExpression):
        decoder.add_input(state, dy.inputVector([1, 2, 3, 4]))


def test_dropout_update_and_copies():
    m = dy.ParameterCollection()
    encoder = dy.TransformerEncoderBuilder(1, 4, 2, 8, m)
    other = dy.TransformerEncoderBuilder(1, 4, 2, 8, m)
    x = dy.SinusoidalEncoding(4).add(dy.inputTensor(matrix(4, 3)))
    plain = encoder.encode(x).npvalue()
    assert np.any(other.encode(x).npvalue() != plain)
    other.copy(encoder)
    other.new_graph()
    close(other.encode(x), plain)
    encoder.set_dropout(0.5)
    assert np.any(encoder.encode(x).npvalue() != plain)
    encoder.disable_dropout()
    close(encoder.encode(x), plain)
    with pytest.raises(ValueError, match="want 0 to 1"):
        encoder.set_dropout(2)
    w = encoder.param_collection().parameters_list()[0]
    for update in (False, True):
        encoder.new_graph(update=update)
        (
            dy.sum_elems(encoder.encode(x))
            + dy.sum_elems(other.param_collection().parameters_list()[0])
        ).backward()
        assert bool(np.any(w.grad_as_array())) == update


# ---- conditional random fields


def test_crf_is_the_sum_over_all_sequences():
    m = dy.ParameterCollection()
    crf = dy.CRFBuilder(3, m)
    crf.forbid(1, 1)
    randomise(m)
    transitions, start, end = numbers(m)
    transitions[1, 1] = -np.inf
    scores = [matrix(3, 4, 1), matrix(3, 4, 2)]
    lengths = [4, 2]

    def score(s: np.ndarray, tags: tuple[int, ...]) -> float:
        steps = [transitions[j, i] for i, j in zip(tags, tags[1:])]
        return (
            start[tags[0]] + end[tags[-1]] + sum(s[t, k] for k, t in enumerate(tags)) + sum(steps)
        )

    def log_sum(s: np.ndarray, n: int) -> float:
        everything = itertools.product(range(3), repeat=n)
        return float(np.log(sum(np.exp(score(s, tags)) for tags in everything)))

    tags = [[0, 1, 2, 1], [2, 0]]
    want = [log_sum(s, n) - score(s, tuple(t)) for s, n, t in zip(scores, lengths, tags)]
    batch = dy.inputTensor(np.stack(scores, axis=-1), batched=True)
    one = crf.neg_log_likelihood(dy.inputTensor(scores[0]), tags[0])
    assert one.value() == pytest.approx(want[0], rel=1e-4)
    np.testing.assert_allclose(
        crf.neg_log_likelihood(batch, tags).npvalue().ravel(), want, rtol=1e-4
    )
    found = crf.viterbi(batch, lengths)
    for s, n, (path, value) in zip(scores, lengths, found):
        best = max(itertools.product(range(3), repeat=n), key=lambda t: score(s, t))
        assert path == list(best)
        assert value == pytest.approx(score(s, best), rel=1e-4)
    assert crf.viterbi(dy.inputTensor(scores[0])) == found[0]
    path, value = crf.best_path(batch)
    assert path.dim() == ((4,), 2) and value.dim() == ((1,), 2)
    with pytest.raises(ValueError, match="to go from tag 1 to tag 1"):
        crf.neg_log_likelihood(dy.inputTensor(scores[0]), [0, 1, 1, 2])
    with pytest.raises(dy.ShapeError, match=r"want \{3,steps\}"):
        crf.viterbi(dy.inputTensor(matrix(4, 3)))
