"""dy.save and dy.load: several objects in one place."""

from __future__ import annotations

import json

import dynet as dy
import numpy as np
import pytest


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


def test_names_in_the_file(tmp_path):
    path = str(tmp_path / "m.safetensors")
    dy.save(path, make_objects())
    names = dy.SafetensorsLoader(path).names()
    assert {"/W", "/E", "/5/W", "/6/W", "/birnn/vanilla-lstm-builder/_0"} <= set(names)


def test_what_cannot_be_saved(tmp_path):
    path = str(tmp_path / "m.safetensors")
    m = dy.ParameterCollection()
    with pytest.raises(
        TypeError, match="object 0 is a int without spec, from_spec, param_collection"
    ):
        dy.save(path, [3])
    tagger = Tagger(m, [2, 2])
    tagger.spec = (np.zeros(3),)
    with pytest.raises(TypeError, match="a spec has a ndarray"):
        dy.save(path, [tagger])

    class Inside(Tagger):
        pass

    with pytest.raises(TypeError, match="inside a function"):
        dy.save(path, [Inside(m, [2, 2])])
    assert not list(tmp_path.iterdir())


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


@pytest.mark.parametrize("text", ["[", "[3]", '[{"kind": "Parameters"}]', '[{"kind": "Parameters", "key": 3}]',
                                  "[" * 100000, '[{"kind": 3, "key": "/W"}]',
                                  '[{"kind": "_dynet:VanillaLSTMBuilder", "spec": {"a": 1, "b": 2}, "key": "/W"}]'])  # fmt: skip
def test_damaged_descriptions(tmp_path, text):
    path = meta_with(tmp_path, text)
    pc = dy.ParameterCollection()
    with pytest.raises(dy.IoError, match="damaged"):
        dy.load(path, pc)
    assert not pc.parameters_list()


def test_files_that_are_not_ours(tmp_path):
    path = meta_with(tmp_path, "\x80\x03X")
    with pytest.raises(dy.IoError, match="pickles"):
        dy.load(path, dy.ParameterCollection())
    with pytest.raises(dy.IoError, match="cannot open"):
        dy.load(str(tmp_path / "none"), dy.ParameterCollection())
    m = dy.ParameterCollection()
    m.add_parameters(3)
    m.save(str(tmp_path / "m.safetensors"))
    with pytest.raises(dy.IoError, match="does not say what objects"):
        dy.load(str(tmp_path / "m.safetensors"), m)
