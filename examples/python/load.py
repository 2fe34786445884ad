"""Sends sentences to a server at random times, and prints percentiles of the time to the answers.

python3 load.py http://localhost:8000/ --text sentences.txt --rate 200 --seconds 10

The text has a sentence on each line, or is CoNLL-U. Times between requests are exponential, as of
many independent users, and do not wait for answers: a slow server meets as many requests as a quick
one. The time of a request counts from the moment at which it should have been sent.
"""

from __future__ import annotations

import argparse
import collections
import http.client
import queue
import random
import threading
import time
import urllib.parse


def read(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if not any(line.count("\t") == 9 for line in lines):
        return [line for line in lines if line.split()]
    sentences: list[str] = []
    words: list[str] = []
    for line in [*lines, ""]:
        if not line and words:
            sentences.append(" ".join(words))
            words = []
        elif line.split("\t")[0].isdecimal():
            words.append(line.split("\t")[1].replace(" ", "_"))
    return sentences


class Load:
    """Requests that are due, and the threads that send them, each over a connection of its own."""

    def __init__(self, host: str, threads: int) -> None:
        self.host = host
        self.due: queue.Queue[tuple[float, str] | None] = queue.Queue()
        self.answers: list[tuple[int | str, float]] = []  #: statuses, or names of errors; seconds
        self.threads = [threading.Thread(target=self.send, daemon=True) for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def send(self) -> None:
        connection = http.client.HTTPConnection(self.host)
        while (one := self.due.get()) is not None:
            begin, sentence = one
            try:
                connection.request("POST", "/", sentence.encode())
                response = connection.getresponse()
                response.read()
                status: int | str = response.status
            except (OSError, http.client.HTTPException) as e:
                connection.close()
                status = type(e).__name__
            self.answers.append((status, time.perf_counter() - begin))

    def run(self, sentences: list[str], rate: float, seconds: float, seed: int) -> None:
        draw = random.Random(seed)
        now = time.perf_counter()
        end = now + seconds
        while (now := now + draw.expovariate(rate)) < end:
            time.sleep(max(0.0, now - time.perf_counter()))
            self.due.put((now, draw.choice(sentences)))
        for _ in self.threads:
            self.due.put(None)
        for thread in self.threads:
            thread.join()


def percentile(sorted_numbers: list[float], percent: float) -> float:
    """The smallest number that is not exceeded by so many percent."""
    rank = -(-len(sorted_numbers) * percent // 100)  # rounded up
    return sorted_numbers[max(0, int(rank) - 1)]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("url", help="http://host:port/")
    options.add_argument("--text", required=True, help="sentences, or CoNLL-U")
    options.add_argument("--rate", type=float, default=100.0, help="requests a second")
    options.add_argument("--seconds", type=float, default=10.0)
    options.add_argument("--threads", type=int, default=64, help="requests at the same time")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    host = urllib.parse.urlsplit(given.url).netloc
    if not host:
        options.error(f"{given.url} has no host; want http://host:port/")
    if not (given.rate > 0 and given.seconds > 0 and given.threads > 0):
        options.error("want --rate, --seconds and --threads above 0")
    load = Load(host, given.threads)
    begin = time.perf_counter()
    load.run(read(given.text), given.rate, given.seconds, given.seed)
    taken = time.perf_counter() - begin
    statuses = collections.Counter(status for status, _ in load.answers)
    for status, count in sorted(statuses.items(), key=str):
        print(f"{status}: {count} requests")
    times = sorted(seconds for status, seconds in load.answers if status == 200)
    if times:
        print(f"{len(times) / taken:.1f} answers a second")
        for percent in (50, 95, 99, 100):
            print(f"{percent} %: {1000 * percentile(times, percent):.1f} ms")


if __name__ == "__main__":
    main()
