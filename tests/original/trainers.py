"""Trainers, their settings, functions of parameters, and the numbers that initialisers draw."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import dynet as dy
import numpy as np
from fixed import fill, gradients_of, keep, values_of, wave

Case = Callable[[], object]
UPDATES = 6

TRAINERS: dict[str, tuple[Callable[..., dy.Trainer], tuple[float, ...]]] = {
    "sgd": (dy.SimpleSGDTrainer, (0.03,)),
    "cyclical": (dy.CyclicalSGDTrainer, (0.02, 0.2, 2.0, 0.9)),
    "momentum": (dy.MomentumSGDTrainer, (0.03, 0.7)),
    "adagrad": (dy.AdagradTrainer, (0.05, 1e-3)),
    "adadelta": (dy.AdadeltaTrainer, (1e-4, 0.8)),
    "rmsprop": (dy.RMSPropTrainer, (0.02, 1e-4, 0.7)),
    "adam": (dy.AdamTrainer, (0.02, 0.8, 0.9, 1e-4)),
    "amsgrad": (dy.AmsgradTrainer, (0.02, 0.8, 0.9, 1e-4)),
}


class Model:
    """Two dense parameters and a table, of which each step uses some rows."""

    def __init__(self) -> None:
        self.m = dy.ParameterCollection()
        self.W, self.b = self.m.add_parameters((2, 3)), self.m.add_parameters(2)
        self.E = self.m.add_lookup_parameters((5, 3))
        fill(self.m, 0.8)

    def backward(self, number: int) -> float:
        dy.renew_cg()
        x = dy.esum([self.E[number % 3], self.E[(2 * number) % 4]])
        y = dy.tanh(self.W * x + self.b)
        loss = dy.squared_distance(y, dy.inputTensor(wave((2,), number, 2.0)))
        value = loss.scalar_value()
        loss.backward()
        return value

    def used(self) -> dict[str, object]:
        """The numbers that a graph computes with: weight decay included."""
        dy.renew_cg()
        return {
            "dense": [p.expr().npvalue() for p in (self.W, self.b)],
            "table": [self.E[i].npvalue() for i in range(5)],
        }


def updates(name: str, arguments: bool, setting: Callable[[dy.Trainer, Model], None]) -> Case:
    def run() -> object:
        make, given = TRAINERS[name]
        model = Model()
        trainer = make(model.m, *given) if arguments else make(model.m)
        setting(trainer, model)
        found: list[object] = []
        for number in range(UPDATES):
            loss = model.backward(number)
            trainer.update()
            found.append({"loss": loss, "rate": trainer.learning_rate, **model.used()})
        return found

    return run


def freeze(trainer: dy.Trainer, model: Model) -> None:
    trainer.set_clip_threshold(0.0)  # gradients of frozen parameters count for clipping in 2.2
    model.W.set_updated(False)


def freeze_table(trainer: dy.Trainer, model: Model) -> None:
    trainer.set_clip_threshold(0.0)
    model.E.set_updated(False)


def decay(_: dy.Trainer, model: Model) -> None:
    model.m.set_weight_decay(0.05)


def strong_decay(_: dy.Trainer, model: Model) -> None:
    model.m.set_weight_decay_lambda(0.3)  # after some updates 2.2 rescales what it stores


SETTINGS: dict[str, Callable[[dy.Trainer, Model], None]] = {
    "all rows": lambda t, _: t.set_sparse_updates(False),
    "clipped": lambda t, _: t.set_clip_threshold(0.5),
    "not clipped": lambda t, _: t.set_clip_threshold(-1.0),
    "frozen": freeze,
    "frozen table": freeze_table,
    "decay": decay,
    "strong decay": strong_decay,
}


def restarted(name: str, *rate: float) -> Case:
    """Updates, a restart, and updates that start from empty states."""

    def run() -> object:
        make, given = TRAINERS[name]
        model = Model()
        trainer = make(model.m, *given)
        found: list[object] = []
        for number in range(UPDATES):
            if number == 3:
                trainer.restart(*rate)
            model.backward(number)
            trainer.update()
            found.append({"rate": trainer.learning_rate, **values_of(model.m)})
        return found

    return run


def rates(name: str) -> Case:
    def run() -> object:
        make, given = TRAINERS[name]
        model = Model()
        trainer = make(model.m, *given)
        found: list[object] = []
        for number, rate in enumerate((None, 0.1, 0.001, None)):
            if rate == 0.1:
                trainer.learning_rate = rate
            elif rate is not None:
                trainer.set_learning_rate(rate)
            model.backward(number)
            trainer.update()
            found.append({"rate": trainer.learning_rate, **values_of(model.m)})
        return {"found": found, "name": trainer.whoami()}

    return run


def accumulated() -> object:
    """Gradients of two graphs before one update, and none before the next."""
    model = Model()
    trainer = dy.MomentumSGDTrainer(model.m)
    model.backward(0)
    first = gradients_of(model.m)
    model.backward(1)
    both = gradients_of(model.m)
    trainer.update()
    once = values_of(model.m)
    cleared = gradients_of(model.m)
    trainer.update()
    return {"first": first, "both": both, "once": once, "cleared": cleared, **values_of(model.m)}


def grown() -> object:
    """Parameters that are made after the first update."""
    model = Model()
    trainer = dy.AdamTrainer(model.m)
    model.backward(0)
    trainer.update()
    V = model.m.add_parameters((2, 2))
    V.set_value(wave((2, 2), 9, 0.5))
    for _ in range(3):
        dy.renew_cg()
        loss = dy.squared_norm(V * model.b)
        loss.forward()
        loss.backward()
        trainer.update()
    return values_of(model.m)


def thresholds() -> object:
    trainer = dy.SimpleSGDTrainer(Model().m)
    found = [trainer.get_clip_threshold()]
    for threshold in (2.5, 0.0, 3.0, -4.0):
        trainer.set_clip_threshold(threshold)
        found.append(trainer.get_clip_threshold())
    return found


def other_updates() -> object:
    """update_epoch and status say something; update_subset does nothing in 2.2."""
    model = Model()
    trainer = dy.SimpleSGDTrainer(model.m)
    model.backward(0)
    results = [trainer.update_epoch(1.0), trainer.status()]
    return {"results": results, **values_of(model.m), **{"g": gradients_of(model.m)}}


def subset() -> object:
    model = Model()
    trainer = dy.SimpleSGDTrainer(model.m)
    model.backward(0)
    trainer.update_subset([0], [])
    return {"values": values_of(model.m), "gradients": gradients_of(model.m)}


def from_numpy() -> object:
    m = dy.ParameterCollection()
    made = [
        m.parameters_from_numpy(wave((2, 3), 1, 1.0)),
        m.parameters_from_numpy(wave((4,), 2, 1.0), name="v"),
        m.parameters_from_numpy(wave((2, 3, 2), 3, 1.0)),
        m.lookup_parameters_from_numpy(wave((4, 2), 4, 1.0), name="rows"),
        m.add_parameters((2, 2), init=1, name="v"),
        m.add_lookup_parameters(3, init=0.5),
    ]
    return [[p.name(), list(p.shape()), p.as_array()] for p in made]


def table_from_numpy() -> object:
    m = keep(dy.ParameterCollection())
    table = m.lookup_parameters_from_numpy(wave((4, 2, 3), 1, 1.0))
    return [list(table.shape()), table.as_array()]


def named() -> object:
    """Names of collections and parameters, with indices where a name comes twice."""
    m = keep(dy.ParameterCollection())
    parts = [m.add_subcollection(), m.add_subcollection("a"), m.add_subcollection("a")]
    parts += [parts[1].add_subcollection("b"), m]
    for part in parts:
        part.add_parameters(1)
        part.add_parameters(1, name="W")
        part.add_lookup_parameters((2, 1))
        part.add_parameters(1, name="W")
    return {
        "parts": [part.name() for part in parts],
        "dense": [[p.name() for p in part.parameters_list()] for part in parts],
        "tables": [[p.name() for p in part.lookup_parameters_list()] for part in parts],
        "counts": [part.parameter_count() for part in parts],
    }


def stored() -> object:
    """Arrays of parameters that decay; graphs compute with the same numbers in both libraries."""
    model = Model()
    model.m.set_weight_decay(0.125)
    model.backward(0)
    dy.SimpleSGDTrainer(model.m).update()
    return values_of(model.m)


def frozen_and_clipped() -> object:
    model = Model()
    model.W.set_updated(False)
    trainer = dy.SimpleSGDTrainer(model.m)
    trainer.set_clip_threshold(0.5)
    model.backward(0)
    trainer.update()
    return {"values": values_of(model.m), "gradient": model.W.grad_as_array()}


def not_finite() -> object:
    m = keep(dy.ParameterCollection())
    W = m.add_parameters(2, init=1.0)
    trainer = dy.SimpleSGDTrainer(m)
    loss = dy.sum_elems(dy.cmult(W, dy.inputVector([float("nan"), 1.0])))
    loss.forward()
    loss.backward()
    trainer.update()
    return W.as_array()


def sub_collection() -> object:
    """A trainer over a part of the model leaves the other part and its gradients."""
    m = keep(dy.ParameterCollection())
    part = m.add_subcollection("part")
    V, W = m.add_parameters((2, 2)), part.add_parameters((2, 2))
    fill(m)
    trainer = dy.SimpleSGDTrainer(part)
    dy.renew_cg()
    loss = dy.squared_norm(V * W * dy.inputVector([1.0, 2.0]))
    loss.forward()
    loss.backward()
    trainer.update()
    return {"values": values_of(m), "left": V.grad_as_array(), "cleared": W.grad_as_array()}


def changed(action: Callable[[Model], object]) -> Case:
    """Values and gradients after a function of a parameter, and its result."""

    def run() -> object:
        model = Model()
        model.backward(1)
        result = action(model)
        return {"result": result, "values": values_of(model.m), "gradients": gradients_of(model.m)}

    return run


def is_updated(model: Model) -> object:
    found = [model.W.is_updated(), model.E.is_updated()]
    model.W.set_updated(False)
    model.E.set_updated(False)
    found += [model.W.is_updated(), model.E.is_updated()]
    model.W.set_updated(True)
    return [*found, model.W.is_updated()]


ACTIONS: dict[str, Callable[[Model], object]] = {
    "scale": lambda o: o.W.scale(0.5),
    "scale of a table": lambda o: o.E.scale(0.5),
    "scale_gradient": lambda o: o.W.scale_gradient(-2.0),
    "scale_gradient of a table": lambda o: o.E.scale_gradient(3.0),
    "clip_inplace": lambda o: o.W.clip_inplace(-0.2, 0.3),
    "zero": lambda o: o.W.zero(),
    "zero of a table": lambda o: o.E.zero(),
    "set_value": lambda o: o.W.set_value(wave((2, 3), 7, 1.0)),
    "set_value of a vector": lambda o: o.b.set_value(np.array([1.0, 2.0])),
    "set_value of another shape": lambda o: o.W.set_value(np.ones((3, 2))),
    "set_value of another count": lambda o: o.W.set_value(np.ones((2, 4))),
    "set_updated": is_updated,
    "init_row": lambda o: o.E.init_row(3, [1.0, 2.0, 3.0]),
    "init_from_array": lambda o: o.E.init_from_array(wave((5, 3), 8, 1.0)),
    "init_from_array of fewer rows": lambda o: o.E.init_from_array(wave((2, 3), 8, 1.0)),
    "init_from_array of more rows": lambda o: o.E.init_from_array(wave((6, 3), 8, 1.0)),
    "init_from_array of longer rows": lambda o: o.E.init_from_array(wave((5, 4), 8, 1.0)),
    "row_as_array": lambda o: o.E.row_as_array(2),
    "rows_as_array": lambda o: o.E.rows_as_array([2, 0]),
    "row_grad_as_array": lambda o: o.E.row_grad_as_array(2),
    "rows_grad_as_array": lambda o: o.E.rows_grad_as_array([2, 1]),
    "length of a table": lambda o: [len(o.E), list(o.E.shape()), o.E.expr().dim()],
    "text": lambda o: [str(o.W), str(o.E), o.W.name(), o.E.name(), o.m.name()],
    "count": lambda o: o.m.parameter_count(),
    "dim": lambda o: [o.W.dim(), o.b.dim(), o.W.npvalue(), o.b.value(), o.W[1].npvalue()],
    "gradient": lambda o: o.W.gradient(),
    "lookup of no row": lambda o: o.E[5].value(),
    "batch": lambda o: o.E.batch([1, 1, 4]).npvalue(),
    "table as a matrix": lambda o: (o.W * o.E.expr()).npvalue(),
    "weight decay": lambda o: (o.m.set_weight_decay(0.125), o.m.get_weight_decay())[1],
    "weight decay of a part": lambda o: (
        o.m.set_weight_decay(0.125),
        o.m.add_subcollection("a").get_weight_decay(),
    )[1],
}


def drawn(
    dim: tuple[int, ...] | int, spread: float, shape: str, is_table: bool = False, **given: object
) -> Case:
    """Whether mean, deviation and range are those of the formula; `spread` is the deviation."""

    def run() -> object:
        m = dy.ParameterCollection()
        p = m.add_lookup_parameters(dim, **given) if is_table else m.add_parameters(dim, **given)
        v = np.asarray(p.as_array()).ravel()
        edge = spread * math.sqrt(3.0)
        found = {
            "shape": list(p.shape()),
            "mean": bool(abs(v.mean()) < 5 * spread / math.sqrt(v.size)),
            "deviation": bool(abs(v.std() / spread - 1) < 0.02),
            "distinct": bool(np.unique(v).size > 0.9 * v.size),
        }
        if shape == "uniform":
            found["range"] = bool(
                np.abs(v).max() <= edge * 1.0001 and np.abs(v).max() > 0.99 * edge
            )
        else:
            found["tail"] = bool(0.002 < np.mean(np.abs(v) > 2.8 * spread) < 0.009)
        return found

    return run


def uniform(edge: float) -> float:
    return edge / math.sqrt(3.0)


def initialised(*dim: int, is_table: bool = False, **given: object) -> Case:
    def run() -> object:
        m = dy.ParameterCollection()
        p = m.add_lookup_parameters(dim, **given) if is_table else m.add_parameters(dim, **given)
        return p.as_array()

    return run


def orthonormal() -> object:
    m = dy.ParameterCollection()
    w = m.add_parameters((30, 30), init=dy.SaxeInitializer()).as_array()
    return [bool(np.allclose(w @ w.T, np.eye(30), atol=1e-4)), bool(np.unique(w).size > 850)]


def from_file() -> object:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "numbers"
        file.write_text(" ".join(str(i / 4) for i in range(6)) + "\n")
        m = dy.ParameterCollection()
        init = dy.FromFileInitializer(str(file).encode())
        return m.add_parameters((2, 3), init=init).as_array()


def initialisers() -> Iterator[tuple[str, Case]]:
    big = (200, 300)
    yield "glorot", drawn(big, uniform(math.sqrt(6 / 500)), "uniform")
    yield "glorot of a vector", drawn(20000, uniform(math.sqrt(3 / 20000)), "uniform")
    three = drawn((30, 40, 50), uniform(math.sqrt(9 / 120)), "uniform")
    yield "glorot of three dimensions", three
    filters = drawn((5, 4, 50, 60), uniform(math.sqrt(6 / (20 * 50 + 20 * 60))), "uniform")
    yield "glorot of filters", filters
    yield "glorot by name", drawn(big, uniform(math.sqrt(6 / 500)), "uniform", init="glorot")
    gain = dy.GlorotInitializer(gain=2.0)
    yield "glorot with a gain", drawn(big, uniform(2 * math.sqrt(6 / 500)), "uniform", init=gain)
    yield "uniform", drawn(big, uniform(0.4), "uniform", init="uniform", scale=0.4)
    yield "uniform of a class", drawn(big, uniform(0.3), "uniform", init=dy.UniformInitializer(0.3))
    yield "normal", drawn(big, 0.7, "normal", init="normal", std=0.7)
    normal = dy.NormalInitializer(0.0, 0.25)
    yield "normal of a class", drawn(big, 0.5, "normal", init=normal)
    yield "he", drawn(big, math.sqrt(1 / 600), "normal", init="he")
    table = drawn(big, uniform(math.sqrt(6 / 500)), "uniform", is_table=True)
    yield "table", table
    rows = dy.GlorotInitializer(is_lookup=True)
    by_row = drawn(big, uniform(math.sqrt(3 / 300)), "uniform", is_table=True, init=rows)
    yield "table by rows", by_row
    yield "table of he", drawn(big, math.sqrt(1 / 600), "normal", is_table=True, init="he")
    yield (
        "table of a uniform",
        drawn(big, uniform(0.4), "uniform", is_table=True, init="uniform", scale=0.4),
    )
    yield "constant", initialised(2, 3, init=0.25)
    yield "constant of a class", initialised(2, 3, init=dy.ConstInitializer(0.5))
    yield "constant of a whole number", initialised(2, 3, init=2)
    yield "identity", initialised(3, 3, init="identity")
    yield "identity of a class", initialised(3, 3, init=dy.IdentityInitializer())
    yield "identity of another shape", initialised(3, 2, init="identity")
    yield "array", initialised(2, 3, init=wave((2, 3), 1, 1.0))
    yield "array of a class", initialised(2, 3, init=dy.NumpyInitializer(wave((2, 3), 1, 1.0)))
    yield "array for a table", initialised(4, 3, is_table=True, init=wave((4, 3), 1, 1.0))
    numpy = dy.NumpyInitializer(wave((4, 3), 1, 1.0))
    yield "class of an array for a table", initialised(4, 3, is_table=True, init=numpy)
    yield "constant for a table", initialised(4, 3, is_table=True, init=0.5)
    yield "unknown name", initialised(4, 3, init="unknown")
    yield "orthonormal", orthonormal
    yield "from a file", from_file


def cases() -> Iterator[tuple[str, Case]]:
    for name in TRAINERS:
        yield f"{name} defaults", updates(name, False, lambda _t, _m: None)
        yield f"{name} arguments", updates(name, True, lambda _t, _m: None)
        for setting, action in SETTINGS.items():
            yield f"{name} {setting}", updates(name, True, action)
        yield f"{name} restart", restarted(name)
        yield f"{name} restart with a rate", restarted(name, 0.25)
        yield f"{name} rates", rates(name)
    yield "accumulated gradients", accumulated
    yield "parameters made later", grown
    yield "clip thresholds", thresholds
    yield "trainer of a part", sub_collection
    yield "update_epoch and status", other_updates
    yield "update_subset", subset
    yield "parameters from arrays", from_numpy
    yield "table from an array of three dimensions", table_from_numpy
    yield "names", named
    yield "stored under decay", stored
    yield "frozen and clipped", frozen_and_clipped
    for name, change in ACTIONS.items():
        yield f"parameter, {name}", changed(change)
    for name, run in initialisers():
        yield f"initialiser, {name}", run
    # The last, because 2.2 may compute with what a NaN has left in its memory.
    yield "gradient that is NaN", not_finite
