"""bench/ud/run, as far as it goes without its peers and their treebank."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import _dynet
import pytest
from treebanks import write_treebanks

RUN = pathlib.Path(__file__).parents[2] / "bench" / "ud" / "run"
if not RUN.exists():
    pytest.skip("the bench is not here", allow_module_level=True)


def run(*words):
    command = [sys.executable, str(RUN), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done


def test_without_data_it_says_so(tmp_path):
    said = run("--data", tmp_path).stdout
    assert said.startswith("skipped: want one file of each, *-ud-train.conllu")


def test_a_training_of_ours(tmp_path):
    build = pathlib.Path(_dynet.__file__).parents[1]
    write_treebanks(tmp_path)
    for name in ("train", "dev"):
        (tmp_path / f"{name}.conllu").rename(tmp_path / f"x-ud-{name}.conllu")
    words = ["--data", tmp_path, "--out", tmp_path / "out", "--build", build, "--core", "-1"]
    words += ["--python", sys.executable, "--venv", tmp_path / "none", "--quick"]
    done = run(*words, "--systems", "dynet-transition")
    assert "no picture: " in done.stdout and "dynet-transition 1 passes" in done.stderr
    (point,) = json.loads((tmp_path / "out" / "results.json").read_text())
    assert point["train_seconds"] > 0 < point["words_a_second"] and point["scores"]["Lemmas"] > 0.5
    # The answers are those of words alone.
    blank = (tmp_path / "out" / "dynet-transition-1" / "blank.conllu").read_text()
    assert "\tDET\t" not in blank and "Number=" not in blank and "\tdep\t" not in blank
    assert "4-5\tdon't" in blank
    # An environment without packages.
    (tmp_path / "none" / "bin").mkdir(parents=True)
    (tmp_path / "none" / "bin" / "python").symlink_to("/bin/false")
    done = run(*words, "--systems", "udpipe")
    assert done.stdout == "skipped: no system can run\n"
    assert f"udpipe: skipped, {tmp_path / 'none'} has no package ufal.udpipe" in done.stderr


def test_a_table_of_old_results(tmp_path):
    scores = {"UPOS": 0.5, "XPOS": 0.5, "UFeats": 0.5, "Lemmas": 0.5}
    points = [("spacy", 1, 50.0, 0.25), ("spacy", 2, 100.0, 0.75), ("dynet", 1, 10.0, 0.125)]
    results = [
        {
            "system": s,
            "size": n,
            "train_seconds": t,
            "words_a_second": 9,
            "scores": scores | {"LAS": x},
        }
        for s, n, t, x in points
    ]
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, some in zip(files, (results[:2], results[2:])):
        file.write_text(json.dumps(some))
    out = tmp_path / "out"
    said = run("--report", *files, "--out", out, "--venv", tmp_path / "none").stdout
    assert "no picture: " in said and (out / "table.md").read_text() in said
    rows = said.splitlines()
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows if "|" in row]
    assert [c[0] for c in cells[2:5]] == ["DyNet", "spaCy 3.8", "spaCy 3.8"]
    # No line for 300 and 600 seconds, within which there is no further training.
    last = [(c[0], c[1], c[-1]) for c in cells if c[0].isdigit()]
    assert last == [
        ("60", "DyNet", "12.50"),
        ("60", "spaCy 3.8", "25.00"),
        ("120", "DyNet", "12.50"),
        ("120", "spaCy 3.8", "75.00"),
    ]
