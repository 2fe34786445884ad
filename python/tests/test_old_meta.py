"""Reading `.meta` files of DyNet 2.1, and hostile ones."""

from __future__ import annotations

import copyreg
import pickle
import pickletools
import subprocess
import sys
import time
import types

import dynet as dy
import numpy as np
import pytest


def write(tmp_path, entries, protocol=None, collections=()):
    """The files of 2.1: pickles of tuples one after the other, and the text file."""
    base = str(tmp_path / "old")
    with open(base + ".meta", "wb") as file:
        for entry in entries:
            file.write(entry if isinstance(entry, bytes) else pickle.dumps(entry, protocol))
    for i, collection in enumerate(collections):
        collection.save(base + ".data", append=i > 0)
    return base


@pytest.mark.parametrize("protocol", range(6))
def test_objects_of_21(tmp_path, protocol):
    model = dy.ParameterCollection()
    W, E = model.add_parameters((2, 3), name="W"), model.add_lookup_parameters((4, 3), name="E")
    builder = dy.VanillaLSTMBuilder(2, 3, 4, model)
    entries = [
        ("Parameters", "/W"),
        ("LookupParameters", "/E"),
        (dy.VanillaLSTMBuilder, (2, 3, 4, False, 1.0), builder.param_collection().name()),
    ]
    base = write(tmp_path, entries, protocol, [W, E, builder.param_collection()])
    into = dy.ParameterCollection()
    W2, E2, builder2 = dy.load(base, into)
    assert np.array_equal(W2.as_array(), W.as_array()) and np.array_equal(
        E2.as_array(), E.as_array()
    )
    for layer, layer2 in zip(builder.get_parameters(), builder2.get_parameters()):
        for p, p2 in zip(layer, layer2):
            assert np.array_equal(p.as_array(), p2.as_array())


def test_the_module_of_21_and_a_birnn(tmp_path):
    model = dy.ParameterCollection()
    birnn = dy.BiRNNBuilder(1, 3, 4, model, dy.LSTMBuilder)
    module = types.ModuleType("_gdynet")
    stands_for = type("BiRNNBuilder", (), {"__module__": "_gdynet", "__qualname__": "BiRNNBuilder"})
    factory = type(dy.LSTMBuilder.__name__, (), {"__module__": "_gdynet"})
    module.BiRNNBuilder = stands_for
    setattr(module, factory.__name__, factory)
    sys.modules["_gdynet"] = module
    try:
        entry = (stands_for, (1, 3, 4, factory, None), birnn.param_collection().name())
        base = write(tmp_path, [entry], None, [birnn.param_collection()])
    finally:
        del sys.modules["_gdynet"]
    (other,) = dy.load(base, dy.ParameterCollection())
    xs = [dy.inputVector([i, 1, 2]) for i in range(3)]
    assert dy.values(other.transduce(xs)) == dy.values(birnn.transduce(xs))


@pytest.mark.parametrize("number", [np.int64(3), np.int32(3), np.uint8(3), np.float64(3.0)])
def test_numbers_of_numpy_in_a_spec(tmp_path, number):
    model = dy.ParameterCollection()
    builder = dy.GRUBuilder(1, 3, 4, model)
    entry = (dy.GRUBuilder, (1, int(number), 4), "/gru-builder/")
    with_numpy = (dy.GRUBuilder, (1, number, 4), "/gru-builder/")
    base = write(tmp_path, [with_numpy], None, [builder.param_collection()])
    from dynet._old_meta import records_of

    (record,) = records_of(pickle.dumps(with_numpy), "x")
    assert record["spec"]["tuple"][1] == number
    if isinstance(number, np.integer):
        assert dy.load(base, dy.ParameterCollection())[0].spec == entry[1]


class Runs:
    def __reduce__(self):
        return (subprocess.check_call, (["touch", "hacked"],))


