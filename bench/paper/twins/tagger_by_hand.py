#!/usr/bin/env python3
"""The tagger, batched by hand: two LSTM calls for all sentences of an update, two for all words
that are spelled.

Sequences are padded, and the backward direction is a forward LSTM over reversed sequences. Packed
sequences and a bidirectional LSTM give the same results and take three times longer on a CPU,
because only plain LSTMs reach the fast library.
"""

import corpora
import harness
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence


class BothWays(nn.Module):
    """A bidirectional LSTM over padded sequences, {time, sequences, inputs}."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.ahead = nn.LSTM(inputs, hidden)
        self.back = nn.LSTM(inputs, hidden)
        harness.init_lstm(self.ahead)
        harness.init_lstm(self.back)

    def forward(self, x, lengths):
        """The states of both directions. Time t of a sequence is time t' = length - 1 - t in
        reverse."""
        time = torch.arange(len(x)).unsqueeze(1)
        mirrored = (lengths - 1 - time).where(time < lengths, time)
        mirrored = (mirrored * len(lengths) + torch.arange(len(lengths))).view(-1)
        ahead, _ = self.ahead(x)
        back, _ = self.back(x.flatten(0, 1)[mirrored].view_as(x))
        return ahead, back, mirrored


class Model(nn.Module):
    def __init__(self, corpus, characters, mode):
        super().__init__()
        self.words = harness.embedding(corpora.TABLE_ROWS, 128, mode)
        self.tagger = BothWays(128, 50)
        self.hidden = nn.Linear(100, 32, bias=False)
        self.output = nn.Linear(32, corpus.tags, bias=False)
        self.characters = None
        if characters:
            self.characters = harness.embedding(corpus.characters, 20, mode)
            self.speller = BothWays(20, 64)
        harness.glorot(self.hidden.weight, self.output.weight)

    def spell(self, words):
        lengths = torch.tensor([len(w) for w in words])
        letters = pad_sequence([torch.tensor(w) for w in words])
        ahead, back, _ = self.speller(self.characters(letters), lengths)
        last = lengths - 1
        each = torch.arange(len(words))
        return torch.cat([ahead[last, each], back[last, each]], 1)

    def forward(self, sentences):
        """Scores and tags of all words."""
        lengths = torch.tensor([len(s) for s in sentences])
        words = pad_sequence([torch.tensor([w.word for w in s]) for s in sentences])
        tags = pad_sequence([torch.tensor([w.tag for w in s]) for s in sentences], padding_value=-1)
        inputs = self.words(words)
        if self.characters is not None:
            rare = [
                (t * len(sentences) + i, word.characters)
                for i, sentence in enumerate(sentences)
                for t, word in enumerate(sentence)
                if word.characters
            ]
            if rare:
                places, spelled = zip(*rare)
                spelling = self.spell(spelled)
                flat = inputs.view(-1, 128).index_copy(0, torch.tensor(places), spelling)
                inputs = flat.view_as(inputs)
        ahead, back, mirrored = self.tagger(inputs, lengths)
        real = (tags.view(-1) >= 0).nonzero().squeeze(1)
        states = [ahead.view(-1, 50)[real], back.view(-1, 50)[mirrored[real]]]
        scores = self.output(torch.tanh(self.hidden(torch.cat(states, 1))))
        return scores, tags.view(-1)[real]

    def loss(self, sentences):
        scores, tags = self(sentences)
        return functional.cross_entropy(scores, tags, reduction="sum"), len(tags)

    def score(self, dev):
        right = 0
        for i in range(0, len(dev), 64):
            scores, tags = self(dev[i : i + 64])
            right += (scores.argmax(1) == tags).sum().item()
        return right / sum(map(len, dev))


def main():
    options = harness.parse_options(__doc__)
    corpus = corpora.read_tagging(options.train, options.dev)
    groups = corpora.shuffled(corpus.train, options.minibatch, options.seed)
    model = Model(corpus, options.characters, options.lookup_updates)
    harness.train(model, groups, corpus.dev, -(-len(corpus.train) // options.minibatch), options)


if __name__ == "__main__":
    main()
