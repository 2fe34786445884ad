"""Trainers against their formulas, written again with NumPy."""

from __future__ import annotations

import json
import math
from pathlib import Path

import dynet as dy
import numpy as np
import pytest

RATE = 0.05


class Sgd:
    def step(self, w, g, t):
        return w - RATE * g


class Momentum:
    v = 0.0

    def step(self, w, g, t):
        self.v = 0.9 * self.v - RATE * g
        return w + self.v


class Adagrad:
    h = 0.0

    def step(self, w, g, t):
        self.h = self.h + g * g
        return w - RATE * np.divide(g, np.sqrt(self.h + 1e-20))


class RmsProp:
    h = 0.0

    def step(self, w, g, t):
        self.h = 0.9 * self.h + 0.1 * g * g
        return w - RATE * g / np.sqrt(self.h + 1e-8)


class Adadelta:
    a = b = 0.0

    def step(self, w, g, t):
        eps = RATE  # the first argument of this trainer
        self.a = 0.95 * self.a + 0.05 * g * g
        d = g * np.sqrt(self.b + eps) / np.sqrt(self.a + eps)
        self.b = 0.95 * self.b + 0.05 * d * d
        return w - d


class Adam:
    m = v = largest = 0.0
    amsgrad = False

    def step(self, w, g, t):
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        self.largest = np.maximum(self.largest, self.v)
        under = self.largest if self.amsgrad else self.v
        rate = RATE * math.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return w - rate * self.m / (np.sqrt(under) + 1e-8)


class Amsgrad(Adam):
    amsgrad = True


class AdamW(Adam):
    shrink = 1 - RATE * 0.01  # multiplies before the step: rows without a gradient too


class Lion:
    m = 0.0

    def step(self, w, g, t):
        c = 0.9 * self.m + 0.1 * g
        self.m = 0.99 * self.m + 0.01 * g
        return w - RATE * np.sign(c)


class Lamb:
    m = v = 0.0

    def step(self, w, g, t):
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        mean, square = self.m / (1 - 0.9**t), self.v / (1 - 0.999**t)
        u = mean / (np.sqrt(square) + 1e-6) + 0.01 * w
        return w - RATE * np.linalg.norm(w) / np.linalg.norm(u) * u


class Eg:
    v = 0.0

    def step(self, w, g, t):
        self.v = 0.9 * self.v - RATE * g
        w = w * np.exp(self.v)
        return w / w.sum()


TRAINERS = [
    (dy.SimpleSGDTrainer, Sgd),
    (dy.MomentumSGDTrainer, Momentum),
    (dy.AdagradTrainer, Adagrad),
    (dy.RMSPropTrainer, RmsProp),
    (dy.AdamTrainer, Adam),
    (dy.AmsgradTrainer, Amsgrad),
    (dy.AdamWTrainer, AdamW),
    (dy.LionTrainer, Lion),
    (dy.LambTrainer, Lamb),
    (dy.EGTrainer, Eg),
    (dy.AdadeltaTrainer, Adadelta),
]
WITH_A_RATE = TRAINERS[:-1]
NEVER_EXACT = [dy.LambTrainer, dy.EGTrainer]


class Model:
    """A vector and a table, and the gradients that a step gives them."""

    def __init__(self, trainer_class):
        m = dy.ParameterCollection()
        second = 0.25 if trainer_class is dy.EGTrainer else -0.25  # its weights are positive
        self.w = m.add_parameters((3,), init=np.array([0.5, second, 1.0]))
        self.table = m.add_lookup_parameters((4, 3), init=np.full((4, 3), 0.5))
        self.trainer = trainer_class(m, RATE)

    def backward(self, step):
        dy.renew_cg()
        scale = dy.inputVector([0.1, 0.2 * math.sin(step), -0.3])
        row = self.table[step % 3]  # the last row is never used
        dy.dot_product(self.w + row, scale).backward()
        return np.array([0.1, 0.2 * math.sin(step), -0.3])


