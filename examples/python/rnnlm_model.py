"""A recurrent language model: each word is predicted from those before it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, zip_longest

import dynet as dy
import numpy as np

from model_file import Settings, add_table


@dataclass
class RnnlmSettings:
    """What has to be known before a model file can be read."""

    embedding: int
    hidden: int
    words: list[str]

    def saved(self) -> Settings:
        numbers = {"embedding": self.embedding, "hidden": self.hidden}
        return Settings("rnnlm", numbers, {"words": self.words})

    @staticmethod
    def of(settings: Settings) -> RnnlmSettings:
        numbers = settings.numbers
        return RnnlmSettings(numbers["embedding"], numbers["hidden"], settings.lists["words"])


class RnnlmModel:
    """A table of words, one LSTM, and a softmax over all words. A sentence, numbers of words with
    the end mark last, starts with the end mark of the one before it."""

    def __init__(self, settings: RnnlmSettings, start: int) -> None:
        """``start``: the number of the end mark."""
        self.start = start
        self.parameters = dy.ParameterCollection()
        count = len(settings.words)
        self.words = add_table(self.parameters, count, settings.embedding)
        self.lstm = dy.VanillaLSTMBuilder(1, settings.embedding, settings.hidden, self.parameters)
        self.weights = self.parameters.add_parameters((count, settings.hidden))
        self.bias = self.parameters.add_parameters((count,))

    def new_graph(self) -> None:
        """Call once for each graph."""
        dy.renew_cg()

    def _scores(self, state: dy.Expression) -> dy.Expression:
        """Of the word after a state."""
        return dy.affine_transform([self.bias, self.weights, state])

    def add_sentence(self, sentence: list[int]) -> dy.Expression:
        """The sum of the losses of all words."""
        losses = []
        state = self.lstm.initial_state()
        before = self.start
        for word in sentence:
            state = state.add_input(self.words[before])
            losses.append(dy.pickneglogsoftmax(self._scores(state.output()), word))
            before = word
        return dy.esum(losses)

    def add_sentences(self, sentences: list[list[int]]) -> dy.Expression:
        """The same of several sentences, which are one batch: all of them take a step together,
        and what comes after a sentence's end counts nothing."""
        if len(sentences) == 1:
            return self.add_sentence(sentences[0])
        start = self.start
        losses = []
        state = self.lstm.initial_state()
        before = [start] * len(sentences)
        for step in range(max(len(sentence) for sentence in sentences)):
            words = [sentence[step] if step < len(sentence) else start for sentence in sentences]
            state = state.add_input(dy.lookup_batch(self.words, before))
            loss = dy.pickneglogsoftmax_batch(self._scores(state.output()), words)
            counts = [step < len(sentence) for sentence in sentences]
            if not all(counts):
                mask = np.array([counts], dtype=np.float32)
                loss = dy.cmult(loss, dy.inputTensor(mask, batched=True))
            losses.append(loss)
            before = words
        return dy.sum_batches(dy.esum(losses))

    def add_sequences(self, sentences: list[list[int]]) -> dy.Expression:
        """The same, written with functions of whole sequences."""
        longest = max(len(sentence) for sentence in sentences)
        # Step by step: what each sentence reads, and what it is to foresee.
        starts = [self.start] * len(sentences)
        labels = list(zip_longest(*sentences))
        words = [[self.start if w is None else w for w in step] for step in labels[: longest - 1]]
        xs = dy.lookup_sequence(self.words, [starts, *words])
        states = self.lstm.initial_state().transduce(xs)
        scores = self._scores(dy.concatenate_to_batch(states))
        return dy.sequence_loss(scores, list(chain.from_iterable(labels)))

    def score_next(self, words: list[int]) -> dy.Expression:
        """Scores of what follows after ``words``."""
        state = self.lstm.initial_state().add_input(self.words[self.start])
        for word in words:
            state = state.add_input(self.words[word])
        return self._scores(state.output())
