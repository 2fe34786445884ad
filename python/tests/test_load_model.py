"""Models that are saved in Python and loaded in C++ (`dynet/load-model.h`): the same numbers.

DYNET_TEST_LOADED_MODEL names the program `loaded_model` (loaded_model.cc); `./run test` sets it.
"""

from __future__ import annotations

import collections
import os
import subprocess
import types

import dynet as dy
import numpy as np
import pytest

PROGRAM = os.environ.get("DYNET_TEST_LOADED_MODEL", "")


def numbers(first: int, count: int) -> np.ndarray:
    return np.array([((first * 7 + i * 3) % 11 - 5) / 8 for i in range(count)], np.float32)


def vector(k: int) -> dy.Expression:
    return dy.inputVector(numbers(k, 4))


def three() -> list[dy.Expression]:
    return [vector(0), vector(1), vector(2)]


def matrix() -> dy.Expression:
    return dy.inputTensor(numbers(0, 12).reshape((4, 3), order="F"))


# ---- each kind of builder is used as in loaded_model.cc


def recurrent(b) -> dy.Expression:
    return b.initial_state().transduce(three())[-1]


def tree_nodes(b) -> dy.Expression:
    b.start_new_sequence()
    b.add_input(0, [], vector(0))
    b.add_input(1, [], vector(1))
    return b.add_input(2, [0, 1], vector(2))


def binary_tree(b) -> dy.Expression:
    return b.add_input(b.add_input(vector(0)), b.add_input(vector(1))).h


def softmax(b) -> dy.Expression:
    return b.full_log_distribution(vector(0))


def attention(b) -> dy.Expression:
    return b.attend(vector(5), b.read(matrix()))


def both_ways(b) -> dy.Expression:
    return dy.concatenate(b.transduce(three()))


CLUSTERS = ["a x", "a y", "b z"]
PATHS = ["0 0\tx", "0 1\ty", "1\tz"]
WORDS = {"x": 0, "y": 1, "z": 2}


