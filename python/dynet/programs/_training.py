"""The part of a training that all programs share: epochs, the best one, going on after a stop."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import contextmanager, redirect_stdout

import _dynet

from dynet import DistributedTrainer, fit
from dynet._distributed import Carrier
from dynet._program import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator
    from typing import Any

    from dynet import Step

SUFFIX = ".safetensors"


def model_file(name: str) -> str:
    """The name with the suffix of model files."""
    return name if name.endswith(SUFFIX) else name + SUFFIX


@contextmanager
def one_of_ranks(options: argparse.Namespace) -> Iterator[None]:
    """Ranks but the first print nothing, and write to a folder that goes with the process. An error
    of one rank, such as a folder that is not there, ends the job, as the others wait for it."""
    ranks = Carrier(None)
    with tempfile.TemporaryDirectory() as own, open(os.devnull, "w") as nowhere:
        if ranks.rank != 0:
            options.output = os.path.join(own, "model")
        try:
            with redirect_stdout(sys.stdout if ranks.rank == 0 else nowhere):
                yield
        except (_dynet.Error, OSError) as error:
            ranks.abort(text_of(error))


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
