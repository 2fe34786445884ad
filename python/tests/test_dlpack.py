"""Capsules of DLPack, as libraries that take them see them."""

from __future__ import annotations

import ctypes
import os

import dynet as dy
import numpy as np
import pytest
from far import DEVICE

on_gpu = pytest.mark.skipif(not DEVICE.startswith("GPU"), reason="the values are on no GPU")
HOST = (1, 0)
# NumPy takes memory of the host only, and says so with `device` where the value is on a GPU.
TO_NUMPY = {"device": "cpu"} if DEVICE.startswith("GPU") else {}

api = ctypes.pythonapi
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def opened(capsule):
    """(whether it says that it is read-only, the address of the numbers)."""
    name = api.PyCapsule_GetName(capsule)
    address = api.PyCapsule_GetPointer(capsule, name)
    if name == b"dltensor":
        return False, ctypes.c_void_p.from_address(address).value
    assert name == b"dltensor_versioned"
    flags = ctypes.c_uint64.from_address(address + 24).value
    return bool(flags & 1), ctypes.c_void_p.from_address(address + 32).value


def counted():
    return dy.inputVector([1.0, 2.0, 3.0]) + 0.0


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_version": None},
        {"max_version": (0, 8)},
        {"max_version": (1, 0)},
        {"max_version": (1, 0), "copy": None, "stream": None},
        {"copy": True},
        {"copy": True, "max_version": (1, 0)},
    ],
)
def test_who_takes_it_gets_a_copy(options):
    e = counted()
    capsule = e.__dlpack__(dl_device=HOST, **options)
    is_read_only, address = opened(capsule)
    assert not is_read_only
    numbers = (ctypes.c_float * 3).from_address(address)
    assert list(numbers) == [1.0, 2.0, 3.0]
    numbers[0] = 99.0
    assert e.value() == [1.0, 2.0, 3.0]
    dy.renew_cg()
    counted().value()
    assert list(numbers) == [99.0, 2.0, 3.0]


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}])
def test_a_view_is_refused(options):
    """Consumers learn that the array is read-only, and some write to it all the same."""
    e = counted()
    with pytest.raises(BufferError, match="want a copy"):
        e.__dlpack__(copy=False, **options)
    with pytest.raises((BufferError, ValueError)):
        np.from_dlpack(e, copy=False)
    with pytest.raises(TypeError, match="speed"):
        e.__dlpack__(speed=1)
    assert e.value() == [1.0, 2.0, 3.0]


def test_who_ignores_the_flag_writes_to_a_copy():
    model = dy.ParameterCollection()
    things = [counted(), model.add_parameters(3, init=5.0), model.add_lookup_parameters((3, 2))]
    for thing in things:
        before = thing.npvalue()
        capsule = thing.__dlpack__(max_version=(1, 0), dl_device=HOST)
        (ctypes.c_float * 3).from_address(opened(capsule)[1])[0] = 99.0
        assert np.array_equal(thing.npvalue(), before)


def test_a_matrix_and_a_table_come_row_by_row():
    e = dy.inputTensor(np.arange(6.0).reshape(2, 3)) + 0.0
    table = dy.ParameterCollection().lookup_parameters_from_numpy(np.arange(6.0).reshape(2, 3))
    for thing in (e, table):
        array = np.from_dlpack(thing, **TO_NUMPY)
        assert array.tolist() == [[0, 1, 2], [3, 4, 5]] and array.flags.c_contiguous


def test_numpy_copies_where_it_is_asked_to():
    e = counted()
    copy = np.from_dlpack(e, copy=True, **TO_NUMPY)
    copy[0] = 9.0
    assert not np.shares_memory(copy, e.numpy())
    assert e.value() == [1.0, 2.0, 3.0]


def test_devices_and_streams():
    e = counted()
    assert e.__dlpack_device__() == ((2, 0) if TO_NUMPY else HOST)
    with pytest.raises(BufferError, match=r"dl_device is \(2, 9\); want that device or \(1, 0\)"):
        e.__dlpack__(dl_device=(2, 9))


class Emulated:
    """Functions of the emulator (tests/cuda_on_host), which copies numbers of the GPU."""

    DEVICE_TO_HOST = 2

    def __init__(self):
        path = os.path.join(os.path.dirname(os.environ["DYNET_GPU_LIBRARY"]), "libcuda_on_host.so")
        if not os.path.exists(path):
            pytest.skip("the GPU is not emulated")
        self.copy = ctypes.CDLL(path)["_Z10cudaMemcpyPvPKvm14cudaMemcpyKind"]
        self.copy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def numbers(self, address, count):
        found = (ctypes.c_float * count)()
        assert self.copy(found, address, ctypes.sizeof(found), self.DEVICE_TO_HOST) == 0
        return list(found)


@on_gpu
@pytest.mark.parametrize("stream", [None, 1, 2, -1, 0x7F0000001000])
def test_a_copy_stays_on_the_gpu(stream):
    e = counted()
    capsule = e.__dlpack__(stream=stream, max_version=(1, 0))
    is_read_only, address = opened(capsule)
    assert not is_read_only
    if stream == -1:  # the taker waits
        assert Emulated().numbers(address, 3) != [1.0, 2.0, 3.0]
        e.value()
    assert Emulated().numbers(address, 3) == [1.0, 2.0, 3.0]
    dy.renew_cg()
    assert counted().value() == [1.0, 2.0, 3.0]
    assert Emulated().numbers(address, 3) == [1.0, 2.0, 3.0]


@on_gpu
def test_what_is_no_stream():
    for stream in (0, -2, "1", 1.5):
        with pytest.raises(ValueError, match=r"__dlpack__: the stream is .*; want None, -1"):
            counted().__dlpack__(stream=stream)
    with pytest.raises(BufferError, match="want a copy"):
        counted().__dlpack__(stream=1, copy=False)


@on_gpu
def test_copies_give_their_memory_back():
    e = dy.zeros((1000, 1000))
    for _ in range(300):  # 1.2 GB of a GPU of 512 MB
        assert e.__dlpack__() is not None
