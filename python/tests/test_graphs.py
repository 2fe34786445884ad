"""Graphs that the program makes: `with dy.ComputationGraph():`."""

from __future__ import annotations

import copy
import pickle
import resource
import threading

import dynet as dy
import numpy as np
import pytest


def test_a_block_has_a_graph_of_its_own():
    own = dy.cg()
    outside = dy.scalarInput(1.0)
    version, nodes = dy.cg_version(), len(own)
    with dy.ComputationGraph() as g:
        assert dy.cg() is g and g is not own and len(g) == 0 and dy.cg_version() == 0
        inside = dy.exp(dy.scalarInput(0.0))
        assert inside.value() == 1.0 and len(g) == 2
        with pytest.raises(dy.GraphError):
            inside + outside
    assert dy.cg() is own and (dy.cg_version(), len(own)) == (version, nodes)
    assert (outside + 1).value() == 2.0
    # It lives as long as the program holds it, and so do its expressions.
    assert (inside + 1).value() == 2.0 and len(g) == 3
    g.renew()
    assert inside.is_stale() and not outside.is_stale()


def test_the_graph_ends_with_the_last_who_holds_it():
    with dy.ComputationGraph():
        x = dy.scalarInput(1.0)
        assert x.value() == 1.0
    assert x.is_stale()
    with pytest.raises(
        dy.StaleExpression, match=r"\n  a ComputationGraph ended at .*test_graphs.py"
    ):
        x.value()

    def lent():
        g = dy.ComputationGraph()
        with g:
            return g, dy.scalarInput(3.0)

    g, y = lent()
    assert y.value() == 3.0
    del g
    with pytest.raises(dy.StaleExpression):
        y + 1


def test_blocks_nest():
    own = dy.cg()
    with dy.ComputationGraph() as g:
        x = dy.scalarInput(1.0)
        with dy.ComputationGraph() as h:
            y = dy.scalarInput(2.0)
            with g:  # the same once more
                assert dy.cg() is g
                z = x + dy.scalarInput(4.0)
            assert dy.cg() is h
            with dy.renew_cg():  # empties h, and is h
                assert dy.cg() is h and y.is_stale()
                y = dy.scalarInput(3.0)
            assert dy.cg() is h
        assert dy.cg() is g and y.value() == 3.0 and z.value() == 5.0
        assert dy.renew_cg() is g and x.is_stale()
    assert dy.cg() is own


def test_an_exception_leaves_a_block():
    own = dy.cg()
    with pytest.raises(KeyError), dy.ComputationGraph() as g, dy.ComputationGraph() as h:
        x = dy.inputVector([1.0, 2.0])
        with pytest.raises(dy.ShapeError):
            x + dy.inputVector([1.0, 2.0, 3.0])
        assert dy.cg() is h
        raise KeyError
    assert dy.cg() is own and len(g) == 0 and x.value() == [1.0, 2.0]


def test_generators_leave_blocks_in_any_order():
    own = dy.cg()

    def worker(k):
        with dy.ComputationGraph() as g:
            for _ in range(3):
                assert dy.cg() is g or k == 0
                yield g

    first, second = worker(0), worker(1)
    g, h = next(first), next(second)
    assert dy.cg() is h
    next(second)
    first.close()
    assert dy.cg() is h
    second.close()
    assert dy.cg() is own
    with pytest.raises(dy.UsageError, match="did not enter"):
        g.__exit__(None, None, None)
    assert dy.cg() is own and h is not g


def test_options_of_a_graph_and_marks():
    with dy.ComputationGraph(immediate_compute=True, check_validity=True) as g:
        x = dy.inputVector([-1.0])
        with pytest.raises(dy.NumericError, match="log"):
            dy.log(x)
    with dy.ComputationGraph(autobatching=False) as g:
        assert np.isnan(dy.log(dy.inputVector([-1.0])).value())
        x = dy.scalarInput(1.0)
        dy.cg_checkpoint()
        y = x + 1
    g.checkpoint()
    z = y + 1
    g.revert()
    assert z.is_stale() and y.value() == 2.0
    with g:
        dy.cg_revert()
    assert y.is_stale() and x.value() == 1.0
    with pytest.raises(dy.TypeError, match="ComputationGraph: there is no argument autobatch"):
        dy.ComputationGraph(autobatch=True)


