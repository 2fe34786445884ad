"""Progress on the terminal: one line that is rewritten, or now and then a line in a log."""

from __future__ import annotations

import sys
import time


def minutes(seconds: float) -> str:
    """``"1:05"``"""
    whole = int(max(seconds, 0) + 0.5)
    return f"{whole // 60}:{whole % 60:02d}"


class Stopwatch:
    """Seconds that somebody lets run and stops, as for a clock at a chess board."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0

    def start(self) -> None:
        self._since = time.perf_counter()

    def stop(self) -> None:
        self.seconds = self.running()

    def running(self) -> float:
        """Up to now; the watch is running."""
        return self.seconds + time.perf_counter() - self._since


class Progress:
    """Prints at most ten times a second (a terminal) or twenty times in all (anything else)."""

    def __init__(self, total: int, unit: str, is_quiet: bool) -> None:
        self._total = total
        self._unit = unit
        self._is_quiet = is_quiet
        self._is_terminal = sys.stdout.isatty()
        self._last_seconds = -1.0
        self._last_share = 0.0

    def show(self, done: int, seconds: float, share: float, loss: float, accuracy: float) -> None:
        if self._is_terminal:
            is_due = seconds - self._last_seconds >= 0.1
        else:
            is_due = share - self._last_share >= 0.05
        if self._is_quiet or not (is_due or done == self._total):
            return
        self._last_seconds = seconds
        self._last_share = share
        left = seconds * (1 - share) / share
        text = (
            f"{100 * share:3.0f} %  {done} of {self._total} {self._unit}  {done / seconds:.0f} a "
            f"second  loss {loss:.4f}  accuracy {100 * accuracy:.1f} %  {minutes(left)} left"
        )
        print(f"\r{text}\x1b[K" if self._is_terminal else text, end="", flush=True)
        if not self._is_terminal:
            print()

    def finish(self) -> None:
        """Ends the line, so that others may print."""
        if self._is_terminal and self._last_seconds >= 0:
            print()
