"""The programs of the DyNet paper's figures, as near to the print as they can run.

Each comment "mended" gives a necessary change, and its reason. Data are made up so that the task
can be learned; each test asserts that the loss fell and that the answers came out.
"""

from __future__ import annotations

import random

import dynet as dy
import numpy as np


def word_pairs(count: int, seed: int) -> list[tuple[tuple[int, int], int]]:
    """Pairs of words whose class depends on the first word and, for half of them, on the second."""
    rng = random.Random(seed)
    pairs = [(rng.randrange(40), rng.randrange(40)) for _ in range(count)]
    return [((a, b), a % 10 + (10 if b < 20 else 0)) for a, b in pairs]


def test_figure_1_training_and_testing():
    training_data = word_pairs(400, 1)
    test_data = word_pairs(100, 2)
    num_epochs = 12
    losses = []

    model = dy.model()
    W_p = model.add_parameters((20, 100))
    b_p = model.add_parameters(20)
    E = model.add_lookup_parameters((20000, 50))
    trainer = dy.SimpleSGDTrainer(model)
    # The softmax of a softmax, as printed, has small gradients: a larger rate than the default.
    trainer.learning_rate = 1.0
    for epoch in range(num_epochs):
        total = 0.0
        for in_words, out_label in training_data:
            dy.renew_cg()
            W = dy.parameter(W_p)
            b = dy.parameter(b_p)
            score_sym = dy.softmax(W * dy.concatenate([E[in_words[0]], E[in_words[1]]]) + b)
            loss_sym = dy.pickneglogsoftmax(score_sym, out_label)
            loss_val = loss_sym.value()
            loss_sym.backward()
            trainer.update()
            total += loss_val
        losses.append(total / len(training_data))
    correct_answers = 0
    for in_words, out_label in test_data:
        dy.renew_cg()
        W = dy.parameter(W_p)
        b = dy.parameter(b_p)
        score_sym = dy.softmax(W * dy.concatenate([E[in_words[0]], E[in_words[1]]]) + b)
        score_val = score_sym.npvalue()
        if out_label == np.argmax(score_val):
            correct_answers += 1

    assert losses[-1] < losses[0] - 0.3
    assert correct_answers / len(test_data) > 0.8  # chance is 0.05


class Tree:
    def __init__(self, label: str, children: tuple[Tree, ...] = ()) -> None:
        self.label = label
        self.children = children

    def isleaf(self) -> bool:
        return not self.children


class TreeRNNBuilder:
    def __init__(self, model, word_vocab, hdim):
        self.W = model.add_parameters((hdim, 2 * hdim))
        self.E = model.add_lookup_parameters((len(word_vocab), hdim))
        self.w2i = word_vocab

    def encode(self, tree):
        if tree.isleaf():
            return self.E[self.w2i.get(tree.label, 0)]
        elif len(tree.children) == 1:  # unary node, skip
            expr = self.encode(tree.children[0])
            return expr
        else:
            assert len(tree.children) == 2
            e1 = self.encode(tree.children[0])
            e2 = self.encode(tree.children[1])
            W = dy.parameter(self.W)
            expr = dy.tanh(W * dy.concatenate([e1, e2]))
            return expr


def random_tree(rng: random.Random, depth: int) -> Tree:
    if depth == 0 or rng.random() < 0.3:
        leaf = Tree(rng.choice(["good", "bad", "the", "a"]))
        return Tree("N", (leaf,)) if rng.random() < 0.3 else leaf
    return Tree("N", (random_tree(rng, depth - 1), random_tree(rng, depth - 1)))


def words(tree: Tree) -> list[str]:
    return [tree.label] if tree.isleaf() else [w for c in tree.children for w in words(c)]


def labelled_trees(count: int, seed: int) -> list[tuple[Tree, int]]:
    rng = random.Random(seed)
    examples = []
    while len(examples) < count:
        tree = random_tree(rng, 3)
        found = words(tree)
        if found.count("good") != found.count("bad"):
            examples.append((tree, int(found.count("good") > found.count("bad"))))
    return examples


def test_figure_2_tree_structured_network():
    examples = labelled_trees(150, 3)
    word_vocabulary = {"good": 0, "bad": 1, "the": 2, "a": 3}
    losses = []

    def read_examples():
        return examples

    model = dy.Model()
    U_p = model.add_parameters((2, 50))
    tree_builder = TreeRNNBuilder(model, word_vocabulary, 50)
    trainer = dy.AdamTrainer(model)
    for epoch in range(10):  # mended: xrange is Python 2
        total = 0.0
        for in_tree, out_label in read_examples():
            dy.renew_cg()
            U = dy.parameter(U_p)
            loss = dy.pickneglogsoftmax(U * tree_builder.encode(in_tree), out_label)
            loss.forward()
            loss.backward()
            trainer.update()
            total += loss.value()
        losses.append(total / len(examples))

    right = 0
    test_trees = labelled_trees(100, 4)
    for tree, label in test_trees:
        dy.renew_cg()
        right += int(np.argmax((U_p * tree_builder.encode(tree)).npvalue()) == label)
    assert losses[-1] < 0.3 * losses[0]
    assert right / len(test_trees) > 0.85


