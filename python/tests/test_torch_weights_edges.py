"""`from_torch` with unusual sources and targets: views of the targets' own memory, one parameter for
two tensors, tensors that change a layer, checkpoints. test_torch_weights.py has the layers."""

from __future__ import annotations

import re

import dynet as dy
import numpy as np
import pytest
from torch_layers import (
    attention_shapes,
    made_stack,
    numbers,
    recurrent_shapes,
    stack_shapes,
    state,
)


def fails(error, text, target, source, *args, **named):
    with pytest.raises(error) as caught:
        dy.from_torch(target, source, *args, **named)
    assert re.search(text, str(caught.value), re.S), str(caught.value)
    assert str(caught.value).startswith("from_torch: ") and "called at" in str(caught.value)


@pytest.fixture
def m():
    return dy.ParameterCollection()


# ---- memory ---------------------------------------------------------------------------------------


def test_arrays_that_are_views_of_the_targets(m):
    A, B, S = m.add_parameters((2, 3)), m.add_parameters((2, 3)), m.add_parameters((3, 3))
    a, b, s = A.as_array(), B.as_array(), S.as_array()
    dy.from_torch({"a": A, "b": B, "s": S}, {"a": B.numpy(), "b": A.numpy(), "s": S.numpy().T})
    np.testing.assert_array_equal(A.as_array(), b)
    np.testing.assert_array_equal(B.as_array(), a)
    np.testing.assert_array_equal(S.as_array(), s.T)
    # Columns in the opposite order, and a table whose rows are a view of a parameter.
    E = m.add_lookup_parameters((2, 3))
    e = E.as_array()
    dy.from_torch({"e": E, "a": A}, {"e": A.numpy()[:, ::-1], "a": E.numpy()})
    np.testing.assert_array_equal(E.as_array(), b[:, ::-1])
    np.testing.assert_array_equal(A.as_array(), e)
    dy.from_torch({"a": A, "b": B}, {"a": B, "b": A})  # parameters have __array__
    np.testing.assert_array_equal(A.as_array(), a)
    np.testing.assert_array_equal(B.as_array(), e)


def test_one_parameter_for_two_tensors(m):
    W, v = m.add_parameters((2, 3)), m.add_parameters(3)
    w, before = numbers(2, 3), W.as_array()
    text = r"'a\.weight' and 'b\.weight' have different numbers for one parameter, /_0,"
    fails(dy.ValueError, text, {"a.": W, "b.": W}, {"a.weight": w, "b.weight": w + 1})
    np.testing.assert_array_equal(W.as_array(), before)
    tied = {"a.weight": w, "b.weight": w.copy()}
    assert dy.from_torch({"a.": W, "b.": W}, tied) == ["a.weight", "b.weight"]
    np.testing.assert_array_equal(W.as_array(), w)
    pair = {"weight": numbers(3), "bias": numbers(3) + 1}
    fails(dy.ValueError, "'weight' and 'bias' have different", (v, v), pair)
    lstm = dy.VanillaLSTMBuilder(1, 3, 4, m)
    both = dy.BiRNNBuilder(1, 3, 8, m, None, [(lstm, lstm)])
    text = "'weight_ih_l0' and 'weight_ih_l0_reverse' have different"
    fails(dy.ValueError, text, both, state(recurrent_shapes(3, 4, 1, True)))
    # Two collections give their parameters the same names.
    other = dy.ParameterCollection().add_parameters((2, 3))
    assert other.name() == W.name()
    dy.from_torch({"a": W, "b": other}, {"a": w, "b": w + 1})
    np.testing.assert_array_equal(other.as_array(), w + 1)


def test_files_leave_no_numbers_in_the_graph(m, tmp_path):
    path, W = str(tmp_path / "w.safetensors"), m.add_parameters((2, 3))
    with dy.SafetensorsSaver(path) as saver:
        saver.save(W, "weight")
    dy.renew_cg()
    x = W * dy.inputVector([1, 2, 3])
    before = dy.cg().to_dot().count("label")
    dy.from_torch(W, path)
    dy.from_torch(W, {"weight": W.as_array()})
    assert dy.cg().to_dot().count("label") == before
    np.testing.assert_allclose(x.npvalue(), W.as_array() @ [1, 2, 3], rtol=1e-6)


def test_an_array_of_another_shape_than_its_tensor_changes_nothing(m):
    class Other:
        shape, dtype = (2, 3), np.dtype(np.float32)

        def __array__(self, dtype=None, copy=None):
            return np.ones((3, 2), np.float32)

    A, B = m.add_parameters((2, 3)), m.add_parameters((2, 3))
    before = A.as_array()
    text = r"'b' of the dict has shape \(2, 3\), and the array made of it \(3, 2\)"
    fails(dy.ShapeError, text, {"a": A, "b": B}, {"a": numbers(2, 3), "b": Other()})
    np.testing.assert_array_equal(A.as_array(), before)


