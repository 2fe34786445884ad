"""The programs that are timed and compared with the DyNet of the first authors (bench/original,
tests/original) run with this library alone, too: they learn, and batching changes rounding only."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = (ROOT / "bench" / "original" / "run").read_text(encoding="utf-8")
MODELS = re.findall(r'^MODELS = "(.+)"$', RUN, re.MULTILINE)[0].split(",")
CASES = ROOT / "tests" / "original"
FILES = [p for p in sorted(CASES.glob("*.py")) if "\ndef cases(" in p.read_text(encoding="utf-8")]


def lines_of(*command: object) -> list[str]:
    done = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("model", MODELS)
def test_timed_programs(model):
    program = ROOT / "bench" / "original" / "models.py"
    said = [json.loads(lines_of(program, model, 2, batching, 0)[-1]) for batching in "10"]
    assert said[0]["losses"] == pytest.approx(said[1]["losses"], rel=1e-4)
    assert all(value > 0 for one in said for value in (one["rate"], *one["stages"].values()))


def test_whole_programs_learn():
    lines = lines_of(CASES / "run_cases.py", CASES / "programs.py", "cases", 0)
    said = [json.loads(line[1:]) for line in lines if line.startswith("@")]
    losses = {one["name"]: one["result"] for one in said if "begin" not in one}
    assert len(losses) == 12
    del losses["reinforcement"]  # the loss of another action in each step
    for name, values in losses.items():
        assert values[-1] < values[0], name


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_files_of_cases_load(file):
    begun = lines_of(CASES / "run_cases.py", file, "cases", 10**9)
    assert begun == []
