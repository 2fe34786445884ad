"""Training on several ranks, by mpi4py. Without mpi4py or mpirun the jobs are skipped.

This file is also the program of the jobs: `mpirun -n 2 python test_distributed.py NAME ...`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from far import DEVICE, PRELUDE
from treebanks import SMALL, write_treebanks

WORDS = 40
DATA = [([(7 * n + 3 * i) % WORDS for i in range(n % 5 + 1)], n % 4) for n in range(30)]


def mpirun() -> str:
    """mpirun, if mpi4py can start MPI."""
    found = shutil.which("mpirun")
    if found is None:
        pytest.skip("mpirun is not installed")
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        pytest.skip("mpi4py is not installed")
    return found


def run(
    ranks: int, *words: object, code: int | None = 0, program: tuple[str, ...] = (__file__,)
) -> str:
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",  # of Open MPI 5
        "OMPI_MCA_hwloc_base_binding_policy": "none",  # all ranks may run on all processors
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    }
    line = [mpirun(), "-n", str(ranks), sys.executable, *program, *map(str, words)]
    done = subprocess.run(
        line, env={**os.environ, **allowed}, capture_output=True, text=True, timeout=120
    )
    text = done.stdout + done.stderr
    assert (done.returncode == 0) == (code == 0), text
    return text


def numbers(text: str, word: str) -> list[str]:
    return sorted(line.split(": ", 1)[1] for line in text.splitlines() if line.startswith(word))


@pytest.mark.parametrize(("ranks", "workers"), [(2, 0), (3, 0), (2, 2)])
def test_all_ranks_learn_the_same_as_one(ranks: int, workers: int) -> None:
    one = numbers(run(1, "train", 0), "values")
    more = numbers(run(ranks, "train", workers), "values")
    assert len(one) == 1 and len(more) == ranks
    assert len(set(more)) == 1
    losses = [eval(line.split(" ", 1)[1]) for line in (one[0], more[0])]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert losses[0][-1] < losses[0][0]


def test_ranks_workers_and_threads_together() -> None:
    """The same bits with any number of threads; ranks on the same processors use one by default."""
    for workers, numbers_of_threads in ((0, (1, 2, 0)), (2, (2, 0))):
        found = set()
        for threads in numbers_of_threads:
            text = run(2, "together", workers, threads)
            assert numbers(text, "threads") == [str(max(1, threads))] * 2
            found.update(numbers(text, "values"))
        assert len(found) == 1


def test_ranks_resume_on_other_numbers_of_ranks(tmp_path: Path) -> None:
    whole = numbers(run(1, "fit", tmp_path / "whole", 4), "values")
    run(2, "fit", tmp_path / "cut", 2)
    run(3, "fit", tmp_path / "cut", 3)
    last = numbers(run(1, "fit", tmp_path / "cut", 4), "values")
    losses = [eval(line.split(" ", 1)[1]) for line in (whole[0], last[0])]
    assert len(losses[0]) == 4
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("kind", ["raise", "exit", "kill", "stop"])
def test_a_rank_that_fails_ends_the_job(kind: str) -> None:
    start = time.monotonic()
    text = run(2, "fault", kind, code=1)
    assert time.monotonic() - start < 20
    if kind != "kill" or "BAD TERMINATION" not in text:  # mpirun of MPICH tells the process alone
        assert "rank 1" in text
    if kind == "raise":
        assert "dynet: rank 1 of 2: KeyError: 'a fault of the test'" in text


def test_a_number_that_is_not_finite_is_found() -> None:
    text = run(2, "nan")
    assert len(numbers(text, "found")) == 2
    assert all("of '/W', from rank 1 of 2" in line for line in numbers(text, "found"))


def test_calls_that_are_refused() -> None:
    assert sorted(numbers(run(1, "refused"), "refused")) == [
        "DistributedTrainer: comm is 3; want a communicator of mpi4py, or None",
        "DistributedTrainer: it cannot be copied or pickled, as it belongs to this process of a "
        "job; want its `trainer`",
        "fit: checkpoint is a Checkpointer, and trainer is of type DistributedTrainer; want a "
        "DistributedCheckpointer",
        "fit: checkpoint is a DistributedCheckpointer, and trainer is of type AdamTrainer; want a "
        "Checkpointer",
    ]


def dynet_train(folder: Path, output: Path, code: int = 0) -> str:
    write_treebanks(folder)
    train = ["-m", "dynet", "train", "tagger", f"--train={folder / 'train.conllu'}"]
    train += [f"--output={output}", *SMALL, "--epochs=1", "--distributed"]
    return run(2, *train, code=code, program=())


def test_dynet_train_as_two_ranks(tmp_path: Path) -> None:
    text = dynet_train(tmp_path, tmp_path / "model")
    assert text.count("epoch 1 ") == 1
    assert text.count("wrote ") == 1
    assert (tmp_path / "model.safetensors").exists()


def test_a_mistake_that_only_the_first_rank_sees_ends_the_job(tmp_path: Path) -> None:
    start = time.monotonic()
    text = dynet_train(tmp_path, tmp_path / "none" / "model", code=1)
    assert time.monotonic() - start < 20
    assert "dynet: rank 0 of 2: --output: there is no folder" in text


def test_place() -> None:
    import dynet as dy

    before = dict(os.environ)
    try:
        os.environ.update(RANK="1", WORLD_SIZE="4", LOCAL_RANK="0")
        assert dy.distributed.place()[:4] == (1, 4, 0, "torchrun")
        os.environ["RANK"] = "4"
        with pytest.raises(dy.ValueError, match="RANK is 4 and WORLD_SIZE is 4"):
            dy.distributed.place()
    finally:
        os.environ.clear()
        os.environ.update(before)


# ---- the program of a rank


def main(name: str, *words: str) -> None:
    import zlib

    import dynet_config

    exec(PRELUDE)
    workers = int(words[0]) if name in ("train", "together") else 0
    is_of_host = workers > 0 or name == "together"  # shared memory, or loops of the CPU
    device = "CPU" if is_of_host or not DEVICE else DEVICE
    dynet_config.set(random_seed=3, devices=device, shared_parameters=workers > 0)
    import dynet as dy
    import numpy as np

    model = dy.ParameterCollection()
    E = model.add_lookup_parameters((WORDS, 5), name="E")
    W = model.add_parameters((4, 5), name="W")

    def loss(example: tuple[list[int], int]) -> dy.Expression:
        words, label = example
        x = dy.average([dy.lookup(E, w) for w in words])
        return dy.pickneglogsoftmax(W * dy.tanh(x), label)

    adam = dy.AdamTrainer(model, alpha=0.02)
    patience = 3.0 if words[:1] == ("stop",) else 60.0
    trainer = dy.DistributedTrainer(adam, check_every=2, patience=patience)

    def report(history: dy.History) -> None:
        whole = np.concatenate([E.as_array().ravel(), W.as_array().ravel()])
        line = f"values {trainer.rank}: {zlib.crc32(whole.tobytes())} {history.losses}\n"
        sys.stdout.write(line)
        sys.stdout.flush()

    if name == "train":
        report(dy.fit(loss, DATA, trainer, epochs=4, batch=7, workers=workers, progress=False))
        trainer.check()
    elif name == "together":
        together(workers, int(words[1]))
    elif name == "fit":
        checkpoint = dy.DistributedCheckpointer(words[0], trainer, every_steps=2)
        history = dy.fit(
            loss, DATA, trainer, epochs=int(words[1]), batch=6, checkpoint=checkpoint,
            on_eval=lambda step: float(np.square(W.as_array()).sum()), progress=False,
        )  # fmt: skip
        report(history)
    elif name == "fault":
        trainer.learning_rate = 0.25
        assert adam.learning_rate == 0.25
        for step in range(10):
            if trainer.rank == 1 and step == 5:
                fail(words[0])
            dy.renew_cg()
            loss(DATA[step]).backward()
            trainer.update()
    elif name == "refused":
        refused(loss, model, adam, trainer)
    elif name == "nan":
        dy.renew_cg()
        (loss(DATA[trainer.rank]) * (float("nan") if trainer.rank == 1 else 1.0)).backward()
        try:
            trainer.update()
        except dy.NumericError as e:
            text = " ".join(str(e).split())
            sys.stdout.write(f"found {trainer.rank}: {text}\n")


def together(workers: int, threads: int) -> None:
    """Training with a layer whose loops are long enough for several threads."""
    import zlib

    import dynet as dy

    dy.set_threads(threads)
    model = dy.ParameterCollection()
    E = model.add_lookup_parameters((WORDS, 400))
    W = model.add_parameters((600, 400))
    trainer = dy.DistributedTrainer(dy.AdamTrainer(model), check_every=2)

    def loss(example: tuple[list[int], int]) -> dy.Expression:
        x = dy.lookup_batch(E, [(w + 7 * i) % WORDS for i in range(30) for w in example[0][:1]])
        return dy.sum_batches(dy.squared_norm(dy.tanh(W * x)))

    dy.fit(loss, DATA[:12], trainer, epochs=2, batch=12, workers=workers, progress=False)
    trainer.check()
    with_team = len(os.listdir("/proc/self/task"))
    dy.set_threads(1)
    time.sleep(0.2)  # the system may list a thread that has just ended
    made = with_team - len(os.listdir("/proc/self/task")) + 1
    checksum = zlib.crc32(W.as_array().tobytes() + E.as_array().tobytes())
    sys.stdout.write(f"threads {trainer.rank}: {made}\nvalues {trainer.rank}: {checksum}\n")


def refused(loss: Any, model: Any, adam: Any, trainer: Any) -> None:
    import copy
    import pickle
    import tempfile

    import dynet as dy

    with tempfile.TemporaryDirectory() as folder:
        alone = dy.Checkpointer(folder, model, adam)
        together = dy.DistributedCheckpointer(folder, trainer)
        for call in (
            lambda: dy.DistributedTrainer(adam, 3),  # type: ignore[arg-type]
            lambda: pickle.dumps(trainer),
            lambda: dy.fit(loss, DATA, trainer, checkpoint=alone),
            lambda: dy.fit(loss, DATA, adam, checkpoint=together),
        ):
            with pytest.raises(dy.TypeError) as e:
                call()
            sys.stdout.write(f"refused: {str(e.value).splitlines()[0]}\n")
    with pytest.raises(dy.TypeError, match="cannot be copied"):
        copy.copy(trainer)


def fail(kind: str) -> None:
    import signal

    if kind == "raise":
        raise KeyError("a fault of the test")
    if kind == "exit":
        sys.exit(3)
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
