"""Learning: the same scores after the same updates (``learning``), and scores against time
(``curves``, Table 5)."""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from programs import ProgramError, Setup, measure, run_command
from rows import Row

NAMES = {
    "cpp": "C++",
    "cpp-off": "C++, batching off",
    "cpp-seq": "C++, whole sequences",
    "python": "Python",
    "torch-one": "PyTorch one by one",
    "torch-hand": "PyTorch by hand",
}


@dataclass
class Point:
    updates: int
    seconds: float
    score: float


def read_curve(file: Path) -> list[Point]:
    with open(file, encoding="ascii") as lines:
        return [
            Point(int(row["updates"]), float(row["seconds"]), float(row["dev_score"]))
            for row in csv.DictReader(lines)
            if row["dev_score"]
        ]


def _shown(row: Row, score: float) -> str:
    return f"{score:.1f}" if row.model.name == "rnnlm" else f"{100 * score:.2f} %"


def _train(row: Row, system: str, setup: Setup, seed: int, out: Path, options: list[str]) -> list:
    curve = out / f"curve-{row.name.replace(' ', '-')}-{system}-{seed}.csv"
    _, dev = row.model.files(setup.data)
    shared = ["--dev", dev, "--seed", str(seed), "--curve", str(curve)]
    measure(row, system, setup, [*shared, *options])
    return read_curve(curve)


def measure_learning(
    rows: list[Row], options: argparse.Namespace, setup: Setup, file: Path
) -> dict[str, dict]:
    """The last score of some epochs, for several seeds of each program."""
    results: dict[str, dict] = {}
    for row in rows:
        systems = [system for system in row.systems() if system in options.systems]
        scores: dict[str, list[float]] = {system: [] for system in systems}
        for seed in range(1, options.rounds + 1):
            for system in systems:
                try:
                    run = ["--epochs", str(options.epochs)]
                    points = _train(row, system, setup, seed, options.out, run)
                except ProgramError as error:
                    print(error, file=sys.stderr)
                    continue
                scores[system].append(points[-1].score)
                shown = _shown(row, points[-1].score)
                print(f"{row.name} {system} seed {seed}: {shown}", file=sys.stderr)
        results[row.name] = {"epochs": options.epochs, "scores": scores}
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def render(results: dict[str, dict]) -> str:
    """Markdown: lowest and highest score of the seeds."""
    lines = ["| row | epochs | " + " | ".join(NAMES.values()) + " |"]
    lines.append("| --- " + "| --: " * (1 + len(NAMES)) + "|")
    for name, result in results.items():
        cells = []
        for system in NAMES:
            scores = result["scores"].get(system)
            if not scores:
                cells.append("–")
                continue
            low, high = min(scores), max(scores)
            shown = (f"{x:.1f}" if high > 1 else f"{100 * x:.2f}" for x in (low, high))
            cells.append(" – ".join(shown))
        lines.append(f"| {name} | {result['epochs']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _time_to(points: list[Point], score: float) -> float:
    """Until a curve first reaches a score."""
    return next((p.seconds for p in points if p.score >= score), math.nan)


def _whole_curve(
    row: Row, system: str, setup: Setup, seed: int, out: Path, seconds: float
) -> list[Point]:
    """A run of the given time, with about thirty tests (some seconds each, which are not counted).
    Another run before it, with thirty tests too, covers the first thirtieth, in which most is
    learned."""
    pilot = measure(row, system, setup, ["--max-seconds", f"{min(seconds, 3):g}"])
    rate = pilot["items"] / pilot["seconds"] / row.model.work(setup.data).items
    points: list[Point] = []
    for part in (seconds / 30, seconds):
        run = ["--epochs", "100000", "--max-seconds", f"{part:g}"]
        run += ["--test-every", str(max(1, round(rate * part / 30)))]
        begun = points[-1].seconds if points else 0.0
        points += [p for p in _train(row, system, setup, seed, out, run) if p.seconds > begun]
    return points


def measure_curves(rows: list[Row], options: argparse.Namespace, setup: Setup) -> str:
    """Trains each sparse model one sentence an update for the time given, as often as asked;
    a picture of accuracy against time, and a table."""
    seconds = options.seconds or 600
    chosen = [
        r for r in rows if r.mode == "sparse" and r.sentences == 1 and r.model.name != "rnnlm"
    ]
    systems = [s for s in ("cpp", "torch-one", "torch-hand") if s in options.systems]
    lines = [
        "| row | program | best | at, s | seconds to the lowest best |",
        "|---|---|--:|--:|--:|",
    ]
    panels = []
    for row in chosen:
        curves: dict[str, list[list[Point]]] = {}
        for system in systems:
            curves[system] = [
                _whole_curve(row, system, setup, seed, options.out, seconds)
                for seed in range(1, options.rounds + 1)
            ]
        reached = min(max(p.score for p in runs[0]) for runs in curves.values())
        for system, runs in curves.items():
            best = max(runs[0], key=lambda p: p.score)
            cells = [row.name, NAMES[system], _shown(row, best.score), f"{best.seconds:.1f}"]
            lines.append("| " + " | ".join([*cells, f"{_time_to(runs[0], reached):.1f}"]) + " |")
        panels.append(
            {
                "title": row.model.name,
                "curves": [
                    {
                        "label": NAMES[system],
                        "runs": [[(p.seconds, p.score) for p in run] for run in runs],
                    }
                    for system, runs in curves.items()
                ],
            }
        )
    file = options.out / "curves.json"
    file.write_text(json.dumps(panels) + "\n", encoding="utf-8")
    picture = options.out / "curves.svg"
    plot = [setup.torch_python or sys.executable, str(Path(__file__).parent / "plot.py")]
    run_command([*plot, "curves", str(file), str(picture)], setup)
    return "\n".join(lines) + f"\n\nThe curves: {picture}\n"
