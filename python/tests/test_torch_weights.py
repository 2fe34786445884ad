"""`from_torch` and `to_torch`: names, layouts and results of PyTorch's layers.

torch_layers.py has the formulas of PyTorch's documentation in NumPy, so that the layouts are tested
without PyTorch, too. With PyTorch (2.15) its own layers are compared.
"""

from __future__ import annotations

import math
import re

import dynet as dy
import numpy as np
import pytest
from torch_layers import (
    GATES,
    apart,
    attended,
    attention,
    attention_shapes,
    double,
    layer_norm,
    made,
    made_stack,
    numbers,
    outputs,
    recurrent,
    recurrent_shapes,
    stack,
    stack_shapes,
    stacked,
    state,
)

#: Of the largest number of a result: float32 here, double there.
BOUND = 1e-6


# ---- layers and their results ---------------------------------------------------------------------

RECURRENT = [
    (kind, layers, is_both)
    for kind in ("LSTM", "GRU", "RNN")
    for layers, is_both in ((1, False), (3, False), (1, True), (3, True))
]
STACKS = [(p, g, d) for p in (True, False) for g in (True, False) for d in (True, False)]


def values(target):
    """All numbers of a builder."""
    layers = target.builder_layers if isinstance(target, dy.BiRNNBuilder) else [[target]]
    collections = [one.param_collection() for layer in layers for one in layer]
    parts = [p for pc in collections for p in pc.parameters_list()]
    return np.concatenate([p.as_array().reshape(-1) for p in parts])


def check_way_back(builder, w, suffix="bias_hh"):
    """`to_torch` gives the same names and shapes, and the numbers up to one rounding; of two biases
    that are added their sum."""
    back = dy.to_torch(builder)
    assert sorted(back) == sorted(w)
    for name, array in back.items():
        assert array.dtype == np.float32 and array.flags.c_contiguous and array.flags.owndata
        if "bias_ih" in name:
            want = np.add(w[name], w[name.replace("bias_ih", suffix)], dtype=float)
            np.testing.assert_allclose(array, want, rtol=0, atol=2e-7)
        elif suffix in name:
            assert not array.any()
        else:
            np.testing.assert_array_equal(array, w[name])
    return back


@pytest.mark.parametrize("kind, layers, is_both", RECURRENT)
def test_recurrent(kind, layers, is_both):
    w = state(recurrent_shapes(3, 4, layers, is_both, GATES[kind]))
    builder, xs = made(kind, 3, 4, layers, is_both), numbers(5, 3)
    assert sorted(dy.from_torch(builder, w)) == sorted(w)
    want = recurrent(xs, double(w), layers, is_both, kind)
    assert apart(outputs(builder, xs), want) < BOUND
    back = dy.to_torch(builder) if kind == "GRU" else check_way_back(builder, w)
    assert apart(recurrent(xs, double(back), layers, is_both, kind), want) < BOUND


def test_an_lstm_has_the_numbers_of_pytorch():
    """Of nn.LSTM(2, 2), computed by PyTorch 2.15 in double."""
    shapes = recurrent_shapes(2, 2)
    w, k = {}, 0
    for name, shape in shapes.items():
        count = math.prod(shape)
        w[name] = (0.6 * np.sin(1 + 0.7 * np.arange(k, k + count))).reshape(shape)
        k += count
    xs = np.array([[0.5, -1.0], [0.25, 2.0], [-0.75, 0.0]])
    want = [
        [0.05316214954568693, 0.13730720186101045],
        [0.29137378697557625, 0.10126781134597398],
        [0.23326363713766277, 0.23325795357988802],
    ]
    builder = made("LSTM", 2, 2, 1, False)
    dy.from_torch(builder, w)
    assert apart(recurrent(xs, w, 1, False, "LSTM"), want) < 1e-8
    assert apart(outputs(builder, xs), want) < BOUND


