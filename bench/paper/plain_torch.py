"""The programs of plain.py with PyTorch: for one example, and batched by hand."""

from __future__ import annotations

import plain_networks as data
import torch
from plain_networks import SIZE, Node, Sentence
from torch import Tensor, nn
from torch.nn import functional as fn


class Program:
    """For one example."""

    def __init__(self, model: str):
        self.model = model
        self.w = {
            name: torch.tensor(value).requires_grad_()
            for name, value in data.weights(model).items()
        }
        for name in ("left", "right", "to", ""):
            if f"{name}Wi" in self.w:
                self.stack(name)

    def stack(self, name: str):
        """The gates i, f, u, o under each other, as nn.LSTM has them."""
        for kind in "WUb":
            parts = [self.w.pop(f"{name}{kind}{gate}").detach() for gate in "ifuo"]
            self.w[name + kind] = torch.cat(parts).requires_grad_()

    def step(self, name: str, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        w = self.w
        sums = fn.linear(x, w[f"{name}W"], w[f"{name}b"]) + fn.linear(h, w[f"{name}U"])
        i, f, u, o = sums.chunk(4, -1)
        c = torch.sigmoid(i) * torch.tanh(u) + torch.sigmoid(f) * c
        return torch.sigmoid(o) * torch.tanh(c), c

    def both(self, words: list[int]) -> Tensor:
        xs = self.w["words"][torch.tensor(words)].unsqueeze(0)
        return torch.cat([self.chain("left", xs), self.chain("right", xs.flip(1)).flip(1)], -1)[0]

    def chain(self, name: str, xs: Tensor) -> Tensor:
        """nn.LSTM with the weights of `name`, over {sentences, words, numbers}."""
        w = self.w
        zero = xs.new_zeros(1, len(xs), SIZE)
        flat = [w[f"{name}W"], w[f"{name}U"], w[f"{name}b"], torch.zeros_like(w[f"{name}b"])]
        return torch.lstm(xs, (zero, zero), flat, True, 1, 0.0, True, False, True)[0]

    def cell(self, x: Tensor, total: Tensor, hs: Tensor, cs: Tensor, owner: Tensor):
        """Nodes over the children `hs`, `cs`, of which child k belongs to node `owner[k]`."""
        w = self.w
        from_x = fn.linear(x, w["W"], w["b"])
        i, _, u, o = (from_x + fn.linear(total, w["U"])).chunk(4, -1)
        c = torch.sigmoid(i) * torch.tanh(u)
        if len(hs) != 0:
            gates = from_x[:, SIZE : 2 * SIZE][owner] + fn.linear(hs, w["U"][SIZE : 2 * SIZE])
            c = c.index_add(0, owner, torch.sigmoid(gates) * cs)
        return torch.sigmoid(o) * torch.tanh(c), c

    def scored(self, h: Tensor, labels: list[int]) -> Tensor:
        out = fn.linear(h, self.w["O"], self.w["o"])
        return fn.cross_entropy(out, torch.tensor(labels), reduction="sum")

    def tree(self, node: Node, losses: list) -> tuple[Tensor, Tensor]:
        children = [self.tree(child, losses) for child in node.children]
        none = self.w["words"].new_zeros(0, SIZE)
        hs = torch.cat([h for h, _ in children]) if children else none
        cs = torch.cat([c for _, c in children]) if children else none
        x = self.w["words"][node.word : node.word + 1]
        owner = torch.zeros(len(children), dtype=torch.long)
        h, c = self.cell(x, hs.sum(0, keepdim=True), hs, cs, owner)
        losses.append(self.scored(h, [node.label]))
        return h, c

    def crf(self, sentence: Sentence, losses: list):
        w = self.w
        emissions = fn.linear(self.both(sentence.words), w["O"], w["o"])
        alpha, tags = emissions[0], sentence.to
        for emission in emissions[1:]:
            alpha = torch.logsumexp(alpha + w["T"], 1) + emission
        gold = emissions[range(len(tags)), tags].sum() + w["T"][tags[1:], tags[:-1]].sum()
        losses.append(torch.logsumexp(alpha, 0) - gold)

    def translator(self, sentence: Sentence, losses: list):
        w = self.w
        memory = self.both(sentence.words)
        keys = memory @ w["K"].T
        context, word = memory.new_zeros(2 * SIZE), 0
        h = c = memory.new_zeros(SIZE)
        for target in sentence.to:
            h, c = self.step("to", torch.cat([w["targets"][word], context]), h, c)
            scores = torch.tanh(keys + w["Q"] @ h) @ w["v"][0]
            context = torch.softmax(scores, 0) @ memory
            losses.append(self.scored(torch.cat([h, context]).unsqueeze(0), [target]))
            word = target

    def losses(self, examples: list) -> Tensor:
        losses: list[Tensor] = []
        add = {"child-sum": self.tree, "crf": self.crf, "translator": self.translator}[self.model]
        for example in examples:
            add(example, losses)
        return torch.stack(losses).sum()

    def run(self, examples: list, trains: bool) -> float:
        with torch.set_grad_enabled(trains):
            loss = self.losses(examples)
        if trains:
            loss.backward()
            for weight in self.w.values():
                weight.grad = None
        return loss.item()


class ByHand(Program):
    """All examples at once, padded; trees height by height."""

    def both_padded(self, lists: list[list[int]]) -> tuple[Tensor, Tensor]:
        """{sentences, words, 2 SIZE}, and which words there are."""
        lengths = torch.tensor([len(words) for words in lists])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(words) for words in lists], True)
        at = torch.arange(padded.shape[1])
        back = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
        xs = self.w["words"][padded]
        turned = back.unsqueeze(-1).expand(-1, -1, SIZE)
        right = self.chain("right", xs.gather(1, turned)).gather(1, turned)
        return torch.cat([self.chain("left", xs), right], -1), at < lengths[:, None]

    def all_trees(self, examples: list) -> Tensor:
        levels: list[list[tuple[Node, int]]] = []  # nodes with the number of their parent
        below = [(tree, -1) for tree in examples]
        while below:
            levels.append(below)
            below = [(child, k) for k, (node, _) in enumerate(below) for child in node.children]
        losses = []
        hs = cs = self.w["words"].new_zeros(0, SIZE)
        owner = torch.zeros(0, dtype=torch.long)
        for level in reversed(levels):
            x = self.w["words"][torch.tensor([node.word for node, _ in level])]
            total = x.new_zeros(len(level), SIZE).index_add(0, owner, hs)
            hs, cs = self.cell(x, total, hs, cs, owner)
            owner = torch.tensor([parent for _, parent in level])
            losses.append(self.scored(hs, [node.label for node, _ in level]))
        return torch.stack(losses).sum()

    def all_crfs(self, examples: list) -> Tensor:
        w = self.w
        memory, there = self.both_padded([s.words for s in examples])
        emissions = fn.linear(memory, w["O"], w["o"])
        tags = nn.utils.rnn.pad_sequence([torch.tensor(s.to) for s in examples], True)
        alpha = emissions[:, 0]
        for t in range(1, emissions.shape[1]):
            new = torch.logsumexp(alpha.unsqueeze(1) + w["T"], 2) + emissions[:, t]
            alpha = torch.where(there[:, t : t + 1], new, alpha)
        gold = (emissions.gather(2, tags.unsqueeze(2)).squeeze(2) * there).sum()
        gold = gold + (w["T"][tags[:, 1:], tags[:, :-1]] * there[:, 1:]).sum()
        return torch.logsumexp(alpha, 1).sum() - gold

    def all_translators(self, examples: list) -> Tensor:
        w = self.w
        memory, there = self.both_padded([s.words for s in examples])
        keys = memory @ w["K"].T
        targets = nn.utils.rnn.pad_sequence([torch.tensor(s.to) for s in examples], True, -100)
        words = torch.cat([torch.zeros(len(examples), 1, dtype=torch.long), targets[:, :-1]], 1)
        words = words.clamp_min(0)
        context = memory.new_zeros(len(examples), 2 * SIZE)
        h = c = memory.new_zeros(len(examples), SIZE)
        outs = []
        for t in range(targets.shape[1]):
            h, c = self.step("to", torch.cat([w["targets"][words[:, t]], context], 1), h, c)
            scores = torch.tanh(keys + fn.linear(h, w["Q"]).unsqueeze(1)) @ w["v"][0]
            weights = torch.softmax(scores.masked_fill(~there, -torch.inf), 1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            outs.append(torch.cat([h, context], 1))
        out = fn.linear(torch.stack(outs, 1), w["O"], w["o"])
        return fn.cross_entropy(out.flatten(0, 1), targets.flatten(), reduction="sum")

    def losses(self, examples: list) -> Tensor:
        if self.model == "child-sum":
            return self.all_trees(examples)
        return self.all_crfs(examples) if self.model == "crf" else self.all_translators(examples)
