"""What the program does: reads, trains, tests, and continues a text."""

from __future__ import annotations

import argparse
import math

import dynet as dy

from data import Minibatches, Vocabulary
from model_file import Settings, load_settings
from options import has_saved_model
from rnnlm_model import RnnlmModel, RnnlmSettings
from sentences import RawSentence, most_frequent, parse_words, read_text_file
from training import Learner, Losses, ScoreKind, TrainingPlan, set_initial_values, train

END = "<s>"
TEST_BATCH = 16


def numbers_of(sentence: RawSentence, vocabulary: Vocabulary) -> list[int]:
    return [vocabulary.number(word) for word in [*sentence.words, END]]


def make_vocabulary(sentences: list[RawSentence], limit: int) -> Vocabulary:
    """All words of the training text, or the most frequent ones; ``<unk>`` and the end mark
    first."""
    marks = ["<unk>", END]
    words = [word for word in most_frequent(sentences, limit) if word not in marks]
    return Vocabulary([*marks, *words[: limit - len(marks)]])


def make_batches(
    sentences: list[RawSentence], vocabulary: Vocabulary, size: int
) -> list[list[list[int]]]:
    """Sentences in batches of equal size and similar length, so that little of a batch is
    filler."""
    numbers = [numbers_of(sentence, vocabulary) for sentence in sentences]
    numbers.sort(key=len, reverse=True)
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


class RnnlmLearner(Learner):
    score_kind = ScoreKind("perplexity", is_share=False)

    def __init__(self, options: argparse.Namespace) -> None:
        sentences = read_text_file(options.train)
        vocabulary = make_vocabulary(sentences, options.vocabulary)
        self._settings = RnnlmSettings(options.embedding, options.hidden, vocabulary.words)
        self._train = make_batches(sentences, vocabulary, options.minibatch)
        dev = read_text_file(options.dev) if options.dev else []
        self._dev = make_batches(dev, vocabulary, TEST_BATCH)
        self._order = Minibatches(options.seed, len(self._train), 1)
        self._model = RnnlmModel(self._settings, vocabulary.number(END))
        model = self._model
        self._add_loss = model.add_sequences if options.sequence else model.add_sentences
        self.parameters = model.parameters
        self.can_test = bool(self._dev)
        self.updates_an_epoch = self._order.updates_an_epoch

    def settings(self) -> Settings:
        return self._settings.saved()

    def _add(self, sentences: list[list[int]]) -> Losses:
        words = sum(len(sentence) for sentence in sentences)
        self._model.new_graph()
        return Losses(self._add_loss(sentences), words, words)

    def add_next(self) -> Losses:
        return self._add(self._train[self._order.next()[0]])

    def test(self) -> float:
        loss = 0.0
        words = 0
        for batch in self._dev:
            losses = self._add(batch)
            loss += losses.sum.value()
            words += losses.items
        return math.exp(loss / words)


def train_and_report(options: argparse.Namespace) -> None:
    learner = RnnlmLearner(options)
    set_initial_values(learner.parameters, options)
    if not options.quiet:
        words = len(learner.settings().lists["words"])
        print(
            f"rnnlm: {words} words, embedding {options.embedding}, state {options.hidden}, "
            f"{learner.parameters.parameter_count()} parameters, {options.minibatch} sentences an "
            "update"
        )
    train(learner, TrainingPlan("words", learner.updates_an_epoch), options)


def predict(options: argparse.Namespace) -> None:
    """How well the model foresees a text, and what it thinks comes next."""
    settings = RnnlmSettings.of(load_settings(options.model, ["rnnlm"]))
    vocabulary = Vocabulary(settings.words)
    model = RnnlmModel(settings, vocabulary.number(END))
    model.parameters.populate(options.model)
    words = numbers_of(parse_words(options.predict), vocabulary)
    model.new_graph()
    loss = model.add_sentence(words).value()
    print(f"perplexity {math.exp(loss / len(words)):.1f}")
    probabilities = dy.softmax(model.score_next(words[:-1])).npvalue()
    for word in (-probabilities).argsort(kind="stable")[:5]:
        print(f"next {100 * probabilities[word]:5.1f} %  {settings.words[word]}")


def run(options: argparse.Namespace) -> None:
    if not has_saved_model(options):
        train_and_report(options)
    if options.predict:
        predict(options)
