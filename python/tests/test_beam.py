"""Beam search."""

from __future__ import annotations

import collections
import itertools

import dynet as dy
import numpy as np
import pytest

END, BEGIN, WORDS = 0, 1, 4


def chain(seed: int) -> np.ndarray:
    """ln p(word | last), by last word."""
    z = np.random.default_rng(seed).normal(size=(WORDS, WORDS)) * 2
    return z - np.log(np.exp(z).sum(axis=1, keepdims=True))


def finished(logs: np.ndarray, longest: int) -> list[tuple[float, list[int]]]:
    """All sequences that end, with their log-probabilities."""
    found = []
    for n in range(longest):
        for body in itertools.product(range(1, WORDS), repeat=n):
            words = [*body, END]
            found.append((sum(logs[a, b] for a, b in zip([BEGIN, *body], words)), words))
    return found


@pytest.mark.parametrize("norm", [None, dy.length_power(1.0), dy.length_wu(0.7), lambda n: n + 1.0])
def test_a_wide_beam_finds_the_best_of_all(norm):
    for seed in range(5):
        dy.renew_cg()
        logs = chain(seed)

        def step(state, word, logs=logs):
            return state, dy.inputVector(logs[word])

        found = dy.beam_search(
            step, None, BEGIN, END, width=300, max_length=4, n_best=5, length_norm=norm
        )
        scores = [
            (p / (norm(len(words)) if norm else 1.0), p, words) for p, words in finished(logs, 4)
        ]
        scores.sort(reverse=True)
        assert [h.words for h in found] == [words for _, _, words in scores[:5]]
        np.testing.assert_allclose([h.score for h in found], [s for s, _, _ in scores[:5]], 1e-5)
        np.testing.assert_allclose(
            [h.log_probability for h in found], [p for _, p, _ in scores[:5]], 1e-5
        )
        assert all(h.finished for h in found)


def network(kind: str):
    """(start, read): the state before the first word, and the state and vector after one more."""
    m = dy.ParameterCollection()
    words = m.add_lookup_parameters((WORDS, 8))
    out = m.add_parameters((WORDS, 8))
    if kind == "transformer":
        builder = dy.TransformerDecoderBuilder(1, 8, 2, 16, m, has_memory=False)
        positions = dy.SinusoidalEncoding(8)

        def read(state, x):
            after = builder.add_input(state, positions.add(x, state.positions()))
            return after, after.output()

        start = builder.start
    else:
        builder = dy.LSTMBuilder(2, 8, 8, m)

        def read(state, x):
            now = builder.initial_state(list(state)) if state else builder.initial_state()
            after = now.add_input(x)
            return after.s(), after.output()

        def start():
            return ()

    for k, p in enumerate([*m.parameters_list()]):
        p.set_value(np.random.default_rng(k).normal(size=p.shape()))

    def step(state, word):
        after, h = read(state, words[word])
        late = dy.inputVector([-3.0, *[0.0] * (WORDS - 1)])  # the end symbol does not come at once
        return after, dy.log_softmax(out * h + late)

    return start, step


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_checkpoints_give_the_same(kind):
    start, step = network(kind)
    options = {"width": 3, "max_length": 12, "n_best": 3, "length_norm": dy.length_wu(1.0)}
    dy.renew_cg()
    plain = dy.beam_search(step, start(), BEGIN, END, **options)
    dy.renew_cg()
    begin = start()
    bounded = dy.beam_search(step, begin, BEGIN, END, checkpoints=True, **options)
    assert [h.words for h in bounded] == [h.words for h in plain]
    np.testing.assert_allclose([h.score for h in bounded], [h.score for h in plain], 1e-4)
    assert max(len(h.words) for h in plain) > 2


Carried = collections.namedtuple("Carried", ["words", "cells"])
FORMS = {
    "list": (list, list),
    "tuple": (tuple, list),
    "dict": (lambda s: dict(enumerate(s)), lambda s: list(s.values())),
    "nested": (lambda s: {"all": [(e,) for e in s]}, lambda s: [e for (e,) in s["all"]]),
    "namedtuple": (lambda s: Carried(len(s), tuple(s)), lambda s: list(s.cells)),
}


