#!/usr/bin/env python3
"""The language model, a step at a time: a cell in a loop."""

import math

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence


class Model(nn.Module):
    def __init__(self, words, mode):
        super().__init__()
        self.words = harness.embedding(words, 128, mode)
        self.cell = nn.LSTMCell(128, 256)
        self.output = nn.Linear(256, words)
        harness.init_lstm(self.cell)
        harness.glorot(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def loss(self, sentences):
        targets = pad_sequence([torch.tensor(s) for s in sentences], padding_value=-1)
        inputs = torch.full_like(targets, corpora.END)
        inputs[1:] = targets[:-1].clamp(min=0)
        state = None
        states = []
        for x in self.words(inputs):
            state = self.cell(x, state)
            states.append(state[0])
        scores = self.output(torch.cat(states))
        loss = functional.cross_entropy(scores, targets.view(-1), ignore_index=-1, reduction="sum")
        return loss, sum(map(len, sentences))

    def score(self, dev):
        total = sum(self.loss([sentence])[0].item() for sentence in dev)
        return math.exp(total / sum(map(len, dev)))


def main():
    options = harness.parse_options(__doc__)
    text = corpora.read_text(options.train, options.dev)
    groups = corpora.shuffled_by_length(text.train, options.minibatch, options.seed)
    model = Model(text.words, options.lookup_updates)
    harness.train(model, groups, text.dev, -(-len(text.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
