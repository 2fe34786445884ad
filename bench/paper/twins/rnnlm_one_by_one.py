#!/usr/bin/env python3
"""The language model, a word at a time: what one writes who thinks of one word."""

import math

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional


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
        n = len(sentences)
        longest = max(map(len, sentences))
        state = None
        losses = []
        word = torch.full((n,), corpora.END)
        for t in range(longest):
            state = self.cell(self.words(word), state)
            word = torch.tensor([s[t] if t < len(s) else -1 for s in sentences])
            scores = self.output(state[0])
            losses.append(functional.cross_entropy(scores, word, ignore_index=-1, reduction="sum"))
            word = word.clamp(min=0)
        return torch.stack(losses).sum(), sum(map(len, sentences))

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
