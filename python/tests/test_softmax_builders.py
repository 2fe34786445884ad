"""Softmax builders."""

from __future__ import annotations

import copy
import os
import pathlib

import dynet as dy
import numpy as np
import pytest

REP = 3
WORDS = {f"w{i}": i for i in range(5)}
CLASSES = "a w3\nb w0\na w1\nc w2\nb w4\n"
PATHS = "0 0\tw3\n0 1\tw0\n1\tw1\n0 1\tw2\n0 2\tw4\n"


def make(kind: str, m: dy.ParameterCollection, folder: pathlib.Path) -> dy.SoftmaxBuilder:
    file = folder / "clusters"
    if kind == "standard":
        return dy.StandardSoftmaxBuilder(REP, len(WORDS), m)
    if kind == "class":
        file.write_text(CLASSES)
        return dy.ClassFactoredSoftmaxBuilder(REP, str(file), dict(WORDS), m)
    file.write_text(PATHS)
    return dy.HierarchicalSoftmaxBuilder(REP, str(file), dict(WORDS), m)


def log_softmax(z: np.ndarray) -> np.ndarray:
    return z - np.log(np.sum(np.exp(z)))


def vector(k: int) -> np.ndarray:
    return np.random.default_rng(k).normal(size=REP)


def by_hand(kind: str, m: dy.ParameterCollection, x: np.ndarray) -> np.ndarray:
    p = [q.as_array() for q in m.parameters_list()]
    if kind == "standard":
        return log_softmax(p[0] @ x + p[1])
    if kind == "class":
        classes = log_softmax(p[0] @ x + p[1])
        a, b = log_softmax(p[2] @ x + p[3]), log_softmax(p[4] @ x + p[5])
        return np.array(
            [classes[1] + b[0], classes[0] + a[1], classes[2], classes[0] + a[0], classes[1] + b[1]]
        )
    top = 1 / (1 + np.exp(-(p[0] @ x + p[1])[0]))
    three = np.log(top) + log_softmax(p[2] @ x + p[3])
    two = 1 / (1 + np.exp(-(p[4] @ x + p[5])[0]))
    return np.array(
        [three[1] + np.log(two), np.log(1 - top), three[1] + np.log(1 - two), three[0], three[2]]
    )


KINDS = ["standard", "class", "hierarchical"]


