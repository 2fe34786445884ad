#!/bin/sh
# mpi4py 4.1.2: a reduction takes the bytes of an array in the order in which they lie in memory. If one rank has a
# row-major array and another rank an equal one in Fortran's order, the sum adds other elements to each other. Nothing
# is raised, although an array that steps over columns is refused.
#
# A good guess is that both are refused, or both are sent in row-major order: the sum of equal arrays of two ranks is
# twice the array.
#
# Seen with mpi4py 4.1.2, numpy 2.4.6 and Open MPI 4.1.4 of Debian 12. Ends with 1 if that changes. It needs python3 with
# venv, PyPI, and mpirun.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mpi4py==4.1.2 numpy==2.4.6
cat >"$folder/sum.py" <<'END'
import sys

import mpi4py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rows = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
mine = rows if world.rank == 0 else numpy.asfortranarray(rows)
total = numpy.empty((2, 3), numpy.float32)
world.Allreduce(mine, total)
try:
    world.Allreduce(rows[:, ::2], numpy.empty((2, 2), numpy.float32))
    refused = False
except BufferError:
    refused = True
if world.rank == 0:
    print("mpi4py", mpi4py.__version__, MPI.Get_library_version().split(",")[0])
    print(f"{rows.tolist()} of two ranks, the second in Fortran's order, have the sum {total.tolist()}")
    print("every other column is", "refused" if refused else "sent")
same = bool((total == 2 * rows).all())
sys.exit(0 if refused and not same else 1)
END
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
  mpirun -n 2 "$folder/venv/bin/python" "$folder/sum.py"
