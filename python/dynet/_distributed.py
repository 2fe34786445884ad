"""`DistributedTrainer`, over mpi4py, which is imported when a trainer is made."""

from __future__ import annotations

import atexit
import sys
import weakref

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from _dynet import Trainer


class Carrier:
    """Carries the bytes of an exchange between the processes of a communicator."""

    _LARGEST = 1 << 30  # of a message: MPI counts in 32 bits

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        if comm is not None and not isinstance(comm, MPI.Comm):
            raise _dynet.TypeError(
                f"DistributedTrainer: comm is {comm!r}; want a communicator of mpi4py, or None"
            )
        self._mpi = MPI
        self._comm = (MPI.COMM_WORLD if comm is None else comm).Dup()
        self.rank: int = self._comm.Get_rank()
        self.size: int = self._comm.Get_size()
        self._requests: dict[int, list[tuple[int, Any]]] = {}
        _end_with(self)

    def start(
        self, slot: int, out: list[tuple[int, memoryview]], into: list[tuple[int, memoryview]]
    ) -> None:
        ways = ((self._comm.Irecv, into), (self._comm.Isend, out))
        self._requests[slot] = [
            (peer, begin([data[at : at + self._LARGEST], self._mpi.BYTE], peer, slot))
            for begin, messages in ways
            for peer, data in messages
            for at in range(0, max(len(data), 1), self._LARGEST)
        ]

    def test(self, slot: int) -> bool:
        return bool(self._mpi.Request.Testall([request for _, request in self._requests[slot]]))

    def waiting_for(self, slot: int) -> int:
        return next((p for p, request in self._requests[slot] if not request.Test()), self.rank)

    def abort(self, text: str) -> None:
        """Ends all processes of the job."""
        sys.stdout.flush()
        print(f"dynet: rank {self.rank} of {self.size}: {text}", file=sys.stderr, flush=True)
        self._comm.Abort(1)


_first: list[Carrier] = []  # ends the job
_trainers: list[weakref.ref[DistributedTrainer]] = []


def _end_with(carrier: Carrier) -> None:
    """From now on an exception that ends this process ends the job, as other ranks would wait."""
    if _first:
        return
    _first.append(carrier)
    shown = sys.excepthook

    def end(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        import traceback

        shown(kind, error, trace)
        carrier.abort(traceback.format_exception_only(kind, error)[-1].strip())

    sys.excepthook = end
    atexit.register(_close_all)  # before the end of MPI, which mpi4py registered earlier


def _close_all() -> None:
    try:
        for one in _trainers:
            trainer = one()
            if trainer is not None:
                trainer.close()
    except Exception as e:
        _first[0].abort(str(e))


class DistributedTrainer(_dynet._DistributedTrainer):
    """Updates with the gradients of all ranks of an MPI job.

    `trainer` makes the updates; its settings, and names that are not here, are those of `trainer`.
    `comm` is a communicator of mpi4py (None: all processes). Made by all ranks when all parameters
    exist: all ranks get the parameters of rank 0. `gradient` is "mean" over the ranks, or "sum".
    Parameters are compared after every `check_every` updates (0: never). A rank that another one
    waits for longer than `patience` seconds counts as hanging (0: no limit).

    An exception that ends a rank ends the job, with the number of the rank.
    """

    def __init__(
        self,
        trainer: Trainer,
        comm: Any = None,
        *,
        gradient: str = "mean",
        check_every: int = 100,
        patience: float = 600.0,
    ) -> None:
        object.__setattr__(self, "trainer", trainer)  # first: __getattr__ asks for it
        super().__init__(trainer, Carrier(comm), gradient, check_every, patience)
        _trainers.append(weakref.ref(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trainer, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.trainer, name, value)

    def __repr__(self) -> str:
        return f"DistributedTrainer, rank {self.rank} of {self.size}, of {self.trainer!r}"

    def __reduce__(self) -> NoReturn:
        raise _dynet.TypeError(
            "DistributedTrainer: it cannot be copied or pickled, as it belongs to this process of "
            "a job; want its `trainer`"
        )

    def share(self, examples: Sequence[Any]) -> Sequence[Any]:
        """This rank's part of a list that all ranks have."""
        n = len(examples)
        return examples[n * self.rank // self.size : n * (self.rank + 1) // self.size]
