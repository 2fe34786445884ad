"""Worker processes, each test in a process of its own that has shared parameters."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

PRELUDE = """
import dynet_config
dynet_config.set(shared_parameters=1, random_seed=3)
import os, signal, sys, time
import dynet as dy

model = dy.ParameterCollection()
table = model.add_lookup_parameters((30, 6))
W = model.add_parameters((4, 6))

def loss(examples):
    losses = [dy.pickneglogsoftmax(W * dy.tanh(table[n % 30]), n % 4) for n in examples]
    return dy.esum(losses)
"""


def run(code: str, timeout: float = 60) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_learns_as_one_process() -> None:
    code = """
    trainer = dy.SimpleSGDTrainer(model, 0.1)
    start = W.as_array(), table.as_array()

    def train(step):
        W.set_value(start[0])
        table.init_from_array(start[1])
        for i in range(5):
            total = step(list(range(7 * i, 7 * i + 9)))
            trainer.update()
        return total, W.as_array(), table.as_array()

    def alone(examples):
        dy.renew_cg()
        all = loss(examples)
        total = all.value()
        (all / len(examples)).backward()
        return total

    want = train(alone)
    seen = []
    for workers in (1, 2, 3):
        with dy.WorkerPool(model, loss, workers) as pool:
            seen.append(train(pool.learn))
            assert len(pool.pids) == workers
        assert pool.pids == []
    for got in seen:
        assert got[0] == seen[0][0]
        assert (got[1] == seen[0][1]).all() and (got[2] == seen[0][2]).all()
        assert abs(got[0] - want[0]) < 1e-5
        assert abs(got[1] - want[1]).max() < 1e-6 and abs(got[2] - want[2]).max() < 1e-6
        assert abs(got[1] - start[0]).max() > 1e-3
    print("equal")
    """
    assert run(code) == "equal\n"


def test_evaluates_scores_and_takes_costs() -> None:
    code = """
    import numpy as np
    with dy.WorkerPool(model, loss, score=lambda examples: len(examples) / 2) as pool:
        print(pool.evaluate(range(101)), pool.evaluate([]), pool.learn([]))
        a = pool.learn(np.arange(10))
        print(abs(pool.learn(range(10), costs=range(10)) - a) < 1e-5)
    with dy.WorkerPool(model, loss) as pool:
        print(abs(pool.evaluate(iter(range(10))) - a) < 1e-5)
    with dy.WorkerPool(model, lambda examples: 1.5) as pool:
        print(pool.evaluate(range(20)))
    """
    assert run(code) == "50.5 0.0 0.0\nTrue\nTrue\n3.0\n"


def test_sums_are_for_those_who_ask() -> None:
    code = """
    norms = []
    for gradient in ("mean", "sum"):
        with dy.WorkerPool(model, loss, gradient=gradient) as pool:
            pool.learn(range(8))
        norms.append(model.gradient_l2_norm())
        model.reset_gradient()
    print(abs(norms[1] / norms[0] - 8) < 1e-5)
    """
    assert run(code) == "True\n"


def test_exceptions_come_with_their_traceback() -> None:
    code = """
    def bad(examples):
        if 7 in examples:
            raise KeyError("no sentence \\u2200")
        return loss(examples)

    pool = dy.WorkerPool(model, bad)
    pool.learn([1, 2])
    before = W.as_array()
    pids = pool.pids
    try:
        pool.learn(range(10))
    except dy.WorkerError as error:
        text = str(error)
        assert isinstance(error, (dy.Error, RuntimeError)) and error.signal == 0
        assert error.pid == pids[error.worker], (error.pid, pids)
        assert f"worker {error.worker} of 2 (process {error.pid}) threw" in text
        assert "KeyError: 'no sentence \\u2200'" in text and "in bad" in text, text
    assert (W.as_array() == before).all() and model.gradient_l2_norm() == 0
    try:
        pool.learn([1])
    except dy.UsageError as error:
        assert "want another pool" in str(error)
    for fault, what in ((lambda e: "text", "type str; want an Expression"),
                        (lambda e: dy.ones((3,)), "one element"),
                        (lambda e: sys.exit(4), "SystemExit"),
                        (lambda e: os._exit(4), "left with status 4")):
        try:
            dy.WorkerPool(model, fault).learn([1])
        except dy.WorkerError as error:
            assert what in str(error), error
            print("seen")
    with dy.WorkerPool(model, loss) as pool:
        print(pool.learn([1]) > 0)
    """
    assert run(code) == "seen\n" * 4 + "True\n"


@pytest.mark.parametrize(
    ("fault", "text", "number"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "was killed by signal 9", 9),
        ("os.kill(os.getpid(), signal.SIGSTOP)", "hangs: it is stopped", 0),
        ("time.sleep(1000)", "hangs: it sleeps", 0),
    ],
)
def test_workers_that_are_killed_or_hang(fault: str, text: str, number: int) -> None:
    code = f"""
    def bad(examples):
        if 7 in examples:
            {fault}
        return loss(examples)

    pool = dy.WorkerPool(model, bad)
    begin = time.monotonic()
    try:
        pool.learn(range(10))
    except dy.WorkerError as error:
        print(time.monotonic() - begin < 2, {text!r} in str(error), error.signal)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no children")
    """
    assert run(code) == f"True True {number}\nno children\n"


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody waited for does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pids: list[int]) -> None:
    end = time.monotonic() + 5
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < end, "workers are left"
        time.sleep(0.01)


TRAIN = """
pool = dy.WorkerPool(model, loss, )
print(*pool.pids, flush=True)
try:
    while True:
        pool.learn({numbers})
