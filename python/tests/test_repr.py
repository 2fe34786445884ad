"""The repr and the text of objects."""

from __future__ import annotations

import threading

import dynet as dy
import pytest


def test_expression():
    x = dy.inputVector([1.0, -2.0])
    y = dy.tanh(x)
    version = dy.cg_version()
    assert str(y) == f"expression 1/{version}"
    assert repr(y).startswith(f"expression 1/{version}: tanh(v0) {{2}}, built at ")
    assert "test_repr.py:" in repr(y) and "test_expression" in repr(y)
    assert "value" not in repr(y)
    y.value()
    assert repr(y).endswith("value [0.76159, -0.96403]")
    assert repr(dy.sum_elems(y)).count("value") == 0
    total = dy.sum_elems(y)
    total.value()
    assert repr(total).endswith(", value -0.20243")
    long = dy.inputVector([0.5] * 100)
    long.value()
    assert repr(long).endswith("[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ...]")
    dy.renew_cg()
    assert repr(y) == "expression 1, stale: its graph has gone on"
    assert str(y) == f"expression 1/{version}"
    assert str(dy.tanh(dy.inputVector([1.0]))) == f"expression 1/{version + 1}"


def test_expression_of_another_thread():
    dy.renew_cg()
    y = dy.inputVector([1.0])
    texts = []

    def look():
        for _ in range(3):
            dy.renew_cg()
        texts.append(str(y))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert texts == [str(y)] == [f"expression 0/{dy.cg_version()}"]


def test_repr_computes_nothing_and_adds_no_node():
    y = dy.tanh(dy.inputVector([1.0]))
    before = len(dy.cg())
    repr(y)
    str(y)
    assert len(dy.cg()) == before and "value" not in repr(y)


def test_collection_parameter_and_table():
    model = dy.ParameterCollection()
    W = model.add_parameters((3, 2), init=2.0, name="W")
    E = model.add_subcollection("words").add_lookup_parameters((1000, 4), init=0.5)
    assert repr(W) == "Parameter /W (3, 2), norm 4.899"
    assert str(W) == "Parameter /W"
    E.set_updated(False)
    assert repr(E) == "LookupParameter /words/_0 (1000, 4), norm 31.623, frozen"
    assert repr(model).splitlines() == [
        "ParameterCollection /: 1 parameter, 1 table, 4,006 values",
        "  /W                  (3, 2)         6",
        "  /words/_0 (frozen)  (1000, 4)  4,000",
    ]
    assert str(model) == "ParameterCollection /: 1 parameter, 1 table, 4,006 values"
    html = model._repr_html_()
    assert html.startswith("<table>") and "<td>(1000, 4)</td><td>4,000</td>" in html
    for _ in range(150):
        model.add_parameters(1)
    assert repr(model).splitlines()[-1] == "  and 52 more"


def test_norm_counts_pending_decay():
    model = dy.ParameterCollection()
    model.set_weight_decay(0.1)
    p = model.add_parameters((1,), init=2.0)
    dy.sum_elems(p * 0.0).backward()
    dy.SimpleSGDTrainer(model, 1.0).update()
    assert repr(p).endswith(f"norm {float(abs(p.as_array()[0])):.5g}")


def test_builders_states_trainers_and_the_graph():
    model = dy.ParameterCollection()
    builder = dy.GRUBuilder(2, 3, 4, model)
    assert repr(builder) == "GRUBuilder of 2 layers, 3 -> 4, in /gru-builder/: 204 values"
    assert repr(dy.VanillaLSTMBuilder(1, 2, 2, model)).startswith(
        "VanillaLSTMBuilder of 1 layer, 2 -> 2, in /vanilla-lstm-builder/"
    )
    softmax = dy.StandardSoftmaxBuilder(3, 4, model)
    assert repr(softmax) == "StandardSoftmaxBuilder, in /standard-softmax-builder/: 16 values"
    s = builder.initial_state()
    assert repr(s) == "initial RNNState of a GRUBuilder"
    assert repr(s.add_input(dy.inputVector([1, 2, 3]))) == "RNNState after step 0 of a GRUBuilder"
    trainer = dy.AdamTrainer(model, 0.01)
    dy.sum_elems(s.add_input(dy.inputVector([1, 2, 3])).output()).backward()
    trainer.update()
    count = f"{model.parameter_count():,}"
    assert repr(trainer) == f"AdamTrainer(learning_rate=0.01) after 1 update, of {count} values"
    nodes = len(dy.cg())
    assert repr(dy.cg()).startswith(f"ComputationGraph of {nodes} nodes, renewed ")
    assert dy.cg()._repr_svg_().startswith("<svg")


@pytest.mark.parametrize("name", [n for n in dir(dy) if n.endswith(("Builder", "Trainer"))])
def test_an_object_that_was_not_initialised_says_so(name):
    cls = getattr(dy, name)
    if not cls.__module__.startswith("dynet._"):  # classes written in Python have no such state
        assert "not initialised" in repr(cls.__new__(cls))


class OfItsOwn(dy.GRUBuilder):
    """Has members of the names that the module uses, of other kinds."""

    spec = property(lambda self: (self.size,))  # type: ignore[assignment]
    param_collection = initial_state = None  # type: ignore[assignment]

    def __init__(self, model):
        super().__init__(1, 3, 4, model)
        self.size = "small"


def test_a_derived_builder_may_have_a_spec_of_its_own():
    builder = OfItsOwn(dy.ParameterCollection())
    assert repr(builder) == "OfItsOwn of 1 layer, 3 -> 4, in /gru-builder/: 96 values"


def test_bidirectional_builder():
    model = dy.ParameterCollection()
    builder = dy.BiRNNBuilder(2, 3, 4, model, dy.GRUBuilder)
    count = model.parameter_count()
    assert repr(builder) == f"BiRNNBuilder of 2 layers, 3 -> 4, in /birnn/: {count:,} values"


def test_names_that_are_imported_later_are_listed():
    assert {"fit", "History", "TensorBoard", "FloatValue", "tanh"} <= set(dir(dy))
