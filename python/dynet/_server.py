"""The server of `serve`, with its thread. (A module of its own, because it imports more than all
other parts of the package.)

The server's thread has the loop of `run_together` with an open door: between two rounds new
requests begin. Nodes of finished requests are given back by two graphs that take turns, as in C++
(src/api/serve.cc). Start reading at `Engine.run`.
"""

from __future__ import annotations

import collections
import os
import threading
import time
import weakref
from concurrent.futures import Future, InvalidStateError
from types import CoroutineType, GeneratorType
from typing import Any, NamedTuple

import _dynet
from _dynet import ComputationGraph, UsageError, evaluating, no_grad

from ._pickling import sharing_copy
from ._serve import OverloadError, RequestTimeout
from ._together import Loop, Task

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator


class ServerCounts(NamedTuple):
    """The work of a server so far."""

    accepted: int
    refused: int  #: for overload
    finished: int  #: with a result
    failed: int  #: with an exception of their own
    timed_out: int
    cancelled: int  #: or ended by `stop`
    rounds: int  #: in each, every running request gets its answer
    plans: int  #: one for a round, two while a graph waits for its last requests
    graphs: int  #: begun anew, with the model's nodes alone
    waiting: int
    running: int
    most_running: int
    most_nodes: int  #: of both graphs together


class Options(NamedTuple):
    max_running: int
    max_queue: int
    max_wait: float
    timeout: float | None
    max_nodes: int
    max_request_nodes: int


#: Seconds that the end of Python waits for a request's turn.
_LAST_SECONDS = 5.0

#: A question of so many times the work of the lightest one waits for so many rounds.
_MUCH, _PATIENCE = 8, 8


class _Escaped(Exception):
    """Carries an exception that is no `Exception`, such as SystemExit, out of a request."""


class _Request:
    """`deadline`: by time.monotonic(), infinite without a bound."""

    __slots__ = (
        *("arguments", "begin", "deadline", "function", "future", "nodes", "timeout"),
        *("waited", "work"),
    )

    def __init__(self, function: Any, arguments: tuple[Any, ...], timeout: float | None) -> None:
        self.function, self.arguments, self.timeout = function, arguments, timeout
        self.future: Future[Any] = Future()
        self.begin = time.monotonic()
        self.deadline = float("inf") if timeout is None else self.begin + timeout
        self.nodes = self.work = 0  #: that it has made, and made since its last question
        self.waited = 0  #: rounds without an answer

    def task(self, model: Any) -> Generator[Any, Any, Any]:
        """The function's result; its questions, if it is a generator."""
        try:
            result = self.function(model, *self.arguments)
            if isinstance(result, GeneratorType):
                result = yield from result
            elif isinstance(result, CoroutineType):
                result.close()
                raise _dynet.TypeError(
                    "serve: the request is a coroutine; want a generator function, or a function "
                    "that returns the result"
                )
            return result
        except (Exception, GeneratorExit):
            raise
        except BaseException as e:
            raise _Escaped from e


class _Graph:
    """One of the two graphs, with the requests that run in it."""

    def __init__(self) -> None:
        self.graph = ComputationGraph()
        self.loop: Loop | None = None
        self.model: Any = None  #: a copy, which stays when the graph is emptied
        self.copy_number = -1
        self.model_number = -1  #: of the model in the graph
        self.requests: dict[Task, _Request] = {}

    def begin_anew(self, model: Any, model_number: int) -> None:
        self.give_back(model_number != self.copy_number)
        if self.copy_number < 0:
            self.model, self.copy_number = sharing_copy(model), model_number
        with self.graph:
            self.loop = Loop("serve", "request")
        self.model_number = model_number

    def give_back(self, model_too: bool) -> None:
        """Removes all nodes of a graph without requests; with `model_too` the model as well."""
        if self.loop is not None:
            self.loop.close()
        self.loop, self.model_number = None, -1
        if model_too:
            self.model, self.copy_number = None, -1
        self.graph.renew()


