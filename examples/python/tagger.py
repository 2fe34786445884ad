#!/usr/bin/env python3
"""Trains a tagger on a file of sentences, or tags a sentence.

Start reading at tagger_model.py, the model; tagger_job.py reads, trains and tags, and training.py
has the loop. The C++ twin is ../cpp/tagger.cc; both take the same options and read each other's
model files.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from options import count, make_parser, parse, run_job, size, whole


def parse_options(argv: list[str]) -> argparse.Namespace:
    parser = make_parser(
        "Trains a tagger: two LSTMs, one sentence at a time.",
        "sentences to learn from, one a line, word|TAG between spaces",
    )
    model = parser.add_argument_group("model")

    def add(name: str, default: int, text: str, type: Callable[[str], int] = size) -> None:
        model.add_argument(name, type=type, default=default, help=text)

    add("--embedding", 128, "size of a word's vector")
    add("--hidden", 50, "size of each LSTM's state")
    add("--mlp", 32, "size of the layer before the tags")
    add("--known-from", 5, "words seen less often are unknown", count)
    add("--rows", 0, "rows of the table of words, if more than words", whole(0, 10**6))
    model.add_argument(
        "--characters",
        action="store_true",
        help="spell unknown words; a word's vector is then twice --character-hidden",
    )
    add("--character-embedding", 20, "size of a character's vector")
    add("--character-hidden", 64, "size of each spelling LSTM's state")
    model.add_argument(
        "--sequence", action="store_true", help="use the functions of whole sequences"
    )
    return parse(parser, argv)


if __name__ == "__main__":
    run_job(parse_options(sys.argv[1:]), "tagger_job")
