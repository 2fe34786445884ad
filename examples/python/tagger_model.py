"""A tagger: an LSTM from the left and one from the right read a sentence, and a small network names
the tag of each word. Rare words may be spelled."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import dynet as dy

from data import Vocabulary
from model_file import Settings, add_table
from sentences import RawSentence

NO_TAG = -1


@dataclass
class TaggerSettings:
    """What has to be known before a model file can be read."""

    embedding: int = 128
    hidden: int = 50  # of each direction
    mlp: int = 32
    rows: int = 0  # of the table of words, where more than there are words
    character_embedding: int = 20
    character_hidden: int = 64  # of each direction; half of ``embedding``
    words: list[str] = field(default_factory=list)  # "<unk>" first
    tags: list[str] = field(default_factory=list)
    characters: list[str] = field(default_factory=list)  # "<unk>" first; empty: nothing is spelled

    _NUMBERS = ("embedding", "hidden", "mlp", "rows", "character_embedding", "character_hidden")
    _LISTS = ("words", "tags", "characters")

    def saved(self) -> Settings:
        numbers = {name.replace("_", "-"): getattr(self, name) for name in self._NUMBERS}
        return Settings("tagger", numbers, {name: getattr(self, name) for name in self._LISTS})

    @staticmethod
    def of(settings: Settings) -> TaggerSettings:
        values: dict = {
            name: settings.numbers[name.replace("_", "-")] for name in TaggerSettings._NUMBERS
        }
        values.update({name: settings.lists[name] for name in TaggerSettings._LISTS})
        return TaggerSettings(**values)


class TaggedSentence(NamedTuple):
    """Words are numbers or, where they are spelled, lists of numbers of characters."""

    words: list[int | list[int]]
    tags: list[int]  # empty, or one a word; NO_TAG for one that no training has


class TaggerNumbers:
    """Puts numbers in the place of words, tags and characters."""

    def __init__(self, settings: TaggerSettings) -> None:
        self._spells = bool(settings.characters)
        self._words = Vocabulary(settings.words)
        self._characters = Vocabulary(settings.characters)
        self._tags = {tag: i for i, tag in enumerate(settings.tags)}

    def sentence(self, raw: RawSentence) -> TaggedSentence:
        words: list[int | list[int]] = []
        for text in raw.words:
            number = self._words.number(text)
            if self._spells and number == 0:
                words.append([self._characters.number(character) for character in text])
            else:
                words.append(number)
        return TaggedSentence(words, [self._tags.get(tag, NO_TAG) for tag in raw.tags])


class TaggerModel:
    def __init__(self, settings: TaggerSettings) -> None:
        self.parameters = dy.ParameterCollection()

        def lstm(inputs: int, hidden: int) -> dy.VanillaLSTMBuilder:
            return dy.VanillaLSTMBuilder(1, inputs, hidden, self.parameters)

        embedding, hidden = settings.embedding, settings.hidden
        rows = max(settings.rows, len(settings.words))
        self.words = add_table(self.parameters, rows, embedding)
        if settings.characters:
            inputs = settings.character_embedding
            self.characters = add_table(self.parameters, len(settings.characters), inputs)
            self.spell_forward = lstm(inputs, settings.character_hidden)
            self.spell_backward = lstm(inputs, settings.character_hidden)
        self.forward = lstm(embedding, hidden)
        self.backward = lstm(embedding, hidden)
        self.hidden = self.parameters.add_parameters((settings.mlp, 2 * hidden))
        self.output = self.parameters.add_parameters((len(settings.tags), settings.mlp))

    def new_graph(self) -> None:
        """Call once for each graph."""
        dy.renew_cg()

    def _represent(self, word: int | list[int]) -> dy.Expression:
        return self.words[word] if isinstance(word, int) else self._spell(word)

    def _spell(self, characters: list[int]) -> dy.Expression:
        left = self.spell_forward.initial_state()
        for character in characters:
            left = left.add_input(self.characters[character])
        right = self.spell_backward.initial_state()
        for character in reversed(characters):
            right = right.add_input(self.characters[character])
        return dy.concatenate([left.output(), right.output()])

    def score_tags(self, words: list[int | list[int]]) -> list[dy.Expression]:
        """Scores of the tags of all words."""
        inputs = [self._represent(word) for word in words]
        left = []
        state = self.forward.initial_state()
        for x in inputs:
            state = state.add_input(x)
            left.append(state.output())
        scores = []
        state = self.backward.initial_state()
        for x, from_left in zip(reversed(inputs), reversed(left)):
            state = state.add_input(x)
            both = dy.concatenate([from_left, state.output()])
            scores.append(self.output * dy.tanh(self.hidden * both))
        return scores[::-1]

    def add_sentence(self, sentence: TaggedSentence) -> dy.Expression:
        """The sum of the losses of all words."""
        scores = self.score_tags(sentence.words)
        return dy.esum([dy.pickneglogsoftmax(s, tag) for s, tag in zip(scores, sentence.tags)])

    def add_sequence(self, sentence: TaggedSentence) -> dy.Expression:
        """The same, written with functions of whole sequences."""
        inputs = [self._represent(word) for word in sentence.words]
        left = self.forward.initial_state().transduce(inputs)
        right = self.backward.initial_state().transduce(inputs[::-1])[::-1]
        both = dy.concatenate([dy.concatenate_to_batch(left), dy.concatenate_to_batch(right)])
        scores = self.output * dy.tanh(self.hidden * both)
        return dy.sequence_loss(scores, sentence.tags)
