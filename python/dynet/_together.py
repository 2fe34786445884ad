"""Tasks that ask for values in the middle of a graph, run together: `run_together`.

A task is a generator. The loop resumes each task until the task waits for a value, computes the
values of all tasks by one call of `forward`, and resumes the tasks with their values.
"""

from __future__ import annotations

import contextlib

import _dynet
from _dynet import Expression, UsageError, forward

from ._told import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any, TypeVar

    Result = TypeVar("Result")


class Task:
    """A generator, and its question: an expression or a list. `error` is the exception that ended
    it."""

    __slots__ = ("asked", "error", "generator", "is_over", "number", "result")

    def __init__(self, number: int, generator: Generator[Any, Any, Any]) -> None:
        self.number = number
        self.generator = generator
        self.asked: Expression | list[Expression] = []
        self.is_over = False
        self.result: Any = None
        self.error: Exception | None = None


class Loop:
    """Tasks in this thread's graph. Belongs to the thread; `close` ends unfinished tasks. In errors
    `call` and `kind` stand before a task's number."""

    def __init__(self, call: str = "run_together", kind: str = "task") -> None:
        self._turns = _dynet._Turns()
        self._call, self._kind = call, kind
        self.waiting: list[Task] = []
        self.failed: list[Task] = []  #: in the order in which they failed

    def add(self, task: Task) -> None:
        """Runs a new task up to its first question."""
        self.waiting.append(task)  # first: `close` has to know a task that Ctrl-C stops
        self._turns.begin()
        self._go_on(task, None, None)
        if task.is_over:
            self.waiting.pop()

    def answer(self, tasks: list[Task] | None = None) -> None:
        """Answers the questions of all tasks that wait, or of these, and lets each go on."""
        tasks = self.waiting if tasks is None else tasks
        values, errors = self._answers(tasks)
        self._turns.begin()
        try:
            for task, value in zip(tasks, values):
                self._go_on(task, value, errors.get(task.number) if errors else None)
        finally:
            self.waiting = [task for task in self.waiting if not task.is_over]

    def remove(self, task: Task) -> None:
        """Closes the generator of a task that waits."""
        self.waiting.remove(task)
        task.generator.close()

    def close(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self._turns.close)
            for task in reversed(self.waiting):
                stack.callback(task.generator.close)

    def _go_on(self, task: Task, value: Any, error: Exception | None) -> None:
        """The turn of a task. A task that may not ask is told so once, and then ended."""
        was_told = False
        while True:
            try:
                go_on = task.generator.send if error is None else task.generator.throw
                asked = go_on(value if error is None else error)
            except StopIteration as end:
                task.result = end.value
                self._end(task, None)
                return
            except Exception as e:
                self._end(task, e)
                return
            why = self._turns.misuse()
            if why is None and isinstance(asked, Expression):
                task.asked = asked
                return
            error = self._refusal(task, asked, why)
            if error is None:
                return
            if was_told:
                try:
                    task.generator.close()
                except Exception as e:
                    error = e
                self._end(task, error)
                return
            was_told = True

    def _end(self, task: Task, error: Exception | None) -> None:
        task.is_over, task.error = True, error
        if error is not None:
            self.failed.append(task)
        self._turns.begin()  # the task may have left something open

    def _refusal(self, task: Task, asked: Any, why: str | None) -> Exception | None:
        """None if the task may ask this."""
        if why is not None:
            return UsageError(f"{self._call}: {self._kind} {task.number} {why}")
        task.asked = list(asked) if isinstance(asked, (list, tuple)) else [asked]
        for e in task.asked:
            if not isinstance(e, Expression):
                from ._calls import told as text_of

                return _dynet.TypeError(
                    f"{self._call}: {self._kind} {task.number} yielded {text_of(e)}; want an "
                    "Expression, or a list or tuple of expressions"
                )
        return None

    def _answers(self, tasks: list[Task]) -> tuple[list[Any], dict[int, Exception]]:
        """Values for tasks; exceptions by number of the task. If the questions cannot be
        computed together, each is computed alone, so that the exception meets the task whose
        question fails."""
        together: list[Expression] = []
        for task in tasks:
            if isinstance(task.asked, list):
                together += task.asked
            else:
                together.append(task.asked)
        try:
            forward(together)
            return [self._value(task) for task in tasks], {}
        except Exception as e:
            values, errors = [], {}
            for task in tasks:
                try:
                    if isinstance(task.asked, list):
                        forward(task.asked)
                    values.append(self._value(task))
                except Exception as own:
                    values.append(None)
                    errors[task.number] = own
            if not errors and not isinstance(e, MemoryError):
                raise  # no question's: a handler of a signal raised it
            return values, errors

    @staticmethod
    def _value(task: Task) -> Any:
        asked = task.asked
        return [e.value() for e in asked] if isinstance(asked, list) else asked.value()


