"""The types that the package comes with, as mypy reads them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import _dynet
import dynet
import pytest

PROGRAM = """
from typing import Any

import numpy as np

import dynet as dy
from dynet import *

m = dy.ParameterCollection()
W: dy.Parameters = m.add_parameters((3, 2), init=0.5)
E: dy.LookupParameters = m.add_lookup_parameters((5, 2))
x: dy.Expression = W * E[1] + dy.inputTensor(np.zeros(3))
y: float = dy.softmax(x, d=-1).scalar_value()
trainer: dy.Trainer = dy.AdamTrainer(m)
builder: dy.BiRNNBuilder = dy.BiRNNBuilder(1, 4, 4, m, dy.VanillaLSTMBuilder)
loss: Any = dy.pickneglogsoftmax(x, 1).value()
try:
    tanh(x)
except (dy.ShapeError, dy.IndexError, dy.RangeError) as error:
    text: str = str(error)  # a name that the star does not give
    metrics: int = 3
except IndexError:
    pass
"""

WRONG = """
import dynet as dy

dy.tanh(3)
dy.softmax(dy.zeros(2), dd=1)
dy.no_such_name
"""


EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


WHERE = Path(_dynet.__file__).parent


def run_mypy(
    folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, *files: str, path: Path = WHERE
) -> str:
    mypy = pytest.importorskip("mypy.api")
    if path.name == "site-packages":  # mypy looks there by itself, and refuses to be told
        monkeypatch.delenv("MYPYPATH", raising=False)
    else:
        monkeypatch.setenv("MYPYPATH", str(path))
    monkeypatch.chdir(folder)
    options = ["--strict", "--python-version=3.11", f"--cache-dir={cache}"]
    output, complaint, _ = mypy.run([*options, *files])
    assert complaint == ""
    return str(output)


def check(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / "program.py").write_text(program)
    return run_mypy(folder, folder, monkeypatch, "program.py")


def test_the_star_gives_the_names_that_the_types_list() -> None:
    # Modules that a program imported are not among them.
    import dynet.programs
    import dynet.text

    stub = Path(dynet.__file__).with_name("__init__.pyi").read_text()
    listed = re.findall(r'^    "(\w+)",$', stub[stub.index("__all__ = [") :], re.M)
    modules = {"dynet_config", "os", "sys"}  # old programs get these from the star
    assert {*dynet.__all__} - modules == {*listed} - modules


def test_a_program_has_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [
        line for line in check(PROGRAM, tmp_path, monkeypatch).splitlines() if "program.py" in line
    ] == []


def test_mypy_finds_wrong_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = check(WRONG, tmp_path, monkeypatch)
    for line in (4, 5, 6):
        assert f"program.py:{line}: error" in output


def test_the_examples_have_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the types of the package, which they import, are complete."""
    if not EXAMPLES.is_dir():
        pytest.skip("the examples are not here")
    files = sorted(file.name for file in EXAMPLES.glob("*.py"))
    errors = [
        line
        for line in run_mypy(EXAMPLES, tmp_path, monkeypatch, *files).splitlines()
        if ": error: " in line
        # Not installed, or (stubs of a name with a dash) not found through MYPYPATH.
        and not any(f'module named "{name}"' in line for name in ("_dynet", "optuna"))
    ]
    assert errors == []


def own_sources(folder: Path) -> list[str]:
    """Copies the package, without the types that it is installed with: mypy would read only these.
    These imports then refer to the types of the extension module, which the package's types
    contain."""
    package = folder / "dynet"
    package.mkdir()
    for source in Path(dynet.__file__).parent.glob("*.py"):
        shutil.copy(source, package)
    for part in ("metrics", "programs", "text"):
        shutil.copytree(Path(dynet.__file__).with_name(part), package / part)
    types = Path(dynet.__file__).with_name("__init__.pyi").read_text()
    types = types[: types.index("__all__ = [")]  # the extension module gives all names
    (folder / "_dynet.pyi").write_text(types.replace("from ._", "from dynet._"))
    others = ["dynet_config.py", "dynet_viz.py"]
    for other in others:
        shutil.copy(WHERE / other, folder)
    return ["dynet", *others]


def test_the_package_itself_has_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = own_sources(tmp_path)
    output = run_mypy(tmp_path, tmp_path / "cache", monkeypatch, *files, path=tmp_path)
    errors = [
        line
        for line in output.splitlines()
        # The names that __init__.py defines are among the types, too.
        if ": error: " in line and "already defined (possibly by an import)" not in line
    ]
    assert errors == [] and f"checked {len(list(tmp_path.rglob('*.py')))} source files" in output
    # It is the copy that was read.
    with (tmp_path / "dynet" / "_fit.py").open("a") as source:
        source.write("\n\ndef wrong() -> int:\n    return _Line\n")
    output = run_mypy(tmp_path, tmp_path / "cache", monkeypatch, *files, path=tmp_path)
    assert "dynet/_fit.py" in output and "[return-value]" in output
