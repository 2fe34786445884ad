#!/usr/bin/env python3
"""The tree LSTM, batched by hand: all words of an update at once, then all nodes of one height.

States that a later node still needs travel in one matrix [h, c] from height to height, so that a
height costs one selection and one concatenation of live states.
"""

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional


def by_height(trees):
    """Words, heights as (lefts, rights, kept) in rows of the live states, labels in the order of
    making states, and the places of the roots in that order."""
    nodes, heights, parents = [], [], []
    for tree in trees:
        first = len(nodes)
        for node in tree.nodes:
            nodes.append(node)
            parents.append(-1)
            if node.left < 0:
                heights.append(0)
            else:
                left, right = first + node.left, first + node.right
                parents[left] = parents[right] = len(nodes) - 1
                heights.append(1 + max(heights[left], heights[right]))
    firsts = []
    for tree in trees:
        firsts += [len(firsts)] * len(tree.nodes)
    levels = [[] for _ in range(1 + max(heights))]
    for i, height in enumerate(heights):
        levels[height].append(i)
    alive = levels[0]
    steps = []
    for level in levels[1:]:
        row = {i: k for k, i in enumerate(alive)}
        lefts = [row[firsts[i] + nodes[i].left] for i in level]
        rights = [row[firsts[i] + nodes[i].right] for i in level]
        kept = [i for i in alive if parents[i] >= 0 and heights[parents[i]] > heights[level[0]]]
        steps.append((lefts, rights, [row[i] for i in kept]))
        alive = kept + level
    order = [i for level in levels for i in level]
    labels = [nodes[i].label for i in order]
    roots = [k for k, i in enumerate(order) if parents[i] < 0]
    return [nodes[i].symbol for i in levels[0]], steps, labels, roots


class Model(nn.Module):
    def __init__(self, words, mode):
        super().__init__()
        self.words = harness.embedding(words, 128, mode)
        self.word_gates = nn.Parameter(torch.empty(3, 128, 128))  # input, output, candidate
        self.node_gates = nn.Parameter(torch.empty(3, 128, 256))
        self.bias = nn.Parameter(torch.zeros(3 * 128))
        self.forget = nn.Parameter(torch.empty(2, 128, 128))
        self.forget_bias = nn.Parameter(torch.zeros(128))
        self.classes = nn.Linear(128, corpora.CLASSES, bias=False)
        with torch.no_grad():
            harness.glorot(*self.word_gates, *self.node_gates, *self.forget, self.classes.weight)

    def states(self, words, steps):
        i, o, u = functional.linear(
            self.words(torch.tensor(words)), self.word_gates.flatten(0, 1), self.bias
        ).chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u)
        h = torch.sigmoid(o) * torch.tanh(c)
        made = [h]
        alive = torch.cat([h, c], 1)
        gates = self.node_gates.flatten(0, 1).t()
        forget = self.forget.transpose(1, 2)
        for lefts, rights, kept in steps:
            n = len(lefts)
            chosen = alive.index_select(0, torch.tensor(lefts + rights + kept))
            h_children = chosen[: 2 * n, :128].view(2, n, 128)
            c_children = chosen[: 2 * n, 128:].view(2, n, 128)
            both = h_children.transpose(0, 1).reshape(n, 256)
            i, o, u = torch.addmm(self.bias, both, gates).chunk(3, 1)
            f = torch.sigmoid(torch.baddbmm(self.forget_bias, h_children, forget))
            c = torch.sigmoid(i) * torch.tanh(u) + (f * c_children).sum(0)
            h = torch.sigmoid(o) * torch.tanh(c)
            made.append(h)
            alive = torch.cat([chosen[2 * n :], torch.cat([h, c], 1)])
        return torch.cat(made)

    def forward(self, trees):
        words, steps, labels, roots = by_height(trees)
        return self.classes(self.states(words, steps)), torch.tensor(labels), roots

    def loss(self, trees):
        scores, labels, _ = self(trees)
        return functional.cross_entropy(scores, labels, reduction="sum"), len(trees)

    def score(self, dev):
        right = 0
        for first in range(0, len(dev), 64):
            scores, labels, roots = self(dev[first : first + 64])
            right += (scores[roots].argmax(1) == labels[roots]).sum().item()
        return right / len(dev)


def main():
    options = harness.parse_options(__doc__)
    corpus = corpora.read_trees(options.train, options.dev)
    groups = corpora.shuffled(corpus.train, options.minibatch, options.seed)
    model = Model(corpus.words, options.lookup_updates)
    harness.train(model, groups, corpus.dev, -(-len(corpus.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