def hostile():
    yield "a call", pickle.dumps(Runs())
    yield "a call in a spec", pickle.dumps((dy.GRUBuilder, (1, Runs(), 4), "/gru-builder/"))
    yield "a class that is called", pickle.dumps((np.random.default_rng, (1,), "/x"))
    yield "os.system", b"cos\nsystem\n(S'touch hacked'\ntR."
    yield "eval", b'c__builtin__\neval\n(S\'open("hacked","w")\'\ntR.'
    yield "a builder made by the file", b"c_dynet\nGRUBuilder\n(I1\nI2\nI3\ntR."
    yield "new object", b"c_dynet\nGRUBuilder\n)\x81."
    yield "attributes of a function", b"cnumpy\ndtype\n}S'__call__'\nI1\nsb."
    yield "persistent", b"Pfoo\n."
    yield "a bad end", pickle.dumps(("Parameters", "/W"))[:-3]
    yield "no pickle", b"\x80\x04garbage"
    yield "another kind", pickle.dumps(("Builders", "/W"))
    yield "no tuple", pickle.dumps([1, 2])
    yield "a large memo", b"\x80\x02Nr\xff\xff\xff\x7f."
    twice = b"(I1\nI2\nt" + b"2\x86" * 60
    yield "a tuple of 2 to the 60", b"(c_dynet\nGRUBuilder\n" + twice + b"S'/x'\nt."
    yield "such a key", b"(c_dynet\nGRUBuilder\n}" + twice + b"I1\nsS'/x'\nt."
    yield "such keys", b"(c_dynet\nGRUBuilder\n}(" + twice + b"I1\nuS'/x'\nt."
    yield "such a key of a dict", b"(c_dynet\nGRUBuilder\n(" + twice + b"I1\ndS'/x'\nt."
    yield "such a member of a set", b"\x80\x04\x8f(" + twice + b"\x90."
    yield "a frozen set", b"\x80\x04(" + twice + b"\x91."
    yield "such a type of numbers", b"cnumpy\ndtype\n(" + twice + b"tR."
    yield "such a thing outside", twice + b"Q."
    yield "such a kind", b"(" + twice + b"S'/x'\nt."
    large = b"S'" + b"x" * 100_000 + b"'\n"
    many = b"(" + large + b"2" * 99_000 + b"t"
    yield "a text many times", b"(c_dynet\nGRUBuilder\n" + many + b"S'/x'\nt."
    one = b"(c_dynet\nGRUBuilder\n(I1\n" + b"2" * 3_000 + b"tS'/x'\nt."
    yield "many large specs", one * 600
    yield (
        "a large number",
        b"(c_dynet\nGRUBuilder\n(\x8b\x00\x00\x01\x00" + b"\x7f" * 65536 + b"tS'/x'\nt.",
    )
    yield "a large buffer", b"\x80\x05\x96\x00\x00\x00\x00\x00\x01\x00\x00."
    yield "another name for a class", b"(c_dynet\nGRUBuilder\n(N}S'text'\nI1\nstb(I1\ntS'/x'\nt."
    yield "a spec of texts", b"(c_dynet\nGRUBuilder\n(S'1'\nS'2'\nS'3'\ntS'/x'\nt."
    yield "a short spec", b"(c_dynet\nGRUBuilder\n(I1\ntS'/x'\nt."
    yield "a spec that is a number", b"(c_dynet\nGRUBuilder\nI1\nS'/x'\nt."
    yield "a negative size", b"(c_dynet\nGRUBuilder\n(I1\nI-2\nI3\ntS'/x'\nt."
    yield "no size", b"(c_dynet\nGRUBuilder\n(I1\nI99999999999999999999\nI3\ntS'/x'\nt."
    yield "a spec that is in itself", b"(c_dynet\nGRUBuilder\n(lp0\ng0\naS'/x'\nt."
    yield "nothing", b""
    yield "too much", pickle.dumps(("Parameters", "/W")) + b"N." * (2 << 20)


@pytest.mark.parametrize("content", [pytest.param(c, id=name) for name, c in hostile()])
def test_hostile_files_run_nothing(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    base = write(tmp_path, [content])
    into = dy.ParameterCollection()
    start = time.process_time()
    with pytest.raises(dy.IoError, match=r"old\.meta'") as e:
        dy.load(base, into)
    assert time.process_time() - start < 10  # without counting it would be minutes, or years
    assert len(str(e.value)) < 500
    assert into.parameter_count() == 0
    assert not (tmp_path / "hacked").exists()


def test_a_class_that_the_program_did_not_import_is_refused(tmp_path):
    base = write(tmp_path, [b"(cmy_program\nTagger\n(I1\ntS'/x'\nt."])
    with pytest.raises(dy.IoError, match="my_program:Tagger"):
        dy.load(base, dy.ParameterCollection())


def test_an_extension_that_the_program_has_used_is_not_found(tmp_path):
    copyreg.add_extension("subprocess", "check_call", 0x77)
    try:
        assert pickle.loads(b"\x80\x02\x82\x77.") is subprocess.check_call  # and is kept
        with pytest.raises(dy.IoError, match="extension 119"):
            dy.load(write(tmp_path, [b"\x80\x02\x82\x77."]), dy.ParameterCollection())
    finally:
        copyreg.remove_extension("subprocess", "check_call", 0x77)


def test_the_plants_are_pickles():
    """Pickle itself reads the running plants up to the end, and would run them there."""
    for name, content in hostile():
        if name in ("a call", "os.system", "eval"):
            assert [op.name for op, _, _ in pickletools.genops(content)][-1] == "STOP"
