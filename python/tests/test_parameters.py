"""Parameters, collections, initial values, files, trainers."""

from __future__ import annotations

import gc

import dynet as dy
import numpy as np
import pytest


def test_parameters_keep_their_collection_alive():
    w = dy.ParameterCollection().add_parameters((2, 3), init=2.0)
    table = dy.ParameterCollection().add_lookup_parameters((4, 3), init=1.0)
    sub = dy.ParameterCollection().add_subcollection("enc").add_parameters(2, init=3.0)
    gc.collect()
    dy.renew_cg()
    np.testing.assert_array_equal((w * table[1]).npvalue(), [6.0, 6.0])
    assert sub.name() == "/enc/_0"
    assert sub.value() == [3.0, 3.0]
    trainer = dy.SimpleSGDTrainer(m := dy.ParameterCollection())
    p = m.add_parameters(1, init=1.0)
    del m
    gc.collect()
    p.backward()
    trainer.update()
    np.testing.assert_allclose(p.as_array(), [0.9])


def test_nodes_keep_storages_alive():
    y = dy.tanh(dy.ParameterCollection().add_parameters(2, init=0.0))
    gc.collect()
    assert y.value() == [0.0, 0.0]


def test_shapes_and_arrays():
    m = dy.ParameterCollection()
    w = m.add_parameters((3, 2))
    assert w.shape() == (3, 2) and w.dim() == ((3, 2), 1)
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    w.set_value(array)
    np.testing.assert_array_equal(w.as_array(), array)
    np.testing.assert_array_equal(w.npvalue(), array)
    for wrong in [np.zeros(6), np.zeros((2, 3)), np.zeros((3, 2, 1))]:
        with pytest.raises(ValueError):
            w.set_value(wrong)
    np.testing.assert_array_equal(w.as_array(), array)
    w.clip_inplace(1, 3)
    np.testing.assert_array_equal(w.as_array(), array.clip(1, 3))
    w.scale(2.0)
    np.testing.assert_array_equal(w.as_array(), 2 * array.clip(1, 3))
    w.zero()
    assert not w.as_array().any()
    v = m.parameters_from_numpy(np.arange(4))
    assert v.shape() == (4,)
    assert m.add_parameters((2, 2), init=dy.NumpyInitializer(np.eye(2))).as_array().tolist() == [
        [1, 0],
        [0, 1],
    ]
    assert [p.name() for p in m.parameters_list()] == ["/_0", "/_1", "/_2"]
    assert m.parameter_count() == 6 + 4 + 4
    assert str(w) == "Parameter /_0"


def test_tables_have_rows_first():
    m = dy.ParameterCollection()
    array = np.random.default_rng(0).normal(size=(5, 2, 3)).astype(np.float32)
    table = m.lookup_parameters_from_numpy(array)
    assert table.shape() == (5, 2, 3) and len(table) == 5
    np.testing.assert_array_equal(table.as_array(), array)
    np.testing.assert_array_equal(table[3].npvalue(), array[3])
    np.testing.assert_array_equal(table.batch([4, 1]).npvalue(), np.moveaxis(array[[4, 1]], 0, -1))
    np.testing.assert_array_equal(table.npvalue(), np.moveaxis(array, 0, -1))
    np.testing.assert_array_equal(table.row_as_array(2), array[2])
    np.testing.assert_array_equal(table.rows_as_array([0, 3]), array[[0, 3]])
    table.init_from_array(array[:2] + 1)
    np.testing.assert_array_equal(table.as_array()[:2], array[:2] + 1)
    np.testing.assert_array_equal(table.as_array()[2:], array[2:])
    table.init_row(4, range(6))
    np.testing.assert_array_equal(table.row_as_array(4), np.arange(6).reshape(3, 2).T)
    for wrong in [np.zeros((6, 2, 3)), np.zeros((2, 3, 2)), np.zeros(5)]:
        with pytest.raises(ValueError):
            table.init_from_array(wrong)
    with pytest.raises(IndexError):
        table.row_as_array(5)
    np.testing.assert_array_equal(table[np.int64(3)].npvalue(), array[3])
    for wrong_row in ["a", None, 1.5, slice(2)]:
        with pytest.raises(TypeError):
            table[wrong_row]
    with pytest.raises(IndexError):
        table[-1]
    assert m.add_lookup_parameters(7).shape() == (7, 1)
    assert str(table) == "LookupParameter /_0"
    assert table.expr() is table