def builders(m: dy.ParameterCollection) -> dict:
    """Name: (a builder of the class before the first space of the name, its use)."""
    made = {
        "VanillaLSTMBuilder with norms": (dy.VanillaLSTMBuilder(2, 4, 5, m, True, 0.25), recurrent),
        "SparseLSTMBuilder with norms": (dy.SparseLSTMBuilder(2, 4, 5, m, True, 0.25), recurrent),
        "GRUBuilder reset after": (dy.GRUBuilder(2, 4, 5, m, True), recurrent),
        "NaryTreeLSTMBuilder": (dy.NaryTreeLSTMBuilder(3, 2, 4, 6, m), tree_nodes),
        "BinaryTreeLSTMBuilder": (dy.BinaryTreeLSTMBuilder(4, 5, m), binary_tree),
        "TreeRNNBuilder": (dy.TreeRNNBuilder(4, m), binary_tree),
        "StandardSoftmaxBuilder": (dy.StandardSoftmaxBuilder(4, 3, m, False), softmax),
        "ClassFactoredSoftmaxBuilder": (
            dy.ClassFactoredSoftmaxBuilder(4, CLUSTERS, dict(WORDS), m),
            softmax,
        ),
        "HierarchicalSoftmaxBuilder": (
            dy.HierarchicalSoftmaxBuilder(4, PATHS, dict(WORDS), m),
            softmax,
        ),
        "AdaptiveSoftmaxBuilder": (dy.AdaptiveSoftmaxBuilder(4, 9, [3, 6], m, 2.0), softmax),
        "SampledSoftmaxBuilder": (
            dy.SampledSoftmaxBuilder(4, [3, 2, 1], 2, m, loss="nce", alpha=0.5),
            softmax,
        ),
        "MLPAttentionBuilder": (dy.MLPAttentionBuilder(4, 4, 3, m), attention),
        "DotAttentionBuilder": (dy.DotAttentionBuilder(4, m), attention),
        "BiaffineAttentionBuilder": (dy.BiaffineAttentionBuilder(4, 4, m), attention),
        "MultiHeadAttentionBuilder": (dy.MultiHeadAttentionBuilder(4, 2, m), attention),
        "TransformerEncoderBuilder": (
            dy.TransformerEncoderBuilder(2, 4, 2, 6, m, pre_norm=False, gelu=True, epsilon=1e-5),
            lambda b: b.encode(matrix()),
        ),
        "TransformerDecoderBuilder": (
            dy.TransformerDecoderBuilder(2, 4, 2, 6, m, gelu=True, epsilon=1e-5),
            lambda b: b.add_input(b.start(matrix()), vector(1)).output(),
        ),
        "LearnedEncoding": (dy.LearnedEncoding(4, 7, m), lambda b: b.add(matrix(), 1)),
        "CRFBuilder": (dy.CRFBuilder(4, m), lambda b: b.best_path(matrix())[1]),
        "SemiCRFBuilder": (
            dy.SemiCRFBuilder(4, 2, m),
            lambda b: b.neg_log_likelihood(b.segment_scores(matrix()), [(0, 0, 2), (1, 2, 3)]),
        ),
    }
    for cls in (
        *(dy.SimpleRNNBuilder, dy.GRUBuilder, dy.CoupledLSTMBuilder, dy.VanillaLSTMBuilder),
        *(dy.SparseLSTMBuilder, dy.CompactVanillaLSTMBuilder, dy.FastLSTMBuilder),
    ):
        made[cls.__name__] = (cls(2, 4, 5, m), recurrent)
        made[f"BiRNNBuilder of {cls.__name__}"] = (dy.BiRNNBuilder(2, 4, 6, m, cls), both_ways)
    for cls, option in (
        (dy.GRUBuilder, {"reset_after": True}),
        (dy.VanillaLSTMBuilder, {"ln_lstm": True, "forget_bias": 0.25}),
        (dy.CoupledLSTMBuilder, {"forget_bias": 0.25}),  # makes VanillaLSTMBuilders
    ):
        both = dy.BiRNNBuilder(1, 4, 6, m, cls, **option)
        made[f"BiRNNBuilder of {cls.__name__} with options"] = (both, both_ways)
    # Settings of finished builders that change their functions.
    crf = dy.CRFBuilder(4, m)
    crf.forbid(1, 2)
    crf.forbid_start(3)
    crf.forbid_end(0)
    made["CRFBuilder with forbidden tags"] = (crf, lambda b: b.best_path(matrix())[1])
    bio = dy.CRFBuilder(4, m)
    bio.forbid_bio(["O", "B-X", "I-X", "B-Y"])
    made["CRFBuilder with tags of BIO"] = (bio, lambda b: b.best_path(matrix())[1])
    lstm = dy.VanillaLSTMBuilder(2, 4, 5, m, True)
    lstm.set_ln_epsilon(0.5)
    lstm.set_dropout(0.9)  # for training: not saved
    made["VanillaLSTMBuilder with epsilon"] = (lstm, recurrent)
    both = dy.BiRNNBuilder(2, 4, 6, m, dy.VanillaLSTMBuilder, ln_lstm=True)
    both.builder_layers[1][0].set_ln_epsilon(0.25)
    made["BiRNNBuilder with epsilon"] = (both, both_ways)
    for cls in (
        *(dy.ChildSumTreeLSTMBuilder, dy.TreeGRUBuilder),
        *(dy.UnidirectionalTreeLSTMBuilder, dy.BidirectionalTreeLSTMBuilder),
    ):
        made[cls.__name__] = (cls(2, 4, 4, m), tree_nodes)
    return made


def make_random(m: dy.ParameterCollection) -> None:
    """No parameter keeps its first value, which a wrong loader might find by itself."""
    random = np.random.default_rng(5)
    for p in m.parameters_list():
        p.set_value(random.uniform(-0.8, 0.8, p.shape()))
    for table in m.lookup_parameters_list():
        table.init_from_array(random.uniform(-0.8, 0.8, table.shape()))


def program_of_the_build() -> str:
    if not PROGRAM:
        pytest.skip("DYNET_TEST_LOADED_MODEL names no program")
    return PROGRAM


