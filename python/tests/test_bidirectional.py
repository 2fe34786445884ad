"""Networks that read a sequence from both ends, and states of several builders as one."""

from __future__ import annotations

import copy

import _dynet
import dynet as dy
import numpy as np
import pytest
from recurrent import RECURRENT, inputs


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_a_bidirectional_network_reads_from_both_ends(builder_class):
    m = dy.ParameterCollection()
    builder = dy.BiRNNBuilder(2, 3, 8, m, builder_class)
    names = [p.name() for p in m.parameters_list()]
    assert all(name.startswith("/birnn/") for name in names)
    per_builder = len(names) // 4
    shapes = [p.shape() for p in m.parameters_list()]
    rows = shapes[0][0]
    assert shapes[::per_builder] == [(rows, 3), (rows, 3), (rows, 8), (rows, 8)]
    assert "_1/" in names[per_builder] and "_3/" in names[-1]
    xs = inputs(4)
    got = [y.npvalue() for y in builder.transduce(iter(xs))]
    es = xs
    for forward, backward in builder.builder_layers:
        state, right = forward.initial_state(), []
        for e in es:
            state = state.add_input(e)
            right.append(state.output())
        state, left = backward.initial_state(), []
        for e in reversed(es):
            state = state.add_input(e)
            left.insert(0, state.output())
        es = [dy.concatenate([f, b]) for f, b in zip(right, left)]
    for y, e in zip(got, es):
        assert y.shape == (8,)
        np.testing.assert_array_equal(y, e.npvalue())
    states = builder.add_inputs(xs)
    assert len(states) == 4 and builder.transduce([]) == builder.add_inputs([]) == []
    for (forward, backward), y in zip(states, got):
        both = np.concatenate([forward.output().npvalue(), backward.output().npvalue()])
        np.testing.assert_array_equal(both, y)
    np.testing.assert_array_equal(states[0][1].prev().output().npvalue(), got[1][4:])
    ends = np.concatenate([got[-1][:4], got[0][4:]])
    np.testing.assert_array_equal(builder.back(iter(xs)).npvalue(), ends)


class OwnState:
    """A state of a program's own, which adds up its inputs."""

    def transduce(self, xs):
        return [dy.esum(xs[: k + 1]) for k in range(len(xs))]

    def add_inputs(self, xs):
        return [str(x.npvalue()) for x in self.transduce(xs)]


class OwnBuilder:
    def initial_state(self) -> OwnState:
        return OwnState()


class OwnGRU(dy.GRUBuilder):
    asked = 0

    def initial_state(self, *args, **kwargs):
        self.asked += 1
        return super().initial_state(*args, **kwargs)


def test_a_bidirectional_network_reads_with_builders_of_a_program():
    m = dy.ParameterCollection()
    xs = inputs(3)
    values = [x.npvalue() for x in xs]
    right, left = np.cumsum(values, axis=0), np.cumsum(values[::-1], axis=0)[::-1]
    builder = dy.BiRNNBuilder(1, 3, 6, m, None, [(OwnBuilder(), OwnBuilder())])
    for y, *want in zip(builder.transduce(iter(xs)), right, left):
        np.testing.assert_allclose(y.npvalue(), np.concatenate(want), rtol=1e-6)
    assert [len(pair) for pair in builder.add_inputs(xs)] == [2, 2, 2]
    assert builder.add_inputs(xs)[0][0] == str(values[0])
    assert builder.add_inputs(xs)[-1][1] == str(values[-1])
    ends = np.concatenate([right[-1], left[0]])
    np.testing.assert_allclose(builder.back(iter(xs)).npvalue(), ends, rtol=1e-6)
    gru = OwnGRU(1, 3, 3, m)
    builder = dy.BiRNNBuilder(1, 3, 6, m, None, [(gru, gru)])
    builder.transduce(xs), builder.back(xs)
    assert gru.asked == 4
    builder = dy.BiRNNBuilder(1, 3, 6, m, None, [(gru, OwnBuilder())])
    hs = gru.initial_state().transduce(xs)
    for y, h, other in zip(builder.transduce(xs), hs, left):
        np.testing.assert_allclose(y.npvalue(), np.concatenate([h.npvalue(), other]), rtol=1e-6)


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyboardInterrupt])
def test_errors_of_builders_of_a_program_come_through(error):
    class Failing:
        def initial_state(self):
            raise error("its own")

    m = dy.ParameterCollection()
    builder = dy.BiRNNBuilder(1, 3, 6, m, None, [(dy.GRUBuilder(1, 3, 3, m), Failing())])
    for read in (builder.transduce, builder.back, builder.add_inputs):
        with pytest.raises(error) as raised:
            read(iter(inputs(2)))
        assert raised.type is error and str(raised.value) == "its own"


