"""The losses of the tagger and of the language model once more, written with functions of whole
sequences, for training with --sequence."""

from __future__ import annotations

from itertools import chain, zip_longest

import dynet as dy

from rnnlm_model import Rnnlm
from sentences import END, Sentence
from tagger_model import Tagger


def tagger_loss(model: Tagger, sentence: Sentence) -> dy.Expression:
    (scores,) = model.scores([dy.concatenate_to_batch(model.read(sentence))])
    return dy.sequence_loss(scores, sentence.tags)


def rnnlm_loss(model: Rnnlm, sentences: list[list[int]]) -> dy.Expression:
    # Step by step: the word that each sentence reads, and the word to predict.
    labels = list(zip_longest(*sentences))
    words = [[END if w is None else w for w in step] for step in labels[:-1]]
    xs = dy.lookup_sequence(model.words, [[END] * len(sentences), *words])
    states = model.lstm.initial_state().transduce(xs)
    scores = model.scores(dy.concatenate_to_batch(states))
    return dy.sequence_loss(scores, list(chain.from_iterable(labels)))
