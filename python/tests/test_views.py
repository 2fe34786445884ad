"""Values for NumPy, DLPack and other libraries: types, views and the owners of their memory."""

from __future__ import annotations

import copy
import gc
import json
import pickle
import threading

import dynet as dy
import numpy as np
import pytest
from far import DEVICE


def counted(size, first=1.0):
    return dy.inputVector([first + i for i in range(size)]) + 0.0


def test_copies_are_float64_and_lists_are_floats():
    model = dy.ParameterCollection()
    p, t = model.add_parameters((2, 3)), model.add_lookup_parameters((4, 3))
    e = p * t[1]
    loss = dy.squared_norm(e)
    loss.backward()
    arrays = [e.npvalue(), p.npvalue(), p.as_array(), p.grad_as_array(), p.gradient(), t.as_array()]
    arrays += [t.grad_as_array(), t.row_as_array(1), t.rows_as_array([0, 1]), p.value()]
    arrays += [t.row_grad_as_array(1), t.rows_grad_as_array([0, 1]), *dy.npvalues([e])]
    assert {str(a.dtype) for a in arrays} == {"float64"}
    for numbers in (e.value(), e.vec_value(), *dy.values([e])):
        assert all(type(x) is float for x in numbers)
    assert type(loss.value()) is float and type(loss.scalar_value()) is float
    assert json.loads(json.dumps([e.value(), e.npvalue().tolist(), loss.value()]))[0] == e.value()


def test_expression_has_no_length():
    e = counted(3)
    with pytest.raises(TypeError, match="len"):
        len(e)
    assert [x.value() for x in e] == [1.0, 2.0, 3.0]


@pytest.mark.skipif(bool(DEVICE), reason="memory that the host does not see is copied")
def test_views_are_the_memory_of_the_value():
    e = dy.inputTensor(np.arange(6).reshape(2, 3)) + 0.0
    first = e.numpy()
    assert first.dtype == np.float32 and first.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not first.flags.writeable and not first.flags.owndata
    for other in (e.numpy(), np.asarray(e), np.asarray(e, dtype=np.float32)):
        assert np.shares_memory(first, other)
        assert np.array_equal(first, other)
    with pytest.raises(ValueError):
        first[0, 0] = 1.0
    assert e.__dlpack_device__() == (1, 0)


def test_asking_for_another_type_or_a_copy_copies():
    e = counted(3)
    double = np.asarray(e, dtype=np.float64)
    assert double.dtype == np.float64 and double.tolist() == [1, 2, 3]
    owned = np.array(e)
    owned[0] = 9.0
    assert e.value() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="copy"):
        np.asarray(e, dtype=np.float64, copy=False)
    assert np.mean(e) == 2.0


def test_a_view_stays_as_it_is():
    views, wanted = [], []

    def keep(e):
        views.append(e.numpy())
        wanted.append(views[-1].copy())

    x = dy.vecInput(500)
    y = x + 1.0
    for round in range(4):
        keep(counted(300, 10.0 * round))
        x.set([float(round)] * 500)
        y.forward(recalculate=True)
        keep(y)
        dy.cg_checkpoint()
        keep(counted(400, -5.0))
        dy.cg_revert()
        counted(400, 99.0).value()
        if round % 2:
            dy.renew_cg()
            x = dy.vecInput(500)
            y = x + 1.0
    dy.renew_cg()
    gc.collect()
    counted(100_000, -1.0).value()
    for view, numbers in zip(views, wanted):
        assert np.array_equal(view, numbers)


def test_a_view_outlasts_the_thread_of_its_graph():
    views = []
    thread = threading.Thread(target=lambda: views.append(counted(50).numpy()))
    thread.start()
    thread.join()
    counted(5000).value()
    assert views[0].tolist() == [float(i + 1) for i in range(50)]


def test_a_view_of_a_parameter_shows_what_the_trainer_does():
    model = dy.ParameterCollection()
    p = model.add_parameters((2,), init=1.0)
    view = p.numpy()
    dy.sum_elems(p).backward()
    dy.SimpleSGDTrainer(model, 0.5).update()
    if not DEVICE:
        assert view.tolist() == [0.5, 0.5]
    del model, p
    gc.collect()
    dy.renew_cg()
    assert view.shape == (2,)


