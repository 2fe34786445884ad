"""Searches for a good learning rate and size with Optuna, which `pip install optuna` installs.

python3 tune.py [TRIALS]
"""

from __future__ import annotations

import logging
import sys

import dynet as dy
import optuna
from dynet.callbacks import OptunaTrial

Example = tuple[tuple[float, float], float]
DATA: list[Example] = [
    ((0.0, 0.0), 0.0),
    ((0.0, 1.0), 1.0),
    ((1.0, 0.0), 1.0),
    ((1.0, 1.0), 0.0),
] * 8


def objective(trial: optuna.Trial) -> float:
    """The loss of a small network after 20 epochs; bad trials are given up earlier."""
    size = trial.suggest_int("size", 2, 32)
    rate = trial.suggest_float("rate", 1e-3, 0.5, log=True)
    model = dy.ParameterCollection()
    W, b = model.add_parameters((size, 2)), model.add_parameters(size)
    V = model.add_parameters((1, size))

    def loss_of(example: Example) -> dy.Expression:
        x, y = example
        output = dy.logistic(V * dy.tanh(W * dy.inputVector(x) + b))
        return dy.binary_log_loss(output, dy.scalarInput(y))

    history = dy.fit(
        loss_of,
        DATA,
        dy.AdamTrainer(model, rate),
        epochs=20,
        batch=4,
        on_eval=OptunaTrial(trial),
        progress=False,
    )
    return history.losses[-1]


def main() -> None:
    """Prints the best settings."""
    logging.getLogger("optuna").setLevel(logging.WARNING)
    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.TPESampler(seed=1))
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    # A trial that diverges, whose `update()` raises NumericError, does not end the study.
    study.optimize(objective, n_trials=trials, catch=(dy.NumericError,))
    print(f"loss {study.best_value:.4f} with {study.best_params}")


if __name__ == "__main__":
    main()
