#!/usr/bin/env python3
"""Draws the output of the example: a learning curve (CSV) and a computation graph (DOT), as SVG.

    python3 draw_curves.py listops-output

Needs nothing but Python, so it also draws the output of the C++ program. Large graphs look better
with Graphviz: ``dot -Tsvg graph.dot``.
"""

from __future__ import annotations

import csv
import os
import re
import sys
from html import escape

_WIDTH, _HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 64, 40, 48
_STYLE = "font-family='sans-serif' font-size='12'"


def _line(points: list[tuple[float, float]], colour: str) -> str:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"<polyline points='{text}' fill='none' stroke='{colour}' stroke-width='2'/>"


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = "#333") -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}'"
    return f"<text {place}>{escape(text)}</text>"


def _svg(width: float, height: float, parts: list[str]) -> str:
    size = f"width='{width:.0f}' height='{height:.0f}'"
    head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} {_STYLE}>"
    return "\n".join(
        [head, "<rect width='100%' height='100%' fill='white'/>", *parts, "</svg>", ""]
    )


def draw_curve(csv_file: str, svg_file: str) -> None:
    """The score on the left axis (up to 1: a share), loss on the right one, over updates."""
    with open(csv_file, encoding="utf-8", newline="") as file:
        rows = [{k: float(v or "nan") for k, v in row.items()} for row in csv.DictReader(file)]
    if not rows:
        raise ValueError(f"{csv_file} has no rows")
    plot_width = _WIDTH - _LEFT - _RIGHT
    plot_height = _HEIGHT - _TOP - _BOTTOM
    last = max(row["updates"] for row in rows)
    highest_loss = max(max(row["train_loss"] for row in rows), 1e-9)
    highest_score = max((s for row in rows if (s := row["dev_score"]) == s), default=1.0)
    is_share = highest_score <= 1
    if is_share:
        highest_score = 1.0

    def place(update: float, share: float) -> tuple[float, float]:
        return _LEFT + plot_width * update / last, _TOP + plot_height * (1 - share)

    parts = []
    for tenth in range(0, 11, 2):
        x, y = place(last * tenth / 10, 0)[0], place(0, tenth / 10)[1]
        parts.append(f"<path d='M{_LEFT} {y:.1f}h{plot_width}' stroke='#ddd'/>")
        score = f"{10 * tenth} %" if is_share else f"{highest_score * tenth / 10:.0f}"
        parts.append(_text(_LEFT - 6, y + 4, score, "end"))
        loss = f"{highest_loss * tenth / 10:.2f}"
        parts.append(_text(_WIDTH - _RIGHT + 6, y + 4, loss, "start", "#c60"))
        parts.append(_text(x, _HEIGHT - _BOTTOM + 18, f"{last * tenth / 10:.0f}"))
    parts.append(_text(_LEFT + plot_width / 2, _HEIGHT - 10, "updates"))
    series = [
        ("train_loss", "loss, training", "#c60", highest_loss),
        ("dev_score", "accuracy, dev" if is_share else "perplexity, dev", "#063", highest_score),
    ]
    for i, (name, title, colour, scale) in enumerate(series):
        points = [(row["updates"], row[name] / scale) for row in rows if row[name] == row[name]]
        parts.append(_line([place(*point) for point in points], colour))
        parts.append(_text(_LEFT + 10 + 220 * i, 24, title, "start", colour))
    with open(svg_file, "w", encoding="utf-8") as file:
        file.write(_svg(_WIDTH, _HEIGHT, parts))


