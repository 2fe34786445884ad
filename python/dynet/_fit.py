"""A training loop for programs that do not want to write one: `fit`.

The loop, without counting, checkpoints and the line of progress:

    for epoch in range(epochs):
        for examples in batches:
            renew_cg()
            loss = average([loss_fn(x) for x in examples])
            loss.backward()
            trainer.update()
            on_step(...)
        with evaluating():
            score = on_eval(...)
"""

from __future__ import annotations

import os
import sys
import time
from itertools import islice
from math import isnan

import _dynet
from _dynet import (
    Checkpointer,
    DistributedCheckpointer,
    Expression,
    ShapeError,
    Trainer,
    UsageError,
    average,
    evaluating,
    renew_cg,
)

from ._distributed import DistributedTrainer
from ._told import Refused, told, whole

# Other modules are imported at first use: `import dynet` imports this file, and must stay fast.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TextIO, TypeVar

    from _dynet import ParameterCollection

    from ._told import Whole

    Example = TypeVar("Example")


class _Fields:
    """Printed and compared like a data class."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]


class Step(_Fields):
    """The argument of `on_step` after an update, and of `on_eval` after an epoch."""

    def __init__(
        self, epoch: int, step: int, loss: float, learning_rate: float, examples: int
    ) -> None:
        self.epoch = epoch  #: from 1
        self.step = step  #: updates so far
        self.loss = loss  #: the mean of this update's examples; for `on_eval` the mean of the epoch
        self.learning_rate = learning_rate  #: of this update
        self.examples = examples  #: so many so far in this epoch


class History(_Fields):
    """The result of `fit`."""

    def __init__(
        self,
        losses: list[float] | None = None,
        scores: list[float | None] | None = None,
        best_epoch: int | None = None,
        best_score: float | None = None,
        steps: int = 0,
        stopped_early: bool = False,
    ) -> None:
        self.losses = [] if losses is None else losses  #: means, one per epoch
        #: results of `on_eval`, one per epoch; None without a score
        self.scores = [] if scores is None else scores
        self.best_epoch = best_epoch  #: the first epoch with the best score, from 1
        self.best_score = best_score
        self.steps = steps  #: updates
        self.stopped_early = stopped_early  #: because `patience` was at its end


@told
def fit(
    loss_fn: Callable[[Example], Expression],
    data: Iterable[Example],
    trainer: Trainer | DistributedTrainer,
    *,
    epochs: Whole = 1,
    batch: Whole = 1,
    shuffle: bool = True,
    seed: int = 0,
    workers: Whole = 0,
    on_gradient: Callable[[Step], object] | None = None,
    on_step: Callable[[Step], object] | None = None,
    on_eval: Callable[[Step], float | None] | None = None,
    patience: Whole | None = None,
    larger_is_better: bool = True,
    checkpoint: Checkpointer | DistributedCheckpointer | None = None,
    progress: bool = True,
) -> History:
    """Trains: `epochs` times through `data`, an update for each `batch` examples.

    `loss_fn` makes the loss of one example, a node with one element; the mean of a batch's losses
    is what is minimised. `data` is a list, an array, a table (below), or something else that has a
    length and gives an example for a number; it is shuffled in each epoch (the same way for the
    same `seed`). Any other iterable is read in its order each time.

    Rows are dicts, such as ``{"words": [...], "tags": [...]}``, if `data` is a `Dataset` of Hugging
    Face, a table of Arrow, or a data frame of pandas or Polars.

    With `workers` that many processes compute the gradients of a batch together (`WorkerPool`): the
    program asked for shared parameters before ``import dynet``, `data` has a length, and `loss_fn`
    runs in copies of this process, so that its changes of Python objects are lost. The numbers are
    the same for one to four workers.

    With a `DistributedTrainer` all ranks call this function with the same data, and each computes
    its share of every batch. Losses are of all ranks, `on_eval` runs on all, and rank 0's score
    counts. `checkpoint` is a `DistributedCheckpointer` then, and `on_gradient` sees the gradient of
    this rank's share.

    `on_gradient` is called before each update, after `backward`: ``gradient_norms(model)`` has
    something to tell there. `on_step` is called after each update. `on_eval` is called after each
    epoch, within `evaluating()`, and may return a score, such as the accuracy on other data. After
    more than `patience` epochs in a row without a better score the training ends.

    With `checkpoint` the training goes on from the newest checkpoint, with its history. It saves
    after the checkpointer's steps or seconds, and at the end of every epoch, with the score. A
    score that is NaN is never the best, and no checkpoint has it as its score. UsageError if the
    checkpointer was given another `larger_is_better`, or if another loop wrote the checkpoint; the
    model then has the checkpoint's contents.

    Progress is one line on the standard error stream, if that is a terminal. Ctrl-C ends the
    training between two updates: parameters and trainer are whole, and the gradient is empty.
    """
    epochs, batch = _whole("epochs", epochs, 0), _whole("batch", batch, 1)
    workers = _whole("workers", workers, 0)
    patience = None if patience is None else _whole("patience", patience, 0)
    callbacks = (f for f in (on_gradient, on_step, on_eval) if f is not None)
    ranks = trainer if isinstance(trainer, DistributedTrainer) else None
    if not isinstance(trainer, (Trainer, DistributedTrainer)) or not all(
        map(callable, (loss_fn, *callbacks))
    ):
        raise Refused
    if checkpoint is not None and not isinstance(
        checkpoint, (Checkpointer, DistributedCheckpointer)
    ):
        raise Refused
    wanted = Checkpointer if ranks is None else DistributedCheckpointer
    if checkpoint is not None and not isinstance(checkpoint, wanted):
        raise _dynet.TypeError(
            f"fit: checkpoint is a {type(checkpoint).__name__}, and trainer is of type "
            f"{type(trainer).__name__}; want a {wanted.__name__}"
        )
    if patience is not None and on_eval is None:
        raise _dynet.ValueError("fit: patience wants on_eval, which scores")
    _check_order(checkpoint, larger_is_better)
    data = _rows(data)
    if epochs > 1 and not _is_indexed(data) and _iterator(data) is data:
        raise _dynet.ValueError("fit: data is an iterator, which can be read once; want a list")
    if _is_indexed(data) and len(data) == 0:  # type: ignore[arg-type]
        raise _dynet.EmptyListError("fit: data is empty; want one example or more")
    if workers and not _is_indexed(data):
        raise _dynet.ValueError(
            f"fit: data is a {type(data).__name__}; want something with a length that gives an "
            "example for a number, such as a list, for workers"
        )
    line = _Line(progress and (ranks is None or ranks.rank == 0), epochs, data)
    run = _Run(trainer, checkpoint, line, on_gradient, on_step, larger_is_better)
    run.resume()
    inner: Any = trainer if ranks is None else ranks.trainer
    model = _dynet._model_of_trainer(inner)
    learner: _Learner = _Workers(loss_fn, data, model, workers) if workers else _Alone(loss_fn)
    if ranks is not None:
        learner = _Ranks(learner, ranks)
    # Workers have the examples, and are told their numbers.
    source = range(len(data)) if workers else data  # type: ignore[arg-type]
    try:
        while run.epoch < epochs and not run.is_out_of(patience):
            examples = _examples(source, shuffle, seed, run.epoch, run.done)
            summary = run.train(learner, _batches(examples, batch))
            score = None if on_eval is None else _score(on_eval, summary)
            run.end_epoch(summary.loss, score if ranks is None else _score_of_first(ranks, score))
        run.history.stopped_early = run.epoch < epochs and run.is_out_of(patience)
    except BaseException:
        renew_cg()
        model.reset_gradient()
        raise
    finally:
        run.line.end()
        learner.close()
    return run.history


class _Learner:
    """Computes gradients of batches, and lets the trainer update."""

    def learn(self, examples: list[Any]) -> float:
        """The mean of the losses, whose gradient is left in the model."""
        raise NotImplementedError

    def update(self, trainer: Trainer | DistributedTrainer) -> None:
        trainer.update()

    def close(self) -> None:
        pass


class _Alone(_Learner):
    """Computes the gradient of a batch in this process."""

    def __init__(self, loss_fn: Callable[[Any], Expression]) -> None:
        self._loss_fn = loss_fn

    def learn(self, examples: list[Any]) -> float:
        renew_cg()
        loss = average([_checked(self._loss_fn, self._loss_fn(x)) for x in examples])
        mean = loss.scalar_value()
        loss.backward()
        return mean


class _Workers(_Learner):
    """Computes the gradient of a batch in several processes, which know the examples by number."""

    def __init__(
        self,
        loss_fn: Callable[[Any], Expression],
        data: Any,
        model: ParameterCollection,
        workers: int,
    ) -> None:
        def loss_of(numbers: list[int]) -> Expression:
            return _dynet.esum([_checked(loss_fn, loss_fn(data[i])) for i in numbers])

        self._pool = _dynet.WorkerPool(model, loss_of, workers=workers)

    def learn(self, numbers: list[int]) -> float:
        return self._pool.learn(numbers) / len(numbers)

    def close(self) -> None:
        self._pool.close()


class _Ranks(_Learner):
    """Computes the gradient of this rank's share of a batch, by another learner."""

    def __init__(self, learner: _Learner, trainer: DistributedTrainer) -> None:
        self._learner, self._trainer, self._count = learner, trainer, 0

    def learn(self, examples: list[Any]) -> float:
        mine = list(self._trainer.share(examples))
        self._count = len(mine)
        total = self._learner.learn(mine) * len(mine) if mine else 0.0
        return self._trainer.sum([total])[0] / len(examples)

    def update(self, trainer: Trainer | DistributedTrainer) -> None:
        self._trainer.update(self._count)

    def close(self) -> None:
        self._learner.close()


