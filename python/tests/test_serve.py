"""`serve`: requests that join, ends of all kinds, models that are replaced, memory, processes."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from concurrent import futures as cf

import dynet as dy
import pytest
from dynet import _server
from far import PRELUDE


class Model:
    """Reads letters until the score of the state is large: states pass questions."""

    def __init__(self, seed=3):
        dy.reset_random_seed(seed)
        self.m = dy.ParameterCollection()
        self.letters = self.m.add_lookup_parameters((20, 8), init=1.0)
        for i in range(20):
            self.letters.init_row(i, [((i * 7 + j * 3 + seed) % 11 - 5) / 5 for j in range(8)])
        self.lstm = dy.VanillaLSTMBuilder(1, 8, 8, self.m)
        self.out = self.m.add_parameters((1, 8))


def read(model, first, length=12):
    state, steps, score = model.lstm.initial_state(), 0, 0.0
    while steps < length and score < 0.1:
        state = state.add_input(model.letters[(first + steps) % 20])
        score = yield model.out * state.output()
        steps += 1
    return steps, score


def alone(model, first, length=12):
    dy.renew_cg()
    (result,) = dy.run_together([read(model, first, length)])
    return result


def endless(model):
    while True:
        yield dy.scalarInput(1.0)


def until(condition):
    """A test of a wrong server fails, and does not hang."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0)


class Gate:
    """A request at the gate stops the server until the test opens the gate."""

    def __init__(self, server):
        self.here, self.open = threading.Event(), threading.Event()
        self.future = server.submit(self.wait)
        assert self.here.wait(60)

    def wait(self, model):
        self.here.set()
        assert self.open.wait(60)


def test_answers_are_those_of_one_request_after_the_other():
    model = Model()
    with dy.serve(model) as server:
        futures = [server.submit(read, first) for first in range(100)]
        results = [f.result(60) for f in futures]
    right = [alone(model, first) for first in range(100)]
    assert [steps for steps, _ in results] == [steps for steps, _ in right]
    assert [score for _, score in results] == pytest.approx([s for _, s in right], abs=1e-4)
    assert len({steps for steps, _ in results}) > 2
    assert server.counts().finished == 100


def test_requests_of_a_round_are_one_plan():
    with dy.serve(Model()) as server:
        gate = Gate(server)
        futures = [server.submit(read, i, 1) for i in range(32)]
        gate.open.set()
        for future in futures:
            assert future.result(60)[0] == 1
        counts = server.counts()
    assert (counts.rounds, counts.plans, counts.most_running) == (1, 1, 32)


def test_small_questions_go_ahead_of_large_ones_for_some_rounds():
    rounds = []

    def small(model):
        for i in range(20):
            yield dy.scalarInput(1.0)
            rounds.append(i)

    def large(model):
        x = dy.scalarInput(1.0)
        for _ in range(100):
            x = dy.tanh(x)
        yield x
        return len(rounds)

    with dy.serve(Model()) as server:
        gate = Gate(server)
        futures = server.submit(small), server.submit(large)
        gate.open.set()
        assert futures[1].result(60) == 9  # eight without it, and the small one's turn is first
        futures[0].result(60)
        assert server.counts().rounds == 20


def test_requests_join_while_others_run():
    has_joined = False

    def wait(model):
        rounds = 0
        while not has_joined:
            yield dy.scalarInput(1.0)
            rounds += 1
        return rounds

    with dy.serve(Model()) as server:
        waits = server.submit(wait)
        until(lambda: server.counts().rounds >= 3)
        assert server.submit(lambda model: model.out.shape()).result(60) == (1, 8)
        has_joined = True
        assert waits.result(60) >= 3


def test_requests_run_without_dropout_and_gradients():
    def look(model):
        x = dy.dropout(dy.inputVector([1.0] * 50), 0.5)
        loss = dy.sum_elems(model.out)
        with pytest.raises(dy.GraphError):
            loss.backward()
        return x.vec_value()

    with dy.serve(Model()) as server:
        assert server.submit(look).result(60) == [1.0] * 50