@pytest.mark.parametrize("updates", ["sparse", "dense", "exact"])
@pytest.mark.parametrize(("trainer_class", "rule"), TRAINERS)
def test_rules(trainer_class, rule, updates):
    model = Model(trainer_class)
    if updates == "exact" and trainer_class in NEVER_EXACT:
        with pytest.raises(RuntimeError, match="want sparse or dense"):
            model.trainer.lookup_updates = updates
        return
    model.trainer.lookup_updates = updates
    shrink = getattr(rule, "shrink", 1.0)
    dense, rows = rule(), [rule() for _ in range(4)]
    w, table = model.w.as_array().astype(float), model.table.as_array().astype(float)
    for step in range(60):
        g = model.backward(step)
        model.trainer.update()
        w = dense.step(shrink * w, g, step + 1)
        for r in range(4):
            table[r] *= shrink
            if r == step % 3:
                table[r] = rows[r].step(table[r], g, step + 1)
            elif updates != "sparse":
                table[r] = rows[r].step(table[r], np.zeros(3), step + 1)
    np.testing.assert_allclose(model.w.as_array(), w, rtol=2e-5, atol=2e-5)
    dy.renew_cg()  # the values that graphs see: stored values lack the decay of the table
    seen = [model.table[r].npvalue() for r in range(4)]
    np.testing.assert_allclose(seen, table, rtol=2e-5, atol=2e-5)
    assert model.trainer.whoami() == trainer_class.__name__


@pytest.mark.parametrize(("trainer_class", "rule"), TRAINERS)
def test_state_comes_back(trainer_class, rule):
    a, b = Model(trainer_class), Model(trainer_class)
    for step in range(5):
        a.backward(step)
        a.trainer.update()
    b.trainer.populate(a.trainer.save())
    b.w.set_value(a.w.as_array())
    b.table.init_from_array(a.table.as_array())
    for model in (a, b):
        model.backward(7)
        model.trainer.update()
    np.testing.assert_array_equal(a.w.as_array(), b.w.as_array())
    np.testing.assert_array_equal(a.table.as_array(), b.table.as_array())
    with pytest.raises(dy.IoError):
        b.trainer.populate("#Trainer#")


def test_settings_that_ruin_the_model_are_refused():
    m = dy.ParameterCollection()
    w = m.add_parameters(2, init=1.0)
    trainer = dy.AdamTrainer(m, 0.1, 1.5)
    dy.squared_norm(w).backward()
    with pytest.raises(
        ValueError, match=r"^AdamTrainer: beta_1 is 1\.5; want 0 or more and less"
    ) as e:
        trainer.update()
    assert "test_trainers.py" in str(e.value)
    assert w.as_array().tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="lambda is 2; want 0 or more and less than 1"):
        m.set_weight_decay_lambda(2.0)


@pytest.mark.parametrize(("trainer_class", "rule"), WITH_A_RATE)
def test_what_is_not_finite_is_refused(trainer_class, rule):
    model = Model(trainer_class)
    trainer = model.trainer
    for bad in (math.nan, math.inf):
        with pytest.raises(ValueError, match="learning_rate is"):
            trainer.learning_rate = bad
        with pytest.raises(ValueError, match="learning_rate is"):
            trainer.set_learning_rate(bad)
        with pytest.raises(ValueError, match="learning_rate is"):
            trainer.restart(bad)
        with pytest.raises(ValueError, match=r"\w+Trainer: \w+ is (nan|inf); want a finite number"):
            trainer_class(dy.ParameterCollection(), bad)
    with pytest.raises(ValueError, match="threshold is nan"):
        trainer.set_clip_threshold(math.nan)
    assert trainer.get_clip_threshold() == 5.0
    assert trainer.learning_rate == pytest.approx(RATE)
    for threshold in (0, 5):  # without clipping, and with it
        trainer.set_clip_threshold(threshold)
        model.backward(1)
        trainer.update()
        before, rows = model.w.as_array(), model.table.as_array()
        state = trainer.save()
        dy.renew_cg()
        (dy.log(dy.sum_elems(model.w) - dy.sum_elems(model.w)) * 0 + model.table[0][0]).backward()
        with pytest.raises(dy.NumericError):
            trainer.update()
        np.testing.assert_array_equal(model.w.as_array(), before)
        np.testing.assert_array_equal(model.table.as_array(), rows)
        assert trainer.save() == state
        model.backward(2)
        trainer.update()
        assert np.isfinite(model.w.as_array()).all()


def test_cyclical_rate():
    t = dy.CyclicalSGDTrainer(dy.ParameterCollection(), 0.5, 1.5, step_size=4)
    rates = []
    for _ in range(10):
        rates.append(t.learning_rate)
        t.update()
    assert rates == [0.5, 0.5, 0.75, 1.0, 1.25, 1.5, 1.25, 1.0, 0.75, 0.5]


def rates_of(trainer, n):
    rates = []
    for _ in range(n):
        rates.append(trainer.learning_rate)
        trainer.update()
    return rates


