"""Requests to a graph in any order: tied tables, marks with evaluation anew, random sessions."""

from __future__ import annotations

import random
import threading

import dynet as dy
import numpy as np
import pytest


@pytest.mark.parametrize("rows_first", [True, False])
def test_a_table_by_rows_and_as_one_matrix(rows_first):
    m = dy.ParameterCollection()
    e = m.lookup_parameters_from_numpy(np.arange(1.0, 7.0).reshape(3, 2))
    dy.renew_cg()
    uses = {}
    for name in ["row", "all"] if rows_first else ["all", "row"]:
        uses[name] = e[1] if name == "row" else dy.parameter(e)
    weights = dy.inputTensor(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    loss = dy.sum_elems(dy.cmult(uses["all"], weights)) + 10 * dy.squared_norm(uses["row"])
    loss.backward()
    expected = np.array([[1.0, 4.0], [2.0 + 60.0, 5.0 + 80.0], [3.0, 6.0]])
    np.testing.assert_allclose(e.grad_as_array(), expected)


class Session:
    """A list of the built nodes, the live expressions, and numpy as the judge of values."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.m = dy.ParameterCollection()
        draw = np.random.RandomState(seed)
        self.w = self.m.parameters_from_numpy(draw.uniform(-0.7, 0.7, (3, 3)))
        self.e = self.m.lookup_parameters_from_numpy(draw.uniform(-0.7, 0.7, (4, 3)))
        self.nodes: list[tuple] = []
        self.live: list[dy.Expression] = []
        self.marks: list[int] = []
        dy.renew_cg()

    def make(self, node: tuple, made: list) -> dy.Expression:
        kind, a, b = node
        if kind == "input":
            return dy.inputVector(a)
        if kind == "row":
            return self.e[a]
        if kind == "table":
            return dy.parameter(self.e) * dy.softmax(dy.transpose(dy.parameter(self.e)) * made[a])
        if kind == "weight":
            return dy.tanh(dy.parameter(self.w) * made[a])
        return made[a] + made[b] if kind == "add" else dy.cmult(made[a], made[b])

    def judge(self, i: int) -> np.ndarray:
        w, e = self.w.as_array(), self.e.as_array()
        values = []
        for kind, a, b in self.nodes[: i + 1]:
            if kind == "input":
                values.append(np.array(a))
            elif kind == "row":
                values.append(e[a])
            elif kind == "table":
                scores = np.exp(e @ values[a])
                values.append(e.T @ (scores / scores.sum()))
            elif kind == "weight":
                values.append(np.tanh(w @ values[a]))
            else:
                values.append(values[a] + values[b] if kind == "add" else values[a] * values[b])
        return values[i]

    def gradients(self) -> np.ndarray:
        return np.concatenate([self.w.grad_as_array().ravel(), self.e.grad_as_array().ravel()])

    def judge_gradients(self, i: int) -> np.ndarray:
        """From a graph without any events, in a thread of its own."""

        def run():
            dy.renew_cg()
            made = []
            for node in self.nodes[: i + 1]:
                made.append(self.make(node, made))
            dy.squared_norm(made[i]).backward()

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return self.gradients()

    def build(self):
        count = len(self.nodes)
        kinds = ["input", "row"] + ["table", "weight", "weight", "add", "multiply"] * (count > 1)
        kind = self.random.choice(kinds)
        a, b = self.random.randrange(count or 1), self.random.randrange(count or 1)
        if kind == "input":
            a = [self.random.uniform(-1, 1) for _ in range(3)]
        elif kind == "row":
            a = self.random.randrange(4)
        self.nodes.append((kind, a, b))
        self.live.append(self.make(self.nodes[-1], self.live))

    def step(self):
        event = self.random.random()
        i = self.random.randrange(len(self.nodes)) if self.nodes else 0
        if event < 0.35 or not self.nodes:
            self.build()
        elif event < 0.6:
            anew = self.random.random() < 0.4
            found = self.live[i].npvalue(recalculate=anew)
            np.testing.assert_allclose(found, self.judge(i), atol=1e-5)
        elif event < 0.7:
            dy.cg_checkpoint()
            self.marks.append(len(self.nodes))
        elif event < 0.8:
            dy.cg_revert()
            if self.marks:
                count = self.marks.pop()
                del self.nodes[count:], self.live[count:]
        elif event < 0.88:
            if self.nodes[i][0] == "input":
                numbers = [self.random.uniform(-1, 1) for _ in range(3)]
                self.live[i].set(numbers)
                self.nodes[i] = ("input", numbers, 0)
        else:
            self.m.reset_gradient()
            dy.squared_norm(self.live[i]).backward()
            found = self.gradients()
            self.m.reset_gradient()
            np.testing.assert_allclose(found, self.judge_gradients(i), atol=1e-4)


@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_sessions(first):
    for seed in range(first, first + 20):
        session = Session(seed)
        for _ in range(25):
            session.step()
