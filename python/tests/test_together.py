"""`run_together`: tasks that ask for values, answered by one plan for all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback

import dynet as dy
import numpy as np
import pytest
from far import PRELUDE

SIZE = 4


class Walker:
    """Goes on while its value says so: the decisions are read from the graph."""

    def __init__(self):
        self.model = dy.ParameterCollection()
        self.W = self.model.add_parameters((SIZE, SIZE), init="identity", scale=0.8)
        self.v = self.model.add_parameters((1, SIZE), init=1.0)
        self.asked = 0

    def walk(self, start):
        """Halves x until its sum is below 1. Returns the number of steps, and the loss."""
        x, steps, losses = dy.inputVector([start] * SIZE), 0, [dy.scalarInput(start)]
        while True:
            score = self.v * x
            self.asked += 1
            if (yield score) < 1.0:
                return steps, dy.esum(losses)
            x = dy.tanh(self.W * x) * 0.9
            losses.append(dy.squared_norm(x))
            steps += 1


def alone(generator):
    """One task without `run_together`, as a program would write it."""
    try:
        asked = next(generator)
        while True:
            several = isinstance(asked, (list, tuple))
            asked = generator.send([e.value() for e in asked] if several else asked.value())
    except StopIteration as end:
        return end.value


def test_the_same_decisions_and_losses_as_one_by_one():
    starts = [0.1, 0.3, 0.9, 1.5, 3.0]
    walker = Walker()
    one_by_one = []
    for start in starts:
        dy.renew_cg()
        steps, loss = alone(walker.walk(start))
        loss.backward()
        one_by_one.append((steps, loss.value()))
    gradient = walker.W.grad_as_array()
    walker.model.reset_gradient()
    dy.renew_cg()
    results = dy.run_together(walker.walk(start) for start in starts)
    dy.esum([loss for _, loss in results]).backward()
    assert [steps for steps, _ in results] == [steps for steps, _ in one_by_one]
    assert len({steps for steps, _ in results}) > 2  # of differing lengths
    np.testing.assert_allclose([loss.value() for _, loss in results],
                               [loss for _, loss in one_by_one], rtol=1e-5)  # fmt: skip
    np.testing.assert_allclose(walker.W.grad_as_array(), gradient, rtol=1e-4)


PLANS = (
    PRELUDE
    + """
import dynet as dy
W = dy.ParameterCollection().add_parameters((4, 4))
def task(x):
    x = dy.inputVector([x] * 4)
    for _ in range(3):
        x = dy.tanh(W * x)
        yield dy.sum_elems(x)
