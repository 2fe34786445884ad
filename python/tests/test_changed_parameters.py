"""Parameters that change while a graph that has computed with them lives."""

from __future__ import annotations

import pathlib
from typing import Callable

import dynet as dy
import numpy as np
import pytest

Way = Callable[["Model", pathlib.Path], Callable[[], None]]


class Model:
    def __init__(self) -> None:
        self.all = dy.ParameterCollection()
        self.w = self.all.add_parameters((2, 2), init=np.array([[0.5, -0.3], [0.2, 0.7]]), name="w")
        self.v = self.all.add_parameters(2, init=np.array([0.8, -0.4]), name="v")
        self.e = self.all.add_lookup_parameters(
            (3, 2), init=np.array([[0.1, 0.9], [-0.5, 0.3], [0.6, -0.2]])
        )

    def losses(self) -> tuple[dy.Expression, dy.Expression]:
        h = dy.tanh(self.w * dy.inputVector([1, -2]))
        deep = dy.tanh(self.w * h)
        actor = dy.dot_product(self.v, deep)
        critic = dy.squared_norm(self.e * dy.softmax(dy.transpose(self.e) * deep)) + dy.dot_product(
            self.v, dy.cmult(h, self.w * h)
        )
        return actor, critic

    def gradients(self) -> list[np.ndarray]:
        return [p.grad_as_array() for p in (self.w, self.v, self.e)]

    def reset(self) -> None:
        self.all.reset_gradient()


def updated(trainer: type[dy.Trainer], **settings: float) -> Way:
    def prepare(m: Model, _: pathlib.Path) -> Callable[[], None]:
        return trainer(m.all, **settings).update

    return prepare


def plain(change: Callable[[Model], object]) -> Way:
    return lambda m, _: lambda: change(m) and None


def scaled() -> Model:
    other = Model()
    other.w.scale(2)
    other.v.scale(3)
    other.e.scale(0.5)
    return other


def populated(name: str) -> Way:
    def prepare(m: Model, folder: pathlib.Path) -> Callable[[], None]:
        scaled().all.save(str(folder / name))
        return lambda: m.all.populate(str(folder / name))

    return prepare


def averaged(m: Model, _: pathlib.Path) -> Callable[[], None]:
    trainer = dy.SimpleSGDTrainer(m.all, 0.3)
    trainer.exponential_moving_average(0.5)
    for _ in range(2):
        dy.renew_cg()
        m.losses()[1].backward()
        trainer.update()
    return trainer.swap_params_to_moving_average


def best(m: Model, folder: pathlib.Path) -> Callable[[], None]:
    checkpoints = dy.Checkpointer(str(folder), m.all, dy.SimpleSGDTrainer(m.all))
    m.w.scale(2)
    checkpoints.save(score=1.0)
    m.w.scale(0.5)
    return checkpoints.load_best


WAYS: dict[str, Way] = {
    **{
        t.__name__: updated(t)
        for t in (
            dy.SimpleSGDTrainer,
            dy.CyclicalSGDTrainer,
            dy.MomentumSGDTrainer,
            dy.AdagradTrainer,
            dy.AdadeltaTrainer,
            dy.RMSPropTrainer,
            dy.AdamTrainer,
            dy.AdamWTrainer,
            dy.AmsgradTrainer,
            dy.LionTrainer,
            dy.LambTrainer,
        )
    },
    "set_value": plain(lambda m: m.w.set_value(np.ones((2, 2)))),
    "scale": plain(lambda m: m.w.scale(3)),
    "clip_inplace": plain(lambda m: m.w.clip_inplace(-0.1, 0.1)),
    "zero": plain(lambda m: m.w.zero()),
    "init_row": plain(lambda m: m.e.init_row(1, [5, 6])),
    "init_from_array": plain(lambda m: m.e.init_from_array(np.ones((3, 2)))),
    "zero_table": plain(lambda m: m.e.zero()),
    "populate_text": populated("a.model"),
    "populate_safetensors": populated("a.safetensors"),
    "averages": averaged,
    "load_best": best,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_asked", [False, True])
def test_the_second_loss_has_the_gradient_of_what_was_computed(
    way: str, is_asked: bool, tmp_path: pathlib.Path
) -> None:
    m = Model()
    change = WAYS[way](m, tmp_path)
    dy.renew_cg()
    m.reset()
    critic = m.losses()[1]
    value = critic.value()
    critic.backward()
    wanted = m.gradients()
    m.reset()
    before = [p.as_array() for p in (m.w, m.v, m.e)]
    dy.renew_cg()
    actor, critic = m.losses()
    critic.value()
    if is_asked:
        actor.value()
    actor.backward()
    change()
    assert any((a != p.as_array()).any() for a, p in zip(before, (m.w, m.v, m.e)))
    m.reset()
    assert critic.value() == value
    critic.backward()
    for found, want in zip(m.gradients(), wanted):
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_a_second_backward_from_the_only_loss_is_refused(way: str, tmp_path: pathlib.Path) -> None:
    m = Model()
    change = WAYS[way](m, tmp_path)
    dy.renew_cg()
    loss = dy.esum(list(m.losses()))
    loss.backward()
    change()
    m.reset()
    with pytest.raises(dy.GraphError, match=r"(?s)was changed \(.*test_changed_parameters.py:\d+"):
        loss.backward()
    assert not any(g.any() for g in m.gradients())
    loss.forward(recalculate=True)
    loss.backward()


def test_actor_and_critic_train_as_with_two_graphs() -> None:
    def train(graphs: int) -> list[np.ndarray]:
        m = Model()
        trainer = dy.MomentumSGDTrainer(m.all, 0.1)
        for _ in range(5):
            dy.renew_cg()
            actor, critic = m.losses()
            actor.value(), critic.value()
            if graphs == 1:
                actor.backward()
                trainer.update()
                critic.backward()
                trainer.update()
                continue
            critic.backward()
            kept = m.gradients()
            m.reset()
            dy.renew_cg()
            m.losses()[0].backward()
            trainer.update()
            dy.renew_cg()
            # The gradient is added through a loss that is linear in each parameter.
            dy.esum(
                [
                    dy.sum_elems(dy.cmult(p, dy.inputTensor(g if p is not m.e else g.T)))
                    for p, g in zip((m.w, m.v, m.e), kept)
                ]
            ).backward()
            trainer.update()
        return [p.as_array() for p in (m.w, m.v, m.e)]

    for a, b in zip(train(1), train(2)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_nodes_that_are_computed_later_read_the_new_values() -> None:
    m = dy.ParameterCollection()
    w = m.add_parameters(1, init=np.array([3.0]))
    dy.renew_cg()
    z = w * (w * dy.scalarInput(1.0))
    other = dy.square(w)
    assert z.value() == 9
    z.backward()
    assert w.grad_as_array() == 6
    m.reset_gradient()
    w.set_value([2.4])
    z.backward()
    assert w.grad_as_array() == 6
    assert z.value() == 9
    later = dy.square(w)
    assert later.value() == pytest.approx(5.76)
    m.reset_gradient()
    (later + other).backward()
    assert w.grad_as_array() == pytest.approx(4 * 2.4)
