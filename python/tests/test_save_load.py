"""dy.save and dy.load: several objects in one place."""

from __future__ import annotations

import collections
import functools
import json
import os
import sys
import types
from typing import NamedTuple

import dynet as dy
import numpy as np
import pytest
from together import together


class Tagger:
    """A class of a user."""

    def __init__(self, model, sizes, names=("a", "b"), cell=dy.GRUBuilder):
        self.model = model.add_subcollection("tagger")
        self.spec = ({"sizes": sizes}, names, cell)
        self.rnn = cell(1, sizes[0], sizes[1], self.model)
        self.words = self.model.add_lookup_parameters((9, sizes[0]))

    @classmethod
    def from_spec(cls, spec, model):
        sizes, names, cell = spec
        assert isinstance(spec, tuple) and isinstance(names, tuple)
        return cls(model, sizes["sizes"], names, cell)

    def param_collection(self):
        return self.model


class Whole:
    """A class whose parameters are in a collection without a name."""

    def __init__(self, model, size):
        self.model = dy.ParameterCollection()
        self.spec = size
        self.W = self.model.add_parameters(size, name="W")

    @classmethod
    def from_spec(cls, spec, model):
        return cls(model, spec)

    def param_collection(self):
        return self.model


class Fails(Tagger):
    """Saves once; is never made anew."""

    times = 0

    @classmethod
    def from_spec(cls, spec, model):
        Tagger(model, [2, 3])
        raise KeyboardInterrupt

    def param_collection(self):
        self.times += 1
        if self.times > 1 and self.times < 3:
            raise OSError("once")
        return self.model


class NameOnly:
    def name(self):
        return "/tagger"


class Pair(NamedTuple):
    a: int
    b: int


def values(x) -> list[np.ndarray]:
    if isinstance(x, (dy.Parameters, dy.LookupParameters)):
        return [np.array(x.as_array())]
    pc = x.param_collection()
    return [np.array(p.as_array()) for p in [*pc.parameters_list(), *pc.lookup_parameters_list()]]


def make_objects() -> list:
    m, second = dy.ParameterCollection(), dy.ParameterCollection()
    w = m.add_parameters((2, 3), name="W")
    return [
        w,
        dy.VanillaLSTMBuilder(2, 3, 4, m),
        m.add_lookup_parameters((5, 2), name="E"),
        dy.BiRNNBuilder(1, 3, 4, m, dy.VanillaLSTMBuilder),
        Tagger(m, [3, 4]),
        second.add_parameters((4,), name="W"),  # of the same name
        w,  # once more
    ]


@pytest.mark.parametrize("name", ["model", "model.safetensors"])
def test_objects_come_back(tmp_path, name):
    objects = make_objects()
    path = str(tmp_path / name)
    dy.save(path, objects)
    loaded = dy.load(path, dy.ParameterCollection())
    assert [type(x) for x in loaded] == [type(x) for x in objects]
    for x, y in zip(objects, loaded):
        for a, b in zip(values(x), values(y)):
            np.testing.assert_array_equal(a, b)
    assert loaded[4].spec == objects[4].spec
    one = next(iter(dy.load_generator(path, dy.ParameterCollection())))
    np.testing.assert_array_equal(one.as_array(), objects[0].as_array())
    files = {"model": ["model.data", "model.meta"], "model.safetensors": ["model.safetensors"]}
    assert sorted(p.name for p in tmp_path.iterdir()) == files[name]


