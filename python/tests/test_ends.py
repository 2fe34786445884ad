"""Ends of life: Python ends while threads are at work, modules are imported again, interpreters end.

Each program is a process of its own, whose exit status counts.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from far import PRELUDE

# The work that daemon threads repeat: `busy` is set when a thread is in the middle of it. Threads
# write nothing, because Python itself aborts if a thread holds its streams at the end.
START = """
import sys, threading, time
import dynet as dy
import numpy as np
sys.setswitchinterval(1e-4)
busy = threading.Event()
model = dy.ParameterCollection()
W = model.add_parameters((300, 300))
E = model.add_lookup_parameters((200, 300))
trainer = dy.AdamTrainer(model)

def start(work, threads=3):
    def over_and_over():
        while True:
            work()
    for _ in range(threads):
        threading.Thread(target=over_and_over, daemon=True).start()
    assert busy.wait(20)
    time.sleep(0.02)

def big():
    dy.renew_cg()
    x = dy.inputTensor(np.ones((300, 100)), batched=True)
    for _ in range(20):
        x = dy.tanh(W * x)
    return dy.sum_batches(dy.sum_elems(x))

class Spins:
    def __init__(self, sleeps): self.sleeps = sleeps
    def forward(self, x):
        busy.set()
        if self.sleeps: time.sleep(0.005)
        else: sum(range(20000))
        return x
    def backward(self, xs, y, dy): return self.forward(dy)

def operation(sleeps):
    loss = big()
    y = dy.apply(Spins(sleeps), dy.inputVector([1.0, 2.0]))
    (loss + dy.sum_elems(y)).value()
"""

WORK = {
    "computes": """
def work():
    y = big(); busy.set(); y.forward(); y.backward()
start(work)
""",
    "computes_little": """
def work():
    dy.renew_cg()
    x = dy.inputVector([1.0, 2.0])
    busy.set()
    for _ in range(20): x = dy.tanh(x)
    x.npvalue()
start(work)
""",
    "updates": """
def work():
    big().backward(); trainer.update(); busy.set()
start(work, 1)
""",
    "saves": """
import tempfile
folder = tempfile.mkdtemp()
def work():
    name = f"{folder}/{threading.get_ident()}"
    model.save(name); busy.set(); model.populate(name)
start(work, 1)
""",
    "in_an_operation": "start(lambda: operation(False))",
    "in_an_operation_that_waits": "start(lambda: operation(True))",
    "in_a_log_sink": """
import logging
class Handler(logging.Handler):
    def emit(self, record):
        busy.set(); sum(range(20000))
    def createLock(self): self.lock = NoLock()
class NoLock:
    acquire = release = lambda self: None
    def __enter__(self): pass
    def __exit__(self, *error): pass
logging.getLogger("dynet").addHandler(Handler())
logging.getLogger("dynet").setLevel("INFO")
import _dynet
start(lambda: _dynet.init())
""",
    "in_callbacks": """
def loss(example):
    return big()
def step(s):
    busy.set(); sum(range(20000))
def work():
    dy.fit(loss, list(range(4)), trainer, batch=1, on_step=step, progress=False)
start(work, 1)
""",
    "in_its_lists": """
class Slow:
    def __iter__(self):
        for k in range(30):
            busy.set(); sum(range(2000)); yield float(k)
start(lambda: (dy.renew_cg(), dy.inputVector(Slow()), dy.lookup_batch(E, (int(k) for k in Slow()))))
""",
    "clusters": """
import tempfile
folder = tempfile.mkdtemp()
with open(folder + "/text", "w") as file:
    for k in range(3000):
        file.write(f"a{k % 97} b{k % 89} c{k % 83}\\n")
def work():
    busy.set(); dy.make_clusters(folder + "/text", f"{folder}/{threading.get_ident()}", 50)
