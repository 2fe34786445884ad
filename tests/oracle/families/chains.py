"""Conditional random fields and CTC, by walking through all sequences."""

from __future__ import annotations

from itertools import groupby, product

import mpmath as mp
import numpy as np
from case import Case, scalar


def steps_of(e, lengths):
    return e.shape[1] if lengths is None else int(lengths[0])


def score(path, e, a, start, end):
    y = sum((e[t, k] for k, t in enumerate(path)), mp.mpf(0))
    y += sum((a[t, s] for s, t in zip(path, path[1:])), mp.mpf(0))
    return y if start is None else y + start[path[0]] + end[path[-1]]


def scores(e, a, start, end, lengths):
    """Of all sequences, by their tags."""
    a = a.reshape(e.shape[0], e.shape[0], order="F")
    steps = steps_of(e, lengths)
    every = product(range(e.shape[0]), repeat=steps)
    return {path: score(path, e, a, start, end) for path in every}


def log_of_sum(numbers):
    return mp.log(sum((mp.exp(v) for v in numbers), mp.mpf(0)))


def nothing_for(argument):
    """Numbers of steps are rounded down: they have no gradient."""
    return lambda k, inputs, _seeds: [mp.mpf(0)] * len(inputs[k]) if k >= argument else None


def crf_case(name, f, tags, length, *, ends=True, lengths=None, batch=1, shared=True, **more):
    shapes = [(tags, length), (tags, tags), *([(tags,)] * 2 if ends else [None] * 2)]
    shapes.append(None if lengths is None else (1,))
    of_weights = 1 if shared else batch
    return Case(
        name,
        f,
        shapes,
        batch=[batch, of_weights, of_weights, of_weights, batch],
        data=[None] * 4 + [lengths],
        gradient=nothing_for(4),
        **more,
    )


def crf_cases(name, f, **more):
    def of(*args, **kwargs):
        return crf_case(name, f, *args, **kwargs, **more)

    return [
        of(3, 4, batch=2),
        of(3, 4, ends=False),
        of(2, 5, batch=2, shared=False),
        of(1, 1),
        of(1, 3, ends=False),
        of(4, 1),
        of(9, 2, batch=2),
        of(3, 4, lengths=[4, 1, 3], batch=3),
        of(2, 4, lengths=[2], ends=False),
        of(3, 3, low=-60.0, high=60.0),
    ]


def chain():
    def partition(e, a, start, end, lengths):
        return scalar(log_of_sum(scores(e, a, start, end, lengths).values()))

    def viterbi(e, a, start, end, lengths):
        every = scores(e, a, start, end, lengths)
        best = max(every, key=every.get)
        tags = [mp.mpf(t) for t in best] + [mp.mpf(0)] * (e.shape[1] - len(best))
        return np.array(tags, dtype=object), scalar(every[best])

    def score_of(steps):
        def f(e, a, start, end, lengths, tags, steps):
            a = a.reshape(e.shape[0], e.shape[0], order="F")
            return scalar(score(tags[: min(steps, steps_of(e, lengths))], e, a, start, end))

        f.payload = steps
        return f

    def score_case(tags, steps, indices, count=None, **more):
        count = count or steps
        f = score_of(count)
        return crf_case("crf_score", f, tags, steps, indices=indices, **more, steps=count)

    def ctc_of(count):
        def f(x, lengths, label_lengths, labels, count, blank):
            steps = steps_of(x, lengths)
            wanted = labels[: count if label_lengths is None else int(label_lengths[0])]
            every = product(range(x.shape[0]), repeat=steps)
            said = [p for p in every if [c for c, _ in groupby(p) if c != blank] == wanted]
            return scalar(-log_of_sum(sum(x[c, k] for k, c in enumerate(p)) for p in said))

        f.payload = count
        return f

    def ctc(classes, steps, labels, count, blank=0, lengths=None, label_lengths=None, **more):
        batch = len(labels) // count
        shape = [None if given is None else (1,) for given in (lengths, label_lengths)]
        return Case(
            "ctc_loss",
            ctc_of(count),
            [(classes, steps), *shape],
            batch=batch,
            data=[None, lengths, label_lengths],
            indices=labels,
            gradient=nothing_for(1),
            count=count,
            blank=blank,
            high=0.0,
            **more,
        )

    return [
        *crf_cases("crf_log_partition", partition),
        *crf_cases("crf_viterbi", viterbi),
        score_case(3, 4, [2, 0, 1, 1]),
        score_case(3, 4, [2, 0, 1, 1, 0, 0, 2, 1], batch=2),
        score_case(3, 4, [2, 0, 1, 1, 0, 0, 2, 1], batch=2, shared=False, ends=False),
        score_case(3, 4, [1, 1, 2, 0], batch=2),
        score_case(1, 1, [0]),
        score_case(1, 3, [0, 0, 0], ends=False),
        score_case(4, 1, [3]),
        score_case(19, 2, [18, 0]),
        score_case(3, 4, [2, 1], count=2),
        score_case(3, 4, [2, 0, 1, 0, 0, 2], count=3, lengths=[1, 3], batch=2),
        ctc(3, 4, [1, 2], 2),
        ctc(3, 5, [1, 1], 2),
        ctc(3, 5, [2, 1, 1, 2, 2, 0], 3, blank=0, label_lengths=[3, 2]),
        ctc(4, 4, [3, 0], 2, blank=1),
        ctc(4, 4, [2, 3, 1, 0], 2, blank=0, lengths=[2, 4], label_lengths=[2, 1]),
        ctc(2, 3, [1], 1),
        ctc(2, 1, [1], 1),
        ctc(3, 4, [1], 1, label_lengths=[0]),
        ctc(1, 3, [0], 1, label_lengths=[0]),
        ctc(2, 9, [1, 1, 1, 1], 4),
    ]


TABLES = [chain]
