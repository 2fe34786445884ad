"""Recurrent builders and softmax builders: names, outputs, states and gradients."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import dynet as dy
import numpy as np
from fixed import fill, gradients_of, wave

Case = Callable[[], object]
SIZE, HIDDEN = 3, 4

KINDS: dict[str, Callable[..., object]] = {
    "simple": dy.SimpleRNNBuilder,
    "gru": dy.GRUBuilder,
    "coupled": dy.CoupledLSTMBuilder,
    "vanilla": dy.VanillaLSTMBuilder,
    "vanilla_norm": lambda *a: dy.VanillaLSTMBuilder(*a, ln_lstm=True),
    "vanilla_bias": lambda *a: dy.VanillaLSTMBuilder(*a, forget_bias=0.25),
    "sparse": dy.SparseLSTMBuilder,
    "sparse_norm": lambda *a: dy.SparseLSTMBuilder(*a, True, 0.5),
    "compact": dy.CompactVanillaLSTMBuilder,
    "fast": dy.FastLSTMBuilder,
}
ONE_STATE = ("simple", "gru")


def made(kind: str, layers: int = 2) -> tuple[dy.ParameterCollection, dy.VanillaLSTMBuilder]:
    m = dy.ParameterCollection()
    builder = KINDS[kind](layers, SIZE, HIDDEN, m)
    fill(m)
    dy.renew_cg()
    return m, builder


def inputs(count: int, batch: int = 1) -> list[dy.Expression]:
    if batch == 1:
        return [dy.inputTensor(wave((SIZE,), t, 1.0)) for t in range(count)]
    return [dy.inputTensor(wave((SIZE, batch), t, 1.0), batched=True) for t in range(count)]


def vectors(count: int, batch: int = 1) -> list[dy.Expression]:
    if batch == 1:
        return [dy.inputTensor(wave((HIDDEN,), i + 20, 0.7)) for i in range(count)]
    return [dy.inputTensor(wave((HIDDEN, batch), i + 20, 0.7), batched=True) for i in range(count)]


def told(state: dy.RNNState) -> dict[str, object]:
    output = state.output()
    return {
        "output": None if output is None else output.npvalue(),
        "h": [e.npvalue() for e in state.h()],
        "s": [e.npvalue() for e in state.s()],
    }


def gradients(m: dy.ParameterCollection, outputs: list[dy.Expression]) -> dict[str, object]:
    size = outputs[0].dim()[0][0]
    terms = [
        dy.dot_product(y, dy.inputTensor(wave((size,), t, 1.0))) for t, y in enumerate(outputs)
    ]
    loss = dy.sum_batches(dy.esum(terms))
    value = loss.scalar_value()
    loss.backward()
    return {"loss": value, **gradients_of(m)}


def names(kind: str) -> Case:
    def run() -> object:
        m, builder = made(kind)
        second = KINDS[kind](1, SIZE, HIDDEN, m)
        return {
            "all": [[p.name(), list(p.shape())] for p in m.parameters_list()],
            "own": [p.name() for p in builder.param_collection().parameters_list()],
            "collections": [builder.param_collection().name(), second.param_collection().name()],
            "layers": [[p.name() for p in layer] for layer in builder.get_parameters()],
            "updated": [p.is_updated() for p in m.parameters_list()],
        }

    return run


def spec(kind: str) -> Case:
    def run() -> object:
        m, builder = made(kind)
        again = type(builder).from_spec(builder.spec, m)
        shapes = [list(p.shape()) for p in again.param_collection().parameters_list()]
        return {"spec": list(builder.spec), "shapes": shapes, "class": type(builder).__name__}

    return run


def sequence(kind: str, layers: int, batch: int) -> Case:
    def run() -> object:
        m, builder = made(kind, layers)
        states = builder.initial_state().add_inputs(inputs(4, batch))
        found = [told(s) for s in states]
        return {"states": found, "gradients": gradients(m, [s.output() for s in states])}

    return run


def transduced(kind: str) -> Case:
    def run() -> object:
        m, builder = made(kind)
        outputs = builder.initial_state().transduce(inputs(3))
        return {"y": [y.npvalue() for y in outputs], "gradients": gradients(m, outputs)}

    return run


def started(kind: str, count: int, batch: int = 1) -> Case:
    """From given vectors, by initial_state(vecs) and by set_s of the state that it gives."""

    def run() -> object:
        m, builder = made(kind)
        state = builder.initial_state(vectors(count, batch))
        states = state.add_inputs(inputs(2, batch))
        found = [told(s) for s in [state, *states]]
        return {"states": found, "gradients": gradients(m, [s.output() for s in states])}

    return run


def raw(kind: str) -> Case:
    def run() -> object:
        _, builder = made(kind)
        count = 2 if kind in ONE_STATE else 4
        state = builder.initial_state_from_raw_vectors(
            [wave((HIDDEN,), i, 0.5) for i in range(count)]
        )
        return told(state.add_input(inputs(1)[0]))

    return run


def replaced(kind: str, how: str, count: int) -> Case:
    def run() -> object:
        m, builder = made(kind)
        x = inputs(3)
        state = builder.initial_state().add_input(x[0]).add_input(x[1])
        changed = getattr(state, how)(vectors(count))
        after = changed.add_input(x[2])
        found = [told(s) for s in (changed, after)]
        return {"states": found, "gradients": gradients(m, [changed.output(), after.output()])}

    return run


def replaced_first(kind: str, how: str, count: int) -> Case:
    def run() -> object:
        _, builder = made(kind)
        changed = getattr(builder.initial_state(), how)(vectors(count))
        return [told(changed), told(changed.add_input(inputs(1)[0]))]

    return run


def branches(kind: str) -> Case:
    """Two states that follow from one, and prev() of the second."""

    def run() -> object:
        m, builder = made(kind)
        x = inputs(4)
        root = builder.initial_state()
        trunk = root.add_input(x[0])
        left, right = trunk.add_input(x[1]), trunk.add_input(x[2])
        back = right.prev().add_input(x[3])
        found = [told(s) for s in (left, right, back, right.prev())]
        outputs = [s.output() for s in (left, right, back)]
        return {"states": found, "gradients": gradients(m, outputs), "b": trunk.b() is builder}

    return run


def initial(kind: str) -> Case:
    def run() -> object:
        _, builder = made(kind)
        state = builder.initial_state()
        first = builder.get_parameter_expressions()
        return {
            "output": state.output() is None,
            "expressions": [[e.npvalue() for e in layer] for layer in first],
        }

    return run


def initial_lists(kind: str, method: str) -> Case:
    def run() -> object:
        _, builder = made(kind)
        return len(getattr(builder.initial_state(), method)())

    return run


def frozen(kind: str) -> Case:
    """update=False: no gradients of the builder's parameters."""

    def run() -> object:
        m, builder = made(kind)
        W = m.add_parameters((1, HIDDEN))
        W.set_value(wave((1, HIDDEN), 1, 1.0))
        states = builder.initial_state(update=False).add_inputs(inputs(3))
        loss = W * states[-1].output()
        value = loss.scalar_value()
        loss.backward()
        return {"loss": value, **gradients_of(m)}

    return run


