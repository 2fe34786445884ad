#!/usr/bin/env python3
"""Are both styles of a twin one model? Same parameters, same sentences: same loss, same gradients.

build/bench-venv/bin/python bench/paper/twins/check.py DATA
"""

import sys
from pathlib import Path

import corpora
import rnnlm_by_hand
import rnnlm_one_by_one
import tagger_by_hand
import tagger_one_by_one
import torch
import tree_lstm_by_hand
import tree_lstm_one_by_one

LSTM = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def lstm_pairs(one, lstm, of_one=""):
    return [(getattr(one, name + of_one), getattr(lstm, name + "_l0")) for name in LSTM]


def rnnlm(data):
    text = corpora.read_text(str(data / "text" / "valid.txt"), None)
    one, hand = (m.Model(text.words, "dense") for m in (rnnlm_one_by_one, rnnlm_by_hand))
    pairs = [(one.words.weight, hand.words.weight), (one.output.weight, hand.output.weight)]
    return one, hand, [*pairs, *lstm_pairs(one.cell, hand.lstm)], text.train[:7]


def tagger(data):
    corpus = corpora.read_tagging(str(data / "tags" / "dev.txt"), None)
    one, hand = (m.Model(corpus, True, "dense") for m in (tagger_one_by_one, tagger_by_hand))
    pairs = [
        (one.words.weight, hand.words.weight),
        (one.characters.weight, hand.characters.weight),
        (one.hidden.weight, hand.hidden.weight),
        (one.output.weight, hand.output.weight),
        *lstm_pairs(one.tagger, hand.tagger.ahead, "_l0"),
        *lstm_pairs(one.tagger, hand.tagger.back, "_l0_reverse"),
        *lstm_pairs(one.speller, hand.speller.ahead, "_l0"),
        *lstm_pairs(one.speller, hand.speller.back, "_l0_reverse"),
    ]
    return one, hand, pairs, corpus.train[:9]


def tree_lstm(data):
    corpus = corpora.read_trees(str(data / "trees" / "dev.txt"), None)
    one, hand = (m.Model(corpus.words, "dense") for m in (tree_lstm_one_by_one, tree_lstm_by_hand))
    pairs = [
        (one.words.weight, hand.words.weight),
        (one.classes.weight, hand.classes.weight),
        (one.forget_bias, hand.forget_bias),
    ]
    # Parts of one parameter: copied there, and compared through a view of its gradient.
    parts = [(gate.weight, hand.word_gates, k) for k, gate in enumerate(one.word_gates)]
    parts += [(gate.weight, hand.node_gates, k) for k, gate in enumerate(one.node_gates)]
    parts += [(gate.weight, hand.forget, k) for k, gate in enumerate(one.forget)]
    return one, hand, [*pairs, *parts], corpus.train[:9]


def difference(one, hand, pairs, sentences):
    """Of the losses relative to one, and the largest of the gradients."""

    def part(pair, gradient):
        whole = pair[1].grad if gradient else pair[1]
        return whole[pair[2]] if len(pair) > 2 else whole

    with torch.no_grad():
        for pair in pairs:
            part(pair, False).uniform_(-0.2, 0.2)
            pair[0].copy_(part(pair, False))
    losses = [model.loss(sentences)[0] for model in (one, hand)]
    for loss in losses:
        loss.backward()
    gradients = max((pair[0].grad - part(pair, True)).abs().max().item() for pair in pairs)
    return abs(losses[0] - losses[1]).item() / losses[0].item(), gradients


def main():
    torch.manual_seed(1)
    failed = False
    for make in (rnnlm, tagger, tree_lstm):
        loss, gradients = difference(*make(Path(sys.argv[1])))
        ok = loss < 1e-5 and gradients < 1e-3
        failed |= not ok
        verdict = "ok" if ok else "DIFFERENT"
        print(f"{make.__name__:10} loss {loss:.1e}, gradients {gradients:.1e}  {verdict}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
