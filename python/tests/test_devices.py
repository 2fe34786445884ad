"""Several devices in one graph: the CPU in float and in double."""

import dynet as dy
import numpy as np
import pytest

OTHER = "CPU:double"


def test_what_is_known_of_a_device():
    assert "CPU" in dy.available_devices()
    info = dy.get_device_info(OTHER)
    assert info.name == OTHER and info.type == -1 and isinstance(info.id, int)
    assert dy.get_device_info("").name == dy.ones(1).device_name()
    assert repr(info) == f'<DeviceInfo "{OTHER}">'
    with pytest.raises(dy.DeviceError, match="GPU:7"):
        dy.get_device_info("GPU:7")


def test_a_node_is_on_the_device_of_its_parameters():
    m = dy.ParameterCollection()
    w = m.add_parameters((2, 3), init=0.5, name="w", device=OTHER)
    table = m.add_lookup_parameters((5, 3), init=2.0, name="table", device="CPU")
    assert w.expr().device_name() == OTHER
    assert table[1].device_name() == "CPU"
    y = w * dy.to_device(table[1], OTHER)
    assert y.device_name() == OTHER
    assert y.npvalue().dtype == np.float64
    assert y.value() == [3.0, 3.0]


def test_inputs_are_where_they_are_asked_for():
    made = [
        dy.scalarInput(1.5, device=OTHER),
        dy.vecInput(2, device=OTHER),
        dy.inputVector([1, 2], device=OTHER),
        dy.inputTensor(np.ones((2, 3)), device=OTHER),
        dy.inputTensorTranspose([1, 2, 3, 4], (2, 2), device=OTHER),
        dy.sparse_inputTensor([[1], [2]], [7.0], (2, 3), device=OTHER),
        dy.one_hot(3, 1, device=OTHER),
        dy.zeros(2, device=OTHER),
        dy.ones((2, 2), device=OTHER),
        dy.constant(2, 0.1, device=OTHER),
        dy.random_normal(4, device=OTHER),
        dy.random_bernoulli(4, 0.5, device=OTHER),
        dy.random_uniform(4, -1, 1, device=OTHER),
    ]
    for x in made:
        assert x.device_name() == OTHER
        assert np.asarray(x.npvalue()).dtype == np.float64
    made[2].set([5, 6])
    assert made[2].value() == [5.0, 6.0]
    with pytest.raises(dy.DeviceError, match="GPU:7"):
        dy.zeros(2, device="GPU:7")


def test_arguments_on_two_devices_are_refused():
    m = dy.ParameterCollection()
    w = m.add_parameters((2, 3), init=1.0, device=OTHER)
    x = dy.inputVector([1.0, 2.0, 3.0], device="CPU")
    with pytest.raises(
        dy.DeviceError,
        match=r"argument x is on device CPU:double and y on CPU; .* to_device",
    ) as error:
        w * x
    assert "test_devices.py" in str(error.value)
    assert x.value() == [1.0, 2.0, 3.0]


def test_gradients_come_back():
    m = dy.ParameterCollection()
    w = m.add_parameters(
        (2, 3), init=dy.NumpyInitializer(np.arange(6).reshape(2, 3) / 10), device="CPU"
    )
    u = m.add_parameters(
        (2, 2), init=dy.NumpyInitializer(np.array([[0.5, -1], [2, 0.25]])), device=OTHER
    )
    h = dy.tanh(w * dy.inputVector([1, -1, 2], device="CPU"))
    loss = dy.squared_norm(u * dy.to_device(h, OTHER))
    loss.backward()
    x = np.array([1.0, -1.0, 2.0])
    t = np.tanh(np.arange(6).reshape(2, 3) / 10 @ x)
    matrix = np.array([[0.5, -1], [2, 0.25]])
    dy_ = 2 * matrix @ t
    assert np.allclose(u.grad_as_array(), np.outer(dy_, t), atol=1e-6)
    dh = matrix.T @ dy_ * (1 - t**2)
    assert np.allclose(w.grad_as_array(), np.outer(dh, x), atol=1e-5)


def test_the_same_device_is_no_copy():
    x = dy.inputVector([1.0], device="CPU")
    y = dy.to_device(x, "CPU")
    assert y.device_name() == "CPU"
    assert (x + y).value() == 2.0
    with pytest.raises(dy.DeviceError, match="TPU"):
        dy.to_device(x, "TPU")


def test_one_trainer_for_both():
    m = dy.ParameterCollection()
    here = m.add_parameters(2, init=1.0, device="CPU")
    there = m.add_parameters(2, init=1.0, device=OTHER)
    trainer = dy.SimpleSGDTrainer(m, 0.25)
    for _ in range(3):
        dy.renew_cg()
        loss = dy.to_device(dy.squared_norm(here), OTHER) + dy.squared_norm(there)
        loss.backward()
        trainer.update()
    assert np.allclose(here.as_array(), 0.125)
    assert np.allclose(there.as_array(), 0.125)