@pytest.mark.parametrize("name", ["model", "model.safetensors"])
@pytest.mark.parametrize("builder", [dy.VanillaLSTMBuilder, dy.SparseLSTMBuilder])
def test_layer_normalisation_is_saved(tmp_path, name, builder):
    """Its parameters lie beside the builder's collection, as in 2.1, which did not save them: here
    files of the collection have them too."""
    m = dy.ParameterCollection()
    m.add_parameters(3)  # takes the first of the names that the normalisation's parameters have
    objects = [builder(2, 3, 4, m, ln_lstm=True), builder(1, 4, 4, m, ln_lstm=True)]
    for p in m.parameters_list():
        if p.name().count("/") == 1:
            p.set_value(np.random.normal(size=p.shape()))
    path = str(tmp_path / name)
    dy.save(path, objects)
    loaded = dy.load(path, dy.ParameterCollection())

    def outputs(builders):
        dy.renew_cg()
        xs = [dy.inputVector([1, 2, 3]), dy.inputVector([-1, 0.5, 2])]
        for b in builders:
            xs = b.initial_state().transduce(xs)
        return [x.npvalue() for x in xs]

    np.testing.assert_array_equal(outputs(objects), outputs(loaded))

    own = str(tmp_path / name.replace("model", "own"))
    objects[0].param_collection().save(own)
    others = dy.ParameterCollection()
    loaded = [builder(2, 3, 4, others, ln_lstm=True)]
    loaded[0].param_collection().populate(own)
    np.testing.assert_array_equal(outputs(objects[:1]), outputs(loaded))


def test_names_in_the_file(tmp_path):
    path = str(tmp_path / "m.safetensors")
    dy.save(path, make_objects())
    names = dy.SafetensorsLoader(path).names()
    assert {"/W", "/E", "/5/W", "/6/W", "/birnn/vanilla-lstm-builder/_0"} <= set(names)


@pytest.mark.parametrize("name", ["model", "model.safetensors"])
def test_names_of_one_below_another(tmp_path, name):
    """A key below a collection's key would count as one of its parameters."""
    m, other, numbers = (dy.ParameterCollection() for _ in range(3))
    whole, below = m.add_subcollection("m"), other.add_subcollection("m").add_subcollection("x")
    objects = [
        dy.VanillaLSTMBuilder(1, 2, 2, whole),
        other.add_subcollection("vanilla-lstm-builder").add_parameters(3, name="extra"),
        below.add_parameters(4, name="W"),
        Tagger(m, [2, 3]),
        Tagger(other, [2, 3]).rnn,
        numbers.add_subcollection("7").add_parameters(5, name="W"),
        m.add_parameters(3, name="W"),
        other.add_parameters(4, name="W"),
        dy.ParameterCollection().add_subcollection("7").add_parameters(6, name="W"),
        Whole(dy.ParameterCollection(), 3),
        dy.ParameterCollection().add_subcollection("model").add_parameters(6, name="W"),
        Whole(dy.ParameterCollection(), 4),
    ]
    path = str(tmp_path / name)
    dy.save(path, objects)
    loaded = dy.load(path, dy.ParameterCollection())
    for x, y in zip(objects, loaded):
        for a, b in zip(values(x), values(y)):
            np.testing.assert_array_equal(a, b)


def test_what_cannot_be_saved(tmp_path):
    path = str(tmp_path / "m.safetensors")
    m = dy.ParameterCollection()
    with pytest.raises(
        TypeError, match="object 0 is a int without spec, from_spec, param_collection"
    ):
        dy.save(path, [3])
    tagger = Tagger(m, [2, 2])
    tagger.spec = (np.zeros(3, dtype=object),)
    with pytest.raises(TypeError, match=r"spec\[0\] of object 0, a Tagger, is of type ndarray"):
        dy.save(path, [tagger])

    for thing in (object(), collections.ChainMap(), make_objects):
        tagger.spec = [thing]
        with pytest.raises(TypeError, match=r"spec\[0\] of object 0, a Tagger, is"):
            dy.save(path, [tagger])

    class Inside(Tagger):
        pass

    with pytest.raises(TypeError, match="inside a function"):
        dy.save(path, [Inside(m, [2, 2])])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["model", "model.safetensors"])
def test_a_save_that_fails_leaves_the_old_model(tmp_path, name):
    path = str(tmp_path / name)
    dy.save(path, make_objects()[:2])
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    m = dy.ParameterCollection()
    with pytest.raises((OSError, dy.IoError), match="once"):
        dy.save(path, [m.add_parameters(3), Fails(m, [2, 3])])
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_second_file_that_cannot_be_written(tmp_path):
    dy.save(str(tmp_path / "model"), make_objects()[:1])
    before = (tmp_path / "model.data").read_bytes()
    (tmp_path / "model.meta").unlink()
    (tmp_path / "model.meta").mkdir()
    with pytest.raises(dy.IoError, match=r"cannot write '.*model\.meta': Is a directory"):
        dy.save(str(tmp_path / "model"), make_objects()[:2])
    assert (tmp_path / "model.data").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.data", "model.meta"]
    with pytest.raises(dy.IoError, match=r"^save: cannot create a file beside .*none/model"):
        dy.save(str(tmp_path / "none" / "model"), make_objects()[:1])


