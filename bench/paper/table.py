"""Measures the rows of Table 2 and 4, and renders the results."""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path

from programs import ProgramError, Setup, groups_to_bound, measure, probe
from rows import DONE, MODELS, Row, all_rows

Results = dict


def adam_size(row: Row, data: Path) -> int:
    """Parameters that an update of the row has to change at least."""
    work = row.model.work(data)
    return work.dense + (work.table if row.mode == "dense" else 0)


def _machine() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [
                line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")
            ]
        return names[0]
    except (OSError, IndexError):
        return platform.processor() or platform.machine()


def _load() -> float:
    try:
        with open("/proc/loadavg", encoding="ascii") as text:
            return float(text.read().split()[0])
    except OSError:
        return 0.0


def measure_table(
    rows: list[Row], systems: list[str], setup: Setup, seconds: float, rounds: int, out: Path
) -> Results:
    """Round by round, every program of every row; the file is written after each round."""
    sizes = sorted({adam_size(row, setup.data) for row in rows})
    results: Results = {
        "machine": _machine(),
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "seconds": seconds,
        "load": [],
        "probes": {},
        "runs": {},
        "groups": {},
        "failed": {},
    }
    for turn in range(rounds):
        results["load"].append(_load())
        for name, value in probe(setup, sizes).items():
            better = min if name.startswith("adam") else max
            results["probes"][name] = better(value, results["probes"].get(name, value))
        for row in rows:
            for system in row.systems():
                if system not in systems or f"{row.name} {system}" in results["failed"]:
                    continue
                try:
                    limits = ["--epochs", "1000", "--max-seconds", f"{seconds:g}"]
                    run = measure(row, system, setup, limits)
                except ProgramError as error:
                    results["failed"][f"{row.name} {system}"] = str(error)
                    print(f"{row.name} {system}: {error}", file=sys.stderr)
                    continue
                results["runs"].setdefault(f"{row.name} {system}", []).append(run)
                print(
                    f"round {turn + 1}: {row.name:24} {system:10} {run['rate']:10.1f} "
                    f"{row.model.unit}/s",
                    file=sys.stderr,
                )
            works = f"{row.name} cpp" in results["runs"]
            if turn == 0 and row.mode == "sparse" and works and "cpp" in systems:
                updates = max(2, 64 // row.sentences)
                results["groups"][row.name] = groups_to_bound(row, setup, updates)
        out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def _best(results: Results, row: Row, system: str, what: str, most: bool = False) -> float | None:
    """Of all rounds: the highest rate, else the lowest figure."""
    mode_row = row
    if system.startswith("torch") and row.mode == "exact":  # it has no other way to these numbers
        mode_row = Row(row.model, row.sentences, "dense")
    runs = results["runs"].get(f"{mode_row.name} {system}")
    if not runs:
        return None
    return max(run[what] for run in runs) if most else min(run[what] for run in runs)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(value: float | None, by: float | None) -> str:
    return "–" if value is None or by is None else f"{value / by:.2f}x"


def _percent(value: float | None, by: float | None) -> str:
    return "–" if value is None or by is None else f"{100 * value / by:.0f} %"


SPEED_HEAD = [
    "row",
    "C++",
    "batching off",
    "whole sequences",
    "Python",
    "of C++",
    "floor",
    "share",
    "wanted",
    "PyTorch one by one",
    "C++ ÷ it",
    "PyTorch by hand",
    "C++ ÷ it",
    "groups ÷ bound",
]


def _speed_cells(results: Results, row: Row, data: Path) -> list[str]:
    rates = {s: _best(results, row, s, "rate", most=True) for s in SYSTEMS}
    cpp = rates["cpp"]
    adam = results["probes"].get(f"adam {adam_size(row, data)}")
    floor = None
    if adam is not None:
        gflops = results["probes"]["multiply-add GF/s"]
        floor = row.model.work(data).floor(gflops, adam, row.sentences)
    wanted = "–" if row.mode == "dense" else f"{100 * DONE[row.model.name][row.sentences]:.0f} %"
    groups = results["groups"].get(row.name)
    return [
        row.name,
        _number(cpp),
        _number(rates["cpp-off"]),
        _number(rates["cpp-seq"]),
        _number(rates["python"]),
        _percent(rates["python"], cpp),
        _number(floor),
        _percent(cpp, floor),
        wanted,
        _number(rates["torch-one"]),
        _ratio(cpp, rates["torch-one"]),
        _number(rates["torch-hand"]),
        _ratio(cpp, rates["torch-hand"]),
        "–" if groups is None else f"{groups:.2f}",
    ]


SYSTEMS = ["cpp", "cpp-off", "cpp-seq", "python", "torch-one", "torch-hand"]


def _markdown(head: list[str], lines: list[list[str]]) -> str:
    rows = [head, ["---", *["--:"] * (len(head) - 1)], *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _process_lines(results: Results) -> list[list[str]]:
    lines = []
    for model in MODELS:
        for n in (model.sentences[0], model.sentences[-1]):
            row = Row(model, n, "sparse")
            cells = [f"{model.name} n{n}"]
            for what in ("start", "memory"):
                for system in ("cpp", "python", "torch-one", "torch-hand"):
                    value = _best(results, row, system, what, most=what == "memory")
                    shown = f"{value:.2f}" if value and what == "start" else _number(value)
                    cells.append(shown)
            if set(cells[1:]) != {"–"}:
                lines.append(cells)
    return lines


def render(results: Results, data: Path) -> str:
    """Markdown."""
    probes = results["probes"]
    adam = ", ".join(
        f"{1e9 * seconds / int(name.split()[1]):.2f} ns at {int(name.split()[1]):,}"
        for name, seconds in probes.items()
        if name.startswith("adam")
    )
    speed = [
        _speed_cells(results, row, data)
        for row in all_rows(True)
        if any(_best(results, row, s, "rate") for s in ("cpp", "cpp-off", "python"))
        or (row.mode != "exact" and any(_best(results, row, s, "rate") for s in SYSTEMS))
    ]
    starts = ["C++", "Python", "PyTorch one by one", "by hand"]
    head = ["row", *(f"start, s: {s}" for s in starts), *(f"peak, MiB: {s}" for s in starts)]
    load = ", ".join(f"{x:.1f}" for x in results["load"])
    text = [
        f"{results['machine']}, {results['date']}; one core, {results['seconds']:g} CPU seconds a "
        f"run, best of {len(results['load'])} interleaved rounds (load of the machine {load}).",
        f"Multiply-add {probes.get('multiply-add GF/s', 0):.0f} GF/s; a pass of Adam {adam}. "
        "Training, items (words; sentences for trees) a CPU second; PyTorch beside `exact` is its "
        "dense mode.",
        _markdown(SPEED_HEAD, speed),
        "Start-up (program begun, data read, one update done) and peak memory, sparse:",
        _markdown(head, _process_lines(results)),
    ]
    if results["failed"]:
        text.append("Not measured: " + "; ".join(sorted(results["failed"])))
    return "\n\n".join(text) + "\n"