def undropped(kind: str, how: str) -> Case:
    """Rates that are taken back, and rates of 0, leave the outputs as they were."""

    def run() -> object:
        _, builder = made(kind)
        builder.set_dropout(0.5)
        if how == "disabled":
            builder.disable_dropout()
        else:
            builder.set_dropout(0.0)
        return [y.npvalue() for y in builder.initial_state().transduce(inputs(3))]

    return run


def dropped(kind: str) -> Case:
    """What the masks of a rate of 0.5 have in common in both libraries."""

    def run() -> object:
        _, builder = made(kind)
        x = inputs(1)[0]
        plain = builder.initial_state().add_input(x).output().npvalue()
        dy.renew_cg()
        builder.set_dropout(0.5)
        x = inputs(1)[0]
        root = builder.initial_state()
        once, again = (root.add_input(x).output().npvalue() for _ in range(2))
        differing = 0
        for _ in range(12):
            dy.renew_cg()
            y = builder.initial_state().add_input(inputs(1)[0]).output().npvalue()
            differing += not np.allclose(y, plain)
        return {"one mask": bool(np.allclose(once, again)), "masks": differing > 6}

    return run


def dropped_mean(kind: str) -> Case:
    """The mean over many masks of what a step makes of small inputs: what is kept is scaled up."""

    def run() -> object:
        m = dy.ParameterCollection()
        builder = KINDS[kind](1, SIZE, HIDDEN, m)
        fill(m, 0.2)
        dy.renew_cg()
        builder.set_dropout(0.5)
        x = dy.inputTensor(np.full((SIZE, 20000), 0.01), batched=True)
        y = builder.initial_state().add_input(x).output().npvalue().mean(axis=1)
        builder.disable_dropout()
        dy.renew_cg()
        plain = builder.initial_state().add_input(dy.inputTensor(np.full(SIZE, 0.01)))
        return bool(np.allclose(y, plain.output().npvalue(), atol=2e-4))

    return run


