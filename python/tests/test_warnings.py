"""Warnings of training, once for a trainer or a graph, and cases without a warning."""

from __future__ import annotations

import subprocess
import sys
import warnings

import dynet as dy
import pytest


class Model:
    """A collection with a parameter and a table, and a trainer over it."""

    def __init__(self, **options):
        self.m = dy.ParameterCollection()
        self.w = self.m.add_parameters(3, init=1.0)
        self.table = self.m.add_lookup_parameters((4, 3))
        self.trainer = dy.SimpleSGDTrainer(self.m, **options)

    def backward(self):
        dy.renew_cg()
        dy.squared_norm(self.w).backward()


@pytest.fixture
def told():
    """The warnings of a test, all of them."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


# ---- an update that no gradient came to -----------------------------------------------------------


def test_update_without_backward(told):
    one = Model()
    one.trainer.update()
    one.trainer.update()
    assert [w.category for w in told] == [RuntimeWarning]
    assert "no gradient" in str(told[0].message) and "backward" in str(told[0].message)
    assert told[0].filename == __file__
    assert told[0].lineno == line_of(test_update_without_backward, 2)
    other = Model()  # a trainer of its own
    other.trainer.update()
    assert len(told) == 2


def test_backward_that_reached_no_parameter_of_the_trainer(told):
    one, other = Model(), Model()
    for _ in range(3):
        one.backward()
        other.trainer.update()
    assert len(told) == 1
    assert "collection" in str(told[0].message)
    one.trainer.update()
    assert len(told) == 1


def test_a_warning_may_be_an_error_and_changes_nothing():
    one = Model()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="no gradient"):
            one.trainer.update()
        one.backward()
        one.trainer.update()
    assert one.w.as_array().tolist() == pytest.approx([0.8] * 3)


def test_fit_is_not_the_line(told):
    """The warning has the program's line, even if the package calls update()."""
    one = Model()

    def no_loss(_):
        return dy.scalarInput(1.0)

    dy.fit(no_loss, [1, 2], one.trainer)
    assert [w.filename for w in told] == [__file__]


def skipped_minibatches(one):
    for batch in ([1], [], [2], []):
        if batch:
            one.backward()
        one.trainer.update()


def accumulated(one):
    for _ in range(3):
        one.backward()
    one.trainer.update()


def some_of_it(one):
    one.backward()
    one.trainer.update_subset([], [0])  # the gradient is the other one's
    one.trainer.update_subset([0], [])


def gradient_of_zero(one):
    dy.renew_cg()
    (dy.squared_norm(one.w) * 0.0).backward()
    one.trainer.update()


def row_of_a_table(one):
    dy.renew_cg()
    dy.squared_norm(one.table[2]).backward()
    one.trainer.update()


def goes_on_from_its_text(one):
    one.backward()
    one.trainer.update()
    again = dy.SimpleSGDTrainer(one.m)
    one.backward()
    again.populate(one.trainer.save())
    again.update()


def two_over_parts_of_one_collection(one):
    part = one.m.add_subcollection()
    v = part.add_parameters(3)
    of_part = dy.SimpleSGDTrainer(part)
    dy.renew_cg()
    dy.dot_product(one.w, v).backward()
    of_part.update()
    one.trainer.update()


@pytest.mark.parametrize(
    "program",
    [
        skipped_minibatches,
        accumulated,
        some_of_it,
        gradient_of_zero,
        row_of_a_table,
        goes_on_from_its_text,
        two_over_parts_of_one_collection,
    ],
)
def test_quiet(program, told):
    program(Model())
    assert [str(w.message) for w in told] == []


# ---- a negative rate ------------------------------------------------------------------------------


def rate_of_constructor():
    return Model(learning_rate=-0.1).trainer


def rate_that_is_assigned():
    trainer = Model().trainer
    trainer.learning_rate = -0.1
    return trainer


def rate_of_the_old_call():
    trainer = Model().trainer
    trainer.set_learning_rate(-0.1)
    return trainer


def rate_of_restart():
    trainer = Model().trainer
    trainer.restart(-0.1)
    return trainer


def rate_of_a_schedule():
    trainer = Model().trainer
    trainer.set_schedule(dy.ConstantSchedule(-0.1))
    return trainer


@pytest.mark.parametrize(
    "make",
    [
        rate_of_constructor,
        rate_that_is_assigned,
        rate_of_the_old_call,
        rate_of_restart,
        rate_of_a_schedule,
    ],
)
def test_negative_rate(make, told):
    trainer = make()
    trainer.learning_rate = -0.2
    trainer.restart(-0.3)
    assert [w.category for w in told] == [RuntimeWarning]
    assert "learning_rate is -0.1" in str(told[0].message)
    assert told[0].filename == __file__


def test_negative_rate_climbs(told):
    """2.1 does the same: a step up."""
    one = Model(learning_rate=-0.1)
    one.backward()
    one.trainer.update()
    assert one.w.as_array().tolist() == pytest.approx([1.2] * 3)
    assert len(told) == 1


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_rates_that_are_not_negative(rate, told):
    one = Model(learning_rate=rate)
    one.backward()
    one.trainer.update()
    assert told == []


# ---- a graph that grows ---------------------------------------------------------------------------

MANY = 251_000  # a little more than a quarter of a large number


def add_nodes(x, count):
    for _ in range(count):
        x = x + 1.0
    return x


def step(one, is_updated=True):
    loss = dy.squared_norm(one.w) + add_nodes(dy.scalarInput(0.0), MANY)
    loss.backward()
    if is_updated:
        one.trainer.update()


def test_graph_that_grows_from_updates(told):
    one = Model()
    dy.renew_cg()
    for _ in range(6):
        step(one)
    assert [w.category for w in told] == [RuntimeWarning]
    assert "renew_cg" in str(told[0].message)
    assert told[0].filename == __file__


def test_graphs_that_are_renewed(told):
    one = Model()
    for _ in range(5):
        dy.renew_cg()
        step(one)
    assert told == []


def test_large_graph_of_one_update(told):
    one = Model()
    dy.renew_cg()
    for _ in range(5):
        step(one, is_updated=False)
    one.trainer.update()
    assert told == []


# ---- who is told ----------------------------------------------------------------------------------


def test_shown_on_stderr_by_default():
    program = "import dynet as dy; dy.SimpleSGDTrainer(dy.ParameterCollection()).update()"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "RuntimeWarning" in run.stderr and "no gradient" in run.stderr
    assert run.stdout == ""
