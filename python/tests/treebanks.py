"""Treebanks of a small language, for the tests of programs."""

from __future__ import annotations

import contextlib
import itertools
import random

SMALL = ["--epochs=3", "--size=16", "--rate=0.02", "--batch=8"]
NOUNS = ["dog", "cat", "house", "tree", "book", "river"]
VERBS = ["bark", "walk", "jump", "look"]


def sentence(drawn, number):
    """A sentence with comments, a range and an empty node."""
    noun, verb, plural = drawn.choice(NOUNS), drawn.choice(VERBS), drawn.random() < 0.5
    lines = [f"# sent_id = {number}", "# note"]

    def word(id, form, lemma, upos, xpos, feats, head, misc="_"):
        lines.append(
            "\t".join(map(str, [id, form, lemma, upos, xpos, feats, head, "dep", "_", misc]))
        )

    word(1, "The", "the", "DET", "DEF", "_", 2)
    number = f"Number={'Plur' if plural else 'Sing'}"
    word(2, noun + "s" * plural, noun, "NOUN", "_", number, 3, "SpaceAfter=No")
    word(3, verb + "s" * (not plural), verb, "VERB", "PRES", number + "|Person=3", 0)
    lines.append("\t".join(["4-5", "don't", *"________"]))
    word(4, "do", "do", "AUX", "_", "_", 3)
    lines.append("\t".join(["4.1", "x", *"________"]))
    word(5, "n't", "not", "PART", "NEG", "Polarity=Neg", 3)
    return "\n".join(lines) + "\n\n"


def write_treebanks(folder):
    """train.conllu and dev.conllu."""
    drawn = random.Random(2)
    for name, count in (("train", 200), ("dev", 30)):
        content = "".join(sentence(drawn, i) for i in range(count))
        (folder / f"{name}.conllu").write_text(content)
    return folder


@contextlib.contextmanager
def stopped_after_an_epoch(model):
    """Within, a training of the class `model` stops at its second scoring, as by Ctrl-C."""
    real, calls = model.score, []

    def stopped(*given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*given)

    model.score = stopped
    try:
        yield
    finally:
        model.score = real


def untagged(content):
    """The sentences without the columns that a tagger fills."""
    lines = content.splitlines(keepends=True)
    cells = [line.split("\t") for line in lines]
    return "".join("\t".join([*c[:2], *"____", *c[6:]]) if len(c) == 10 else c[0] for c in cells)


def trees_of(n):
    """All lists of heads of n words that are trees with one word at the root."""
    for heads in itertools.product(range(n + 1), repeat=n):
        if heads.count(0) == 1:
            reached = {0}
            for _ in range(n):
                reached |= {d for d, h in enumerate(heads, 1) if h in reached}
            if len(reached) == n + 1:
                yield heads