def mistaken(action: Callable[[dy.VanillaLSTMBuilder], object], kind: str = "vanilla") -> Case:
    def run() -> object:
        _, builder = made(kind)
        action(builder)
        return "nothing"

    return run


def after_renewal(builder: dy.VanillaLSTMBuilder) -> None:
    state = builder.initial_state()
    dy.renew_cg()
    state.add_input(inputs(1)[0])


def expressions_too_early(builder: dy.VanillaLSTMBuilder) -> None:
    dy.renew_cg()
    builder.get_parameter_expressions()


MISTAKES: dict[str, Callable[[dy.VanillaLSTMBuilder], object]] = {
    "three vectors for two layers": lambda b: b.initial_state(vectors(3)),
    "set_h of three": lambda b: b.initial_state().add_input(inputs(1)[0]).set_h(vectors(3)),
    "set_s of three": lambda b: b.initial_state().add_input(inputs(1)[0]).set_s(vectors(3)),
    "dropout of 1.5": lambda b: b.set_dropout(1.5),
    "dropout of -1": lambda b: b.set_dropout(-1.0),
    "state of an older graph": after_renewal,
    "parameters before initial_state": expressions_too_early,
}


def birnn(
    layers: int, factory: Callable[..., object], batch: int = 1, hidden: int = 2 * HIDDEN
) -> Case:
    def run() -> object:
        m = dy.ParameterCollection()
        builder = dy.BiRNNBuilder(layers, SIZE, hidden, m, factory)
        fill(m)
        dy.renew_cg()
        outputs = builder.transduce(inputs(3, batch))
        pairs = builder.add_inputs(inputs(3, batch))
        return {
            "names": [[p.name(), list(p.shape())] for p in m.parameters_list()],
            "own": builder.param_collection().name(),
            "pairs": [[f.output().npvalue(), b.output().npvalue()] for f, b in pairs],
            "y": [y.npvalue() for y in outputs],
            "gradients": gradients(m, outputs),
        }

    return run


def birnn_given() -> object:
    """Builders that the program made itself; one without dropout again."""
    m = dy.ParameterCollection()
    pair = (dy.GRUBuilder(1, SIZE, HIDDEN, m), dy.SimpleRNNBuilder(1, SIZE, HIDDEN, m))
    builder = dy.BiRNNBuilder(1, SIZE, 2 * HIDDEN, m, None, [pair])
    fill(m)
    dy.renew_cg()
    builder.set_dropout(0.5)
    builder.disable_dropout()
    return [y.npvalue() for y in builder.transduce(inputs(3))]


def birnn_spec() -> object:
    m = dy.ParameterCollection()
    builder = dy.BiRNNBuilder(2, SIZE, 2 * HIDDEN, m, dy.GRUBuilder)
    layers, size, hidden, factory, _ = builder.spec
    again = dy.BiRNNBuilder.from_spec(builder.spec, m)
    return {
        "spec": [layers, size, hidden, factory is dy.GRUBuilder],
        "own": [p.name() for p in again.param_collection().parameters_list()],
        "name": builder.whoami(),
    }


def kinds_of_results() -> object:
    _, builder = made("vanilla")
    first = builder.initial_state()
    states = first.add_inputs(inputs(2))
    again = builder.initial_state()
    return {
        "types": [type(x).__name__ for x in (first.h(), states, states[0].h(), states[0].s())],
        "outputs": type(builder.initial_state().transduce(inputs(2))).__name__,
        "nothing": [builder.initial_state().add_inputs([]), builder.initial_state().transduce([])],
        "same": again is first,
        "prev": [first.prev() is None, states[0].prev().output() is None],
        "sizes": [list(first.h()), list(first.s())],
    }


