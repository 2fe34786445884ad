"""Parses sentences with stack LSTMs (Dyer et al., 2015), as many sentences together as an update
has. Data: CoNLL-U.

python3 parser.py --train train.conllu --dev dev.conllu

Each decision is read from the graph while the graph grows. A task, a generator, parses one
sentence, and `dy.run_together` computes the scores that all tasks wait for at once. In the training
the parser follows its own decisions and learns the right ones, so that it knows what to do after a
mistake. With `--reward` the second half of the training draws decisions and is a policy gradient
(Williams, 1992).
"""

from __future__ import annotations

import argparse
import random
from typing import TYPE_CHECKING, NamedTuple

import dynet as dy
from dynet.text import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    Task = Generator[dy.Expression, list[float], "Parse"]

SHIFT, LEFT, RIGHT = range(3)


class Sentence(NamedTuple):
    words: list[int]  #: word 0 is the root
    heads: list[int | None]  #: of each word; None of the root


class Item(NamedTuple):
    word: int
    tree: dy.Expression  #: the word with its dependents so far
    state: dy.RNNState  #: of the LSTM that read the stack up to the word


class Parser:
    def __init__(self, words: int, size: int) -> None:
        self.model = m = dy.ParameterCollection()
        self.words = m.add_lookup_parameters((words, size))
        self.stack_lstm = dy.VanillaLSTMBuilder(1, size, size, m)
        self.rest_lstm = dy.VanillaLSTMBuilder(1, size, size, m)
        # A bias, and a matrix for each of two vectors.
        self.join, self.score = (
            [m.add_parameters(rows, init=0.0), *(m.add_parameters((rows, size)) for _ in range(2))]
            for rows in (size, 3)
        )


class Parse:
    """A sentence that is parsed: the stack, the rest, and the heads that are found."""

    def __init__(self, parser: Parser, words: list[int]) -> None:
        self.parser = parser
        self.vectors = [parser.words[word] for word in words]
        begin = parser.rest_lstm.initial_state().add_input(self.vectors[0])
        self.rest = [s.output() for s in begin.add_inputs(self.vectors[:0:-1])][::-1]
        self.rest.append(begin.output())
        self.heads: list[int | None] = [None] * len(words)
        self.losses: list[dy.Expression] = []
        self.stack: list[Item] = []
        self.next = 1  #: word
        self.push(0, self.vectors[0])

    def push(self, word: int, tree: dy.Expression) -> None:
        before = self.stack[-1].state if self.stack else self.parser.stack_lstm.initial_state()
        self.stack.append(Item(word, tree, before.add_input(tree)))

    def legal(self) -> list[int]:
        """The decisions that are left; none at the end. The root takes the last word."""
        shift = [SHIFT] if self.next < len(self.heads) else []
        joins = [LEFT, RIGHT] if len(self.stack) > 2 else []
        return shift + joins or ([RIGHT] if len(self.stack) == 2 else [])

    def scores(self) -> dy.Expression:
        bias, of_stack, of_rest = self.parser.score
        stack, rest = self.stack[-1].state.output(), self.rest[self.next - 1]
        return dy.affine_transform([bias, of_stack, stack, of_rest, rest])

    def take(self, action: int) -> None:
        if action == SHIFT:
            self.push(self.next, self.vectors[self.next])
            self.next += 1
            return
        top, below = self.stack.pop(), self.stack.pop()
        head, dependent = (top, below) if action == LEFT else (below, top)
        self.heads[dependent.word] = head.word
        bias, of_head, of_dependent = self.parser.join
        tree = dy.affine_transform([bias, of_head, head.tree, of_dependent, dependent.tree])
        self.push(head.word, dy.tanh(tree))

    def right_action(self, gold: list[int | None], legal: list[int]) -> int:
        """Joins two words as soon as nothing more belongs to the word that leaves."""

        def joins(word: int, head: int) -> bool:
            return gold[word] == head and all(
                self.heads[w] is not None for w, h in enumerate(gold) if h == word
            )

        if LEFT in legal and joins(self.stack[-2].word, self.stack[-1].word):
            return LEFT
        if RIGHT in legal and joins(self.stack[-1].word, self.stack[-2].word):
            return RIGHT
        return legal[0]  # after a mistake, or if arcs cross: the next word, or any arc


def decide(parser: Parser, sentence: Sentence, learns: bool) -> Task:
    """The best decisions. With losses of the right ones, if `learns`."""
    parse = Parse(parser, sentence.words)
    while legal := parse.legal():
        asked = parse.scores()
        if learns:
            right = parse.right_action(sentence.heads, legal)
            parse.losses.append(dy.pickneglogsoftmax(asked, right))
        scores = yield asked
        parse.take(max(legal, key=scores.__getitem__))
    return parse