def bags(count: int, seed: int) -> list[tuple[list[int], int]]:
    """Words 0-9 speak for, 10-19 against; the label is 1 or -1."""
    rng = random.Random(seed)
    result = []
    while len(result) < count:
        bag = [rng.randrange(40) for _ in range(rng.randrange(3, 9))]
        score = sum(w < 10 for w in bag) - sum(10 <= w < 20 for w in bag)
        if score != 0:
            result.append((bag, 1 if score > 0 else -1))
    return result


def test_figure_3_dynamic_flow_control():
    training_data = bags(400, 5)
    test_data = bags(100, 6)
    num_epochs = 15
    threshold = 12.0
    losses = []
    stopped_early = 0

    model = dy.model()
    # mended: the print makes W_p and b_p a vector of 100 and uses the vector as a row; E has rows of 50.
    W_p = model.add_parameters((1, 50))
    b_p = model.add_parameters(1)
    E = model.add_lookup_parameters((20000, 50))
    trainer = dy.SimpleSGDTrainer(model)
    for epoch in range(num_epochs):
        total = 0.0
        for in_words, out_label in training_data:
            dy.renew_cg()
            W = dy.parameter(W_p)
            b = dy.parameter(b_p)
            score_sym = W * sum([E[word] for word in in_words]) + b
            # mended: the print says `score`, which is not defined, and maximises the probability
            # instead of minimising its negative logarithm.
            loss_sym = -dy.log(dy.logistic(out_label * score_sym))
            total += loss_sym.value()
            loss_sym.backward()
            trainer.update()
        losses.append(total / len(training_data))
    correct_answers = 0
    for in_words, out_label in test_data:
        dy.renew_cg()
        W = dy.parameter(W_p)
        b = dy.parameter(b_p)
        score_sym = b
        for word in in_words:
            score_sym = score_sym + W * E[word]
            if abs(score_sym.value()) > threshold:
                stopped_early += word != in_words[-1]
                break
        if out_label * score_sym.value() > 0:
            correct_answers += 1

    assert losses[-1] < 0.3 * losses[0]
    assert correct_answers / len(test_data) > 0.85
    assert 0 < stopped_early < len(test_data)


def test_figure_4_computation_graph():
    model = dy.ParameterCollection()
    # mended: g must have one element for backward, so the matrices have one row.
    b_param = model.add_parameters(1)
    W1_param = model.add_parameters((1, 3))
    W2_param = model.add_parameters((1, 4))
    e_param = model.add_lookup_parameters((5, 4))
    x_vec = [0.5, -1.0, 2.0]
    i = 3
    dy.renew_cg()
    cg = dy.cg()

    b = dy.parameter(cg, b_param)
    W1 = dy.parameter(cg, W1_param)
    W2 = dy.parameter(cg, W2_param)
    x = dy.vectorInput(x_vec)
    e = e_param[i]
    g = dy.tanh(W1 * x + b) + dy.tanh(W2 * e + b)
    g_val = g.value()
    g.backward()

    w1, w2, bias = W1_param.as_array(), W2_param.as_array(), b_param.as_array()
    row = e_param.as_array()[i]
    first = np.tanh(w1 @ np.array(x_vec) + bias)
    second = np.tanh(w2 @ row + bias)
    assert np.isclose(g_val, (first + second).item(), atol=1e-6)
    # b is used twice, so it gets both gradients.
    slopes = (1 - first**2) + (1 - second**2)
    np.testing.assert_allclose(b_param.grad_as_array(), slopes, rtol=1e-4)
    np.testing.assert_allclose(
        W1_param.grad_as_array(), [(1 - first**2) * np.array(x_vec)][0][None], rtol=1e-4
    )
    expected = np.zeros((5, 4))
    expected[i] = (1 - second**2) * w2[0]
    np.testing.assert_allclose(e_param.grad_as_array(), expected, rtol=1e-4, atol=1e-7)


