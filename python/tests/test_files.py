"""Safetensors files, exchanged with the Python package both ways, and checkpoints."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import dynet as dy
import numpy as np
import pytest

safetensors_numpy = pytest.importorskip("safetensors.numpy")
safetensors = pytest.importorskip("safetensors")


def make_model() -> tuple[dy.ParameterCollection, list, list]:
    m = dy.ParameterCollection()
    enc = m.add_subcollection("enc")
    parameters = [
        m.add_parameters((3, 2), name="W"),
        enc.add_parameters(4, name="b"),
        enc.add_parameters((2, 3, 4), name="T"),
        m.add_parameters((17, 40), name="large"),
    ]
    tables = [
        m.add_lookup_parameters((5, 3), name="words"),
        enc.add_lookup_parameters((4, 2, 3), name="mats"),
    ]
    return m, parameters, tables


def arrays(parameters, tables):
    return {p.name(): np.array(p.as_array()) for p in [*parameters, *tables]}


def test_the_package_reads_what_we_write(tmp_path):
    m, parameters, tables = make_model()
    file = str(tmp_path / "m.safetensors")
    m.save(file)
    read = safetensors_numpy.load_file(file)
    want = arrays(parameters, tables)
    assert read.keys() == want.keys()
    for name, values in want.items():
        assert read[name].dtype == np.float32
        np.testing.assert_array_equal(read[name], values)
    # And with memory mapped, part by part.
    with safetensors.safe_open(file, framework="np") as opened:
        assert set(opened.keys()) == want.keys()
        np.testing.assert_array_equal(opened.get_slice("/W")[1:, :], want["/W"][1:, :])


def test_we_read_what_the_package_writes(tmp_path):
    m, parameters, tables = make_model()
    want = {k: np.random.default_rng(1).normal(size=v.shape).astype(np.float32)
            for k, v in arrays(parameters, tables).items()}  # fmt: skip
    file = str(tmp_path / "other")
    safetensors_numpy.save_file(want, file, metadata={"format": "np"})
    m.populate(file)
    for name, values in arrays(parameters, tables).items():
        np.testing.assert_array_equal(values, want[name])
    loader = dy.SafetensorsLoader(file)
    assert loader.metadata() == {"format": "np"}
    assert loader.names() == sorted(want)
    assert loader.shape("/enc/T") == (2, 3, 4)
    assert "/W" in loader and "/V" not in loader
    assert loader.keys() == loader.names()
    for name, values in want.items():
        array = loader.array(name)
        np.testing.assert_array_equal(array, values)
        assert array.shape == values.shape and array.flags.c_contiguous and array.flags.writeable
    with pytest.raises(dy.IoError, match="no tensor named '/V'"):
        loader.array("/V")
    n = dy.ParameterCollection()
    w = n.load_param(file, "/W")
    np.testing.assert_array_equal(w.as_array(), want["/W"])
    words = n.load_lookup_param(file, "/words")
    np.testing.assert_array_equal(words[2].npvalue(), want["/words"][2])


def test_every_half_precision_number(tmp_path):
    file = str(tmp_path / "half")
    numbers = np.arange(65536, dtype=np.uint16).view(np.float16)
    safetensors_numpy.save_file({"x": numbers, "y": numbers.astype(np.float64)}, file)
    m = dy.ParameterCollection()
    x, y = m.load_param(file, "x"), m.load_param(file, "y")
    want = numbers.astype(np.float32)
    for p in (x, y):
        np.testing.assert_array_equal(np.asarray(p.as_array(), np.float32), want)
    assert np.signbit(x.as_array()[0x8000])


def test_a_file_written_anew_by_the_package(tmp_path):
    """With its own metadata it loads; with ours, whose checksums are of another file, it does not."""
    m, _, _ = make_model()
    file, again = str(tmp_path / "m.safetensors"), str(tmp_path / "again")
    m.save(file)
    tensors = safetensors_numpy.load_file(file)
    safetensors_numpy.save_file(tensors, again)
    m.populate(again)
    with safetensors.safe_open(file, framework="np") as opened:
        metadata = opened.metadata()
    assert set(metadata) == {"dynet.version", "dynet.crc32c.header", "dynet.crc32c.tensors"}
    safetensors_numpy.save_file(tensors, again, metadata=metadata)
    with pytest.raises(dy.IoError, match="another program wrote it anew"):
        m.populate(again)


@pytest.fixture
def trained(tmp_path):
    """A model with its lists, a trainer that has a state, and the name of a file."""
    m, parameters, tables = make_model()
    trainer = dy.AdamTrainer(m)
    trainer.update()
    return m, parameters, tables, trainer, str(tmp_path / "m.safetensors")


def test_parts_trainer_and_metadata(trained):
    m, parameters, tables, trainer, file = trained
    with dy.SafetensorsSaver(file) as saver:
        saver.save_trainer(trainer)
        saver.save(m, "/model")
        saver.save(parameters[0], "/alone")
        saver.save(tables[0])
        saver.set_metadata("builder", '{"layers": 2}')
    n, others, other_tables = make_model()
    loader = dy.SafetensorsLoader(file)
    loader.check_all()
    assert loader.metadata() == {"builder": '{"layers": 2}'}
    before = np.array(others[0].as_array())
    loader.populate(n, "/model", names=["/model/enc/b"])
    np.testing.assert_array_equal(others[1].as_array(), parameters[1].as_array())
    np.testing.assert_array_equal(others[0].as_array(), before)
    loader.populate(others[0], "/alone")
    loader.populate(other_tables[0], "/words")
    np.testing.assert_array_equal(others[0].as_array(), parameters[0].as_array())
    np.testing.assert_array_equal(other_tables[0].as_array(), tables[0].as_array())
    loader.populate(n, "/model")
    other = dy.AdamTrainer(n)
    loader.populate_trainer(other)
    assert other.save() == trainer.save()
    with pytest.raises(dy.IoError):
        loader.populate(n)
    # An exception in the block leaves the old file.
    with pytest.raises(KeyError), dy.SafetensorsSaver(file) as saver:
        saver.save(tables[1])
        raise KeyError
    assert "/alone" in dy.SafetensorsLoader(file)


def test_a_saver_that_is_dropped_leaves_the_old_file(tmp_path):
    m, parameters, _ = make_model()
    file = tmp_path / "m.safetensors"
    m.save(str(file))
    before = file.read_bytes()
    saver = dy.SafetensorsSaver(str(file))
    saver.save(parameters[0])
    del saver
    assert file.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.safetensors"]


def test_the_state_of_a_trainer_is_no_parameter(trained):
    m, _, _, trainer, file = trained
    with dy.SafetensorsSaver(file) as saver:
        saver.save_trainer(trainer)
        saver.save(m)
    loader = dy.SafetensorsLoader(file)
    assert "#trainer/0" in safetensors_numpy.load_file(file)
    assert "#trainer/0" not in loader and "/W" in loader
    with pytest.raises(dy.IoError, match="no tensor"):
        loader.shape("#trainer/0")


def test_damage(tmp_path):
    m, parameters, _ = make_model()
    file = tmp_path / "m.safetensors"
    m.save(str(file))
    whole = file.read_bytes()
    parameters[0].scale(3.0)
    before = np.array(parameters[0].as_array())
    for at in range(0, len(whole), 61):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(dy.IoError, match="byte"):
            m.populate(str(file))
    np.testing.assert_array_equal(parameters[0].as_array(), before)


TRAINING = """
import sys
import dynet as dy
import numpy as np

