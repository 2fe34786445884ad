"""Training with PyTorch on several threads, or as ranks of DistributedDataParallel with gloo.

    twin.py threads MODEL SENTENCES... [--threads 2] [--rounds 10] [--seconds 0.05]
    twin.py ranks MODEL SENTENCES [--rounds 9] [--updates 10]

MODEL is rnnlm, tagger or trees: the model of bench/paper/twins that is batched by hand, on the
sentences of our own benches. A process of `ranks` reads RANK, WORLD_SIZE, MASTER_ADDR and
MASTER_PORT; without them it trains alone. A printed line ends with microseconds of an update: on
one thread and on several (the best round), or of this number of ranks (the median round).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

sys.path.append(str(Path(__file__).parents[1] / "paper" / "twins"))

import harness
import rnnlm_by_hand
import tagger_by_hand
import tree_lstm_by_hand
from corpora import Tagging

import sentences


class Loss(nn.Module):
    """The mean loss of some sentences as `forward`, which DistributedDataParallel wants."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, group: list) -> Tensor:
        return self.model.loss(group)[0]


def make(model: str, data: list, kinds: int) -> Loss:
    torch.manual_seed(1)
    if model == "rnnlm":
        return Loss(rnnlm_by_hand.Model(sentences.TEXT_WORDS, "sparse"))
    if model == "trees":
        return Loss(tree_lstm_by_hand.Model(kinds, "sparse"))
    corpus = Tagging(train=data, dev=[], tags=sentences.TAGS, characters=0)
    return Loss(tagger_by_hand.Model(corpus, False, "sparse"))


class Training:
    """A model in training. `mine` chooses a process's share of a minibatch."""

    def __init__(self, loss: nn.Module, data: list, count: int, mine: Callable[[int], bool]):
        self.loss = loss
        self.optimizer = harness.Optimizer(loss)
        self.data, self.count, self.mine = data, count, mine
        self.at = 0

    def step(self) -> None:
        mine = filter(self.mine, range(self.count))
        group = [self.data[(self.at + i) % len(self.data)] for i in mine]
        self.at += self.count
        (self.loss(group) / len(group)).backward()
        self.optimizer.update()

    def seconds(self, steps: int) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            self.step()
        return time.perf_counter() - start


def data_of(model: str, count: int, is_ranks: bool) -> tuple[list, int]:
    """The sentences, and the kinds of words of trees."""
    if model == "tagger":
        return sentences.tagged(), 0
    if model == "trees":
        kinds, least, most = (19500, 2, 40) if is_ranks else (16000, 5, 33)
        return sentences.trees(kinds, least, most), kinds
    return sentences.text() if is_ranks else sentences.text_in_batches(count), 0


def measure_threads(model: str, count: int, options: argparse.Namespace) -> None:
    data, kinds = data_of(model, count, False)
    numbers = (1, options.threads)
    trainings = [Training(make(model, data, kinds), data, count, lambda _: True) for _ in numbers]

    def seconds(k: int, steps: int) -> float:
        torch.set_num_threads(numbers[k])
        return trainings[k].seconds(steps)

    for k in range(2):
        seconds(k, 3)
    steps = max(1, min(50, int(options.seconds / seconds(0, 1))))
    rounds = [[seconds(k, steps) for k in range(2)] for _ in range(options.rounds)]
    alone, together = (min(times) / steps * 1e6 for times in zip(*rounds))
    print(f"{model} n{count} {alone:.1f} {together:.1f}", flush=True)


def measure_ranks(model: str, count: int, options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    data, kinds = data_of(model, count, True)
    loss: nn.Module = make(model, data, kinds)
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if size > 1:
        distributed.init_process_group("gloo")
        loss = DistributedDataParallel(loss, gradient_as_bucket_view=True)
    training = Training(loss, data, count, lambda i: i * size // count == rank)
    training.seconds(options.updates)
    rounds = [training.seconds(options.updates) for _ in range(options.rounds)]
    if rank == 0:
        median = statistics.median(rounds) / options.updates * 1e6
        print(f"{model} n{count} {median:.1f}", flush=True)
    if size > 1:
        distributed.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["threads", "ranks"])
    parser.add_argument("model", choices=["rnnlm", "tagger", "trees"])
    parser.add_argument("sentences", type=int, nargs="+", help="of an update")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--updates", type=int, default=10, help="of a round of ranks")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a round of threads")
    options = parser.parse_args()
    torch.set_flush_denormal(True)
    for count in options.sentences:
        measure = measure_threads if options.what == "threads" else measure_ranks
        measure(options.model, count, options)


if __name__ == "__main__":
    main()