def test_links_and_rights_are_kept(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "data"
    target.touch(0o600)
    (tmp_path / "model.data").symlink_to(target)
    dy.save(str(tmp_path / "model"), make_objects()[:1])
    assert (tmp_path / "model.data").is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600 and target.stat().st_size > 0


def test_names_beside_the_files_belong_to_others(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for end in (".data", ".meta"):
        (tmp_path / f"model{end}.{os.getpid()}").symlink_to(victim)
    dy.save(str(tmp_path / "model"), make_objects()[:1])
    assert victim.read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 5


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
    for end in (".data", ".meta"):
        (tmp_path / f"model{end}.tmp.0123456789abcdef").touch()
    dy.save(str(tmp_path / "model"), make_objects()[:1])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.data", "model.meta"]


def test_threads_that_save_at_once_have_files_of_their_own(tmp_path):
    path = str(tmp_path / "model")
    models = []
    for i in range(4):
        m = dy.ParameterCollection()
        models.append([m.add_parameters(50, init=i) for _ in range(20)])

    def save(objects):
        for _ in range(5):
            dy.save(path, objects)

    together(*[functools.partial(save, objects) for objects in models])
    loaded = dy.load(path, dy.ParameterCollection())
    assert len({float(x) for p in loaded for x in p.as_array()}) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.data", "model.meta"]


@pytest.mark.skipif(not os.access("/proc/self/io", os.R_OK), reason="needs /proc/self/io")
def test_each_object_is_written_once(tmp_path):
    def written():
        with open("/proc/self/io") as file:
            return int(file.read().split("wchar: ")[1].split()[0])

    m = dy.ParameterCollection()
    objects = [m.add_parameters(1000) for _ in range(40)]
    before = written()
    dy.save(str(tmp_path / "model"), objects)
    files = sum(p.stat().st_size for p in tmp_path.iterdir())
    assert files <= written() - before < 2 * files


def test_what_gives_no_collection(tmp_path):
    tagger = Tagger(dy.ParameterCollection(), [2, 2])
    tagger.model = NameOnly()
    with pytest.raises(TypeError, match="no ParameterCollection"):
        dy.save(str(tmp_path / "model"), [tagger])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["model", "model.safetensors"])
def test_a_load_that_fails_leaves_the_collection(tmp_path, name):
    path = str(tmp_path / name)
    m = dy.ParameterCollection()
    objects = [*make_objects(), Fails(m, [2, 3])]
    objects[-1].times = 5
    dy.save(path, objects)
    root = dy.ParameterCollection()
    pc = root.add_subcollection("part")
    pc.add_parameters(2, name="W")
    root.add_parameters(2)
    with pytest.raises(KeyboardInterrupt):
        dy.load(path, pc)
    assert [p.name() for p in root.parameters_list()] == ["/part/W", "/_0"]
    assert not root.lookup_parameters_list() and root.parameter_count() == 4
    assert [p.name() for p in pc.parameters_list()] == ["/part/W"]
    # Names are free again, and a load works.
    assert pc.add_subcollection("tagger").name() == "/part/tagger/"
    assert pc.add_parameters(1, name="W").name() == "/part/W_1"
    root.add_lookup_parameters((3, 2))
    dy.save(path, objects[:-1])
    loaded = dy.load(path, pc)
    for x, y in zip(objects, loaded):
        for a, b in zip(values(x), values(y)):
            np.testing.assert_array_equal(a, b)


def meta_with(tmp_path, records) -> str:
    path = str(tmp_path / "model")
    dy.save(path, make_objects()[:1])
    (tmp_path / "model.meta").write_text(
        json.dumps(records) if not isinstance(records, str) else records
    )
    return path


@pytest.mark.parametrize(
    "kind", ["os:system", "os:path.join", "nothing:here", "builtins:int", "json:", ""]
)
def test_only_imported_classes_with_from_spec_are_made(tmp_path, kind):
    path = meta_with(tmp_path, [{"kind": kind, "spec": {"tuple": ["ls"]}, "key": "/W"}])
    with pytest.raises(dy.IoError, match="want one that is imported and has from_spec"):
        dy.load(path, dy.ParameterCollection())


def test_a_description_imports_nothing(tmp_path, monkeypatch):
    asked = []
    lazy = types.ModuleType("lazy")
    lazy.__getattr__ = lambda name: asked.append(name) or dy.GRUBuilder  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy", lazy)
    for kind in ("lazy:thing", "lazy:thing.inner", "dynet:GRUBuilder.__init__.inner"):
        path = meta_with(tmp_path, [{"kind": kind, "spec": {"tuple": []}, "key": "/W"}])
        with pytest.raises(dy.IoError, match="want one that is imported and has from_spec"):
            dy.load(path, dy.ParameterCollection())
    assert not asked


class Beside(dy.VanillaLSTMBuilder):
    """Has attributes of names that the package might use."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._beside = self._made = "mine"


@pytest.mark.parametrize("end", ["", ".safetensors"])
def test_attributes_of_a_derived_builder_are_its_own(end, tmp_path):
    m, other = dy.ParameterCollection(), dy.ParameterCollection()
    builder = Beside(1, 2, 3, m, True)
    for p in m.parameters_list():
        p.set_value(np.full(p.shape(), 0.25))
    dy.save(str(tmp_path / f"objects{end}"), [builder])
    (again,) = dy.load(str(tmp_path / f"objects{end}"), other)
    assert type(again) is Beside and again._beside == "mine"
    assert len(other.parameters_list()) == 9
    for p in other.parameters_list():
        assert np.all(p.as_array() == 0.25)


@pytest.mark.parametrize("text", ["[", "[3]", '[{"kind": "Parameters"}]', '[{"kind": "Parameters", "key": 3}]',
                                  "[" * 100000, '[{"kind": 3, "key": "/W"}]',
                                  '[{"kind": "_dynet:VanillaLSTMBuilder", "spec": {"a": 1, "b": 2}, "key": "/W"}]',
                                  '[{"kind": "_dynet:VanillaLSTMBuilder", "spec": {"Pair": [1, 2]}, "key": "/W"}]',
                                  '[{"kind": "_dynet:VanillaLSTMBuilder", "spec": {"set": [1]}, "key": "/W"}]',
                                  '[{"kind": "_dynet:VanillaLSTMBuilder", "spec": {"tuple": "ab"}, "key": "/W"}]',
                                  '[{"kind": "_dynet:VanillaLSTMBuilder", "spec": [1, 2], "key": "/W"}]'])  # fmt: skip
def test_damaged_descriptions(tmp_path, text):
    path = meta_with(tmp_path, text)
    pc = dy.ParameterCollection()
    with pytest.raises(dy.IoError, match="damaged"):
        dy.load(path, pc)
    assert not pc.parameters_list()


def test_files_that_are_not_ours(tmp_path):
    path = meta_with(tmp_path, "\x80\x03X")
    with pytest.raises(dy.IoError, match="neither JSON nor what DyNet"):
        dy.load(path, dy.ParameterCollection())
    for kind in (dy.IoError, FileNotFoundError):  # the second as in DyNet 2.2
        with pytest.raises(kind, match=r"cannot open '.*none\.meta': No such file"):
            dy.load(str(tmp_path / "none"), dy.ParameterCollection())
    m = dy.ParameterCollection()
    m.add_parameters(3)
    m.save(str(tmp_path / "m.safetensors"))
    with pytest.raises(dy.IoError, match="does not say what objects"):
        dy.load(str(tmp_path / "m.safetensors"), m)


@pytest.mark.parametrize("end", ["", ".safetensors"])
def test_a_path_is_a_name(end, tmp_path):
    m = dy.ParameterCollection()
    w = m.add_parameters((2, 3))
    path = tmp_path / f"objects{end}"
    dy.save(path, [w])
    for load in (dy.load, dy.load_generator):
        (again,) = load(path, dy.ParameterCollection())
        np.testing.assert_array_equal(again.as_array(), w.as_array())