def new_task(number: int, generator: Any) -> Task:
    """A task of a generator that has not begun. TypeError, UsageError."""
    import inspect

    if not inspect.isgenerator(generator):
        from ._calls import told as text_of

        raise _dynet.TypeError(
            f"run_together: task {number} is {text_of(generator)}; want a generator: a call of a "
            "function with `yield`"
        )
    if inspect.getgeneratorstate(generator) != inspect.GEN_CREATED:
        raise UsageError(
            f"run_together: task {number} has run before; want a generator that has not begun"
        )
    return Task(number, generator)


@told
def run_together(
    tasks: Iterable[Generator[Any, Any, Result]], *, return_exceptions: bool = False
) -> list[Result]:
    """Runs generators that ask for values; the values are computed together. Gives the results.

    A task asks with `yield`, and gets the value as `value()` gives it:

        def decide(words):
            state = start(words)
            while not state.is_final():
                scores = yield state.scores()  # as state.scores().value()
                state = state.after(scores.index(max(scores)))
            return state

        states = dy.run_together(decide(words) for words in sentences)

    All tasks run until each waits for a value. Then all these values are computed together, as
    `forward` computes a list, and all tasks go on. A task may ask for a list or tuple of
    expressions, and gets a list of values. Another form of a number, such as `npvalue()`, costs no
    computation after the question. The results are the values that the generators return, in the
    order of the tasks. Losses of all tasks are in one graph, for one `backward` afterwards.

    An exception ends its task alone; the others go on to their ends. Then the first exception is
    raised, with the number of its task as a note (Python 3.11). With `return_exceptions` nothing
    is raised, and the list has the exception in the task's place. An exception of a computation is
    raised at the `yield` that asked. Ctrl-C and other exceptions that are no `Exception` close all
    tasks.

    Tasks may use `yield from`. A `run_together` within a task comes to its end before the task goes
    on. Until all tasks are at their ends `renew_cg` is an error, and so is a question within
    `with evaluating()`, `with no_grad()` or `with ComputationGraph()`, and after `cg_checkpoint()`,
    if that began in the task: it would hold for the other tasks, too. TypeError for a `yield` of
    something else; UsageError for a generator that has begun before.
    """
    loop = Loop()
    try:
        all_tasks = []
        seen = set()
        for number, generator in enumerate(tasks):
            if id(generator) in seen:
                raise UsageError(f"run_together: task {number} is in the list twice")
            seen.add(id(generator))
            all_tasks.append(new_task(number, generator))
        for task in all_tasks:
            loop.add(task)
        while loop.waiting:
            loop.answer()
    finally:
        loop.close()
    if loop.failed and not return_exceptions:
        first = loop.failed[0]
        error = first.error
        assert error is not None
        if hasattr(error, "add_note"):
            error.add_note(f"in task {first.number} of run_together")
        try:
            raise error
        finally:
            del error, first, loop, all_tasks, task  # their frames are in the traceback
    results: list[Any] = [t.result if t.error is None else t.error for t in all_tasks]
    return results
