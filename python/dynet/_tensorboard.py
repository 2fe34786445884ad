"""Events for TensorBoard, without TensorFlow: scalars are all that a training curve needs.

An event file is a list of records: a length, its checksum, the bytes of a protocol buffer `Event`,
their checksum (tensorflow/core/lib/io/record_writer.h describes it). Checksums are CRC-32C, masked.
"""

from __future__ import annotations

import os
import struct
import time

import _dynet

from ._told import told, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

    from ._fit import Step
    from ._told import Whole


class TensorBoard:
    """A callback for `fit`: `on_step=TensorBoard("runs/first")` writes loss and learning rate.

    `write(tag, number, step)` adds other curves. `every`: the number of steps from one point to the
    next. ``tensorboard --logdir runs`` shows them.

    A training that goes on from a checkpoint repeats the steps that came after it. `first_step` is
    the step at which the training goes on: TensorBoard hides the records of earlier files from that
    step on. Without `first_step`, the first step that `fit` reports counts, unless it is step 1.
    """

    @told
    def __init__(
        self, folder: str | os.PathLike[str], every: Whole = 1, first_step: Whole | None = None
    ) -> None:
        folder, every = os.fspath(folder), whole(every)
        first_step = None if first_step is None else whole(first_step)
        if every < 1:
            raise _dynet.ValueError(f"TensorBoard: every is {every}; want 1 or more")
        if first_step is not None and first_step < 0:
            raise _dynet.ValueError(f"TensorBoard: first_step is {first_step}; want 0 or more")
        import socket  # late, like all that takes long to import

        os.makedirs(folder, exist_ok=True)
        stamp = f"{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self.path = os.path.join(folder, f"events.out.tfevents.{stamp}")
        self._file: BinaryIO = open(self.path, "xb")  # noqa: SIM115
        self._every = every
        self._record(_double(1, time.time()) + _bytes(3, b"brain.Event:2"))
        self._goes_on = first_step is not None
        if first_step is not None:
            self._go_on_with(first_step)

    def _go_on_with(self, step: int) -> None:
        """Marks the start of a session: TensorBoard drops its records of this step and later."""
        self._record(_double(1, time.time()) + _count(2, step) + _bytes(7, _count(1, 1)))

    def __call__(self, step: Step) -> None:
        if not self._goes_on and step.step > 1:
            self._go_on_with(step.step)
        self._goes_on = True
        if step.step % self._every == 0:
            self.write("loss", step.loss, step.step)
            self.write("learning_rate", step.learning_rate, step.step)

    @told
    def write(self, tag: str, number: float, step: int) -> None:
        """A point of the curve `tag`."""
        value = _bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", number)
        self._record(_double(1, time.time()) + _count(2, step) + _bytes(5, _bytes(1, value)))

    def close(self) -> None:
        """Ends the file. Everything written so far is in the file without this call, too."""
        self._file.close()

    def __repr__(self) -> str:
        return f"TensorBoard({self.path!r}, every={self._every})"

    def _record(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))
        self._file.flush()


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def _count(field: int, n: int) -> bytes:
    return bytes([field << 3]) + _varint(n)


def _double(field: int, x: float) -> bytes:
    return bytes([field << 3 | 1]) + struct.pack("<d", x)


def _bytes(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(content)) + content


def _table() -> list[int]:
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE: list[int] = []


def crc32c(content: bytes) -> int:
    """The checksum of Castagnoli's polynomial."""
    if not _TABLE:
        _TABLE.extend(_table())
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def _checksum(content: bytes) -> bytes:
    crc = crc32c(content)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
