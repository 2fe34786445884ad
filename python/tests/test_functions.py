"""Functions and objects of the module as people and Python's own tools see them."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
import re

import _dynet
import dynet as dy
import numpy as np
import pytest

ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


def test_functions_show_their_names():
    m = dy.ParameterCollection()
    assert repr(dy.tanh) == "<function dynet.tanh>"
    assert repr(dy.ParameterCollection.add_parameters) == (
        "<method ParameterCollection.add_parameters>"
    )
    assert repr(dy.GRUBuilder.initial_state) == "<method _RNNBuilder.initial_state>"
    bound = dy.GRUBuilder(1, 2, 3, m).initial_state
    assert repr(bound).startswith("<bound method _RNNBuilder.initial_state of GRUBuilder of 1")


def members(cls):
    """Members of a class, with the functions of properties and class methods."""
    for member in vars(cls).values():
        inner = (getattr(member, name, None) for name in ("fget", "fset", "__func__"))
        yield from (one for one in (member, *inner) if hasattr(one, "__nb_signature__"))


def test_no_function_of_the_binding_library_is_left():
    """Calls of such a function would not be explained, and without a GIL have no lock."""
    kinds = set()
    for value in vars(_dynet).values():
        if isinstance(value, type):
            for one in members(value):
                kinds.add(type(one))
                assert one.__objclass__ is value or one in members(one.__objclass__)
        elif hasattr(value, "__nb_signature__"):
            kinds.add(type(value))
            assert not hasattr(value, "__objclass__")
    assert {kind.__name__ for kind in kinds} == {"function", "method"}
    assert len(kinds) == 2 and {kind.__module__ for kind in kinds} == {"builtins"}


def test_a_function_has_one_object():
    assert dy.cwise_multiply is dy.cmult
    x = dy.inputVector([1.0])
    assert x.npvalue == x.npvalue and x.npvalue.__self__ is x
    assert inspect.ismethod(x.npvalue) and x.npvalue.__func__ is dy.Expression.npvalue


def test_signatures():
    assert str(inspect.signature(dy.tanh)) == "(x: 'Expression') -> 'Expression'"
    softmax = inspect.signature(dy.softmax)
    assert list(softmax.parameters) == ["x", "d"] and softmax.parameters["d"].default == 0
    m = dy.ParameterCollection()
    bound = inspect.signature(m.add_parameters)
    assert list(bound.parameters)[:3] == ["dim", "init", "name"]
    assert bound.parameters["scale"].default == 1.0
    assert next(iter(inspect.signature(dy.ParameterCollection.add_parameters).parameters)) == "self"
    assert list(inspect.signature(dy.GRUBuilder).parameters) == [
        "layers", "input_dim", "hidden_dim", "model", "reset_after",
    ]  # fmt: skip
    assert "epochs" in inspect.signature(dy.fit).parameters

    class Own(dy.GRUBuilder):
        def __init__(self, size, m):
            super().__init__(1, size, size, m)

    assert list(inspect.signature(Own).parameters) == ["size", "m"]
    derived = type("Derived", (dy.GRUBuilder,), {})
    assert next(iter(inspect.signature(derived).parameters)) == "layers"


def test_every_function_has_a_signature():
    for name in dir(dy):
        value = getattr(dy, name)
        if hasattr(value, "__nb_signature__"):
            inspect.signature(value)
        if isinstance(value, type):
            for method in vars(value).values():
                if hasattr(method, "__nb_signature__"):
                    inspect.signature(method)


def test_help():
    text = pydoc.render_doc(dy.tanh, renderer=pydoc.plaintext)
    assert text.startswith("Python Library Documentation: function in module dynet")
    assert "tanh" in text and "nb_func" not in text
    assert "initial_state" in pydoc.render_doc(dy.GRUBuilder, renderer=pydoc.plaintext)


def test_functions_have_only_their_attributes():
    assert not hasattr(dy.tanh, "value") and not hasattr(dy.tanh, "_value")
    assert dy.tanh.__name__ == "tanh" and dy.tanh.__doc__
    with pytest.raises(TypeError, match="'method' object is not subscriptable"):
        dy.GRUBuilder(1, 2, 3, dy.ParameterCollection()).initial_state[0]


def test_functions_and_methods_are_copied():
    assert copy.deepcopy(dy.tanh) is dy.tanh and pickle.loads(pickle.dumps(dy.tanh)) is dy.tanh
    W = dy.ParameterCollection().add_parameters((2, 2))
    again = pickle.loads(pickle.dumps(W.as_array))
    assert np.array_equal(again(), W.as_array())


def objects():
    m = dy.ParameterCollection()
    gru = dy.GRUBuilder(1, 2, 3, m)
    yield dy.NormalInitializer(0, 0.1), "NormalInitializer(0, 0.1)"
    yield dy.UniformInitializer(2), "UniformInitializer(2)"
    yield dy.ConstInitializer(0.5), "ConstInitializer(0.5)"
    yield dy.IdentityInitializer(), "IdentityInitializer()"
    yield dy.GlorotInitializer(), "GlorotInitializer(False, 1)"
    yield dy.SaxeInitializer(), "SaxeInitializer(1)"
    yield dy.FromFileInitializer("f"), "FromFileInitializer('f')"
    yield dy.NumpyInitializer(np.ones((2, 3))), "NumpyInitializer(an array {2,3})"
    yield dy.ConstantSchedule(0.1), "ConstantSchedule(0.1)"
    yield dy.CosineSchedule(0.1, 100), "CosineSchedule(0.1, 100, 0)"
    yield dy.WarmupSchedule(10, 0.1), "WarmupSchedule(10, ConstantSchedule(0.1))"
    yield dy.PlateauSchedule(0.1), "PlateauSchedule(0.1, 0.1, 10, 0.0001, 0, 0)"
    yield dy.DynetParams(), "DynetParams(mem="
    yield dy.UnsignedValue(3), "UnsignedValue(3)"
    yield dy.FloatVectorValue([1]), "FloatVectorValue([1.0])"
    yield dy.no_grad(), "no_grad()"
    yield dy.evaluating(), "evaluating()"
    yield dy.StackedRNNState([gru.initial_state()]), "StackedRNNState of initial RNNState"


@pytest.mark.parametrize(("x", "text"), list(objects()), ids=lambda x: type(x).__name__)
def test_objects_show_what_they_are(x, text):
    assert repr(x).startswith(text), repr(x)
    assert not ADDRESS.search(repr(x))


def test_a_checkpointer_shows_its_steps(tmp_path):
    """Apart from the others, because a checkpointer makes its folder."""
    m = dy.ParameterCollection()
    checkpoint = dy.Checkpointer(tmp_path / "x", m, dy.AdamTrainer(m))
    assert repr(checkpoint).startswith("Checkpointer after 0 steps")
    assert not ADDRESS.search(repr(checkpoint))


def test_a_tensorboard_shows_its_file(tmp_path):
    board = dy.TensorBoard(tmp_path, every=2.0)
    assert repr(board).startswith("TensorBoard('") and "every=2)" in repr(board)
    board.close()


def test_the_names_of_the_package_are_its_own():
    foreign = {"annotations", "TYPE_CHECKING", "os", "sys", "np", "pickle", "dynet_config"}
    assert not foreign & set(dir(dy))
    assert {"tanh", "fit", "save", "FloatValue"} <= set(dir(dy))
    assert dy.os and dy.sys  # as old programs use them


def test_pictures_of_no_graph_and_of_a_long_one():
    dy.renew_cg()
    assert "The graph has no nodes." in dy.cg().to_svg()
    x = dy.inputVector([1.0])
    for _ in range(300):
        x = dy.tanh(x)
    width, height = map(
        int, re.match(r'<svg [^>]*width="(\d+)" height="(\d+)"', dy.cg().to_svg()).groups()
    )
    assert width < 3000 and height > 2000
