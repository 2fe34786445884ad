"""The cases of the tables: how one is computed, and how it is written."""

from __future__ import annotations

import random
import zlib

import mpmath as mp
import numpy as np

mp.mp.dps = 120
STEP = mp.mpf(10) ** -20


# ---- numbers and shapes ----


def f32(x):
    return float(np.float32(x))


def lift(f):
    """A function of numbers as one of arrays."""
    return np.frompyfunc(f, 1, 1)


def align(*arrays):
    """Missing dimensions of DyNet's shapes are at the end, of numpy's at the beginning."""
    nd = max(a.ndim for a in arrays)
    return [a.reshape(a.shape + (1,) * (nd - a.ndim)) for a in arrays]


def total(a):
    return sum(a.flatten(), mp.mpf(0))


def scalar(x):
    return np.array([x], dtype=object)


exp, log, sqrt, tanh = lift(mp.exp), lift(mp.log), lift(mp.sqrt), lift(mp.tanh)
absolute = lift(abs)


class Case:
    """One line of a family. `f` takes the arguments (of one example each; None for absent ones),
    then the indices or values, if there are any, as a list; attributes as keywords. It returns an
    array or a tuple of arrays. `whole`: arguments and results have the batch as their last
    dimension. `shapes`: of one example; `batch`: the number of examples of each argument."""

    def __init__(
        self,
        name,
        f,
        shapes,
        *,
        batch=1,
        low=-2.0,
        high=2.0,
        data=None,
        indices=None,
        values=None,
        whole=False,
        gradient=None,
        **attributes,
    ):
        self.name, self.f, self.whole, self.gradient = name, f, whole, gradient
        self.shapes = shapes
        self.batches = list(batch) if isinstance(batch, (list, tuple)) else [batch] * len(shapes)
        self.attributes = {k: f32(v) if isinstance(v, float) else v for k, v in attributes.items()}
        self.indices, self.values = indices, values
        if values is not None:
            self.values = [f32(v) for v in values]
        rng = random.Random(zlib.crc32(repr((name, shapes, batch, attributes, indices)).encode()))
        self.draw = lambda lo, hi: f32(round(rng.uniform(lo, hi), 6))
        self.inputs = []
        for k, (shape, b) in enumerate(zip(self.shapes, self.batches)):
            if shape is None:
                self.inputs.append(None)
            elif data is not None and data[k] is not None:
                self.inputs.append([f32(v) for v in data[k]])
            else:
                count = int(np.prod(shape)) * b
                self.inputs.append([self.draw(low, high) for _ in range(count)])

    def payload(self, example, batch):
        """The payload of one example."""
        for given in (self.indices, self.values):
            if given is not None:
                n = len(given) // batch if len(given) % batch == 0 and len(given) >= batch else 0
                per_example = batch > 1 and n > 0 and not self.whole and self.one_each
                return [given[example * n : (example + 1) * n]] if per_example else [given]
        return []

    @property
    def one_each(self):
        """Whether each example has a payload of its own."""
        return len(self.indices or self.values) > getattr(self.f, "payload", 1)

    def results(self, inputs):
        """Results as lists of numbers, and their shapes."""
        present = [b for s, b in zip(self.shapes, self.batches) if s is not None]
        batch = max(present, default=1)
        if self.indices is not None and not self.whole:
            batch = max(batch, len(self.indices) // getattr(self.f, "payload", 1))
        lists, shapes = None, None
        for e in range(1 if self.whole else batch):
            arrays = []
            for shape, b, numbers in zip(self.shapes, self.batches, inputs):
                if shape is None:
                    arrays.append(None)
                    continue
                if self.whole:
                    part, dims = numbers, (*shape, b)
                else:
                    n = len(numbers) // b
                    part, dims = numbers[(e if b > 1 else 0) * n :][:n], shape
                array = np.empty(len(part), dtype=object)
                array[:] = part
                arrays.append(array.reshape(dims, order="F"))
            out = self.f(*arrays, *self.payload(e, batch), **self.attributes)
            out = out if isinstance(out, tuple) else (out,)
            lists = lists or [[] for _ in out]
            for to, y in zip(lists, out):
                to.extend(y.flatten(order="F"))
            shapes = [y.shape for y in out]
        if self.whole:
            return lists, [s[:-1] for s in shapes], [s[-1] for s in shapes]
        return lists, shapes, [batch] * len(shapes)

    def text(self):
        inputs = [None if i is None else [mp.mpf(v) for v in i] for i in self.inputs]
        values, shapes, batches = self.results(inputs)
        seeds = [[self.draw(-1, 1) for _ in v] for v in values]

        def loss(given):
            results, _, _ = self.results(given)
            return sum((s * v for ss, vs in zip(seeds, results) for s, v in zip(ss, vs)), mp.mpf(0))

        lines = [
            " ".join(
                [
                    "case",
                    self.name,
                    *(f"{k}={show_attribute(v)}" for k, v in self.attributes.items()),
                ]
            )
        ]
        if self.indices is not None:
            lines.append("indices " + " ".join(map(str, self.indices)))
        if self.values is not None:
            lines.append("values " + " ".join(f"{v:.9g}" for v in self.values))
        for shape, b, numbers in zip(self.shapes, self.batches, self.inputs):
            lines.append(
                "absent" if shape is None else f"in {show_shape(shape, b)} " + join(numbers, 9)
            )
        for v, s, b, seed in zip(values, shapes, batches, seeds):
            lines.append(f"out {show_shape(s, b)} " + join(v, 17))
            lines.append("seed " + join(seed, 9))
        for k, numbers in enumerate(inputs):
            if numbers is None:
                continue
            slopes = self.gradient and self.gradient(k, inputs, seeds)
            if slopes is None:
                slopes = []
                for i in range(len(numbers)):
                    x = numbers[i]
                    step = STEP * (min(abs(x), 1) or 1)
                    numbers[i] = x + step
                    above = loss(inputs)
                    numbers[i] = x - step
                    slopes.append((above - loss(inputs)) / (2 * step))
                    numbers[i] = x
            lines.append(f"grad {k} " + join(slopes, 17))
        return "\n".join(line.rstrip() for line in lines) + "\n"


def show_attribute(v):
    if isinstance(v, str):  # a shape: "{4,3}"
        return v
    if isinstance(v, (list, tuple)):
        return ",".join(map(str, v))
    return f"{v:.9g}" if isinstance(v, float) else str(int(v))


def show_shape(shape, batch):
    return "{" + ",".join(map(str, shape)) + "}" + (f"x{batch}" if batch != 1 else "")


def join(numbers, digits):
    return " ".join(show_number(v, digits) for v in numbers)


def show_number(v, digits):
    text = mp.nstr(mp.mpf(v), digits, strip_zeros=True, min_fixed=-4, max_fixed=12)
    return text.removesuffix(".0")


def elementwise(name, f, low=-2.0, high=2.0, at=(), **attributes):
    """A function of each element: a batch of matrices, and chosen numbers."""
    g = lift(f)

    def whole(x, **_):
        return g(x)

    cases = [Case(name, whole, [(3, 2)], batch=2, low=low, high=high, **attributes)]
    if at:
        cases.append(Case(name, whole, [(len(at),)], data=[list(at)], **attributes))
    return cases


def broadcast(name, f, low=-2.0, high=2.0):
    """A function of two elements whose arguments broadcast."""

    def whole(x, y):
        x, y = align(x, y)
        return f(x, y)

    return [
        Case(name, whole, [(3, 2), (3, 2)], batch=[2, 1], low=low, high=high),
        Case(name, whole, [(1, 2), (3, 1)], batch=[1, 2], low=low, high=high),
        Case(name, whole, [(2,), (2, 2)], low=low, high=high),
    ]


def passes(factor):
    return lambda _k, _x, seeds: [factor * s for s in seeds[0]]
