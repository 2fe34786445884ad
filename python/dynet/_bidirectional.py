"""Recurrent networks that read a sequence from both ends, and states of several builders as one."""

from __future__ import annotations

import _dynet
from _dynet import _add_inputs_both, _back_of_both, _transduce_both

from . import Expression, ParameterCollection, RNNState, concatenate
from ._told import Refused, told, whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from ._told import Whole


class BiRNNBuilder:
    """Layers of two builders each, one reading forward and one backward.

    A layer reads the outputs of the layer below: `hidden_dim` numbers, half from each direction.
    Parameters are in the collection ``birnn`` of `model`, layer by layer, the forward builder
    first. `rnn_builder_factory` is called with 1, the size of the layer's input, ``hidden_dim //
    2``, the collection, and `options` such as ``forget_bias=0.0`` or ``reset_after=True``; not if
    `builder_layers`, a list of pairs (forward, backward), is given.

    AssertionError if `num_layers` is 0 or `hidden_dim` is odd; ValueError if `builder_layers` is
    empty, or given with options.
    """

    @told
    def __init__(
        self,
        num_layers: Whole,
        input_dim: Whole,
        hidden_dim: Whole,
        model: ParameterCollection,
        rnn_builder_factory: Callable[..., Any] | None,
        builder_layers: Sequence[tuple[Any, Any]] | None = None,
        **options: Any,
    ) -> None:
        num_layers, input_dim, hidden_dim = whole(num_layers), whole(input_dim), whole(hidden_dim)
        is_known = rnn_builder_factory is None or callable(rnn_builder_factory)
        if not isinstance(model, ParameterCollection) or not is_known:
            raise Refused
        if num_layers < 1:
            raise AssertionError(f"BiRNNBuilder: num_layers is {num_layers}; want 1 or more")
        if hidden_dim % 2:
            raise AssertionError(f"BiRNNBuilder: hidden_dim is {hidden_dim}; want an even number")
        if builder_layers is None and rnn_builder_factory is None:
            raise _dynet.TypeError(
                "BiRNNBuilder: rnn_builder_factory is None; want a function, or builder_layers"
            )
        if options and builder_layers is not None:
            raise _dynet.ValueError(
                f"BiRNNBuilder: the option {next(iter(options))} with builder_layers, which are "
                "made already; want options for rnn_builder_factory alone"
            )
        self.model = model.add_subcollection("birnn")
        self._arguments: tuple[Any, ...] = (
            num_layers,
            input_dim,
            hidden_dim,
            rnn_builder_factory,
            builder_layers,
        )
        if options:
            self._arguments += (options,)
        if builder_layers is None:
            assert rnn_builder_factory is not None
            sizes = [input_dim, *[hidden_dim] * (num_layers - 1)]
            builder_layers = [
                (
                    rnn_builder_factory(1, size, hidden_dim // 2, self.model, **options),
                    rnn_builder_factory(1, size, hidden_dim // 2, self.model, **options),
                )
                for size in sizes
            ]
        self.builder_layers = list(builder_layers)
        if not self.builder_layers:
            raise _dynet.ValueError(
                "BiRNNBuilder: builder_layers is empty; want a pair (forward, backward) or more"
            )

    def whoami(self) -> str:
        """The name of the class."""
        return "BiRNNBuilder"

    @told
    def set_dropout(self, p: float) -> None:
        """`set_dropout` of all builders."""
        for forward, backward in self.builder_layers:
            forward.set_dropout(p)
            backward.set_dropout(p)

    def disable_dropout(self) -> None:
        """`disable_dropout` of all builders."""
        for forward, backward in self.builder_layers:
            forward.disable_dropout()
            backward.disable_dropout()

    def add_inputs(self, es: Iterable[Expression]) -> list[tuple[RNNState, RNNState]]:
        """The last layer's states at each position: (after reading the position forward,
        backward)."""
        *below, (forward, backward) = self.builder_layers
        for layer in below:
            es = _transduce_both(*layer, es)
        before, after = forward.initial_state(), backward.initial_state()
        if type(before) is type(after) is RNNState:
            return _add_inputs_both(before, after, es)
        read = list(es)
        return list(zip(before.add_inputs(read), reversed(after.add_inputs(read[::-1]))))

    def transduce(self, es: Iterable[Expression]) -> list[Expression]:
        """The output at each position: [forward; backward]."""
        for forward, backward in self.builder_layers:
            es = _transduce_both(forward, backward, es)
        return es  # type: ignore[return-value]  # there is a layer

    def back(self, es: Iterable[Expression]) -> Expression:
        """The last layer's outputs at its ends: [forward at the last position; backward at the
        first]."""
        *below, (forward, backward) = self.builder_layers
        for layer in below:
            es = _transduce_both(*layer, es)
        return _back_of_both(forward, backward, es)

    def param_collection(self) -> ParameterCollection:
        """The collection of the builders' parameters."""
        return self.model

    @property
    def spec(self) -> tuple[Any, ...]:
        """(num_layers, input_dim, hidden_dim, rnn_builder_factory, builder_layers), and a dict of
        the options if there are any."""
        return self._arguments

    def __repr__(self) -> str:
        layers, input_dim, hidden_dim = self._arguments[:3]
        return (
            f"BiRNNBuilder of {layers} layer{'' if layers == 1 else 's'}, "
            f"{input_dim} -> {hidden_dim}, in {self.model.name()}: "
            f"{self.model.parameter_count():,} values"
        )

    @classmethod
    @told
    def from_spec(cls, spec: tuple[Any, ...], model: ParameterCollection) -> BiRNNBuilder:
        """A builder made from a `spec`."""
        is_known = isinstance(spec, (tuple, list)) and len(spec) in (5, 6)
        options = spec[5] if is_known and len(spec) == 6 else {}
        if not is_known or not isinstance(options, dict):
            raise _dynet.ValueError(
                f"BiRNNBuilder.from_spec: spec is {spec!r}; want (num_layers, input_dim, "
                "hidden_dim, rnn_builder_factory, builder_layers), and a dict of options or not"
            )
        num_layers, input_dim, hidden_dim, factory, builder_layers = spec[:5]
        return cls(num_layers, input_dim, hidden_dim, model, factory, builder_layers, **options)


def _read_by_own(forward: Any, backward: Any, es: Sequence[Expression]) -> tuple[Any, Any]:
    """The outputs of two builders in their order of reading, if one is a program's own."""
    to_right = forward.initial_state().transduce(es)
    to_left = backward.initial_state().transduce(es[::-1])
    return to_right, to_left


# These two are called by _transduce_both and _back_of_both.


def transduced_by_own(forward: Any, backward: Any, es: Sequence[Expression]) -> list[Expression]:
    to_right, to_left = _read_by_own(forward, backward, es)
    return [concatenate([f, b]) for f, b in zip(to_right, reversed(to_left))]


def back_by_own(forward: Any, backward: Any, es: Sequence[Expression]) -> Expression:
    to_right, to_left = _read_by_own(forward, backward, es)
    return concatenate([to_right[-1], to_left[-1]])


class StackedRNNState:
    """States of several builders, each of which reads the output of the builder before."""

    @told
    def __init__(self, states: Iterable[RNNState], prev: StackedRNNState | None = None) -> None:
        self.states = list(states)
        if not self.states:
            raise _dynet.ValueError("StackedRNNState: states is empty; want one state or more")
        # A program may have states of its own.
        if not all(hasattr(state, "add_input") for state in self.states):
            raise Refused
        self._prev = prev

    def add_input(self, x: Expression) -> StackedRNNState:
        """The states after one more input."""
        states = []
        for state in self.states:
            states.append(state.add_input(x))
            x = states[-1].output()
        return self._after(states)

    def _after(self, states: list[Any]) -> StackedRNNState:
        after: StackedRNNState = StackedRNNState.__new__(StackedRNNState)
        after.states, after._prev = states, self
        return after

    def __repr__(self) -> str:
        return "StackedRNNState of " + ", ".join(map(repr, self.states))

    @told
    def add_inputs(self, xs: Iterable[Expression]) -> list[StackedRNNState]:
        """The states after each of a list of inputs."""
        after: list[StackedRNNState] = []
        state = self
        for x in xs:
            state = state.add_input(x)
            after.append(state)
        return after

    def output(self) -> Expression | None:
        """Output of the last builder; None for initial states."""
        last: Expression | None = self.states[-1].output()
        return last

    def prev(self) -> StackedRNNState | None:
        """The states before the last input; None for the initial states."""
        return self._prev

    def h(self) -> tuple[Expression, ...]:
        """Hidden states of all builders."""
        return tuple(h for state in self.states for h in state.h())

    def s(self) -> tuple[Expression, ...]:
        """Whole states of all builders."""
        return tuple(s for state in self.states for s in state.s())
