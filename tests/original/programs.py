"""Whole programs as users of DyNet 2.1 write them, each with the losses of its first updates.

Each function of PROGRAMS makes a model and returns `step`, which computes losses and updates the
parameters; steps can be timed as well as compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import dynet as dy
import numpy as np
from fixed import fill, sentence

Step = Callable[[], float]
UPDATES = 20


def xor() -> Step:
    m = dy.Model()
    pW, pb, pV, pa = (
        m.add_parameters((8, 2)),
        m.add_parameters(8),
        m.add_parameters((1, 8)),
        m.add_parameters(1),
    )
    fill(m, 1.0)
    trainer = dy.SimpleSGDTrainer(m)

    def step() -> float:
        total = 0.0
        for first in (0, 1):
            for second in (0, 1):
                dy.renew_cg()
                W, b, V, a = dy.parameter(pW), dy.parameter(pb), dy.parameter(pV), dy.parameter(pa)
                x, y = dy.vecInput(2), dy.scalarInput(0)
                x.set([first, second])
                y.set(first ^ second)
                loss = dy.binary_log_loss(dy.logistic(V * dy.tanh(W * x + b) + a), y)
                total += loss.scalar_value()
                loss.backward()
                trainer.update()
        return total

    return step


def bag_of_words(words: int = 200, size: int = 64, classes: int = 5) -> Step:
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((words, size))
    W, b = m.add_parameters((classes, size)), m.add_parameters(classes)
    fill(m)
    trainer = dy.AdamTrainer(m, alpha=0.01)
    data = [(sentence(n, 5 + n % 17, words), n % classes) for n in range(12)]

    def step() -> float:
        total = 0.0
        for text, label in data:
            dy.renew_cg()
            scores = W * dy.esum([dy.lookup(E, w) for w in text]) + b
            loss = dy.pickneglogsoftmax(scores, label)
            total += loss.value()
            loss.backward()
            trainer.update()
        return total

    return step


def tagger(
    batched: bool, words: int = 100, size: int = 32, hidden: int = 50, tags: int = 9
) -> Step:
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((words, size))
    forward, backward = (
        dy.VanillaLSTMBuilder(1, size, hidden, m),
        dy.VanillaLSTMBuilder(1, size, hidden, m),
    )
    H, V = m.add_parameters((32, 2 * hidden)), m.add_parameters((tags, 32))
    fill(m)
    trainer = dy.SimpleSGDTrainer(m, 0.05)
    data = [(sentence(n, 4 + n % 9, words), sentence(n + 50, 4 + n % 9, tags)) for n in range(8)]

    def loss_of(text: list[int], labels: list[int]) -> dy.Expression:
        inputs = [E[w] for w in text]
        right = forward.initial_state().add_inputs(inputs)
        left = backward.initial_state().add_inputs(reversed(inputs))
        losses = []
        for f, b, label in zip(right, reversed(left), labels):
            scores = V * dy.tanh(H * dy.concatenate([f.output(), b.output()]))
            losses.append(dy.pickneglogsoftmax(scores, label))
        return dy.esum(losses)

    def step_batched() -> float:
        dy.renew_cg(autobatching=True)
        loss = dy.esum([loss_of(text, labels) for text, labels in data]) / len(data)
        value = loss.value()
        loss.backward()
        trainer.update()
        return value

    def step() -> float:
        total = 0.0
        for text, labels in data:
            dy.renew_cg()
            loss = loss_of(text, labels)
            total += loss.value()
            loss.backward()
            trainer.update()
        return total

    return step_batched if batched else step


def language_model(letters: int = 40, size: int = 24, hidden: int = 48) -> Step:
    """Sentences of a batch padded to one length, with a mask over the losses of the padding."""
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((letters, size))
    lstm = dy.VanillaLSTMBuilder(2, size, hidden, m)
    pW, pb = m.add_parameters((letters, hidden)), m.add_parameters(letters)
    fill(m)
    trainer = dy.MomentumSGDTrainer(m, 0.002)
    batch = [[0, *sentence(n, 6 + n % 11, letters), 1] for n in range(8)]
    longest = max(len(s) for s in batch)
    count = sum(len(s) - 1 for s in batch)

    def step() -> float:
        dy.renew_cg()
        W, b = dy.parameter(pW), dy.parameter(pb)
        state, losses = lstm.initial_state(), []
        for i in range(longest - 1):
            now = [s[i] if i < len(s) else 1 for s in batch]
            following = [s[i + 1] if i + 1 < len(s) else 1 for s in batch]
            mask = [1.0 if i + 1 < len(s) else 0.0 for s in batch]
            state = state.add_input(dy.lookup_batch(E, now))
            loss = dy.pickneglogsoftmax_batch(
                dy.affine_transform([b, W, state.output()]), following
            )
            if 0.0 in mask:
                loss = loss * dy.reshape(dy.inputVector(mask), (1,), len(batch))
            losses.append(loss)
        total = dy.sum_batches(dy.esum(losses)) / count
        value = total.scalar_value()
        total.backward()
        trainer.update()
        return value

    return step


def translator(words: int = 60, size: int = 24, hidden: int = 40) -> Step:
    """Encoder, attention, decoder; the words of a greedy translation count into the result."""
    m = dy.ParameterCollection()
    source, target = m.add_lookup_parameters((words, size)), m.add_lookup_parameters((words, size))
    encoder = dy.VanillaLSTMBuilder(1, size, hidden, m)
    decoder = dy.VanillaLSTMBuilder(1, size + hidden, hidden, m)
    w1, w2, v = (
        m.add_parameters((20, hidden)),
        m.add_parameters((20, 2 * hidden)),
        m.add_parameters((1, 20)),
    )
    R, b = m.add_parameters((words, hidden)), m.add_parameters(words)
    fill(m)
    trainer = dy.AdamTrainer(m, 0.003)
    pairs = [(sentence(n, 5 + n, words), [*sentence(n + 9, 4 + n, words), 0]) for n in range(4)]

    def encode(text: list[int]) -> dy.Expression:
        return dy.concatenate_cols(encoder.initial_state().transduce([source[w] for w in text]))

    def start() -> dy.RNNState:
        return decoder.initial_state().add_input(dy.concatenate([dy.zeros(hidden), target[0]]))

    def context(columns: dy.Expression, keys: dy.Expression, state: dy.RNNState) -> dy.Expression:
        query = w2 * dy.concatenate(list(state.s()))
        weights = dy.softmax(dy.transpose(v * dy.tanh(dy.colwise_add(keys, query))))
        return columns * weights

    def translation(text: list[int]) -> float:
        dy.renew_cg()
        columns = encode(text)
        keys, state, found = w1 * columns, start(), []
        for _ in range(2 * len(text)):
            scores = R * state.output() + b
            word = int(np.argmax(dy.softmax(scores).npvalue()))
            if word == 0:
                break
            found.append(word)
            state = state.add_input(dy.concatenate([context(columns, keys, state), target[word]]))
        return sum((i + 1) * word for i, word in enumerate(found)) / 100

    def step() -> float:
        total = 0.0
        for text, wanted in pairs:
            dy.renew_cg()
            columns = encode(text)
            keys, state, losses = w1 * columns, start(), []
            for word in wanted:
                losses.append(dy.pickneglogsoftmax(R * state.output() + b, word))
                state = state.add_input(
                    dy.concatenate([context(columns, keys, state), target[word]])
                )
            loss = dy.esum(losses)
            total += loss.value()
            loss.backward()
            trainer.update()
        return total + translation(pairs[0][0])

    return step


def tree(words: int = 50, size: int = 20, hidden: int = 30, classes: int = 4) -> Step:
    """A binary tree LSTM over brackets, written by hand."""
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((words, size))
    Wi, Wo, Wu = (m.add_parameters((hidden, size)) for _ in range(3))
    bi, bo, bu, bf = (m.add_parameters(hidden, init=0) for _ in range(4))
    Ui, Uo, Uu, Uf1, Uf2 = (m.add_parameters((hidden, 2 * hidden)) for _ in range(5))
    V = m.add_parameters((classes, hidden))
    fill(m, 0.2)
    trainer = dy.AdagradTrainer(m, 0.02)

    def brackets(first: int, last: int) -> str:
        if last - first == 1:
            return str((7 * first + 3) % words)
        middle = first + 1 + (first * 5 + last) % (last - first - 1)
        return f"({brackets(first, middle)} {brackets(middle, last)})"

    data = [(brackets(n, n + 3 + n % 8), n % classes) for n in range(8)]

    def encode(tokens: Iterator[str]) -> tuple[dy.Expression, dy.Expression]:
        token = next(tokens)
        if token != "(":
            x = E[int(token)]
            i, o, u = dy.logistic(Wi * x + bi), dy.logistic(Wo * x + bo), dy.tanh(Wu * x + bu)
            c = dy.cmult(i, u)
        else:
            (h1, c1), (h2, c2) = encode(tokens), encode(tokens)
            next(tokens)
            e = dy.concatenate([h1, h2])
            i, o, u = dy.logistic(Ui * e + bi), dy.logistic(Uo * e + bo), dy.tanh(Uu * e + bu)
            f1, f2 = dy.logistic(Uf1 * e + bf), dy.logistic(Uf2 * e + bf)
            c = dy.cmult(i, u) + dy.cmult(f1, c1) + dy.cmult(f2, c2)
        return dy.cmult(o, dy.tanh(c)), c

    def step() -> float:
        dy.renew_cg()
        losses = []
        for text, label in data:
            h, _ = encode(iter(text.replace("(", "( ").replace(")", " )").split()))
            losses.append(dy.pickneglogsoftmax(V * h, label))
        loss = dy.average(losses)
        value = loss.value()
        loss.backward()
        trainer.update()
        return value

    return step


def stack_lstm(words: int = 50, size: int = 24, hidden: int = 32) -> Step:
    """Shift-reduce parsing with a stack of LSTM states: reduce goes back with prev()."""
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((words, size))
    stack_rnn, buffer_rnn = (
        dy.VanillaLSTMBuilder(1, size, hidden, m),
        dy.VanillaLSTMBuilder(1, size, hidden, m),
    )
    Wp, bp = m.add_parameters((hidden, 2 * hidden)), m.add_parameters(hidden)
    Wa, ba = m.add_parameters((3, hidden)), m.add_parameters(3)
    Wc, bc = m.add_parameters((size, 2 * hidden)), m.add_parameters(size)
    empty = m.add_parameters(size)
    fill(m)
    trainer = dy.SimpleSGDTrainer(m, 0.03)
    data = [sentence(n, 5 + n, words) for n in range(4)]

    def loss_of(text: list[int]) -> dy.Expression:
        stack = [stack_rnn.initial_state().add_input(empty)]
        buffer = [buffer_rnn.initial_state().add_input(empty)]
        for w in reversed(text):
            buffer.append(buffer[-1].add_input(E[w]))
        left, turn, losses = list(reversed(text)), 0, []
        while left or len(stack) > 2:
            parser = dy.concatenate([stack[-1].output(), buffer[-1].output()])
            scores = Wa * dy.tanh(Wp * parser + bp) + ba
            valid = [0] if len(stack) < 3 else [0, 1, 2] if left else [1, 2]
            turn += 1
            action = valid[turn * turn % len(valid)]
            if len(valid) > 1:
                losses.append(-dy.pick(dy.log_softmax(scores, valid), action))
            if action == 0:
                stack.append(stack[-1].add_input(E[left.pop()]))
                buffer[-1] = buffer[-1].prev()
            else:
                right, under = stack.pop(), stack.pop()
                pair = (
                    [under.output(), right.output()]
                    if action == 1
                    else [right.output(), under.output()]
                )
                stack.append(stack[-1].add_input(dy.tanh(Wc * dy.concatenate(pair) + bc)))
        return dy.esum(losses)

    def step() -> float:
        total = 0.0
        for text in data:
            dy.renew_cg()
            loss = loss_of(text)
            total += loss.scalar_value()
            loss.backward()
            trainer.update()
        return total

    return step


def convolutions(
    words: int = 80, size: int = 16, filters: int = 12, window: int = 3, classes: int = 3
) -> Step:
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((words, 1, 1, size))
    F, b = m.add_parameters((1, window, size, filters)), m.add_parameters((filters,))
    W, a = m.add_parameters((classes, filters)), m.add_parameters(classes)
    fill(m)
    trainer = dy.AdamTrainer(m)
    data = [(sentence(n, 4 + n % 7, words), n % classes) for n in range(8)]

    def step() -> float:
        total = 0.0
        for text, label in data:
            dy.renew_cg()
            image = dy.concatenate([dy.lookup(E, w) for w in text], d=1)
            found = dy.conv2d_bias(image, F, b, stride=(1, 1))
            best = dy.reshape(dy.max_dim(found, d=1), (filters,))
            loss = dy.pickneglogsoftmax(W * dy.rectify(best) + a, label)
            total += loss.value()
            loss.backward()
            trainer.update()
        return total

    return step


def reinforcement(states: int = 12, hidden: int = 24, actions: int = 4) -> Step:
    """Actions are drawn from the policy with the program's own numbers."""
    m = dy.ParameterCollection()
    W1, b1 = m.add_parameters((hidden, states)), m.add_parameters(hidden)
    W2, b2 = m.add_parameters((actions, hidden)), m.add_parameters(actions)
    fill(m)
    trainer = dy.RMSPropTrainer(m, 0.002)
    draws = iter(range(1, 10**9))

    def step() -> float:
        dy.renew_cg()
        here, losses, baseline = 0, [], 0.4
        for _ in range(10):
            policy = dy.softmax(W2 * dy.tanh(W1 * dy.one_hot(states, here) + b1) + b2)
            drawn = (next(draws) * 0.6180339887) % 1.0
            action = min(int(np.searchsorted(np.cumsum(policy.npvalue()), drawn)), actions - 1)
            reward = 1.0 if action == here % actions else 0.0
            losses.append(-dy.log(dy.pick(policy, action)) * (reward - baseline))
            here = (here * 5 + action + 1) % states
        loss = dy.esum(losses)
        value = loss.value()
        loss.backward()
        trainer.update()
        return value

    return step