@pytest.mark.parametrize("kind", KINDS)
def test_losses_and_distribution(kind, tmp_path):
    m = dy.ParameterCollection()
    builder = make(kind, m, tmp_path)
    assert isinstance(builder, dy.SoftmaxBuilder)
    assert builder.param_collection().parameters_list()[0].name() == m.parameters_list()[0].name()
    for _ in range(2):
        dy.renew_cg()
        xs = [vector(k) for k in range(4)]
        logs = [by_hand(kind, m, x) for x in xs]
        batch = dy.inputTensor(np.stack(xs, axis=1), batched=True)
        for x, want in zip(xs, logs):
            rep = dy.inputVector(x)
            full = builder.full_log_distribution(rep).npvalue()
            np.testing.assert_allclose(full, want, rtol=1e-4, atol=1e-5)
            scores = builder.full_logits(rep).npvalue()
            np.testing.assert_allclose(log_softmax(scores), want, rtol=1e-4, atol=1e-5)
            for word in range(len(WORDS)):
                loss = builder.neg_log_softmax(rep, word)
                assert loss.value() == pytest.approx(-want[word], rel=1e-4, abs=1e-5)
            assert 0 <= builder.sample(rep) < len(WORDS)
        words = [3, 0, 0, 2]
        losses = builder.neg_log_softmax_batch(batch, np.array(words)).npvalue().ravel()
        np.testing.assert_allclose(
            losses, [-want[w] for want, w in zip(logs, words)], rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("kind", KINDS)
def test_without_update_parameters_get_no_gradient(kind, tmp_path):
    m = dy.ParameterCollection()
    builder = make(kind, m, tmp_path)
    w = m.parameters_list()[0]
    rep = dy.inputVector(vector(1))
    for update in (False, True):
        loss = builder.neg_log_softmax(rep, 3, update=update)
        (loss + dy.squared_norm(builder.full_logits(rep, update))).backward()
        assert bool(np.any(w.grad_as_array())) == update


def test_the_two_steps(tmp_path):
    m = dy.ParameterCollection()
    builder = make("class", m, tmp_path)
    x = vector(5)
    rep = dy.inputVector(x)
    p = [q.as_array() for q in m.parameters_list()]
    for got, want in [
        (builder.class_logits(rep), p[0] @ x + p[1]),
        (builder.class_log_distribution(rep), log_softmax(p[0] @ x + p[1])),
        (builder.subclass_logits(rep, 1), p[4] @ x + p[5]),
        (builder.subclass_log_distribution(rep, 0), log_softmax(p[2] @ x + p[3])),
        (builder.subclass_logits(rep, 2), [0.0]),
    ]:
        np.testing.assert_allclose(np.atleast_1d(got.npvalue()), want, rtol=1e-4, atol=1e-5)
    with pytest.raises(IndexError, match="class 3 of 3"):
        builder.subclass_logits(rep, 3)


def test_dictionaries(tmp_path):
    m = dy.ParameterCollection()
    file = tmp_path / "clusters"
    file.write_text("a one\nb two\na three\n")
    ids = {"two": 0}
    dy.ClassFactoredSoftmaxBuilder(REP, str(file), ids, m)
    assert ids == {"two": 0, "one": 1, "three": 2}
    for wrong in ({"one": 1}, {"one": 0, "two": 0}, {"one": 0, "two": 2}):
        with pytest.raises(ValueError, match="want the ids 0 to"):
            dy.ClassFactoredSoftmaxBuilder(REP, str(file), dict(wrong), m)
    file.write_text("a one\nb\n")
    ids = {}
    with pytest.raises(ValueError, match=r"clusters:2: one field"):
        dy.ClassFactoredSoftmaxBuilder(REP, str(file), ids, m)
    assert ids == {}


LINES = {
    "a list": lambda file: file.read_text().splitlines(),
    "with their ends": lambda file: file.read_text().splitlines(keepends=True),
    "an open file": lambda file: file.open(),
    "a generator": lambda file: (line for line in file.read_text().splitlines()),
    "the name": str,
    "a path": lambda file: file,
}


@pytest.mark.parametrize("given", LINES)
@pytest.mark.parametrize("kind", KINDS[1:])
def test_what_describes_clusters(kind, given, tmp_path):
    m = dy.ParameterCollection()
    file = tmp_path / "clusters"
    file.write_text(CLASSES if kind == "class" else PATHS)
    builder_class = {
        "class": dy.ClassFactoredSoftmaxBuilder,
        "hierarchical": dy.HierarchicalSoftmaxBuilder,
    }[kind]
    builder = builder_class(REP, LINES[given](file), dict(WORDS), m)
    assert builder.spec[1] == file.read_text().splitlines()
    assert copy.deepcopy(builder).spec == builder.spec
    x = vector(1)
    full = builder.full_log_distribution(dy.inputVector(x)).npvalue()
    np.testing.assert_allclose(full, by_hand(kind, m, x), rtol=1e-4, atol=1e-5)


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="pipes have no names")
def test_a_file_of_clusters_is_read_once(tmp_path):
    pipe, end = os.pipe()
    os.write(end, CLASSES.encode())
    os.close(end)
    # The flag is mended, which makes the call twice.
    arguments = (REP, f"/dev/fd/{pipe}", dict(WORDS), dy.ParameterCollection(), 1)
    builder = dy.ClassFactoredSoftmaxBuilder(*arguments)
    os.close(pipe)
    assert builder.spec[1] == CLASSES.splitlines()


def test_wrong_files_of_clusters(tmp_path):
    m = dy.ParameterCollection()
    for name, text in [
        (str(tmp_path), "the file of clusters cannot be read"),
        (str(tmp_path / "none"), "the file of clusters cannot be opened"),
        ("", "the file of clusters cannot be opened"),
        (["a w1", "", "b w2"], "the clusters:2: an empty line"),
        ([], "the file of clusters is empty"),
    ]:
        with pytest.raises(ValueError, match=f"ClassFactoredSoftmaxBuilder: .*{text}"):
            dy.ClassFactoredSoftmaxBuilder(REP, name, {}, m)
    with pytest.raises(TypeError, match="cluster_file is 3, of type int"):
        dy.ClassFactoredSoftmaxBuilder(REP, 3, {}, m)
    assert not m.parameters_list()


def test_errors_name_the_user_s_line():
    builder = dy.StandardSoftmaxBuilder(REP, 4, dy.ParameterCollection(), bias=False)
    with pytest.raises(dy.ShapeError, match=r"test_softmax_builders.py:\d+"):
        builder.neg_log_softmax(dy.inputVector([1.0]), 0)
    with pytest.raises(ValueError, match="want one for each example"):
        builder.neg_log_softmax_batch(dy.inputVector([1.0, 2.0, 3.0]), [0, 1])
    for word in (4, -1):
        with pytest.raises(IndexError):
            builder.neg_log_softmax(dy.inputVector([1.0, 2.0, 3.0]), word)


@pytest.mark.filterwarnings("ignore:nanobind")
def test_a_builder_that_skips_init_is_a_type_error():
    class Mine(dy.StandardSoftmaxBuilder):
        def __init__(self):
            pass

    builder = Mine()
    for call in (
        builder.param_collection,
        lambda: builder.neg_log_softmax(dy.inputVector([1.0]), 0),
    ):
        with pytest.raises(TypeError):
            call()
