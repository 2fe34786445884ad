"""`with dy.evaluating():`: no dropout and no noise, the same numbers twice."""

from __future__ import annotations

import threading

import dynet as dy
import numpy as np
import pytest
from recurrent import RECURRENT, inputs

OPERATIONS = {
    "dropout": lambda x: dy.dropout(x, 0.5),
    "dropout_dim": lambda x: dy.dropout_dim(x, 0, 0.5),
    "dropout_batch": lambda x: dy.dropout_batch(x, 0.5),
    "block_dropout": lambda x: dy.block_dropout(x, 0.5),
    "noise": lambda x: dy.noise(x, 0.5),
    "by keyword": lambda x: dy.dropout(x=x, p=0.5),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_their_argument(name):
    x = dy.inputTensor(np.ones((40, 3)), batched=True)
    make = OPERATIONS[name]
    with dy.evaluating():
        assert str(make(x)) == str(x)
        np.testing.assert_array_equal(make(x).npvalue(), x.npvalue())
    outside = [make(x).npvalue().tobytes() for _ in range(30)]
    assert any(y != x.npvalue().tobytes() for y in outside)


def test_wrong_calls_are_errors_as_outside():
    x = dy.inputVector([1.0, 2.0])
    with dy.evaluating():
        with pytest.raises(ValueError, match="p from 0 to 1"):
            dy.dropout(x, 2)
        with pytest.raises(dy.ShapeError):
            dy.dropout_dim(x, 4, 0.5)
        with pytest.raises(TypeError):
            dy.dropout("x", 0.5)
        dy.renew_cg()
        with pytest.raises(dy.StaleExpression):
            dy.dropout(x, 0.5)


def test_parameters_become_their_nodes():
    w = dy.ParameterCollection().add_parameters(5, init=1.0)
    with dy.evaluating():
        np.testing.assert_array_equal(dy.dropout(w, 0.5).npvalue(), np.ones(5))


def outputs(builder: object) -> bytes:
    dy.renew_cg()
    state = builder.initial_state().add_inputs(inputs(3, 12))[-1]
    return np.concatenate([h.npvalue() for h in (*state.h(), state.output())]).tobytes()


@pytest.mark.parametrize("builder_class", RECURRENT)
def test_builders_have_no_dropout(builder_class):
    builder = builder_class(2, 12, 16, dy.ParameterCollection())
    plain = outputs(builder)
    builder.set_dropout(0.5)
    with dy.evaluating():
        assert outputs(builder) == plain
        assert outputs(builder) == plain
    assert outputs(builder) != plain


def test_other_builders_have_no_dropout():
    m = dy.ParameterCollection()
    both = dy.BiRNNBuilder(1, 12, 16, m, dy.VanillaLSTMBuilder)
    encoder = dy.TransformerEncoderBuilder(1, 12, 3, 24, m)
    tree = dy.ChildSumTreeLSTMBuilder(1, 12, 12, m)

    def run() -> bytes:
        dy.renew_cg()
        xs = inputs(3, 12)
        leaf = tree.add_input(0, [], xs[0]) if tree.start_new_sequence() is None else None
        all_outputs = [
            both.transduce(xs)[-1],
            encoder.encode(dy.concatenate_cols(xs)),
            leaf,
            tree.add_input(1, [0], xs[1]),
        ]
        return b"".join(y.npvalue().tobytes() for y in all_outputs)

    plain = run()
    for builder in (both, encoder, tree):
        builder.set_dropout(0.5)
        assert run() != plain
        with dy.evaluating():
            assert run() == plain
            assert run() == plain
        assert run() != plain
        builder.disable_dropout()


def test_a_state_that_is_older_than_the_scope():
    builder = dy.VanillaLSTMBuilder(1, 12, 16, dy.ParameterCollection())
    builder.set_dropout(0.5)
    x = inputs(1, 12)[0]
    state = builder.initial_state().add_input(x)
    after = state.add_input(x).output().npvalue()
    with dy.evaluating():
        within = [state.add_input(x) for _ in range(2)]
    np.testing.assert_array_equal(*[s.output().npvalue() for s in within])
    assert within[0].output().npvalue().tobytes() != after.tobytes()
    np.testing.assert_array_equal(state.add_input(x).output().npvalue(), after)
    within[0].add_input(x).output().npvalue()  # outside, with the masks of its sequence


def test_weights_have_no_noise():
    builder = dy.CompactVanillaLSTMBuilder(1, 12, 16, dy.ParameterCollection())
    plain = outputs(builder)
    builder.set_weightnoise(0.5)
    with dy.evaluating():
        assert outputs(builder) == plain
        dy.renew_cg()
        start = builder.initial_state()
        assert start.add_input(inputs(1, 12)[0]).output().npvalue().shape == (16,)
    assert outputs(builder) != plain


def test_scopes_nest_and_end_with_exceptions():
    scope = dy.evaluating()
    assert not dy.evaluating.is_on()
    with pytest.raises(RuntimeError, match="mine"), scope, scope:
        assert dy.evaluating.is_on()
        raise RuntimeError("mine")
    assert not dy.evaluating.is_on()
    with dy.evaluating():
        with dy.evaluating():
            pass
        assert dy.evaluating.is_on()
    with dy.evaluating(), dy.no_grad():
        assert dy.evaluating.is_on()
    with dy.no_grad():
        assert not dy.evaluating.is_on()


def test_threads_have_scopes_of_their_own():
    found, errors, scope = [], [], dy.evaluating()

    def look() -> None:
        found.append(dy.evaluating.is_on())
        try:
            scope.__exit__(None, None, None)
        except dy.UsageError as error:
            errors.append(str(error))

    with scope:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert dy.evaluating.is_on()
    assert found == [False]
    assert errors and errors[0].startswith("evaluating: left by a thread")


def test_on_eval_of_fit_is_evaluated():
    m = dy.ParameterCollection()
    w = m.add_parameters(4, init=1.0)
    seen = []

    def loss(_example: int) -> dy.Expression:
        seen.append(("loss", dy.evaluating.is_on()))
        return dy.squared_norm(dy.dropout(w, 0.5))

    def on_eval(_step: dy.Step) -> float:
        seen.append(("eval", dy.evaluating.is_on()))
        dy.renew_cg()
        scores = {dy.squared_norm(dy.dropout(w, 0.5)).value() for _ in range(5)}
        assert len(scores) == 1
        return scores.pop()

    dy.fit(loss, [1, 2], dy.SimpleSGDTrainer(m), epochs=2, on_eval=on_eval, progress=False)
    assert set(seen) == {("loss", False), ("eval", True)}

    def failing(_step: dy.Step) -> float:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        dy.fit(loss, [1], dy.SimpleSGDTrainer(m), on_eval=failing, progress=False)
    assert not dy.evaluating.is_on()


def test_beam_search_is_evaluated():
    seen = []

    def step(state: int, _word: int) -> tuple[int, dy.Expression]:
        seen.append(dy.evaluating.is_on())
        return state + 1, dy.dropout(dy.inputVector([-1.0, -2.0, -3.0]), 1.0)

    first = dy.beam_search(step, 0, 1, 0, width=2, max_length=3)
    assert first[0].words == [0] and first[0].log_probability == -1.0
    assert seen and all(seen)
    assert not dy.evaluating.is_on()


def test_training_goes_on_as_without_an_evaluation():
    def train(evaluate: bool) -> list[float]:
        dy.reset_random_seed(5)
        m = dy.ParameterCollection()
        builder = dy.GRUBuilder(1, 12, 8, m)
        builder.set_dropout(0.3)
        trainer = dy.SimpleSGDTrainer(m)
        losses = []
        for _ in range(4):
            dy.renew_cg()
            loss = dy.squared_norm(builder.initial_state().add_inputs(inputs(2, 12))[-1].output())
            losses.append(loss.value())
            loss.backward()
            trainer.update()
            if evaluate:
                with dy.evaluating():
                    outputs(builder)
        return losses

    assert train(True) == train(False)
