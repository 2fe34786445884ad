"""Objects of a program's own classes in a `spec`, and files that would make others of them."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import sys
import types
from pathlib import Path

import dynet as dy
import numpy as np
import pytest

RAN: list[object] = []


class Vocabulary:
    """As programs of 2.1 have them."""

    def __init__(self, words):
        RAN.append("init")
        self.w2i = {w: i for i, w in enumerate(words)}
        self.i2w = dict(enumerate(words))
        self.kept, self.weights = {"a", "b"}, np.arange(3.0)
        self.parent = None

    def __setattr__(self, name, value):
        RAN.append(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name):
        RAN.append(name)
        raise AttributeError(name)

    def __eq__(self, other):
        return self.w2i == other.w2i and self.i2w == other.i2w and self.kept == other.kept

    def __hash__(self):
        RAN.append("hash")
        return 7


class Derived(Vocabulary):
    pass


@dataclasses.dataclass(frozen=True)
class Options:
    size: int
    rate: float = 0.5


class Tagger:
    def __init__(self, model, vocabulary, options):
        self.vocabulary, self.options = vocabulary, options
        self.model = model.add_subcollection("tagger")
        self.W = self.model.add_parameters((2, 3))

    @property
    def spec(self):
        return self.vocabulary, self.options

    @classmethod
    def from_spec(cls, spec, model):
        return cls(model, *spec)

    def param_collection(self):
        return self.model


def tagger(vocabulary=None, options=None):
    words = vocabulary if vocabulary is not None else Derived(["the", "cat"])
    return Tagger(dy.ParameterCollection(), words, options or Options(3))


@pytest.mark.parametrize("end", ["", ".safetensors"])
def test_the_vocabulary_of_a_program_comes_back(tmp_path, end):
    path, saved = str(tmp_path / "model") + end, tagger()
    saved.vocabulary.parent = Vocabulary([])
    dy.save(path, [saved])
    RAN.clear()
    (loaded,) = dy.load(path, dy.ParameterCollection())
    assert RAN == [], "none of the class's code runs"
    np.testing.assert_array_equal(loaded.W.as_array(), saved.W.as_array())
    vocabulary = loaded.vocabulary
    assert type(vocabulary) is Derived and type(vocabulary.parent) is Vocabulary
    assert vocabulary == saved.vocabulary and vocabulary.i2w == {0: "the", 1: "cat"}
    np.testing.assert_array_equal(vocabulary.weights, np.arange(3.0))
    assert loaded.options == Options(3) and type(loaded.options) is Options
    (again,) = dy.load_generator(path, dy.ParameterCollection())
    assert again.vocabulary == vocabulary


class Slots:
    __slots__ = ("a",)


class WithState:
    def __setstate__(self, state):
        RAN.append("setstate")


class OfDict(dict):
    pass


class Meta(type):
    pass


class WithMeta(metaclass=Meta):
    pass


def attribute(name, value):
    vocabulary = Vocabulary(["a"])
    setattr(vocabulary, name, value)
    return vocabulary


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Slots, "has __slots__"),
        (WithState, "whose class has __setstate__"),
        (OfDict, "derives from dict"),
        (WithMeta, "has a metaclass"),
        (lambda: types.SimpleNamespace(a=1), "one of Python's own"),
        (lambda: open(os.devnull), "one of Python's own"),  # noqa: SIM115
        (lambda: dy.scalarInput(1), "of type"),
        (lambda: attribute("f", open), r"spec\[0\].f of object 0, a Tagger, is the function"),
        (
            lambda: attribute("W", dy.ParameterCollection().add_parameters(1)),
            r"spec\[0\].W of object",
        ),
        (
            lambda: attribute("d", {Options(1): 2}),
            r"spec\[0\].d of object 0.*has to hash an object",
        ),
        (
            lambda: attribute("s", {(Options(1),)}),
            r"spec\[0\].s of object 0.*has to hash an object",
        ),
    ],
)
def test_what_is_more_than_its_dict_is_refused(tmp_path, make, words):
    with pytest.raises(dy.TypeError, match=words):
        dy.save(tmp_path / "model", [tagger(make())])
    assert list(tmp_path.iterdir()) == []


def test_an_object_that_has_itself(tmp_path):
    vocabulary = Vocabulary([])
    vocabulary.parent = vocabulary
    with pytest.raises(dy.TypeError, match="has itself as a member"):
        dy.save(tmp_path / "model", [tagger(vocabulary)])


def test_a_class_of_another_module(tmp_path, monkeypatch):
    """For example, a file written by a program's main module."""
    path = str(tmp_path / "model")
    main = types.ModuleType("train_the_tagger")
    for cls in (Tagger, Derived, Options):
        setattr(main, cls.__name__, cls)
        monkeypatch.setattr(cls, "__module__", "train_the_tagger")
    monkeypatch.setitem(sys.modules, "train_the_tagger", main)
    dy.save(path, [tagger()])
    monkeypatch.undo()
    with pytest.raises(dy.IoError, match=r"'train_the_tagger:Tagger'.*load.*classes="):
        dy.load(path, dy.ParameterCollection())
    with pytest.raises(dy.IoError, match=r"the class 'train_the_tagger:Derived'.*load.*classes="):
        dy.load(path, dy.ParameterCollection(), classes=[Tagger])
    (loaded,) = dy.load(path, dy.ParameterCollection(), classes=[Tagger, Derived, Options])
    assert type(loaded.vocabulary) is Derived
    with pytest.raises(dy.TypeError, match="want classes"):
        dy.load(path, dy.ParameterCollection(), classes=["Tagger"])


