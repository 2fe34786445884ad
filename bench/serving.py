"""Requests of random lengths at random times, one by one and joined (docs/serving.md).

python3 bench/serving.py TRAIN.conllu [--size 128] [--kind both] [--bound 0.1] [--seconds 3]

A tagger with two LSTMs asks once for each sentence, a parser with stack LSTMs asks for each of its
actions. Times between requests are exponential. For each way the program looks for the highest rate
of which the 99th percentile of the time to the answer is within a bound, by halving: a rate that is
too high lets a queue grow. Two servers with the same limits differ in one option: max_running is 1,
or 64.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "python"))

from parser import Parser, Sentence, batches, decide, loss_of, read

import dynet as dy
from dynet.text import Vocabulary

from load import percentile


class Tagger:
    def __init__(self, words: int, tags: int, size: int) -> None:
        self.m = m = dy.ParameterCollection()
        self.words = m.add_lookup_parameters((words, size))
        self.reader = dy.BiRNNBuilder(1, size, 2 * size, m, dy.VanillaLSTMBuilder)
        self.bias, self.out = m.add_parameters(tags), m.add_parameters((tags, 2 * size))


class Both:
    def __init__(self, words: int, size: int) -> None:
        self.tagger, self.parser = Tagger(words, 17, size), Parser(words, size)


def tag(model: Both, sentence: Sentence) -> Any:
    t = model.tagger
    states = t.reader.transduce(t.words.rows(sentence.words))
    scores = dy.affine_transform([t.bias, t.out, dy.concatenate_to_batch(states)])
    yield scores
    return scores.npvalue().argmax(0).tolist()


def parse(model: Both, sentence: Sentence) -> Any:
    parsed = yield from decide(model.parser, sentence, learns=False)
    return parsed.heads


class Run:
    """One rate on one server."""

    def __init__(self, model: Both, running: int, rate: float, seconds: float, kinds: Any) -> None:
        self.times: list[float] = []
        self.draw = random.Random(5)
        self.kinds = kinds
        with dy.serve(model, max_running=running, max_queue=100_000) as server:
            for _ in range(20):  # warm
                server.submit(*self.request()).result()
            self.begin = time.perf_counter()
            end = self.begin + seconds
            due = self.begin
            while (due := due + self.draw.expovariate(rate)) < end:
                time.sleep(max(0.0, due - time.perf_counter()))
                self.send(server, due)
        self.taken = time.perf_counter() - self.begin
        self.counts = server.counts()
        self.times.sort()

    def request(self) -> tuple[Any, Sentence]:
        return self.draw.choice(self.kinds), self.draw.choice(SENTENCES)

    def send(self, server: Any, due: float) -> None:
        future = server.submit(*self.request())
        future.add_done_callback(lambda _: self.times.append(time.perf_counter() - due))

    def percent(self, p: float) -> float:
        return 1000 * percentile(self.times, p)

    def __str__(self) -> str:
        return (
            f"{len(self.times) / self.taken:7.1f} answers/s   p50 {self.percent(50):6.1f}   "
            f"p95 {self.percent(95):6.1f}   p99 {self.percent(99):6.1f} ms   "
            f"{self.counts.finished / max(1, self.counts.rounds):.2f} answers a round"
        )


SENTENCES: list[Sentence] = []


def best_rate(given: argparse.Namespace, model: Both, running: int, kinds: Any) -> Run:
    """The run of the highest rate within the bound."""
    low, high, best = 0.0, 0.0, None
    rate = given.first
    for _ in range(given.steps):
        run = Run(model, running, rate, given.seconds, kinds)
        is_fit = run.percent(99) <= 1000 * given.bound
        print(f"  {running:2} running, {rate:6.1f}/s {run} {'' if is_fit else '(too slow)'}")
        sys.stdout.flush()
        if is_fit:
            low, best = rate, run
        else:
            high = rate
        rate = 2 * low if not high else (low + high) / 2
    assert best is not None, "the first rate is too high; want a lower --first"
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("text", help="CoNLL-U")
    options.add_argument("--size", type=int, default=128)
    options.add_argument("--kind", choices=("tagger", "parser", "both"), default="both")
    options.add_argument("--bound", type=float, default=0.1, help="seconds, of the 99th percentile")
    options.add_argument("--seconds", type=float, default=3.0, help="of each rate")
    options.add_argument("--first", type=float, default=20.0, help="rate")
    options.add_argument("--steps", type=int, default=8)
    given = options.parse_args()
    found = read(given.text)
    words = Vocabulary.from_counts((w for s, _ in found for w in s), min_count=2)
    SENTENCES.extend(Sentence(words.ids(s), heads) for s, heads in found if len(s) < 60)
    dy.reset_random_seed(1)
    model = Both(len(words), given.size)
    trainer = dy.AdamTrainer(model.parser.model, 0.002)
    for batch in list(batches(SENTENCES, 16))[:15]:  # so that decisions differ
        dy.renew_cg()
        loss_of(model.parser, batch, False).backward()
        trainer.update()
    kinds = {"tagger": [tag], "parser": [parse], "both": [tag, parse]}[given.kind]
    print(f"size {given.size}, {given.kind}, p99 within {1000 * given.bound:.0f} ms")
    runs = [best_rate(given, model, running, kinds) for running in (1, 64)]
    for name, run in zip(("one by one", "joined"), runs):
        print(f"{name:10} {run}")
    one, joined = (len(run.times) / run.taken for run in runs)
    print(f"{joined / one:.2f} times the answers")


if __name__ == "__main__":
    main()