class _Graph:
    """Nodes and edges of a DOT file as the library writes it; anything else is not read."""

    def __init__(self, text: str) -> None:
        labels = re.findall(r'^\s*(N\d+) \[label="((?:[^"\\]|\\.)*)"', text, re.MULTILINE)
        self.labels = {name: re.sub(r"\\(.)", r"\1", label) for name, label in labels}
        edges = re.findall(r"^\s*(N\d+) -> (N\d+)", text, re.MULTILINE)
        self.edges = [(a, b) for a, b in edges if a in self.labels and b in self.labels]

    def columns(self) -> list[list[str]]:
        """Columns from left to right: a node stands right of its arguments, a leaf just left of the
        first node that uses it; within a column near the mean height of its arguments."""
        column: dict[str, int] = {}
        arguments: dict[str, list[str]] = {name: [] for name in self.labels}
        users: dict[str, list[str]] = {name: [] for name in self.labels}
        for a, b in self.edges:
            arguments[b].append(a)
            users[a].append(b)
        for name in self.labels:  # arguments come first in the file
            column[name] = 1 + max((column[a] for a in arguments[name]), default=-1)
        for name in self.labels:
            if not arguments[name] and users[name]:
                column[name] = min(column[u] for u in users[name]) - 1
        columns: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
        for name in self.labels:
            columns[column[name]].append(name)
        height = {name: i for names in columns for i, name in enumerate(names)}
        for _ in range(4):
            for near in (arguments, users):
                for names in columns:
                    wanted = {name: _mean(near[name], height, height[name]) for name in names}
                    names.sort(key=wanted.__getitem__)
                    height.update({name: i for i, name in enumerate(names)})
        return columns


def _mean(names: list[str], height: dict[str, int], otherwise: float) -> float:
    return sum(height[name] for name in names) / len(names) if names else otherwise


_COLOURS = [
    (r"parameter", "#fde4c8"),
    (r"lookup", "#d6eaf8"),
    (r"pickneglogsoftmax|^sum|loss", "#f9d6d5"),
    (r"", "#e2f0d9"),
]


def draw_graph(dot_file: str, svg_file: str) -> None:
    """The graph from left to right, a box a node with its number, operation and shape."""
    with open(dot_file, encoding="utf-8") as file:
        graph = _Graph(file.read())
    columns = graph.columns()
    box_width, box_height, gap_x, gap_y = 160, 34, 44, 12
    tallest = max((len(names) for names in columns), default=1)
    height = 40 + tallest * (box_height + gap_y)
    place: dict[str, tuple[float, float]] = {}
    for i, names in enumerate(columns):
        top = (height - len(names) * (box_height + gap_y)) / 2
        for j, name in enumerate(names):
            place[name] = (20 + i * (box_width + gap_x), top + j * (box_height + gap_y))
    parts = []
    for a, b in graph.edges:
        x, y = place[a][0] + box_width, place[a][1] + box_height / 2
        to_x, to_y = place[b][0], place[b][1] + box_height / 2
        bend = max((to_x - x) / 2, 20)
        colour = "#ddd" if "= parameter" in graph.labels[a] else "#888"  # edges of parameters cross
        parts.append(
            f"<path d='M{x:.0f} {y:.0f}C{x + bend:.0f} {y:.0f} {to_x - bend:.0f} {to_y:.0f} "
            f"{to_x:.0f} {to_y:.0f}' fill='none' stroke='{colour}'/>"
        )
    for name, (x, y) in place.items():
        number, _, call = graph.labels[name].partition(" = ")
        operation = call.split("(")[0]
        shape = re.search(r"\{[^{}]*\}(x\d+)?$", call)
        colour = next(c for pattern, c in _COLOURS if re.search(pattern, operation))
        parts.append(
            f"<rect x='{x:.0f}' y='{y:.0f}' width='{box_width}' height='{box_height}' rx='4' "
            f"fill='{colour}' stroke='#888'><title>{escape(graph.labels[name])}</title></rect>"
        )
        parts.append(_text(x + box_width / 2, y + 14, f"{number} {operation}"[:25]))
        parts.append(
            _text(x + box_width / 2, y + 28, shape.group() if shape else "", colour="#777")
        )
    width = 40 + len(columns) * (box_width + gap_x)
    with open(svg_file, "w", encoding="utf-8") as file:
        file.write(_svg(width, height, parts))


def draw_all(csv_file: str, dot_file: str) -> list[str]:
    """Draws both beside the files; returns the names of the pictures."""
    curve = os.path.splitext(csv_file)[0] + ".svg"
    graph = os.path.splitext(dot_file)[0] + ".svg"
    draw_curve(csv_file, curve)
    draw_graph(dot_file, graph)
    return [curve, graph]


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "listops-output"
    for written in draw_all(os.path.join(folder, "curve.csv"), os.path.join(folder, "graph.dot")):
        print(written)
