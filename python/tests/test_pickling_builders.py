"""Every class of builders through pickle, copy and files."""

from __future__ import annotations

import copy

import _dynet
import dynet as dy
import numpy as np
import pytest
from copies import BUILDERS, names, through_pickle

CLUSTERS = ["a w3", "b w0", "a w1", "c w2", "b w4"]
PATHS = ["0 0\tw3", "0 1\tw0", "1\tw1", "0 1\tw2", "0 2\tw4"]
WORDS = {"w0": 0, "w1": 1}  # the others are entered
LEAVES = [[], [], [0, 1]]


def vector(k, size=4):
    return dy.inputVector(np.random.default_rng(k).normal(size=size))


def matrix(k, rows=4, columns=3):
    return dy.inputTensor(np.random.default_rng(k).normal(size=(rows, columns)))


def use_recurrent(b):
    return b.initial_state().transduce([vector(0), vector(1)])[-1]


def use_tree(b):
    b.start_new_sequence()
    for i, children in enumerate(LEAVES):
        b.add_input(i, children, vector(i))
    return b.back()


def use_binary_tree(b):
    return b.add_input(b.add_input(vector(0)), b.add_input(vector(1))).h


def use_softmax(b):
    return b.full_log_distribution(vector(0))


def use_attention(b):
    return b.attend(vector(0), b.read(matrix(1)))


def use_decoder(b):
    return b.add_input(b.start(matrix(1)), vector(0)).output()


def use_crf(b):
    return dy.concatenate([b.neg_log_likelihood(matrix(2), [0, 1, 2]), b.best_path(matrix(3))[1]])


def use_semi_crf(b):
    return b.neg_log_likelihood(b.segment_scores(matrix(2)), [(3, 0, 2), (1, 2, 3)])


def with_dropout(b):
    b.set_dropout(0.5)
    return b


def with_dropouts(b):
    b.set_dropouts(0.25, 0.5)
    return b


def with_noise(b):
    b.set_weightnoise(0.5)
    return b


def with_zeros(b):
    b.set_sparsity(0.75)
    return b


def with_rules(b):
    b.forbid(0, 2)
    b.forbid(3, 1)
    b.forbid_start(1)
    b.forbid_end(0)
    b.forbid_bio(["O", "B-X", "I-X", "B-Y"])
    return b


def frozen(b):
    b.set_updated(False)
    return b


