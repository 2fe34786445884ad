"""Ctrl-C while the library computes; threads beside each other."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import dynet as dy
import numpy as np
import pytest
from far import PRELUDE

PROGRAM = (
    PRELUDE
    + """
import sys, time
import dynet as dy
import numpy as np

model = dy.ParameterCollection()
W = model.add_parameters((200, 200), init="identity")  # with another one x may fade to nothing
x = dy.inputVector([0.1] * 200)
for _ in range({steps}):
    x = dy.tanh(W * x)
loss = dy.sum_elems(x)
{before}
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", time.monotonic(), flush=True)
else:
    print("not interrupted", flush=True)
print(float(np.abs(W.grad_as_array()).sum()), flush=True)
value = loss.value()
loss.backward()
print(value, float(np.abs(W.grad_as_array()).sum()) > 0, len(dy.cg()), flush=True)
"""
)
STEPS = 60_000


def interrupted(call, before="", delay=0.1):
    """Runs PROGRAM, sends SIGINT into `call`; how long it took, and what it printed."""
    program = PROGRAM.format(call=call, before=before, steps=STEPS)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    word, at = process.stdout.readline().rsplit(" ", 1)
    rest = process.stdout.read().splitlines()
    assert process.wait() == 0
    assert word == "interrupted"
    return float(at) - sent, rest


# The promise is a tenth of a second on a machine of its own; this one may be shared by other tests.
PATIENCE = 0.1 * 5


@pytest.mark.parametrize(
    ("call", "before"),
    [
        ("loss.value()", ""),
        ("loss.forward(recalculate=True)", ""),
        ("dy.forward([loss])", ""),
        ("loss.backward()", "loss.value()"),
        ("loss.numpy()", ""),
    ],
)
def test_ctrl_c_stops_and_leaves_everything_as_it_was(call, before):
    took, (gradient, after) = interrupted(call, before)
    assert took < PATIENCE
    assert float(gradient) == 0.0
    value, has_gradient, nodes = after.split()
    assert np.isfinite(float(value)) and has_gradient == "True" and int(nodes) > 2 * STEPS


def alarms_during(call):
    """How often an alarm of every 50 ms is answered before the call returns, or right after it."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
        call()
        return len(seen)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_handler_of_the_program_runs_during_a_computation():
    model = dy.ParameterCollection()
    W = model.add_parameters((200, 200))
    x = dy.inputVector([0.1] * 200)
    for _ in range(80_000):
        x = dy.tanh(W * x)
    assert alarms_during(x.forward) >= 2


def test_what_turns_out_to_take_long_can_be_stopped():
    """The value of a node that was made last says nothing of those before it."""
    model = dy.ParameterCollection()
    W = model.add_parameters((200, 200))
    dy.renew_cg()
    early = x = dy.inputVector([0.1] * 200)
    for _ in range(80_000):
        x = dy.tanh(W * x)
    late = early + 1.0
    assert late.value()[0] > 1.0 and early.value()[0] > 0.0
    assert alarms_during((x + late).forward) >= 2


def chain_in_thread(W, results, i):
    x = dy.inputVector([0.01 * (i + 1)] * 200)
    for _ in range(5_000):
        x = dy.tanh(W * x)
    results[i] = x.npvalue()


def test_the_interpreter_goes_on_while_numbers_are_computed():
    model = dy.ParameterCollection()
    W = model.add_parameters((200, 200))
    dy.renew_cg()
    x = dy.inputVector([0.1] * 200)
    for _ in range(20_000):
        x = dy.tanh(W * x)
    ticks, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks[0]
    x.forward()
    during = ticks[0] - before
    stop.set()
    thread.join()
    assert during > 3


def test_threads_have_graphs_of_their_own():
    model = dy.ParameterCollection()
    W = model.add_parameters((200, 200))
    results = {}
    threads = [threading.Thread(target=chain_in_thread, args=(W, results, i)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        alone = {}
        dy.renew_cg()
        chain_in_thread(W, alone, i)
        assert np.array_equal(results[i], alone[i])