def test_gradients():
    m = dy.ParameterCollection()
    w, table = m.add_parameters(3, init=1.0), m.add_lookup_parameters((4, 3), init=2.0)
    dy.dot_product(w, table[2] + table[2]).backward()
    np.testing.assert_array_equal(w.grad_as_array(), [4, 4, 4])
    expected = np.zeros((4, 3))
    expected[2] = 2
    np.testing.assert_array_equal(table.grad_as_array(), expected)
    np.testing.assert_array_equal(table.row_grad_as_array(2), expected[2])
    np.testing.assert_array_equal(table.rows_grad_as_array([1, 2]), expected[[1, 2]])
    w.scale_gradient(0.5)
    np.testing.assert_array_equal(w.grad_as_array(), [2, 2, 2])
    w.zero()
    table.zero()
    assert not w.as_array().any() and not table.as_array().any()
    assert not w.grad_as_array().any()
    np.testing.assert_array_equal(table.grad_as_array(), expected)  # as in DyNet 2.1
    dy.renew_cg()
    w[0].backward()
    assert w.grad_as_array().any()
    m.reset_gradient()
    assert not w.grad_as_array().any() and not table.grad_as_array().any()


def test_constant_and_frozen_forms_get_no_gradient():
    m = dy.ParameterCollection()
    w = m.add_parameters(2, init=1.0)
    table = m.add_lookup_parameters((2, 2), init=1.0)
    x = dy.inputVector([1.0, 2.0])
    for node in [w.expr(), dy.const_parameter(w), dy.lookup(table, 0, update=False),
                 dy.lookup_batch(table, [0], update=False)]:  # fmt: skip
        dy.dot_product(node, x).backward()
    assert not w.grad_as_array().any() and not table.grad_as_array().any()
    dy.dot_product(w.expr(update=True), x).backward()
    np.testing.assert_array_equal(w.grad_as_array(), [1, 2])
    m.reset_gradient()
    w.set_updated(False)
    assert not w.is_updated()
    dy.renew_cg()
    dy.dot_product(w, dy.inputVector([1.0, 2.0])).backward()
    assert not w.grad_as_array().any()


def test_parameter_function():
    m = dy.Model()
    w, v = m.add_parameters(1), m.add_parameters(2)
    assert dy.parameter(w) is w
    assert dy.parameter(dy.cg(), w) is w
    assert dy.parameter(w, v) == (w, v)
    for wrong in [(), (1,), (dy.cg(),), (True,), (w, True, False), (True, w)]:
        with pytest.raises(TypeError):
            dy.parameter(*wrong)
    assert dy.model is dy.Model is dy.ParameterCollection


def test_parameter_function_of_20():
    """Its second argument was `update`."""
    m = dy.Model()
    w, v = m.add_parameters(2, init=2.0), m.add_parameters(2, init=3.0)
    assert dy.parameter(w, True) is w and dy.parameter(w, update=True) is w
    for still in (dy.parameter(w, False), dy.parameter(w, update=False), dy.const_parameter(w)):
        assert isinstance(still, dy.Expression) and still is not w
        dy.renew_cg()
    nodes = dy.parameter(w, v, update=False)
    assert isinstance(nodes, tuple) and [x.value() for x in nodes] == [[2.0] * 2, [3.0] * 2]
    dy.dot_product(nodes[0], v).backward()
    assert not w.grad_as_array().any() and v.grad_as_array().tolist() == [2.0, 2.0]