@pytest.mark.parametrize("forget_bias", [0.0, 1.0, 2.5])
def test_the_forget_bias_of_the_builder_is_taken_off(forget_bias):
    w, xs = state(recurrent_shapes(3, 4)), numbers(4, 3)
    m = dy.ParameterCollection()
    builder = dy.VanillaLSTMBuilder(1, 3, 4, m, forget_bias=forget_bias)
    dy.from_torch(builder, w)
    assert apart(outputs(builder, xs), recurrent(xs, double(w), 1, False, "LSTM")) < BOUND
    bias = builder.get_parameters()[0][2].as_array()
    total = w["bias_ih_l0"].astype(float) + w["bias_hh_l0"]
    np.testing.assert_allclose(bias[4:8], total[4:8] - forget_bias, atol=2e-7)
    np.testing.assert_allclose(bias[8:12], total[12:16], atol=1e-7)  # o before g
    check_way_back(builder, w)
    compact = dy.CompactVanillaLSTMBuilder(1, 3, 4, m)
    dy.from_torch(compact, w)
    assert apart(outputs(compact, xs), outputs(builder, xs)) < BOUND


@pytest.mark.parametrize("memory", [6, 5])
def test_attention(memory):
    w, q, k = state(attention_shapes(6, memory)), numbers(3, 6), numbers(4, memory, seed=6)
    builder = dy.MultiHeadAttentionBuilder(6, 3, dy.ParameterCollection(), memory)
    assert sorted(dy.from_torch(builder, w)) == sorted(w)
    assert apart(attended(builder, q, k), attention(q, k, double(w), "", 3)) < BOUND
    check_way_back(builder, w)


@pytest.mark.parametrize("pre_norm, gelu, is_decoder", STACKS)
def test_transformers(pre_norm, gelu, is_decoder):
    w = state(stack_shapes(2, 6, 5, pre_norm, is_decoder))
    builder = made_stack(2, 6, 3, 5, pre_norm, gelu, is_decoder)
    x, memory = numbers(3, 6), numbers(4, 6, seed=6)
    assert sorted(dy.from_torch(builder, w)) == sorted(w)
    want = stack(x, double(w), 2, 3, pre_norm, gelu, memory if is_decoder else None)
    assert apart(stacked(builder, x, memory), want) < BOUND
    check_way_back(builder, w)


def test_a_single_encoder_layer_and_a_language_model():
    w, x = state(stack_shapes(1, 4, 5, False)), numbers(3, 4)
    one = {name.replace("layers.0.", "encoder."): array for name, array in w.items()}
    builder = made_stack(1, 4, 2, 5, False, False, False)
    assert sorted(dy.from_torch(builder, one, "encoder.")) == sorted(one)
    assert apart(stacked(builder, x, None), stack(x, double(w), 1, 2, False, False)) < BOUND
    m = dy.ParameterCollection()
    model = dy.TransformerDecoderBuilder(
        1, 4, 2, 5, m, pre_norm=False, has_memory=False, epsilon=1e-5
    )
    assert sorted(dy.from_torch(model, w)) == sorted(w)
    dy.renew_cg()
    y = model.add_input(model.start(), dy.inputTensor(x.T)).output().npvalue().T
    want = stack(x, double(w), 1, 2, False, False, is_causal=True)
    assert apart(y, want) < BOUND
    check_way_back(model, w)


