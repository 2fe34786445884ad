"""Programs as users of DyNet 2.1 write them, timed with the `dynet` of this process. `run` calls
this file.

    python models.py MODEL SENTENCES AUTOBATCH SECONDS

Trains MODEL with SENTENCES in each update for SECONDS of processor time after five updates, and
prints a line of JSON: words (for trees, leaves) per second, the microseconds of a word in each
stage, and the losses of the five updates. NumPy draws initial parameters and sentences from a fixed
seed, so both libraries compute the same losses.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

MODEL, SENTENCES, AUTOBATCH, SECONDS = (
    sys.argv[1],
    int(sys.argv[2]),
    sys.argv[3],
    float(sys.argv[4]),
)
sys.argv[1:] = ["--dynet-autobatch", AUTOBATCH, "--dynet-seed", "1"]  # read by the next line

import dynet as dy  # noqa: E402

WORDS, TAGS, SIZE = 5000, 12, 64
FIRST = 5  # updates that are not timed
RANDOM = np.random.RandomState(7)

Sentence = list[int]
Loss = Callable[[Sentence], Any]


def fill(model: dy.ParameterCollection) -> None:
    """The same initial values in both libraries."""
    for p in model.parameters_list():
        p.set_value(RANDOM.uniform(-0.1, 0.1, p.shape()))
    for table in model.lookup_parameters_list():
        table.init_from_array(RANDOM.uniform(-0.1, 0.1, table.shape()))


def tag_of(word: int) -> int:
    return word % TAGS


def both_ways(left: Any, right: Any, xs: list[dy.Expression]) -> list[dy.Expression]:
    forward = left.initial_state().transduce(xs)
    backward = right.initial_state().transduce(xs[::-1])[::-1]
    return [dy.concatenate([f, b]) for f, b in zip(forward, backward)]


def language_model(m: dy.ParameterCollection) -> Loss:
    """An LSTM builder, and a softmax over all words."""
    table = m.add_lookup_parameters((WORDS, SIZE))
    lstm = dy.VanillaLSTMBuilder(1, SIZE, 2 * SIZE, m)
    output = m.add_parameters((WORDS, 2 * SIZE))

    def loss(sentence: Sentence) -> Any:
        states = lstm.initial_state().transduce([table[w] for w in sentence[:-1]])
        return dy.esum([dy.pickneglogsoftmax(output * h, w) for h, w in zip(states, sentence[1:])])

    return loss


def tagger(m: dy.ParameterCollection) -> Loss:
    """Two LSTM builders, and a small network at each word."""
    table = m.add_lookup_parameters((WORDS, SIZE))
    left, right = (dy.VanillaLSTMBuilder(1, SIZE, SIZE, m) for _ in range(2))
    hidden, output = m.add_parameters((32, 2 * SIZE)), m.add_parameters((TAGS, 32))

    def loss(sentence: Sentence) -> Any:
        both = both_ways(left, right, [table[w] for w in sentence])
        scores = [output * dy.tanh(hidden * x) for x in both]
        return dy.esum([dy.pickneglogsoftmax(s, tag_of(w)) for s, w in zip(scores, sentence)])

    return loss


def speller(m: dy.ParameterCollection) -> Loss:
    """A tagger that spells each fourth word with LSTMs over its characters."""
    table = m.add_lookup_parameters((WORDS, SIZE))
    letters = m.add_lookup_parameters((30, 20))
    spell_left, spell_right = (dy.VanillaLSTMBuilder(1, 20, SIZE // 2, m) for _ in range(2))
    left, right = (dy.VanillaLSTMBuilder(1, SIZE, SIZE, m) for _ in range(2))
    hidden, output = m.add_parameters((32, 2 * SIZE)), m.add_parameters((TAGS, 32))

    def embedding(word: int) -> Any:
        if word % 4 != 0:
            return table[word]
        spelled = [letters[(word * (k + 3)) % 30] for k in range(3 + word % 7)]
        return dy.concatenate(
            [
                spell_left.initial_state().transduce(spelled)[-1],
                spell_right.initial_state().transduce(spelled[::-1])[-1],
            ]
        )

    def loss(sentence: Sentence) -> Any:
        both = both_ways(left, right, [embedding(w) for w in sentence])
        scores = [output * dy.tanh(hidden * x) for x in both]
        return dy.esum([dy.pickneglogsoftmax(s, tag_of(w)) for s, w in zip(scores, sentence)])

    return loss


class PlainLstm:
    """The gates one by one, without a builder."""

    def __init__(self, m: dy.ParameterCollection, inputs: int, size: int) -> None:
        self.size = size
        self.gates = [
            (
                m.add_parameters(size),
                m.add_parameters((size, inputs)),
                m.add_parameters((size, size)),
            )
            for _ in range(4)
        ]

    def transduce(self, xs: list[dy.Expression]) -> list[dy.Expression]:
        h, c, outputs = dy.zeros(self.size), dy.zeros(self.size), []
        for x in xs:
            i, f, o, g = (dy.affine_transform([b, w, x, u, h]) for b, w, u in self.gates)
            c = dy.cmult(dy.logistic(f), c) + dy.cmult(dy.logistic(i), dy.tanh(g))
            h = dy.cmult(dy.logistic(o), dy.tanh(c))
            outputs.append(h)
        return outputs


def plain_tagger(m: dy.ParameterCollection) -> Loss:
    """The tagger in plain operations."""
    table = m.add_lookup_parameters((WORDS, SIZE))
    left, right = PlainLstm(m, SIZE, SIZE), PlainLstm(m, SIZE, SIZE)
    hidden, output = m.add_parameters((32, 2 * SIZE)), m.add_parameters((TAGS, 32))

    def loss(sentence: Sentence) -> Any:
        xs = [table[w] for w in sentence]
        both = zip(left.transduce(xs), right.transduce(xs[::-1])[::-1])
        scores = [output * dy.tanh(hidden * dy.concatenate([f, b])) for f, b in both]
        return dy.esum([dy.pickneglogsoftmax(s, tag_of(w)) for s, w in zip(scores, sentence)])

    return loss


def tree(m: dy.ParameterCollection) -> Loss:
    """A binary tree LSTM in plain operations, with a loss at each node."""
    table = m.add_lookup_parameters((WORDS, SIZE))
    joins = [(m.add_parameters(SIZE), m.add_parameters((SIZE, 2 * SIZE))) for _ in range(5)]
    output = m.add_parameters((5, SIZE))

    def loss(sentence: Sentence) -> Any:
        losses = []

        def add(words: Sentence) -> tuple[Any, Any]:
            if len(words) == 1:
                h = c = table[words[0]]
            else:
                cut = (len(words) + 2) // 3
                (h1, c1), (h2, c2) = add(words[:cut]), add(words[cut:])
                both = dy.concatenate([h1, h2])
                i, f1, f2, o, g = (dy.affine_transform([b, w, both]) for b, w in joins)
                c = dy.cmult(dy.logistic(i), dy.tanh(g))
                c = c + dy.cmult(dy.logistic(f1), c1) + dy.cmult(dy.logistic(f2), c2)
                h = dy.cmult(dy.logistic(o), dy.tanh(c))
            losses.append(dy.pickneglogsoftmax(output * h, sum(words) % 5))
            return h, c

        add(sentence)
        return dy.esum(losses)

    return loss


def translator(m: dy.ParameterCollection) -> Loss:
    """An LSTM reads, another one writes the words from the last one on; attention has a layer."""
    source, target = (m.add_lookup_parameters((WORDS, SIZE)) for _ in range(2))
    reader = dy.VanillaLSTMBuilder(1, SIZE, SIZE, m)
    writer = dy.VanillaLSTMBuilder(1, 2 * SIZE, SIZE, m)
    keys, query, score = (
        m.add_parameters((SIZE, SIZE)),
        m.add_parameters((SIZE, SIZE)),
        m.add_parameters((1, SIZE)),
    )
    output = m.add_parameters((1000, SIZE))

    def loss(sentence: Sentence) -> Any:
        read = dy.concatenate_cols(reader.initial_state().transduce([source[w] for w in sentence]))
        projected = keys * read
        state, losses, before = writer.initial_state(), [], 0
        context = dy.zeros(SIZE)
        for word in reversed(sentence):
            state = state.add_input(dy.concatenate([target[before], context]))
            h = state.output()
            weights = dy.softmax(
                dy.transpose(score * dy.tanh(dy.colwise_add(projected, query * h)))
            )
            context = read * weights
            losses.append(dy.pickneglogsoftmax(output * (h + context), word % 1000))
            before = word
        return dy.esum(losses)

    return loss


MODELS = {
    "language-model": language_model,
    "tagger": tagger,
    "speller": speller,
    "plain-tagger": plain_tagger,
    "plain-tree": tree,
    "translator": translator,
}


def main() -> None:
    m = dy.ParameterCollection()
    loss_of = MODELS[MODEL](m)
    fill(m)
    trainer = dy.AdamTrainer(m)
    lengths = RANDOM.randint(6, 25, 512)
    corpus: list[Sentence] = [RANDOM.randint(0, WORDS, n).tolist() for n in lengths]
    losses: list[float] = []
    words, at = 0, 0
    stages = dict.fromkeys(("building", "forward", "backward", "update"), 0.0)

    def update() -> None:
        nonlocal words, at
        batch = [corpus[(at + k) % len(corpus)] for k in range(SENTENCES)]
        at += SENTENCES
        words += sum(map(len, batch))
        times = [time.process_time()]
        dy.renew_cg()
        loss = dy.esum([loss_of(sentence) for sentence in batch])
        times.append(time.process_time())
        value = loss.value()
        times.append(time.process_time())
        loss.backward()
        times.append(time.process_time())
        trainer.update()
        times.append(time.process_time())
        for stage, (before, after) in zip(stages, pairwise(times)):
            stages[stage] += after - before
        if len(losses) < FIRST:
            losses.append(value)

    for _ in range(FIRST):
        update()
    words, stages = 0, dict.fromkeys(stages, 0.0)
    begin = time.process_time()
    while words == 0 or time.process_time() - begin < SECONDS:
        update()
    rate = words / (time.process_time() - begin)
    spent = {stage: 1e6 * seconds / words for stage, seconds in stages.items()}
    print(json.dumps({"rate": rate, "stages": spent, "losses": losses}))


main()
