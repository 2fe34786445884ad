#!/usr/bin/env python3
"""Predicts the efficiency of training on 1 to 1,024 ranks: bench/machines.py MEASURED [PICTURE.png]

MEASURED has the lines of dynet_rank_speed, for one rank and for more, with as many sentences per
rank. Efficiency is the time of an update of one rank alone, divided by the time of an update of N
ranks with N times the sentences. The time of an update is modelled as

    work + 4 * latency + messages * overhead + bytes / bandwidth + bytes to add / speed of adding

with the bytes and messages of docs/machines.md. Prints tables; draws a picture with matplotlib.
"""

from __future__ import annotations

import re
import sys
from typing import NamedTuple


class Network(NamedTuple):
    latency: float  # seconds, of a round
    overhead: float  # seconds, of a message
    bandwidth: float  # bytes a second, each way


class Model(NamedTuple):
    dense: float  # bytes of dense gradients
    row: int  # bytes of a row
    rows: int  # of the table
    draws: float  # words of a sentence that are looked up
    used: int  # rows that words are drawn from


# Ethernet with TCP, and InfiniBand or RoCE with remote memory: bandwidths are nine tenths of the
# lines', latencies and overheads are those of microbenchmarks that vendors and MPI libraries print.
NETWORKS = {
    "10 Gbit": Network(25e-6, 4e-6, 1.1e9),
    "100 Gbit": Network(3e-6, 0.5e-6, 11e9),
}
ADDING = 1.5e9  # bytes of summands a second, as measured here
PIECE = 1 << 20  # bytes of a rank's part in a message
FREQUENT = 300  # words that are half of all words


def lstm(inputs: int, size: int) -> int:
    return 4 * size * (inputs + size + 1)


MODELS = {
    "tagger": Model(4 * (2 * lstm(128, 50) + 32 * 100 + 9 * 32), 512, 69500, 25, 69500),
    "characters": Model(
        4 * (2 * lstm(128, 50) + 2 * lstm(20, 64) + 32 * 100 + 9 * 32), 512, 69500, 12.5, FREQUENT
    ),
    "trees": Model(4 * (5 * 128 + 12 * 128 * 128), 512, 19500, 21, 19500),
    "rnnlm": Model(4 * (lstm(128, 256) + 10000 * 257), 512, 10000, 20, 10000),
}
LINE = re.compile(r"(\w+) (\d+) sentences (\d+) ranks: ([\d.]+) us a sentence, (\d+) bytes")


def touched(model: Model, words: float) -> float:
    """The expected number of different words."""
    frequent = FREQUENT * (1 - (1 - 0.5 / FREQUENT - 0.5 / model.used) ** words)
    others = model.used - FREQUENT
    return frequent + others * (1 - (1 - 0.5 / model.used) ** words)


def sent(model: Model, ranks: int, sentences: int, is_sparse: bool = True) -> tuple[float, float]:
    """Bytes and messages that a rank sends in an update."""
    if ranks == 1:
        return 0.0, 0.0
    share = (ranks - 1) / ranks
    mine = touched(model, model.draws * sentences)
    union = touched(model, model.draws * sentences * ranks)
    moved = 2 * model.dense * share + (ranks - 1) * 56
    if is_sparse:
        moved += (ranks - 1) * min(4 * mine, model.rows / 8) + model.row * (mine + union) * share
    else:
        moved += 2 * model.row * model.rows * share
    pieces = max(1.0, model.dense / ranks / PIECE) + 1
    return moved, (ranks - 1) * (2 + 2 * pieces)


def efficiency(
    model: Model, work: float, network: Network, ranks: int, sentences: int, is_sparse: bool = True
) -> float:
    moved, messages = sent(model, ranks, sentences, is_sparse)
    if ranks == 1:
        return 1.0
    exchange = 4 * network.latency + messages * network.overhead + moved / network.bandwidth
    exchange += (moved / 2 + model.dense / ranks) / ADDING
    return work / (work + exchange)


def main() -> None:
    measured: dict[str, dict[int, tuple[int, float, float]]] = {}
    with open(sys.argv[1], encoding="utf-8") as file:
        lines = file.readlines()
    for line in lines:
        found = LINE.match(line)
        if found:
            name, sentences, ranks, us, moved = found.groups()
            of_model = measured.setdefault(name, {})
            seconds = float(us) * int(sentences) * 1e-6
            of_model[int(ranks)] = (int(sentences), seconds, float(moved))
    counts = [2, 4, 8, 16, 64, 256, 1024]
    print("| model, sentences per rank | network | tables |", *(f"{n} |" for n in counts))
    print("|---|---|---|" + "--:|" * len(counts))
    for name, points in measured.items():
        sentences, work, _ = points[1]
        for network_name, network in NETWORKS.items():
            for is_sparse in (True, False):
                shares = [
                    efficiency(MODELS[name], work, network, n, sentences, is_sparse) for n in counts
                ]
                row = f"| {name}, {sentences} | {network_name} |"
                row += f" {'rows' if is_sparse else 'whole'} |"
                print(row, *(f"{100 * share:.0f} % |" for share in shares))
    print("\n| model | ranks | measured efficiency | bytes measured | bytes predicted |")
    print("|---|--:|--:|--:|--:|")
    for name, points in measured.items():
        sentences, work, _ = points[1]
        for ranks, (_, seconds, moved) in sorted(points.items()):
            if ranks > 1:
                predicted = sent(MODELS[name], ranks, sentences)[0]
                share = f"{100 * work / seconds:.0f} %"
                print(f"| {name} | {ranks} | {share} | {moved:.0f} | {predicted:.0f} |")
    if len(sys.argv) > 2:
        draw(measured, sys.argv[2])


def draw(measured: dict[str, dict[int, tuple[int, float, float]]], file: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
    ranks = [2**i for i in range(11)]
    for axis, (title, network) in zip(axes, NETWORKS.items()):
        for color, (name, points) in enumerate(measured.items()):
            sentences, work, _ = points[1]
            shares = [efficiency(MODELS[name], work, network, n, sentences) for n in ranks]
            axis.plot(ranks, shares, color=f"C{color}", label=f"{name}, {sentences} per rank")
            here = [(n, work / p[1]) for n, p in sorted(points.items()) if n > 1]
            axis.plot(*zip(*here), "o", color=f"C{color}")
        axis.set(title=title, xlabel="ranks", ylim=(0, 1.05))
        axis.set_xscale("log", base=2)
    axes[0].set_ylabel("efficiency; dots: measured here")
    axes[1].legend()
    figure.tight_layout()
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    main()