def with_spec(tmp_path: Path, spec: object) -> str:
    path = str(tmp_path / "model")
    dy.save(path, [tagger()])
    meta = tmp_path / "model.meta"
    (record,) = json.loads(meta.read_text())
    record["spec"] = spec
    meta.write_text(json.dumps([record]))
    return path


@pytest.mark.parametrize(
    "code",
    [
        {"object": ["os:system", {}]},
        {"object": ["posix:system", {"command": "touch ran"}]},
        {"object": ["subprocess:Popen", {"args": "touch ran"}]},
        {"object": ["tempfile:_TemporaryFileCloser", {"name": "model.data", "delete": True}]},
        {"object": ["builtins:dict", {"a": 1}]},
        {"object": ["not_imported_yet:Vocabulary", {}]},
        {"object": ["test_plain_objects:WithState", {"a": 1}]},
        {"object": ["test_plain_objects:Slots", {"a": 1}]},
        {"object": ["test_plain_objects:WithMeta", {}]},
        {"object": ["test_plain_objects:Vocabulary", ["w2i"]]},
        {"object": ["test_plain_objects:Vocabulary"]},
        {"object": "test_plain_objects:Vocabulary"},
        {"object": [["test_plain_objects:Vocabulary"], {}]},
        {"set": [{"object": ["test_plain_objects:Vocabulary", {"dict": {}}]}]},
        {"items": [[{"tuple": [{"object": ["test_plain_objects:Vocabulary", {}]}]}, 1]]},
        {"class": "os:system"},
    ],
)
def test_hostile_files(tmp_path, monkeypatch, code):
    monkeypatch.chdir(tmp_path)
    path = with_spec(tmp_path, {"tuple": [code, None]})
    before = sorted(p.name for p in tmp_path.iterdir())
    RAN.clear()
    collection = dy.ParameterCollection()
    with pytest.raises(dy.IoError):
        dy.load(path, collection)
    assert RAN == [] and sorted(p.name for p in tmp_path.iterdir()) == before
    assert not collection.parameters_list() and "not_imported_yet" not in sys.modules


# ---- files of 2.1 --------------------------------------------------------------------------------


def old_file(tmp_path, *entries, protocol=0) -> str:
    path = str(tmp_path / "old")
    dy.save(path, [tagger()])
    with open(path + ".meta", "wb") as meta:
        for entry in entries:
            pickle.dump(entry, meta, protocol=protocol)
    return path


def ran(what):
    RAN.append(what)


class Runs:
    def __reduce__(self):
        return (ran, ("a pickle",))


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_old_pickles_want_trust(tmp_path, protocol):
    spec = (Derived(["the"]), Options(2))
    path = old_file(tmp_path, (Tagger, spec, "/tagger/"), protocol=protocol)
    with pytest.raises(dy.IoError, match="trust=True"):
        dy.load(path, dy.ParameterCollection())
    (loaded,) = dy.load(path, dy.ParameterCollection(), trust=True)
    assert type(loaded.vocabulary) is Derived and loaded.vocabulary == spec[0]
    assert loaded.options == Options(2)


def test_what_is_trusted_runs(tmp_path):
    path = old_file(tmp_path, (Tagger, Runs(), "/tagger/"))
    RAN.clear()
    collection = dy.ParameterCollection()
    with pytest.raises(dy.IoError):
        dy.load(path, collection)
    assert RAN == []
    with pytest.raises(dy.IoError, match="no Tagger can be made of its spec"):
        dy.load(path, collection, trust=True)
    assert RAN == ["a pickle"] and not collection.parameters_list()
    (tmp_path / "old.meta").write_bytes(b"cos\nsystem_that_is_not\n.")
    with pytest.raises(dy.IoError, match=r"no pickle that DyNet 2.1 wrote.*AttributeError"):
        dy.load(path, collection, trust=True)


def test_our_files_are_no_pickles_however_trusted(tmp_path):
    path = with_spec(tmp_path, {"object": ["os:system", {}]})
    with pytest.raises(dy.IoError):
        dy.load(path, dy.ParameterCollection(), trust=True)
    (tmp_path / "model.meta").write_text('[{"made": [1, 2], "kind": "x", "key": "/W"}]')
    with pytest.raises(dy.IoError, match="only a pickle"):
        dy.load(path, dy.ParameterCollection(), trust=True)


def test_other_files(tmp_path):
    path = tmp_path / "model"
    (tmp_path / "model.meta").write_bytes(b"\x1f\x8b\x08\0\0\0")
    with pytest.raises(dy.IoError, match=r"model.meta' does not say .*gzip"):
        dy.load(path, dy.ParameterCollection())
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04" + bytes(40))
    with pytest.raises(dy.IoError, match=r"model.pt', which save did not write: it is a zip"):
        dy.load(tmp_path / "model.pt", dy.ParameterCollection())