def test_a_bidirectional_network_has_a_layer():
    with pytest.raises(dy.ValueError, match=r"builder_layers is empty; want a pair"):
        dy.BiRNNBuilder(1, 3, 6, dy.ParameterCollection(), None, [])


def test_wrong_calls_of_a_bidirectional_network_name_it():
    builder = dy.BiRNNBuilder(1, 3, 4, dy.ParameterCollection(), dy.GRUBuilder)
    x = inputs(1)[0]
    text = r"BiRNNBuilder.transduce: es\[1\] is 'a', of type str; want an expression\n  called at"
    with pytest.raises(dy.TypeError, match=text):
        builder.transduce([x, "a"])
    with pytest.raises(dy.TypeError, match=text.replace("transduce", "add_inputs")):
        builder.add_inputs([x, "a"])
    with pytest.raises(dy.TypeError, match=text.replace("transduce", "back")):
        builder.back([x, "a"])
    with pytest.raises(dy.EmptyListError, match=r"BiRNNBuilder\.back: the list .* is empty"):
        builder.back([])
    parts = [b.initial_state() for b in builder.builder_layers[0]]
    dy.renew_cg()
    with pytest.raises(dy.StaleExpression, match="stale expression"):
        builder.transduce([x])
    with pytest.raises(dy.StaleExpression, match=r"BiRNNBuilder\.add_inputs: stale builder"):
        _dynet._add_inputs_both(*parts, inputs(1))


def test_a_bidirectional_network_has_the_files_of_cpp(tmp_path):
    # The C++ twin of this test is in birnn_test.cc.
    text, count = "", 0
    for number, read in enumerate([3, 3, 4, 4]):
        name = f"/birnn/simple-rnn-builder{f'_{number}' if number else ''}"
        for k, (shape, size) in enumerate([(f"2,{read}", 2 * read), ("2,2", 4), ("2", 2)]):
            values = [(5 * i % 17 - 8) / 8 for i in range(count, count + size)]
            count += size
            line = "".join(f"{value:+.8e} " for value in values) + "\n"
            text += f"#Parameter# {name}/_{k} {{{shape}}} {len(line)} ZERO_GRAD\n{line}"
    file = tmp_path / "model"
    file.write_text(text, encoding="ascii")
    m = dy.ParameterCollection()
    builder = dy.BiRNNBuilder(2, 3, 4, m, dy.SimpleRNNBuilder)
    m.populate(str(file))
    hs = builder.transduce([dy.inputVector([1, 0.5, -1]), dy.inputVector([0, 2, 0.25])])
    want = [
        [0.392278921, -0.427513163, 0.930411257, -0.627345569],
        [0.473251684, 0.857373694, 0.506432379, -0.949177684],
    ]
    for h, values in zip(hs, want):
        np.testing.assert_allclose(h.npvalue(), values, rtol=1e-6)
    m.save(str(file))
    assert file.read_text(encoding="ascii") == text


