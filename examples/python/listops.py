#!/usr/bin/env python3
"""The main job: trains a tree LSTM on ListOps, or on bracketed trees, and shows what it learned.

Start reading at job.py; the model is tree_model.py, the loop training.py, the data listops_data.py.
The C++ twin is ../cpp/listops.cc; both take the same options and read each other's model files.
"""

from __future__ import annotations

import sys

from options import parse_options
from trees import TreeError


def main() -> None:
    options = parse_options(sys.argv[1:])
    # The library reads its options when it is imported, those of the command line last.
    ours = ["--dynet-seed", str(options.seed), "--dynet-devices", options.device]
    ours += ["--dynet-autobatch", str(options.autobatch)]
    sys.argv[1:1] = ours
    from job import run

    try:
        run(options)
    except TreeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
