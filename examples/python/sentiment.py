#!/usr/bin/env python3
"""Trains a tree LSTM on the sentiment of parsed sentences, at each node.

Start reading at tree_model.py, the model; sentiment_job.py reads, trains and predicts, and
training.py has the loop. The C++ twin is ../cpp/sentiment.cc; both take the same options and read
each other's model files.
"""

from __future__ import annotations

import argparse
import sys

from options import make_parser, parse, run_job, size


def parse_options(argv: list[str]) -> argparse.Namespace:
    parser = make_parser(
        "Trains a tree LSTM on parsed sentences, one tree at a time.",
        "file of bracketed trees such as (3 (2 It) (4 works))",
    )
    parser.add_argument("--hidden", type=size, default=128, help="size of a node's state")
    return parse(parser, argv)


if __name__ == "__main__":
    run_job(parse_options(sys.argv[1:]), "sentiment_job")
