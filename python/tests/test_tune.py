"""The example with Optuna runs, where that is installed."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "python" / "tune.py"


def test_the_example_with_optuna():
    pytest.importorskip("optuna", reason="Optuna is not installed: pip install optuna")
    result = subprocess.run(
        [sys.executable, str(EXAMPLE), "5"], capture_output=True, text=True, env=dict(os.environ)
    )
    assert result.returncode == 0, result.stderr
    assert "loss" in result.stdout and "rate" in result.stdout