@pytest.mark.parametrize("form", FORMS)
def test_checkpoints_carry_states_of_every_form(form):
    wrap, unwrap = FORMS[form]
    start, step = network("lstm")

    def wrapped(state, word):
        after, logs = step(unwrap(state), word)
        return wrap(after), logs

    options = {"width": 3, "max_length": 12, "n_best": 3, "length_norm": dy.length_wu(1.0)}
    dy.renew_cg()
    plain = dy.beam_search(step, start(), BEGIN, END, **options)
    dy.renew_cg()
    begin = wrap(())
    bounded = dy.beam_search(wrapped, begin, BEGIN, END, checkpoints=True, **options)
    assert [h.words for h in bounded] == [h.words for h in plain]
    np.testing.assert_allclose([h.score for h in bounded], [h.score for h in plain], 1e-4)
    assert max(len(h.words) for h in plain) > 2


def test_a_width_of_one_is_greedy():
    start, step = network("lstm")
    dy.renew_cg()
    state, word, greedy = start(), BEGIN, []
    while len(greedy) < 8 and (not greedy or word != END):
        state, logs = step(state, word)
        word = int(np.argmax(logs.npvalue()))
        greedy.append(word)
    found = dy.beam_search(step, start(), BEGIN, END, width=1, max_length=8)
    assert [h.words for h in found] == [greedy]


def test_states_of_recurrent_builders_as_they_are():
    m = dy.ParameterCollection()
    rnn = dy.GRUBuilder(1, 4, WORDS, m)
    words = m.add_lookup_parameters((WORDS, 4))

    def step(state, word):
        after = state.add_input(words[word])
        return after, dy.log_softmax(after.output())

    found = dy.beam_search(step, rnn.initial_state(), BEGIN, END, max_length=5, n_best=2)
    assert len(found) == 2 and found[0].score >= found[1].score
    with pytest.raises(TypeError, match="carried as s"):
        dy.beam_search(step, rnn.initial_state(), BEGIN, END, checkpoints=True, max_length=5)


def test_errors():
    def failing(state, word):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dy.beam_search(failing, None, BEGIN, END, checkpoints=True)
    with pytest.raises(TypeError, match="gives a pair"):
        dy.beam_search(lambda s, w: (s, 1.0), None, BEGIN, END)
    for wrong in (None, 3):
        with pytest.raises(TypeError, match=rf"step gave {wrong}.*; it gives a pair"):
            dy.beam_search(lambda s, w: wrong, None, BEGIN, END)
    with pytest.raises(
        TypeError, match=r"step is called as step\(state, word\), and .* 1 positional"
    ):
        dy.beam_search(lambda s: None, None, BEGIN, END)
    with pytest.raises(ZeroDivisionError):
        dy.beam_search(lambda s, w: (1 / 0 for _ in "ab"), None, BEGIN, END)
    good = dy.inputVector([-1.0, -2.0])
    for wrong in ({"width": 0}, {"max_length": 0}, {"n_best": 0}, {"prune": -1.0}):
        with pytest.raises(ValueError, match="beam_search: width"):
            dy.beam_search(lambda s, w: (s, good), None, BEGIN, END, **wrong)
    with pytest.raises(ValueError, match="the norm of length"):
        dy.beam_search(lambda s, w: (s, good), None, BEGIN, END, length_norm=lambda n: -1.0)
    with pytest.raises(TypeError, match=r"beam_search: .* 0 positional arguments but 1 was given"):
        dy.beam_search(lambda s, w: (s, good), None, BEGIN, END, length_norm=lambda: 1.0)
    with pytest.raises(IndexError, match="the end symbol is 2"):
        dy.beam_search(lambda s, w: (s, good), None, BEGIN, 2)
    with pytest.raises(dy.NumericError, match="is NaN"):
        dy.beam_search(lambda s, w: (s, good * float("nan")), None, BEGIN, END)
    found = dy.beam_search(lambda s, w: (s, good), None, BEGIN, END)
    assert found[0].words == [END] and found[0].finished


