"""Weights of PyTorch by name: `from_torch` and `to_torch`.

`_torch_layouts.py` describes each layer as pieces: names and shapes of tensors, the parameters
here, and functions from the numbers of one side to the numbers of the other side. This file reads
the tensors, compares names and shapes, and only then writes. Example: of an LSTM with one layer the
piece of `bias_ih_l0` (16,) and `bias_hh_l0` (16,) gives the parameter `bi` {16}.
"""

from __future__ import annotations

import os

import _dynet
from _dynet import IoError, ParameterCollection, SafetensorsLoader, ShapeError

from ._told import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from ._torch_layouts import Piece

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_MOST_NAMES = 12  # that an error lists


@told
def from_torch(
    target: Any,
    source: Mapping[str, Any] | str | os.PathLike[str] | SafetensorsLoader,
    prefix: str = "",
    *,
    layout: str | dict[str, str] | None = None,
    allow_extra: bool = False,
) -> list[str]:
    """Fills parameters with the weights of a layer of PyTorch; returns the names that were used.

    `source` is a `state_dict`: a dict of names to tensors or arrays (anything with `__array__` or
    `__dlpack__`). The path of a ``.safetensors`` file and a `SafetensorsLoader` will do as well.
    `prefix` is the begin of the names, such as ``"encoder.lstm."``.

    `target` decides which names are read, and with which shapes:

    * a parameter or a table: `weight` of its own shape. A prefix without a dot at its end is the
      whole name of the tensor, such as ``"scale"``. Tables: ``(rows, size)``, as `nn.Embedding`;
    * a pair ``(W, b)``: `weight` and `bias`, as `nn.Linear` ``(out, in)`` and `nn.LayerNorm`;
    * `VanillaLSTMBuilder`, `CompactVanillaLSTMBuilder`, `SimpleRNNBuilder`, and `BiRNNBuilder` of
      these: `nn.LSTM` and `nn.RNN`, ``weight_ih_l0 (4 * hidden, input)`` and so on;
    * `MultiHeadAttentionBuilder`: `nn.MultiheadAttention`; `TransformerEncoderBuilder` and
      `TransformerDecoderBuilder`: `nn.TransformerEncoder` and `nn.TransformerDecoder`;
      `LearnedEncoding`: an `nn.Embedding` of positions;
    * a dict of prefixes to targets, for several layers at once.

    `layout` ``"conv1d"`` or ``"conv2d"`` turns the weight of a convolution, ``(out, in, width)`` or
    ``(out, in, height, width)``, into the filter that `filter1d_narrow` {in,width,out} or `conv2d`
    {height,width,in,out} takes. ``"same"`` says that the indices are the same on both sides, which
    a `weight` with three or four equal sizes needs: it would fit a convolution, too. For a dict of
    targets `layout` is a dict with the same keys. Numbers are read as floats of 32 bits.

    All or nothing. ValueError if a name is missing, if there are other names under the prefix
    (unless `allow_extra`), or if tensors with different numbers go to one parameter; ShapeError for
    another shape; TypeError for a target without a layer in PyTorch (the text has the reason) and
    for numbers that are no floats; IoError for files.

    >>> lstm = VanillaLSTMBuilder(2, 8, 16, model)          # doctest: +SKIP
    >>> from_torch(lstm, torch_lstm.state_dict())           # doctest: +SKIP
    >>> from_torch({"lstm.": lstm, "out.": (W, b)}, "model.safetensors")  # doctest: +SKIP
    """
    tensors = _Tensors(source)
    pieces = _pieces("from_torch", target, prefix, tensors.names, layout)
    used = _checked_names(pieces, tensors, prefix, allow_extra)
    _check_shapes(pieces, tensors, used, prefix)
    values = _apart([(piece, _values(piece, tensors, used)) for piece in pieces])
    try:
        _write(values)
    except KeyboardInterrupt:  # after a second time all numbers are written
        _write(values)
        raise
    return [name for piece in pieces for name in piece.shapes if name in used]


