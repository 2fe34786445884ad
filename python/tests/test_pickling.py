"""Models through pickle, copy and multiprocessing."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import dynet as dy
import numpy as np
import pytest
from copies import BUILDERS, names, through_pickle
from far import DEVICE


class Network:
    """The usual form of a program: parts of one model in attributes."""

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


@pytest.mark.parametrize("copied", [through_pickle, copy.deepcopy])
def test_parameters_that_were_loaded_twice_have_one_name(tmp_path, copied):
    m = dy.ParameterCollection()
    parts = [
        m.add_parameters(2, init=1.0, name="W"),
        m.add_lookup_parameters((3, 2), init=2.0, name="E"),
        dy.GRUBuilder(1, 2, 2, m),
    ]
    base = str(tmp_path / "model")
    dy.save(base, parts)
    model = dy.ParameterCollection()
    model.set_weight_decay(0.5)
    first, second = dy.load(base, model), dy.load(base, model)
    assert names(model).count("/W") == names(model).count("/E") == 2
    trainer = dy.MomentumSGDTrainer(model, 0.1)
    dy.renew_cg()
    dy.squared_norm(second[0] + second[1][1]).backward()
    trainer.update()
    second[2].get_parameters()[0][0].zero()

    other, (W, E, builder), again, goes_on = copied((model, second, first, trainer))
    assert names(other) == names(model)
    for (V, F, b), (W0, E0, b0) in (((W, E, builder), second), (again, first)):
        assert np.array_equal(V.as_array(), W0.as_array())
        assert np.array_equal(F.as_array(), E0.as_array())
        assert [p.name() for p in b.get_parameters()[0]] == [
            p.name() for p in b0.get_parameters()[0]
        ]
    assert not builder.get_parameters()[0][0].as_array().any()
    assert again[2].get_parameters()[0][0].as_array().any()
    assert not np.array_equal(W.as_array(), again[0].as_array())
    for table, w, t in ((second[1], second[0], trainer), (E, W, goes_on)):
        dy.renew_cg()
        dy.squared_norm(w + table[1]).backward()
        t.update()
    assert np.array_equal(W.as_array(), second[0].as_array())
    assert np.array_equal(E.as_array(), second[1].as_array())


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


TRAINERS = [
    getattr(dy, n)
    for n in dir(dy)
    if n.endswith("Trainer")
    and n not in ("Trainer", "DistributedTrainer")  # the latter has a communicator
]


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


class WithSlots(dy.GRUBuilder):
    __slots__ = ("size", "unset")

    def __init__(self, model, size):
        super().__init__(1, size, size, model)
        self.size = size


class TrainerWithSlots(dy.AdamTrainer):
    __slots__ = ("note",)


class WithState(dy.GRUBuilder):
    def __init__(self, model, size):
        super().__init__(1, size, size, model)
        self.size, self.cache = size, lambda: None  # which pickle does not take

    def __getstate__(self):
        return {"size": self.size}

    def __setstate__(self, state):
        self.size, self.cache = state["size"], "made anew"


class TrainerWithState(dy.AdamTrainer):
    def __getstate__(self):
        return {"note": "of __getstate__"}


@pytest.mark.parametrize("copied", [through_pickle, copy.copy, copy.deepcopy])
def test_the_state_of_a_subclass_is_its_own(copied):
    model = dy.ParameterCollection()
    other = copied(WithSlots(model, 3))
    assert other.size == 3 and not hasattr(other, "unset") and other.spec == (1, 3, 3)
    trainer = TrainerWithSlots(model)
    trainer.note = "kept"
    assert copied(trainer).note == "kept"
    other = copied(WithState(model, 3))
    assert (other.size, other.cache) == (3, "made anew")
    assert copied(TrainerWithState(model)).note == "of __getstate__"


class SkipsInit(dy.GRUBuilder):
    def __init__(self):
        pass


@pytest.mark.filterwarnings("ignore:nanobind")
def test_a_builder_that_was_not_initialised_is_not_copied():
    with pytest.raises(TypeError, match="SkipsInit was not initialised"):
        pickle.dumps(SkipsInit())