def test_an_exception_ends_its_request_alone():
    def fail(model, kind):
        yield dy.scalarInput(1.0)
        if kind == 0:
            raise LookupError("no such word")
        if kind == 1:
            raise SystemExit(3)
        yield model.out * dy.inputVector([1.0] * 3)

    model = Model()
    with dy.serve(model) as server:
        good = [server.submit(read, i) for i in range(10)]
        bad = [server.submit(fail, i % 3) for i in range(9)]
        assert [f.result(60)[0] for f in good] == [alone(model, i)[0] for i in range(10)]
        for i, future in enumerate(bad):
            with pytest.raises((LookupError, SystemExit, dy.ShapeError)[i % 3]):
                future.result(60)
        assert server.counts().failed == 9


async def coroutine(model):
    return 1


def yields_a_number(model):
    yield 3


def asks_inside(model):
    with dy.evaluating():
        pass
    with dy.ComputationGraph():
        yield dy.scalarInput(1.0)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (
            coroutine,
            TypeError,
            "serve: the request is a coroutine; want a generator function, or a function that "
            "returns the result",
        ),
        (
            yields_a_number,
            TypeError,
            "serve: request 0 yielded 3, of type int; want an Expression, or a list or tuple of "
            "expressions",
        ),
        (
            asks_inside,
            dy.UsageError,
            "serve: request 0 asks in a `with ComputationGraph()` block, in which the other tasks "
            "would go on to make nodes; want the end of the block before the question",
        ),
    ],
)
def test_wrong_requests(function, error, text):
    with dy.serve(Model()) as server:
        with pytest.raises(error) as raised:
            server.submit(function).result(60)
        assert str(raised.value) == text
        assert server.submit(read, 1, 1).result(60)[0] == 1


def test_a_cancelled_request_ends():
    has_ended = threading.Event()

    def ask(model):
        try:
            yield from endless(model)
        finally:
            has_ended.set()

    with dy.serve(Model()) as server:
        future = server.submit(ask)
        gate = Gate(server)
        waiting = server.submit(ask)
        assert waiting.cancel()
        assert future.cancel()
        gate.open.set()
        assert has_ended.wait(60)
        with pytest.raises(cf.CancelledError):
            future.result(60)
        until(lambda: server.counts().cancelled == 2)
        assert not gate.future.cancel()


def test_a_request_that_cancels_itself_is_told_to_all_who_wait():
    def last_turn(model):
        yield dy.scalarInput(1.0)
        assert future.cancel()
        return 1

    with dy.serve(Model()) as server:
        gate = Gate(server)
        future = server.submit(last_turn)
        gate.open.set()
        assert cf.wait([future], 60).not_done == set()
        assert (server.counts().cancelled, server.counts().finished) == (1, 1)


def test_an_idle_server_waits_for_others():
    with dy.serve(Model(), max_wait=float("inf"), max_running=4) as server:
        futures = [server.submit(read, i, 1) for i in range(4)]
        for future in futures:
            assert future.result(60)[0] == 1  # the fourth ends the wait
        assert server.counts().rounds == 1
        with pytest.raises(dy.RequestTimeout):
            server.submit(read, 1, timeout=0.01).result(60)


def test_a_late_request_ends():
    with dy.serve(Model(), timeout=0.02) as server:
        with pytest.raises(dy.RequestTimeout) as raised:
            server.submit(endless).result(60)
        assert isinstance(raised.value, TimeoutError)
        assert str(raised.value) == "serve: the request has not ended in its time of 0.02 s"
        gate = Gate(server)
        has_run = []
        late = server.submit(lambda model: has_run.append(1), timeout=0.001)
        time.sleep(0.01)
        gate.open.set()
        with pytest.raises(dy.RequestTimeout):
            late.result(60)
        assert has_run == []
        assert server.counts().timed_out >= 2


def test_a_waiting_request_is_late_while_others_run():
    with dy.serve(Model(), max_running=1) as server:
        running = server.submit(endless)
        with pytest.raises(dy.RequestTimeout):
            server.submit(read, 1, timeout=0.01).result(60)
        assert running.cancel()  # nothing had to end first


def test_a_request_with_too_many_nodes_ends():
    with dy.serve(Model(), max_request_nodes=50) as server:
        with pytest.raises(dy.UsageError) as raised:
            server.submit(endless).result(60)
        assert str(raised.value) == (
            "serve: request 0 has made 51 nodes; want at most 50 (max_request_nodes)"
        )


