"""What `import dynet` imports: nothing that a program does not use, and no NumPy before an array."""

from __future__ import annotations

import subprocess
import sys

import dynet as dy
import numpy as np
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
        "dy.np",
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


def test_nested_lists_are_as_numpy_reads_them():
    for values in (
        [1, 2.5, True],
        [[1, 2, 3], [4, 5, 6]],
        ((1, 2), [3, np.float32(4)]),
        [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]],
        [range(3), (4, 5, 6)],
        [np.arange(3), [4, 5, 6]],
        [1e40, -1e40, float("nan")],
    ):
        with np.errstate(over="ignore"):
            wanted = np.asarray(values, dtype=np.float32)
        if not hasattr(values[0], "__array__"):  # that is a batch
            assert np.array_equal(dy.inputTensor(values).npvalue(), wanted, equal_nan=True)
        p = dy.Model().parameters_from_numpy(values)
        assert np.array_equal(p.as_array(), wanted, equal_nan=True)
        if wanted.ndim > 1:
            table = dy.Model().lookup_parameters_from_numpy(values)
            assert np.array_equal(table.as_array(), wanted, equal_nan=True)


def test_bad_nested_lists_say_where():
    with pytest.raises(dy.ShapeError, match=r"\[0\]\[0\] has 2 elements, \[1\]\[0\] has 1"):
        dy.inputTensor([[[1, 2]], [[3]]])
    with pytest.raises(dy.ShapeError, match=r"\[0\] has 2 elements, \[2\] has 3"):
        dy.inputTensor([[1, 2], [3, 4], [5, 6, 7]])
    for bad, text in [
        ([[1, 2], [3, "4"]], r"element \[1\]\[1\] is '4', of type str; want a number"),
        ([[1, 2], 3], r"element \[1\] is 3, of type int; want a list"),
        ([[1, None]], r"element \[0\]\[1\] is None, of type NoneType; want a number"),
        (["text"], r"element \[0\] is 'text', of type str; want a number"),
        ([[object()]], r"element \[0\]\[0\] is <object .*>, of type object; want a number"),
    ]:
        with pytest.raises(TypeError, match=text):
            dy.inputTensor(bad)
    endless: list = []
    endless.append(endless)
    with pytest.raises(dy.SizeError, match="more than 8 deep"):
        dy.inputTensor(endless)


def test_an_exception_of_a_number_comes_through():
    class Odd:
        def __float__(self):
            raise KeyboardInterrupt

    for read in (dy.inputTensor, dy.inputVector):
        with pytest.raises(KeyboardInterrupt):
            read([Odd(), 1])


def test_a_list_that_changes_while_it_is_read():
    numbers: list = [1, 2, 3]

    class Clears:
        def __float__(self):
            numbers.clear()
            return 1.0

    numbers.insert(0, Clears())
    with pytest.raises(dy.Error):
        dy.inputTensor(numbers)
    assert np.array_equal(dy.inputTensor([1.0]).npvalue(), [1.0])
