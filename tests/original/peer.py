"""The environment with DyNet 2.2 of the first authors: the package dyNET38 of PyPI, which is for
Python 3.11 on x86-64 among others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ["dyNET38==2.2", "numpy==1.26.4"]


def interpreter() -> str:
    """Makes the environment in build/original unless it is there. Returns its interpreter."""
    folder = ROOT / "build" / "original"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (folder / "ready").touch()
    return str(python)