start(work)
""",
}

ENDS = {
    "returns": ("", 0),
    "raises": ("sys.excepthook = lambda *e: None; raise ValueError", 1),
}


def status(code: str, *, timeout: float = 60) -> tuple[int, str]:
    """The exit status of a program, and its stderr."""
    result = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=timeout
    )
    return result.returncode, result.stderr


@pytest.mark.parametrize("work", WORK)
def test_python_ends_while_a_daemon_thread(work: str):
    assert status(START + WORK[work] + "\nsys.exit(7)") == (7, "")


@pytest.mark.parametrize("end", ENDS)
def test_the_exit_status_is_the_programs(end: str):
    code, want = ENDS[end]
    assert status(START + WORK["in_an_operation"] + "\n" + code) == (want, "")


def test_objects_that_compute_while_python_ends():
    """Their `__del__` runs when modules are taken apart, some with threads at work."""
    code = START + textwrap.dedent("""
        start(lambda: (big().value(), busy.set()))
        class Last:
            def __init__(self): self.x = dy.inputVector([1.0]); self.dy = dy; self.big = big
            def __del__(self):
                y = self.dy.apply(Spins(False), self.x) if Spins else self.x
                y.value(); self.big
        keep = Last()
        sys.kept_for_ever = keep
    """)
    assert status(code)[0] == 0


# ---- imported again ------------------------------------------------------------------------------------

PURGE = """
def purge():
    for name in [n for n in sys.modules if n.split(".")[0] in ("dynet", "_dynet", "dynet_config")]:
        del sys.modules[name]
"""


def test_modules_that_were_purged_are_imported_again():
    code = PURGE + textwrap.dedent("""
        import sys, gc
        import dynet as dy
        old = dy
        m = dy.ParameterCollection()
        w = m.add_parameters((2, 3), init=1.0)
        rnn = dy.VanillaLSTMBuilder(1, 2, 2, m)
        for k in range(3):
            purge()
            gc.collect()
            import dynet as dy
            assert dy is not old and dy.Expression is old.Expression
            assert dy.ShapeError is old.ShapeError
            dy.renew_cg()
            y = w * dy.inputVector([1.0, 2.0, 3.0])
            assert y.npvalue().tolist() == [6.0, 6.0]
            rnn.initial_state().add_input(y).output().value()
            try:
                w * y
            except old.ShapeError as e:
                assert "built at" in str(e) or "called at" in str(e), e
            else:
                raise AssertionError
            try:
                dy.lookup(w, "x")
            except TypeError as e:
                assert "lookup" in str(e)
            import pickle
            assert pickle.loads(pickle.dumps(m)).parameters_list()[0].shape() == (2, 3)
        del old, m, w, rnn, y
        gc.collect()
    """)
    assert status("import sys" + code) == (0, "")


def test_the_module_alone_is_purged():
    code = """
import sys, gc
import dynet as dy
x = dy.inputVector([1.0])
del sys.modules["_dynet"]
gc.collect()
import _dynet
assert _dynet.Expression is dy.Expression
assert dy.tanh(x).npvalue().shape == (1,)
import importlib
importlib.reload(dy)
importlib.reload(_dynet)
assert dy.tanh(dy.inputVector([0.0])).value() == 0.0
"""
    assert status(code) == (0, "")


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="subinterpreters are CPython's")
@pytest.mark.parametrize("first", ["", "import dynet as dy; x = dy.inputVector([1.0])"])
def test_a_subinterpreter_is_told(first: str):
    code = first + textwrap.dedent("""
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        import os
        read, write = os.pipe()
        script = '''
        import os
        for name in ("dynet", "_dynet"):
            try:
                __import__(name)
            except ImportError as e:
                text = str(e)
            else:
                text = "imported"
            os.write(%d, (text + "\\\\n").encode())
        ''' % write
        import textwrap
        try:
            i = interpreters.create(isolated=False)
        except TypeError:
            i = interpreters.create("legacy")
        interpreters.run_string(i, textwrap.dedent(script))
        interpreters.destroy(i)
        os.close(write)
        told = os.fdopen(read).read().splitlines()
        assert len(told) == 2 and all("main interpreter" in t for t in told), told
        import dynet as dy
        assert dy.tanh(dy.inputVector([0.0])).value() == 0.0
    """)
    assert status(code) == (0, "")
