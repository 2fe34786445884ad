"""examples/python/serve.py and load.py: a model of `dynet train` over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import dynet as dy
import pytest
from dynet import programs
from far import DEVICE

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
pytestmark = [
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not here"),
    pytest.mark.skipif(bool(DEVICE), reason="the example chooses its device by an option"),
]

SENTENCES = [
    [("the", "DET"), ("dog", "NOUN"), ("barks", "VERB")],
    [("the", "DET"), ("cat", "NOUN"), ("sleeps", "VERB"), (".", "PUNCT")],
    [("dogs", "NOUN"), ("sleep", "VERB")],
]


def conllu():
    lines = []
    for sentence in SENTENCES:
        for i, (word, tag) in enumerate(sentence, 1):
            lines.append(
                "\t".join([str(i), word, word, tag, "_", "_", str(i - 1), "dep", "_", "_"])
            )
        lines.append("")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "text.conllu").write_text(conllu())
    for kind in ("tagger", "parser"):
        assert not programs.main(
            f"train {kind} --train {folder}/text.conllu --output {folder}/{kind} --epochs 2 "
            "--size 8 --batch 2".split()
        )
    return folder


class Served:
    """The program, and a connection to it."""

    def __init__(self, folder, model, *options):
        self.process = subprocess.Popen(
            [sys.executable, EXAMPLES / "serve.py", folder / model, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.connection = http.client.HTTPConnection(self.url.split("/")[2], timeout=60)

    def ask(self, body, method="POST", path="/"):
        self.connection.request(method, path, body)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60)


@pytest.mark.parametrize("kind", ["tagger", "parser"])
def test_answers_are_those_of_the_model(folder, kind):
    model = programs.load(str(folder / kind))
    forms = [[word for word, tag in sentence] for sentence in SENTENCES]
    dy.renew_cg()
    with dy.evaluating():
        answers = model.answers(forms)
    served = Served(folder, kind)
    try:
        for words, right in zip(forms, answers):
            assert served.ask(" ".join(words)) == (200, right)
        assert served.ask("") == (200, [])
        load = subprocess.run(
            [
                *(sys.executable, EXAMPLES / "load.py", served.url),
                *("--text", folder / "text.conllu"),
                *("--rate", "100", "--seconds", "0.5", "--threads", "4"),
            ],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert load.returncode == 0, load.stderr
        status, rate, *percentiles = load.stdout.splitlines()  # of one status alone
        assert status.startswith("200: ")
        assert rate.endswith(" answers a second")
        assert [line.split(":")[0] for line in percentiles] == ["50 %", "95 %", "99 %", "100 %"]
        served.process.send_signal(signal.SIGHUP)
        assert served.ask("dogs sleep")[0] == 200
        status, counts = served.ask(None, "GET", "/counts")
        assert (status, counts["failed"], counts["running"]) == (200, 0, 0)
        assert counts["finished"] > 4
    finally:
        out, err = served.end()
    assert served.process.returncode == 0
    assert json.loads(out)["finished"] >= counts["finished"]
    assert err == ""


def test_bad_requests(folder):
    served = Served(folder, "tagger", "--timeout", "0")
    try:
        assert served.ask("the dog") == (
            504,
            {"error": "serve: the request has not ended in its time of 0 s"},
        )
        assert served.ask(b"\xff\xfe") == (400, {"error": "want UTF-8"})
        assert served.ask("a " * 1001) == (400, {"error": "1001 words; want at most 1000"})
        assert served.ask(None, "GET", "/")[0] == 404
        assert served.ask("x" * 100_001)[0] == 413
    finally:
        _, err = served.end()
    assert err == ""


def test_a_file_that_is_no_model(folder):
    result = subprocess.run(
        [sys.executable, EXAMPLES / "serve.py", folder / "text.conllu", "--port", "0"],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        timeout=60,
    )
    assert result.returncode == 2
    assert "text.conllu" in result.stderr