def test_schedules():
    t = dy.SimpleSGDTrainer(dy.ParameterCollection())
    assert t.schedule is None
    t.set_schedule(dy.WarmupSchedule(4, 1.0))
    assert rates_of(t, 6) == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    cosine = dy.CosineSchedule(rate=1.0, updates=10, last=0.5)
    t.set_schedule(dy.WarmupSchedule(updates=2, then=cosine))
    want = [0.5] + [0.75 + 0.25 * math.cos(math.pi * n / 10) for n in range(11)] + [0.5]
    np.testing.assert_allclose(rates_of(t, 13), want, rtol=1e-6)
    t.set_schedule(dy.InverseSquareRootSchedule(1.0, warmup=4))
    np.testing.assert_allclose(
        rates_of(t, 16), [0.25, 0.5, 0.75] + [2 / math.sqrt(n) for n in range(4, 17)], rtol=1e-6
    )
    t.set_schedule(dy.CyclicalSchedule(0.5, 1.5, 2))
    assert rates_of(t, 5) == [0.5, 1.0, 1.5, 1.0, 0.5]
    t.set_schedule(dy.ConstantSchedule(0.75))
    t.set_schedule(None)
    assert rates_of(t, 2) == [0.75, 0.75]
    assert [cosine.rate(0), cosine.rate(10), cosine.rate(done=99)] == [1.0, 0.5, 0.5]
    assert repr(dy.WarmupSchedule(2, cosine)) == ("WarmupSchedule(2, CosineSchedule(1, 10, 0.5))")
    for wrong in (
        lambda: dy.CosineSchedule(1.0, 0),
        lambda: dy.CosineSchedule(1.0, -1),
        lambda: dy.CosineSchedule(math.nan, 1),
        lambda: dy.WarmupSchedule(0, 1.0),
        lambda: dy.PlateauSchedule(1.0, factor=1.0),
        lambda: cosine.rate(-1),
    ):
        with pytest.raises(ValueError, match="want"):
            wrong()


def test_plateaus():
    t = dy.SimpleSGDTrainer(dy.ParameterCollection())
    with pytest.raises(RuntimeError, match="no schedule"):
        t.report_metric(1.0)
    t.set_schedule(dy.PlateauSchedule(1.0, factor=0.5, patience=1))
    for loss, rate in [(3.0, 1.0), (2.0, 1.0), (2.0, 1.0), (2.5, 0.5), (1.0, 0.5)]:
        t.report_metric(loss)
        assert t.learning_rate == rate
    with pytest.raises(ValueError, match="NaN"):
        t.report_metric(math.nan)
    again = dy.SimpleSGDTrainer(dy.ParameterCollection())
    again.populate(t.save())
    assert repr(again.schedule) == repr(t.schedule)
    for trainer in (t, again):
        trainer.report_metric(2.0)
        trainer.report_metric(2.0)
        assert trainer.learning_rate == 0.25


def test_clipping_by_value():
    m = dy.ParameterCollection()
    w = m.add_parameters((3,), init=np.zeros(3))
    t = dy.SimpleSGDTrainer(m, 1.0)
    assert t.get_clip_value() == 0.0
    t.set_clip_value(2.0)
    assert t.get_clip_value() == 2.0
    dy.renew_cg()
    dy.dot_product(w, dy.inputVector([0.5, -8.0, 3.0])).backward()
    t.update()
    np.testing.assert_array_equal(w.as_array(), [-0.5, 2.0, -2.0])
    t.set_clip_value(0)
    t.set_clip_threshold(0)
    dy.renew_cg()
    dy.dot_product(w, dy.inputVector([0.5, -8.0, 3.0])).backward()
    t.update()
    np.testing.assert_array_equal(w.as_array(), [-1.0, 10.0, -5.0])
    with pytest.raises(ValueError, match="nan"):
        t.set_clip_value(math.nan)


def test_moving_averages():
    m = dy.ParameterCollection()
    w = m.add_parameters((1,), init=np.zeros(1))
    t = dy.SimpleSGDTrainer(m, 1.0)
    with pytest.raises(RuntimeError, match="not asked for"):
        t.swap_params_to_moving_average()
    t.cumulative_moving_average()
    for _ in range(4):
        dy.renew_cg()
        (-w[0]).backward()
        t.update()
    t.swap_params_to_moving_average()
    assert w.as_array() == [2.5]
    t.swap_params_to_weights()
    assert w.as_array() == [4.0]
    t = dy.SimpleSGDTrainer(m, 1.0)
    t.exponential_moving_average(0.5, update_freq=1)
    for _ in range(2):
        dy.renew_cg()
        (-w[0]).backward()
        t.update()
    t.swap_params_to_moving_average(save_weights=False, bias_correction=True)
    assert w.as_array() == pytest.approx([(0.25 * 5 + 0.5 * 6) / 0.75])
    with pytest.raises(RuntimeError, match="not saved"):
        t.swap_params_to_weights()


