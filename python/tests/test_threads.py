"""Several threads in the module at once: results are the same as with one thread, and nothing
breaks.

With a GIL Python runs one thread at a time; without (free-threaded builds) all threads.
DYNET_TEST_ROUNDS is the number of repetitions.
"""

from __future__ import annotations

import contextlib
import gc
import os
import queue
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterator

import dynet as dy
import numpy as np
import pytest
from far import PRELUDE
from together import together

THREADS = 4
ROUNDS = int(os.environ.get("DYNET_TEST_ROUNDS", "1"))


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work: Callable[[int], None], threads: int = THREADS) -> None:
    together(*[lambda k=k: work(k) for k in range(threads)])


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL always"
)
def test_importing_leaves_the_gil_off():
    code = "import sys, dynet; print(sys._is_gil_enabled())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON_GIL"}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + code],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (result.stdout, result.stderr) == ("False\n", "")


# ---- results -------------------------------------------------------------------------------------------


class Tagger:
    """A model of its own, with builders and a trainer."""

    def __init__(self, k: int) -> None:
        dy.reset_random_seed(k + 1)
        self.model = dy.ParameterCollection()
        self.table = self.model.add_lookup_parameters((20, 6))
        self.forth = dy.VanillaLSTMBuilder(1, 6, 5, self.model)
        self.back = dy.GRUBuilder(1, 6, 5, self.model)
        self.W = self.model.add_parameters((3, 10))
        self.b = self.model.add_parameters(3)
        self.trainer = dy.AdamTrainer(self.model)

    def loss(self, words: list[int]) -> dy.Expression:
        dy.renew_cg()
        xs = [self.table[w] for w in words]
        forth = self.forth.initial_state().transduce(xs)
        back = list(reversed(self.back.initial_state().transduce(list(reversed(xs)))))
        scores = (dy.affine_transform([self.b, self.W, dy.concatenate([f, g])])
                  for f, g in zip(forth, back))  # fmt: skip
        losses = [dy.pickneglogsoftmax(s, w % 3) for s, w in zip(scores, words)]
        return dy.esum(losses) * (1 / len(words))

    def train(self, steps: int) -> list[float]:
        losses = []
        for step in range(steps):
            loss = self.loss([(7 * step + 3 * i) % 20 for i in range(2 + step % 5)])
            losses.append(loss.value())
            loss.backward()
            self.trainer.update()
        return losses


def test_models_train_as_they_do_alone():
    steps = 25 * ROUNDS
    alone = [Tagger(k).train(steps) for k in range(THREADS)]
    taggers = [Tagger(k) for k in range(THREADS)]
    losses: dict[int, list[float]] = {}
    in_threads(lambda k: losses.__setitem__(k, taggers[k].train(steps)))
    assert [losses[k] for k in range(THREADS)] == alone
    assert sum(alone[0][-5:]) < sum(alone[0][:5])


def test_a_shared_model_is_trained_by_all_threads():
    """Gradients are whole numbers, so that their order does not matter. One thread updates alone."""

    def gradients(W: dy.Parameters, E: dy.LookupParameters, k: int, step: int) -> float:
        dy.renew_cg()
        x = dy.inputVector([float(k + 1), float(step % 3), 1.0])
        loss = dy.sum_elems(dy.cmult(W * x, E[(k + step) % 5]))
        loss.backward()
        return loss.value()

    def made() -> tuple[dy.Parameters, dy.LookupParameters, dy.Trainer]:
        model = dy.ParameterCollection()
        W = model.add_parameters((2, 3), init=1.0)
        E = model.add_lookup_parameters((5, 2), init=2.0)
        trainer = dy.SimpleSGDTrainer(model, 1 / 1024)
        trainer.set_clip_threshold(0.0)
        return W, E, trainer

    steps = 20 * ROUNDS
    W, E, trainer = made()
    alone = []
    for step in range(min(steps, 20)):
        alone.append([gradients(W, E, k, step) for k in range(THREADS)])
        trainer.update()
    numbers = W.as_array(), E.as_array()

    for _ in range(ROUNDS):
        W, E, trainer = made()
        meeting = threading.Barrier(THREADS)
        values = [[0.0] * THREADS for _ in range(20)]

        def work(k: int) -> None:
            for step in range(20):
                values[step][k] = gradients(W, E, k, step)
                if meeting.wait(60) == 0:
                    trainer.update()
                meeting.wait(60)

        in_threads(work)
        np.testing.assert_allclose(values, alone, rtol=1e-5)
        np.testing.assert_allclose(W.as_array(), numbers[0], rtol=1e-5)
        np.testing.assert_allclose(E.as_array(), numbers[1], rtol=1e-5)


