"""Requests from any thread, computed together: `serve`. The server is in _server.py."""

from __future__ import annotations

import _dynet

from ._told import Refused, told, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._server import Server
    from ._told import Whole


class OverloadError(_dynet.Error, RuntimeError):
    """A server refuses a request, because `max_queue` requests wait."""


class RequestTimeout(_dynet.Error, TimeoutError):
    """A request has not ended in its time."""


@told
def serve(
    model: Any,
    *,
    max_running: Whole = 64,
    max_queue: Whole = 1024,
    max_wait: float = 0.0,
    timeout: float | None = None,
    max_nodes: Whole = 32_000,
    max_request_nodes: Whole = 1_000_000,
) -> Server:
    """A server with a thread of its own, which computes requests together.

        def tag(model, words):  # a request: a task of `run_together`, or a plain function
            scores = yield model.scores(words)
            return best(scores)

        with dy.serve(model, max_running=32, timeout=1.0) as server:
            future = server.submit(tag, words)  # from any thread
            tags = future.result()
            tags = await server.ask(tag, words)  # in a coroutine of asyncio

    Requests join while others run: in each round one plan answers the questions of all running
    requests, and between two rounds new ones begin. `model` is any object that `copy.deepcopy`
    copies; the server has copies, which share its parameters. Requests run without dropout and
    gradients, in the server's thread.

    `max_running`: requests that run together. `max_queue`: requests that wait; more are refused by
    OverloadError. `max_wait`: seconds that the first request of an idle server waits for others.
    `timeout`: seconds from `submit` to the end of a request, which has a RequestTimeout then. Nodes
    are given back by two graphs that take turns: after `max_nodes` a graph takes no new requests,
    and is emptied when its last one ends. A request with more than `max_request_nodes` ends with a
    UsageError. An exception ends its request alone, and is the future's.

    `with` closes the server at the block's end: accepted requests are answered first. TypeError if
    the model cannot be copied, ValueError for other options.
    """
    from . import _server

    counts = []
    for name, n in (
        ("max_running", max_running),
        ("max_queue", max_queue),
        ("max_nodes", max_nodes),
        ("max_request_nodes", max_request_nodes),
    ):
        count = whole(n)
        if count < 1:
            raise _dynet.ValueError(f"serve: {name} is {count}; want at least 1")
        counts.append(count)
    running, queue, nodes, request_nodes = counts
    wait = _server.seconds("max_wait", max_wait)
    if wait is None:
        raise Refused
    options = _server.Options(
        running, queue, wait, _server.seconds("timeout", timeout), nodes, request_nodes
    )
    return _server.Server(_server.Engine(_server.copied(model), options))
