"""The graph: staleness, checkpoints, threads, errors with the user's line."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
import threading

import dynet as dy
import numpy as np
import pytest
from far import PRELUDE


def test_renewing_ends_expressions():
    x = dy.scalarInput(1.0)
    dy.renew_cg()
    assert x.is_stale()
    y = dy.scalarInput(2.0)
    for use in [x.value, x.npvalue, x.dim, x.gradient, x.backward, lambda: dy.exp(x), lambda: y + x,
                lambda: x + y, lambda: x * 2, lambda: -x, lambda: dy.esum([y, x]), lambda: x[0],
                lambda: x.set(1.0)]:  # fmt: skip
        with pytest.raises(dy.StaleExpression):
            use()
    assert issubclass(dy.StaleExpression, RuntimeError)
    assert issubclass(dy.StaleExpression, ValueError)
    assert (y + 1).value() == 3.0


def test_versions():
    version = dy.cg_version()
    graph = dy.renew_cg()
    assert dy.cg_version() == version + 1 == graph.version()
    assert isinstance(graph, dy.ComputationGraph)
    assert dy.renew_cg() is dy.cg() is graph
    with dy.ComputationGraph() as inner:
        assert dy.renew_cg() is inner
    assert dy.renew_cg(immediate_compute=False) is graph


def test_a_graph_without_nodes_is_true():
    """`graph = given or dy.renew_cg()` of programs for 2.1 must keep a new graph that was given."""
    graph = dy.renew_cg()
    assert len(graph) == 0 and bool(graph)
    dy.scalarInput(1.0)
    assert len(graph) == 1 and bool(graph)


def test_checkpoint_and_revert():
    w = dy.ParameterCollection().add_parameters(2, init=1.0)
    x = dy.inputVector([1.0, 2.0])
    nodes = len(dy.cg())
    dy.cg_checkpoint()
    y = dy.cmult(w, x)
    assert y.value() == [1.0, 2.0]
    dy.cg_checkpoint()
    z = dy.sum_elems(y)
    dy.cg_revert()
    assert z.is_stale() and not y.is_stale()
    dy.cg_revert()
    assert y.is_stale() and not x.is_stale()
    assert len(dy.cg()) == nodes
    # The node of w went with the mark; it is made again.
    assert dy.cmult(w, x).value() == [1.0, 2.0]
    dy.cg_revert()  # no mark: nothing happens
    assert x.value() == [1.0, 2.0]


def test_a_parameter_has_one_node_a_graph():
    w = dy.ParameterCollection().add_parameters((2, 2), init="identity")
    x = dy.inputVector([1.0, 2.0])
    before = len(dy.cg())
    y = w * (w * (w * x))
    assert len(dy.cg()) == before + 4
    dy.sum_elems(y).backward()
    np.testing.assert_array_equal(w.gradient(), w.grad_as_array())


# The first takes the quick way.
@pytest.mark.parametrize("renew", [dy.renew_cg, lambda: dy.renew_cg(check_validity=False)])
def test_immediate_compute_and_validity(renew):
    dy.renew_cg(immediate_compute=True, check_validity=True)
    x = dy.inputVector([-1.0])
    with pytest.raises(dy.NumericError, match="log"):
        dy.log(x)
    renew()
    assert np.isnan(dy.log(dy.inputVector([-1.0])).value())


def test_batching_is_a_property_of_the_graph():
    def losses(autobatching: bool) -> float:
        dy.renew_cg(autobatching=autobatching)
        xs = [dy.inputVector(np.random.default_rng(k).normal(size=4)) for k in range(20)]
        return dy.esum([dy.squared_norm(dy.tanh(x)) for x in xs]).value()

    assert losses(True) == pytest.approx(losses(False), rel=1e-5)


def test_explain_batch():
    dy.renew_cg()
    x, y = dy.inputVector([1, 2, 3]), dy.inputVector([1, 2, 3, 4])
    assert dy.explain_batch(dy.tanh(x), dy.tanh(x)) == "equal keys"
    assert dy.explain_batch(dy.tanh(x), dy.exp(x)) == "operation: tanh != exp"
    assert dy.explain_batch(dy.tanh(x), dy.tanh(y)) == "argument 0: {3} != {4}"
    assert dy.explain_batch(a=dy.elu(x, 1), b=dy.elu(x, 2)) == "attributes: alpha=1 != alpha=2"
    dy.renew_cg()
    with pytest.raises(dy.StaleExpression):
        dy.explain_batch(x, dy.inputVector([1]))


def test_to_dot_and_dump(tmp_path):
    dy.tanh(dy.scalarInput(1.0))
    assert "tanh" in dy.cg().to_dot()
    dy.dump_cg(str(tmp_path / "dump"), show_gradients=False)
    assert "tanh" in (tmp_path / "dump").read_text()


# ---- errors -----------------------------------------------------------------------------------------


def line_here() -> int:
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    return frame.f_back.f_lineno


def test_a_shape_error_names_operation_shapes_and_line():
    w, x = dy.zeros((4, 3)), dy.zeros((4, 2), batch_size=8)
    nodes = len(dy.cg())
    with pytest.raises(dy.ShapeError) as info:
        w * x
    line = info.traceback[0].lineno + 1
    text = str(info.value)
    assert "matmul" in text and "{4,3}" in text and "{4,2}x8" in text
    assert f"test_graph.py:{line} in test_a_shape_error_names_operation_shapes_and_line()" in text
    assert isinstance(info.value, ValueError) and isinstance(info.value, dy.Error)
    assert len(dy.cg()) == nodes


def test_a_late_error_names_the_line_that_built_the_node():
    dy.renew_cg(immediate_compute=True, check_validity=True)
    x = dy.inputVector([0.0])
    with pytest.raises(dy.NumericError, match=rf"test_graph.py:{line_here() + 1} in test_a_late"):
        dy.log(x)


def test_index_errors_are_of_both_kinds():
    x = dy.inputVector([1.0, 2.0])
    table = dy.ParameterCollection().add_lookup_parameters((3, 2))
    for use in [lambda: dy.pick(x, 2), lambda: table[3], lambda: dy.lookup(table, 5),
                lambda: dy.pickneglogsoftmax(x, 2), lambda: dy.lookup_batch(table, [0, 3])]:  # fmt: skip
        with pytest.raises(IndexError):
            use()
        with pytest.raises(ValueError):
            use()
    with pytest.raises(TypeError):
        dy.lookup(table, -1)
    with pytest.raises(TypeError):
        dy.pick(x, 0.5)


def test_every_exception_is_an_error_of_the_library():
    for name, builtin in {
        "ShapeError": ValueError, "IndexError": IndexError, "ValueError": ValueError, "TypeError": TypeError,
        "SizeError": ValueError, "StateError": ValueError, "DomainError": ValueError,
        "GraphError": RuntimeError, "UsageError": RuntimeError, "DeviceError": RuntimeError,
        "IoError": RuntimeError, "NumericError": RuntimeError, "OutOfMemory": MemoryError,
    }.items():  # fmt: skip
        assert issubclass(getattr(dy, name), builtin)
        assert issubclass(getattr(dy, name), dy.Error)
    with pytest.raises(dy.DomainError):
        dy.UniformInitializer(-1.0)


def test_wrong_types_are_type_errors():
    for use in [lambda: dy.tanh(1.0), lambda: dy.tanh(), lambda: dy.tanh(None),
                lambda: dy.dropout(dy.zeros(2), "p"), lambda: dy.reshape(dy.zeros(2), "a"),
                lambda: dy.zeros((-1, 2)), lambda: dy.zeros((1,) * 8), lambda: dy.softmax(dy.zeros(2), 0.5)]:  # fmt: skip
        with pytest.raises(TypeError):
            use()


# ---- threads ------------------------------------------------------------------------------------------


def test_threads_have_graphs_of_their_own():
    model = dy.ParameterCollection()
    w = model.add_parameters((8, 8), init="identity")
    table = model.add_lookup_parameters((50, 8))
    barrier = threading.Barrier(2)
    failures: list[BaseException] = []
    results: dict[int, list[float]] = {}

    def loss_of(k: int) -> dy.Expression:
        return dy.squared_norm(dy.tanh(w * dy.tanh(w * table[k])))

    def work(number: int) -> None:
        try:
            barrier.wait(10)
            values = []
            for k in range(200):
                dy.renew_cg()
                values.append(loss_of((k + number) % 50).value())
            results[number] = values
        except BaseException as error:
            failures.append(error)

    x = dy.scalarInput(1.0)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failures
    assert x.value() == 1.0  # this thread's graph was not renewed
    for number, values in results.items():
        for k, value in enumerate(values):
            dy.renew_cg()
            assert loss_of((k + number) % 50).value() == value


def test_threads_add_their_gradients():
    model = dy.ParameterCollection()
    w = model.add_parameters(4, init=1.0)

    def work() -> None:
        for _ in range(50):
            dy.renew_cg()
            loss = dy.sum_elems(dy.cmult(w, dy.inputVector([1.0, 2.0, 3.0, 4.0])))
            loss.backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    np.testing.assert_allclose(w.grad_as_array(), [200, 400, 600, 800])


def test_the_graph_of_a_thread_ends_with_it():
    kept = []

    def work() -> None:
        kept.append(dy.scalarInput(1.0))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert kept[0].is_stale()
    with pytest.raises(dy.StaleExpression):
        kept[0].value()
    gc.collect()


def test_a_long_computation_lets_other_threads_run():
    x = dy.inputTensor(np.random.default_rng(0).normal(size=(500, 500)) / 30)
    y = x
    for _ in range(60):
        y = y * x
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            done.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    y.npvalue()
    during = ticks - before
    done.set()
    thread.join(10)
    assert during >= 3


def test_control_c_stops_a_loop():
    code = """
import signal, threading, os, time
import dynet as dy
# Whoever started the tests in the background had SIGINT ignored for all its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    while True:
        dy.renew_cg()
        dy.tanh(dy.scalarInput(1.0)).value()
except KeyboardInterrupt:
    dy.renew_cg()
    assert dy.scalarInput(2.0).value() == 2.0
    print("stopped")
"""
    result = subprocess.run(
        [sys.executable, "-c", PRELUDE + code], capture_output=True, text=True, timeout=30
    )
    assert (result.stdout, result.stderr) == ("stopped\n", "")