class Twice:
    def forward(self, x):
        return 2.0 * x

    def backward(self, xs, y, dy):
        return 2.0 * dy


def test_long_computations_beside_short_ones():
    model = dy.ParameterCollection()
    W = model.add_parameters((60, 60), init="identity")

    def chain(k: int) -> list[float]:
        dy.renew_cg()
        x = dy.inputVector([0.01 * (k + 1)] * 60)
        for _ in range(500 if k % 2 == 0 else 5):
            x = dy.tanh(W * x)
        y = dy.apply(Twice(), x)
        dy.sum_elems(y).backward(full=True)
        return y.vec_value() + x.gradient().tolist()

    alone = [chain(k) for k in range(THREADS)]

    def work(k: int) -> None:
        for _ in range(10 * ROUNDS):
            assert chain(k) == alone[k]

    in_threads(work)


# ---- objects that threads share ------------------------------------------------------------------------


def test_a_dictionary():
    for _ in range(ROUNDS):
        words = dy.Dict()
        ids: dict[int, dict[str, int]] = {}

        def work(k: int) -> None:
            ids[k] = {}
            for i in range(300):
                word = f"word{(i * (k + 1)) % 300}"
                ids[k].setdefault(word, words.convert(word))
                assert words.convert(words.convert(word)) == word

        in_threads(work)
        for mine in ids.values():
            assert all(words.convert(word) == number for word, number in mine.items())
        assert {words.convert(f"word{i}") for i in range(300)} == set(range(300))
        assert len(words) == 300


def test_a_collection():
    for _ in range(ROUNDS):
        model = dy.ParameterCollection()

        def work(k: int) -> None:
            for i in range(25):
                model.add_parameters((2, 3), name="W")
                part = model.add_subcollection("part")
                part.add_lookup_parameters((4, k + 1))
                dy.LSTMBuilder(1, 2, 2, part)
                assert "W" in repr(model)
                assert model.parameter_count() > 0
                if i % 5 == 0:
                    dy.AdamTrainer(model)

        in_threads(work)
        names = [p.name() for p in model.parameters_list()]
        assert len([n for n in names if n.startswith("/W")]) == 25 * THREADS
        assert len(set(names)) == len(names)
        assert len(model.lookup_parameters_list()) == 25 * THREADS


def test_errors_and_the_lines_that_they_name():
    W = dy.ParameterCollection().add_parameters((2, 3))

    def failing_generator() -> Iterator[dy.Expression]:
        yield dy.scalarInput(1.0)
        raise KeyError("mine")

    def work(k: int) -> None:
        # A function of each thread's own, which the module sees for the first time.
        own: dict[str, Callable[[], dy.Expression]] = {}
        for i in range(20 * ROUNDS):
            dy.renew_cg()
            code = compile(
                f"def use{i}(): return W * dy.inputVector([1, 2])", f"file{k}_{i}.py", "exec"
            )
            exec(code, {"W": W, "dy": dy}, own)
            with pytest.raises(dy.ShapeError, match=rf"file{k}_{i}\.py:1 in use{i}\(\)"):
                own[f"use{i}"]()
            with pytest.raises(dy.TypeError, match="tanh"):
                dy.tanh("text")
            with pytest.raises(KeyError, match="mine"):
                dy.esum(failing_generator())
            with pytest.raises(dy.TypeError):
                dy.scalarInput(1.0) + "text"
            with pytest.raises(AttributeError, match="call it"):
                W.name.upper
            assert "test_threads.py" in repr(dy.scalarInput(1.0) + 1.0)

    in_threads(work)


def test_objects_that_another_thread_destroys():
    made: queue.Queue[object] = queue.Queue(50)

    def make(k: int) -> None:
        for i in range(60 * ROUNDS):
            model = dy.ParameterCollection()
            builder = dy.VanillaLSTMBuilder(1, 2, 3, model)
            with dy.ComputationGraph() as graph:
                state = builder.initial_state().add_input(dy.inputVector([1.0, float(i)]))
                loss = dy.squared_norm(state.output())
                view = loss.numpy()
                loss.backward()
            made.put([graph, loss, state])
            made.put([model.add_parameters(2), builder, dy.AdamTrainer(model)])
            made.put([view, dy.apply(Twice(), dy.inputVector([1.0, 2.0])), dy.Dict()])
            dy.renew_cg()
        made.put(None)

    def drop() -> None:
        ends = 0
        while ends < 2:
            objects = made.get(timeout=60)
            if objects is None:
                ends += 1
            else:
                repr(objects)
        gc.collect()

    together(lambda: make(0), lambda: make(1), drop)