class Engine:
    """The server's thread, and the queue. `lock` is for the members up to `counts`."""

    def __init__(self, model: Any, options: Options) -> None:
        self.options = options
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.wakes = threading.Condition(self.lock)
        self.queue: collections.deque[_Request] = collections.deque()
        self.model, self.model_number = model, 0
        self.is_open, self.drains = True, True
        self.accepted = self.refused = 0

        self.counts = dict.fromkeys(
            ("finished", "failed", "timed_out", "cancelled", "rounds", "plans", "graphs"), 0
        )
        self.most_running = self.most_nodes = 0
        self.begun = 0
        self.graphs: list[_Graph] = []
        self.current = 0  #: the graph in which the last request began
        self.is_idle = True  #: without a request since it last slept, or from the beginning
        self.newest = 0  #: number of the model
        # A daemon, so that Python can end; then `close` ends the thread first.
        self.thread = threading.Thread(target=self.run, name="dynet.serve", daemon=True)

    # ---- for all threads

    def check(self) -> None:
        if os.getpid() != self.process:
            raise UsageError(
                "serve: this process is a child of the process of the server; want a server of "
                "its own"
            )

    def submit(self, request: _Request) -> None:
        self.check()
        with self.lock:
            if not self.is_open:
                raise UsageError("serve: submit after the server was closed")
            if len(self.queue) >= self.options.max_queue:
                self.refused += 1
                raise OverloadError(
                    f"serve: {len(self.queue)} requests wait, which is max_queue; want a later "
                    "request"
                )
            self.queue.append(request)
            self.accepted += 1
            self.wakes.notify()

    def replace(self, model: Any) -> None:
        self.check()
        with self.lock:
            self.model = model
            self.model_number += 1
            self.wakes.notify()

    def close(self, drains: bool, patience: float | None = None) -> None:
        """Ends the thread, and waits for the end, at most `patience` seconds if given. From a
        request: ends it after its turn."""
        if os.getpid() != self.process:
            return
        with self.lock:
            self.is_open = False
            self.drains = self.drains and drains
            self.wakes.notify()
        if threading.current_thread() is not self.thread:
            self.thread.join(patience)

    # ---- the server's thread

    def run(self) -> None:
        self.graphs = [_Graph(), _Graph()]
        with evaluating(), no_grad():
            while self.wait_for_work():
                try:
                    self.end_late_requests()
                    self.begin_requests()
                    self.answer()
                    self.give_back()
                except Exception as e:  # no memory
                    self.end_running(lambda e=e: e)  # type: ignore[misc]
            self.end_all()

    def running(self) -> int:
        return sum(len(graph.requests) for graph in self.graphs)

    def wait_for_work(self) -> bool:
        """False when the thread has to end."""
        options = self.options
        with self.lock:
            if not self.queue and not self.running():
                self.is_idle = True
                self.wakes.wait_for(
                    lambda: self.queue or not self.is_open or self.model_number != self.newest
                )
            while (
                self.is_idle
                and options.max_wait
                and self.is_open
                and 0 < len(self.queue) < options.max_running
                and self.wakes.wait(self.rest_of_wait())
            ):
                pass
            self.is_idle = False
            self.newest = self.model_number
            return self.is_open or (self.drains and bool(self.queue or self.running()))

    def rest_of_wait(self) -> float:
        """Seconds for which an idle server goes on to wait for more requests."""
        end = min(self.queue[0].begin + self.options.max_wait, *(r.deadline for r in self.queue))
        return min(end - time.monotonic(), threading.TIMEOUT_MAX)

    @staticmethod
    def reason_to_end(request: _Request, now: float) -> Exception | None:
        """Not for a cancelled request, whose future has its exception."""
        if request.deadline <= now:
            return RequestTimeout(
                f"serve: the request has not ended in its time of {request.timeout:g} s"
            )
        return None

    def end_late_requests(self) -> None:
        now = time.monotonic()
        for graph in self.graphs:
            for task, request in list(graph.requests.items()):
                if request.future.cancelled() or request.deadline <= now:
                    self.end_running_one(graph, task, self.reason_to_end(request, now))
        with self.lock:
            late = [r for r in self.queue if r.future.cancelled() or r.deadline <= now]
            for request in late:
                self.queue.remove(request)
        for request in late:
            self.end(request, self.reason_to_end(request, now))

    def begin_requests(self) -> None:
        while self.running() < self.options.max_running:
            with self.lock:
                graph = self.open_graph() if self.queue else None
                if graph is None:
                    return
                request = self.queue.popleft()
                model, self.newest = self.model, self.model_number
            late = self.reason_to_end(request, time.monotonic())
            if late is not None or request.future.cancelled():
                self.end(request, late)
                continue
            is_used = not graph.requests and len(graph.graph) * 8 >= self.options.max_nodes
            if graph.model_number != self.newest or is_used:
                try:
                    graph.begin_anew(model, self.newest)
                except Exception as e:
                    self.end(request, e)
                    continue
                self.counts["graphs"] += 1
            self.current = self.graphs.index(graph)
            self.begin(graph, request)

    def open_graph(self) -> _Graph | None:
        """The graph for the next request; None if both are full. The other graph is taken only
        when the current one is full, so that one plan is enough for most rounds."""
        for graph in (self.graphs[self.current], self.graphs[1 - self.current]):
            is_fit = (
                graph.model_number == self.model_number
                and len(graph.graph) < self.options.max_nodes
            )
            if is_fit or not graph.requests:
                return graph
        return None

    def begin(self, graph: _Graph, request: _Request) -> None:
        """Runs a request to its first question."""
        task = Task(self.begun, self.counted(graph, request, self.begun))
        self.begun += 1
        graph.requests[task] = request
        self.most_running = max(self.most_running, self.running())
        assert graph.loop is not None
        with graph.graph:
            graph.loop.add(task)
        self.settle(graph, [task])

    def counted(self, graph: _Graph, request: _Request, number: int) -> Generator[Any, Any, Any]:
        """The request's task, with a bound for its nodes."""
        task, nodes = request.task(graph.model), len(graph.graph)
        go_on: Any = task.__next__
        arguments: tuple[Any, ...] = ()
        try:
            while True:
                result, is_over = None, False
                try:
                    asked = go_on(*arguments)
                except StopIteration as end:
                    result, is_over = end.value, True
                request.work = len(graph.graph) - nodes
                request.nodes += request.work
                if request.nodes > self.options.max_request_nodes:
                    raise UsageError(
                        f"serve: request {number} has made {request.nodes} nodes; want at most "
                        f"{self.options.max_request_nodes} (max_request_nodes)"
                    )
                if is_over:
                    return result
                try:
                    go_on, arguments = task.send, ((yield asked),)
                except Exception as e:
                    go_on, arguments = task.throw, (e,)
                nodes = len(graph.graph)
        finally:
            task.close()

    def answer(self) -> None:
        plans = 0
        for graph in self.graphs:
            if graph.loop is None or not graph.loop.waiting:
                continue
            asking = self.chosen(graph)
            plans += 1
            with graph.graph:
                graph.loop.answer(asking)
            self.counts["plans"] += 1
            self.counts["rounds"] += plans == 1
            self.settle(graph, asking)
        self.most_nodes = max(self.most_nodes, sum(len(graph.graph) for graph in self.graphs))

    @staticmethod
    def chosen(graph: _Graph) -> list[Task]:
        """The tasks of this round. A question of much more work than the lightest one waits, at
        most `_PATIENCE` rounds, and then all are answered: see src/api/task_loop.cc."""
        assert graph.loop is not None
        waiting, requests = graph.loop.waiting, graph.requests
        most = _MUCH * max(1, min(requests[task].work for task in waiting))
        late = {task for task in waiting if requests[task].work > most}
        if any(requests[task].waited >= _PATIENCE for task in late):
            late.clear()
        now = [task for task in waiting if task not in late]
        for task in late:
            requests[task].waited += 1
        for task in now:
            requests[task].waited = 0
        return now

    def settle(self, graph: _Graph, tasks: list[Task]) -> None:
        """Answers for the requests that have ended."""
        for task in tasks:
            if not task.is_over:
                continue
            request = graph.requests.pop(task)
            if task.error is None:
                self.set(request, "finished", request.future.set_result, task.result)
            else:
                escaped = isinstance(task.error, _Escaped)
                self.end(request, task.error.__cause__ if escaped else task.error)
        assert graph.loop is not None
        graph.loop.failed.clear()

    def end_running_one(
        self, graph: _Graph, task: Task, error: BaseException | None, kind: str = "failed"
    ) -> None:
        request = graph.requests.pop(task)
        assert graph.loop is not None
        try:
            with graph.graph:
                graph.loop.remove(task)
        except Exception as e:  # of the request, while it closes
            error = error or e
        self.end(request, error, kind)

    def end(self, request: _Request, error: BaseException | None, kind: str = "failed") -> None:
        """None: the request was cancelled."""
        if isinstance(error, RequestTimeout):
            kind = "timed_out"
        self.set(request, kind, request.future.set_exception, error)

    def set(self, request: _Request, kind: str, setter: Callable[[Any], None], value: Any) -> None:
        """Counts first: who reads the answer finds it counted."""
        future = request.future
        self.counts["cancelled" if future.cancelled() else kind] += 1
        try:
            setter(value)
        except InvalidStateError:  # cancelled, perhaps just now
            future.set_running_or_notify_cancel()

    def give_back(self) -> None:
        """Nodes and models that no request will see."""
        for i, graph in enumerate(self.graphs):
            is_old = graph.model_number != self.newest
            if not graph.requests and graph.loop is not None and (i != self.current or is_old):
                graph.give_back(is_old)

    def end_running(self, reason: Callable[[], BaseException], kind: str = "failed") -> None:
        for graph in self.graphs:
            for task in list(graph.requests):
                self.end_running_one(graph, task, reason(), kind)

    def end_all(self) -> None:
        def reason() -> UsageError:
            return UsageError("serve: the server stopped before the request was at its end")

        with self.lock:
            waiting = list(self.queue)
            self.queue.clear()
        self.end_running(reason, "cancelled")
        for request in waiting:
            self.end(request, reason(), "cancelled")
        for graph in self.graphs:
            graph.give_back(True)


