"""The language model of the paper: a table of words, one LSTM, and a softmax over all words. A
sentence starts with the end mark of the one before it."""

from __future__ import annotations

import dynet as dy
import numpy as np

from model_file import Settings, add_table
from sentences import END


class Rnnlm:
    def __init__(self, s: Settings) -> None:
        self.m = dy.ParameterCollection()
        self.words = add_table(self.m, s["words"], s["embedding"])
        self.lstm = dy.VanillaLSTMBuilder(1, s["embedding"], s["hidden"], self.m)
        self.weights = self.m.add_parameters((s["words"], s["hidden"]))
        self.bias = self.m.add_parameters((s["words"],))

    def scores(self, state: dy.Expression) -> dy.Expression:
        """Of the word after a state."""
        return dy.affine_transform([self.bias, self.weights, state])

    def loss(self, sentence: list[int]) -> dy.Expression:
        """The sum of the losses of all words."""
        losses = []
        state = self.lstm.initial_state()
        for before, word in zip([END, *sentence], sentence):
            state = state.add_input(self.words[before])
            losses.append(dy.pickneglogsoftmax(self.scores(state.output()), word))
        return dy.esum(losses)

    def loss_of_batch(self, sentences: list[list[int]]) -> dy.Expression:
        """The loss of several sentences, from the longest to the shortest, which take each step
        together, as one batch. Steps behind a sentence's end count nothing."""
        if len(sentences) == 1:
            return self.loss(sentences[0])
        losses = []
        state = self.lstm.initial_state()
        before = [END] * len(sentences)
        for step in range(len(sentences[0])):
            words = [s[step] if step < len(s) else END for s in sentences]
            state = state.add_input(dy.lookup_batch(self.words, before))
            loss = dy.pickneglogsoftmax_batch(self.scores(state.output()), words)
            if step >= len(sentences[-1]):
                counts = np.array([[step < len(s) for s in sentences]], dtype=np.float32)
                loss = dy.cmult(loss, dy.inputTensor(counts, batched=True))
            losses.append(loss)
            before = words
        return dy.sum_batches(dy.esum(losses))

    def scores_after(self, sentence: list[int]) -> dy.Expression:
        """The scores of the word after a sentence."""
        state = self.lstm.initial_state()
        for word in [END, *sentence]:
            state = state.add_input(self.words[word])
        return self.scores(state.output())