@told
def to_torch(
    source: Any,
    prefix: str = "",
    *,
    layout: str | dict[str, str] | None = None,
    as_tensors: bool = False,
) -> dict[str, Any]:
    """Weights under PyTorch's names and in its layouts, as `from_torch` reads them.

    `source` is a parameter, a table, a pair ``(W, b)``, a builder, or a dict of prefixes to such,
    as the `target` of `from_torch`; `layout` is explained there. The dict has names, each behind
    `prefix`, and NumPy arrays (C order, copies) of float32, of float64 for parameters on a device
    such as ``"CPU:double"``. With `as_tensors` it has tensors, for `load_state_dict`. Of the two
    biases of a recurrent layer the first has all, the second zeros.

    TypeError for a source without a layer in PyTorch; UsageError if `as_tensors` finds no PyTorch.

    >>> torch_lstm.load_state_dict(to_torch(lstm, as_tensors=True))       # doctest: +SKIP
    """
    pieces = _pieces("to_torch", source, prefix, (), layout)
    import numpy as np

    result: dict[str, Any] = {}
    for piece in pieces:
        arrays = piece.out([part.as_array() for part in piece.parts])
        is_double = any(part.device_name().endswith(":double") for part in piece.parts)
        for name, array in zip(piece.shapes, arrays):
            kind = np.float64 if is_double else np.float32
            result[name] = np.array(array, dtype=kind, order="C")
    return _as_tensors(result) if as_tensors else result


def _as_tensors(arrays: dict[str, Any]) -> dict[str, Any]:
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:
        text = "to_torch: as_tensors is True, and PyTorch is not installed; arrays need no PyTorch"
        raise _dynet.UsageError(text) from None
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _pieces(call: str, target: Any, prefix: str, names: Iterable[str], layout: Any) -> list[Piece]:
    from . import _torch_layouts

    if not isinstance(prefix, str):
        raise _dynet.TypeError(f"{call}: prefix is {prefix!r}; want text, such as 'encoder.lstm.'")
    try:
        return _torch_layouts.pieces_of(target, prefix, names, layout)
    except _torch_layouts.Unfit as e:
        raise e.error(f"{call}: {e}") from None


def _apart(values: list[tuple[Piece, list[Any]]]) -> list[tuple[Piece, list[Any]]]:
    """The same arrays, but copies of arrays that may be views of memory to be written.

    Two tensors for one parameter, as with tied weights, are an error if their numbers differ.
    Parameters on a device are not compared, because NumPy cannot view that memory."""
    import numpy as np

    seen: dict[tuple[int, int], tuple[Piece, Any]] = {}
    with _dynet.ComputationGraph():  # a view of a parameter is a node: not one of the user's graph
        for piece, arrays in values:
            for part, array in zip(piece.parts, arrays):
                if not part.device_name().startswith("CPU"):
                    continue
                first, other = seen.setdefault(_span(part.numpy()), (piece, array))
                if other is not array and not np.array_equal(array, other, equal_nan=True):
                    names = " and ".join(repr(next(iter(p.shapes))) for p in (first, piece))
                    raise _dynet.ValueError(
                        f"from_torch: {names} have different numbers for one parameter, "
                        f"{part.name()}, of {first.owner}; want targets with parameters of their "
                        "own, or the same numbers"
                    )

    def apart(array: Any) -> Any:
        if not array.flags.forc:
            return array.copy()
        start, end = _span(array)
        return array.copy() if any(start < e and s < end for s, e in seen) else array

    return [(piece, [apart(array) for array in arrays]) for piece, arrays in values]


def _span(array: Any) -> tuple[int, int]:
    """The begin and the end of the memory of an array without gaps."""
    start = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def _write(values: list[tuple[Piece, list[Any]]]) -> None:
    for piece, arrays in values:
        for part, array in zip(piece.parts, arrays):
            write = getattr(part, "init_from_array", None) or part.set_value
            write(array)


# ---- names and shapes ---------------------------------------------------------------------------


def _checked_names(
    pieces: list[Piece], tensors: _Tensors, prefix: str, allow_extra: bool
) -> set[str]:
    """The names to read. If all biases of a group are absent, the layer has bias=False."""
    from . import _torch_layouts

    known = set(tensors.names)
    wanted = {name for piece in pieces for name in piece.shapes}
    # A prefix that is a whole name has no names below it.
    under = [] if prefix in wanted else [n for n in tensors.names if n.startswith(prefix)]
    extra = [n for n in under if n not in wanted]
    _refuse_other_layers(extra, pieces, tensors, prefix)
    with_bias = {p.group for p in pieces if p.is_bias and _torch_layouts.has_any(p, known)}
    for piece in pieces:
        if piece.is_bias and piece.group not in with_bias:
            continue
        for name, shape in piece.shapes.items():
            if name not in known:
                why = _torch_layouts.why_missing(name, known)
                if not why and known.isdisjoint(wanted):
                    why = _nearby(name, prefix, tensors.names) or tensors.inner(name)
                raise _dynet.ValueError(
                    f"from_torch: {tensors} has no {name!r}; want one of shape {shape} for "
                    f"{piece.owner}{why}{tensors.listed(prefix)}"
                )
    if extra and not allow_extra:
        why = _torch_layouts.why_extra(extra[0])
        if extra[0] == prefix + "bias" and prefix + "weight" in wanted:
            why = "; a pair (W, b) takes weight and bias"
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        owners = list(dict.fromkeys(piece.owner for piece in pieces))
        owner = ", ".join(owners[:4]) + (f" and {len(owners) - 4} more" if len(owners) > 4 else "")
        raise _dynet.ValueError(
            f"from_torch: {tensors} has {extra[0]!r} {tensors.shape_text(extra[0])}{more}, which "
            f"no parameter takes{why}; want the names of {owner} alone, or allow_extra=True"
            f"{tensors.listed(prefix)}"
        )
    return wanted & known


