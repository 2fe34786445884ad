"""Files of models: what is written, and what each library reads of both libraries' files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import dynet as dy
import numpy as np
from builders import KINDS
from fixed import fill, keep, values_of, wave

Case = Callable[[], object]
SIZE, HIDDEN = 3, 4


class Tagger:
    """A class of the program, stored by dy.save through its specification."""

    def __init__(self, model: dy.ParameterCollection, tags: int) -> None:
        self.m = model.add_subcollection("tagger")
        self.spec = (tags,)
        self.E = self.m.add_lookup_parameters((6, SIZE))
        self.lstm = dy.BiRNNBuilder(1, SIZE, 2 * HIDDEN, self.m, dy.VanillaLSTMBuilder)
        self.W = self.m.add_parameters((tags, 2 * HIDDEN), name="W")

    @classmethod
    def from_spec(cls, spec: tuple[int], model: dy.ParameterCollection) -> Tagger:
        return cls(model, *spec)

    def param_collection(self) -> dy.ParameterCollection:
        return self.m

    def scores(self) -> list[np.ndarray]:
        dy.renew_cg()
        outputs = self.lstm.transduce([self.E[i] for i in range(3)])
        return [(self.W * y).npvalue() for y in outputs]


def file(name: str) -> str:
    return str(Path(os.environ["FILES"]) / name.replace(" ", "_"))


def text(name: str) -> list[object]:
    """Lines of a file; numbers as numbers, because the last digit is a matter of rounding."""
    lines: list[object] = []
    for line in Path(file(name)).read_text().splitlines():
        if line.startswith("#"):
            lines.append(line)
        else:
            lines.append([float(x) for x in line.split()])
            lines.append([len(line), line[-1:]])
    return lines


# ---- models


def plain(m: dy.ParameterCollection) -> None:
    m.add_parameters((2, 3))
    m.add_lookup_parameters((4, 3))
    m.add_parameters(5, name="b")
    inner = m.add_subcollection("enc")
    inner.add_parameters((2, 2), name="W")
    inner.add_lookup_parameters((3, 2), name="words")
    m.add_parameters((2, 1, 3), name="b")
    inner.add_subcollection().add_parameters((1, 2))
    m.add_lookup_parameters((3, 2, 2), name="matrices")


def birnn(m: dy.ParameterCollection) -> None:
    dy.BiRNNBuilder(2, SIZE, 2 * HIDDEN, m, dy.GRUBuilder)


def two_lstms(m: dy.ParameterCollection) -> None:
    m.add_lookup_parameters((4, SIZE))
    dy.VanillaLSTMBuilder(1, SIZE, HIDDEN, m)
    dy.VanillaLSTMBuilder(2, SIZE, HIDDEN, m)


def softmax(m: dy.ParameterCollection) -> None:
    dy.StandardSoftmaxBuilder(SIZE, 5, m)
    dy.StandardSoftmaxBuilder(SIZE, 2, m, False)


def builder_of(kind: str) -> Callable[[dy.ParameterCollection], None]:
    def build(m: dy.ParameterCollection) -> None:
        KINDS[kind](2, SIZE, HIDDEN, m)

    return build


MODELS: dict[str, Callable[[dy.ParameterCollection], None]] = {
    "plain": plain,
    "birnn": birnn,
    "two lstms": two_lstms,
    "softmax": softmax,
    **{kind: builder_of(kind) for kind in KINDS},
}


def model(name: str, is_filled: bool) -> dy.ParameterCollection:
    m = keep(dy.ParameterCollection())
    MODELS[name](m)
    fill(m, 0.5 if is_filled else 0.01)
    return m


def saved(name: str, key: str | None = None) -> Case:
    def run() -> object:
        m = model(name, True)
        to = f"{name}{'' if key is None else ' with key'}"
        if key is None:
            m.save(file(to))
        else:
            m.save(file(to), key)
        return text(to)

    return run


def populated(name: str, key: str | None = None) -> Case:
    def run() -> object:
        m = model(name, False)
        if key is None:
            m.populate(file(name))
        else:
            m.populate(file(f"{name} with key"), key)
        return values_of(m)

    return run


def loaded(name: str, *entries: str) -> Case:
    """Parameters and tables (a name that ends in "*") made anew from their names in a file."""

    def run() -> object:
        m = keep(dy.ParameterCollection())
        found: list[object] = []
        for entry in entries:
            load = m.load_lookup_param if entry.endswith("*") else m.load_param
            p = load(file(name), entry.rstrip("*"))
            found.append([p.name(), list(p.shape()), p.as_array()])
        return found

    return run


# ---- single parameters and parts of a model


def parts() -> object:
    """A file of several saves: a parameter, a table, a collection, and keys of each."""
    m = keep(dy.ParameterCollection())
    W, E = m.add_parameters((2, 3), name="W"), m.add_lookup_parameters((3, 2), name="E")
    part = m.add_subcollection("part")
    part.add_parameters((2, 2), name="V")
    part.add_lookup_parameters((2, 2))
    fill(m)
    to = file("parts")
    W.save(to)
    E.save(to, append=True)
    W.save(to, "/key", append=True)
    E.save(to, "/rows", append=True)
    part.save(to, append=True)
    part.save(to, "/other", append=True)
    part.write_to_textfile(to, "/third", append=True)
    return text("parts")


def parts_read() -> object:
    m = keep(dy.ParameterCollection())
    W, E = m.add_parameters((2, 3)), m.add_lookup_parameters((3, 2))
    part = m.add_subcollection("part")
    part.add_parameters((2, 2))
    part.add_lookup_parameters((2, 2))
    found: list[object] = []
    for key, rows, of in (("/W", "/E", "/part"), ("/key", "/rows", "/other")):
        fill(m, 0.01)
        W.populate(file("parts"), key)
        E.populate(file("parts"), rows)
        part.populate(file("parts"), of)
        found.append(values_of(m))
    fill(m, 0.01)
    part.populate_from_textfile(file("parts"), "/third")
    return [*found, values_of(m)]


def overwritten() -> object:
    m = model("plain", True)
    m.save(file("overwritten"))
    m.parameters_list()[0].save(file("overwritten"))
    return text("overwritten")


def with_gradients() -> object:
    m = keep(dy.ParameterCollection())
    W, E = m.add_parameters((2, 2)), m.add_lookup_parameters((3, 2))
    m.add_parameters(2)
    fill(m)
    dy.renew_cg()
    loss = dy.sum_elems(dy.cmult(W, dy.inputTensor(np.array([[1.0, -2.0], [0.5, 4.0]]))))
    loss = loss + dy.dot_product(E[1], dy.inputVector([3.0, -0.25]))
    loss.forward()
    loss.backward()
    m.save(file("gradients"))
    return text("gradients")


def gradients_read() -> object:
    m = keep(dy.ParameterCollection())
    W, E, b = m.add_parameters((2, 2)), m.add_lookup_parameters((3, 2)), m.add_parameters(2)
    fill(m, 0.01)
    m.populate(file("gradients"))
    gradients = [W.grad_as_array(), E.grad_as_array(), b.grad_as_array()]
    trainer = dy.SimpleSGDTrainer(m)
    trainer.update()
    return [gradients, values_of(m)]


def decayed() -> object:
    """Values in a file are the values that graphs compute with."""
    m = keep(dy.ParameterCollection())
    W, E = m.add_parameters((2, 2)), m.add_lookup_parameters((3, 2))
    fill(m)
    m.set_weight_decay(0.125)
    trainer = dy.SimpleSGDTrainer(m)
    for _ in range(3):
        dy.renew_cg()
        loss = dy.sum_elems(W) + dy.sum_elems(E.batch([1])) + dy.sum_elems(E[0])
        loss.forward()
        loss.backward()
        trainer.update()
    m.save(file("decayed"))
    return text("decayed")


def decayed_read() -> object:
    m = keep(dy.ParameterCollection())
    m.add_parameters((2, 2))
    m.add_lookup_parameters((3, 2))
    m.populate(file("decayed"))
    return values_of(m)


def extremes() -> object:
    m = keep(dy.ParameterCollection())
    W = m.add_parameters(7)
    W.set_value(np.array([0.0, 1e-30, 3.4e38, -3.4e38, 1.0 / 3.0, 16777217.0, -1.1754944e-38]))
    m.save(file("extremes"))
    return Path(file("extremes")).read_text()


def extremes_read() -> object:
    m = keep(dy.ParameterCollection())
    W = m.add_parameters(7)
    m.populate(file("extremes"))
    return [float(x) for x in W.as_array()]


# ---- dy.save and dy.load


def objects() -> object:
    m = keep(dy.ParameterCollection())
    W, E = m.add_parameters((2, 3), name="W"), m.add_lookup_parameters((4, 3))
    lstm, gru = dy.VanillaLSTMBuilder(1, SIZE, HIDDEN, m), dy.GRUBuilder(2, SIZE, HIDDEN, m)
    simple = dy.SimpleRNNBuilder(1, SIZE, HIDDEN, m.add_subcollection("inner"))
    both = dy.BiRNNBuilder(2, SIZE, 2 * HIDDEN, m, dy.GRUBuilder)
    fill(m)
    dy.save(file("objects"), [E, lstm, W, gru, simple, both])
    return text("objects.data")


def objects_of(loaded: list[object]) -> object:
    found: list[object] = []
    for x in loaded:
        if isinstance(x, (dy.Parameters, dy.LookupParameters)):
            found.append([type(x).__name__, list(x.shape()), x.as_array()])
            continue
        dy.renew_cg()
        inputs = [dy.inputTensor(wave((SIZE,), t, 1.0)) for t in range(3)]
        is_pair = isinstance(x, dy.BiRNNBuilder)
        outputs = x.transduce(inputs) if is_pair else x.initial_state().transduce(inputs)
        found.append([type(x).__name__, [y.npvalue() for y in outputs]])
    return found


def objects_read() -> object:
    return objects_of(dy.load(file("objects"), keep(dy.ParameterCollection())))


def objects_generated() -> object:
    return objects_of(list(dy.load_generator(file("objects"), keep(dy.ParameterCollection()))))


def own_class() -> object:
    m = keep(dy.ParameterCollection())
    tagger = Tagger(m, 4)
    fill(m)
    dy.save(file("own"), [tagger])
    return [text("own.data"), tagger.scores()]


def own_class_read() -> object:
    """Here, files of 2.1 with classes of the program ask for trust."""
    trust = {"trust": True} if "trust" in (dy.load.__doc__ or "") else {}
    (tagger,) = dy.load(file("own"), keep(dy.ParameterCollection()), **trust)
    return tagger.scores()


def spec_only(kind: str) -> Case:
    def run() -> object:
        m = keep(dy.ParameterCollection())
        builder = KINDS[kind](2, SIZE, HIDDEN, m)
        fill(m)
        dy.save(file(f"one {kind}"), [builder])
        return text(f"one {kind}.data")

    return run


def spec_only_read(kind: str) -> Case:
    return lambda: objects_of(dy.load(file(f"one {kind}"), keep(dy.ParameterCollection())))


# ---- wrong calls


def refused(action: Callable[[dy.ParameterCollection], object]) -> Case:
    def run() -> object:
        action(model("plain", False))
        return "nothing"

    return run


def more_parameters(_: dy.ParameterCollection) -> None:
    m = model("plain", False)
    m.add_parameters(1)
    m.populate(file("plain"))


def fewer_parameters(_: dy.ParameterCollection) -> None:
    m = keep(dy.ParameterCollection())
    m.add_parameters((2, 3))
    m.populate(file("plain"))


def another_shape(_: dy.ParameterCollection) -> None:
    m = keep(dy.ParameterCollection())
    m.add_parameters((3, 2)).populate(file("plain"), "/_0")


def first(m: dy.ParameterCollection) -> dy.Parameters:
    return m.parameters_list()[0]


REFUSED: dict[str, Callable[[dy.ParameterCollection], object]] = {
    "more parameters than the file": more_parameters,
    "fewer parameters than the file": fewer_parameters,
    "another shape": another_shape,
    "no such file": lambda m: m.populate(file("nothing")),
    "no such key": lambda m: m.populate(file("plain"), "/nothing"),
    "no such parameter": lambda m: first(m).populate(file("plain"), "/nothing"),
    "no such name to load": lambda m: m.load_param(file("plain"), "/nothing"),
    "a table as a parameter": lambda m: m.load_param(file("plain"), "/_1"),
    "a parameter as a table": lambda m: m.load_lookup_param(file("plain"), "/_0"),
    "no objects": lambda m: dy.load(file("nothing"), m),
}
WRONG_KEYS: dict[str, Callable[[dy.ParameterCollection], object]] = {
    "key with a space": lambda m: m.save(file("wrong"), "/a b"),
    "key with #": lambda m: m.save(file("wrong"), "/a#b"),
    "key without /": lambda m: m.save(file("wrong"), "key"),
    "key /": lambda m: m.save(file("wrong"), "/"),
    "parameter's key with a space": lambda m: first(m).save(file("wrong"), "/a b"),
    "parameter's key /": lambda m: first(m).save(file("wrong"), "/"),
}


def cases() -> Iterator[tuple[str, Case]]:
    for name in MODELS:
        yield f"{name} saved", saved(name)
        yield f"{name} saved with a key", saved(name, "/key")
    yield "parts", parts
    yield "overwritten", overwritten
    yield "gradients", with_gradients
    yield "decayed", decayed
    yield "extremes", extremes
    yield "objects", objects
    yield "own class", own_class
    for kind in KINDS:
        if kind != "fast":
            yield f"one {kind}", spec_only(kind)
    for name, action in WRONG_KEYS.items():
        yield f"refused, {name}", refused(action)


def reading() -> Iterator[tuple[str, Case]]:
    for name in MODELS:
        yield f"{name} populated", populated(name)
        yield f"{name} populated with a key", populated(name, "/key")
    yield "loaded", loaded("plain", "/b", "/enc/W", "/_0", "/_1*", "/matrices*", "/b_1")
    yield "loaded with a key", loaded("plain with key", "/key/enc/_0/_0", "/key/enc/words*")
    yield "parts", parts_read
    yield "gradients", gradients_read
    yield "decayed", decayed_read
    yield "extremes", extremes_read
    yield "objects", objects_read
    yield "objects one by one", objects_generated
    yield "own class", own_class_read
    for kind in KINDS:
        if kind != "fast":
            yield f"one {kind}", spec_only_read(kind)
    for name, action in REFUSED.items():
        yield f"refused, {name}", refused(action)
