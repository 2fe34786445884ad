"""Models for pickle, copy and multiprocessing.

All collections with a common root are one `_Model`. It is pickled once, for any number of its parts
(collections, parameters, builders, trainers) in the pickled object: the numbers as a safetensors
file, and all other facts beside them. In the file a parameter is named by its place in the model,
as several parameters from `dy.load` may have one name. The parts have their places in the model. So
parts that shared parameters before share them afterwards; and a shallow copy of a part, which keeps
the model as it is, shares the parameters too.

A builder is made once more, with the same arguments, in a collection in which its additions are
found rather than made (`dynet/replay.h`). For a program's class that derives from a builder of the
module, the module's class is made anew. The program's `__init__` is not called: its work is in the
object's attributes, which are copied as `__getstate__` gives them.
"""

from __future__ import annotations

import copy
import copyreg
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
    ReducedWithState = tuple[Callable[..., Any], tuple[Any, ...], Any]


#: In the memo of a deep copy that shares the parameters, see `sharing_copy`.
_SHARED = "dynet: parameters are shared"


def sharing_copy(x: Any) -> Any:
    """A deep copy with the same parameters: builders are new, and can be in another graph."""
    return copy.deepcopy(x, {_SHARED: True})  # type: ignore[dict-item]


class _Model:
    """A tree of collections. Lives while a pickler, or an object being unpickled, needs it."""

    def __init__(self, root: ParameterCollection) -> None:
        self.root = root

    def part(self, name: str) -> ParameterCollection:
        found: ParameterCollection = _dynet._find_subcollection(self.root, name)
        return found

    def __reduce__(self) -> Reduced:
        with tempfile.TemporaryDirectory(prefix="dynet-") as folder:
            path = os.path.join(folder, "model.safetensors")
            entries = _dynet._entries_of(self.root)
            with SafetensorsSaver(path) as saver:
                for place in range(len(entries)):
                    part: Any = _dynet._parameter_at(self.root, place)
                    saver.save(part, f"/{place}")
            with open(path, "rb") as file:
                content = file.read()
        return _unpacked, (content, entries, self.root.get_weight_decay())

    def __deepcopy__(self, memo: dict[Any, Any]) -> _Model:
        if _SHARED in memo:
            return self
        function, arguments = self.__reduce__()
        copied: _Model = function(*arguments)
        return copied


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


def ours(cls: type) -> Any:
    """The class of the module that equals `cls` or is a base of it."""
    return next(base for base in cls.__mro__ if base.__module__ == "dynet")


def _state_of(x: Any) -> Any:
    """The attributes that a program gave an object, by the class's own `__getstate__` or by
    pickle's."""
    if hasattr(x, "__getstate__"):  # every object has one from Python 3.11 on
        return x.__getstate__()
    state = getattr(x, "__dict__", None) or None
    names = copyreg._slotnames(type(x))  # type: ignore[attr-defined]
    slots = {name: getattr(x, name) for name in names if hasattr(x, name)}
    return (state, slots) if slots else state


def builder(self: Any) -> ReducedWithState:
    """`__reduce__` of builders."""
    made = _dynet._made_of(self)
    if made is None:
        raise _dynet.TypeError(
            f"{type(self).__name__} was not initialised; a subclass must call super().__init__() "
            "first"
        )
    spec, place, parent, uses, sub_uses, settings = made
    where = None if parent is None else (_model_of(parent), parent.name(), uses, sub_uses)
    return _builder, (type(self), spec, place, where, settings), _state_of(self)


def _builder(
    cls: Any,
    spec: tuple[Any, ...],
    place: int,
    where: tuple[_Model, str, dict[str, int], dict[str, int]] | None,
    settings: list[tuple[str, tuple[Any, ...]]],
) -> Any:
    base = ours(cls)
    made: Any = cls.__new__(cls)
    if where is None:
        base.__init__(made, *spec)
    else:
        model, parent, uses, sub_uses = where
        _dynet._replayed(
            model.root,
            parent,
            uses,
            sub_uses,
            lambda found: base.__init__(made, *spec[:place], found, *spec[place:]),
        )
    for method, arguments in settings:
        getattr(base, method)(made, *arguments)
    return made


def trainer(self: Trainer) -> ReducedWithState:
    """`Trainer.__reduce__`."""
    model = _dynet._model_of_trainer(self)
    settings = {
        "lookup_updates": self.lookup_updates,
        "clip_threshold": self.get_clip_threshold(),
        "clip_value": self.get_clip_value(),
        "state": Trainer.save(self),
    }
    made = (type(self), _model_of(model), model.name(), _dynet._arguments_of(self), settings)
    return _trainer, made, _state_of(self)


def _trainer(
    cls: Any, model: _Model, name: str, arguments: list[float], settings: dict[str, Any]
) -> Any:
    made: Any = cls.__new__(cls)
    ours(cls).__init__(made, model.part(name), *arguments)
    made.set_clip_threshold(settings["clip_threshold"])
    made.set_clip_value(settings["clip_value"])
    made.lookup_updates = settings["lookup_updates"]
    Trainer.populate(made, settings["state"])
    return made
