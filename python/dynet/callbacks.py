"""Callbacks of `fit` for other packages: `dynet.callbacks`, or ``dy.callbacks``.

`dy.TensorBoard` is one too, and `dy.both` makes one of several.
"""

from __future__ import annotations

from math import isnan

import _dynet

from ._learning import gradient_norms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._fit import Step

__all__ = ["GradientNorms", "OptunaTrial", "WeightsAndBiases"]


class GradientNorms:
    """Writes the norm of each parameter's gradient: ``on_gradient=GradientNorms(model,
    board.write)``.

    `write(tag, number, step)` is a function such as `TensorBoard.write` or
    `WeightsAndBiases.write`; tags are ``gradient/`` and the parameter's name. `every`: only each so
    many steps.
    """

    def __init__(
        self,
        model: _dynet.ParameterCollection,
        write: Callable[[str, float, int], object],
        every: int = 100,
    ) -> None:
        if every < 1:
            raise _dynet.ValueError(f"GradientNorms: every is {every}; want 1 or more")
        self._model, self._write, self._every = model, write, every

    def __call__(self, step: Step) -> None:
        if step.step % self._every == 0:
            for name, norm in gradient_norms(self._model).items():
                self._write("gradient" + name, norm, step.step)


class WeightsAndBiases:
    """Logs loss and learning rate: ``on_step=WeightsAndBiases(wandb.init(project="tagger"))``.

    `every`: only each so many steps. `scored` makes an `on_eval` that logs the score:
    ``on_eval=curves.scored(evaluate)``.
    """

    def __init__(self, run: Any, every: int = 1) -> None:
        if not callable(getattr(run, "log", None)):
            raise _dynet.TypeError(
                f"WeightsAndBiases: run is {run!r}; want the result of wandb.init()"
            )
        if every < 1:
            raise _dynet.ValueError(f"WeightsAndBiases: every is {every}; want 1 or more")
        self._run, self._every = run, every

    def __call__(self, step: Step) -> None:
        if step.step % self._every == 0:
            numbers = {"loss": step.loss, "learning_rate": step.learning_rate, "epoch": step.epoch}
            self._run.log(numbers, step=step.step)

    def write(self, tag: str, number: float, step: int) -> None:
        """A point of the curve `tag`."""
        self._run.log({tag: number}, step=step)

    def scored(
        self, on_eval: Callable[[Step], float | None], name: str = "score"
    ) -> Callable[[Step], float | None]:
        """`on_eval`, whose results are logged by this name."""

        def call(step: Step) -> float | None:
            score = on_eval(step)
            if score is not None:
                self.write(name, score, step.step)
            return score

        return call


class OptunaTrial:
    """Reports each epoch to a trial of Optuna, and ends a trial that is not promising:
    ``on_eval=OptunaTrial(trial, evaluate)``.

    The score of an epoch is the result of `score`, or the mean loss without it. ``study.optimize(
    objective, catch=(dy.NumericError,))`` goes on after a trial whose gradient is no number.
    """

    def __init__(self, trial: Any, score: Callable[[Step], float | None] | None = None) -> None:
        if not callable(getattr(trial, "report", None)):
            raise _dynet.TypeError(f"OptunaTrial: trial is {trial!r}; want a trial of Optuna")
        if score is not None and not callable(score):
            raise _dynet.TypeError(f"OptunaTrial: score is {score!r}; want a function of a Step")
        self._trial, self._score = trial, score

    def __call__(self, step: Step) -> float | None:
        import optuna

        score = step.loss if self._score is None else self._score(step)
        if score is not None and not isnan(score):
            self._trial.report(score, step.epoch)
            if self._trial.should_prune():
                raise optuna.TrialPruned(f"score {score:.4g} after epoch {step.epoch}")
        return None if self._score is None else score
