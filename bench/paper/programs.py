"""Runs one program and reads its output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rows import Row

ROOT = Path(__file__).parents[2]
TWINS = Path(__file__).parent / "twins"
FINAL_LINE = re.compile(
    r"trained (?P<items>\d+) items in (?P<seconds>[\d.]+) cpu-seconds: (?P<rate>[\d.]+) items/s; "
    r"peak memory (?P<memory>[\d.]+) MiB; first-update-at (?P<start>[\d.]+) s after start"
)
PLAN_LINE = re.compile(r"plan: \d+ nodes, (\d+) groups, \d+ segments, lower bound (\d+)")


class ProgramError(RuntimeError):
    """A program that failed, with the end of its output."""


@dataclass
class Setup:
    """Folders, files and the core to run on."""

    data: Path
    build: Path
    python: str  # interpreter that has the module dynet
    torch_python: str  # interpreter that has torch
    core: int  # on which everything runs; -1: anywhere


def run_command(command: list[str], setup: Setup, **environment: str) -> str:
    """Standard output."""
    if setup.core >= 0:
        command = ["taskset", "-c", str(setup.core), *command]
    done = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-8:])
        raise ProgramError(f"{' '.join(command)}: exit {done.returncode}\n{tail}")
    return done.stdout


def command_of(row: Row, system: str, setup: Setup) -> list[str]:
    """The command without the options of a run."""
    train, _ = row.model.files(setup.data)
    shared = ["--train", train, "--minibatch", str(row.sentences), "--lookup-updates", row.mode]
    if system.startswith("torch"):
        style = "by_hand" if system == "torch-hand" else "one_by_one"
        program = [setup.torch_python, str(TWINS / f"{row.model.twin}_{style}.py")]
        return [*program, *shared, *row.model.twin_arguments]
    shared += ["--dynet-autobatch", "0" if system.endswith("off") else "1", *row.model.arguments]
    shared += ["--sequence"] if system.endswith("seq") else []
    if system.startswith("python"):
        return [setup.python, f"examples/python/{row.model.program}.py", *shared]
    return [str(setup.build / "examples" / row.model.program), *shared]


def environment_of(setup: Setup) -> dict[str, str]:
    """One thread everywhere, and the module of this build."""
    module = str(setup.build / "python")
    return {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": module}


def measure(row: Row, system: str, setup: Setup, options: list[str]) -> dict[str, float]:
    """The numbers of the final line. ``options``: of this run, such as ``--max-seconds 5``."""
    command = [*command_of(row, system, setup), "--quiet", *options]
    output = run_command(command, setup, **environment_of(setup))
    found = FINAL_LINE.search(output)
    if not found:
        raise ProgramError(f"{' '.join(command)}: no final line in\n{output[-500:]}")
    return {name: float(value) for name, value in found.groupdict().items()}


def groups_to_bound(row: Row, setup: Setup, updates: int) -> float:
    """Groups of the plans of some updates, as a multiple of the least number for any schedule."""
    command = [*command_of(row, "cpp", setup), "--quiet", "--updates", str(updates)]
    if setup.core >= 0:
        command = ["taskset", "-c", str(setup.core), *command]
    done = subprocess.run(
        command,
        env=os.environ | {"DYNET_TRACE": "plan"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    plans = [(int(a), int(b)) for a, b in PLAN_LINE.findall(done.stderr)]
    if not plans:
        raise ProgramError(f"{' '.join(command)}: DYNET_TRACE=plan prints no plan")
    return sum(groups for groups, _ in plans) / max(sum(bound for _, bound in plans), 1)


def probe(setup: Setup, sizes: list[int]) -> dict[str, float]:
    """Limits of the machine, and ``adam N``: seconds of a pass over N parameters."""
    command = [str(setup.build / "bench" / "dynet_bench"), "--probes", *map(str, sizes)]
    lines = run_command(command, setup).splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def make_torch_environment(folder: Path) -> str:
    """Makes a virtual environment with PyTorch unless it is there. Returns its interpreter."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder} with the current release of PyTorch (some GB)", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        packages = ["torch", "numpy", "matplotlib"]
        subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)
    return str(python)
