#!/usr/bin/env python3
"""The language model, batched by hand: one LSTM call over a padded group, one product of all its
states with the softmax matrix."""

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
        self.lstm = nn.LSTM(128, 256)
        self.output = nn.Linear(256, words)
        harness.init_lstm(self.lstm)
        harness.glorot(self.output.weight)
        nn.init.zeros_(self.output.bias)

    def loss(self, sentences):
        targets = pad_sequence([torch.tensor(s) for s in sentences], padding_value=-1)
        inputs = torch.full_like(targets, corpora.END)
        inputs[1:] = targets[:-1].clamp(min=0)
        states, _ = self.lstm(self.words(inputs))
        real = targets >= 0
        scores = self.output(states[real])
        loss = functional.cross_entropy(scores, targets[real], reduction="sum")
        return loss, scores.shape[0]

    def score(self, dev):
        dev = sorted(dev, key=len)
        total = sum(self.loss(dev[i : i + 16])[0].item() for i in range(0, len(dev), 16))
        return math.exp(total / sum(map(len, dev)))


def main():
    options = harness.parse_options(__doc__)
    text = corpora.read_text(options.train, options.dev)
    groups = corpora.shuffled_by_length(text.train, options.minibatch, options.seed)
    model = Model(text.words, options.lookup_updates)
    harness.train(model, groups, text.dev, -(-len(text.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