def _refuse_other_layers(
    extra: list[str], pieces: list[Piece], tensors: _Tensors, prefix: str
) -> None:
    """Tensors that change the results of the layer: `allow_extra` does not allow these."""
    reasons = {name: why for piece in pieces for name, why in piece.refused.items()}
    for name in extra:
        if name in reasons:
            raise _dynet.ValueError(
                f"from_torch: {tensors} has {name!r} {tensors.shape_text(name)}: {reasons[name]}"
                f"{tensors.listed(prefix)}"
            )


def _nearby(name: str, prefix: str, names: list[str]) -> str:
    """A hint for a prefix with which no name, or another name, begins."""
    for begin in (name, prefix):  # `name` may be a prefix without its dot, of a dict of targets
        if begin and not begin.endswith(".") and any(n.startswith(begin + ".") for n in names):
            return f"; did you mean the prefix {begin + '.'!r}?"
    whole = name[len(prefix) :]
    for ends in (whole, whole.replace("layers.0.", "", 1)):  # a single layer of a Transformer
        other = next((n for n in names if n.endswith("." + ends) or n == ends), None)
        if other is not None:
            return f"; did you mean the prefix {other[: len(other) - len(ends)]!r}?"
    return ""


def _check_shapes(pieces: list[Piece], tensors: _Tensors, used: set[str], prefix: str) -> None:
    for piece in pieces:
        for name, shape in piece.shapes.items():
            given = tensors.shape(name) if name in used else shape
            if given != shape:
                raise ShapeError(
                    f"from_torch: {name!r} of {tensors} has shape {given}; want {shape} for "
                    f"{piece.owner}{piece.hint(given, shape)}{tensors.listed(prefix)}"
                )


def _values(piece: Piece, tensors: _Tensors, used: set[str]) -> list[Any]:
    """The arrays of float32 for the parameters of a piece."""
    import numpy as np

    given = [
        tensors.array(name) if name in used else np.zeros(shape, np.float32)
        for name, shape in piece.shapes.items()
    ]
    for (name, shape), array in zip(piece.shapes.items(), given):
        if array.shape != shape:
            raise ShapeError(
                f"from_torch: {name!r} of {tensors} has shape {shape}, and the array made of it "
                f"{array.shape}"
            )
    with np.errstate(over="ignore"):
        arrays = piece.into(given)
        narrows = [array.astype(np.float32, copy=False) for array in arrays]
    is_finite = all(np.isfinite(array).all() for array in given)
    result = []
    for array, narrow in zip(arrays, narrows):
        is_new = np.isinf(narrow) if is_finite else np.isinf(narrow) & np.isfinite(array)
        if is_new.any():
            names = " and ".join(map(repr, piece.shapes))
            raise _dynet.ValueError(
                f"from_torch: {names} of {tensors}: a number is too large for a float of 32 bits"
            )
        result.append(narrow)
    return result


# ---- the tensors --------------------------------------------------------------------------------