def test_two_graphs_on_one_model():
    """Values and gradients are the same as of one graph after the other."""
    m = dy.ParameterCollection()
    w = m.add_parameters((3, 3), init="identity")
    table = m.add_lookup_parameters((4, 3), init=0.5)
    builder = dy.GRUBuilder(1, 3, 3, m)

    def loss_of(row: int, steps: int) -> dy.Expression:
        state = builder.initial_state()
        for _ in range(steps):
            state = state.add_input(w * table[row])
        return dy.squared_norm(state.output())

    def gradients() -> list[np.ndarray]:
        all_of = [p.grad_as_array() for p in (*m.parameters_list(), *m.lookup_parameters_list())]
        m.reset_gradient()
        return all_of

    expected = []
    for row, steps in ((1, 2), (2, 3)):
        dy.renew_cg()
        loss = loss_of(row, steps)
        value = loss.value()
        loss.backward()
        expected.append((value, gradients()))
    with dy.ComputationGraph() as g:
        first = loss_of(1, 2)
    with dy.ComputationGraph() as h:
        second = loss_of(2, 3)
    with g:
        more = first + dy.sum_elems(w)
    assert (first.value(), second.value()) == (expected[0][0], expected[1][0])
    assert more.value() == pytest.approx(first.value() + 3.0)
    for loss, (_, wanted) in zip((second, first), expected[::-1]):
        loss.backward()
        for one, other in zip(gradients(), wanted):
            np.testing.assert_array_equal(one, other)
    assert dy.values([first, second, first]) == [first.value(), second.value(), first.value()]
    assert len(g) and len(h)


def test_a_state_belongs_to_the_graph_of_its_builder():
    builder = dy.VanillaLSTMBuilder(1, 2, 2, dy.ParameterCollection())
    with dy.ComputationGraph() as g:
        x = dy.inputVector([1.0, 2.0])
        state = builder.initial_state().add_input(x)
        with dy.ComputationGraph():
            other = builder.initial_state().add_input(dy.inputVector([1.0, 2.0]))
            assert other.output().value() == state.output().value()
        with pytest.raises(dy.StaleExpression, match="not the current one"):
            state.add_input(x)
        assert builder.initial_state().add_input(x).output().value() == state.output().value()
    assert len(g)


def test_a_builder_keeps_no_graph():
    builder = dy.VanillaLSTMBuilder(1, 2, 2, dy.ParameterCollection())
    with dy.ComputationGraph():
        y = builder.initial_state().add_input(dy.inputVector([1.0, 2.0])).output()
    assert y.is_stale()


def test_builders_are_copied_within_a_block():
    m = dy.ParameterCollection()
    builder = dy.VanillaLSTMBuilder(1, 2, 2, m)
    with dy.ComputationGraph():
        y = builder.initial_state().add_input(dy.inputVector([1.0, 2.0])).output()
        other = pickle.loads(pickle.dumps(builder))
        z = other.initial_state().add_input(dy.inputVector([1.0, 2.0])).output()
        assert y.value() == z.value()
    again = copy.deepcopy(other)
    assert again.initial_state().add_input(dy.inputVector([1.0, 2.0])).output().value()
    for refused in (dy.ComputationGraph(), dy.cg()):
        with pytest.raises(TypeError):
            pickle.dumps(refused)


def test_blocks_in_threads():
    m = dy.ParameterCollection()
    w = m.add_parameters(2, init=1.0)
    held = dy.ComputationGraph()
    results: dict[int, list[float]] = {}
    entered = threading.Event()
    leave = threading.Event()

    def work(k: int) -> None:
        own = dy.cg()
        for i in range(100):
            with dy.ComputationGraph() as g:
                loss = dy.dot_product(w, dy.inputVector([float(k), float(i)]))
                results.setdefault(k, []).append(loss.value())
                loss.backward()
            assert dy.cg() is own and len(g)
        if k == 0:
            with held:
                dy.scalarInput(1.0)
                entered.set()
                leave.wait(10)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    assert entered.wait(60)
    assert dy.cg() is not held and len(held) == 1
    with pytest.raises(dy.UsageError, match="did not enter"):
        held.__exit__(None, None, None)
    leave.set()
    for t in threads:
        t.join(60)
    assert results == {k: [k + i for i in range(100)] for k in range(3)}
    np.testing.assert_allclose(w.grad_as_array(), [300 * (0 + 1 + 2) / 3, 3 * 4950])


def test_the_graph_of_a_block_outlives_its_thread():
    kept: list[tuple[dy.ComputationGraph, dy.Expression]] = []

    def work() -> None:
        with dy.ComputationGraph() as g:
            kept.append((g, dy.scalarInput(1.0)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    g, x = kept.pop()
    assert (x + 1).value() == 2.0 and len(g) == 2


def test_many_graphs_cost_no_memory():
    def use(n: int) -> int:
        for _ in range(n):
            with dy.ComputationGraph():
                dy.zeros((100, 100)).value()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    first = use(50)
    assert use(1000) - first < 20_000  # KiB; the values alone would be 40,000
