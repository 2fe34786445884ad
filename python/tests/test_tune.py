"""The example with Optuna runs, if Optuna is installed."""

from __future__ import annotations

import os
import pathlib
import runpy
import subprocess
import sys
import types

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "python" / "tune.py"


def test_the_example_with_optuna():
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install optuna")
    result = subprocess.run(
        [sys.executable, str(EXAMPLE), "5"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert result.returncode == 0, result.stderr
    assert "loss" in result.stdout and "rate" in result.stdout


def test_a_trial_that_diverges_does_not_end_the_study(monkeypatch):
    """Runs without Optuna too: stand-ins replace the parts that the example needs."""

    class TrialPruned(Exception):
        pass

    class Trial:
        def suggest_int(self, _name, low, _high):
            return low

        def suggest_float(self, _name, _low, _high, log):
            return 0.1

        def report(self, _value, _step):
            pass

        def should_prune(self):
            return False

    optuna = types.SimpleNamespace(TrialPruned=TrialPruned, Trial=Trial)
    monkeypatch.setitem(sys.modules, "optuna", optuna)
    tune = runpy.run_path(str(EXAMPLE))
    tune["objective"].__globals__["DATA"] = [((float("nan"), 1.0), 1.0)] * 4
    with pytest.raises(TrialPruned):
        tune["objective"](Trial())