def from_lists(kind: str) -> Case:
    def run() -> object:
        _, builder = made(kind)
        count = 2 if kind in ONE_STATE else 4
        lists = [wave((HIDDEN,), i, 0.5).tolist() for i in range(count)]
        return told(builder.initial_state_from_raw_vectors(lists).add_input(inputs(1)[0]))

    return run


def from_columns(kind: str) -> Case:
    """Outputs as vectors: columns in LSTMs and GRUs of 2.2, and vectors here."""

    def run() -> object:
        m, builder = made(kind)
        count = 2 if kind in ONE_STATE else 4
        columns = [dy.inputTensor(wave((HIDDEN, 1), i, 0.5)) for i in range(count)]
        outputs = builder.initial_state(columns).transduce(inputs(3))
        return [y.vec_value() for y in outputs], gradients(
            m, [dy.reshape(y, (HIDDEN,)) for y in outputs]
        )

    return run


def stacked() -> object:
    m = dy.ParameterCollection()
    lower, upper = dy.GRUBuilder(1, SIZE, HIDDEN, m), dy.VanillaLSTMBuilder(1, HIDDEN, HIDDEN, m)
    fill(m)
    dy.renew_cg()
    state = dy.StackedRNNState([lower.initial_state(), upper.initial_state()])
    states = state.add_inputs(inputs(3))
    last = states[-1].add_input(inputs(1)[0])
    return {
        "y": [s.output().npvalue() for s in states],
        "h": [e.npvalue() for e in last.h()],
        "s": [e.npvalue() for e in last.s()],
        "gradients": gradients(m, [s.output() for s in states]),
    }


def masked_weights() -> object:
    """SparseLSTMBuilder.set_sparsity: the smallest half of the weights is 0 from then on."""
    m, builder = made("sparse")
    builder.set_sparsity(0.5)
    outputs = builder.initial_state().transduce(inputs(3))
    masks = [[p.as_array() for p in layer[3:]] for layer in builder.get_parameters()]
    return {"masks": masks, "gradients": gradients(m, outputs)}


def simple_with_masks() -> object:
    _, builder = made("simple")
    builder.set_dropouts(0.0, 0.0)
    builder.initial_state()
    builder.set_dropout_masks(1)
    return [y.npvalue() for y in builder.initial_state().transduce(inputs(3))]


def softmax(
    has_bias: bool, method: str, argument: object = None, batch: int = 1, columns: int = 0
) -> Case:
    def run() -> object:
        m = dy.ParameterCollection()
        builder = dy.StandardSoftmaxBuilder(SIZE, 5, m, has_bias)
        fill(m)
        dy.renew_cg()
        x = dy.concatenate_cols(inputs(columns, batch)) if columns else inputs(1, batch)[0]
        call = getattr(builder, method)
        y = call(x) if argument is None else call(x, argument)
        found = {
            "names": [[p.name(), list(p.shape())] for p in m.parameters_list()],
            "own": builder.param_collection().name(),
            "y": y.npvalue(),
            "dim": y.dim(),
        }
        return {**found, "gradients": gradients(m, [y])}

    return run


def class_factored(
    has_bias: bool, method: str, *arguments: object, words: str = "abcde", batch: int = 1
) -> Case:
    """The word f has no class."""
    lines = ["0 a", "0 b", "1 c", "2 d 17", "2\te"]

    def run() -> object:
        ids = {word: i for i, word in enumerate(words)}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "clusters"
            file.write_text("\n".join(lines) + "\n")
            m = dy.ParameterCollection()
            builder = dy.ClassFactoredSoftmaxBuilder(SIZE, str(file), ids, m, has_bias)
        fill(m)
        dy.renew_cg()
        y = getattr(builder, method)(inputs(1, batch)[0], *arguments)
        named = [[p.name(), list(p.shape())] for p in m.parameters_list()]
        return {"names": named, "y": y.npvalue(), "gradients": gradients(m, [y])}

    return run