def seconds(name: str, x: float | None) -> float | None:
    """A time, or None for no bound."""
    if x is None:
        return None
    if not x >= 0.0:
        raise _dynet.ValueError(f"serve: {name} is {x:g} s; want 0 or more")
    return float(x)


def copied(model: Any) -> Any:
    try:
        return sharing_copy(model)
    except Exception as e:
        raise _dynet.TypeError(
            f"serve: the model, a {type(model).__name__}, cannot be copied ({e}); want an object "
            "that copy.deepcopy copies, as there is a copy for each graph"
        ) from e


class Server:
    """A server of requests: see `serve`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        engine.thread.start()
        # With the last use of the server, or at the end of Python.
        self._end = weakref.finalize(self, engine.close, False, _LAST_SECONDS)

    def submit(
        self, function: Callable[..., Any], *arguments: Any, timeout: float | None = None
    ) -> Future[Any]:
        """Begins `function(model, *arguments)` when there is room. Gives the future result.

        From any thread. `timeout`: seconds, in place of the server's. The future's `cancel()` ends
        the request before its next turn. OverloadError if `max_queue` requests wait; UsageError
        after `close`.
        """
        if not callable(function):
            from ._calls import told as text_of

            raise _dynet.TypeError(
                f"serve: the request is {text_of(function)}; want a function, whose first argument "
                "is the model"
            )
        engine = self._engine
        bound = engine.options.timeout if timeout is None else seconds("timeout", timeout)
        request = _Request(function, arguments, bound)
        engine.submit(request)
        return request.future

    async def ask(
        self, function: Callable[..., Any], *arguments: Any, timeout: float | None = None
    ) -> Any:
        """`submit` for asyncio: ``tags = await server.ask(tag, words)``. If the waiting task is
        cancelled, so is the request."""
        import asyncio

        return await asyncio.wrap_future(self.submit(function, *arguments, timeout=timeout))

    def replace(self, model: Any) -> None:
        """Requests that have not begun get this model. Requests that have begun with the old model
        end with it. TypeError if the model cannot be copied; nothing is replaced then."""
        self._engine.replace(copied(model))

    def close(self) -> None:
        """Takes no more requests, runs those that were accepted to their ends, and ends the
        thread. UsageError from a request of the server."""
        self._close(True)

    def stop(self) -> None:
        """Takes no more requests, ends the running and the waiting ones with a UsageError, and
        ends the thread."""
        self._close(False)

    def _close(self, drains: bool) -> None:
        self._engine.check()
        if threading.current_thread() is self._engine.thread:
            raise UsageError("serve: a request closes its own server; want another thread")
        self._engine.close(drains)

    def counts(self) -> ServerCounts:
        """The work so far."""
        engine = self._engine
        with engine.lock:
            counts, waiting = dict(engine.counts), len(engine.queue)
            ended = sum(counts[k] for k in ("finished", "failed", "timed_out", "cancelled"))
            return ServerCounts(
                accepted=engine.accepted,
                refused=engine.refused,
                waiting=waiting,
                running=engine.accepted - waiting - ended,
                most_running=engine.most_running,
                most_nodes=engine.most_nodes,
                **counts,
            )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        """`close`; after an exception, such as Ctrl-C, `stop`. Nothing in a child process."""
        self._engine.close(kind is None)
