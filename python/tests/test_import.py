"""`import dynet` imports nothing that a program does not use, and no NumPy before an array."""

from __future__ import annotations

import subprocess
import sys

import dynet as dy
import pytest

TRAINING = """
m = dy.ParameterCollection()
W, E = m.add_parameters((3, 4)), m.add_lookup_parameters((5, 4))
builder = dy.VanillaLSTMBuilder(1, 4, 4, m)
trainer = dy.AdamTrainer(m)
for word in range(5):
    dy.renew_cg()
    x = E[word] + dy.inputVector([1, 2.5, -1, 0]) + dy.inputVector(range(4))
    x += dy.inputTensor([[0.5], [1], [2], [3]])
    h = builder.initial_state().add_input(x).output()
    loss = dy.pickneglogsoftmax(W * h, word % 3)
    loss.value(), h.vec_value(), loss.scalar_value()
    loss.backward()
    trainer.update()
"""
# Modules of the standard library that take longer than the whole of dynet may take.
HEAVY = "numpy pickle json typing inspect logging re enum traceback dataclasses ctypes subprocess"
WITHOUT_NUMPY = "import sys; sys.modules['numpy'] = None\n"  # as if it were not installed


def run(code: str) -> str:
    """Output of a program in a Python that nothing was imported into."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(code: str) -> set[str]:
    before = "import sys; before = set(sys.modules)\n"
    return set(run(before + code + "\nprint(*(set(sys.modules) - before))").split())


def test_a_training_without_arrays_imports_nothing_heavy():
    names = imported("import dynet as dy\n" + TRAINING)
    assert "dynet" in names
    assert not names & set(HEAVY.split())


def test_numpy_comes_with_the_first_array():
    for code in (
        "dy.inputVector([1, 2]).npvalue()",
        "m.add_parameters(2).as_array()",
        "dy.np.zeros(1)",
    ):
        assert "numpy" in imported(f"import dynet as dy; m = dy.Model()\n{code}")


def test_numpy_need_not_be_installed():
    assert run(WITHOUT_NUMPY + "import dynet as dy\n" + TRAINING + "print(loss.value() > 0)") == (
        "True\n"
    )
    star = "from dynet import *; renew_cg(); print('np' in globals(), tanh(scalarInput(0)).value())"
    assert run(WITHOUT_NUMPY + star) == "False 0.0\n"
    for wanted in (
        "dy.inputVector([1, 2]).npvalue()",
        "m.add_parameters(2).as_array()",
        "m.add_lookup_parameters((2, 2)).as_array()",
    ):
        code = f"""
import dynet as dy
m = dy.Model()
try:
    {wanted}
except ImportError as error:
    print(error)
"""
        assert "NumPy is not installed: pip install numpy" in run(WITHOUT_NUMPY + code), wanted


def test_star_brings_what_old_programs_expect():
    code = """
import sys
names = {}
exec("from dynet import *", names)
print("numpy" in sys.modules, *(names[n].__name__ for n in ("np", "pickle", "os", "sys", "tanh")))
print(any(n.startswith("_") and n != "__builtins__" for n in names), "annotations" in names)
"""
    assert run(code) == "True numpy pickle os sys tanh\nFalse False\n"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="module 'dynet' has no attribute 'tahn'"):
        _ = dy.tahn
