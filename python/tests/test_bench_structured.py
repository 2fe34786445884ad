"""bench/structured, as far as it goes without its peer."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib

import pytest

HERE = pathlib.Path(__file__).parents[2] / "bench" / "structured"
if not HERE.exists():
    pytest.skip("the bench is not here", allow_module_level=True)


def opened(name):
    loader = importlib.machinery.SourceFileLoader("structured_" + name[:3], str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_sums_with_and_without_gradients_are_the_same():
    worker = opened("worker.py")
    ours = worker.DyNet()
    small = {name: (name, n, labels) for name, n, labels in reversed(worker.CASES)}
    assert len(small) == 5
    for case in small.values():
        alone, both = ours.calls(*case)
        assert alone() == both() > 0
    # Sixteen sentences, whose segments are one by one or longer: more than the best alone.
    name, n, labels = small["segments"]
    (scores,) = worker.scores_of(name, n, labels)
    least = scores[:, 0].max(-1).sum()
    assert ours.calls(name, n, labels)[0]() > least


def test_sums_have_to_agree():
    run = opened("run")
    row = {"case": ["chain of tags", 10, 20], "value": 100.0}
    row |= {"value_seconds": 0.001, "seconds": 0.002}
    slow = row | {"value_seconds": 0.002, "seconds": 0.008}
    want = "| chain of tags | 10 | 20 | 1.00 | 2.00 | 2.0 | 2.00 | 8.00 | 4.0 |"
    assert run.line_of(row, slow) == want
    with pytest.raises(SystemExit, match=r"the sum is 100, and 100\.1 by the peer"):
        run.line_of(row, slow | {"value": 100.1})
