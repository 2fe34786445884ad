#!/usr/bin/env python3
"""The tree LSTM, a node at a time."""

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def __init__(self, words, mode):
        super().__init__()
        self.words = harness.embedding(words, 128, mode)
        self.word_gates = nn.ModuleList(nn.Linear(128, 128) for _ in range(3))
        self.node_gates = nn.ModuleList(nn.Linear(256, 128, bias=False) for _ in range(3))
        self.forget = nn.ModuleList(nn.Linear(128, 128, bias=False) for _ in range(2))
        self.forget_bias = nn.Parameter(torch.zeros(128))
        self.classes = nn.Linear(128, corpora.CLASSES, bias=False)
        for linear in self.modules():
            if isinstance(linear, nn.Linear):
                harness.glorot(linear.weight)
        for gate in self.word_gates:
            nn.init.zeros_(gate.bias)

    def leaf(self, x):
        i, o, u = (gate(x) for gate in self.word_gates)
        c = torch.sigmoid(i) * torch.tanh(u)
        return torch.sigmoid(o) * torch.tanh(c), c

    def join(self, left, right):
        h = torch.cat([left[0], right[0]], 1)
        i, o, u = (
            gate(h) + word_gate.bias for gate, word_gate in zip(self.node_gates, self.word_gates)
        )
        c = torch.sigmoid(i) * torch.tanh(u)
        for (h_k, c_k), forget in zip((left, right), self.forget):
            c = c + torch.sigmoid(forget(h_k) + self.forget_bias) * c_k
        return torch.sigmoid(o) * torch.tanh(c), c

    def scores(self, tree):
        words = torch.tensor([node.symbol for node in tree.nodes if node.left < 0])
        leaves = iter(self.words(words).unsqueeze(1))
        states = []
        for node in tree.nodes:
            if node.left < 0:
                states.append(self.leaf(next(leaves)))
            else:
                states.append(self.join(states[node.left], states[node.right]))
        return self.classes(torch.cat([h for h, _ in states]))

    def loss(self, trees):
        losses = []
        for tree in trees:
            labels = torch.tensor([node.label for node in tree.nodes])
            losses.append(functional.cross_entropy(self.scores(tree), labels, reduction="sum"))
        return torch.stack(losses).sum(), len(trees)

    def score(self, dev):
        right = sum(self.scores(tree)[-1].argmax().item() == tree.root.label for tree in dev)
        return right / len(dev)


def main():
    options = harness.parse_options(__doc__)
    corpus = corpora.read_trees(options.train, options.dev)
    groups = corpora.shuffled(corpus.train, options.minibatch, options.seed)
    model = Model(corpus.words, options.lookup_updates)
    harness.train(model, groups, corpus.dev, -(-len(corpus.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