def test_parameters_pairs_and_tables():
    m = dy.ParameterCollection()
    W, b, E = m.add_parameters((2, 3)), m.add_parameters(2), m.add_lookup_parameters((5, 3))
    encoding = dy.LearnedEncoding(3, 7, m)
    w = state(
        {
            "out.weight": (2, 3),
            "out.bias": (2,),
            "scale": (2,),
            "e.weight": (5, 3),
            "p.weight": (7, 3),
        }
    )
    assert dy.from_torch((W, b), w, "out.") == ["out.weight", "out.bias"]
    np.testing.assert_array_equal(W.as_array(), w["out.weight"])
    assert dy.from_torch(b, w, "scale") == ["scale"]
    np.testing.assert_array_equal(b.as_array(), w["scale"])
    assert dy.from_torch(E, w, "e.") == ["e.weight"]
    np.testing.assert_array_equal(E.as_array(), w["e.weight"])
    assert dy.from_torch(encoding, w, "p.") == ["p.weight"]
    both = {"out.": (W, b), "scale": m.add_parameters(2), "e.": E, "p.": encoding}
    assert sorted(dy.from_torch(both, w)) == sorted(w)
    for name, array in dy.to_torch(both).items():
        np.testing.assert_array_equal(array, w[name])
    assert list(dy.to_torch({"x.": {"y.": W}}, "z.")) == ["z.x.y.weight"]
    g, s = m.add_parameters(3), m.add_parameters(3)
    norm, x = state({"weight": (3,), "bias": (3,)}), numbers(3)
    dy.from_torch((g, s), norm)
    dy.renew_cg()
    y = dy.layer_norm(dy.inputTensor(x), g, s, epsilon=1e-5).npvalue()
    assert apart(y, layer_norm(x, double(norm), "")) < BOUND


def test_convolutions():
    """Against the formulas of nn.Conv1d and nn.Conv2d, which are cross-correlations."""
    m = dy.ParameterCollection()
    w = state({"weight": (4, 3, 2, 5), "bias": (4,)})
    f, b, image = m.add_parameters((2, 5, 3, 4)), m.add_parameters(4), numbers(3, 6, 7)
    dy.from_torch((f, b), w, layout="conv2d")
    want = np.zeros((4, 5, 3))
    for o, i, j in np.ndindex(want.shape):
        want[o, i, j] = w["bias"][o] + (w["weight"][o] * image[:, i : i + 2, j : j + 5]).sum(
            dtype=float
        )
    dy.renew_cg()
    y = dy.conv2d_bias(dy.inputTensor(image.transpose(1, 2, 0)), f, b, [1, 1]).npvalue()
    assert apart(y.transpose(2, 0, 1), want) < BOUND
    for name, array in dy.to_torch((f, b), layout="conv2d").items():
        np.testing.assert_array_equal(array, w[name])

    one = state({"conv.weight": (4, 3, 2)})
    sentence = numbers(3, 6)
    want = np.zeros((4, 5))
    for o, i in np.ndindex(want.shape):
        want[o, i] = (one["conv.weight"][o] * sentence[:, i : i + 2]).sum(dtype=float)
    narrow, row, column = (m.add_parameters(s) for s in ((3, 2, 4), (1, 2, 3, 4), (2, 1, 3, 4)))
    for p in (narrow, row, column):
        dy.from_torch({"conv.": p}, one, layout={"conv.": "conv1d"})
        back = dy.to_torch(p, "conv.", layout="conv1d")["conv.weight"]
        np.testing.assert_array_equal(back, one["conv.weight"])
    dy.renew_cg()
    x = dy.inputTensor(sentence)
    assert apart(dy.filter1d_narrow(x, narrow).npvalue(), want) < BOUND
    x = dy.inputTensor(sentence.T[None])
    assert apart(dy.conv2d(x, row, [1, 1]).npvalue()[0].T, want) < BOUND
    x = dy.inputTensor(sentence.T[:, None])
    assert apart(dy.conv2d(x, column, [1, 1]).npvalue()[:, 0].T, want) < BOUND


def test_layers_without_bias():
    w, xs = state(recurrent_shapes(3, 4, 2)), numbers(5, 3)
    w = {name: array for name, array in w.items() if "bias" not in name}
    builder = made("LSTM", 3, 4, 2, False)
    assert sorted(dy.from_torch(builder, w)) == sorted(w)
    assert apart(outputs(builder, xs), recurrent(xs, double(w), 2, False, "LSTM")) < BOUND
    # The last normalisation is a module of its own, which may have a bias.
    w = state(stack_shapes(2, 4, 5, True))
    w = {n: a for n, a in w.items() if "bias" not in n or n == "norm.bias"}
    encoder, x = made_stack(2, 4, 2, 5, True, False, False), numbers(3, 4)
    assert sorted(dy.from_torch(encoder, w)) == sorted(w)
    assert apart(stacked(encoder, x, None), stack(x, double(w), 2, 2, True, False)) < BOUND