def test_initial_values():
    m = dy.ParameterCollection()

    def values(init, dim=(40, 40), **kwargs) -> np.ndarray:
        return m.add_parameters(dim, init=init, **kwargs).as_array()

    limit = np.sqrt(6 / 80)
    for init in [None, "glorot", dy.GlorotInitializer()]:
        v = values(init)
        assert np.abs(v).max() <= limit and v.std() == pytest.approx(limit / np.sqrt(3), rel=0.1)
    assert (values(3) == 3).all() and (values(2.5) == 2.5).all()
    assert (values(dy.ConstInitializer(4.0)) == 4).all()
    for identity in ["identity", dy.IdentityInitializer()]:
        np.testing.assert_array_equal(values(identity), np.eye(40))
    assert np.abs(values("uniform", scale=0.5)).max() <= 0.5
    assert np.abs(values(dy.UniformInitializer(0.5))).max() <= 0.5
    normal = values("normal", mean=5.0, std=2.0)
    assert normal.mean() == pytest.approx(5, abs=0.3) and normal.std() == pytest.approx(2, rel=0.1)
    assert values(dy.NormalInitializer(0, 4.0)).std() == pytest.approx(2, rel=0.1)
    assert values("he").std() == pytest.approx(np.sqrt(1 / 80), rel=0.1)
    saxe = values(dy.SaxeInitializer())
    np.testing.assert_allclose(saxe @ saxe.T, np.eye(40), atol=1e-4)
    for wrong in ["other", [1.0], object()]:
        with pytest.raises(ValueError):
            values(wrong)
    with pytest.raises(TypeError):
        dy.PyInitializer()


@pytest.mark.parametrize(
    "number",
    [np.float64(0.5), np.float32(0.5), np.int64(3), np.bool_(True), np.array(0.5), np.array(3)],
)
def test_a_numpy_number_as_init_is_a_constant(number: np.generic | np.ndarray) -> None:
    m = dy.ParameterCollection()
    for added in (
        m.add_parameters((2, 3), init=number),
        m.add_lookup_parameters((2, 3), init=number),
    ):
        assert added.shape() == (2, 3)
        assert (added.as_array() == float(number)).all()


def test_a_numpy_text_as_init_is_a_name() -> None:
    eye = dy.ParameterCollection().add_parameters((2, 2), init=np.str_("identity"))
    assert eye.as_array().tolist() == [[1, 0], [0, 1]]


def test_a_complex_numpy_number_is_no_init() -> None:
    with pytest.raises(TypeError, match=r"init is .*; want a real number"):
        dy.ParameterCollection().add_parameters((2, 2), init=np.complex64(1))


def test_names():
    m = dy.ParameterCollection()
    assert m.name() == "/"
    enc = m.add_subcollection("enc")
    assert enc.name() == "/enc/"
    assert enc.add_parameters(1, name="W").name() == "/enc/W"
    assert enc.add_parameters(1, name="W").name() == "/enc/W_1"
    with pytest.raises(RuntimeError):
        m.add_parameters(1, name="a/b")
    assert [p.name() for p in m.parameters_list()] == ["/enc/W", "/enc/W_1"]


def make_model() -> tuple[dy.ParameterCollection, dy.Parameters, dy.LookupParameters]:
    m = dy.ParameterCollection()
    return m, m.add_parameters((3, 2)), m.add_lookup_parameters((4, 3))


def test_save_and_populate(tmp_path):
    m, w, table = make_model()
    file = str(tmp_path / "model")
    m.save(file)
    n, v, other = make_model()
    n.populate(file)
    np.testing.assert_array_equal(v.as_array(), w.as_array())
    np.testing.assert_array_equal(other.as_array(), table.as_array())
    w.save(str(tmp_path / "w"), "/key")
    v.zero()
    v.populate(str(tmp_path / "w"), "/key")
    np.testing.assert_array_equal(v.as_array(), w.as_array())
    loaded = dy.ParameterCollection().load_param(str(tmp_path / "w"), "/key")
    np.testing.assert_array_equal(loaded.as_array(), w.as_array())
    loaded_table = dy.ParameterCollection().load_lookup_param(file, table.name())
    np.testing.assert_array_equal(loaded_table.as_array(), table.as_array())


