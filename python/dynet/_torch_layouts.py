"""Names and layouts of a layer's weights, in PyTorch and in this library.

`pieces_of` describes a target as a list of pieces. The formulas of PyTorch are in its documentation
of the layers; the formulas here are in docs/recurrent-builders.md and docs/attention-builders.md.
Example: the gates of an LSTM lie in PyTorch as i, f, g, o, and here as i, f, o, g; so blocks 0, 1,
3, 2 of `weight_ih_l0` (4 * hidden, input) are the matrix `x2i` {4 * hidden, input}.
"""

from __future__ import annotations

import math
import re

import _dynet
import numpy as np
from _dynet import (
    CompactVanillaLSTMBuilder,
    CoupledLSTMBuilder,
    FastLSTMBuilder,
    GRUBuilder,
    LearnedEncoding,
    LookupParameters,
    MultiHeadAttentionBuilder,
    Parameters,
    SimpleRNNBuilder,
    SparseLSTMBuilder,
    TransformerDecoderBuilder,
    TransformerEncoderBuilder,
    VanillaLSTMBuilder,
)

from . import BiRNNBuilder, _pickling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Shape = tuple[int, ...]
    Turn = Callable[[list[Any]], list[Any]]


class Unfit(Exception):
    """A target that is no layer of PyTorch, or another wrong argument."""

    def __init__(self, text: str, error: type[Exception] = _dynet.TypeError) -> None:
        super().__init__(text)
        self.error = error


def _same(arrays: list[Any]) -> list[Any]:
    return arrays