tasks = [task(k) for k in range(TASKS)]
dy.run_together(tasks)
"""
)


@pytest.mark.parametrize("tasks", [1, 7])
def test_a_round_of_questions_is_one_plan(tasks):
    program = PLANS.replace("TASKS", str(tasks))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "DYNET_TRACE": "plan"},
        capture_output=True,
        text=True,
        check=True,
    )
    plans = [line for line in done.stderr.splitlines() if "bound" in line]
    assert len(plans) == 3, done.stderr
    groups = [line.split(" groups")[0].split()[-1] for line in plans]
    assert groups == ["4", "3", "3"], done.stderr  # inputs, product, tanh, sum


def test_results_are_in_the_order_of_the_tasks():
    def task(k):
        for _ in range(k):
            yield dy.scalarInput(k)
        return k

    assert dy.run_together([task(3), task(0), task(2)]) == [3, 0, 2]
    assert dy.run_together(task(k) for k in (0, 0)) == [0, 0]  # tasks that never ask
    assert dy.run_together([]) == []


def test_a_question_gives_value():
    def task():
        number = yield dy.scalarInput(2.0)
        vector = yield dy.inputVector([1.0, 2.0])
        matrix = yield dy.inputTensor(np.ones((2, 3)))
        both = yield [dy.scalarInput(1.0), dy.inputVector([3.0])]
        pair = yield dy.scalarInput(1.0), dy.scalarInput(2.0)
        nothing = yield []
        parameter = yield dy.ParameterCollection().add_parameters(2, init=0.5)
        return number, vector, matrix, both, pair, nothing, parameter

    number, vector, matrix, both, pair, nothing, parameter = dy.run_together([task()])[0]
    assert number == 2.0 and isinstance(number, float)
    assert vector == [1.0, 2.0]
    assert matrix.shape == (2, 3)
    assert both == [1.0, [3.0]] or both == [1.0, 3.0]
    assert pair == [1.0, 2.0]
    assert nothing == []
    assert parameter == [0.5, 0.5]


def test_nested_tasks():
    def inner(x):
        return (yield dy.scalarInput(x)) + 1

    def outer(x):
        a = yield from inner(x)
        b = yield dy.scalarInput(a)
        (c,) = dy.run_together([inner(b)])
        return [c, *dy.run_together(inner(k) for k in range(2))]

    assert dy.run_together([outer(0), outer(10)]) == [[2, 1, 2], [12, 1, 2]]


@pytest.mark.parametrize("given", [2.0, "x", None, [dy.ParameterCollection()], [[]]])
def test_a_yield_of_something_else_names_the_task(given):
    seen = []

    def good():
        return (yield dy.scalarInput(1.0))

    def bad():
        try:
            yield given
        except dy.TypeError as e:
            seen.append(str(e))
            raise

    tasks = [good(), bad(), good()]
    with pytest.raises(dy.TypeError, match=r"task 1 yielded .*want an Expression") as raised:
        dy.run_together(tasks)
    assert len(seen) == 1  # at the yield, so that the task may mend it
    assert "in bad" in "".join(traceback.format_tb(raised.value.__traceback__))


class Broken(Exception):
    pass


def failing(k, when, log):
    """Fails at a certain question."""
    try:
        for step in range(3):
            if step == when:
                raise Broken(k)
            yield dy.scalarInput(step)
        return k
    finally:
        log.append(k)


def test_an_exception_ends_its_task_alone():
    log = []
    results = dy.run_together([failing(0, 9, log), failing(1, 1, log), failing(2, 9, log)],
                              return_exceptions=True)  # fmt: skip
    assert results[0] == 0 and results[2] == 2
    assert isinstance(results[1], Broken)
    assert log == [1, 0, 2]


def test_the_first_exception_is_raised_when_the_others_are_at_their_ends():
    log = []
    tasks = [failing(0, 2, log), failing(1, 9, log), failing(2, 1, log), failing(3, 0, log)]
    with pytest.raises(Broken) as raised:
        dy.run_together(tasks)
    assert raised.value.args == (3,)  # the first in time
    assert log == [3, 2, 0, 1]
    if sys.version_info >= (3, 11):
        assert raised.value.__notes__ == ["in task 3 of run_together"]


def test_a_question_that_fails_fails_its_task_alone():
    class Halving:
        """An operation that refuses negative numbers."""

        def forward(self, x):
            if x[0] < 0:
                raise Broken(float(x[0]))
            return x / 2

        def backward(self, xs, y, dy):
            return (dy / 2,)

    def task(x):
        y = x
        for _ in range(2):
            try:
                y = yield dy.apply(Halving(), dy.inputVector([y, 1.0]))
            except Broken as e:
                return e.args[0]
            y = y[0]
        return y

    assert dy.run_together([task(4.0), task(-3.0), task(8.0)]) == [1.0, -3.0, 2.0]


def test_stale_questions_and_bad_numbers():
    old = dy.scalarInput(1.0)
    dy.renew_cg(check_validity=True)

    def ask(e):
        return (yield e() if callable(e) else e)

    results = dy.run_together(
        [ask(old), ask(lambda: dy.log(dy.scalarInput(-1.0))), ask(lambda: dy.scalarInput(3.0))],
        return_exceptions=True,
    )
    assert isinstance(results[0], dy.StaleExpression)
    assert isinstance(results[1], dy.NumericError)
    assert results[2] == 3.0


def test_the_graph_may_not_be_renewed():
    version = dy.cg_version()

    def renews():
        yield dy.scalarInput(1.0)
        dy.renew_cg()

    def waits():
        x = dy.scalarInput(1.0)
        yield x
        yield x + 1
        return (yield x + 2)

    with pytest.raises(dy.GraphError, match=r"renew_cg\(\).*run_together"):
        dy.run_together([renews(), waits()])
    assert dy.cg_version() == version  # nothing was changed
    assert dy.run_together([renews(), waits()], return_exceptions=True)[1] == 3.0
    dy.renew_cg()  # afterwards it may


def test_checkpoints_of_a_task():
    def tries(x):
        """Between two questions a task may try something, and take it back."""
        before = yield dy.scalarInput(x)
        nodes = len(dy.cg())
        dy.cg_checkpoint()
        tried = dy.scalarInput(before + 1).value()
        dy.cg_revert()
        assert len(dy.cg()) == nodes
        return tried + (yield dy.scalarInput(before))

    def holds():
        dy.cg_checkpoint()
        try:
            yield dy.scalarInput(1.0)
        finally:
            dy.cg_revert()

    def takes_back():
        x = yield dy.scalarInput(1.0)
        dy.cg_revert()
        return x

    outside = dy.scalarInput(0.0)
    dy.cg_checkpoint()
    results = dy.run_together([tries(1.0), holds(), takes_back(), tries(2.0)],
                              return_exceptions=True)  # fmt: skip
    assert results[0] == 3.0 and results[3] == 5.0
    assert isinstance(results[1], dy.UsageError) and "a checkpoint open" in str(results[1])
    assert isinstance(results[2], dy.GraphError) and "checkpoint" in str(results[2])
    dy.cg_revert()
    assert not outside.is_stale()


@pytest.mark.parametrize("scope", [dy.evaluating, dy.no_grad, dy.ComputationGraph])
def test_a_scope_does_not_hold_for_other_tasks(scope):
    seen = []
    graph = dy.cg()

    def within():
        with scope():
            x = dy.scalarInput(1.0)
            inner = x.value()
            yield x
        return inner

    def other():
        for _ in range(2):
            yield dy.scalarInput(1.0)
            seen.append((dy.evaluating.is_on(), dy.cg() is graph))

    def stubborn():
        """Asks again, whatever it is told."""
        with scope():
            while True:
                with pytest.raises(dy.UsageError):
                    yield dy.scalarInput(1.0)

    results = dy.run_together([within(), other(), stubborn()], return_exceptions=True)
    assert isinstance(results[0], dy.UsageError) and "task 0 asks" in str(results[0])
    assert isinstance(results[2], dy.UsageError)
    assert seen == [(False, True)] * 2
    assert dy.cg() is graph and not dy.evaluating.is_on()
    with dy.evaluating(), dy.no_grad():  # around all tasks
        assert dy.run_together([other()]) == [None]
    assert seen[-1] == (True, True)


def test_values_of_inference_stay():
    W = dy.ParameterCollection().add_parameters((SIZE, SIZE), init="identity")

    def task(k):
        x, asked = dy.inputVector([float(k)] * SIZE), []
        for _ in range(3):
            x = W * x
            y = dy.sum_elems(x)
            z = y + 1
            asked += [y, z]
            yield [y, z]  # y has a user: it would be dropped unless it were asked for
        return asked

    with dy.no_grad():
        for k, asked in enumerate(dy.run_together(task(k) for k in range(3))):
            assert [e.value() for e in asked] == [k * SIZE, k * SIZE + 1] * 3


@pytest.mark.parametrize("tasks", [[iter([])], [3], 3, [lambda: None]])
def test_no_generators(tasks):
    want = "(task 0 is .*; want a generator|tasks is 3, .*; want a list of generators)"
    with pytest.raises(TypeError, match=f"run_together: {want}"):
        dy.run_together(tasks)


def test_generators_that_have_begun():
    def task():
        yield dy.scalarInput(1.0)

    begun, ended = task(), task()
    next(begun)
    dy.run_together([ended])
    twice = task()
    for tasks, why in [([begun], "has run"), ([ended], "has run"), ([twice, twice], "twice")]:
        with pytest.raises(dy.UsageError, match=why):
            dy.run_together(tasks)


class Ctrl(BaseException):
    pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, Ctrl])
def test_ctrl_c_closes_all_tasks(error):
    log = []

    def task(k):
        try:
            yield dy.scalarInput(k)
            if k == 1:
                raise error
            yield dy.scalarInput(k)
        finally:
            log.append(k)

    tasks = [task(0), task(1), task(2)]  # held here: they do not end because nobody has them
    with pytest.raises(error):
        dy.run_together(tasks, return_exceptions=True)
    assert sorted(log) == [0, 1, 2]
    dy.renew_cg()
    log.clear()
    with pytest.raises(error):
        dy.run_together(t for t in [task(0), raises_at_once(error), task(2)])
    assert log == [0]
    dy.renew_cg()


def raises_at_once(error):
    raise error
    yield


def test_ctrl_c_during_a_computation():
    log = []

    class Stops:
        def __init__(self, stops):
            self.stops = stops

        def forward(self, x):
            if self.stops:
                signal.raise_signal(signal.SIGINT)
            return x

        def backward(self, xs, y, dy):
            return (dy,)

    def task(k):
        try:
            yield dy.apply(Stops(k == 1), dy.scalarInput(k))
        finally:
            log.append(k)

    with pytest.raises(KeyboardInterrupt):
        dy.run_together([task(0), task(1), task(2)], return_exceptions=True)
    assert sorted(log) == [0, 1, 2]


def test_threads_have_tasks_of_their_own():
    walker = Walker()
    expected = [alone(walker.walk(s))[0] for s in (0.5, 2.0)]
    found = {}

    def work(k):
        found[k] = [steps for steps, _ in dy.run_together(walker.walk(s) for s in (0.5, 2.0))]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4


def test_sampling_for_a_policy_gradient():
    """Two arms, of which one pays: the policy learns it, with all games of an update together."""
    rng = np.random.default_rng(1)
    model = dy.ParameterCollection()
    preference = model.add_parameters(2, init=0.0)
    trainer = dy.SimpleSGDTrainer(model, 0.05)

    def game():
        log_chances = dy.log_softmax(preference + dy.zeros(2))
        chances = yield dy.exp(log_chances)
        arm = int(rng.random() < chances[1])
        return log_chances[arm] * -(1.0 if arm == 1 else -1.0)

    for _ in range(10):
        dy.renew_cg()
        dy.esum(dy.run_together(game() for _ in range(8))).backward()
        trainer.update()
    assert preference.as_array()[1] - preference.as_array()[0] > 1.0