class _Run:
    """The position of a training, also in checkpoints: `epoch`, `done`, the loss so far and
    `history`. A run that goes on in the middle of an epoch ends it as if it had not stopped.
    """

    def __init__(
        self,
        trainer: Trainer | DistributedTrainer,
        checkpoint: Checkpointer | DistributedCheckpointer | None,
        line: _Line,
        on_gradient: Callable[[Step], object] | None,
        on_step: Callable[[Step], object] | None,
        larger_is_better: bool,
    ) -> None:
        self.history = History()
        self.epoch = 0  # from 0, the one that is trained or is next
        self.done = 0  # examples of this epoch
        self.line = line
        self._total = 0.0  # the sum of the losses of these examples
        self._rate = trainer.learning_rate  # of the last update
        self._trainer, self._checkpoint = trainer, checkpoint
        self._on_gradient, self._on_step = on_gradient, on_step
        self._sign = 1 if larger_is_better else -1
        self._past = self._epochs_before()

    def resume(self) -> None:
        import json

        if self._checkpoint is None or not self._checkpoint.resume():
            return
        text = self._checkpoint.position
        try:
            self._go_to(json.loads(text))
        except (ValueError, TypeError, KeyError) as e:
            saved = self._checkpoint.checkpoints or [("", 0, None)]  # rank 0 knows the folder
            folder = os.path.dirname(saved[-1][0])
            shown = text if len(text) < 60 else text[:60] + "..."
            raise UsageError(
                f"fit: the newest checkpoint in '{folder}' has the position '{shown}', which fit "
                "did not write; want a folder of its own"
            ) from e
        self.history.steps = self._checkpoint.steps
        self._past = self._epochs_before()

    def _go_to(self, position: dict[str, Any]) -> None:
        past = position["epochs"]
        losses = list(map(float, past["losses"]))
        scores = [None if s is None else float(s) for s in past["scores"]]
        scores += [None] * (len(losses) - len(scores))  # an older version left them out
        best_epoch, best_score = past["best_epoch"], past["best_score"]
        if best_epoch is not None:
            best_epoch, best_score = int(best_epoch), float(best_score)
        self.epoch, self.done = len(losses), int(position["done"])
        self._total, self._rate = float(position["total"]), float(position["rate"])
        self.history = History(losses, scores, best_epoch, best_score)

    def _epochs_before(self) -> str:
        import json

        known = ("losses", "scores", "best_epoch", "best_score")
        return json.dumps({name: getattr(self.history, name) for name in known})

    def _position(self) -> str:
        import json

        # The report on earlier epochs may be long, and is the same after each step.
        now = json.dumps({"done": self.done, "total": self._total, "rate": self._rate})
        return f'{now[:-1]}, "epochs": {self._past}}}'

    def train(self, learner: _Learner, batches: Iterator[list[Any]]) -> Step:
        """Trains the rest of the epoch."""
        for examples in batches:
            mean = learner.learn(examples)
            self._rate = self._trainer.learning_rate
            self._total += mean * len(examples)
            self.done += len(examples)
            self.history.steps += 1
            if self._on_gradient is not None:
                self._on_gradient(self._step(mean))
            learner.update(self._trainer)
            if self._checkpoint is not None:
                self._checkpoint.step(self._position())
            if self._on_step is not None:
                self._on_step(self._step(mean))
            self.line.show(self.epoch, self.done, self._total / self.done)
        return self._step(self._total / self.done if self.done else float("nan"))

    def _step(self, loss: float) -> Step:
        return Step(self.epoch + 1, self.history.steps, loss, self._rate, self.done)

    def end_epoch(self, loss: float, score: float | None) -> None:
        given, history = score, self.history
        history.losses.append(loss)
        history.scores.append(given)
        self.epoch, self.done, self._total = self.epoch + 1, 0, 0.0
        if given is not None:
            best = history.best_score
            if isnan(given):  # neither better nor worse than others, and no checkpoint takes it
                given = None
            elif best is None or self._sign * given > self._sign * best:
                history.best_epoch, history.best_score = self.epoch, given
        if self._checkpoint is not None:
            self._past = self._epochs_before()
            self._checkpoint.save(self._position(), given)

    def is_out_of(self, patience: int | None) -> bool:
        return patience is not None and self.epoch - (self.history.best_epoch or 0) > patience