def test_types_of_numbers():
    W = dy.ParameterCollection().add_parameters((2, 3))
    array = numbers(2, 3)
    for kind in (np.float16, np.float64):
        dy.from_torch(W, {"weight": array.astype(kind)})
        np.testing.assert_array_equal(W.as_array(), array.astype(kind).astype(np.float32))
    dy.from_torch(W, {"weight": np.asfortranarray(array)[:, ::-1]})
    np.testing.assert_array_equal(W.as_array(), array[:, ::-1])

    class Capsule:  # a library's tensor without __array__
        def __dlpack__(self, **arguments):
            return array.__dlpack__(**arguments)

        def __dlpack_device__(self):
            return array.__dlpack_device__()

    dy.from_torch(W, {"weight": Capsule()})
    np.testing.assert_array_equal(W.as_array(), array)


def test_files(tmp_path):
    """Without the package safetensors: the library's own writer and reader."""
    w, path = state(recurrent_shapes(3, 4)), tmp_path / "weights.safetensors"
    m = dy.ParameterCollection()
    with dy.SafetensorsSaver(str(path)) as saver:
        for name, array in w.items():
            saver.save(m.parameters_from_numpy(array), "lstm." + name)
        saver.save(m.add_lookup_parameters((2, 3)), "embedding.weight")
    builder = made("LSTM", 3, 4, 1, False)
    for source in (path, str(path), dy.SafetensorsLoader(str(path))):
        builder.param_collection().parameters_list()[0].zero()
        assert sorted(dy.from_torch(builder, source, "lstm.")) == sorted("lstm." + n for n in w)
        check_way_back(builder, w)
    with pytest.raises(dy.ShapeError, match=r"'lstm.weight_ih_l0' of '.*\.safetensors' has shape"):
        dy.from_torch(made("LSTM", 2, 4, 1, False), path, "lstm.")
    with pytest.raises(
        dy.ValueError, match=r"'embedding.weight' \(2, 3\), which no parameter takes"
    ):
        dy.from_torch({"lstm.": builder}, path)


