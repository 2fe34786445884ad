"""Training on several machines: one process per rank, by mpi4py.

>>> import dynet as dy                                           # doctest: +SKIP
>>> sgd = dy.SimpleSGDTrainer(model)                             # doctest: +SKIP
>>> trainer = dy.DistributedTrainer(sgd)                         # doctest: +SKIP
>>> dy.fit(loss, data, trainer, batch=64)                        # doctest: +SKIP

``mpirun -n 2 python train.py`` runs it. Each rank has its share of every batch, an update has the
mean gradient of all ranks, and all ranks have the same parameters. docs/machines.md has examples.
"""

from __future__ import annotations

from typing import NamedTuple

import _dynet

from ._distributed import DistributedTrainer as DistributedTrainer

__all__ = ["DistributedTrainer", "Place", "place"]


class Place(NamedTuple):
    """The place of this process in its job, as launchers say it before MPI starts."""

    rank: int
    size: int
    local_rank: int  #: among the processes of this machine, such as for the choice of a GPU
    source: str  #: "torchrun", "Open MPI", "MPICH", "SLURM"; empty: started alone


def place() -> Place:
    """Reads the variables of torchrun, Open MPI, MPICH and SLURM; mpi4py is not needed.

    ValueError if one is no number, or if two launchers contradict each other.
    """
    return Place(*_dynet._place())
