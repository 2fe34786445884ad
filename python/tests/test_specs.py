"""The contents of a `spec`: a value comes back equal and of the same type, or is refused with its
place."""

from __future__ import annotations

import collections
import contextlib
import enum
import functools
import json
import pickle
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dynet as dy
import numpy as np
import pytest
from dynet import _specs
from dynet._old_meta import records_of

Pair = collections.namedtuple("Pair", "a b")
HERE = Path(__file__).name


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Holder:
    def __init__(self, spec: Any, model: dy.ParameterCollection) -> None:
        self.model, self.spec = model.add_subcollection("holder"), spec
        self.model.add_parameters(2)

    @classmethod
    def from_spec(cls, spec: Any, model: dy.ParameterCollection) -> Holder:
        return cls(spec, model)

    def param_collection(self) -> dy.ParameterCollection:
        return self.model


class Plain:
    """A class that load makes no model of."""


class Deleting:
    """Has more to it than its `__dict__`."""

    def __del__(self):
        pass


def activation(x: dy.Expression) -> dy.Expression:
    return dy.tanh(x)


def saved_and_loaded(path: Path, spec: Any) -> Any:
    dy.save(path, [Holder(spec, dy.ParameterCollection())])
    return dy.load(path, dy.ParameterCollection())[0].spec


def same(x: Any, y: Any) -> bool:
    """Equal, of the same types, all the way down."""
    if type(x) is not type(y):
        return False
    if isinstance(x, np.ndarray):
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    if isinstance(x, np.generic):
        return x.dtype == y.dtype and x.tobytes() == y.tobytes()
    if isinstance(x, dict):
        kinds = [getattr(d, "default_factory", None) for d in (x, y)]
        return kinds[0] is kinds[1] and same(list(x.items()), list(y.items()))
    if isinstance(x, (tuple, list)):
        return len(x) == len(y) and all(map(same, x, y))
    return bool(x == y) or x != x


TAKEN = [
    6,
    2**100,
    2.5,
    float("inf"),
    float("nan"),
    None,
    True,
    "é\ud800",
    (1, (2, [3])),
    {"a": 1},
    {1: "a", 2.5: None, (1, 2): 3, b"x": True},
    {1, 2, "a"},
    frozenset([(1, "a"), None]),
    b"\x00\xff",
    bytearray(b"xy"),
    1 - 2j,
    complex(float("-inf"), float("inf")),
    {float("-inf"): [float("inf")]},
    range(1, 9, 3),
    np.int64(3),
    np.float32(0.1),
    np.float64(0.1),
    np.bool_(True),
    np.arange(6).reshape(2, 3),
    np.asfortranarray(np.arange(6.0, dtype=">f4").reshape(2, 3)),
    np.array(["a", "bcd"]),
    np.zeros((0, 3)),
    np.array(2.5),
    collections.OrderedDict([("b", 1), ("a", {2: 3})]),
    collections.Counter("banana"),
    collections.defaultdict(int, {"b": 1, (1, 2): 3}),
    collections.defaultdict(None, {"b": collections.defaultdict(list, {"a": [1]})}),
    Pair(1, [Pair(2, 3)]),
    Color.RED,
    Level.HIGH,
    dy.GRUBuilder,
    Holder,
    dy.tanh,
    [dy.softmax, np.int32(1), {1: {2: {3}}}],
]


@pytest.mark.parametrize("name", ["model", "model.safetensors"])
@pytest.mark.parametrize("spec", TAKEN, ids=lambda x: repr(x)[:40].encode("ascii", "replace"))
def test_what_comes_back(tmp_path, spec, name):
    back = saved_and_loaded(tmp_path / name, spec)
    assert same(back, spec), back


def test_numbers_that_json_lacks(tmp_path):
    spec = [float("inf"), float("-inf"), float("nan"), complex(0, float("inf")), {float("inf")}]
    dy.save(tmp_path / "model", {"best": spec})

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    # C++ refuses the whole file otherwise
    json.loads((tmp_path / "model.meta").read_text(), parse_constant=refuse)
    assert repr(dy.load(tmp_path / "model", dy.ParameterCollection())["best"]) == repr(spec)


REFUSED = [
    ((1, {"act": activation}), "spec[1]['act'] of object 0, a Holder, is the function activation"),
    (lambda x: x, "spec of object 0, a Holder, is the function"),
    (print, "the function print"),
    (dy.renew_cg, "the function renew_cg, which is none of expressions"),
    (dy.Parameters.shape, "which is none of expressions"),
    (Plain, "the class Plain, which is without from_spec"),
    (int, "the class int, which is without from_spec"),
    (
        [Deleting()],
        "spec[0] of object 0, a Holder, is of type test_specs.Deleting, whose class has __del__",
    ),
    (collections.defaultdict(lambda: 3), "a defaultdict with values of <lambda>; make it a dict"),
    (collections.defaultdict(Deleting), "a defaultdict with values of Deleting; make it a dict"),
    (collections.ChainMap({}), "of type collections.ChainMap"),
    (np.zeros(3, dtype=object), "of type ndarray and dtype object"),
    (np.zeros(200_000), "an array of 1,600,000 bytes, which is more than 1,048,576"),
    (np.ma.zeros(2), "of type MaskedArray"),
    ({2**70: 1}, "a whole number of 71 bits is a key"),
    ({(i,) for i in range(4097)}, "more than 4096 keys are neither numbers nor text"),
    (functools.partial(print), "of type functools.partial"),
]


