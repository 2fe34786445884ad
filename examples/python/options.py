"""The command line of the example."""

from __future__ import annotations

import argparse
import os


def parse_options(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Trains a tree LSTM, one tree at a time, on lists such as [MAX 3 [MIN 4 5] 1] "
        "that it generates itself, or with --train on bracketed trees such as (3 (2 It) (4 works))."
    )
    data = parser.add_argument_group("data")
    data.add_argument("--train", help="bracketed trees to learn from; without it ListOps")
    data.add_argument("--dev", help="bracketed trees to test on")
    data.add_argument("--seed", type=int, default=1, help="of the data and of the library")
    data.add_argument("--test-trees", type=int, default=2000, help="held-out trees of ListOps")
    training = parser.add_argument_group("training")
    training.add_argument("--hidden", type=int, default=128, help="size of a node's state")
    training.add_argument(
        "--updates", type=int, default=0, help="number of updates (ListOps 42000)"
    )
    training.add_argument("--epochs", type=int, default=3, help="passes over --train")
    training.add_argument("--minibatch", type=int, default=1, help="trees an update")
    training.add_argument(
        "--max-seconds", type=float, default=110, help="end ListOps training after this time"
    )
    training.add_argument("--trainer", choices=["adam", "sgd"], default="adam")
    training.add_argument("--learning-rate", type=float, default=0, help="(adam 0.001, sgd 0.02)")
    training.add_argument(
        "--deterministic-init",
        action="store_true",
        help="initial values by a formula that is the same in every language",
    )
    training.add_argument("--init-file", help="initial values from a model file")
    library = parser.add_argument_group("library")
    library.add_argument("--autobatch", type=int, choices=[0, 1], default=1)
    library.add_argument("--device", choices=["CPU", "CPU:double"], default="CPU")
    output = parser.add_argument_group("output")
    output.add_argument("--out", default="listops-output", help="folder for what is written")
    output.add_argument("--model", help="model file (OUT/model.txt)")
    output.add_argument("--curve", help="learning curve (OUT/curve.csv)")
    output.add_argument("--dot", help="graph of one tree (OUT/graph.dot)")
    output.add_argument(
        "--predict", help="evaluate this with the model file, after training if there is none"
    )
    output.add_argument("--print-losses", type=int, default=0, help="print the first N losses")
    output.add_argument("--quiet", action="store_true", help="print the final table only")
    options, others = parser.parse_known_args(argv)
    if others and not others[0].startswith("--dynet"):  # those are the library's
        parser.error(f"unrecognized arguments: {' '.join(others)}")
    if options.dev and not options.train:
        parser.error("--dev needs --train")
    options.model = options.model or os.path.join(options.out, "model.txt")
    options.curve = options.curve or os.path.join(options.out, "curve.csv")
    options.dot = options.dot or os.path.join(options.out, "graph.dot")
    if options.learning_rate <= 0:
        options.learning_rate = 0.001 if options.trainer == "adam" else 0.02
    if not options.updates and not options.train:
        options.updates = 42000
    return options
