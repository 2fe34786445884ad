#!/usr/bin/env python3
"""The demo: trains a tree LSTM on random lists, and shows the values that it gives to other lists.

Start reading at tree_model.py, the model; listops_job.py makes data, trains and predicts, and
training.py has the loop. The C++ twin is ../cpp/listops.cc; both take the same options and read
each other's model files.
"""

from __future__ import annotations

import argparse
import sys

from options import make_parser, parse, run_job, size, whole


def parse_options(argv: list[str]) -> argparse.Namespace:
    parser = make_parser(
        "Trains a tree LSTM, one tree at a time, on lists such as [MAX 3 [MIN 4 5] 1] that it "
        "generates itself.",
        "",
    )
    parser.set_defaults(out="listops-output")
    parser.add_argument("--test-trees", type=whole(4, 100000), default=2000, help="held-out lists")
    parser.add_argument("--hidden", type=size, default=128, help="size of a node's state")
    options = parse(parser, argv, generates_data=True)
    options.updates = options.updates or 42000
    options.test_every = options.test_every or 1000
    options.max_seconds = options.max_seconds or 110
    return options


if __name__ == "__main__":
    run_job(parse_options(sys.argv[1:]), "listops_job")