class _Tensors:
    """The source: names in its own order, shapes, and arrays of tensors on demand."""

    def __init__(self, source: Any) -> None:
        self._dict: Any = None
        self._loader: Any = None
        self._text = "the dict"
        if isinstance(source, SafetensorsLoader):
            self._loader, self._text = source, "the file of the loader"
        elif isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            self._loader, self._text = _loader_of(path), f"'{path}'"
        elif (
            callable(getattr(source, "state_dict", None))
            or not hasattr(source, "keys")
            or not hasattr(source, "__getitem__")
        ):
            instead = ": give its state_dict()" if hasattr(source, "state_dict") else ""
            raise _dynet.TypeError(
                f"from_torch: source is of type {type(source).__name__}{instead}; want a dict of "
                "names to tensors or arrays, or the path of a .safetensors file"
            )
        else:
            self._dict = source
        self.names: list[str] = list(self._loader.names() if self._dict is None else self._dict)
        for name in self.names:
            if not isinstance(name, str):
                raise _dynet.TypeError(f"from_torch: source has the key {name!r}; want text")

    def __str__(self) -> str:
        return self._text

    def shape(self, name: str) -> tuple[int, ...]:
        if self._loader is not None:
            return tuple(self._loader.shape(name))
        shape = _shape_of(self._dict[name])
        return tuple(self.array(name).shape) if shape is None else shape

    def shape_text(self, name: str) -> str:
        """The shape; empty for an entry of a dict that has none."""
        shape = self.shape(name) if self._dict is None else _shape_of(self._dict[name])
        return "" if shape is None else str(shape)

    def inner(self, name: str) -> str:
        """A hint for a checkpoint, a dict with the `state_dict` as an entry."""
        entries = self._dict.items() if isinstance(self._dict, dict) else ()
        found = (key for key, entry in entries if isinstance(entry, dict) and name in entry)
        return next((f"; did you mean the entry {key!r} of the dict?" for key in found), "")

    def listed(self, prefix: str) -> str:
        """A line for errors: the names under a prefix, or all names."""
        names = [n for n in self.names if n.startswith(prefix)] if prefix else self.names
        if len(names) < 2:
            names = self.names
        texts = [f"{n} {self.shape_text(n)}".rstrip() for n in names[:_MOST_NAMES]]
        more = f", and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
        return f"\n  it has {', '.join(texts) or 'no tensors'}{more}"

    def array(self, name: str) -> Any:
        if self._loader is None:
            return _array_of(name, self._dict[name])
        # The library reads the file, and converts its types.
        shape = self._loader.shape(name)
        scratch = ParameterCollection().add_parameters(shape, init=0, device="CPU")
        try:
            self._loader.populate(scratch, name)
        except IoError as e:
            raise IoError("from_torch: " + str(e).partition("\n  called at ")[0]) from None
        with _dynet.ComputationGraph():  # not in the user's graph, which would keep the numbers
            return scratch.numpy()


def _shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape. None for our expressions, whose `shape` is a method, and tensors without one."""
    try:
        return tuple(value.shape)
    except Exception:
        return None


def _loader_of(path: str) -> Any:
    if path.endswith((".pt", ".pth", ".bin", ".ckpt")):
        raise IoError(
            f"from_torch: '{path}' is a pickle by its name, which can run anything; want a "
            ".safetensors file (safetensors.torch.save_file), or the dict that torch.load returns"
        )
    try:
        return SafetensorsLoader(path)
    except IoError as e:
        raise IoError("from_torch: " + str(e).partition("\n  called at ")[0]) from None


def _array_of(name: str, value: Any) -> Any:
    """A tensor or an array as an array of floats, without a copy if there is a way."""
    import numpy as np

    dtype = getattr(value, "dtype", "")
    kind = str(getattr(dtype, "name", dtype)).rpartition(".")[2]  # of '>f4', too: float32
    if kind and kind not in _FLOATS:
        raise _dynet.TypeError(
            f"from_torch: {name!r} is of type {kind}; want one of {', '.join(_FLOATS)}"
        )
    try:
        if hasattr(value, "detach"):  # a tensor of PyTorch, on any device
            value = value.detach().cpu()
            value = value.float() if kind == "bfloat16" else value  # NumPy has no such type
        if hasattr(value, "__array__"):
            array = np.asarray(value)
        elif hasattr(value, "__dlpack__"):
            array = np.from_dlpack(value)
        else:
            raise TypeError("it has neither __array__ nor __dlpack__")
    except Exception as e:
        raise _dynet.TypeError(
            f"from_torch: {name!r} is of type {type(value).__name__}, and no array can be made of "
            f"it: {e}"
        ) from None
    if array.dtype.name not in _FLOATS:
        raise _dynet.TypeError(
            f"from_torch: {name!r} is of type {array.dtype}; want one of {', '.join(_FLOATS)}"
        )
    if np.ma.is_masked(value):
        raise _dynet.TypeError(
            f"from_torch: {name!r} has masked numbers; want all of them, as array.filled(0) gives"
        )
    return array.astype(np.float32) if array.dtype.name in _FLOATS[:2] else array