def test_short_lived_threads():
    W = dy.ParameterCollection().add_parameters((4, 4), init="identity")
    kept = []

    def work() -> None:
        mine = dy.tanh(W * dy.inputVector([1.0, 2.0, 3.0, 4.0]))
        kept.append(mine)
        assert len(mine.value()) == 4

    for _ in range(25 * ROUNDS):
        together(*[work] * THREADS)
        assert all(x.is_stale() for x in kept)
        kept.clear()


# ---- misuse is an error, or works ----------------------------------------------------------------------


def test_one_graph_in_all_threads():
    """The second thread gets an error, or waits; the graph stays whole."""
    W = dy.ParameterCollection().add_parameters((2, 2), init="identity")
    graph = dy.ComputationGraph()

    def work(k: int) -> None:
        mine = []
        for i in range(100 * ROUNDS):
            try:
                with graph:
                    mine.append(dy.tanh(W * dy.inputVector([float(k), float(i)])))
                    mine[i // 2 % len(mine)].value()
                    dy.sum_elems(mine[-1]).backward()
                    repr(mine[-1])
                    if i % 20 == k:
                        graph.renew()
                        mine.clear()
            except (dy.GraphError, dy.StaleExpression, ZeroDivisionError):
                mine.clear()

    in_threads(work)
    graph.renew()
    with graph:
        assert (W * dy.inputVector([1.0, 2.0])).value() == [1.0, 2.0]


def test_lists_that_change_while_they_are_read():
    xs: list[dy.Expression] = []
    numbers: list[float] = []
    places: list[int] = []
    done = threading.Event()

    def change() -> None:
        i = 0
        while not done.is_set():
            i += 1
            xs.append(dy.ones(2))
            numbers.append(0.5 * i)  # a new object each
            places.append(1000 * i)
            if i % 7 == 0:
                xs.clear()
                numbers.clear()
                places.clear()
                dy.renew_cg()

    def read() -> None:
        try:
            with dy.ComputationGraph() as graph:
                E = dy.inputTensor(np.ones((3, 4)))
                for i in range(300 * ROUNDS):
                    for use in (lambda: dy.esum(xs), lambda: dy.concatenate(xs),
                                lambda: dy.inputVector(numbers), lambda: dy.inputTensor(numbers),
                                lambda: dy.select_rows(E, places)):  # fmt: skip
                        with contextlib.suppress(dy.Error, TypeError, ValueError, IndexError):
                            use()
                    if i % 50 == 0:
                        graph.renew()
                        E = dy.inputTensor(np.ones((3, 4)))
        finally:
            done.set()

    together(change, read)


def test_an_operation_that_waits_for_another_thread():
    """It does not block: it looks again and again, and the other thread needs the module."""
    asked, answered = threading.Event(), threading.Event()

    class Waits:
        def forward(self, x):
            asked.set()
            while not answered.is_set():
                pass
            return x

        def backward(self, xs, y, dy):
            return dy

    def wait() -> None:
        assert dy.apply(Waits(), dy.inputVector([3.0])).value() == 3.0

    def waiting() -> Iterator[dy.Expression]:
        asked.set()
        while not answered.is_set():
            pass
        yield dy.scalarInput(2.0)

    def answer() -> None:
        assert asked.wait(30)
        assert (dy.scalarInput(1.0) + 1.0).value() == 2.0
        answered.set()

    together(wait, answer)
    asked.clear()
    answered.clear()
    together(lambda: dy.esum(waiting()).value(), answer)


def test_a_large_update_lets_another_thread_run():
    """With turns of 100 seconds a thread runs only if another thread releases the GIL."""
    m = dy.ParameterCollection()
    p = m.add_parameters((1500, 1000))
    trainer = dy.AdamTrainer(m)
    dy.squared_norm(p).backward()
    gate, is_waiting, ran = threading.Lock(), threading.Event(), []

    def other() -> None:
        is_waiting.set()
        with gate:
            ran.append(True)

    with gate:
        thread = threading.Thread(target=other)
        thread.start()
        assert is_waiting.wait(30)
        time.sleep(0.05)
        sys.setswitchinterval(100)
    # It may go on, and waits for the GIL.
    assert not ran or not getattr(sys, "_is_gil_enabled", lambda: True)()
    for _ in range(100):
        trainer.update()
        if ran:
            break
    assert ran
    thread.join()
