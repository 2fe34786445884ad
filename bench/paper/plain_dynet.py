"""The programs of plain.py with this library, each written for one example."""

from __future__ import annotations

import dynet as dy
import numpy as np
import plain_networks as data
from plain_networks import SIZE, TAGS, Node, Sentence


class Program:
    def __init__(self, model: str):
        self.model = model
        self.parameters = dy.ParameterCollection()
        self.tables, self.w = {}, {}
        for name, value in data.weights(model).items():
            if name in ("words", "targets"):
                self.tables[name] = self.parameters.lookup_parameters_from_numpy(value)
            else:
                self.w[name] = self.parameters.parameters_from_numpy(value)

    def step(self, name: str, x, h=None, c=None):
        """An LSTM, gate by gate."""
        w = self.w

        def gate(g):
            terms = [w[f"{name}b{g}"], w[f"{name}W{g}"], x]
            if h is not None:
                terms += [w[f"{name}U{g}"], h]
            return dy.affine_transform(terms)

        new = dy.cmult(dy.logistic(gate("i")), dy.tanh(gate("u")))
        if c is not None:
            new += dy.cmult(dy.logistic(gate("f")), c)
        return dy.cmult(dy.logistic(gate("o")), dy.tanh(new)), new

    def both(self, words: list[int]):
        xs = [dy.lookup(self.tables["words"], word) for word in words]
        left, right, state = [], [], (None, None)
        for x in xs:
            state = self.step("left", x, *state)
            left.append(state[0])
        state = (None, None)
        for x in reversed(xs):
            state = self.step("right", x, *state)
            right.append(state[0])
        return [dy.concatenate(list(pair)) for pair in zip(left, reversed(right), strict=True)]

    def tree(self, node: Node, losses: list):
        w = self.w
        children = [self.tree(child, losses) for child in node.children]
        x = dy.lookup(self.tables["words"], node.word)
        total = dy.esum([h for h, _ in children]) if children else None

        def gate(g, h):
            terms = [w[f"b{g}"], w[f"W{g}"], x]
            return dy.affine_transform(terms if h is None else [*terms, w[f"U{g}"], h])

        new = dy.cmult(dy.logistic(gate("i", total)), dy.tanh(gate("u", total)))
        for h, c in children:
            new += dy.cmult(dy.logistic(gate("f", h)), c)
        h = dy.cmult(dy.logistic(gate("o", total)), dy.tanh(new))
        losses.append(dy.pickneglogsoftmax(dy.affine_transform([w["o"], w["O"], h]), node.label))
        return h, new

    def crf(self, sentence: Sentence, losses: list):
        w = self.w
        steps = [[dy.pick(row, k) for k in range(TAGS)] for row in (w["T"][t] for t in range(TAGS))]
        alpha, gold, before = [], [], 0
        for h, tag in zip(self.both(sentence.words), sentence.to, strict=True):
            emission = dy.affine_transform([w["o"], w["O"], h])
            scores = [dy.pick(emission, t) for t in range(TAGS)]
            gold.append(scores[tag])
            if alpha:
                gold.append(steps[tag][before])
                scores = [
                    dy.logsumexp([a + step for a, step in zip(alpha, steps[t], strict=True)])
                    + score
                    for t, score in enumerate(scores)
                ]
            alpha, before = scores, tag
        losses.append(dy.logsumexp(alpha) - dy.esum(gold))

    def translator(self, sentence: Sentence, losses: list):
        w = self.w
        memory = dy.concatenate_cols(self.both(sentence.words))
        keys = w["K"] * memory
        context = dy.zeros(2 * SIZE)
        state, word = (None, None), 0
        for target in sentence.to:
            x = dy.concatenate([dy.lookup(self.tables["targets"], word), context])
            state = self.step("to", x, *state)
            scores = w["v"] * dy.tanh(keys + w["Q"] * state[0])
            context = memory * dy.softmax(dy.transpose(scores))
            out = dy.affine_transform([w["o"], w["O"], dy.concatenate([state[0], context])])
            losses.append(dy.pickneglogsoftmax(out, target))
            word = target

    def run(self, examples: list, trains: bool, batching: bool) -> float:
        dy.renew_cg(autobatching=batching)
        losses: list = []
        add = {"child-sum": self.tree, "crf": self.crf, "translator": self.translator}[self.model]
        for example in examples:
            add(example, losses)
        loss = dy.esum(losses)
        value = float(np.asarray(loss.value()))
        if trains:
            loss.backward()
            self.parameters.reset_gradient()
        return value
