"""Models for pickle, copy and multiprocessing.

All collections that have a root in common are one `_Model`, which is pickled once, however many of
its parts (collections, parameters, builders, trainers) the pickled object has: its numbers as a
safetensors file, and what else there is to know. The parts say where they are in it. So what shared
parameters before shares them afterwards; and a shallow copy of a part, which keeps the model as it
is, shares it too.

A builder is made by `from_spec` once more, in a collection in which the parameters that it adds are
found rather than made (`dynet/replay.h`).
"""

from __future__ import annotations

import inspect
import os
import tempfile
import weakref

import _dynet
from _dynet import LookupParameters, ParameterCollection, Parameters, SafetensorsSaver, Trainer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Reduced = tuple[Callable[..., Any], tuple[Any, ...]]
    ReducedWithState = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any] | None]


class _Model:
    """A tree of collections. Lives as long as a pickler, or what is being unpickled, needs it."""

    def __init__(self, root: ParameterCollection) -> None:
        self.root = root

    def part(self, name: str) -> ParameterCollection:
        found: ParameterCollection = _dynet._find_subcollection(self.root, name)
        return found

    def __reduce__(self) -> Reduced:
        with tempfile.TemporaryDirectory(prefix="dynet-") as folder:
            path = os.path.join(folder, "model.safetensors")
            with SafetensorsSaver(path) as saver:
                saver.save(self.root)
            with open(path, "rb") as file:
                content = file.read()
        entries = _dynet._entries_of(self.root)
        return _unpacked, (content, entries, self.root.get_weight_decay())


def _unpacked(content: bytes, entries: list[Any], weight_decay: float) -> _Model:
    with tempfile.TemporaryDirectory(prefix="dynet-") as folder:
        path = os.path.join(folder, "model.safetensors")
        with open(path, "wb") as file:
            file.write(content)
        return _model_of(_dynet._load_collection(path, entries, weight_decay))


_models: weakref.WeakValueDictionary[int, _Model] = weakref.WeakValueDictionary()


def _model_of(part: ParameterCollection) -> _Model:
    root = _dynet._root_of(part)
    key = _dynet._identity_of(root)
    model = _models.get(key)
    if model is None:
        model = _models[key] = _Model(root)
    return model


def collection(self: ParameterCollection) -> Reduced:
    """`ParameterCollection.__reduce__`."""
    if type(self) is not ParameterCollection:
        raise TypeError(
            f"{type(self).__name__} is derived from ParameterCollection, of which a copy cannot be "
            "made; keep the collection in an attribute"
        )
    return _collection, (_model_of(self), self.name())


def _collection(model: _Model, name: str) -> ParameterCollection:
    return model.part(name)


def parameter(self: Parameters | LookupParameters) -> Reduced:
    """`__reduce__` of parameters and tables."""
    owner, place = _dynet._place_of(self)
    return _parameter, (_model_of(owner), place)


def _parameter(model: _Model, place: int) -> Parameters | LookupParameters:
    found: Any = _dynet._parameter_at(model.root, place)
    return found  # type: ignore[no-any-return]


def builder(self: Any) -> ReducedWithState:
    """`__reduce__` of recurrent builders."""
    spec = self.spec
    if not inspect.isfunction(getattr(type(self).from_spec, "__func__", None)):  # that of ours
        otherwise = ", or spec and from_spec of its own"
        _check_init(type(self), (*spec[:3], None, *spec[3:]), otherwise)
    state = getattr(self, "__dict__", None) or None
    if spec[0] == 0:
        return _empty_builder, (type(self), spec), state
    own = self.param_collection()
    parent, _, name = own.name().rstrip("/").rpartition("/")
    first_norm = self._first_norm() if hasattr(self, "_first_norm") else ""
    uses = {"": _number(first_norm)[1]} if first_norm else {}
    base, number = _number(name)
    arguments = (type(self), spec, _model_of(own), parent + "/", uses, {base: number})
    return _builder, (*arguments, self._rates()), state


def _check_init(cls: Any, arguments: tuple[Any, ...], otherwise: str = "") -> None:
    """Says now what would go wrong when the pickle is loaded."""
    try:
        # Where it cannot be seen what a class takes, it is one of ours.
        signature = inspect.signature(cls.__init__)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(None, *arguments)
    except TypeError as e:
        given = "a collection" if len(arguments) == 1 else f"{len(arguments)} arguments"
        raise TypeError(
            f"a copy of a {cls.__name__} cannot be made: its __init__ would be given {given}, but "
            f"takes {signature}: {e}; want defaults for others{otherwise}"
        ) from None


def _number(name: str) -> tuple[str, int]:
    """`b_2` is `b` after two others of this name, `/_3` the fourth without a name."""
    base, bar, number = name.rpartition("_")
    if not bar:
        return name, 0
    return base.rpartition("/")[2], int(number)


def _empty_builder(cls: Any, spec: tuple[Any, ...]) -> Any:
    return cls.from_spec(spec, ParameterCollection())


def _builder(
    cls: Any,
    spec: tuple[Any, ...],
    model: _Model,
    parent: str,
    uses: dict[str, int],
    sub_uses: dict[str, int],
    rates: list[float],
) -> Any:
    made: Any = _dynet._replayed(
        model.root, parent, uses, sub_uses, lambda found: cls.from_spec(spec, found)
    )
    if len(rates) == 1:
        made.set_dropout(rates[0])
    elif rates:
        made.set_dropouts(*rates)
    return made


def trainer(self: Trainer) -> ReducedWithState:
    """`Trainer.__reduce__`."""
    model = _dynet._model_of_trainer(self)
    settings = {
        "lookup_updates": self.lookup_updates,
        "clip_threshold": self.get_clip_threshold(),
        "clip_value": self.get_clip_value(),
        "state": self.save(),
    }
    state = getattr(self, "__dict__", None) or None
    arguments = _dynet._arguments_of(self)
    _check_init(type(self), (model, *arguments))
    return _trainer, (type(self), _model_of(model), model.name(), arguments, settings), state


def _trainer(
    cls: Any, model: _Model, name: str, arguments: list[float], settings: dict[str, Any]
) -> Any:
    made: Any = cls(model.part(name), *arguments)
    made.set_clip_threshold(settings["clip_threshold"])
    made.set_clip_value(settings["clip_value"])
    made.lookup_updates = settings["lookup_updates"]
    made.populate(settings["state"])
    return made
