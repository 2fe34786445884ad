"""Functions that run in threads at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable


def together(*work: Callable[[], None]) -> None:
    """Runs all functions at once, with a thread each. Raises the exception of one of them."""
    start = threading.Barrier(len(work))
    failures: list[BaseException] = []

    def run(one: Callable[[], None]) -> None:
        try:
            start.wait(10)
            one()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]
