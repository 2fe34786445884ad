"""The common code of the twins: the command line, Adam, the training loop, the clock, the output.

A twin is one file with a ``Model``; ``Twin`` lists its functions. The final line and the curve have
the form of our own programs, because the runner reads both alike.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import time
from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor, nn

CLIP_NORM = 5.0
RATE = 0.001
BETAS = (0.9, 0.999)
EPSILON = 1e-8


class Twin(Protocol):
    """The functions of a model that ``train`` calls."""

    def loss(self, group: list) -> tuple[Tensor, int]:
        """The loss summed over a group of sentences, and how many items (words, trees) it has."""

    def score(self, dev: list) -> float:
        """Accuracy, from 0 to 1, or perplexity."""


class RowAdam:
    """Adam on the rows of a table that got a gradient, all at one count of steps.
    ``torch.optim.SparseAdam`` does the same, and takes 1.6 to 2 times longer."""

    def __init__(self, table: nn.Parameter) -> None:
        self.table = table
        self.mean = torch.zeros_like(table)
        self.square = torch.zeros_like(table)
        self.steps = 0

    @torch.no_grad()
    def step(self, rows: Tensor, gradient: Tensor) -> None:
        self.steps += 1
        mean = self.mean[rows].lerp_(gradient, 1 - BETAS[0])
        square = self.square[rows].mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        self.mean[rows] = mean
        self.square[rows] = square
        correction = math.sqrt(1 - BETAS[1] ** self.steps)
        rate = RATE * correction / (1 - BETAS[0] ** self.steps)
        change = mean.div_(square.sqrt_().add_(EPSILON * correction))
        self.table.index_add_(0, rows, change, alpha=-rate)


class Optimizer:
    """Clips the norm of all gradients, then Adam; tables with sparse gradients by rows."""

    def __init__(self, model: nn.Module) -> None:
        tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding) and m.sparse}
        self.dense = [p for p in model.parameters() if id(p) not in tables]
        self.tables = [RowAdam(p) for p in model.parameters() if id(p) in tables]
        self.adam = torch.optim.Adam(self.dense, RATE, BETAS, EPSILON, fused=True)

    @torch.no_grad()
    def update(self) -> None:
        gradients = [p.grad for p in self.dense if p.grad is not None]
        by_rows = []
        for table in self.tables:
            if table.table.grad is not None:
                gradient = table.table.grad.coalesce()
                by_rows.append((table, gradient.indices()[0], gradient.values()))
        everything = gradients + [values for _, _, values in by_rows]
        norm = float(torch.nn.utils.get_total_norm(everything))
        if norm > CLIP_NORM:
            torch._foreach_mul_(everything, CLIP_NORM / norm)
        self.adam.step()
        for table, rows, values in by_rows:
            table.step(rows, values)
            table.table.grad = None
        self.adam.zero_grad()


def glorot(*weights: Tensor) -> None:
    """The initial values of our library: matrices that are read together count as they are."""
    for weight in weights:
        limit = math.sqrt(6.0 / (weight.shape[0] + weight.shape[1]))
        nn.init.uniform_(weight, -limit, limit)


def embedding(rows: int, width: int, mode: str) -> nn.Embedding:
    table = nn.Embedding(rows, width, sparse=mode == "sparse")
    limit = math.sqrt(3.0 / width)
    nn.init.uniform_(table.weight, -limit, limit)
    return table


def init_lstm(lstm: nn.Module) -> None:
    """Glorot, and a forget gate that starts open."""
    for name, weight in lstm.named_parameters():
        if weight.dim() == 2:
            glorot(weight)
        else:
            nn.init.zeros_(weight)
            if name.startswith("bias_ih"):
                quarter = len(weight) // 4
                nn.init.ones_(weight[quarter : 2 * quarter])


def parse_options(description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--train", required=True, help="corpus")
    parser.add_argument("--dev", help="corpus to test on; none: no test")
    parser.add_argument("--epochs", type=int, default=1, help="passes over the corpus (1)")
    parser.add_argument("--updates", type=int, default=0, help="end after so many")
    parser.add_argument("--max-seconds", type=float, default=0, help="end after so many, CPU")
    parser.add_argument("--minibatch", type=int, default=1, help="sentences an update (1)")
    parser.add_argument(
        "--lookup-updates", choices=["sparse", "dense"], default="sparse", help="(sparse)"
    )
    parser.add_argument("--characters", action="store_true", help="spell rare words")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", help="write the learning curve to this file")
    parser.add_argument("--test-every", type=int, default=0, help="updates between tests (epoch)")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    return options


def seconds_since_start() -> float:
    """Since the system started this process."""
    with open("/proc/self/stat", encoding="ascii") as stat:
        ticks = int(stat.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/uptime", encoding="ascii") as uptime:
        return float(uptime.read().split()[0]) - ticks / os.sysconf("SC_CLK_TCK")


class _Curve:
    def __init__(self, file: str | None) -> None:
        self.out = open(file, "w", encoding="ascii") if file else None  # noqa: SIM115
        if self.out:
            print("updates,seconds,items,train_loss,dev_score", file=self.out)

    def add(self, updates: int, seconds: float, items: int, loss: float, score: float) -> None:
        if self.out:
            shown = "" if math.isnan(score) else f"{score:.6g}"
            print(f"{updates},{seconds:.3f},{items},{loss:.6g},{shown}", file=self.out, flush=True)


def train(
    model: nn.Module, groups: Iterator[list], dev: list, epoch: int, options: argparse.Namespace
) -> None:
    """Trains on ``groups``, of which ``epoch`` are one pass, and prints the final line."""
    optimizer = Optimizer(model)
    last = options.updates or options.epochs * epoch
    test_every = options.test_every or epoch
    curve = _Curve(options.curve)
    items = updates = recent_items = 0
    seconds = recent_loss = first_update_at = 0.0
    while updates < last and not 0 < options.max_seconds <= seconds:
        start = time.process_time()
        group = next(groups)
        loss, count = model.loss(group)
        loss.backward()
        optimizer.update()
        recent_loss += loss.item()
        seconds += time.process_time() - start
        updates += 1
        items += count
        recent_items += count
        if updates == 1:
            first_update_at = seconds_since_start()
        is_last = updates == last or 0 < options.max_seconds <= seconds
        if updates % test_every == 0 or is_last:
            score = math.nan
            if dev:
                with torch.inference_mode():
                    score = model.score(dev)
            mean = recent_loss / recent_items
            curve.add(updates, seconds, items, mean, score)
            if not options.quiet:
                print(f"{updates} updates, {seconds:.1f} s: loss {mean:.4f}, dev {score:.6g}")
            recent_loss, recent_items = 0.0, 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"trained {items} items in {seconds:.3f} cpu-seconds: {items / seconds:.1f} items/s; "
        f"peak memory {peak:.1f} MiB; first-update-at {first_update_at:.2f} s after start"
    )
