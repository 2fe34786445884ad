"""What the program does: reads, trains, tests, and tags."""

from __future__ import annotations

import argparse

import dynet as dy

from data import DataError, Minibatches, Vocabulary
from model_file import Settings, load_settings
from options import has_saved_model
from sentences import RawSentence, parse_words, read_tagged_file, words_seen
from tagger_model import TaggerModel, TaggerNumbers, TaggerSettings
from training import Learner, Losses, ScoreKind, TrainingPlan, set_initial_values, train

# Several sentences a graph, so that the library has something to run together.
TEST_SENTENCES = 16


def make_settings(options: argparse.Namespace, sentences: list[RawSentence]) -> TaggerSettings:
    settings = TaggerSettings(
        options.embedding,
        options.hidden,
        options.mlp,
        options.rows,
        options.character_embedding,
        options.character_hidden,
        ["<unk>", *words_seen(sentences, options.known_from)],
        list(dict.fromkeys(tag for sentence in sentences for tag in sentence.tags)),
    )
    if options.characters:
        characters = Vocabulary()
        for sentence in sentences:
            for word in sentence.words:
                for character in word:
                    characters.number(character)
        settings.characters = characters.words
        settings.embedding = 2 * settings.character_hidden
    return settings


def best_tags(scores: list[dy.Expression], tags: int) -> list[int]:
    """The tags with the highest scores, one a word."""
    return dy.concatenate(scores).npvalue().reshape(-1, tags).argmax(axis=1).tolist()


class TaggerLearner(Learner):
    score_kind = ScoreKind("accuracy", is_share=True)

    def __init__(self, options: argparse.Namespace) -> None:
        train = read_tagged_file(options.train)
        self.sizes = make_settings(options, train)
        numbers = TaggerNumbers(self.sizes)
        self._train = [numbers.sentence(raw) for raw in train]
        dev = read_tagged_file(options.dev) if options.dev else []
        self._dev = [numbers.sentence(raw) for raw in dev]
        self._order = Minibatches(options.seed, len(train), options.minibatch)
        self._model = TaggerModel(self.sizes)
        model = self._model
        self._add_loss = model.add_sequence if options.sequence else model.add_sentence
        self.parameters = model.parameters
        self.can_test = bool(dev)
        self.updates_an_epoch = self._order.updates_an_epoch

    def settings(self) -> Settings:
        return self.sizes.saved()

    def add_next(self) -> Losses:
        self._model.new_graph()
        sentences = [self._train[i] for i in self._order.next()]
        losses = [self._add_loss(sentence) for sentence in sentences]
        words = sum(len(sentence.words) for sentence in sentences)
        return Losses(losses[0] if len(losses) == 1 else dy.esum(losses), words, words)

    def test(self) -> float:
        right = words = 0
        for first in range(0, len(self._dev), TEST_SENTENCES):
            sentences = self._dev[first : first + TEST_SENTENCES]
            self._model.new_graph()
            scores = []
            for sentence in sentences:
                scores += self._model.score_tags(sentence.words)
            tags = [tag for sentence in sentences for tag in sentence.tags]
            answers = best_tags(scores, len(self.sizes.tags))
            right += sum(answer == tag for answer, tag in zip(answers, tags))
            words += len(tags)
        return right / words


def train_and_report(options: argparse.Namespace) -> None:
    learner = TaggerLearner(options)
    set_initial_values(learner.parameters, options)
    if not options.quiet:
        sizes = learner.sizes
        print(
            f"tagger: {len(sizes.words)} words, {len(sizes.tags)} tags, {len(sizes.characters)} "
            f"characters, {learner.parameters.parameter_count()} parameters, {options.minibatch} "
            f"sentences an update, batching {'on' if options.autobatch else 'off'}"
        )
    train(learner, TrainingPlan("words", learner.updates_an_epoch), options)


def predict(options: argparse.Namespace) -> None:
    settings = TaggerSettings.of(load_settings(options.model, ["tagger"]))
    model = TaggerModel(settings)
    model.parameters.populate(options.model)
    raw = parse_words(options.predict)
    if not raw.words:
        raise DataError("sentence", 1, 1, "no word")
    model.new_graph()
    scores = model.score_tags(TaggerNumbers(settings).sentence(raw).words)
    tags = best_tags(scores, len(settings.tags))
    print(" ".join(f"{word}|{settings.tags[tag]}" for word, tag in zip(raw.words, tags)))


def run(options: argparse.Namespace) -> None:
    if not has_saved_model(options):
        train_and_report(options)
    if options.predict:
        predict(options)