def test_an_overload_is_refused():
    with dy.serve(Model(), max_queue=3) as server:
        gate = Gate(server)
        futures = [server.submit(read, i) for i in range(3)]
        with pytest.raises(dy.OverloadError) as raised:
            server.submit(read, 9)
        assert str(raised.value) == (
            "serve: 3 requests wait, which is max_queue; want a later request"
        )
        gate.open.set()
        for future in futures:
            future.result(60)
        assert server.counts().refused == 1


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"max_running": 0}, ValueError, "serve: max_running is 0; want at least 1"),
        ({"max_queue": -1}, ValueError, "serve: max_queue is -1; want at least 1"),
        ({"max_nodes": 0}, ValueError, "serve: max_nodes is 0; want at least 1"),
        ({"max_request_nodes": 0}, ValueError, "serve: max_request_nodes is 0; want at least 1"),
        ({"max_wait": -0.5}, ValueError, "serve: max_wait is -0.5 s; want 0 or more"),
        ({"timeout": -1}, ValueError, "serve: timeout is -1 s; want 0 or more"),
        ({"timeout": float("nan")}, ValueError, "serve: timeout is nan s; want 0 or more"),
        ({"max_running": 1.5}, TypeError, "max_running is 1.5"),
        ({"max_wait": None}, TypeError, "max_wait is None"),
        ({"max_wait": "1"}, TypeError, "max_wait is '1'"),
    ],
)
def test_wrong_options(options, error, text):
    threads = threading.active_count()
    with pytest.raises(error) as raised:
        dy.serve(Model(), **options)
    assert text in str(raised.value)
    assert threading.active_count() == threads


def test_a_model_that_cannot_be_copied_is_refused():
    model = Model()
    model.lock = threading.Lock()
    with pytest.raises(TypeError) as raised:
        dy.serve(model)
    assert str(raised.value).startswith("serve: the model, a Model, cannot be copied (")
    del model.lock
    with dy.serve(model) as server:
        with pytest.raises(TypeError) as raised:
            server.submit("tag")
        assert str(raised.value).startswith(
            "serve: the request is 'tag', of type str; want a function"
        )
        with pytest.raises(TypeError):
            server.replace(threading.Lock())
        assert server.submit(read, 3).result(60)[0] == alone(model, 3)[0]


def test_the_copies_share_parameters():
    model = Model()
    with dy.serve(model) as server:
        copy = server.submit(lambda model: model).result(60)
    assert copy is not model
    assert copy.lstm is not model.lstm
    model.out.set_value([[2.0] * 8])
    assert copy.out.as_array().tolist() == [[2.0] * 8]


def test_requests_end_with_the_model_with_which_they_began():
    old, new = Model(3), Model(4)
    may_end = threading.Event()

    def twice(model):
        first = yield model.out * model.letters[1]
        while not may_end.is_set():
            yield dy.scalarInput(1.0)
        second = yield model.out * model.letters[1]
        return first, second

    with dy.serve(old) as server:
        before = server.submit(twice)
        until(lambda: server.counts().rounds >= 1)
        server.replace(new)
        assert server.submit(read, 5).result(60) == alone(new, 5)
        assert not before.done()
        may_end.set()
        first, second = before.result(60)
        dy.renew_cg()
        assert first == second == (old.out * old.letters[1]).value()


def test_memory_is_flat():
    is_over = threading.Event()

    def stay(model):  # there is never a moment without a request
        for i in range(50):
            if i == 25 and not is_over.is_set():
                server.submit(stay)
            yield dy.scalarInput(1.0)

    with dy.serve(Model(), max_nodes=1000, max_running=16) as server:
        server.submit(stay)
        for _ in range(100):
            futures = [server.submit(read, i, 3) for i in range(100)]
            for future in futures:
                future.result(60)
        counts = server.counts()
        is_over.set()
        until(lambda: server.counts().running == 0)
        del futures, future
        gc.collect()
        kinds = (_server._Request, cf.Future)
        assert sum(isinstance(x, kinds) for x in gc.get_objects()) < 20
    assert counts.finished + counts.running >= 10_000
    assert counts.graphs > 20
    assert counts.most_nodes < 2 * (1000 + 16 * 60)


