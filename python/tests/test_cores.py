"""Threads inside a graph: the option, and the same bits for any number."""

from __future__ import annotations

import os
import subprocess
import sys

import dynet as dy
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _default_afterwards():
    yield
    dy.set_threads(0)


def train(threads: int) -> list[np.ndarray]:
    """The parameters after some updates of a model whose loops are worth cutting."""
    dy.set_threads(threads)
    dy.reset_random_seed(1)
    model = dy.ParameterCollection()
    w = model.add_parameters((500, 300))
    v = model.add_parameters((300, 500))
    table = model.add_lookup_parameters((100, 300))
    trainer = dy.AdamTrainer(model)
    for step in range(3):
        dy.renew_cg()
        x = dy.lookup_batch(table, [(7 * i + step) % 100 for i in range(40)])
        y = dy.tanh(v * dy.logistic(w * x))
        dy.sum_batches(dy.squared_distance(y, x)).backward()
        trainer.update()
    return [w.as_array(), v.as_array(), table.as_array()]


def test_the_same_bits_for_any_number() -> None:
    expected = train(1)
    for threads in (2, 3, 7):
        for found, wanted in zip(train(threads), expected):
            np.testing.assert_array_equal(found, wanted)


def test_number() -> None:
    dy.set_threads(3)
    assert dy.get_threads() == 3
    dy.set_threads(0)
    assert 1 <= dy.get_threads() <= max(1, os.cpu_count() or 1)
    with pytest.raises(ValueError, match="set_threads: the value is 257; want a number of threads"):
        dy.set_threads(257)
    with pytest.raises((TypeError, ValueError)):
        dy.set_threads(-1)
    assert 1 <= dy.get_threads() <= max(1, os.cpu_count() or 1)


@pytest.mark.parametrize(
    "code, words, environment",
    [
        ("import dynet_config; dynet_config.set(threads=3)", [], {}),
        ("", ["--dynet-threads", "3"], {}),
        ("", [], {"DYNET_THREADS": "3"}),
    ],
)
def test_option(code: str, words: list[str], environment: dict[str, str]) -> None:
    code += "\nimport dynet; print(dynet.get_threads())"
    found = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert (found.stdout, found.stderr) == ("3\n", "")


def test_child_process() -> None:
    expected = train(3)
    child = os.fork()
    if child == 0:
        try:
            same = all(np.array_equal(a, b) for a, b in zip(train(3), expected))
            os._exit(0 if same else 1)
        finally:
            os._exit(2)  # an exception must not go on with the tests
    assert os.waitpid(child, 0)[1] == 0