except KeyboardInterrupt:
    print("interrupted", pool.pids)
    dy.WorkerPool(model, loss).learn([1])
    print("again")
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("numbers", ["[1, 2]", "range(1 << 20)"])
def test_signals_to_the_program(sent: int, numbers: str) -> None:
    """To the parent and its workers alike, as a terminal sends Ctrl-C; in short calls and in a long one."""
    code = PRELUDE + TRAIN.format(numbers=numbers)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        assert program.stdout is not None
        pids = [int(word) for word in program.stdout.readline().split()]
        assert len(pids) == 2
        time.sleep(0.3)
        if sent == signal.SIGINT:
            os.killpg(program.pid, sent)
            lines = program.communicate(timeout=20)[0].splitlines()
            # Between two calls the pool is as it was.
            assert lines[0] == "interrupted []" or len(numbers) < 10
            assert lines[0].startswith("interrupted") and lines[1:] == ["again"]
            assert program.returncode == 0
        else:
            program.kill()
        wait_for_end(pids)


def test_what_is_refused() -> None:
    code = """
    for wrong in (dict(workers=0), dict(gradient="product"), dict(patience=-1.0)):
        try:
            dy.WorkerPool(model, loss, **wrong)
        except dy.ValueError as error:
            print(error)
    with dy.WorkerPool(model, loss) as pool:
        for wrong in ([-1], [0.5]):
            try:
                pool.learn(wrong)
            except (IndexError, TypeError):
                print("refused")
    """
    lines = [line for line in run(code).splitlines() if not line.startswith("  called at")]
    assert lines[0] == "workers: 0 workers; want 1 to 1024"
    assert lines[1] == "WorkerPool: gradient is 'product'; want mean or sum"
    assert lines[2].startswith("workers: patience of -1")
    assert lines[3:] == ["refused", "refused"]


def test_parameters_have_to_be_shared() -> None:
    code = PRELUDE.replace("shared_parameters=1, ", "") + "dy.WorkerPool(model, loss)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "UsageError: workers: the parameter /_" in done.stderr
    assert "dynet_config.set(shared_parameters=1), on the command line --dynet-sha" in done.stderr


def test_output_of_workers_is_not_lost_or_doubled() -> None:
    code = """
    print("before")

    def speaking(examples):
        print("worker")
        return loss(examples)

    with dy.WorkerPool(model, speaking, pieces=1) as pool:
        pool.learn([1])
    """
    assert run(code) == "before\nworker\n"
