"""The rows of rows.cc in PyTorch, written by hand for batches: padded nn.LSTM, trees by level.

    torch_rows.py SECONDS [DEVICE [ROW...]]

Prints items per second of the clock, on generated data of the same sizes.
"""

from __future__ import annotations

import random
import sys
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

WORDS, TAGS, CLASSES, LEAST, MOST, STEPS, PRODUCTS = 10000, 10, 5, 6, 40, 20, 64
ROWS = [
    ("rnnlm", 256, 64),
    ("rnnlm", 1024, 64),
    ("tagger", 50, 1),
    ("tagger", 50, 64),
    ("tagger", 512, 64),
    ("trees", 128, 64),
    ("trees", 512, 64),
    ("products", 1024, 1),
    ("products", 1024, 8),
    ("products", 1024, 64),
    ("products", 1024, 1024),
]


def words(n: int) -> torch.Tensor:
    return torch.tensor([random.randrange(WORDS) for _ in range(n)])


class LanguageModel(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, hidden)
        self.lstm = nn.LSTM(hidden, hidden)
        self.out = nn.Linear(hidden, WORDS, bias=False)

    def loss(self, examples: int, device: str) -> tuple[torch.Tensor, int]:
        text = torch.randint(WORDS, (2, STEPS, examples)).to(device)
        h, _ = self.lstm(self.table(text[0]))
        loss = nn.functional.cross_entropy(
            self.out(h).flatten(0, 1), text[1].flatten(), reduction="sum"
        )
        return loss, STEPS * examples


class Tagger(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, hidden)
        self.lstm = nn.LSTM(hidden, hidden, bidirectional=True)
        self.out = nn.Linear(2 * hidden, TAGS, bias=False)

    def loss(self, examples: int, device: str) -> tuple[torch.Tensor, int]:
        text = [words(random.randint(LEAST, MOST)) for _ in range(examples)]
        packed = pack_sequence(text, enforce_sorted=False).to(device)
        h, _ = self.lstm(packed._replace(data=self.table(packed.data)))
        tags = torch.randint(TAGS, (h.data.shape[0],)).to(device)
        return nn.functional.cross_entropy(self.out(h.data), tags, reduction="sum"), len(tags)


class Trees(nn.Module):
    """Nodes by height: all nodes of one height are one call."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, hidden)
        self.leaf = nn.Linear(hidden, 3 * hidden)
        self.node = nn.Linear(2 * hidden, 5 * hidden)
        self.out = nn.Linear(hidden, CLASSES, bias=False)

    @staticmethod
    def levels(examples: int) -> tuple[int, list[list[tuple[int, int, int]]]]:
        leaves = 0
        nodes: list[tuple[int, int, int]] = []  # height, left, right; leaves are before nodes
        sizes = [random.randint(LEAST, MOST) for _ in range(examples)]
        total = sum(sizes)
        for size in sizes:
            open_ = [(0, leaves + k) for k in range(size)]
            leaves += size
            while len(open_) > 1:
                at = random.randrange(len(open_) - 1)
                (a, left), (b, right) = open_[at : at + 2]
                open_[at : at + 2] = [(max(a, b) + 1, total + len(nodes))]
                nodes.append((max(a, b) + 1, left, right))
        by_height: dict[int, list[tuple[int, int, int]]] = {}
        for k, (height, left, right) in enumerate(nodes):
            by_height.setdefault(height, []).append((total + k, left, right))
        return total, [by_height[h] for h in sorted(by_height)]

    def loss(self, examples: int, device: str) -> tuple[torch.Tensor, int]:
        total, levels = self.levels(examples)
        i, o, u = self.leaf(self.table(words(total).to(device))).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
        place = {k: k for k in range(total)}
        hs, cs = h, c
        for level in levels:
            left = torch.tensor([place[a] for _, a, _ in level]).to(device)
            right = torch.tensor([place[b] for _, _, b in level]).to(device)
            i, o, u, f, g = self.node(torch.cat([hs[left], hs[right]], 1)).chunk(5, 1)
            c = (
                torch.sigmoid(i) * torch.tanh(u)
                + torch.sigmoid(f) * cs[left]
                + torch.sigmoid(g) * cs[right]
            )
            h = torch.sigmoid(o) * torch.tanh(c)
            for k, (node, _, _) in enumerate(level):
                place[node] = len(hs) + k
            hs, cs = torch.cat([hs, h]), torch.cat([cs, c])
        labels = torch.randint(CLASSES, (len(hs),)).to(device)
        return nn.functional.cross_entropy(self.out(hs), labels, reduction="sum"), examples


MODELS = {"rnnlm": LanguageModel, "tagger": Tagger, "trees": Trees}


def run(name: str, hidden: int, examples: int, seconds: float, device: str) -> None:
    random.seed(1)
    torch.manual_seed(1)

    def wait() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize()

    @torch.no_grad()
    def multiply() -> float:
        y = x
        for _ in range(PRODUCTS):
            y = w @ y
        wait()
        return 1e-6 * PRODUCTS * hidden * hidden * examples

    def update() -> float:
        optimizer.zero_grad()
        loss, items = model.loss(examples, device)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        wait()
        return items

    step = update
    if name == "products":
        w = torch.randn(hidden, hidden, device=device) / hidden**0.5
        x = torch.ones(hidden, examples, device=device)
        step, seconds = multiply, seconds / 4
    else:
        model = MODELS[name](hidden).to(device)
        optimizer = torch.optim.Adam(model.parameters())
    step()
    begin, items, updates = time.perf_counter(), 0.0, 0
    while not updates or time.perf_counter() - begin < seconds:
        items += step()
        updates += 1
    took = time.perf_counter() - begin
    row = f"{name} H{hidden} n{examples}"
    print(
        row,
        f"{items / took:.1f}",
        f"{1e3 * took / updates:.3f}",
        updates,
        "-",
        sep="\t",
        flush=True,
    )


if __name__ == "__main__":
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"
    for name, hidden, examples in ROWS:
        if not sys.argv[3:] or f"{name} H{hidden} n{examples}" in sys.argv[3:]:
            run(name, hidden, examples, float(sys.argv[1]), device)