# ---- numbers --------------------------------------------------------------------------------------


def test_kinds_of_arrays(m, tmp_path):
    W, w = m.add_parameters((2, 3)), numbers(2, 3)
    dy.from_torch(W, {"weight": w.astype(">f4")})
    np.testing.assert_array_equal(W.as_array(), w)
    dy.from_torch(W, {"weight": np.ma.masked_array(w + 1)})
    np.testing.assert_array_equal(W.as_array(), w + 1)
    masked = np.ma.masked_array(w, mask=w > 0)
    fails(dy.TypeError, "'weight' has masked numbers", W, {"weight": masked})
    on_disk = np.memmap(tmp_path / "w", np.float32, "w+", shape=(2, 3))
    on_disk[:] = w
    dy.from_torch(W, {"weight": on_disk})
    np.testing.assert_array_equal(W.as_array(), w)
    np.savez(tmp_path / "w.npz", weight=w + 2)
    dy.from_torch(W, np.load(tmp_path / "w.npz"))
    np.testing.assert_array_equal(W.as_array(), w + 2)


@pytest.mark.filterwarnings("error")
def test_a_sum_of_biases_that_is_too_large(m):
    w = state(recurrent_shapes(3, 4))
    w.update({f"bias_{kind}_l0": np.full(16, 1.7e308) for kind in ("ih", "hh")})
    fails(dy.ValueError, "a number is too large", dy.VanillaLSTMBuilder(1, 3, 4, m), w)


# ---- names ----------------------------------------------------------------------------------------


def test_a_whole_name_has_no_names_below_it(m):
    source = {"scale": numbers(2), "scale2": numbers(3), "scale.x": numbers(3)}
    assert dy.from_torch(m.add_parameters(2), source, "scale") == ["scale"]


def test_tensors_that_change_another_layer_are_passed_over(m):
    w = state({"out.weight": (2, 3), "lstm.weight_hr_l0": (2, 4), "heads.bias_k": (1, 1, 4)})
    target = {"out.": m.add_parameters((2, 3))}
    assert dy.from_torch(target, w, allow_extra=True) == ["out.weight"]
    both = dy.BiRNNBuilder(1, 3, 8, m, dy.VanillaLSTMBuilder)
    w = {**state(recurrent_shapes(3, 4, 1, True)), "weight_hr_l0_reverse": numbers(2, 4)}
    fails(dy.ValueError, "proj_size", both, w, allow_extra=True)


def test_other_layers_are_refused_with_allow_extra(m):
    encoder = made_stack(2, 4, 2, 5, False, False, False)
    decoder, normed = stack_shapes(2, 4, 5, False, True), stack_shapes(2, 4, 5, True)
    fails(dy.ValueError, "attends to a memory", encoder, state(decoder), allow_extra=True)
    model = dy.TransformerDecoderBuilder(2, 4, 2, 5, m, pre_norm=False, has_memory=False)
    fails(dy.ValueError, "attends to a memory", model, state(decoder), allow_extra=True)
    fails(dy.ValueError, "no last normalisation", encoder, state(normed), allow_extra=True)
    # As a target of its own the normalisation is the program's.
    pair = m.add_parameters(4), m.add_parameters(4)
    assert len(dy.from_torch({"": encoder, "norm.": pair}, state(normed))) == len(normed)
    heads = dy.MultiHeadAttentionBuilder(4, 2, m)
    w = {"a." + n: x for n, x in state(attention_shapes(4, 4)).items()}
    w["a.bias_v"] = numbers(1, 1, 4)
    fails(dy.ValueError, "'a.bias_v'.*add_bias_kv", heads, w, "a.", allow_extra=True)


def test_parametrizations(m):
    """Biases are not taken for absent, and the errors name the remedy."""
    w, lstm = state(recurrent_shapes(3, 4)), dy.VanillaLSTMBuilder(1, 3, 4, m)
    for form in (
        "{}_g",
        "{}_orig",
        "parametrizations.{}.original0",
        "parametrizations.{}.original",
    ):
        other = {form.format(n) if "bias" in n else n: x for n, x in w.items()}
        text = f"no 'bias_ih_l0'.*but '{form.format('bias_ih_l0')}'; remove the parametrization"
        fails(dy.ValueError, text, lstm, other, allow_extra=True)
    pair = m.add_parameters((2, 3)), m.add_parameters(2)
    normed = state({"out.weight_g": (2, 1), "out.weight_v": (2, 3), "out.bias": (2,)})
    fails(dy.ValueError, r"'out\.weight_g'; remove the parametrization", pair, normed, "out.")