def _whole(name: str, value: Any, least: int) -> int:
    try:
        number = whole(value)
    except (TypeError, ValueError, OverflowError, Refused):
        raise _dynet.TypeError(f"fit: {name} is {value!r}; want a whole number") from None
    if number < least:
        raise _dynet.ValueError(f"fit: {name} is {number}; want {least} or more")
    return number


def _check_order(
    checkpoint: Checkpointer | DistributedCheckpointer | None, larger_is_better: bool
) -> None:
    """UsageError if the checkpointer prefers the other end of the scores."""
    if checkpoint is not None and checkpoint.larger_is_better != bool(larger_is_better):
        raise UsageError(
            f"fit: larger_is_better is {bool(larger_is_better)}, and that of the checkpointer is "
            f"{checkpoint.larger_is_better}; want the same"
        )


def _iterator(data: Any) -> Iterator[Any]:
    if not hasattr(data, "__iter__") and not hasattr(data, "__getitem__"):
        raise Refused
    return iter(data)


def _named(function: Any) -> str:
    """`loss() at train.py:12`: a function of the program, and its first line."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    for holder in (function, getattr(function, "func", None), type(function).__call__):
        code = getattr(holder, "__code__", None)
        if code is not None:
            return f"{name}() at {code.co_filename}:{code.co_firstlineno}"
    return f"{name}()"


def _checked(loss_fn: Any, loss: Any) -> Expression:
    if not isinstance(loss, Expression):
        raise _dynet.TypeError(
            f"fit: {_named(loss_fn)} returned {loss!r}; want the loss of the example, an expression"
        )
    shape, examples = loss.dim()
    if examples != 1 or any(n != 1 for n in shape):
        of = f", for {examples} examples" if examples != 1 else ""
        raise ShapeError(
            f"fit: {_named(loss_fn)} returned a loss of shape {shape}{of}; want one number"
        )
    return loss


def _score(on_eval: Any, summary: Step) -> float | None:
    with evaluating():
        score = on_eval(summary)
    try:
        return None if score is None else float(score)
    except (TypeError, ValueError):
        raise _dynet.TypeError(
            f"fit: {_named(on_eval)}, which is on_eval, returned {score!r}; want a number or None"
        ) from None


def _score_of_first(ranks: DistributedTrainer, score: float | None) -> float | None:
    """Rank 0's score on all ranks, so that all end at the same time."""
    text = ranks.from_first(repr(score).encode()).decode()
    return None if text == "None" else float(text)


