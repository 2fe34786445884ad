"""Values without gradients."""

from __future__ import annotations

import threading

import dynet as dy
import numpy as np
import pytest


def lstm(steps: int, hidden: int = 64) -> dy.Expression:
    dy.renew_cg()
    dy.reset_random_seed(3)
    builder = dy.VanillaLSTMBuilder(1, hidden, hidden, dy.Model())
    state = builder.initial_state()
    for t in range(steps):
        state = state.add_input(dy.inputVector(np.linspace(-1, 1, hidden) * (t % 3)))
    return state.output()


def traced_bytes(text: str) -> int:
    return int(text.split(" nodes in ")[1].split(" bytes")[0])


def test_the_same_values_in_a_tenth_of_the_memory(capfd):
    found = []
    with dy.trace("memory"):
        found.append((lstm(600, 256).npvalue(), traced_bytes(capfd.readouterr().err)))
        with dy.no_grad():
            found.append((lstm(600, 256).npvalue(), traced_bytes(capfd.readouterr().err)))
    (plain, all_bytes), (within, few) = found
    print(f"with gradients {all_bytes} bytes, in no_grad {few}")
    assert few * 10 <= all_bytes
    assert np.allclose(plain, within, atol=1e-6)


def test_backward_is_an_error_within():
    w = dy.Model().add_parameters(3, init=1.0)
    dy.renew_cg()
    loss = dy.squared_norm(dy.tanh(w))
    with dy.no_grad():
        loss.value()
        with pytest.raises(dy.GraphError, match="within an inference scope"):
            loss.backward()
    with pytest.raises(dy.GraphError, match=r"computed in an inference scope(.|\n)*tanh"):
        loss.backward()
    dy.renew_cg()
    dy.squared_norm(dy.tanh(w)).backward()
    assert w.grad_as_array()[0] != 0


def test_the_error_says_what_makes_backward_possible():
    w = dy.Model().add_parameters(3, init=1.0)
    dy.renew_cg()
    with dy.no_grad():
        loss = dy.squared_norm(dy.tanh(w))
        loss.value()
    with pytest.raises(dy.GraphError, match=r"value\(recalculate=True\) outside") as caught:
        loss.backward()
    assert "invalidate" not in str(caught.value)
    loss.value(recalculate=True)
    loss.backward()
    assert w.grad_as_array()[0] != 0


def test_exceptions_and_nesting():
    w = dy.Model().add_parameters(3, init=1.0)
    scope = dy.no_grad()
    with pytest.raises(RuntimeError, match="mine"), scope, scope:
        raise RuntimeError("mine")
    dy.renew_cg()
    dy.squared_norm(w).backward()  # outside again
    with dy.no_grad():
        with dy.no_grad():
            pass
        dy.renew_cg()
        with pytest.raises(dy.GraphError):
            dy.squared_norm(w).backward()


def test_threads_have_scopes_of_their_own():
    w = dy.Model().add_parameters(3, init=1.0)
    done = []

    def train() -> None:
        dy.renew_cg()
        dy.squared_norm(w).backward()
        done.append(True)

    scope = dy.no_grad()
    with scope:
        thread = threading.Thread(target=train)
        thread.start()
        thread.join()
        errors = []

        def leave() -> None:
            try:
                scope.__exit__(None, None, None)
            except dy.UsageError as error:
                errors.append(error)

        thread = threading.Thread(target=leave)
        thread.start()
        thread.join()
    assert done == [True] and len(errors) == 1


def test_a_decoder():
    def run() -> list[float]:
        dy.renew_cg()
        dy.reset_random_seed(3)
        builder = dy.GRUBuilder(1, 4, 4, dy.Model())
        state, x, found = builder.initial_state(), 1.0, []
        for _ in range(8):
            state = state.add_input(dy.inputVector([x, 0.5, -0.5, 1.0]))
            x = dy.sum_elems(state.output()).value()
            found.append(x)
        return found

    plain = run()
    with dy.no_grad():
        assert np.allclose(run(), plain)
