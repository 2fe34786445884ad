"""Models through pickle, copy and multiprocessing."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import dynet as dy
import numpy as np
import pytest
from far import DEVICE


class Network:
    """What programs have: parts of one model in attributes."""

    def __init__(self, builder=dy.VanillaLSTMBuilder, **options):
        self.model = dy.ParameterCollection()
        self.E = self.model.add_lookup_parameters((7, 3), name="words")
        self.first = builder(1, 3, 4, self.model, **options)
        self.upper = self.model.add_subcollection("upper")
        self.second = builder(2, 4, 5, self.upper, **options)
        self.third = builder(1, 5, 2, self.upper, **options)
        self.W = self.upper.add_parameters((3, 2))
        self.activation = dy.tanh

    def loss(self, words=(1, 4, 2)):
        xs = [self.E[w] for w in words]
        for builder in (self.first, self.second, self.third):
            xs = builder.initial_state().transduce(xs)
        return dy.squared_norm(self.activation(self.W * xs[-1]))


def value_of(network):
    dy.renew_cg()
    return network.loss().value()


def train(network, trainer, steps):
    for _ in range(steps):
        dy.renew_cg()
        loss = network.loss()
        loss.backward()
        trainer.update()


def names(collection):
    return [p.name() for p in collection.parameters_list() + collection.lookup_parameters_list()]


def through_pickle(x):
    return pickle.loads(pickle.dumps(x))


BUILDERS = [
    dy.SimpleRNNBuilder,
    dy.GRUBuilder,
    dy.CoupledLSTMBuilder,
    dy.VanillaLSTMBuilder,
    dy.SparseLSTMBuilder,
    dy.CompactVanillaLSTMBuilder,
    dy.FastLSTMBuilder,
]


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
@pytest.mark.parametrize("builder", BUILDERS)
def test_a_network_is_copied_as_a_whole(builder, copied):
    network = Network(builder)
    before = value_of(network)
    other = copied(network)
    assert names(other.model) == names(network.model)
    assert value_of(other) == before
    # One model: its trainer reaches every part, and none of the original.
    train(other, dy.SimpleSGDTrainer(other.model, 0.1), 3)
    assert value_of(other) != before
    assert value_of(network) == before
    for a, b in [
        (other.W, other.upper.parameters_list()[-1]),
        (other.first.get_parameters()[0][0], other.model.parameters_list()[0]),
        (other.E, other.model.lookup_parameters_list()[0]),
    ]:
        assert np.array_equal(a.as_array(), b.as_array())
        b.zero()
        assert not a.as_array().any()
    assert other.first.param_collection().name() == network.first.param_collection().name()


def test_layer_norms_are_beside_the_builder_and_come_along():
    network = Network(dy.VanillaLSTMBuilder, ln_lstm=True, forget_bias=0.5)
    for p in network.model.parameters_list():
        p.set_value(np.random.default_rng(len(p.name())).normal(size=p.shape()))
    other = through_pickle(network)
    assert names(other.model) == names(network.model)
    assert value_of(other) == value_of(network)
    assert other.second.spec == network.second.spec


def test_what_is_added_to_a_copy_gets_new_names():
    network = Network()
    other = through_pickle(network)
    for collection in (other.model, other.upper):
        before = names(collection)
        added = [collection.add_parameters(2), collection.add_parameters(2, name="words")]
        added += dy.GRUBuilder(1, 2, 2, collection).get_parameters()[0]
        added += dy.VanillaLSTMBuilder(1, 2, 2, collection).get_parameters()[0]
        assert len(set(before) | {p.name() for p in added}) == len(before) + len(added)
    assert set(names(other.upper)) < set(names(other.model))


def test_names_and_flags_and_decay():
    model = dy.ParameterCollection()
    model.set_weight_decay(0.25)
    a, b = model.add_parameters(2, name="a"), model.add_parameters(3, name="a")
    table = model.add_lookup_parameters((2, 2))
    b.set_updated(False)
    table.set_updated(False)
    other_b, other_a, other_model, other_table = through_pickle((b, a, model, table))
    assert (other_a.name(), other_b.name(), other_table.name()) == ("/a", "/a_1", "/_0")
    assert (other_a.is_updated(), other_b.is_updated(), other_table.is_updated()) == (
        True,
        False,
        False,
    )
    assert other_model.get_weight_decay() == 0.25
    assert names(other_model) == names(model)


def test_empty_things():
    empty = through_pickle(dy.ParameterCollection())
    assert empty.parameter_count() == 0
    empty.add_parameters(3)
    assert repr(through_pickle(dy.GRUBuilder(0, 1, 1, empty))) == "GRUBuilder without layers"


def test_a_shallow_copy_shares():
    network = Network()
    for part in (network.model, network.upper, network.E, network.W, network.second):
        assert type(copy.copy(part)) is type(part)
    assert copy.copy(network.upper).name() == "/upper/"
    copy.copy(network.W).zero()
    assert not network.W.as_array().any()
    twin = copy.copy(network.first)
    twin.get_parameters()[0][0].zero()
    assert not network.first.get_parameters()[0][0].as_array().any()
    assert network.model.parameter_count() == Network().model.parameter_count()


def test_dropout_comes_along():
    for set_it in (lambda b: b.set_dropout(0.5), lambda b: b.set_dropouts(0.25, 0.5)):
        model = dy.ParameterCollection()
        builder = dy.VanillaLSTMBuilder(1, 20, 20, model)
        set_it(builder)
        other = copy.deepcopy(builder)

        def outputs(b):
            dy.reset_random_seed(5)
            dy.renew_cg()
            state = b.initial_state().add_input(dy.ones(20)).add_input(dy.ones(20))
            return state.output().value()

        assert outputs(other) == outputs(builder)
        builder.disable_dropout()
        assert outputs(other) != outputs(builder)
        assert outputs(copy.deepcopy(builder)) == outputs(builder)


TRAINERS = [getattr(dy, n) for n in dir(dy) if n.endswith("Trainer") and n != "Trainer"]


# None is a default.
ARGUMENTS = {
    "AdadeltaTrainer": (1e-3, 0.8),
    "AdagradTrainer": (0.03, 1e-3),
    "AdamTrainer": (0.002, 0.8, 0.99, 1e-3),
    "AdamWTrainer": (0.002, 0.8, 0.99, 1e-3, 0.1),
    "AmsgradTrainer": (0.002, 0.8, 0.99, 1e-3),
    "CyclicalSGDTrainer": (0.02, 0.3, 2.0, 0.9),
    "EGTrainer": (0.03, 0.7),
    "LambTrainer": (0.002, 0.8, 0.99, 1e-3, 0.1),
    "LionTrainer": (0.002, 0.8, 0.95, 0.1),
    "MomentumSGDTrainer": (0.03, 0.7),
    "RMSPropTrainer": (0.03, 1e-3, 0.8),
    "SimpleSGDTrainer": (0.03,),
}


@pytest.mark.parametrize("trainer_class", TRAINERS)
def test_a_trainer_goes_on_where_it_was(trainer_class):
    network = Network(dy.GRUBuilder)
    trainer = trainer_class(network.model, *ARGUMENTS[trainer_class.__name__])
    if trainer_class is dy.EGTrainer:  # it wants no negative numbers
        for p in network.model.parameters_list():
            p.set_value(np.abs(p.as_array()) + 0.1)
        for p in network.model.lookup_parameters_list():
            p.init_from_array(np.abs(p.as_array()) + 0.1)
    trainer.set_clip_threshold(0.5)
    trainer.set_clip_value(0.01)
    train(network, trainer, 3)
    other, other_trainer = through_pickle((network, trainer))
    assert type(other_trainer) is trainer_class
    assert other_trainer.learning_rate == trainer.learning_rate
    assert other_trainer.get_clip_threshold() == 0.5
    assert other_trainer.get_clip_value() == pytest.approx(0.01)
    train(network, trainer, 3)
    train(other, other_trainer, 3)
    assert value_of(other) == value_of(network)
    for p, q in zip(network.model.parameters_list(), other.model.parameters_list()):
        assert np.array_equal(p.as_array(), q.as_array())


def test_birnn_and_subclasses():
    class_of_module = Derived(1, 3, 4, dy.ParameterCollection())
    class_of_module.note = "kept"
    other = through_pickle(class_of_module)
    assert type(other) is Derived and other.note == "kept" and other.spec == class_of_module.spec
    model = dy.ParameterCollection()
    birnn = dy.BiRNNBuilder(2, 3, 4, model, dy.GRUBuilder)
    other_model, other_birnn = copy.deepcopy((model, birnn))
    xs = [dy.inputVector([i, 1, 2]) for i in range(3)]
    assert dy.values(other_birnn.transduce(xs)) == dy.values(birnn.transduce(xs))
    other_model.parameters_list()[0].zero()
    assert not other_birnn.builder_layers[0][0].get_parameters()[0][0].as_array().any()


class Derived(dy.GRUBuilder):
    pass


class OwnCollection(dy.ParameterCollection):
    pass


def test_what_cannot_be_copied_says_so():
    with pytest.raises(TypeError, match="OwnCollection is derived from ParameterCollection"):
        pickle.dumps(OwnCollection())
    with pytest.raises(TypeError, match="pickle"):
        pickle.dumps(dy.scalarInput(1))


def loss_elsewhere(network):
    return value_of(network)


@pytest.mark.skipif(bool(DEVICE), reason="a started process has the devices that its options name")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method):
    network = Network()
    want = value_of(network)
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(loss_elsewhere, [network] * 4) == [want] * 4
    assert value_of(network) == want


def test_schedule_and_averages_come_along():
    network = Network(dy.GRUBuilder)
    trainer = dy.AdamTrainer(network.model, 0.01)
    trainer.set_schedule(dy.CosineSchedule(0.01, 10))
    trainer.exponential_moving_average(0.5)
    train(network, trainer, 3)
    other, other_trainer = copy.deepcopy((network, trainer))
    for n, t in ((network, trainer), (other, other_trainer)):
        train(n, t, 3)
        t.swap_params_to_moving_average()
    assert other_trainer.learning_rate == trainer.learning_rate != pytest.approx(0.01)
    assert value_of(other) == value_of(network)


def test_empty_collections_are_copied():
    model = dy.ParameterCollection()
    empty = model.add_subcollection("x").add_subcollection("y")
    for copied in (through_pickle, copy.deepcopy):
        other_model, other = copied((model, empty))
        assert other.name() == "/x/y/" and other.add_parameters(2).name() == "/x/y/_0"
        assert other_model.add_subcollection("x").name() == "/x_1/"
        assert names(other_model) == ["/x/y/_0"]


def test_handles_of_a_collection_are_one():
    model = dy.ParameterCollection()
    part = model.add_subcollection("e")
    part.add_parameters(2, name="a")
    shared = copy.copy(part)
    added = [c.add_parameters(2, name="x").name() for c in (part, shared, part)]
    assert added == ["/e/x", "/e/x_1", "/e/x_2"] and names(part) == names(shared) == names(model)
    assert shared.add_subcollection("b").name() == "/e/b/"
    assert part.add_subcollection("b").name() == "/e/b_1/"
    again = through_pickle(model)
    assert names(again) == names(model)


@pytest.mark.skipif(bool(DEVICE), reason="the devices are given")
def test_numbers_in_double_stay_so():
    model = dy.ParameterCollection()
    p = model.add_parameters(2, name="p", init=np.array([3.0, 7.0]), device="CPU:double")
    table = model.add_lookup_parameters((3, 2), name="t", init=3.0, device="CPU:double")
    p.scale(1 / 3)
    table.scale(1 / 3)
    assert (p.expr().npvalue() != p.expr().npvalue().astype(np.float32)).all()
    other_p, other_table, plain = copy.deepcopy((p, table, model.add_parameters(2)))
    assert other_p.expr().device_name() == other_table[1].device_name() == "CPU:double"
    assert np.array_equal(other_p.expr().npvalue(), p.expr().npvalue())
    assert np.array_equal(other_table[1].npvalue(), table[1].npvalue())
    assert plain.expr().device_name() == dy.ones(1).device_name() != "CPU:double"


class OtherArguments(dy.AdamTrainer):
    def __init__(self, network, rate):
        super().__init__(network.model, rate)
        self.network = network
        self.calls = 0

    def update(self):
        self.calls += 1
        super().update()


class WithDefaults(dy.CyclicalSGDTrainer):
    def __init__(self, m, *cycle, note="none"):
        super().__init__(m, *cycle)
        self.note = note


class OtherSizes(dy.GRUBuilder):
    def __init__(self, model, size):
        super().__init__(1, size, size, model)


class SizesOfItsOwn(OtherSizes):
    @classmethod
    def from_spec(cls, spec, model):
        return cls(model, spec[1])


def test_subclasses_with_other_arguments():
    network = Network(dy.GRUBuilder)
    trainer = OtherArguments(network, 0.1)
    train(network, trainer, 2)
    other = through_pickle(trainer)
    assert type(other) is OtherArguments and other.calls == 2
    assert other.learning_rate == trainer.learning_rate
    # The network is an attribute: of the same model as the trainer's.
    for n, t in ((network, trainer), (other.network, other)):
        train(n, t, 2)
    assert value_of(other.network) == value_of(network) and other.calls == 4
    other = through_pickle(WithDefaults(network.model, 0.1, 0.2, note="some"))
    assert type(other) is WithDefaults and other.note == "some"
    for made in (OtherSizes(network.model, 3), SizesOfItsOwn(network.model, 3)):
        copied = copy.deepcopy(made)
        assert type(copied) is type(made) and copied.spec == (1, 3, 3)


# ---- every class of builders ----------------------------------------------------------------------

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
        keeps_zeros = "crf" not in p.name()  # those of masks, and of what is sparse
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
    """What is set after a builder was made is not in files."""
    return bool(builder._made()[-1]) if hasattr(builder, "_made") else False


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