@pytest.mark.parametrize(("spec", "words"), REFUSED, ids=lambda x: repr(x)[:30])
def test_what_is_refused(tmp_path, spec, words):
    with pytest.raises(dy.TypeError) as e:
        saved_and_loaded(tmp_path / "model", spec)
    text = str(e.value)
    assert text.startswith("save: spec") and words in text and "; want numbers, text" in text
    assert re.search(rf"\n  called at \S*{HERE}:\d+ in saved_and_loaded\(\)", text)
    assert list(tmp_path.iterdir()) == []


def test_a_spec_that_has_itself(tmp_path):
    spec: list[Any] = []
    spec.append(spec)
    with pytest.raises(dy.TypeError, match="the spec of object 0, a Holder, has itself"):
        saved_and_loaded(tmp_path / "model", spec)


@pytest.mark.parametrize("spec", [
    {"items": [[{"list": [1]}, 2]]}, {"items": [[{"tuple": [i]}, 2] for i in range(5000)]},
    {"set": [2**70]}, {"set": {"a": 1}}, {"items": [[1, 2, 3]]}, {"bytes": "é"}, {"bytes": 3},
    {"class": "test_specs:Plain"}, {"class": "os:system"}, {"class": "dynet:renew_cg"}, {"class": "dynet:load"},
    {"member": ["os:system", "x"]}, {"member": ["test_specs:Color", "BLUE"]}, {"member": []},
    {"named": ["test_specs:Pair", 1]}, {"named": ["os:terminal_size", 1, 2, 3]}, {"named": []},
    {"number": ["O8", ""]}, {"number": ["<f4", "AAA="]}, {"array": ["<f4", [1 << 40], "AAAA"]},
    {"array": ["<f4", [2, 2], "AAAAAA=="]}, {"array": ["O", [1], ""]}, {"array": [3, 3, 3]},
    {"complex": ["1", 2]}, {"float": "1.5"}, {"float": 2}, {"float": ["inf"]},
    {"range": [1, 2, 3, 4]}, {"tuple": [{"list": 3}]},
])  # fmt: skip
def test_damaged_specs(tmp_path, spec):
    path = tmp_path / "model"
    dy.save(path, [Holder(1, dy.ParameterCollection())])
    meta = path.with_suffix(".meta")
    (record,) = json.loads(meta.read_text())
    meta.write_text(json.dumps([{**record, "spec": spec}]))
    into = dy.ParameterCollection()
    with pytest.raises(dy.IoError, match=r"model\.meta"):
        dy.load(path, into)
    assert into.parameter_count() == 0


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("spec", [
    {1: "a", (1, 2): [3]}, {1, 2}, frozenset([(1, 2)]), b"", b"\x00\xffabc", 1 + 2j, range(2, 9),
    collections.OrderedDict([(1, "x"), ("a", {"b": 2})]), Pair(1, {2: 3}), np.arange(3),
    np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.zeros((0, 2)),
    np.array(2.5, dtype=">f4"), np.array([True, False]), dy.tanh,
], ids=lambda x: repr(x)[:30])  # fmt: skip
def test_specs_of_21(tmp_path, spec, protocol):
    holder = Holder(spec, dy.ParameterCollection())
    dy.save(tmp_path / "old", [holder])
    entry = (Holder, spec, "/holder/")
    (tmp_path / "old.meta").write_bytes(pickle.dumps(entry, protocol))
    back = dy.load(tmp_path / "old", dy.ParameterCollection())[0].spec
    assert same(back, spec), back


@pytest.mark.parametrize("protocol", range(5))
def test_numbers_of_numpy_in_any_protocol(tmp_path, protocol):
    dy.save(tmp_path / "old", [Holder(1, dy.ParameterCollection())])
    spec = (np.int64(3), np.float32(2.5), np.bool_(True))
    (tmp_path / "old.meta").write_bytes(pickle.dumps((Holder, spec, "/holder/"), protocol))
    assert dy.load(tmp_path / "old", dy.ParameterCollection())[0].spec == spec


def files_that_take_long() -> Iterator[tuple[str, bytes]]:
    text = b"V" + b"x" * 1_000_000 + b"\n"
    copies = b"0c_codecs\nencode\n(g0\nVlatin1\ntR" * 80_000
    yield "a text copied many times", text + b"p0\nN" + copies + b"."
    ones = b"(" + b"I1\n" * 300_000 + b"lp0\nN"
    yield "a set of many", ones + b"0c__builtin__\nset\n(g0\ntR" * 30_000 + b"."
    made = (
        b"cnumpy.core.multiarray\n_reconstruct\n(tR(I1\n(I1000000000\nI%d\ntcnumpy\ndtype\n(S'f4'\n"
    )
    filled = b"tRI01\nc_codecs\nencode\n(V%s\nVlatin1\ntRtb"
    for name, rows, content in (("no numbers", 0, b""), ("too many", 9, b"abcd")):
        array = made % rows + filled % content
        yield f"an array of {name}", b"(c_dynet\nGRUBuilder\n" + array + b"S'/x'\nt."


@pytest.mark.parametrize(
    "content", [pytest.param(c, id=name) for name, c in files_that_take_long()]
)
def test_old_files_take_no_long_time(content: bytes) -> None:
    start = time.process_time()
    with contextlib.suppress(dy.IoError):
        records_of(content, "old.meta")
    assert time.process_time() - start < 5


def test_what_is_no_enumeration_is_told():
    with pytest.raises(TypeError, match="'os:system' is no enumeration of a module"):
        _specs.decoded({"member": ["os:system", "x"]}, _specs.Source("m"))
