#!/usr/bin/env python3
"""The tagger, a sentence and a spelled word at a time."""

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional


class Model(nn.Module):
    def __init__(self, corpus, characters, mode):
        super().__init__()
        self.words = harness.embedding(corpora.TABLE_ROWS, 128, mode)
        self.tagger = nn.LSTM(128, 50, bidirectional=True)
        self.hidden = nn.Linear(100, 32, bias=False)
        self.output = nn.Linear(32, corpus.tags, bias=False)
        harness.init_lstm(self.tagger)
        self.characters = None
        if characters:
            self.characters = harness.embedding(corpus.characters, 20, mode)
            self.speller = nn.LSTM(20, 64, bidirectional=True)
            harness.init_lstm(self.speller)
        harness.glorot(self.hidden.weight, self.output.weight)

    def spell(self, word):
        _, (last, _) = self.speller(self.characters(torch.tensor(word.characters)))
        return last.view(128)

    def scores(self, sentence):
        inputs = self.words(torch.tensor([word.word for word in sentence]))
        if self.characters is not None:
            rows = [
                self.spell(word) if word.characters else row for word, row in zip(sentence, inputs)
            ]
            inputs = torch.stack(rows)
        states, _ = self.tagger(inputs)
        return self.output(torch.tanh(self.hidden(states)))

    def loss(self, sentences):
        losses = []
        for sentence in sentences:
            tags = torch.tensor([word.tag for word in sentence])
            scores = self.scores(sentence)
            losses.append(functional.cross_entropy(scores, tags, reduction="sum"))
        return torch.stack(losses).sum(), sum(map(len, sentences))

    def score(self, dev):
        right = 0
        for sentence in dev:
            tags = torch.tensor([word.tag for word in sentence])
            right += (self.scores(sentence).argmax(1) == tags).sum().item()
        return right / sum(map(len, dev))


def main():
    options = harness.parse_options(__doc__)
    corpus = corpora.read_tagging(options.train, options.dev)
    groups = corpora.shuffled(corpus.train, options.minibatch, options.seed)
    model = Model(corpus, options.characters, options.lookup_updates)
    harness.train(model, groups, corpus.dev, -(-len(corpus.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
