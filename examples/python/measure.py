"""Time and memory used by a process."""

from __future__ import annotations

import os
import resource
import time

cpu_seconds = time.process_time


def seconds_since_start() -> float:
    """Wall time since this process was started by the system, the interpreter's start included; to
    10 ms."""
    with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
        # The program's name, the second field, may hold spaces; it ends at the last bracket. The
        # start, in ticks since the machine's, is field 22.
        fields = file.read().rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")


def peak_memory_mib() -> float:
    """The most memory that this process has held at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Stopwatch:
    """CPU seconds that somebody lets run and stops, as for a clock at a chess board."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._since = 0.0

    def start(self) -> None:
        self._since = cpu_seconds()

    def stop(self) -> None:
        self.seconds = self.running()

    def running(self) -> float:
        """Up to now; the watch is running."""
        return self.seconds + cpu_seconds() - self._since