def test_wrong_calls_say_what_is_wrong():
    class Raises:
        def __index__(self):
            raise KeyError("mine")

    def step(state, word):
        return state, dy.inputVector([-1.0, -2.0])

    with pytest.raises(dy.TypeError, match="beam_search: the argument step is missing"):
        dy.beam_search()
    with pytest.raises(dy.TypeError, match="beam_search: step is 1, of type int; want a function"):
        dy.beam_search(1, 2, 3, 4)
    with pytest.raises(dy.TypeError, match="beam_search: prune is 'a', of type str; want a number"):
        dy.beam_search(step, None, BEGIN, END, prune="a")
    with pytest.raises(dy.TypeError, match=r"beam_search: width is 1\.5, which is not whole"):
        dy.beam_search(step, None, BEGIN, END, 1.5)
    for wrong in ((Raises(), END), (BEGIN, END, Raises())):
        with pytest.raises(KeyError, match="mine"):
            dy.beam_search(step, None, *wrong)
    with pytest.raises(dy.TypeError, match="beam_search: prune is None; want a number"):
        dy.beam_search(step, None, BEGIN, END, prune=None)


def test_searches_of_many_sentences_together():
    """The same hypotheses as one search after the other, with a plan for each step of all."""
    m = dy.ParameterCollection()
    lstm, words = dy.GRUBuilder(1, 4, 6, m), m.add_lookup_parameters((7, 4), scale=2.0)
    out = m.add_parameters((7, 6), scale=2.0)
    lstm.set_dropout(0.5)  # which is off in searches

    def step(state, word):
        state = state.add_input(words[word])
        return state, dy.log_softmax(out * state.output())

    def starts():
        return [
            lstm.initial_state([dy.inputVector(np.random.default_rng(k).normal(size=6))])
            for k in range(5)
        ]

    options = {"width": 3, "max_length": 6, "n_best": 2, "length_norm": dy.length_wu(0.6)}
    alone = [dy.beam_search(step, s, k, 0, **options) for k, s in enumerate(starts(), 1)]
    dy.renew_cg()
    together = dy.run_together(
        dy.beam_search_task(step, s, k, 0, **options) for k, s in enumerate(starts(), 1)
    )
    assert [[h.words for h in found] for found in together] == [
        [h.words for h in found] for found in alone
    ]
    assert len({tuple(found[0].words) for found in together}) > 1
    for one, other in zip(together, alone):
        np.testing.assert_allclose([h.score for h in one], [h.score for h in other], rtol=1e-5)
    results = dy.run_together(
        [
            dy.beam_search_task(step, starts()[0], 1, 9),
            dy.beam_search_task(step, starts()[0], 1, 0, width=0),
            dy.beam_search_task(lambda s, w: 3, None, 1, 0),
        ],
        return_exceptions=True,
    )
    assert [type(e) for e in results] == [dy.IndexError, dy.ValueError, dy.TypeError]
    assert "beam_search: step gave 3" in str(results[2])


def test_wrong_calls_of_the_task_say_what_is_wrong():
    def step(state, word):
        return state, dy.inputVector([-1.0, -2.0])

    with pytest.raises(dy.TypeError, match="beam_search_task: the argument start is missing"):
        dy.beam_search_task(step)
    with pytest.raises(dy.TypeError, match=r"no argument widht; .*; did you mean width\?"):
        dy.beam_search_task(step, None, BEGIN, END, widht=3)
    for wrong, why in [
        ({"width": 1.5}, "width is 1.5, which is not whole"),
        ({"end": -1}, "end is -1; want a whole number from 0"),
        ({"prune": "a"}, "prune is 'a', of type str; want a number"),
        ({"length_norm": 3}, "length_norm is 3, of type int; want "),
    ]:
        task = dy.beam_search_task(**{"step": step, "start": None, "first": 1, "end": 0, **wrong})
        with pytest.raises(dy.Error, match=f"beam_search_task: {why}"):
            dy.run_together([task])
