"""The tagger of the paper: an LSTM from the left and one from the right read a sentence, and a
small network names the tag of each word. Words that are spelled are read by two LSTMs as well."""

from __future__ import annotations

import dynet as dy

from model_file import Settings, add_table
from sentences import Sentence, Word


class Tagger:
    def __init__(self, s: Settings) -> None:
        self.m = dy.ParameterCollection()
        self.words = add_table(self.m, max(s["rows"], s["words"]), s["embedding"])
        if s["characters"]:
            self.letters = add_table(self.m, s["characters"], s["character-embedding"])
            self.spelling = self.both_ways(s["character-embedding"], s["character-hidden"])
        self.reading = self.both_ways(s["embedding"], s["hidden"])
        self.hidden = self.m.add_parameters((s["mlp"], 2 * s["hidden"]))
        self.output = self.m.add_parameters((s["tags"], s["mlp"]))

    def both_ways(self, size: int, hidden: int) -> list[dy.VanillaLSTMBuilder]:
        """One LSTM reads from the left, one from the right."""
        return [dy.VanillaLSTMBuilder(1, size, hidden, self.m) for _ in range(2)]

    def spell(self, word: list[int]) -> dy.Expression:
        left, right = (lstm.initial_state() for lstm in self.spelling)
        for letter in word:
            left = left.add_input(self.letters[letter])
        for letter in reversed(word):
            right = right.add_input(self.letters[letter])
        return dy.concatenate([left.output(), right.output()])

    def represent(self, words: list[Word]) -> list[dy.Expression]:
        return [self.words[w] if isinstance(w, int) else self.spell(w) for w in words]

    def scores(self, words: list[Word]) -> list[dy.Expression]:
        """Of the tags of each word."""
        xs = self.represent(words)
        left, right = (lstm.initial_state() for lstm in self.reading)
        scores = []
        for x, h in zip(reversed(xs), reversed(left.transduce(xs))):
            right = right.add_input(x)
            both = dy.concatenate([h, right.output()])
            scores.append(self.output * dy.tanh(self.hidden * both))
        return scores[::-1]

    def loss(self, sentence: Sentence) -> dy.Expression:
        """The sum of the losses of all words."""
        scores = self.scores(sentence.words)
        return dy.esum([dy.pickneglogsoftmax(s, tag) for s, tag in zip(scores, sentence.tags)])