def draw(parser: Parser, sentence: Sentence) -> Task:
    """Decisions drawn from the model's distribution. With losses of the drawn ones."""
    parse = Parse(parser, sentence.words)
    while legal := parse.legal():
        log_chances = dy.log_softmax(parse.scores(), legal)  # of the legal decisions only
        chances = yield dy.exp(log_chances)
        action = random.choices(range(3), chances)[0]
        parse.losses.append(-log_chances[action])
        parse.take(action)
    return parse


def share_right(parse: Parse, sentence: Sentence) -> float:
    right = sum(a == b for a, b in zip(parse.heads[1:], sentence.heads[1:]))
    return right / (len(sentence.heads) - 1)


def loss_of(parser: Parser, batch: list[Sentence], draws: bool) -> dy.Expression:
    """The loss of sentences that are parsed together."""
    if not draws:
        parses = dy.run_together(decide(parser, sentence, learns=True) for sentence in batch)
        return dy.esum([loss for parse in parses for loss in parse.losses])
    parses = dy.run_together(draw(parser, sentence) for sentence in batch)
    rewards = [share_right(*pair) for pair in zip(parses, batch)]
    usual = sum(rewards) / len(rewards)  # a good parse is better than the others
    gains = [reward - usual for reward in rewards]
    return dy.esum([dy.esum(parse.losses) * gain for parse, gain in zip(parses, gains)])


def accuracy(parser: Parser, sentences: list[Sentence], together: int) -> float:
    right = 0.0
    for batch in batches(sentences, together):
        dy.renew_cg()
        with dy.no_grad(), dy.evaluating():
            parses = dy.run_together(decide(parser, sentence, learns=False) for sentence in batch)
        right += sum(share_right(*pair) * (len(pair[1].heads) - 1) for pair in zip(parses, batch))
    return right / sum(len(sentence.heads) - 1 for sentence in sentences)


def batches(sentences: list[Sentence], size: int) -> Iterator[list[Sentence]]:
    for first in range(0, len(sentences), size):
        yield sentences[first : first + size]


def read(path: str) -> list[tuple[list[str], list[int | None]]]:
    sentences = []
    for sentence in dy.ConlluReader(path):
        words = sentence.words
        sentences.append((["<root>", *(w.form for w in words)], [None, *(w.head for w in words)]))
    if not sentences:
        raise SystemExit(f"{path} has no sentences")
    return sentences


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--train", required=True)
    options.add_argument("--dev", required=True)
    options.add_argument("--epochs", type=int, default=10)
    options.add_argument("--minibatch", type=int, default=16, help="sentences together")
    options.add_argument("--size", type=int, default=64)
    options.add_argument("--learning-rate", type=float, default=0.002)
    options.add_argument("--distributed", action="store_true", help="as one rank: mpirun -n 2 ...")
    options.add_argument("--reward", action="store_true", help="second half: a policy gradient")
    given, others = options.parse_known_args()
    others = [word for word in others if not word.startswith("--dynet-")]  # the library's
    if others:
        options.error(f"unknown: {' '.join(others)}; options of the library are --dynet-name=value")
    order = random.Random(1)
    read_train, read_dev = read(given.train), read(given.dev)
    words = Vocabulary.from_counts((w for s, _ in read_train for w in s), min_count=2)
    train, dev = (
        [Sentence(words.ids(s), heads) for s, heads in read] for read in (read_train, read_dev)
    )
    parser = Parser(len(words), given.size)
    trainer = dy.AdamTrainer(parser.model, given.learning_rate)
    ranks = dy.DistributedTrainer(trainer, gradient="sum") if given.distributed else None
    random.seed(1 if ranks is None else ranks.rank)
    for epoch in range(1, given.epochs + 1):
        order.shuffle(train)
        total = 0.0
        for batch in batches(train, given.minibatch):
            dy.renew_cg()
            mine = batch if ranks is None else ranks.share(batch)
            if mine:
                loss = loss_of(parser, list(mine), given.reward and epoch > given.epochs // 2)
                total += loss.value()
                loss.backward()
            (ranks or trainer).update()
        if ranks is not None:
            total = ranks.sum([total])[0]
        score = 100 * accuracy(parser, dev, given.minibatch)
        loss_each = total / len(train)
        if ranks is None or ranks.rank == 0:
            print(f"epoch {epoch}: loss {loss_each:.3f}, heads right {score:.2f} %", flush=True)


if __name__ == "__main__":
    main()