def test_files_of_other_programs(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    path, W = str(tmp_path / "w.safetensors"), dy.ParameterCollection().add_parameters((2, 3))
    numpy.save_file({"weight": np.eye(2, 3, dtype=np.float16), "n": np.array(3)}, path)
    assert dy.from_torch(W, path, allow_extra=True) == ["weight"]
    np.testing.assert_array_equal(W.as_array(), np.eye(2, 3))
    numpy.save_file({"weight": np.ones((2, 3), np.int64)}, path)
    with pytest.raises(dy.IoError, match=r"from_torch: .*weight.*I64"):
        dy.from_torch(W, path)
    with pytest.raises(dy.IoError, match=r"from_torch: 'model\.pt' is a pickle"):
        dy.from_torch(W, "model.pt")
    with pytest.raises(dy.IoError, match=r"from_torch: .*no-such"):
        dy.from_torch(W, "no-such.safetensors")


def test_copies_and_shared_parameters():
    """After `copy` the parameters that a builder uses are filled, not the unused ones of its own."""
    m = dy.ParameterCollection()
    first, second = (dy.MultiHeadAttentionBuilder(4, 2, m) for _ in range(2))
    unused = values(second)
    second.copy(first)
    w, q = state(attention_shapes(4, 4)), numbers(3, 4)
    dy.from_torch(second, w)
    np.testing.assert_array_equal(values(second), unused)
    want = attention(q, q, double(w), "", 2)
    assert apart(attended(first, q, q), want) < BOUND
    assert apart(attended(second, q, q), want) < BOUND
    check_way_back(second, w)

    class Own(dy.VanillaLSTMBuilder):
        def __init__(self, model):
            super().__init__(1, 3, 4, model)

    dy.from_torch(Own(m), state(recurrent_shapes(3, 4)))


# ---- errors ---------------------------------------------------------------------------------------


def refused(error, text, target, source, *args, **named):
    """The call is an error with this text, and nothing is changed."""
    before = values(target) if not isinstance(target, dict) else None
    with pytest.raises(error) as caught:
        dy.from_torch(target, source, *args, **named)
    assert re.search(text, str(caught.value), re.S), str(caught.value)
    assert "called at" in str(caught.value) and "test_torch_weights.py" in str(caught.value)
    if before is not None:
        np.testing.assert_array_equal(values(target), before)


def test_names_that_are_missing_or_more():
    w = state(recurrent_shapes(3, 4, 2))
    lstm, short = made("LSTM", 3, 4, 2, False), made("LSTM", 3, 4, 1, False)
    less = {n: a for n, a in w.items() if n != "weight_hh_l1"}
    text = (
        r"the dict has no 'weight_hh_l1'; want one of shape \(16, 4\) for layer 1 of VanillaLSTM.*"
    )
    refused(dy.ValueError, text + r"it has weight_ih_l0 \(16, 3\), weight_hh_l0", lstm, less)
    less = {n: a for n, a in w.items() if n != "bias_hh_l1"}
    refused(dy.ValueError, "no 'bias_hh_l1'", lstm, less)
    text = r"'weight_ih_l1' \(16, 4\) and 3 more, which no parameter takes; the layers are more"
    refused(dy.ValueError, text, short, w)
    assert len(dy.from_torch(short, w, allow_extra=True)) == 4
    under = {"a.lstm." + n: x for n, x in w.items()}
    refused(dy.ValueError, r"did you mean the prefix 'a\.lstm\.'", lstm, under)
    refused(dy.ValueError, r"did you mean the prefix 'a\.lstm\.'", lstm, under, "a.lstm")
    refused(dy.ValueError, "it has no tensors", lstm, {})
    both = state(recurrent_shapes(3, 4, 2, True))
    refused(dy.ValueError, "reads backward, too: want a BiRNNBuilder", short, both)
    m = dy.ParameterCollection()
    pair = {"weight": numbers(2, 3), "bias": numbers(2)}
    with pytest.raises(dy.ValueError, match=r"'bias' \(2,\).*a pair \(W, b\) takes"):
        dy.from_torch(m.add_parameters((2, 3)), pair)


def test_shapes():
    lstm = made("LSTM", 3, 4, 1, False)
    text = r"'weight_ih_l0' of the dict has shape \(16, 2\); want \(16, 3\) for layer 0 of Vanilla"
    refused(dy.ShapeError, text, lstm, state(recurrent_shapes(2, 4)))
    text = r"12 = 3 \* 4 rows are the rows of an nn.GRU"
    refused(dy.ShapeError, text, lstm, state(recurrent_shapes(3, 4, gates=3)))
    # The last tensor is wrong: the ones before it are not written either.
    w = state(recurrent_shapes(3, 4))
    refused(dy.ShapeError, "'bias_hh_l0'", lstm, {**w, "bias_hh_l0": numbers(15)})
    m = dy.ParameterCollection()
    W, f, E = (
        m.add_parameters((2, 3)),
        m.add_parameters((5, 1, 3, 4)),
        m.add_lookup_parameters((5, 3)),
    )
    refused(
        dy.ShapeError, r"\(3, 2\); want \(2, 3\) .*transposed", {"": W}, {"weight": numbers(3, 2)}
    )
    with pytest.raises(dy.ShapeError, match="layout='conv2d'"):
        dy.from_torch(f, {"weight": numbers(4, 3, 5, 1)})
    with pytest.raises(dy.ShapeError, match=r"\(4, 3\); want \(5, 3\) for the table"):
        dy.from_torch(E, {"weight": numbers(4, 3)})
    with pytest.raises(dy.TypeError, match=r"layout is 'conv2d' for .*want {height"):
        dy.from_torch(E, {"weight": numbers(5, 3)}, layout="conv2d")
    with pytest.raises(dy.ValueError, match="want 'conv1d', 'conv2d', 'same' or None"):
        dy.from_torch(W, {"weight": numbers(2, 3)}, layout="conv3d")


def test_numbers_that_do_not_fit():
    lstm, w = made("LSTM", 3, 4, 1, False), state(recurrent_shapes(3, 4))
    for wrong in (np.ones(16, int), np.ones(16, bool), np.ones(16, complex)):
        text = "'bias_hh_l0' is of type .*; want one of float16, bfloat16, float32, float64"
        refused(dy.TypeError, text, lstm, {**w, "bias_hh_l0": wrong})
    refused(dy.TypeError, "neither __array__ nor", lstm, {**w, "bias_hh_l0": [1.0] * 16})
    large = np.full(16, 1e300)
    refused(
        dy.ValueError, "'bias_ih_l0' and 'bias_hh_l0'.*too large", lstm, {**w, "bias_hh_l0": large}
    )
    infinite = np.full((16, 3), np.inf)
    dy.from_torch(lstm, {**w, "weight_ih_l0": infinite})
    assert np.isinf(lstm.get_parameters()[0][0].as_array()).all()


def test_layers_that_are_other_layers_here():
    m, w = dy.ParameterCollection(), state(recurrent_shapes(3, 4))
    refused(dy.TypeError, "reset gate behind the product", dy.GRUBuilder(1, 3, 4, m), w)
    refused(dy.TypeError, "1 - input gate", dy.CoupledLSTMBuilder(1, 3, 4, m), w)
    refused(dy.TypeError, "1 - input gate", dy.FastLSTMBuilder(1, 3, 4, m), w)
    refused(dy.TypeError, "masks", dy.SparseLSTMBuilder(1, 3, 4, m), w)
    refused(dy.TypeError, "ln_lstm", dy.VanillaLSTMBuilder(1, 3, 4, m, ln_lstm=True), w)
    refused(dy.TypeError, "reset gate", dy.BiRNNBuilder(1, 3, 4, m, dy.GRUBuilder), w)
    lstm = dy.VanillaLSTMBuilder(1, 3, 4, m)
    projected = {**w, "weight_hr_l0": numbers(2, 4), "weight_hh_l0": numbers(16, 2)}
    refused(
        dy.ValueError,
        r"'weight_hr_l0' \(2, 4\): nn.LSTM\(proj_size",
        lstm,
        projected,
        allow_extra=True,
    )
    heads, w = dy.MultiHeadAttentionBuilder(4, 2, m), state(attention_shapes(4, 4))
    refused(dy.ValueError, "add_bias_kv", heads, {**w, "bias_k": numbers(1, 1, 4)})
    encoder = made_stack(1, 4, 2, 5, True, False, False)
    refused(dy.ValueError, "with pre_norm", encoder, state(stack_shapes(1, 4, 5, False)))
    encoder = made_stack(1, 4, 2, 5, False, False, False)
    refused(dy.ValueError, "no last normalisation", encoder, state(stack_shapes(1, 4, 5, True)))
    other = dy.TransformerDecoderBuilder(1, 4, 2, 5, m, memory_dim=3)
    refused(dy.TypeError, "has memory_dim=3", other, {})
    heads = dy.MultiHeadAttentionBuilder(4, 2, m, 3)
    text = "no 'q_proj_weight'.*memory_dim of the builder is kdim"
    refused(dy.ValueError, text, heads, state(attention_shapes(4, 4)))
    pair = (dy.SimpleRNNBuilder(2, 3, 4, m), dy.SimpleRNNBuilder(2, 3, 4, m))
    refused(dy.TypeError, "layers of its own", dy.BiRNNBuilder(1, 3, 8, m, None, [pair]), {})
    pair = (pair[0], dy.VanillaLSTMBuilder(1, 3, 4, m))
    refused(dy.TypeError, "want one class", dy.BiRNNBuilder(1, 3, 8, m, None, [pair]), {})
    with pytest.raises(dy.TypeError, match="to_torch: a GRUBuilder has no layer in PyTorch"):
        dy.to_torch(dy.GRUBuilder(1, 3, 4, m))


def test_arguments():
    W = dy.ParameterCollection().add_parameters((2, 3))
    for target in (3, None, [W], dy.SimpleSGDTrainer(dy.ParameterCollection())):
        with pytest.raises(dy.TypeError, match=r"from_torch: got .* of type .*want a parameter"):
            dy.from_torch(target, {})
        with pytest.raises(dy.TypeError, match="to_torch: got") as found:
            dy.to_torch(target)
        assert "target" not in str(found.value)
    with pytest.raises(dy.TypeError, match="source is of type list; want a dict"):
        dy.from_torch(W, [1])

    class Module:
        def state_dict(self):
            return {}

    with pytest.raises(dy.TypeError, match=r"give its state_dict\(\)"):
        dy.from_torch(W, Module())
    with pytest.raises(dy.TypeError, match="prefix is 3"):
        dy.from_torch(W, {}, 3)
    with pytest.raises(dy.TypeError, match="the key 3"):
        dy.from_torch(W, {3: numbers(2, 3)})
    with pytest.raises(dy.TypeError, match=r"layout is .* for a dict of layers"):
        dy.from_torch({"a.": W}, {}, layout="conv2d")
    with pytest.raises(dy.ValueError, match=r"two entries have the name 'a\.weight'"):
        dy.from_torch({"a.": W, "": {"a.": W}}, {})


def test_tensors_without_pytorch(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    W = dy.ParameterCollection().add_parameters((2, 3))
    with pytest.raises(dy.UsageError, match="PyTorch is not installed"):
        dy.to_torch(W, as_tensors=True)


# ---- PyTorch itself -------------------------------------------------------------------------------


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed")


def fill(torch, module):
    with torch.no_grad():
        for p in module.parameters():
            p.uniform_(-0.7, 0.7)


def result(torch, module, *arrays, **named):
    """In double, of one example."""
    module = module.double().eval()
    y = module(*(torch.tensor(np.asarray(a), dtype=torch.float64)[None] for a in arrays), **named)
    return (y[0] if isinstance(y, tuple) else y)[0].detach().numpy()


def check_both_ways(torch, module, builder, ours, theirs):
    w = module.state_dict()
    assert sorted(dy.from_torch(builder, w)) == sorted(w)
    want = theirs()
    assert apart(ours(), want) < BOUND
    module.float()
    fill(torch, module)
    module.load_state_dict(dy.to_torch(builder, as_tensors=True))
    assert apart(theirs(), want) < BOUND


@pytest.mark.parametrize("kind, layers, is_both", RECURRENT)
def test_recurrent_layers_of_pytorch(torch, kind, layers, is_both):
    rng = np.random.default_rng(layers)
    for _ in range(3):
        inputs, hidden = map(int, rng.integers(1, 9, 2))
        module = getattr(torch.nn, kind)(
            inputs, hidden, layers, bidirectional=is_both, batch_first=True
        )
        builder, xs = made(kind, inputs, hidden, layers, is_both), numbers(5, inputs)
        check_both_ways(
            torch,
            module,
            builder,
            lambda b=builder, xs=xs: outputs(b, xs),
            lambda m=module, xs=xs: result(torch, m, xs),
        )


@pytest.mark.parametrize("memory", [6, 5])
def test_attention_of_pytorch(torch, memory):
    sizes = {} if memory == 6 else {"kdim": memory, "vdim": memory}
    module = torch.nn.MultiheadAttention(6, 3, batch_first=True, **sizes)
    fill(torch, module)
    q, k = numbers(3, 6), numbers(4, memory)
    builder = dy.MultiHeadAttentionBuilder(6, 3, dy.ParameterCollection(), memory)
    check_both_ways(
        torch,
        module,
        builder,
        lambda: attended(builder, q, k),
        lambda: result(torch, module, q, k, k),
    )


@pytest.mark.parametrize("pre_norm, gelu, is_decoder", STACKS)
def test_transformers_of_pytorch(torch, pre_norm, gelu, is_decoder):
    nn = torch.nn
    layer = nn.TransformerDecoderLayer if is_decoder else nn.TransformerEncoderLayer
    one = layer(6, 3, 5, 0.0, "gelu" if gelu else "relu", norm_first=pre_norm, batch_first=True)
    norm = nn.LayerNorm(6) if pre_norm else None
    builder = made_stack(2, 6, 3, 5, pre_norm, gelu, is_decoder)
    x, memory = numbers(3, 6), numbers(4, 6, seed=6)
    if is_decoder:
        module, arrays = nn.TransformerDecoder(one, 2, norm=norm), (x, memory)
        mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
        named = {"tgt_mask": mask}
    else:
        module = nn.TransformerEncoder(one, 2, norm=norm, enable_nested_tensor=False)
        arrays, named = (x,), {}
    fill(torch, module)
    check_both_ways(
        torch,
        module,
        builder,
        lambda: stacked(builder, x, memory),
        lambda: result(torch, module, *arrays, **named),
    )


def test_convolution_and_linear_of_pytorch(torch):
    m = dy.ParameterCollection()
    module, image = torch.nn.Conv2d(3, 4, (2, 5)), numbers(3, 6, 7)
    f, b = m.add_parameters((2, 5, 3, 4)), m.add_parameters(4)
    dy.from_torch((f, b), module.state_dict(), layout="conv2d")
    dy.renew_cg()
    y = dy.conv2d_bias(dy.inputTensor(image.transpose(1, 2, 0)), f, b, [1, 1]).npvalue()
    assert apart(y.transpose(2, 0, 1), result(torch, module, image)) < BOUND
    module, sentence = torch.nn.Conv1d(3, 4, 2), numbers(3, 6)
    f = m.add_parameters((3, 2, 4))
    dy.from_torch((f, b), module.state_dict(), layout="conv1d")
    y = dy.colwise_add(dy.filter1d_narrow(dy.inputTensor(sentence), f), b)
    assert apart(y.npvalue(), result(torch, module, sentence)) < BOUND
    module, W = torch.nn.Linear(3, 4), m.add_parameters((4, 3))
    dy.from_torch((W, b), module.state_dict())
    y = W * dy.inputTensor(sentence[:, 0]) + b
    assert apart(y.npvalue(), result(torch, module, sentence[:, 0])) < BOUND


def test_tensors_of_any_kind(torch):
    W = dy.ParameterCollection().add_parameters((2, 3))
    tensor = torch.tensor(numbers(2, 3))
    for given in (tensor.half(), tensor.bfloat16(), tensor.double(), torch.nn.Parameter(tensor)):
        dy.from_torch(W, {"weight": given})
        np.testing.assert_array_equal(W.as_array(), given.detach().float().numpy())
    for wrong in (
        tensor.long(),
        tensor.to(torch.float8_e4m3fn),
        tensor.to_sparse(),
        tensor.to("meta"),
    ):
        with pytest.raises(dy.TypeError, match="from_torch: 'weight' is of type"):
            dy.from_torch(W, {"weight": wrong})
    assert dy.to_torch(W, as_tensors=True)["weight"].dtype == torch.float32
    with pytest.raises(dy.TypeError, match=r"Linear: give its state_dict\(\)"):
        dy.from_torch(W, torch.nn.Linear(2, 3))