def accumulated(size: int = 20, hidden: int = 24) -> Step:
    """Four graphs, each with a backward of its own, and one update."""
    m = dy.ParameterCollection()
    gru = dy.GRUBuilder(1, size, hidden, m)
    W = m.add_parameters((1, hidden))
    fill(m)
    trainer = dy.AdadeltaTrainer(m)

    def step() -> float:
        total = 0.0
        for n in range(4):
            dy.renew_cg()
            inputs = [
                dy.inputVector([np.sin(i * n + j) for j in range(size)]) for i in range(3 + n)
            ]
            out = gru.initial_state().transduce(inputs)[-1]
            loss = dy.squared_distance(W * out, dy.scalarInput(0.5 * n))
            total += loss.value()
            loss.backward()
        trainer.update()
        return total

    return step


def search(words: int = 30, size: int = 16, hidden: int = 24) -> Step:
    """The best next word is looked for with cg_checkpoint and cg_revert; its margin is a loss."""
    m = dy.ParameterCollection()
    E = m.add_lookup_parameters((words, size))
    rnn = dy.SimpleRNNBuilder(1, size, hidden, m)
    V = m.add_parameters((1, hidden))
    fill(m)
    trainer = dy.SimpleSGDTrainer(m, 0.01)
    text = sentence(3, 7, words)

    def step() -> float:
        dy.renew_cg()
        state, losses = rnn.initial_state().add_input(E[0]), []
        # Before the first checkpoint, because 2.2 goes on using the node that it made first.
        v = V.expr(True)
        for wanted in text:
            scores = []
            for other in range(0, words, 3):
                dy.cg_checkpoint()
                scores.append((v * state.add_input(E[other]).output()).scalar_value())
                dy.cg_revert()
            rival = 3 * int(np.argmax(scores))
            if rival != wanted:
                losses.append(
                    dy.rectify(
                        v * state.add_input(E[rival]).output()
                        - v * state.add_input(E[wanted]).output()
                        + 1
                    )
                )
            state = state.add_input(E[wanted])
        loss = dy.esum(losses)
        value = loss.scalar_value()
        loss.backward()
        trainer.update()
        return value

    return step


PROGRAMS: dict[str, Callable[[], Step]] = {
    "xor": xor,
    "bag_of_words": bag_of_words,
    "tagger": lambda: tagger(batched=False),
    "tagger_batched": lambda: tagger(batched=True),
    "language_model": language_model,
    "translator": translator,
    "tree": tree,
    "stack_lstm": stack_lstm,
    "convolutions": convolutions,
    "reinforcement": reinforcement,
    "accumulated": accumulated,
    "search": search,
}


def cases() -> Iterator[tuple[str, Callable[[], object]]]:
    for name, program in PROGRAMS.items():

        def losses(program: Callable[[], Step] = program) -> list[float]:
            step = program()
            return [step() for _ in range(UPDATES)]

        yield name, losses