class Piece:
    """Tensors of PyTorch that together make one or several parameters here.

    `shapes`: the tensors' names and shapes, in order. `into` makes the arrays of `parts`, in order,
    from the arrays of the tensors; `out` is the way back. Both leave their arguments unchanged. The
    biases of one `group` are all there, or all absent, by the argument bias=False of PyTorch.
    `refused`: names of tensors with which the layer would be another one, and the reasons.
    """

    def __init__(
        self,
        owner: str,
        shapes: Mapping[str, Shape],
        parts: list[Any],
        into: Turn = _same,
        out: Turn = _same,
        *,
        group: str | None = None,
        layer_size: int = 0,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.owner, self.shapes, self.parts = owner, shapes, parts
        self.into, self.out = into, out
        self.is_bias, self.group = group is not None, group
        self.refused: Mapping[str, str] = refused or {}
        self._layer_size = layer_size  # hidden size of a recurrent layer; 0 for other layers

    def hint(self, given: Shape, wanted: Shape) -> str:
        """Why a tensor may have the shape `given`."""
        names, size = {1: "nn.RNN", 3: "nn.GRU", 4: "nn.LSTM"}, self._layer_size
        gates, rest = divmod(given[0], size) if given and size else (0, 1)
        if rest == 0 and gates in names and given[0] != wanted[0]:
            return f"; {given[0]} = {gates} * {size} rows are the rows of an {names[gates]}"
        if len(given) == len(wanted) == 2 and given == wanted[::-1]:
            return "; it is transposed: the weight of an nn.Linear is (out, in)"
        if len(given) in (3, 4) and math.prod(given) == math.prod(wanted):
            return f"; layout='conv{len(given) - 2}d' turns the weight of a convolution"
        return ""


def pieces_of(target: Any, prefix: str, names: Iterable[str], layout: Any) -> list[Piece]:
    """The pieces of a parameter, a table, a pair, a builder, or a dict of these. `names` are the
    names of the tensors: how the names of a single Transformer layer begin depends on these."""
    if isinstance(target, dict):
        return _of_dict(target, prefix, names, layout)
    if isinstance(target, (Parameters, LookupParameters)):
        is_whole = prefix != "" and not prefix.endswith(".")
        return [_weight(target, prefix if is_whole else prefix + "weight", layout)]
    if isinstance(target, (tuple, list)) and len(target) == 2:
        weight, bias = target
        if isinstance(weight, Parameters) and isinstance(bias, Parameters):
            owner = f"the pair {_told(weight)} and {_told(bias)}"
            return [
                _weight(weight, prefix + "weight", layout, owner),
                _plain(owner, prefix + "bias", bias),
            ]
    if layout is not None:
        raise Unfit(
            f"layout is {layout!r} for a {type(target).__name__}; want a parameter, or a pair of "
            "parameters, of a convolution"
        )
    if isinstance(target, LearnedEncoding):
        table = target.param_collection().lookup_parameters_list()[0]  # a program may add more
        return [_plain(type(target).__name__, prefix + "weight", table)]
    if isinstance(target, BiRNNBuilder):
        return _of_birnn(target, prefix)
    if isinstance(target, _RECURRENT):
        return _of_recurrent(target, prefix, type(target).__name__)
    if isinstance(target, MultiHeadAttentionBuilder):
        name = type(target).__name__
        return _of_attention(_parameters_of(target, 8), prefix, name, prefix)
    if isinstance(target, (TransformerEncoderBuilder, TransformerDecoderBuilder)):
        return _of_stack(target, prefix, names)
    raise _unknown(target)


def _unknown(target: Any) -> Unfit:
    for kind, why in _REFUSED.items():
        if isinstance(target, kind):
            return Unfit(f"a {type(target).__name__} has no layer in PyTorch: {why}")
    return Unfit(
        f"got {target!r:.60} of type {type(target).__name__}; want a parameter, a table, a pair "
        "(W, b) of parameters, a dict of prefixes to these, or one of the builders "
        + ", ".join(kind.__name__ for kind in _KNOWN)
    )


def _of_dict(targets: Any, prefix: str, names: Iterable[str], layout: Any) -> list[Piece]:
    layouts = {} if layout is None else layout
    if not isinstance(layouts, dict) or not layouts.keys() <= targets.keys():
        raise Unfit(
            f"layout is {layout!r} for a dict of layers; want a dict with some of its keys: "
            f"{', '.join(map(repr, targets))}"
        )
    pieces: list[Piece] = []
    for key, target in targets.items():
        if not isinstance(key, str):
            raise Unfit(f"the dict of layers has the key {key!r}; want text, such as 'encoder.'")
        pieces += pieces_of(target, prefix + key, names, layouts.get(key))
    seen: set[str] = set()
    for piece in pieces:
        twice = seen.intersection(piece.shapes)
        if twice:
            raise Unfit(f"two entries have the name {min(twice)!r}", _dynet.ValueError)
        seen.update(piece.shapes)
    return pieces


# ---- parameters and tables ----------------------------------------------------------------------


def _told(part: Any) -> str:
    return f"{part.name()} " + "{" + ",".join(map(str, part.shape())) + "}"


def _plain(owner: str, name: str, part: Any, group: str | None = None) -> Piece:
    """A tensor with the indices of the parameter."""
    return Piece(owner, {name: tuple(part.shape())}, [part], group=group)


def _weight(part: Any, name: str, layout: Any, owner: str = "") -> Piece:
    kind = "table" if isinstance(part, LookupParameters) else "parameter"
    owner = owner or f"the {kind} {_told(part)}"
    ours = tuple(part.shape())
    if layout is None:
        _refuse_silent_filter(ours, name, owner)
    if layout in (None, "same"):
        return _plain(owner, name, part)
    if layout not in ("conv1d", "conv2d"):
        raise Unfit(
            f"layout is {layout!r}; want 'conv1d', 'conv2d', 'same' or None", _dynet.ValueError
        )
    # A filter of conv2d with one row or one column is the filter of a conv1d, too.
    size = 4 if layout == "conv2d" or len(ours) == 4 else 3
    full = ours + (1,) * (size - len(ours))
    is_flat = layout == "conv1d" and size == 4
    if kind == "table" or len(full) != size or (is_flat and 1 not in full[:2]):
        want = "{in,width,out}, {1,width,in,out} or {width,1,in,out}"
        want = "{height,width,in,out}" if layout == "conv2d" else want
        raise Unfit(f"layout is {layout!r} for {owner}; want {want}")
    to_ours: Shape = (1, 2, 0) if size == 3 else (2, 3, 1, 0)
    theirs: Shape = tuple(full[k] for k in ((2, 0, 1) if size == 3 else (3, 2, 0, 1)))
    given = (*theirs[:2], theirs[2] * theirs[3]) if is_flat else theirs

    def into(arrays: list[Any]) -> list[Any]:
        return [arrays[0].reshape(theirs).transpose(to_ours).reshape(ours)]

    def out(arrays: list[Any]) -> list[Any]:
        return [arrays[0].reshape(full).transpose(np.argsort(to_ours)).reshape(given)]

    return Piece(owner, {name: given}, [part], into, out)


def _refuse_silent_filter(shape: Shape, name: str, owner: str) -> None:
    """The weight of a convolution whose sizes are all equal fits with and without a layout, so that
    no error of shapes would tell that the layout was forgotten."""
    if len(shape) in (3, 4) and len(set(shape)) == 1 and shape[0] > 1 and name.endswith("weight"):
        raise Unfit(
            f"{name!r} for {owner} has equal sizes, and may be the weight of a convolution; want "
            f"layout='conv{len(shape) - 2}d' for a convolution, or layout='same'",
            _dynet.ValueError,
        )


# ---- recurrent builders -------------------------------------------------------------------------

_LSTMS = (VanillaLSTMBuilder, CompactVanillaLSTMBuilder)
_RECURRENT = (*_LSTMS, SimpleRNNBuilder, GRUBuilder)
_PROJECTED = "nn.LSTM(proj_size=...) projects its hidden state; no builder here has a projection"
#: PyTorch's i, f, g, o as i, f, o, g, and back.
_GATES = (0, 1, 3, 2)


def _made(builder: Any) -> tuple[Any, ...]:
    """The arguments from which a builder of the module was made."""
    made = _dynet._made_of(builder)
    if made is None:
        raise Unfit(f"the {type(builder).__name__} was not initialised; call super().__init__()")
    return tuple(made[0])


def _of_recurrent(
    builder: Any, prefix: str, owner: str, first: int = 0, suffix: str = ""
) -> list[Piece]:
    spec, layers = _made(builder), builder.get_parameters()
    if not layers:
        raise Unfit(f"the {owner} has no layers")
    if isinstance(builder, VanillaLSTMBuilder) and spec[3]:
        raise Unfit(f"the {owner} has ln_lstm=True: PyTorch's LSTM has no layer normalisation")
    if isinstance(builder, GRUBuilder):
        return _of_gru(builder, spec, layers, prefix, owner, first, suffix)
    order = _GATES if isinstance(builder, _LSTMS) else (0,)
    forget_bias = spec[4] if isinstance(builder, VanillaLSTMBuilder) else 1.0
    pieces = []
    for i, parts in enumerate(layers):
        layer, hidden = f"l{first + i}{suffix}", parts[1].shape()[1]
        of = f"layer {first + i} of {owner}" + (", backward" if suffix else "")
        for part, kind in zip(parts[:2], ("ih", "hh")):
            pieces.append(
                Piece(
                    of,
                    {f"{prefix}weight_{kind}_{layer}": tuple(part.shape())},
                    [part],
                    lambda arrays: [_blocks(arrays[0], order)],
                    lambda arrays: [_blocks(arrays[0], order)],
                    layer_size=hidden,
                    refused={f"{prefix}weight_hr_{layer}": _PROJECTED},
                )
            )
        pieces.append(_biases(of, prefix, layer, parts[2], order, forget_bias))
    return pieces


def _of_gru(
    builder: Any,
    spec: tuple[Any, ...],
    layers: Any,
    prefix: str,
    owner: str,
    first: int,
    suffix: str,
) -> list[Piece]:
    """PyTorch's gates are r, z, n, and its z is the share of the old state that is kept, here the
    share that is replaced: the numbers of z change their sign. The second bias of n stays apart."""
    if len(spec) == 3:  # reset_after stands in the spec only where it is set
        raise Unfit(f"a {type(builder).__name__} has no layer in PyTorch: {_RESET_BEFORE}")
    pieces = []
    for i, parts in enumerate(layers):
        x2z, h2z, bz, x2r, h2r, br, x2h, h2h, bh, bc = parts
        layer, hidden = f"l{first + i}{suffix}", bz.shape()[0]
        of = f"layer {first + i} of {owner}" + (", backward" if suffix else "")
        for kind, matrices in (("ih", [x2z, x2r, x2h]), ("hh", [h2z, h2r, h2h])):
            shape = (3 * hidden, matrices[0].shape()[1])
            name = f"{prefix}weight_{kind}_{layer}"
            pieces.append(
                Piece(of, {name: shape}, matrices, _gates_in, _gates_out, layer_size=hidden)
            )
        names = {f"{prefix}bias_{kind}_{layer}": (3 * hidden,) for kind in ("ih", "hh")}
        biases = [bz, br, bh, bc]
        pieces.append(
            Piece(
                of, names, biases, _gru_biases_in, _gru_biases_out, group=prefix, layer_size=hidden
            )
        )
    return pieces


def _gates_in(arrays: list[Any]) -> list[Any]:
    r, z, n = np.split(arrays[0], 3)
    return [-z, r, n]


def _gates_out(arrays: list[Any]) -> list[Any]:
    z, r, n = arrays
    return [np.concatenate([r, -z, n])]


def _gru_biases_in(arrays: list[Any]) -> list[Any]:
    inputs, state = (np.split(array.astype(np.float64), 3) for array in arrays)
    return [-(inputs[1] + state[1]), inputs[0] + state[0], inputs[2], state[2]]


def _gru_biases_out(arrays: list[Any]) -> list[Any]:
    z, r, n, state = arrays
    return [np.concatenate([r, -z, n]), np.concatenate([np.zeros(2 * len(z)), state])]


def _blocks(array: Any, order: tuple[int, ...]) -> Any:
    blocks = np.split(array, len(order))
    return array if len(order) == 1 else np.concatenate([blocks[k] for k in order])


def _biases(
    owner: str, prefix: str, layer: str, part: Any, order: tuple[int, ...], forget_bias: float
) -> Piece:
    """PyTorch adds two biases. Here the bias of an LSTM's forget gate lacks `forget_bias`, which
    the step adds. Sums are computed in double, so each number is rounded once."""
    size = part.shape()[0]
    hidden = size // len(order)

    def into(arrays: list[Any]) -> list[Any]:
        bias = _blocks(arrays[0].astype(np.float64) + arrays[1], order)
        if order is _GATES:
            bias[hidden : 2 * hidden] -= forget_bias
        return [bias]

    def out(arrays: list[Any]) -> list[Any]:
        bias = _blocks(arrays[0].astype(np.float64), order)
        if order is _GATES:
            bias[hidden : 2 * hidden] += forget_bias
        return [bias, np.zeros(size)]

    names = {f"{prefix}bias_{kind}_{layer}": (size,) for kind in ("ih", "hh")}
    return Piece(owner, names, [part], into, out, group=prefix, layer_size=hidden)


def _of_birnn(builder: Any, prefix: str) -> list[Piece]:
    pieces = []
    for i, pair in enumerate(builder.builder_layers):
        if type(pair[0]) is not type(pair[1]):
            both = f"{type(pair[0]).__name__} and {type(pair[1]).__name__}"
            raise Unfit(f"layer {i} of the BiRNNBuilder has a {both}; want one class")
        for one, suffix in zip(pair, ("", "_reverse")):
            if not isinstance(one, _RECURRENT):
                raise _unknown(one)
            if len(one.get_parameters()) != 1:
                raise Unfit(f"a builder of layer {i} of the BiRNNBuilder has layers of its own")
            pieces += _of_recurrent(one, prefix, f"BiRNNBuilder of {type(one).__name__}", i, suffix)
    return pieces


# ---- attention and Transformers -----------------------------------------------------------------

_MORE_KEYS = (
    "nn.MultiheadAttention(add_bias_kv=True) attends to one more position, which "
    "MultiHeadAttentionBuilder has not"
)
_NO_NORM = "a builder without pre_norm has no last normalisation"
_NO_MEMORY = "a TransformerDecoderBuilder with has_memory alone attends to a memory"


def _parameters_of(builder: Any, count: int) -> list[Any]:
    """The parameters in the order of making. After `copy` a builder uses the parameters of another
    builder, and its own collection keeps unused ones. A builder made once more, as by copy.copy,
    has the collection of the used parameters."""
    _made(builder)
    make, arguments, _ = _pickling.builder(builder)
    parts = list(make(*arguments).param_collection().parameters_list())
    if len(parts) != count:
        raise Unfit(
            f"the collection of the {type(builder).__name__} has {len(parts)} parameters; want its "
            f"own {count}"
        )
    return parts


def _of_attention(parts: list[Any], prefix: str, owner: str, group: str) -> list[Piece]:
    wq, bq, wk, bk, wv, bv, wo, bo = parts
    size, memory = wk.shape()

    def into(arrays: list[Any]) -> list[Any]:
        return list(np.split(arrays[0], 3))

    def out(arrays: list[Any]) -> list[Any]:
        return [np.concatenate(arrays)]

    if memory == size:
        weight = {prefix + "in_proj_weight": (3 * size, size)}
        pieces = [Piece(owner, weight, [wq, wk, wv], into, out)]
    else:
        pieces = [
            _plain(owner, f"{prefix}{kind}_proj_weight", part)
            for kind, part in zip("qkv", (wq, wk, wv))
        ]
    bias = {prefix + "in_proj_bias": (3 * size,)}
    refused = {prefix + "bias_k": _MORE_KEYS, prefix + "bias_v": _MORE_KEYS}
    return [
        *pieces,
        Piece(owner, bias, [bq, bk, bv], into, out, group=group, refused=refused),
        *_of_pair(owner, prefix + "out_proj.", wo, bo, group),
    ]


def _of_pair(owner: str, prefix: str, weight: Any, bias: Any, group: str) -> list[Piece]:
    """The pieces of an nn.Linear or nn.LayerNorm inside a larger layer."""
    return [
        _plain(owner, prefix + "weight", weight),
        _plain(owner, prefix + "bias", bias, group),
    ]


def _of_stack(builder: Any, prefix: str, names: Iterable[str]) -> list[Piece]:
    name, spec = type(builder).__name__, _made(builder)
    layers, size, pre_norm = spec[0], spec[1], spec[4]
    has_memory = isinstance(builder, TransformerDecoderBuilder) and spec[6]
    if has_memory and spec[7] not in (0, size):
        raise Unfit(
            f"the {name} has memory_dim={spec[7]}: the memory of an nn.TransformerDecoder has "
            f"vectors of its own size, {size}"
        )
    # After the attention(s): w1, b1, w2, b2, and pairs of self-norm, feed-norm, memory-norm.
    attentions = ("self_attn.", "multihead_attn.") if has_memory else ("self_attn.",)
    norms = ("norm1.", "norm3.", "norm2.") if has_memory else ("norm1.", "norm2.")
    pairs = ("linear1.", "linear2.", *norms)
    per_layer = 8 * len(attentions) + 2 * len(pairs)
    parts = _parameters_of(builder, layers * per_layer + (2 if pre_norm else 0))
    is_single = layers == 1 and any(n.startswith(prefix + "self_attn.") for n in names)
    pieces = []
    for i in range(layers):
        at, owner = prefix if is_single else f"{prefix}layers.{i}.", f"layer {i} of {name}"
        mine = parts[i * per_layer : (i + 1) * per_layer]
        for k, attention in enumerate(attentions):
            pieces += _of_attention(mine[8 * k : 8 * k + 8], at + attention, owner, prefix)
        rest = mine[8 * len(attentions) :]
        for k, pair in enumerate(pairs):
            pieces += _of_pair(owner, at + pair, rest[2 * k], rest[2 * k + 1], prefix)
        if not has_memory:
            pieces[-1].refused = {at + "multihead_attn.out_proj.weight": _NO_MEMORY}
    if not pre_norm and not is_single:
        pieces[0].refused = {prefix + "norm.weight": _NO_NORM}
    if pre_norm:
        pieces += _of_pair(name, prefix + "norm.", parts[-2], parts[-1], prefix + "norm.")
    return pieces


# ---- reasons ------------------------------------------------------------------------------------

_COUPLED = "its forget gate is 1 - input gate; a VanillaLSTMBuilder is an nn.LSTM"
_RESET_BEFORE = (
    "nn.GRU multiplies with the reset gate behind the product, r * (W h + b), and this builder in "
    "front of it, W (r * h) + b; want one made with reset_after=True"
)
_REFUSED: dict[Any, str] = {
    CoupledLSTMBuilder: _COUPLED,
    FastLSTMBuilder: _COUPLED,
    SparseLSTMBuilder: "it holds weights at 0 by masks; a VanillaLSTMBuilder is an nn.LSTM",
}
_PARAMETRIZED = "; remove the parametrization before the state_dict"
_KNOWN = (
    *_RECURRENT,
    BiRNNBuilder,
    MultiHeadAttentionBuilder,
    TransformerEncoderBuilder,
    TransformerDecoderBuilder,
    LearnedEncoding,
)


def _first(reasons: dict[str, str], name: str) -> str:
    found = (why for pattern, why in reasons.items() if re.search(rf"(^|\.){pattern}$", name))
    return next(found, "")


def _computed_from(name: str, known: Iterable[str]) -> str:
    """The tensor that a `state_dict` has in place of `name` if the module has a parametrization,
    such as weight_norm; empty if there is none."""
    path, dot, last = name.rpartition(".")
    there = f"{path}{dot}parametrizations.{last}.original"
    forms = (name + "_g", name + "_orig", there, there + "0")
    return next((form for form in forms if form in known), "")


def has_any(piece: Piece, known: set[str]) -> bool:
    """Whether a module has one of the tensors, with a parametrization or without."""
    return any(name in known or _computed_from(name, known) for name in piece.shapes)


def why_extra(name: str) -> str:
    reasons = {
        r"(weight|bias)_[ih]h_l\d+_reverse": "; the layer reads backward, too: want a BiRNNBuilder",
        r"(weight|bias)_[ih]h_l\d+": "; the layers are more than the builder's",
        r"(weight|bias)\w*_([gv]|orig)|parametrizations\..*": _PARAMETRIZED,
    }
    return _first(reasons, name)


def why_missing(name: str, known: set[str]) -> str:
    """The likely reason for a missing tensor."""
    form = _computed_from(name, known)
    if form:
        return f", but {form!r}{_PARAMETRIZED}"
    one, all_three = name.replace("q_proj", "in_proj"), name.replace("in_proj", "q_proj")
    if one != all_three and not known.isdisjoint((one, all_three)):
        return " (memory_dim of the builder is kdim and vdim of nn.MultiheadAttention)"
    reasons = {
        r"norm\.(weight|bias)": (
            " (with pre_norm the builder normalises the output of the stack, as "
            "nn.TransformerEncoder(..., norm=nn.LayerNorm(size)) does)"
        ),
    }
    return _first(reasons, name)
