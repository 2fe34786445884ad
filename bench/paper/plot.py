#!/usr/bin/env python3
"""The pictures of the bench, with matplotlib.

plot.py curves curves.json curves.svg        accuracy against time
plot.py scaling scaling.csv FOLDER           FOLDER/scaling.png: cost per example as things grow
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

COLORS = ["#1b6ca8", "#c8553d", "#5b8c5a", "#8d6a9f"]


def draw_curves(source: str, target: str) -> None:
    panels = json.loads(Path(source).read_text(encoding="utf-8"))
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.6), squeeze=False)
    for axis, panel in zip(axes[0], panels):
        highest = 0.0
        for color, curve in zip(COLORS, panel["curves"]):
            for i, run in enumerate(curve["runs"]):
                label = curve["label"] if i == 0 else None
                seconds, scores = zip(*run)
                axis.plot(seconds, [100 * s for s in scores], color=color, lw=1.3, label=label)
                highest = max(highest, *(100 * s for s in scores))
        axis.set_xscale("log")
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_ylim(top=highest + 1, bottom=max(0, highest - 20))
        axis.set_title(panel["title"])
        axis.set_xlabel("CPU seconds of training")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("accuracy on dev, %")
    axes[0][0].legend(loc="lower right", frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(target)


def draw_scaling(source: str, folder: str) -> None:
    """One picture for each series ``what``: microseconds an example against the size."""
    with open(source, encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    series = dict.fromkeys(row["what"] for row in rows)
    columns = 3
    height = -(-len(series) // columns)
    figure, axes = plt.subplots(
        height, columns, figsize=(4.0 * columns, 3.2 * height), squeeze=False
    )
    flat = [axis for line in axes for axis in line]
    for axis, what in zip(flat, series):
        mine = [row for row in rows if row["what"] == what]
        for color, name in zip(COLORS, dict.fromkeys(row["program"] for row in mine)):
            points = [(float(r["size"]), float(r["us"])) for r in mine if r["program"] == name]
            axis.plot(*zip(*points), color=color, marker="o", ms=3, lw=1.3, label=name)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(what, fontsize=10)
        axis.set_xlabel(mine[0]["axis"])
        axis.set_ylabel(mine[0]["unit"])
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, fontsize=7)
    for axis in flat[len(series) :]:
        axis.set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(folder) / "scaling.png", dpi=100)


def main() -> None:
    what, source, target = sys.argv[1:]
    (draw_curves if what == "curves" else draw_scaling)(source, target)


if __name__ == "__main__":
    main()
