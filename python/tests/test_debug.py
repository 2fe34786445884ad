"""Traces and times."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

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


def test_a_timeline_is_json_with_stages_calls_and_lines(tmp_path):
    file = tmp_path / "run.json"
    with dy.timeline(str(file)):
        step()
    step()
    events = json.loads(file.read_text())["traceEvents"]
    names = [event["name"] for event in events]
    assert names.count("forward") == names.count("backward") == 1
    calls = [e for e in events if e["name"] == "3 x matmul"]
    assert [e["cat"] for e in calls] == ["forward", "backward"]
    assert calls[0]["args"]["nodes"] == "v2 v5 v8"
    assert "test_debug.py" in calls[0]["args"]["built at"]
    forward = next(e for e in events if e["name"] == "forward")
    assert forward["ts"] <= calls[0]["ts"]
    assert calls[0]["ts"] + calls[0]["dur"] <= forward["ts"] + forward["dur"] + 0.002  # as rounded


def test_a_timeline_is_checked(tmp_path):
    with pytest.raises(RuntimeError, match="cannot write"), dy.timeline(str(tmp_path / "a" / "b")):
        pass
    timeline = dy.timeline(str(tmp_path / "run.json"))
    with timeline:
        with pytest.raises(dy.UsageError, match="entered once"):
            timeline.__enter__()
        with pytest.raises(dy.UsageError, match="one at a time"):
            dy.timeline(str(tmp_path / "other.json")).__enter__()
    with timeline:  # again, after the first
        pass


def test_a_graph_is_a_picture():
    dy.renew_cg()
    x = dy.inputVector([1.0, 2.0])
    dy.esum([dy.tanh(x), dy.tanh(2 * x)])
    text = dy.cg().to_svg()
    assert text == dy.cg()._repr_svg_()
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    hints = [e.text or "" for e in root.iter() if e.tag.endswith("title")]
    assert sum("tanh" in hint and "test_debug.py" in hint for hint in hints) == 2


def test_find_nan_names_the_line():
    dy.renew_cg()
    assert dy.find_nan() == ""
    y = dy.exp(dy.log(dy.inputVector([-1.0])))
    y.value()
    text = dy.find_nan()
    assert text.startswith("NaN first in node 1, log(v0) {1}, built at ")
    assert "test_debug.py" in text


def test_the_trainer_names_the_line():
    m = dy.Model()
    p = m.add_parameters(2, init=0.0)
    trainer = dy.SimpleSGDTrainer(m)
    dy.renew_cg()
    dy.sum_elems(dy.sqrt(p)).backward()
    with pytest.raises(
        dy.NumericError, match=r"(?s)in the gradient of node 0.*comes back from.*sqrt"
    ):
        trainer.update()


def test_a_graph_that_wants_valid_numbers():
    dy.renew_cg(check_validity=True)
    y = dy.exp(dy.log(dy.inputVector([-1.0])))
    with pytest.raises(dy.NumericError, match=r"node 1, log.*test_debug.py"):
        y.value()
    with pytest.raises(dy.NumericError, match=r"node 1, log.*test_debug.py"):
        y.npvalue()
    dy.renew_cg()


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
