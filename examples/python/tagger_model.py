"""The tagger of the paper: an LSTM from the left and one from the right read a sentence, and a
small network names the tag of each word. Words that are spelled are read by two LSTMs as well."""

from __future__ import annotations

import dynet as dy

from model_file import Settings, add_table
from sentences import Sentence


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

    def both_ways(self, size: int, hidden: int) -> dy.BiRNNBuilder:
        return dy.BiRNNBuilder(1, size, 2 * hidden, self.m, dy.VanillaLSTMBuilder)

    def spell(self, word: list[int]) -> dy.Expression:
        """The last outputs of both LSTMs."""
        return self.spelling.back(self.letters.rows(word))

    def read(self, sentence: Sentence) -> list[dy.Expression]:
        """The outputs of both readers at each word."""
        xs = self.words.rows(sentence.words)
        for place, letters in sentence.spelled:
            xs[place] = self.spell(letters)
        return self.reading.transduce(xs)

    def scores(self, read: list[dy.Expression]) -> list[dy.Expression]:
        """The scores of the tags of each word, from the outputs of ``read``."""
        hidden, output, tanh = self.hidden, self.output, dy.tanh  # looked up once: a hot loop
        return [output * tanh(hidden * x) for x in read]

    def loss(self, sentence: Sentence) -> dy.Expression:
        """The sum of the losses of all words."""
        scores = self.scores(self.read(sentence))
        return dy.esum(list(map(dy.pickneglogsoftmax, scores, sentence.tags)))
