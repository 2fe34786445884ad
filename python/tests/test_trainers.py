"""Trainers against their formulas, written again with NumPy."""

from __future__ import annotations

import math

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


TRAINERS = [
    (dy.SimpleSGDTrainer, Sgd),
    (dy.MomentumSGDTrainer, Momentum),
    (dy.AdagradTrainer, Adagrad),
    (dy.RMSPropTrainer, RmsProp),
    (dy.AdamTrainer, Adam),
    (dy.AmsgradTrainer, Amsgrad),
    (dy.AdadeltaTrainer, Adadelta),
]
WITH_A_RATE = TRAINERS[:-1]


class Model:
    """A vector and a table, and the gradients that a step gives them."""

    def __init__(self, trainer_class):
        m = dy.ParameterCollection()
        self.w = m.add_parameters((3,), init=np.array([0.5, -0.25, 1.0]))
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
    model.trainer.lookup_updates = updates
    dense, rows = rule(), [rule() for _ in range(4)]
    w, table = model.w.as_array().astype(float), model.table.as_array().astype(float)
    for step in range(60):
        g = model.backward(step)
        model.trainer.update()
        w = dense.step(w, g, step + 1)
        for r in range(4):
            if r == step % 3:
                table[r] = rows[r].step(table[r], g, step + 1)
            elif updates != "sparse":
                table[r] = rows[r].step(table[r], np.zeros(3), step + 1)
    np.testing.assert_allclose(model.w.as_array(), w, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(model.table.as_array(), table, rtol=2e-5, atol=2e-5)
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
        with pytest.raises(ValueError, match="learning_rate is"):
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
