"""`fit` with tables, workers and callbacks of other packages."""

from __future__ import annotations

import math
import subprocess
import sys

import dynet as dy
import numpy as np
import pytest
from dynet import callbacks

DATA = {"x": [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 5, "y": [0, 1, 1, 0] * 5}


class Net:
    def __init__(self, rate=0.05):
        dy.reset_random_seed(3)
        self.model = dy.ParameterCollection()
        self.W = self.model.add_parameters((8, 2), name="W")
        self.E = self.model.add_lookup_parameters((2, 8), name="E")
        self.V = self.model.add_parameters((1, 8), name="V")
        self.trainer = dy.AdamTrainer(self.model, rate)

    def loss(self, row):
        h = dy.tanh(self.W * dy.inputVector(row["x"]) + self.E[0])
        return dy.binary_log_loss(dy.logistic(self.V * h), dy.scalarInput(row["y"]))

    def fit(self, data, **options):
        return dy.fit(self.loss, data, self.trainer, **{"epochs": 2, "batch": 4, **options})


ROWS = [{"x": x, "y": y} for x, y in zip(DATA["x"], DATA["y"])]


# ---- tables --------------------------------------------------------------------------------------


def arrow():
    return pytest.importorskip("pyarrow", reason="pip install pyarrow").table(DATA)


def hugging_face():
    return pytest.importorskip("datasets", reason="pip install datasets").Dataset.from_dict(DATA)


def pandas():
    frame = pytest.importorskip("pandas", reason="pip install pandas").DataFrame(DATA)
    return frame.set_axis(range(100, 120))  # labels are no places


def polars():
    return pytest.importorskip("polars", reason="pip install polars").DataFrame(DATA)


@pytest.mark.parametrize("make", [arrow, hugging_face, pandas, polars])
def test_rows_of_tables(make):
    table, net, by_rows = make(), Net(), Net()
    history = net.fit(table)
    assert history == by_rows.fit(ROWS) and history.steps == 10
    assert np.array_equal(net.W.as_array(), by_rows.W.as_array())


def test_a_series_is_read_by_place():
    series = pytest.importorskip("pandas").Series(ROWS, index=range(50, 70))
    assert Net().fit(series) == Net().fit(ROWS)


def test_splits_of_a_dataset_are_no_examples():
    datasets = pytest.importorskip("datasets", reason="pip install datasets")
    splits = datasets.DatasetDict({"train": hugging_face(), "test": hugging_face()})
    with pytest.raises(dy.TypeError, match=r"want one of data\['train'\], data\['test'\]"):
        Net().fit(splits)


# ---- workers -------------------------------------------------------------------------------------

WITH_WORKERS = """
import sys, tempfile
import dynet_config
dynet_config.set(shared_parameters=1)
import pytest
sys.path.insert(0, {folder!r})
from test_fit_with_others import Net, ROWS, dy
def train(**options):
    net = Net()
    history = net.fit(ROWS, batch=6, seed=5, **options)
    return net.W.as_array().tolist(), history
one, two, alone = train(workers=1), train(workers=2), train()
assert one == two
print(max(abs(a - b) for a, b in zip(sum(one[0], []), sum(alone[0], []))) < 1e-5)
print(all(abs(a - b) < 1e-5 for a, b in zip(one[1].losses, alone[1].losses)), one[1].steps)
# A training that was stopped goes on with another number of workers.
with tempfile.TemporaryDirectory() as folder:
    for epochs, workers in [(1, 2), (2, 1)]:
        net = Net()
        checkpoint = dy.Checkpointer(folder, net.model, net.trainer)
        options = dict(batch=6, seed=5, epochs=epochs, workers=workers, checkpoint=checkpoint)
        history = net.fit(ROWS, **options)
    assert (net.W.as_array().tolist(), history) == one
# Gradients of workers are there before the update.
norms = []
for workers in 0, 2:
    net = Net()
    options = dict(epochs=1, batch=20, workers=workers)
    net.fit(ROWS, on_gradient=lambda step: norms.append(dy.gradient_norms(net.model)), **options)
assert norms[0] == pytest.approx(norms[1], rel=1e-5) and min(norms[0].values()) > 0, norms
try:
    Net().fit(iter(ROWS), epochs=1, workers=2)
except dy.ValueError as error:
    print(error)
def bad(row):
    raise KeyError("no such column")
net = Net()
try:
    dy.fit(bad, ROWS, net.trainer, workers=2)
except dy.WorkerError as error:
    print("no such column" in str(error))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_workers_learn_as_one_process_does():
    import pathlib

    code = WITH_WORKERS.format(folder=str(pathlib.Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:2] == ["True", "True 8"] and lines[-1] == "True"
    assert lines[2].startswith("fit: data is a list_iterator; want something with a length")


def test_workers_want_shared_parameters():
    with pytest.raises(dy.Error, match="shared"):
        Net().fit(ROWS, workers=2)
    with pytest.raises(dy.ValueError, match="workers is -1; want 0 or more"):
        Net().fit(ROWS, workers=-1)


# ---- gradients -----------------------------------------------------------------------------------


def test_norms_of_gradients():
    net = Net()
    unused = net.model.add_parameters(3, name="unused")
    with_names = net.model.add_subcollection("sub").add_parameters(2, name="V")
    dy.renew_cg()
    loss = dy.average([net.loss(row) for row in ROWS[:2]]) + 3 * dy.sum_elems(with_names)
    loss.backward()
    norms = dy.gradient_norms(net.model)
    assert set(norms) == {p.name() for p in (net.W, net.V, net.E, unused, with_names)}
    assert norms[unused.name()] == 0 and norms["/sub/V"] == pytest.approx(3 * math.sqrt(2))
    for p in (net.W, net.V, net.E):
        assert norms[p.name()] == pytest.approx(np.linalg.norm(p.grad_as_array()), rel=1e-6) != 0
    net.trainer.update()
    assert set(dy.gradient_norms(net.model).values()) == {0.0}
    with pytest.raises(dy.TypeError, match=r"gradient_norms: model is .*; want a ParameterColl"):
        dy.gradient_norms(net.trainer)


def test_on_gradient_comes_before_the_update():
    net, seen = Net(), []
    curve = callbacks.GradientNorms(net.model, lambda *point: seen.append(point), every=3)

    def on_gradient(step):
        assert set(dy.gradient_norms(net.model).values()) != {0.0}
        curve(step)

    plain = Net().fit(ROWS)
    assert net.fit(ROWS, on_gradient=on_gradient) == plain
    assert [step for tag, _, step in seen if tag == "gradient/W"] == [3, 6, 9]
    assert {tag for tag, _, _ in seen} == {"gradient/W", "gradient/V", "gradient/E"}
    assert all(number > 0 for _, number, _ in seen)
    with pytest.raises(dy.ValueError, match="every is 0; want 1 or more"):
        callbacks.GradientNorms(net.model, print, every=0)
    with pytest.raises(dy.TypeError, match=r"fit: on_gradient is .*; want a function"):
        net.fit(ROWS, on_gradient=3)


# ---- Weights & Biases, Optuna --------------------------------------------------------------------


def test_curves_for_weights_and_biases(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="not installed: pip install wandb")
    monkeypatch.chdir(tmp_path)
    logged = []
    with wandb.init(mode="offline", dir=str(tmp_path), project="test") as run:
        log = run.log
        monkeypatch.setattr(run, "log", lambda n, step: (logged.append((step, n)), log(n, step)))
        curves = callbacks.WeightsAndBiases(run, every=2)
        evaluate = curves.scored(lambda step: step.epoch / 4, "accuracy")
        history = Net().fit(ROWS, on_step=curves, on_eval=evaluate)
    assert history.scores == [0.25, 0.5]
    assert [step for step, n in logged if "loss" in n] == [2, 4, 6, 8, 10]
    assert [(step, n) for step, n in logged if "accuracy" in n] == [
        (5, {"accuracy": 0.25}),
        (10, {"accuracy": 0.5}),
    ]
    with pytest.raises(dy.TypeError, match=r"want the result of wandb.init\(\)"):
        callbacks.WeightsAndBiases("project")


def test_a_study_of_optuna():
    optuna = pytest.importorskip("optuna", reason="not installed: pip install optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial):
        if trial.number == 2:  # diverges
            net = Net()
            net.W.set_value(np.full((8, 2), np.nan))
            return net.fit(ROWS).losses[-1]
        score = [0.9, 0.5, 0.1, 0.7][trial.number]
        history = Net().fit(ROWS, on_eval=callbacks.OptunaTrial(trial, lambda step: score))
        return history.best_score

    study = optuna.create_study(
        direction="maximize", pruner=optuna.pruners.MedianPruner(1, n_warmup_steps=0)
    )
    study.optimize(objective, n_trials=4, catch=(dy.NumericError,))
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED", "FAIL", "PRUNED"]
    assert study.trials[0].intermediate_values == {1: 0.9, 2: 0.9}
    assert study.trials[1].intermediate_values == {1: 0.5} and study.best_value == 0.9


def test_a_trial_without_a_score_reports_the_loss():
    optuna = pytest.importorskip("optuna", reason="not installed: pip install optuna")
    trial = optuna.create_study().ask()
    history = Net().fit(ROWS, on_eval=callbacks.OptunaTrial(trial))
    values = trial.study.trials[0].intermediate_values
    assert [values[1], values[2]] == history.losses and history.scores == [None, None]
    for wrong in [(None,), (trial, 0.5)]:
        with pytest.raises(dy.TypeError, match="want a "):
            callbacks.OptunaTrial(*wrong)