def sequences(count: int, seed: int) -> list[tuple[list[int], list[int]]]:
    """Bits, and for each position the bit before it."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        bits = [rng.randrange(2) for _ in range(rng.randrange(4, 9))]
        result.append((bits, [0, *bits[:-1]]))
    return result


def train_sequence_model(run) -> tuple[list[float], float]:
    """Losses of the epochs, and the share of right answers; `run` gives the outputs of a sequence."""
    LAYERS, EMBED, HIDDEN = 1, 4, 12
    model = dy.ParameterCollection()
    embeddings = model.add_lookup_parameters((2, EMBED))
    scores = model.add_parameters((2, HIDDEN))
    RNN = dy.LSTMBuilder(LAYERS, EMBED, HIDDEN, model)
    trainer = dy.AdamTrainer(model, 0.02)
    losses = []
    for _ in range(8):
        total = 0.0
        for bits, labels in sequences(60, 7):
            dy.renew_cg()
            outputs = run(RNN, [embeddings[bit] for bit in bits])
            loss = dy.esum([dy.pickneglogsoftmax(scores * h, y) for h, y in zip(outputs, labels)])
            total += loss.value()
            loss.backward()
            trainer.update()
        losses.append(total)
    right = count = 0
    for bits, labels in sequences(30, 8):
        dy.renew_cg()
        outputs = run(RNN, [embeddings[bit] for bit in bits])
        answers = [int(np.argmax((scores * h).npvalue())) for h in outputs]
        right += sum(a == y for a, y in zip(answers, labels))
        count += len(labels)
    return losses, right / count


def test_figure_6a_canonical_usage():
    def run(RNN, example):
        outputs = []
        do_further_processing = outputs.append
        state = RNN.initial_state()
        for x in example:
            state = state.add_input(x)
            do_further_processing(state.output())
        return outputs

    losses, accuracy = train_sequence_model(run)
    assert losses[-1] < 0.3 * losses[0]
    assert accuracy > 0.95


def test_figure_6c_sequence_processing():
    def run(RNN, example):
        processed = []
        do_further_processing = processed.append
        outputs = RNN.initial_state().transduce(example)  # mended: initial_state is a method
        for h in outputs:
            do_further_processing(h)
        return processed

    losses, accuracy = train_sequence_model(run)
    assert losses[-1] < 0.3 * losses[0]
    assert accuracy > 0.95


def test_figure_6a_and_6c_give_the_same_numbers():
    model = dy.ParameterCollection()
    RNN = dy.LSTMBuilder(2, 3, 5, model)
    vectors = [np.random.default_rng(k).normal(size=3) for k in range(4)]
    dy.renew_cg()
    state = RNN.initial_state()
    one_by_one = []
    for v in vectors:
        state = state.add_input(dy.inputVector(v))
        one_by_one.append(state.output().npvalue())
    transduced = RNN.initial_state().transduce([dy.inputVector(v) for v in vectors])
    np.testing.assert_array_equal(one_by_one, [h.npvalue() for h in transduced])


def test_figure_8_minibatching():
    model = dy.ParameterCollection()
    W = model.add_parameters((20, 100))
    b = model.add_parameters(20)
    E = model.add_lookup_parameters((20000, 50))
    examples = word_pairs(64, 9)

    def single_loss(in_words, out_label):
        word_1 = E[in_words[0]]
        word_2 = E[in_words[1]]
        scores_sym = dy.softmax(W * dy.concatenate([word_1, word_2]) + b)
        loss_sym = dy.pickneglogsoftmax(scores_sym, out_label)
        return loss_sym

    def batch_loss(in_words, out_labels):
        word_1_batch = dy.lookup_batch(E, [x[0] for x in in_words])
        word_2_batch = dy.lookup_batch(E, [x[1] for x in in_words])
        scores_sym = dy.softmax(W * dy.concatenate([word_1_batch, word_2_batch]) + b)
        loss_sym = dy.sum_batches(dy.pickneglogsoftmax_batch(scores_sym, out_labels))
        return loss_sym

    # (a) and (b) are the same function.
    dy.renew_cg()
    one_by_one = dy.esum([single_loss(*example) for example in examples])
    at_once = batch_loss([words for words, _ in examples], [label for _, label in examples])
    assert np.isclose(one_by_one.value(), at_once.value(), rtol=1e-5)
    at_once.backward()
    batch_gradient = W.grad_as_array()
    model.reset_gradient()
    one_by_one.backward()
    np.testing.assert_allclose(W.grad_as_array(), batch_gradient, rtol=1e-3, atol=1e-5)
    model.reset_gradient()

    # And (b) learns.
    trainer = dy.SimpleSGDTrainer(model, 1.0)
    training = word_pairs(512, 10)
    losses = []
    for _ in range(25):
        total = 0.0
        for first in range(0, len(training), 16):
            batch = training[first : first + 16]
            dy.renew_cg()
            loss = batch_loss([words for words, _ in batch], [label for _, label in batch])
            total += loss.value()
            loss.backward()
            trainer.update()
        losses.append(total / len(training))
    dy.renew_cg()
    test = word_pairs(100, 11)
    word_1 = dy.lookup_batch(E, [w[0] for w, _ in test])
    word_2 = dy.lookup_batch(E, [w[1] for w, _ in test])
    answers = (W * dy.concatenate([word_1, word_2]) + b).npvalue().argmax(axis=0)
    assert losses[-1] < losses[0] - 0.3
    assert np.mean(answers == [label for _, label in test]) > 0.6  # chance is 0.05