@pytest.mark.parametrize("beta", [None, 0.9])
def test_moving_averages_of_a_table_whose_rows_rest(beta):
    m = dy.ParameterCollection()
    table = m.add_lookup_parameters((500, 4), init=0.5)
    t = dy.AdamTrainer(m, 0.1)
    if beta is None:
        t.cumulative_moving_average()
    else:
        t.exponential_moving_average(beta)
    mean = np.zeros((500, 4))
    for step in range(60):
        if step == 20:
            table.init_row(499, [1, 2, 3, 4])
        if step == 30:
            text = t.save()
            t = dy.AdamTrainer(m)
            t.populate(text)
        dy.renew_cg()
        dy.squared_norm(table[step % 7] + table[100 + step]).backward()
        t.update()
        assert table.row_as_array(499)[0] == (0.5 if step < 20 else 1.0)
        keep = step / (step + 1) if beta is None else beta
        mean = keep * mean + (1 - keep) * table.as_array()
        if step % 25 == 24:
            weights = table.as_array()
            t.swap_params_to_moving_average()
            np.testing.assert_allclose(table.as_array(), mean, rtol=1e-5, atol=1e-6)
            t.swap_params_to_weights()
            assert (table.as_array() == weights).all()
    t.swap_params_to_moving_average()
    np.testing.assert_allclose(table.as_array(), mean, rtol=1e-5, atol=1e-6)


@pytest.fixture(scope="module")
def torch_table():
    """The table from make_torch_trainers.py."""
    path = Path(__file__).with_name("torch_trainers.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_adamw_is_that_of_pytorch(torch_table):
    m = dy.ParameterCollection()
    w = m.add_parameters((3,), init=np.array([0.5, -0.25, 1.0]))
    trainer = dy.AdamWTrainer(m, 0.05, beta_1=0.8, beta_2=0.99, eps=1e-12, weight_decay=0.3)
    for g, want in zip(torch_table["gradients"], torch_table["AdamW"]):
        dy.renew_cg()
        dy.dot_product(w, dy.inputVector(g)).backward()
        trainer.update()
        np.testing.assert_allclose(w.as_array(), want, rtol=2e-5, atol=2e-5)


SCHEDULES = [
    ("CosineSchedule", lambda: dy.CosineSchedule(0.8, 40, last=0.1)),
    ("CyclicalSchedule", lambda: dy.CyclicalSchedule(0.1, 0.7, 6, gamma=0.97)),
    ("PlateauSchedule", lambda: dy.PlateauSchedule(0.8, 0.5, 2, threshold=0.01, last=0.06)),
    (
        "PlateauSchedule, larger",
        lambda: dy.PlateauSchedule(0.8, 0.5, 3, threshold=0.01, larger_is_better=True),
    ),
]


@pytest.mark.parametrize(("name", "make"), SCHEDULES)
def test_schedules_are_those_of_pytorch(name, make, torch_table):
    trainer = dy.SimpleSGDTrainer(dy.ParameterCollection())
    trainer.set_schedule(make())
    rates = []
    for metric in torch_table["metrics"]:
        rates.append(trainer.learning_rate)
        trainer.update()
        if name.startswith("Plateau"):
            trainer.report_metric(metric)
    np.testing.assert_allclose(rates, torch_table[name], rtol=1e-6)
    assert len(set(rates)) > 3


def test_update_subset_moves_what_is_listed():
    m = dy.Model()
    a, b = m.add_parameters(1, init=1.0), m.add_parameters(1, init=1.0)
    table = m.add_lookup_parameters((2, 1), init=1.0)
    trainer = dy.SimpleSGDTrainer(m, 0.25)
    trainer.set_clip_threshold(0)
    dy.renew_cg()
    (2 * a + 2 * b + 2 * table[1]).backward()
    trainer.update_subset([1], [])
    assert [a.as_array()[0], b.as_array()[0], table.as_array()[1, 0]] == [1, 0.5, 1]
    trainer.update_subset([], range(1))
    assert [a.as_array()[0], b.as_array()[0], table.as_array()[1, 0]] == [1, 0.5, 0.5]
    with pytest.raises(IndexError, match="parameters\\[2\\]"):
        trainer.update_subset([2], [])
    trainer.update()
    assert [a.as_array()[0], b.as_array()[0], table.as_array()[1, 0]] == [0.5, 0.5, 0.5]
