"""The work of the program: reads, trains, tests, and continues a text."""

from __future__ import annotations

import argparse
import math

import dynet as dy

from model_file import Settings, load_settings
from options import has_saved_model
from rnnlm_model import Rnnlm
from sentences import END, most_frequent, read_text_file, words_of
from sequence_losses import rnnlm_loss
from training import (
    ExampleLearner,
    Losses,
    ScoreKind,
    TrainingPlan,
    set_initial_values,
    train,
)

MARKS = ["<unk>", "<s>"]
TEST_BATCH = 16


def make_vocabulary(sentences: list[list[str]], limit: int) -> list[str]:
    """All words of the training text, or the most frequent ones; ``<unk>`` and the end mark
    first."""
    words = [word for word in most_frequent(sentences, limit) if word not in MARKS]
    return [*MARKS, *words[: limit - len(MARKS)]]


def numbers_of(words: list[str], numbers: dict[str, int]) -> list[int]:
    return [*(numbers.get(word, 0) for word in words), END]


def make_batches(
    sentences: list[list[str]], settings: Settings, size: int
) -> list[list[list[int]]]:
    """Sentences in batches of equal size and similar length, so that little of a batch is
    filler."""
    numbers = settings.numbers_of("words")
    longest_first = sorted(sentences, key=len, reverse=True)
    as_numbers = [numbers_of(words, numbers) for words in longest_first]
    return [as_numbers[i : i + size] for i in range(0, len(as_numbers), size)]


class RnnlmLearner(ExampleLearner):
    score_kind = ScoreKind("perplexity", is_share=False)

    def __init__(self, options: argparse.Namespace) -> None:
        sentences = read_text_file(options.train)
        numbers = {"embedding": options.embedding, "hidden": options.hidden}
        words = make_vocabulary(sentences, options.vocabulary)
        settings = Settings("rnnlm", numbers, {"words": words})
        dev = read_text_file(options.dev) if options.dev else []
        super().__init__(
            settings,
            Rnnlm(settings),
            make_batches(sentences, settings, options.minibatch),
            make_batches(dev, settings, TEST_BATCH),
            options.seed,
            options.ranks,  # a batch for each
        )
        self._by_sequence = options.sequence

    def add(self, example: list[list[int]]) -> Losses:
        words = sum(map(len, example))
        model = self.model
        loss = rnnlm_loss(model, example) if self._by_sequence else model.loss_of_batch(example)
        return loss, words

    def test(self) -> float:
        loss = 0.0
        words = 0
        for batch in self.dev:
            dy.renew_cg()
            of_batch, count = self.add(batch)
            loss += of_batch.value()
            words += count
        return math.exp(loss / words)


def train_and_report(options: argparse.Namespace) -> None:
    learner = RnnlmLearner(options)
    set_initial_values(learner.parameters, options)
    if not options.quiet:
        print(
            f"rnnlm: {learner.settings()['words']} words, embedding {options.embedding}, state "
            f"{options.hidden}, {learner.parameters.parameter_count()} parameters, "
            f"{options.minibatch} sentences an update"
        )
    train(learner, TrainingPlan("words", learner.updates_an_epoch), options)


def predict(options: argparse.Namespace) -> None:
    """The perplexity of a text, and likely next words."""
    settings = load_settings(options.model, "rnnlm")
    model = Rnnlm(settings)
    model.m.populate(options.model)
    words = numbers_of(words_of(options.predict), settings.numbers_of("words"))
    dy.renew_cg()
    print(f"perplexity {math.exp(model.loss(words).value() / len(words)):.1f}")
    probabilities = dy.softmax(model.scores_after(words[:-1])).npvalue()
    for word in (-probabilities).argsort(kind="stable")[:5]:
        print(f"next {100 * probabilities[word]:5.1f} %  {settings.lists['words'][word]}")


def run(options: argparse.Namespace) -> None:
    if not has_saved_model(options):
        train_and_report(options)
    if options.predict:
        predict(options)
