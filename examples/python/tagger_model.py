"""The tagger of the paper: an LSTM from the left and one from the right read a sentence, and a
small network names the tag of each word. Words that are spelled are read by two LSTMs as well."""

from __future__ import annotations

import dynet as dy

from model_file import Settings, add_table
from sentences import Sentence, Word

BothWays = list[dy.VanillaLSTMBuilder]  # one reads from the left, one from the right
Outputs = list[dy.Expression]


def read(lstms: BothWays, xs: list[dy.Expression]) -> tuple[Outputs, Outputs]:
    """The outputs of both after they have read each of ``xs``."""
    left, right = lstms
    from_right = right.initial_state().transduce(xs[::-1])
    return left.initial_state().transduce(xs), from_right[::-1]


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

    def both_ways(self, size: int, hidden: int) -> BothWays:
        return [dy.VanillaLSTMBuilder(1, size, hidden, self.m) for _ in range(2)]

    def spell(self, word: list[int]) -> dy.Expression:
        left, right = read(self.spelling, [self.letters[letter] for letter in word])
        return dy.concatenate([left[-1], right[0]])

    def represent(self, words: list[Word]) -> list[dy.Expression]:
        return [self.words[w] if isinstance(w, int) else self.spell(w) for w in words]

    def scores(self, words: list[Word]) -> list[dy.Expression]:
        """Of the tags of each word."""
        states = zip(*read(self.reading, self.represent(words)))
        return [self.output * dy.tanh(self.hidden * dy.concatenate(both)) for both in states]

    def loss(self, sentence: Sentence) -> dy.Expression:
        """The sum of the losses of all words."""
        scores = self.scores(sentence.words)
        return dy.esum([dy.pickneglogsoftmax(s, tag) for s, tag in zip(scores, sentence.tags)])
