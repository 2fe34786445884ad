"""Traces and times."""

from __future__ import annotations

import subprocess
import sys

import dynet as dy
import pytest
from far import PRELUDE


def test_trace_reports_while_it_lasts(capfd):
    dy.renew_cg()
    with dy.trace("graph,plan"):
        dy.tanh(dy.inputVector([1.0])).value()
    dy.tanh(dy.inputVector([1.0])).value()
    text = capfd.readouterr().err
    assert text.count("graph: node") == 2
    assert "plan: 2 nodes, 2 groups, 2 segments, lower bound 2\ngroup 0: 1 x input" in text
    assert text.count("plan:") == 1


def test_trace_is_checked():
    with pytest.raises(ValueError, match="'plann' is nothing to trace"):
        dy.trace("plann")
    trace = dy.trace("")
    with trace, pytest.raises(dy.UsageError, match="entered once"):
        trace.__enter__()
    with trace:  # again, after the first
        pass


def step():
    dy.renew_cg()
    w = dy.Model().add_parameters((2, 3), init=0.5)
    loss = dy.esum([dy.squared_norm(w * dy.ones(3)) for _ in range(3)])
    loss.value()
    loss.backward()


def test_each_word_reports(capfd):
    said = {}
    for word in ["graph", "plan", "memory", "execute", "time"]:
        with dy.trace(word):
            step()
        said[word] = capfd.readouterr().err
        assert all(line.startswith((f"{word}:", "group ", " ")) for line in said[word].splitlines())
    assert "memory: 10 nodes in " in said["memory"]
    assert "execute: forward matmul of 3 nodes: v2 v5 v8" in said["execute"]
    assert "execute: backward matmul of 3 nodes:" in said["execute"]
    assert said["time"].count("time: forward, ") == 1
    assert "matmul: 1 calls, 3 nodes, 3.0 nodes per call" in said["time"]


PROGRAM = """
import dynet as dy
w = dy.Model().add_parameters((2, 3), init=0.5)
dy.renew_cg()
loss = dy.esum([dy.squared_norm(w * dy.ones(3)) for _ in range(3)])
loss.value()
loss.backward()
"""


def test_profiling_prints_at_the_end():
    def run(level: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", PRELUDE + PROGRAM, "--dynet-profiling", level],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert run("0") == ""
    text = run("1")
    assert text.startswith("profile: 0.")
    assert "forward  matmul: 1 calls, 3 nodes\n" in text
    assert "backward matmul: 1 calls, 3 nodes\n" in text
    assert "matmul: 1 calls, 3 nodes, 3.0 nodes per call, 24 bytes of results\n" in run("2")