def _rows(data: Any) -> Any:
    """Tables as sequences of dicts; other data as they are."""
    if isinstance(data, (list, tuple)):
        return data
    from ._rows import rows_of

    return rows_of(data)


def _is_indexed(data: object) -> bool:
    """Whether there is an example for each number below the length."""
    from collections.abc import Mapping

    has_all = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    return has_all and not isinstance(data, Mapping)


def _examples(data: Any, shuffle: bool, seed: int, epoch: int, skip: int) -> Iterator[Any]:
    """The examples of an epoch, without the first `skip`."""
    if not _is_indexed(data) or (not shuffle and hasattr(data, "__iter__")):
        return islice(_iterator(data), skip, None)
    order = list(range(len(data)))
    if shuffle:
        import random

        random.Random(f"{seed} {epoch}").shuffle(order)
    return (data[i] for i in order[skip:])


def _batches(examples: Iterator[Example], size: int) -> Iterator[list[Example]]:
    while group := list(islice(examples, min(size, sys.maxsize))):
        yield group


class _Line:
    """Progress on a terminal, ten times a second at most."""

    def __init__(self, wanted: bool, epochs: int, data: object) -> None:
        to: TextIO | None = sys.stderr  # None in a program without a console
        self._to = to if wanted and to is not None and to.isatty() else None
        self._epochs = epochs
        self._size = len(data) if hasattr(data, "__len__") else None
        self._start, self._examples, self._shown = time.monotonic(), 0, 0.0
        self._epoch, self._done = -1, 0

    def show(self, epoch: int, done: int, loss: float) -> None:
        if self._to is None:
            return
        if epoch != self._epoch:
            self._epoch, self._done = epoch, 0
        self._examples, self._done = self._examples + done - self._done, done
        now = time.monotonic()
        if now - self._shown < 0.1 and done != self._size:
            return
        self._shown = now
        share = f"{done}" if self._size is None else f"{100 * done // self._size}%"
        rate = self._examples / max(now - self._start, 1e-9)
        text = f"epoch {epoch + 1}/{self._epochs}  {share}  loss {loss:.4g}  {rate:,.0f} examples/s"
        self._to.write(f"\r{text:<70}")
        self._to.flush()

    def end(self) -> None:
        if self._to is not None and self._shown:
            self._to.write("\n")
            self._to.flush()


@told
def both(*callbacks: Callable[[Step], Any]) -> Callable[[Step], float | None]:
    """Several callbacks as one: all are called, in order, and the last result that is not None is
    returned."""

    for i, callback in enumerate(callbacks):
        if not callable(callback):
            raise _dynet.TypeError(
                f"both: callbacks[{i}] is {callback!r}; want a function of a Step"
            )

    def call(step: Step) -> float | None:
        result: float | None = None
        for callback in callbacks:
            given = callback(step)
            result = result if given is None else given
        return result

    return call
