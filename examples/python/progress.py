"""Progress on the terminal: one line that is rewritten, or now and then a line in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


def minutes(seconds: float) -> str:
    """``"1:05"``"""
    whole = int(max(seconds, 0) + 0.5)
    return f"{whole // 60}:{whole % 60:02d}"


class Progress:
    """Prints at most ten times a second (a terminal) or twenty times in all (anything else)."""

    def __init__(self, updates: int, unit: str, loss: Callable[[], float]) -> None:
        """``loss`` is asked for when it is printed."""
        self._updates = updates
        self._unit = unit
        self._loss = loss
        self._is_terminal = sys.stdout.isatty()
        self._seconds = 0.0
        self._since = time.perf_counter()
        self._last_seconds = -1.0
        self._last_share = 0.0
        self.score = ""  # shown from when it is set on, "accuracy 51.2 %"

    def _running(self) -> float:
        return self._seconds + time.perf_counter() - self._since

    def pause(self) -> None:
        """The time until ``resume`` is not training."""
        self._seconds = self._running()

    def resume(self) -> None:
        self._since = time.perf_counter()

    def show(self, update: int, share: float, items: int) -> None:
        """``share``: how much of the training is done; it took as much of the time that ``pause``
        leaves."""
        seconds = self._running()
        if self._is_terminal:
            is_due = seconds - self._last_seconds >= 0.1
        else:
            is_due = share - self._last_share >= 0.05
        if not is_due and update < self._updates:
            return
        self._last_seconds = seconds
        self._last_share = share
        parts = [
            f"{100 * share:3.0f} %",
            f"{update} of {self._updates} updates",
            f"{items / seconds:.0f} {self._unit} a second",
            f"loss {self._loss():.4f}",
            *([self.score] if self.score else []),
            f"{minutes(seconds * (1 - share) / share)} left",
        ]
        text = "  ".join(parts)
        print(f"\r{text}\x1b[K" if self._is_terminal else f"{text}\n", end="", flush=True)

    def finish(self) -> None:
        """Ends the line, so that others may print."""
        if self._is_terminal and self._last_seconds >= 0:
            print()