EVERY = {
    **{c.__name__: (lambda m, c=c: c(2, 4, 5, m), use_recurrent) for c in BUILDERS},
    "noise": (lambda m: with_noise(dy.CompactVanillaLSTMBuilder(1, 4, 4, m)), use_recurrent),
    "zeros": (lambda m: with_zeros(dy.SparseLSTMBuilder(1, 4, 4, m)), use_recurrent),
    "NaryTreeLSTMBuilder": (lambda m: dy.NaryTreeLSTMBuilder(2, 1, 4, 4, m), use_tree),
    "ChildSumTreeLSTMBuilder": (lambda m: dy.ChildSumTreeLSTMBuilder(2, 4, 5, m), use_tree),
    "TreeGRUBuilder": (lambda m: dy.TreeGRUBuilder(1, 4, 4, m), use_tree),
    "UnidirectionalTreeLSTMBuilder": (
        lambda m: dy.UnidirectionalTreeLSTMBuilder(1, 4, 4, m), use_tree),
    "BidirectionalTreeLSTMBuilder": (
        lambda m: dy.BidirectionalTreeLSTMBuilder(1, 4, 4, m), use_tree),
    "tree with dropout": (lambda m: with_dropouts(dy.ChildSumTreeLSTMBuilder(1, 4, 4, m)), use_tree),
    "BinaryTreeLSTMBuilder": (lambda m: dy.BinaryTreeLSTMBuilder(4, 5, m), use_binary_tree),
    "TreeRNNBuilder": (lambda m: dy.TreeRNNBuilder(4, m), use_binary_tree),
    "StandardSoftmaxBuilder": (lambda m: dy.StandardSoftmaxBuilder(4, 6, m, False), use_softmax),
    "ClassFactoredSoftmaxBuilder": (
        lambda m: dy.ClassFactoredSoftmaxBuilder(4, CLUSTERS, dict(WORDS), m, bias=False),
        use_softmax),
    "HierarchicalSoftmaxBuilder": (
        lambda m: dy.HierarchicalSoftmaxBuilder(4, PATHS, dict(WORDS), m), use_softmax),
    "AdaptiveSoftmaxBuilder": (
        lambda m: dy.AdaptiveSoftmaxBuilder(4, 9, (n for n in (2, 5)), m, 2), use_softmax),
    "SampledSoftmaxBuilder": (
        lambda m: dy.SampledSoftmaxBuilder(4, [3, 2, 1], 2, m, "nce", bias=False), use_softmax),
    "MLPAttentionBuilder": (lambda m: dy.MLPAttentionBuilder(4, 4, 3, m), use_attention),
    "DotAttentionBuilder": (lambda m: dy.DotAttentionBuilder(4, m), use_attention),
    "BiaffineAttentionBuilder": (lambda m: dy.BiaffineAttentionBuilder(4, 4, m), use_attention),
    "MultiHeadAttentionBuilder": (
        lambda m: dy.MultiHeadAttentionBuilder(4, 2, m), use_attention),
    "TransformerEncoderBuilder": (
        lambda m: with_dropout(dy.TransformerEncoderBuilder(2, 4, 2, 6, m, gelu=True)),
        lambda b: b.encode(matrix(0))),
    "TransformerDecoderBuilder": (
        lambda m: dy.TransformerDecoderBuilder(1, 4, 2, 6, m, pre_norm=False), use_decoder),
    "LearnedEncoding": (
        lambda m: frozen(dy.LearnedEncoding(4, 5, m)), lambda e: e.add(matrix(0), 1)),
    "SinusoidalEncoding": (lambda m: dy.SinusoidalEncoding(4), lambda e: e.add(matrix(0), 1)),
    "CRFBuilder": (lambda m: with_rules(dy.CRFBuilder(4, m)), use_crf),
    "SemiCRFBuilder": (lambda m: dy.SemiCRFBuilder(4, 2, m), use_semi_crf),
    "BiRNNBuilder": (
        lambda m: dy.BiRNNBuilder(2, 4, 6, m, dy.GRUBuilder),
        lambda b: b.transduce([vector(0), vector(1)])[-1]),
}  # fmt: skip


def test_no_class_is_left_out():
    classes = {n for n in dir(dy) if n.endswith(("Builder", "Encoding")) and n[0] != "_"}
    assert classes - set(EVERY) == {"LSTMBuilder", "SoftmaxBuilder", "PositionalEncoding"}


def numbers_of(use, builder):
    dy.reset_random_seed(7)
    dy.renew_cg()
    return use(builder).npvalue().tolist()


def two_of(make):
    """The second one of its kind in a collection, with random numbers everywhere."""
    model = dy.ParameterCollection()
    part = model.add_subcollection("part")
    make(part)
    builder = make(part)
    for i, p in enumerate(model.parameters_list()):
        keeps_zeros = "crf" not in p.name()  # zeros of masks and of sparse matrices
        numbers = np.random.default_rng(i).normal(size=p.shape())
        p.set_value(numbers * (p.as_array() != 0) if keeps_zeros else numbers)
    return model, builder


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
@pytest.mark.parametrize("name", EVERY)
def test_every_builder_is_copied(name, copied):
    make, use = EVERY[name]
    model, builder = two_of(make)
    want = numbers_of(use, builder)
    other_model, other = copied((model, builder))
    assert type(other) is type(builder) and other.spec == builder.spec
    assert names(other_model) == names(model) and numbers_of(use, other) == want
    assert numbers_of(use, copied(other)) == want
    if name == "SinusoidalEncoding":
        return
    # It is the second of its kind, in the other model, and counts names with it.
    own = other.param_collection()
    assert own.name() == builder.param_collection().name()
    assert [names(c) for c in (own, other_model)] == [
        names(c) for c in (builder.param_collection(), model)
    ]
    handle = copied(builder).param_collection()
    twin = copy.copy(handle)
    added = [c.add_parameters(1, name="x").name() for c in (handle, twin, handle)]
    assert added == [own.name() + x for x in ("x", "x_1", "x_2")]
    for p in [*other_model.parameters_list(), *other_model.lookup_parameters_list()]:
        p.scale(0.5)
    if own.parameter_count():
        assert numbers_of(use, other) != want
    assert numbers_of(use, builder) == want