def test_hints(m):
    W, encoder = m.add_parameters((2, 3)), made_stack(1, 4, 2, 5, False, False, False)
    w = {"out.weight": numbers(2, 3)}
    fails(dy.ValueError, r"no 'out';.*did you mean the prefix 'out\.'", {"out": W}, w)
    text = r"did you mean the entry 'model' of the dict\?"
    fails(dy.ValueError, text, {"out.": W}, {"epoch": 3, "model": w})
    one = state(stack_shapes(1, 4, 5, False))
    one = {n.replace("layers.0.", "encoder."): x for n, x in one.items()}
    fails(dy.ValueError, r"did you mean the prefix 'encoder\.'", encoder, one)

    class Handle:  # as safetensors.safe_open gives
        def keys(self):
            return ["weight"]

    fails(dy.TypeError, "source is of type Handle; want a dict of names", W, Handle())
    with pytest.raises(dy.TypeError, match="source is missing; want a dict or text or a path"):
        dy.from_torch(W)


def test_an_encoding_with_another_table_in_its_collection(m):
    encoding = dy.LearnedEncoding(3, 4, m)
    own, w = encoding.param_collection(), numbers(4, 3)
    own.add_lookup_parameters((2, 2))
    dy.from_torch(encoding, {"weight": w})
    np.testing.assert_array_equal(own.lookup_parameters_list()[0].as_array(), w)


# ---- PyTorch itself -------------------------------------------------------------------------------


def test_tensors_without_numbers(m):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pair = m.add_parameters((2, 3)), m.add_parameters(2)
    lazy = torch.nn.LazyLinear(2).state_dict()
    fails(dy.TypeError, "'weight' is of type UninitializedParameter, and no array", pair, lazy)
    fails(dy.ValueError, "it has bias, weight", pair, dict(sorted(lazy.items())), "out.")
    A, B = m.add_parameters((2, 3)), m.add_parameters((2, 3))
    a, b = A.as_array(), B.as_array()
    with pytest.warns(UserWarning):  # that the memory is not to be written
        views = {"a": torch.from_numpy(B.numpy()), "b": torch.from_numpy(A.numpy())}
    dy.from_torch({"a": A, "b": B}, views)
    np.testing.assert_array_equal(A.as_array(), b)
    np.testing.assert_array_equal(B.as_array(), a)


@pytest.mark.parametrize(("dims", "layout"), [(3, "conv1d"), (4, "conv2d")])
def test_a_filter_that_would_fit_without_a_layout(dims, layout):
    m = dy.ParameterCollection()
    f, b = m.add_parameters((2,) * dims), m.add_parameters(2)
    w, to_ours = numbers(*(2,) * dims), {3: (1, 2, 0), 4: (2, 3, 1, 0)}[dims]
    before = f.as_array()
    for target, extra in ((f, {}), ((f, b), {"bias": numbers(2)})):
        with pytest.raises(dy.ValueError, match=f"from_torch: 'weight' .*layout='{layout}' for a"):
            dy.from_torch(target, {"weight": w, **extra})
    with pytest.raises(dy.ValueError, match=f"to_torch: 'weight' .*layout='{layout}' for a"):
        dy.to_torch(f)
    np.testing.assert_array_equal(f.as_array(), before)
    dy.from_torch(f, {"weight": w}, layout=layout)
    np.testing.assert_array_equal(f.as_array(), w.transpose(to_ours))
    np.testing.assert_array_equal(dy.to_torch(f, layout=layout)["weight"], w)
    dy.from_torch({"a.": f}, {"a.weight": w}, layout={"a.": "same"})
    np.testing.assert_array_equal(f.as_array(), w)
    dy.from_torch(f, {"scale": w}, "scale")  # no name of a convolution's weight
    one = m.add_parameters((1,) * dims)
    dy.from_torch(one, {"weight": numbers(*(1,) * dims)})


def test_numbers_of_64_bits():
    m = dy.ParameterCollection()
    W, E = m.add_parameters((2, 3), device="CPU:double"), m.add_lookup_parameters((2, 3))
    W.scale(1 / 3)  # no number of 32 bits
    given = dy.to_torch({"W.": W, "E.": E})
    assert given["W.weight"].dtype == np.float64
    assert given["E.weight"].dtype == np.float32
    np.testing.assert_array_equal(given["W.weight"], W.as_array())
    assert (given["W.weight"].astype(np.float32) != given["W.weight"]).any()
