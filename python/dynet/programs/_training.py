"""The part of a training that all programs share: epochs, the best one, going on after a stop."""

from __future__ import annotations

import os
import time

import _dynet

from dynet import DistributedTrainer, fit

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from dynet import Step

SUFFIX = ".safetensors"


def model_file(name: str) -> str:
    """The name with the suffix of model files."""
    return name if name.endswith(SUFFIX) else name + SUFFIX


def follow_first_rank(options: argparse.Namespace) -> None:
    """Ranks but the first print nothing, and write to a folder that goes with the process."""
    import atexit
    import sys
    import tempfile

    from mpi4py import MPI

    if MPI.COMM_WORLD.Get_rank() != 0:
        own = tempfile.TemporaryDirectory()
        atexit.register(own.cleanup)
        options.output = os.path.join(own.name, "model")
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def train(
    options: argparse.Namespace,
    model: _dynet.ParameterCollection,
    loss: Callable[[Any], _dynet.Expression],
    examples: list[Any],
    score: Callable[[], dict[str, float]] | None,
    larger_is_better: bool = True,
) -> None:
    """Trains, and leaves the parameters of the best epoch in the model: of the best mean of the
    numbers of `score`; without it those of the last epoch. The rate falls to 0 in half a wave."""
    adam = _dynet.AdamTrainer(model, options.rate)
    trainer: Any = adam
    updates = options.epochs * -(-len(examples) // options.batch)
    trainer.set_schedule(_dynet.CosineSchedule(options.rate, updates))
    folder = model_file(options.output).removesuffix(SUFFIX) + ".checkpoints"
    if os.path.isdir(folder) and os.listdir(folder) and not options.resume:
        raise _dynet.UsageError(
            f"'{folder}' has checkpoints of another training; go on with it by --resume, or remove "
            "the folder"
        )
    checkpoint: Any
    when: dict[str, Any] = {"every_seconds": 60, "larger_is_better": larger_is_better}
    if options.distributed:
        trainer = DistributedTrainer(adam)
        checkpoint = _dynet.DistributedCheckpointer(folder, trainer, **when)
    else:
        checkpoint = _dynet.Checkpointer(folder, model, trainer, **when)
    schedule = repr(trainer.schedule)
    if options.resume and checkpoint.resume() and repr(trainer.schedule) != schedule:
        raise _dynet.UsageError(
            f"--resume: the training in '{folder}' has the rates {trainer.schedule}, and the "
            f"options make {schedule}; want the same --epochs, --batch, --rate and number of "
            "sentences"
        )
    start = time.monotonic()

    def on_eval(step: Step) -> float | None:
        columns = score() if score is not None else {}
        shown = "".join(f"  {name} {value:.2f}" for name, value in columns.items())
        seconds = time.monotonic() - start
        print(f"epoch {step.epoch}  loss {step.loss:.4f}{shown}  {seconds:.0f} s", flush=True)
        return sum(columns.values()) / len(columns) if columns else None

    history = fit(
        loss,
        examples,
        trainer,
        epochs=options.epochs,
        batch=options.batch,
        seed=options.seed,
        workers=options.workers,
        on_eval=on_eval,
        larger_is_better=larger_is_better,
        checkpoint=checkpoint,
    )
    if history.best_epoch is not None:
        checkpoint.load_best()
        # Of equal scores the checkpointer takes the last, and the history the first.
        best = len(history.scores) - history.scores[::-1].index(history.best_score)
        print(f"best epoch: {best}")