@pytest.mark.parametrize("file", ["model", "model.safetensors"])
@pytest.mark.parametrize("name", [n for n in EVERY if n != "SinusoidalEncoding"])
def test_every_builder_is_saved(name, file, tmp_path):
    make, use = EVERY[name]
    _, builder = two_of(make)
    dy.save(str(tmp_path / file), [builder])
    (other,) = dy.load(str(tmp_path / file), dy.ParameterCollection())
    assert type(other) is type(builder) and other.spec == builder.spec
    ours, theirs = (
        [*b.param_collection().parameters_list(), *b.param_collection().lookup_parameters_list()]
        for b in (builder, other)
    )
    assert [p.as_array().tolist() for p in theirs] == [p.as_array().tolist() for p in ours]
    if not builder_has_settings(builder):
        assert numbers_of(use, other) == numbers_of(use, builder)


def builder_has_settings(builder):
    """Settings made after a builder are not in files."""
    made = _dynet._made_of(builder)
    return bool(made and made[5])


def test_files_of_clusters_are_not_needed_again(tmp_path):
    for builder_class, lines in ((dy.ClassFactoredSoftmaxBuilder, CLUSTERS), (dy.HierarchicalSoftmaxBuilder, PATHS)):  # fmt: skip
        file = tmp_path / "clusters"
        file.write_text("\r\n".join(lines))
        words = dict(WORDS)
        builder = builder_class(4, str(file), words, dy.ParameterCollection())
        file.unlink()
        assert len(words) == 5 and builder.spec[2] == words and builder.spec[2] is not words
        want = numbers_of(use_softmax, builder)
        for other in (copy.deepcopy(builder), through_pickle(builder)):
            assert numbers_of(use_softmax, other) == want and other.spec == builder.spec
    with pytest.raises(ValueError, match="the clusters:2: one field"):
        dy.ClassFactoredSoftmaxBuilder(4, ["a w3", "b"], {}, dy.ParameterCollection())
    with pytest.raises(dy.TypeError, match=r"cluster_file\[1\] is 3"):
        dy.ClassFactoredSoftmaxBuilder(4, ["a w3", 3], {}, dy.ParameterCollection())


def test_what_was_shared_is_shared():
    model = dy.ParameterCollection()
    for make, use in (EVERY["TreeGRUBuilder"], EVERY["MLPAttentionBuilder"], EVERY["CRFBuilder"]):
        first, second = make(model), make(model)
        for p in first.param_collection().parameters_list():
            p.set_value(np.random.default_rng(3).normal(size=p.shape()))
        second.copy(first)
        one, two = through_pickle((first, second))
        assert numbers_of(use, two) == numbers_of(use, first) == numbers_of(use, one)
        for p in one.param_collection().parameters_list():
            p.scale(0.5)
        assert numbers_of(use, two) == numbers_of(use, one) != numbers_of(use, first)


def test_a_setting_that_was_taken_back_is_not_copied():
    builder = dy.TreeGRUBuilder(1, 4, 4, dy.ParameterCollection())
    want = numbers_of(use_tree, builder)
    assert numbers_of(use_tree, with_dropout(builder)) != want
    builder.disable_dropout()
    assert numbers_of(use_tree, copy.deepcopy(builder)) == want
