"""The work of the program: reads, trains, tests, and tags."""

from __future__ import annotations

import argparse
from itertools import chain

import dynet as dy

from data import DataError
from model_file import Settings, load_settings
from options import has_saved_model
from sentences import Sentence, SentenceNumbers, read_tagged_file, words_of, words_seen
from sequence_losses import tagger_loss
from tagger_model import Tagger
from training import (
    ExampleLearner,
    Losses,
    ScoreKind,
    TrainingPlan,
    answers_to,
    set_initial_values,
    train,
)

Tagged = list[tuple[list[str], list[str]]]


def make_settings(options: argparse.Namespace, sentences: Tagged) -> Settings:
    """The settings of the model: sizes, and the words, tags and characters of the text."""
    names = ("embedding", "hidden", "mlp", "rows", "character_embedding", "character_hidden")
    numbers = {name.replace("_", "-"): getattr(options, name) for name in names}
    words = [words for words, _ in sentences]
    characters: list[str] = []
    if options.characters:
        numbers["embedding"] = 2 * options.character_hidden  # spelled words are as long
        characters = list(dict.fromkeys(["<unk>", *chain.from_iterable(chain(*words))]))
    lists = {
        "words": ["<unk>", *words_seen(words, options.known_from)],
        "tags": list(dict.fromkeys(tag for _, tags in sentences for tag in tags)),
        "characters": characters,
    }
    return Settings("tagger", numbers, lists)


def scores_of(model: Tagger, sentence: Sentence) -> list[dy.Expression]:
    return model.scores(model.read(sentence))


class TaggerLearner(ExampleLearner):
    score_kind = ScoreKind("accuracy", is_share=True)

    def __init__(self, options: argparse.Namespace) -> None:
        sentences = read_tagged_file(options.train)
        settings = make_settings(options, sentences)
        numbers = SentenceNumbers(settings)
        dev = read_tagged_file(options.dev) if options.dev else []
        super().__init__(
            settings,
            Tagger(settings),
            [numbers.of(*sentence) for sentence in sentences],
            [numbers.of(*sentence) for sentence in dev],
            options.seed,
            options.minibatch,
        )
        self._by_sequence = options.sequence

    def add(self, example: Sentence) -> Losses:
        model = self.model
        loss = tagger_loss(model, example) if self._by_sequence else model.loss(example)
        return loss, len(example.words)

    def test(self) -> float:
        answers = answers_to(self.dev, lambda sentence: scores_of(self.model, sentence))
        tags = [tag for sentence in self.dev for tag in sentence.tags]
        right: int = sum(answer == tag for answer, tag in zip(answers, tags))
        return right / len(tags)


def train_and_report(options: argparse.Namespace) -> None:
    learner = TaggerLearner(options)
    set_initial_values(learner.parameters, options)
    if not options.quiet:
        sizes = learner.settings()
        print(
            f"tagger: {sizes['words']} words, {sizes['tags']} tags, {sizes['characters']} "
            f"characters, {learner.parameters.parameter_count()} parameters, {options.minibatch} "
            f"sentences an update"
        )
    train(learner, TrainingPlan("words", learner.updates_an_epoch), options)


def predict(options: argparse.Namespace) -> None:
    settings = load_settings(options.model, "tagger")
    model = Tagger(settings)
    model.m.populate(options.model)
    words = words_of(options.predict)
    if not words:
        raise DataError("sentence", 1, 1, "no word")
    sentence = SentenceNumbers(settings).of(words, [])
    answers = answers_to([sentence], lambda one: scores_of(model, one))
    print(" ".join(f"{word}|{settings.lists['tags'][tag]}" for word, tag in zip(words, answers)))


def run(options: argparse.Namespace) -> None:
    if not has_saved_model(options):
        train_and_report(options)
    if options.predict:
        predict(options)