m = dy.ParameterCollection()
W, E = m.add_parameters((4, 3)), m.add_lookup_parameters((7, 3))
trainer = dy.AdamTrainer(m)
trainer.exponential_moving_average(0.9)
checkpoints = dy.Checkpointer(sys.argv[1], m, trainer, every_steps=5)
begin = int(checkpoints.position) if checkpoints.resume() else 0
for i in range(begin, 300):
    dy.renew_cg()
    x = dy.dropout(dy.tanh(W * E[i % 7]), 0.3)
    loss = dy.squared_norm(x - dy.inputVector([1, 2, 3, i % 5]))
    loss.backward()
    trainer.update()
    checkpoints.step(str(i + 1))
np.savez(sys.argv[2], W=W.as_array(), E=E.as_array())
"""


def test_killed_trainings_go_on_to_the_bit(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(TRAINING)

    def start(folder, result):
        return subprocess.Popen([sys.executable, str(script), str(tmp_path / folder), str(tmp_path / result),
                                 "--dynet-seed", "3"])  # fmt: skip

    assert start("whole", "whole.npz").wait(100) == 0
    random = np.random.default_rng(2)
    kills = 0
    while not (tmp_path / "killed.npz").exists():
        process = start("killed", "killed.npz")
        if kills < 4:
            time.sleep(random.uniform(0.2, 0.6))
            process.send_signal(signal.SIGKILL)
            kills += 1
        assert process.wait(100) in (0, -signal.SIGKILL)
    whole, killed = np.load(tmp_path / "whole.npz"), np.load(tmp_path / "killed.npz")
    for name in ("W", "E"):
        np.testing.assert_array_equal(whole[name], killed[name])
    assert os.listdir(tmp_path / "killed") == ["checkpoint-000000000300.safetensors"]


def test_checkpoints_with_scores(tmp_path):
    m, parameters, _ = make_model()
    trainer = dy.SimpleSGDTrainer(m)
    checkpoints = dy.Checkpointer(str(tmp_path), m, trainer, keep_best=1, larger_is_better=False)
    assert not checkpoints.resume()
    best = None
    for step, loss in enumerate([3.0, 1.0, 2.0]):
        parameters[0].scale(0.5)
        assert not checkpoints.step()
        checkpoints.metadata = {"epoch": str(step)}
        checkpoints.save(position=f"{step}", score=loss)
        if loss == 1.0:
            best = np.array(parameters[0].as_array())
    assert [(steps, score) for _, steps, score in checkpoints.checkpoints] == [(2, 1.0), (3, 2.0)]
    n, others, _ = make_model()
    again = dy.Checkpointer(str(tmp_path), n, dy.SimpleSGDTrainer(n), larger_is_better=False)
    assert again.resume()
    assert (again.steps, again.position, again.metadata) == (3, "2", {"epoch": "2"})
    again.load_best()
    np.testing.assert_array_equal(others[0].as_array(), best)
    with pytest.raises(ValueError, match="keep_last"):
        dy.Checkpointer(str(tmp_path), m, trainer, keep_last=0)
    with pytest.raises(ValueError, match="NaN"):
        again.save(score=float("nan"))
    with pytest.raises(RuntimeError, match="resume"):
        dy.Checkpointer(str(tmp_path), m, trainer).save()
