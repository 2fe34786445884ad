#!/usr/bin/env python3
"""Trains a recurrent language model on a file of sentences and tells its perplexity, or continues a
text.

Start reading at rnnlm_model.py, the model; rnnlm_job.py reads, trains and predicts, and training.py
has the loop. The C++ twin is ../cpp/rnnlm.cc; both take the same options and read each other's
model files.
"""

from __future__ import annotations

import argparse
import sys

from options import make_parser, parse, run_job, size, whole


def parse_options(argv: list[str]) -> argparse.Namespace:
    parser = make_parser(
        "Trains an LSTM language model; sentences of an update are one batch.",
        "sentences to learn from, one a line, words between spaces",
        minibatch=16,
    )
    model = parser.add_argument_group("model")
    model.add_argument(
        "--vocabulary", type=whole(2), default=10000, help="words at most, the most frequent ones"
    )
    model.add_argument("--embedding", type=size, default=128, help="size of a word's vector")
    model.add_argument("--hidden", type=size, default=256, help="size of the LSTM's state")
    model.add_argument(
        "--sequence", action="store_true", help="use the functions of whole sequences"
    )
    return parse(parser, argv)


if __name__ == "__main__":
    run_job(parse_options(sys.argv[1:]), "rnnlm_job")