def test_a_bad_file_changes_nothing(tmp_path):
    m, w, _ = make_model()
    file = tmp_path / "model"
    m.save(str(file))
    file.write_text(file.read_text()[:-40])
    before = w.as_array()
    w.scale(3.0)
    with pytest.raises(dy.IoError):
        m.populate(str(file))
    np.testing.assert_array_equal(w.as_array(), 3 * before)
    with pytest.raises(RuntimeError):
        m.populate(str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError):
        m.save(str(tmp_path / "no" / "such" / "directory"))


def train(trainer_class, **kwargs) -> list[float]:
    m = dy.ParameterCollection()
    w, table = m.add_parameters((1, 3)), m.add_lookup_parameters((4, 3))
    trainer = trainer_class(m, **kwargs)
    losses = []
    for step in range(200):
        dy.renew_cg()
        k = step % 4
        loss = dy.squared_distance(w * table[k], dy.inputVector([float(k)]))
        losses.append(loss.value())
        loss.backward()
        trainer.update()
    return losses


@pytest.mark.parametrize(("trainer", "kwargs"), [
    (dy.SimpleSGDTrainer, {"learning_rate": 0.05}), (dy.AdamTrainer, {"alpha": 0.05}),
    (dy.MomentumSGDTrainer, {"learning_rate": 0.02, "mom": 0.5}),
    (dy.AmsgradTrainer, {"alpha": 0.05}),
])  # fmt: skip
def test_trainers_train(trainer, kwargs):
    losses = train(trainer, **kwargs)
    assert sum(losses[-4:]) < 0.1 * sum(losses[:4])


def test_trainer_members():
    m = dy.ParameterCollection()
    t = dy.AdamTrainer(m, 0.01)
    assert isinstance(t, dy.Trainer)
    assert t.learning_rate == pytest.approx(0.01)
    t.learning_rate = 0.5
    assert t.learning_rate == 0.5
    t.set_learning_rate(0.25)
    t.restart(learning_rate=0.125)
    t.restart()
    assert t.learning_rate == 0.125
    assert t.get_clip_threshold() == 5.0
    t.set_clip_threshold(0)
    assert t.get_clip_threshold() == 0.0
    t.set_sparse_updates(False)
    assert t.whoami() == "AdamTrainer" and dy.SimpleSGDTrainer(m).whoami() == "SimpleSGDTrainer"
    assert dy.SimpleSGDTrainer(m).learning_rate == pytest.approx(0.1)


def final_values(updates: str, how_often_seen: int) -> np.ndarray:
    """Trains a few of many rows; looks at the table now and then."""
    dy.reset_random_seed(1)
    m = dy.ParameterCollection()
    w, table = m.add_parameters((1, 3)), m.add_lookup_parameters((9, 3))
    trainer = dy.AdamTrainer(m, 0.01)
    trainer.lookup_updates = updates
    assert trainer.lookup_updates == updates
    for step in range(300):
        dy.renew_cg()
        k = 8 if step % 50 == 0 else step % 3
        dy.squared_distance(w * table[k], dy.inputVector([float(k)])).backward()
        trainer.update()
        if step % how_often_seen == 0:
            table.as_array()
    return table.as_array()


def test_updates_of_rows_without_a_gradient():
    sparse, dense, exact = (final_values(u, 300) for u in ("sparse", "dense", "exact"))
    np.testing.assert_allclose(exact, dense, atol=2e-5)
    assert np.abs(sparse - dense).max() > 1e-3
    np.testing.assert_allclose(final_values("exact", 7), dense, atol=2e-5)
    with pytest.raises(RuntimeError, match="want sparse, dense or exact"):
        dy.AdamTrainer(dy.ParameterCollection()).lookup_updates = "dens"
    t = dy.AmsgradTrainer(dy.ParameterCollection())
    assert t.lookup_updates == "sparse"
    t.set_sparse_updates(False)
    assert t.lookup_updates == "dense"


def test_weight_decay():
    m = dy.ParameterCollection()
    m.set_weight_decay_lambda(0.1)
    assert m.get_weight_decay() == pytest.approx(0.1)
    with pytest.raises(ValueError):
        m.set_weight_decay(-1.0)
