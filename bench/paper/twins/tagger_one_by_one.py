#!/usr/bin/env python3
"""The tagger, a word and a character at a time."""

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional


def last_state(cell, inputs):
    state = None
    for x in inputs:
        state = cell(x, state)
    return state[0]


def all_states(cell, inputs):
    state = None
    states = []
    for x in inputs:
        state = cell(x, state)
        states.append(state[0])
    return states


class Model(nn.Module):
    def __init__(self, corpus, characters, mode):
        super().__init__()
        self.words = harness.embedding(corpora.TABLE_ROWS, 128, mode)
        self.forward_cell = nn.LSTMCell(128, 50)
        self.backward_cell = nn.LSTMCell(128, 50)
        self.hidden = nn.Linear(100, 32, bias=False)
        self.output = nn.Linear(32, corpus.tags, bias=False)
        cells = [self.forward_cell, self.backward_cell]
        self.characters = None
        if characters:
            self.characters = harness.embedding(corpus.characters, 20, mode)
            self.forward_speller = nn.LSTMCell(20, 64)
            self.backward_speller = nn.LSTMCell(20, 64)
            cells += [self.forward_speller, self.backward_speller]
        for cell in cells:
            harness.init_lstm(cell)
        harness.glorot(self.hidden.weight, self.output.weight)

    def represent(self, word):
        if self.characters is None or not word.characters:
            return self.words(torch.tensor([word.word]))
        letters = [self.characters(torch.tensor([c])) for c in word.characters]
        ahead = last_state(self.forward_speller, letters)
        back = last_state(self.backward_speller, reversed(letters))
        return torch.cat([ahead, back], 1)

    def scores(self, sentence):
        inputs = [self.represent(word) for word in sentence]
        ahead = all_states(self.forward_cell, inputs)
        back = reversed(all_states(self.backward_cell, reversed(inputs)))
        both = [torch.cat(pair, 1) for pair in zip(ahead, back)]
        return [self.output(torch.tanh(self.hidden(x))) for x in both]

    def loss(self, sentences):
        losses = []
        for sentence in sentences:
            for word, scores in zip(sentence, self.scores(sentence)):
                losses.append(functional.cross_entropy(scores, torch.tensor([word.tag])))
        return torch.stack(losses).sum(), len(losses)

    def score(self, dev):
        right = 0
        for sentence in dev:
            for word, scores in zip(sentence, self.scores(sentence)):
                right += scores.argmax().item() == word.tag
        return right / sum(map(len, dev))


def main():
    options = harness.parse_options(__doc__)
    corpus = corpora.read_tagging(options.train, options.dev)
    groups = corpora.shuffled(corpus.train, options.minibatch, options.seed)
    model = Model(corpus, options.characters, options.lookup_updates)
    harness.train(model, groups, corpus.dev, -(-len(corpus.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
