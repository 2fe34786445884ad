"""The tagger over HTTP answers as the tagger does: tagger_server_test.py PROGRAMS FOLDER."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

programs, folder = map(Path, sys.argv[1:])
folder.mkdir(exist_ok=True)
stems = ["ka", "be", "di", "po", "lu", "ma", "ne", "ri", "so", "tu", "va", "we"]
train = "".join(f"{s}ro|X the|O {s}ra|O\n{s}la|O {s}lo|X the|O\n" for s in stems)
(folder / "train.txt").write_text(train)
files = ["--train", folder / "train.txt", "--dev", folder / "train.txt", "--out", folder]
small = [
    "--embedding",
    "8",
    "--hidden",
    "8",
    "--mlp",
    "8",
    "--known-from",
    "2",
    "--epochs",
    "3",
    "--minibatch",
    "2",
]
subprocess.run([programs / "tagger", *files, *small], check=True, stdout=subprocess.DEVNULL)

server = subprocess.Popen(
    [programs / "tagger_server", "--out", folder, "--port", "0"], stdout=subprocess.PIPE, text=True
)
assert server.stdout is not None
url = server.stdout.readline().strip()


def ask(text: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, text.encode(), timeout=60) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


wrong = []


def ask_many(first: int) -> None:
    for i in range(30):
        words = [f"{stems[(first + k) % 12]}ro" for k in range(1 + (first + i) % 5)]
        status, answer = ask(" ".join(words))
        if status != 200 or [a.split("|")[0] for a in answer.split()] != words:
            wrong.append((status, answer))


try:
    alone = subprocess.run(
        [programs / "tagger", *files, "--predict", "karo the zara"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert ask("karo the zara") == (200, alone.stdout), alone.stdout
    assert ask(" ") == (400, "sentence:1:1: no word\n")
    assert ask("a " * 60_000)[0] == 413
    threads = [threading.Thread(target=ask_many, args=(t,)) for t in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [], wrong[:3]
finally:
    server.send_signal(signal.SIGINT)
    out, _ = server.communicate(timeout=60)
assert server.returncode == 0
assert out.startswith("241 requests in "), out