class Foreign:
    """An array of a library that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_inputs_take_dlpack_and_expressions():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    e = dy.inputTensor(Foreign(array))
    assert e.npvalue().tolist() == array.tolist()
    assert dy.inputTensor(e).npvalue().tolist() == array.tolist()
    assert dy.inputTensor(Foreign(array), batched=True).dim() == ((2,), 3)
    assert dy.inputTensor([Foreign(array), Foreign(array)]).dim() == ((2, 3), 2)
    model = dy.ParameterCollection()
    p = model.add_parameters((2, 3))
    p.set_value(Foreign(array))
    assert p.as_array().tolist() == array.tolist()


def test_batches_powers_and_sums():
    e = dy.inputTensor(np.arange(24.0).reshape(4, 3, 2), batched=True)
    assert e.numpy().shape == (4, 3, 2)
    assert e[::2].dim() == ((2, 3), 2)
    assert e[0:2, 1:3, 1:2].dim() == ((2, 2), 1)
    assert np.array_equal(e[0:2, 1:3, 1:2].npvalue(), np.arange(24.0).reshape(4, 3, 2)[0:2, 1:3, 1])
    assert np.array_equal((e**2).npvalue(), np.arange(24.0).reshape(4, 3, 2) ** 2)
    assert np.array_equal(sum([e, e, e]).npvalue(), 3 * np.arange(24.0).reshape(4, 3, 2))


def test_tensors():
    e = dy.inputTensor(np.array([[1.0, 5.0], [4.0, 2.0], [3.0, 3.0]]))
    t = e.tensor_value()
    assert (str(t), t.as_numpy().dtype) == ("<Dynet Tensor:float>", np.float64)
    best = t.argmax()
    assert (str(best), best.as_numpy().dtype) == ("<Dynet Tensor:int>", np.int64)
    assert best.as_numpy().tolist() == [[1, 0]]
    assert t.argmax(dim=1).as_numpy().tolist() == [[1], [0], [0]]
    assert t.argmax(-1).as_numpy().tolist() == t.argmax(1).as_numpy().tolist()
    assert t.argmax(dim=-2).as_numpy().tolist() == best.as_numpy().tolist()
    assert t.topk(-1)[0].as_numpy().tolist() == [[5], [4], [3]]
    with pytest.raises(dy.ShapeError, match=r"dimension -3 of \{3,2\}, which has 2"):
        t.argmax(-3)
    numbers, places = t.topk(num=2)
    assert numbers.as_numpy().tolist() == [[4, 5], [3, 3]]
    assert places.as_numpy().tolist() == [[1, 0], [2, 2]]
    assert numbers.argmax().as_numpy().tolist() == [[0, 0]]
    sure = dy.inputVector([-1e9, 0.0, -1e9]).tensor_value()
    assert sure.categorical_sample_log_prob().as_numpy().tolist() == [1]
    assert sure.categorical_sample_log_prob(-1).as_numpy().tolist() == [1]
    dy.renew_cg()
    counted(1000).value()
    assert t.as_numpy().tolist() == [[1, 5], [4, 2], [3, 3]]
    with pytest.raises(RuntimeError, match="indices"):
        best.argmax()
    with pytest.raises(RuntimeError):
        dy.Tensor()


def test_functions_are_pickled_by_name():
    for f in (dy.tanh, dy.lookup, dy.esum, dy.concatenate, dy.Expression.npvalue):
        assert pickle.loads(pickle.dumps(f)) is f
        assert copy.deepcopy(f) is f and copy.copy(f) is f
    assert copy.deepcopy({"activation": dy.rectify})["activation"] is dy.rectify


def test_states_are_the_same_step():
    model = dy.ParameterCollection()
    builder = dy.GRUBuilder(1, 2, 3, model)
    assert builder.initial_state() is builder.initial_state()
    start = builder.initial_state()
    s = start.add_input(counted(2)).add_input(counted(2))
    assert s.prev() == s.prev() and hash(s.prev()) == hash(s.prev())
    assert s.prev().prev() == start and s != start and s != 3
    assert {s.prev(): "x"}[s.prev()] == "x"
    dy.renew_cg()
    assert builder.initial_state() != start
    assert builder.initial_state().add_input(counted(2)) != s


def test_a_collection_without_a_name():
    model = dy.ParameterCollection()
    assert model.add_subcollection().name() != model.add_subcollection().name()
