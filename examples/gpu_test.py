"""gpu_test.py PROGRAMS: a few updates of each example on GPU:0 have the losses of the CPU.

The library of GPUs that DYNET_GPU_LIBRARY names may be one that runs on the CPU
(tests/cuda_on_host). PROGRAMS is the folder of the programs in C++, or `python` for the programs
in Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GPU = "--dynet-devices=GPU:0"
BOUND = 2e-4  # of losses, which are sums of many numbers (tests/cuda_on_host/README.md)
WORDS = ["ka", "be", "di", "po"]

DATA = {
    "tagged": "".join(f"{w}|O the|O ro|X to|O ro|O\nthe|O {w}|O ro|X\n" for w in WORDS),
    "documents": "".join(f"{w} is not good ||| bad\n{w} is good ||| good\n" for w in WORDS),
    "pairs": "".join(f"the {w} sees it ||| it sees {w}\n" for w in WORDS),
    "text": "".join(f"{w} is {w}\nthe {w} is the {w}\n" for w in WORDS),
    "parses": "".join(
        f"1\tthe\t_\t_\t_\t_\t2\t_\t_\t_\n2\t{w}\t_\t_\t_\t_\t3\t_\t_\t_\n"
        "3\tsees\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
        for w in WORDS
    ),
    "trees": "".join(f"(3 (2 {w}) (4 works))\n(1 (2 {w}) (0 (2 not) (4 works)))\n" for w in WORDS),
}
SMALL = ["--updates=3", "--minibatch=4"]
PAPER = [*SMALL, "--print-losses=3", "--quiet", "--hidden=8"]
# The data of each program, and its options.
PROGRAMS = {
    "classifier": ("documents", SMALL),
    "crf_tagger": ("tagged", SMALL),
    "parser": ("parses", SMALL),
    "segmental": ("tagged", SMALL),
    "transformer_lm": ("text", SMALL),
    "translator": ("pairs", SMALL),
    "own_cells": ("", SMALL),
    "policy_gradient": ("", ["--updates=50", "--minibatch=2"]),
    "tagger": ("tagged", [*PAPER, "--embedding=8", "--mlp=8"]),
    "rnnlm": ("text", [*PAPER, "--embedding=8"]),
    "sentiment": ("trees", PAPER),
    "listops": ("", [*PAPER, "--test-trees=5"]),
}
# The programs in Python; None: with the same options.
IN_PYTHON = {
    "parser": ["--epochs=1", "--minibatch=4", "--dynet-seed=1"],
    "own_cells": ["3", "--dynet-seed=1"],
    "tagger": None,
    "rnnlm": None,
    "sentiment": None,
    "listops": None,
}


def numbers(command: list[str], folder: Path) -> list[float]:
    """The losses, scores and rewards that a program prints."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode != 0:
        sys.exit(f"gpu_test: {' '.join(command)}\n{done.stdout}{done.stderr}")
    text = re.sub(r"[0-9.]+ s\b|trained .*|\d+( \w+)? a second", "", done.stdout)  # without times
    return [float(n) for n in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]\d+)?", text)]


def check(name: str, command: list[str], folder: Path) -> bool:
    wanted, found = numbers(command, folder), numbers([*command, GPU], folder)
    is_same = len(wanted) == len(found) != 0 and all(
        abs(a - b) <= BOUND * max(1.0, abs(a)) for a, b in zip(wanted, found)
    )
    print(f"{'ok    ' if is_same else 'FAILED'} {name}: {found}")
    if not is_same:
        print(f"       on the CPU: {wanted}")
    return is_same


def main() -> None:
    in_python = sys.argv[1] == "python"
    programs = Path(sys.argv[1]).resolve()
    same: list[bool] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, text in DATA.items():
            (folder / kind).write_text(text)
        for program, (data, options) in PROGRAMS.items():
            files = [f"--train={folder / data}", f"--dev={folder / data}"] if data else []
            out = [f"--out={folder}"] if program == "listops" else []
            if not in_python:
                command = [str(programs / program), *files, *options, *out]
                same.append(check(program, command, folder))
            elif program in IN_PYTHON:
                script = [sys.executable, str(HERE / "python" / f"{program}.py")]
                options = IN_PYTHON[program] or options
                same.append(check(f"{program}.py", [*script, *files, *options, *out], folder))
    print(f"{same.count(True)} passed, {same.count(False)} failed")
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