def test_members_of_the_bidirectional_network():
    m = dy.ParameterCollection()
    builder = dy.BiRNNBuilder(1, 3, 6, m, dy.GRUBuilder)
    assert builder.whoami() == "BiRNNBuilder"
    assert builder.spec == (1, 3, 6, dy.GRUBuilder, None)
    assert builder.param_collection().name() == "/birnn/"
    other = dy.BiRNNBuilder.from_spec(builder.spec, m)
    assert other.param_collection().name() == "/birnn_1/"
    given = dy.BiRNNBuilder(1, 3, 6, m, None, [(dy.GRUBuilder(1, 3, 3, m),) * 2])
    assert len(given.builder_layers) == 1
    for wrong in [(0, 3, 6), (1, 3, 5)]:
        with pytest.raises(AssertionError):
            dy.BiRNNBuilder(*wrong, m, dy.GRUBuilder)
    x = inputs(1)[0].npvalue()

    def output() -> np.ndarray:
        dy.renew_cg()
        return builder.transduce([dy.inputVector(x)])[0].npvalue()

    plain = output()
    builder.set_dropout(0.5)
    assert any((output() != plain).any() for _ in range(20))
    builder.disable_dropout()
    np.testing.assert_array_equal(output(), plain)
    # An old program's layers: a nested list.
    old = dy.BiRNNBuilder(num_layers=2, input_dim=3, hidden_dim=4, model=m,
                          rnn_builder_factory=dy.LSTMBuilder)  # fmt: skip
    assert [len(layer) for layer in old.builder_layers] == [2, 2]


def test_options_go_to_the_builders(tmp_path):
    m = dy.ParameterCollection()
    settings = {"ln_lstm": False, "forget_bias": 0.25}
    builder = dy.BiRNNBuilder(2, 3, 8, m, dy.VanillaLSTMBuilder, **settings)
    assert [one.spec[3:] for pair in builder.builder_layers for one in pair] == [(False, 0.25)] * 4
    assert builder.spec == (2, 3, 8, dy.VanillaLSTMBuilder, None, settings)
    xs = [x.npvalue() for x in inputs(3)]

    def outputs(one: dy.BiRNNBuilder) -> list[list[float]]:
        dy.renew_cg()
        return [y.npvalue().tolist() for y in one.transduce([dy.inputVector(x) for x in xs])]

    dy.save(str(tmp_path / "model"), [builder])
    (loaded,) = dy.load(str(tmp_path / "model"), dy.ParameterCollection())
    for other in (loaded, copy.deepcopy(builder)):
        assert other.spec == builder.spec
        assert outputs(other) == outputs(builder)
    gru = dy.BiRNNBuilder(1, 3, 8, m, dy.GRUBuilder, reset_after=True)
    assert gru.builder_layers[0][1].spec == (1, 3, 4, True)
    with pytest.raises(dy.ValueError, match="option forget_bias with builder_layers"):
        dy.BiRNNBuilder(1, 3, 8, m, None, gru.builder_layers, forget_bias=1.0)
    with pytest.raises(TypeError, match="forget_bias"):
        dy.BiRNNBuilder(1, 3, 8, m, dy.GRUBuilder, forget_bias=1.0)


def test_stacked_states():
    m = dy.ParameterCollection()
    lower, upper = dy.GRUBuilder(1, 3, 4, m), dy.VanillaLSTMBuilder(1, 4, 5, m)
    start = dy.StackedRNNState([lower.initial_state(), upper.initial_state()])
    assert start.output() is None and start.prev() is None
    a, b = inputs(2)
    after = start.add_input(a).add_input(b)
    want = upper.initial_state().transduce(lower.initial_state().transduce([a, b]))[-1]
    np.testing.assert_array_equal(after.output().npvalue(), want.npvalue())
    assert [h.dim()[0] for h in after.h()] == [(4,), (5,)]
    assert [s.dim()[0] for s in after.s()] == [(4,), (5,), (5,)]
    states = start.add_inputs([a, b])
    np.testing.assert_array_equal(states[1].output().npvalue(), want.npvalue())
    assert states[1].prev() is states[0] and states[0].prev() is start
