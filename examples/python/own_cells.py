"""Three recurrent cells that the library has no builder for, each in a few lines of plain
operations, learn to say the first of some symbols. The program prints the accuracy, and the time
with and without `dy.cell`.

python3 own_cells.py [UPDATES]
"""

from __future__ import annotations

import random
import sys
import time
from typing import Callable

import dynet as dy

SIZE, SYMBOLS = 16, 4


def gate(model: dy.ParameterCollection) -> list[dy.Parameters]:
    """Parameters of a sum that reads x and h."""
    b = model.add_parameters(SIZE, init=0.0)
    return [b, model.add_parameters((SIZE, SIZE)), model.add_parameters((SIZE, SIZE))]


def total(gate: list[dy.Parameters], x: dy.Expression, h: dy.Expression) -> dy.Expression:
    b, w, u = gate
    return dy.affine_transform([b, w, x, u, h])


class MinimalGatedUnit:
    """Zhou et al., 2016."""

    states = 1

    def __init__(self, model: dy.ParameterCollection) -> None:
        self.forget, self.candidate = gate(model), gate(model)

    def step(self, x: dy.Expression, h: dy.Expression) -> tuple[dy.Expression, ...]:
        f = dy.logistic(total(self.forget, x, h))
        g = dy.tanh(total(self.candidate, x, dy.cmult(f, h)))
        return (h + dy.cmult(f, g - h),)


class ProjectedLSTM:
    """An LSTM whose gates see the cell through vectors, and whose output is projected (Sak et al.,
    2014)."""

    states = 2

    def __init__(self, model: dy.ParameterCollection) -> None:
        self.gates = [gate(model) for _ in range(4)]
        self.peepholes = [model.add_parameters(SIZE) for _ in range(3)]
        self.projection = model.add_parameters((SIZE, SIZE))

    def step(
        self, x: dy.Expression, r: dy.Expression, c: dy.Expression
    ) -> tuple[dy.Expression, ...]:
        i, f, g, o = [total(gate, x, r) for gate in self.gates]
        see_i, see_f, see_o = self.peepholes
        i = dy.logistic(i + dy.cmult(see_i, c))
        f = dy.logistic(f + dy.cmult(see_f, c))
        c = dy.cmult(f, c) + dy.cmult(i, dy.tanh(g))
        o = dy.logistic(o + dy.cmult(see_o, c))
        return self.projection * dy.cmult(o, dy.tanh(c)), c


class TreeGRU:
    """A gated recurrent unit over two children."""

    states = 0

    def __init__(self, model: dy.ParameterCollection) -> None:
        self.update, self.left, self.right, self.candidate = [gate(model) for _ in range(4)]

    def step(self, x: dy.Expression, y: dy.Expression) -> tuple[dy.Expression, ...]:
        z = dy.logistic(total(self.update, x, y))
        left = dy.cmult(dy.logistic(total(self.left, x, y)), x)
        right = dy.cmult(dy.logistic(total(self.right, x, y)), y)
        kept = 0.5 * (x + y)
        return (kept + dy.cmult(z, dy.tanh(total(self.candidate, left, right)) - kept),)


class Learner:
    """Symbols and a cell over them; the class is the first symbol."""

    def __init__(self, kind: type, recorded: bool) -> None:
        self.model = dy.ParameterCollection()
        self.symbols = self.model.add_lookup_parameters((SYMBOLS, SIZE))
        self.weights = self.model.add_parameters((SYMBOLS, SIZE))
        network = kind(self.model)
        self.states: int = network.states
        inputs = ["x"] if self.states else []
        self.cell: Callable[..., tuple[dy.Expression, ...]] = dy.cell(
            inputs=inputs, name=kind.__name__, recorded=recorded
        )(network.step)

    def scores(self, words: list[int]) -> dy.Expression:
        last = self.sequence(words) if self.states else self.tree(words)
        return self.weights * last

    def sequence(self, words: list[int]) -> dy.Expression:
        state = tuple([dy.zeros(SIZE)] * self.states)
        for word in words:
            state = self.cell(self.symbols[word], *state)
        return state[0]

    def tree(self, words: list[int]) -> dy.Expression:
        if len(words) == 1:
            return self.symbols[words[0]]
        middle = (len(words) + 2) // 3
        return self.cell(self.tree(words[:middle]), self.tree(words[middle:]))[0]


def drawn(rng: random.Random) -> list[int]:
    return [rng.randrange(SYMBOLS) for _ in range(rng.randint(2, 8))]


def train(learner: Learner, updates: int) -> float:
    """The seconds of the training."""
    trainer, rng = dy.AdamTrainer(learner.model, 0.01), random.Random(1)
    begin = time.perf_counter()
    for _ in range(updates):
        dy.renew_cg()
        batch = [drawn(rng) for _ in range(16)]
        loss = dy.esum([dy.pickneglogsoftmax(learner.scores(words), words[0]) for words in batch])
        loss.backward()
        trainer.update()
    return time.perf_counter() - begin


def accuracy(learner: Learner) -> float:
    rng, right = random.Random(2), 0
    for _ in range(200):
        dy.renew_cg()
        words = drawn(rng)
        scores = learner.scores(words).vec_value()
        right += scores.index(max(scores)) == words[0]
    return right / 2


def main(updates: int) -> None:
    for kind in (MinimalGatedUnit, ProjectedLSTM, TreeGRU):
        seconds, right = [], []
        for recorded in (True, False):
            learner = Learner(kind, recorded)
            seconds.append(train(learner, updates))
            right.append(accuracy(learner))
        print(
            f"{kind.__name__:16}  accuracy {right[0]:.1f} %; as nodes {right[1]:.1f} %; "
            f"{seconds[0]:.2f} s and {seconds[1]:.2f} s"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 250)
