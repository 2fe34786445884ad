"""The parser of examples/python with its sentences one by one and together (docs/run-together.md).

python3 bench/together.py TRAIN.conllu [SIZE...]
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "python"))

from parser import Parse, Parser, Sentence, batches, decide, loss_of, read

import dynet as dy
from dynet.text import Vocabulary


def alone(task: Generator[dy.Expression, list[float], Parse]) -> Parse:
    """A task that gets its values one by one."""
    try:
        asked = next(task)
        while True:
            asked = task.send(asked.value())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def parse(parser: Parser, sentences: list[Sentence], together: bool) -> list[list[int | None]]:
    """The heads that the parser finds."""
    parses = []
    with dy.no_grad():
        for batch in batches(sentences, len(sentences) if together else 1):
            dy.renew_cg()
            tasks = [decide(parser, sentence, learns=False) for sentence in batch]
            parses += dy.run_together(tasks) if together else [alone(task) for task in tasks]
    return [parse.heads for parse in parses]


def train(parser: Parser, sentences: list[Sentence], together: bool) -> float:
    """The loss, after one backward for all."""
    dy.renew_cg()
    tasks = [decide(parser, sentence, learns=True) for sentence in sentences]
    parses = dy.run_together(tasks) if together else [alone(task) for task in tasks]
    loss = dy.esum([loss for parse in parses for loss in parse.losses])
    value = float(loss.value())
    loss.backward()
    parser.model.reset_gradient()
    return value


def timed(work: Callable[..., Any], *args: object) -> tuple[float, Any]:
    """CPU milliseconds, the best of three, and the result."""
    best = float("inf")
    for _ in range(3):
        begin = time.thread_time()
        result = work(*args)
        best = min(best, time.thread_time() - begin)
    return 1000 * best, result


def main() -> None:
    """Prints a line for each size and number of sentences."""
    found = read(sys.argv[1])
    words = Vocabulary.from_counts((w for s, _ in found for w in s), min_count=2)
    data = [Sentence(words.ids(s), heads) for s, heads in found]
    for size in map(int, sys.argv[2:] or ["128"]):
        dy.reset_random_seed(1)
        parser = Parser(len(words), size)
        trainer = dy.AdamTrainer(parser.model, 0.002)
        for batch in list(batches(data, 16))[:60]:  # so that decisions differ
            dy.renew_cg()
            loss_of(parser, batch, False).backward()
            trainer.update()
        for count in (16, 64):
            sentences = random.Random(2).sample(data, count)
            line = f"size {size}, {count} sentences:"
            for work in (parse, train):
                one, before = timed(work, parser, sentences, False)
                both, after = timed(work, parser, sentences, True)
                same = before == after if work is parse else abs(before - after) < 1e-3 * before
                line += f"  {work.__name__} {one:.1f} -> {both:.1f} ms ({one / both:.2f} times)"
                line += "" if same else " DIFFERENT"
            print(line, flush=True)


if __name__ == "__main__":
    main()
