#!/usr/bin/env python3
"""Writes the tables beside this script: results of operations, by another library.

    python3 tests/oracle/make.py [NAME.txt ...]     needs numpy and mpmath

Each case is an operation of the list (dynet/ops/all.h) or a function of oracle_test.cc, with
arguments, attributes and payload; the result, computed by mpmath with 120 digits from the formula
here; and the gradients of sum(seed * result), by central differences with a step of 1e-20, or of
1e-20 of a small number. So nobody differentiates by hand, here or there. If the gradient is meant
to be another one, the case has it (`gradient`: a function of the argument's number, all arguments,
and the seeds). oracle_test.cc reads all tables and compares.

To add an operation: a line in a table of families/ (each module's TABLES are functions that return
cases), with a formula over numpy arrays of mpmath numbers, one example at a time; numpy's own sums,
products and shapes work on them, and `np.frompyfunc` lifts mpmath's functions. A table's format:

    case NAME [attribute=value ...]     lists are 0,2; truth values and enumerators are numbers
    indices 3 1                         the payload, or `values 2.5`
    in {4,3}x2 0.25 ...                 an argument, column-major, the examples one after the other
    absent                              an argument that is absent
    out {4,3}x2 0.5 ...                 a result
    seed 0.125 ...                      the gradient of the result above it
    grad 1 0.75 ...                     the gradient of argument 1
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main():
    sys.path.insert(0, str(HERE))
    for path in sorted(HERE.glob("families/*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        family = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(family)
        for table in family.TABLES:
            name = f"{table.__name__}.txt"
            if len(sys.argv) > 1 and name not in sys.argv[1:]:
                continue
            head = "# Written by tests/oracle/make.py. Not to be edited.\n\n"
            (HERE / name).write_text(head + "\n".join(case.text() for case in table()))
            print(name, (HERE / name).stat().st_size)


if __name__ == "__main__":
    main()