def test_every_class_has_the_same_numbers_in_cpp(tmp_path):
    program = program_of_the_build()
    m = dy.ParameterCollection()
    made = builders(m)
    make_random(m)
    ours = {
        c.__name__ for c in vars(dy).values() if isinstance(c, type) and hasattr(c, "from_spec")
    }
    assert {name.split(" ")[0] for name in made} == ours
    file = str(tmp_path / "all.safetensors")
    dy.save(file, {name: builder for name, (builder, _) in made.items()})
    done = subprocess.run([program, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        words = line.split(" ")
        count = next(i for i, word in enumerate(words) if word.lstrip("-").startswith("0x"))
        found[" ".join(words[:count])] = [float.fromhex(x) for x in words[count:]]
    assert found.keys() == made.keys()
    for name, (builder, use) in made.items():
        dy.renew_cg()
        with dy.evaluating():
            assert found[name] == use(builder).npvalue().ravel(order="F").tolist(), name
    again = dy.load(file, dy.ParameterCollection())
    for name, builder in again.items():  # in Python, too, and without the dropout
        dy.renew_cg()
        assert found[name] == made[name][1](builder).npvalue().ravel(order="F").tolist(), name


def test_names_come_back(tmp_path):
    m = dy.ParameterCollection()
    words = dy.text.Vocabulary(["<unk>", "the"], unknown="<unk>")
    letters = dy.Dict(["a", "b"])
    letters.freeze()
    letters.set_unk("b")
    saved = {
        "W": m.add_parameters((2, 3)),
        "reader": dy.GRUBuilder(1, 2, 3, m),
        "words": words,
        "letters": letters,
        "rate": 0.5,
        "tags": ["N", "V"],
    }
    for name in ("model.safetensors", "model"):
        file = str(tmp_path / name)
        dy.save(file, saved)
        loaded = dy.load(file, dy.ParameterCollection())
        assert list(loaded) == list(saved)
        assert loaded["words"] == words and loaded["rate"] == 0.5 and loaded["tags"] == ["N", "V"]
        assert loaded["letters"].get_words() == ["a", "b"] and loaded["letters"].is_frozen()
        assert loaded["letters"].convert("never seen") == 1
        assert loaded["reader"].spec == saved["reader"].spec
        np.testing.assert_array_equal(loaded["W"].as_array(), saved["W"].as_array())
        assert len(list(dy.load_generator(file, dy.ParameterCollection()))) == len(saved)
    assert dy.load(file, dy.ParameterCollection()).keys() == saved.keys()


def test_a_vocabulary_needs_no_import(tmp_path):
    file = str(tmp_path / "model.safetensors")
    dy.save(file, {"words": dy.text.Vocabulary(["the"])})
    program = f"import dynet as dy; print(dy.load({file!r}, dy.Model())['words'].ids(['the']))"
    import sys

    run = [sys.executable, "-c", program]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[0]\n"


@pytest.mark.parametrize("call", ["copy", "set_nothing", "param_collection"])
def test_a_setting_is_no_other_call(tmp_path, call):
    m = dy.ParameterCollection()
    crf = dy.CRFBuilder(2, m)
    crf.forbid(0, 1)
    file = tmp_path / "model"
    dy.save(str(file), [crf])
    meta = tmp_path / "model.meta"
    text = meta.read_text()
    assert '"forbid"' in text
    meta.write_text(text.replace('"forbid"', f'"{call}"'))
    other = dy.ParameterCollection()
    with pytest.raises(dy.IoError, match=f"'{call}' is no setting of a CRFBuilder"):
        dy.load(str(file), other)
    assert other.parameter_count() == 0


def test_refusals(tmp_path):
    file = str(tmp_path / "model.safetensors")
    with pytest.raises(dy.TypeError, match=r"save: the name 3 of an object; want a text"):
        dy.save(file, {3: 1})
    with pytest.raises(dy.TypeError, match=r"save: value\['f'\] of object 'x' is the function len"):
        dy.save(file, {"x": {"f": len}})
    with pytest.raises(dy.TypeError, match="object 0 is a float without spec"):
        dy.save(file, [0.5])
    m = dy.ParameterCollection()
    for x in (m.add_parameters(2), dy.GRUBuilder(1, 2, 3, m)):
        own = rf"save: value\[1\] of object 'xs' is a {type(x).__name__}, which save takes as an"
        with pytest.raises(dy.TypeError, match=own):
            dy.save(file, {"xs": [0, x]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", [types.MappingProxyType, collections.UserDict])
def test_any_mapping_has_names(tmp_path, kind):
    file = str(tmp_path / "model.safetensors")
    dy.save(file, kind({"rate": 0.5, "tags": ["N"]}))
    assert dy.load(file, dy.ParameterCollection()) == {"rate": 0.5, "tags": ["N"]}