def test_many_threads_submit():
    model = Model()
    right = [alone(model, i) for i in range(20)]
    wrong = []

    def work(first):
        for i in range(30):
            steps, _ = server.submit(read, first + i).result(60)
            if steps != right[(first + i) % 20][0]:
                wrong.append((first, i))

    with dy.serve(model, max_nodes=2000) as server:
        threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
        for thread in threads:
            thread.start()
        server.replace(model)
        for thread in threads:
            thread.join()
        assert server.counts().finished == 240
    assert wrong == []


def test_asyncio():
    async def ask_all():
        answers = await asyncio.gather(*(server.ask(read, i) for i in range(20)))
        late = asyncio.ensure_future(server.ask(endless))
        await asyncio.sleep(0.01)
        late.cancel()
        with pytest.raises(asyncio.CancelledError):
            await late
        with pytest.raises(dy.RequestTimeout):
            await server.ask(endless, timeout=0.01)
        return answers

    model = Model()
    with dy.serve(model) as server:
        answers = asyncio.run(ask_all())
    assert [steps for steps, _ in answers] == [alone(model, i)[0] for i in range(20)]


def test_a_stopped_server_ends_its_requests():
    server = dy.serve(Model(), max_running=3)
    futures = [server.submit(endless) for _ in range(10)]
    server.stop()
    assert (server.counts().cancelled, server.counts().failed) == (10, 0)
    for future in futures:
        with pytest.raises(dy.UsageError) as raised:
            future.result(0)
        assert str(raised.value) == "serve: the server stopped before the request was at its end"
    with pytest.raises(dy.UsageError) as raised:
        server.submit(read, 1)
    assert str(raised.value) == "serve: submit after the server was closed"
    server.stop()
    server.close()


def test_an_exception_in_the_block_stops_the_server():
    with pytest.raises(KeyboardInterrupt), dy.serve(Model()) as server:
        future = server.submit(endless)
        raise KeyboardInterrupt
    with pytest.raises(dy.UsageError):
        future.result(0)


def test_a_server_without_a_user_ends():
    threads = threading.active_count()
    server = dy.serve(Model())
    future = server.submit(endless)
    del server
    gc.collect()
    with pytest.raises(dy.UsageError):
        future.result(60)
    assert threading.active_count() == threads


def test_a_request_may_not_close_its_server():
    with dy.serve(Model()) as server:
        with pytest.raises(dy.UsageError) as raised:
            server.submit(lambda model: server.close()).result(60)
        assert str(raised.value) == "serve: a request closes its own server; want another thread"


def run(program):
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + program], capture_output=True, text=True, timeout=100
    )


PROGRAM = """
import dynet as dy
m = dy.ParameterCollection()
def endless(model):
    while True:
        yield dy.scalarInput(1.0)
server = dy.serve(m)
future = server.submit(endless)
while server.counts().rounds == 0:
    pass
"""


def test_python_ends_with_a_server_at_work():
    result = run(PROGRAM + "print('end')")
    assert (result.returncode, result.stdout, result.stderr) == (0, "end\n", "")


def test_ctrl_c_meets_the_thread_that_waits():
    result = run(
        PROGRAM
        + """
import os, signal, threading
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    future.result()
except KeyboardInterrupt:
    print("interrupted", server.submit(lambda model: 7).result(), future.done())
"""
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "interrupted 7 False\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_process_has_no_server():
    result = run(
        PROGRAM
        + """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, from Python 3.12 on
child = os.fork()
if child == 0:
    try:
        server.submit(endless)
    except dy.UsageError as e:
        del server
        with dy.serve(m) as own:
            print(e, own.submit(lambda model: 7).result(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
with dy.serve(m) as second:
    if os.fork() == 0:
        raise SystemExit(7)  # leaves the block in the child
    print(os.waitstatus_to_exitcode(os.wait()[1]))
print(server.submit(lambda model: 8).result())
"""
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == (
        "serve: this process is a child of the process of the server; want a server of its own 7\n"
        "7\n8\n"
    )