def recurrent_cases(kind: str) -> Iterator[tuple[str, Case]]:
    states = 1 if kind in ONE_STATE else 2
    yield "names", names(kind)
    if kind != "fast":
        yield "spec", spec(kind)
    yield "one layer", sequence(kind, 1, 1)
    yield "two layers", sequence(kind, 2, 1)
    yield "batch", sequence(kind, 2, 3)
    yield "transduce", transduced(kind)
    if not kind.startswith("sparse"):
        yield "vectors of one kind", started(kind, 2)
        yield "set_h at first", replaced_first(kind, "set_h", 2)
    yield "vectors", started(kind, 2 * states)
    yield "vectors in batches", started(kind, 2 * states, 3)
    yield "raw vectors", raw(kind)
    yield "set_h", replaced(kind, "set_h", 2)
    yield "set_s of cells", replaced(kind, "set_s", 2)
    yield "set_s", replaced(kind, "set_s", 2 * states)
    yield "set_s at first", replaced_first(kind, "set_s", 2 * states)
    yield "branches", branches(kind)
    yield "initial", initial(kind)
    yield "initial h", initial_lists(kind, "h")
    yield "initial s", initial_lists(kind, "s")
    yield "frozen", frozen(kind)
    yield "dropout disabled", undropped(kind, "disabled")
    yield "dropout of 0", undropped(kind, "zero")
    yield "dropout", dropped(kind)
    yield "mean of dropout", dropped_mean(kind)


def cases() -> Iterator[tuple[str, Case]]:
    for kind in KINDS:
        for name, run in recurrent_cases(kind):
            yield f"{kind} {name}", run
    for name, action in MISTAKES.items():
        yield f"mistake, {name}", mistaken(action)
    yield "birnn of vanilla", birnn(1, dy.VanillaLSTMBuilder)
    yield "birnn of two layers", birnn(2, dy.VanillaLSTMBuilder)
    yield "birnn of gru in batches", birnn(2, dy.GRUBuilder, 3)
    yield "birnn of odd size", birnn(1, dy.GRUBuilder, 1, 5)
    yield "birnn without layers", birnn(0, dy.GRUBuilder)
    yield "birnn of given builders", birnn_given
    yield "birnn spec", birnn_spec
    yield "kinds of results", kinds_of_results
    yield "gru from lists", from_lists("gru")
    yield "coupled from lists", from_lists("coupled")
    for kind in ("simple", "gru", "vanilla", "coupled"):
        yield f"{kind} from columns", from_columns(kind)
    yield "stacked states", stacked
    yield "sparsity", masked_weights
    yield "simple with masks", simple_with_masks
    for has_bias in (True, False):
        kind = "softmax" if has_bias else "softmax without bias"
        yield f"{kind} logits", softmax(has_bias, "full_logits")
        yield f"{kind} logits of a batch", softmax(has_bias, "full_logits", None, 2)
        yield f"{kind} distribution", softmax(has_bias, "full_log_distribution")
        yield f"{kind} logits of columns", softmax(has_bias, "full_logits", columns=3)
        columns = softmax(has_bias, "full_log_distribution", columns=3, batch=2)
        yield f"{kind} distribution of columns", columns
        yield f"{kind} loss", softmax(has_bias, "neg_log_softmax", 2)
        yield f"{kind} losses", softmax(has_bias, "neg_log_softmax_batch", [4, 1], 2)
        kind = f"class {kind}"
        yield f"{kind} loss", class_factored(has_bias, "neg_log_softmax", 1)
        yield f"{kind} loss of one word", class_factored(has_bias, "neg_log_softmax", 2)
        losses = class_factored(has_bias, "neg_log_softmax_batch", [4, 0], batch=2)
        yield f"{kind} losses", losses
        yield f"{kind} logits", class_factored(has_bias, "full_logits")
        yield f"{kind} distribution", class_factored(has_bias, "full_log_distribution")
        yield f"{kind} classes", class_factored(has_bias, "class_log_distribution")
        yield f"{kind} class logits", class_factored(has_bias, "class_logits")
        yield f"{kind} words", class_factored(has_bias, "subclass_log_distribution", 2)
        yield f"{kind} word logits", class_factored(has_bias, "subclass_logits", 0)
    yield "softmax losses of a wrong count", softmax(True, "neg_log_softmax_batch", [4, 1, 0], 2)
    without = class_factored(True, "neg_log_softmax", 1, words="afbcde")
    yield "class softmax loss of a word without class", without
    yield (
        "class softmax logits, last word without class",
        class_factored(True, "full_logits", words="abcdef"),
    )
