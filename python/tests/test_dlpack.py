"""Capsules of DLPack, as libraries that take them see them."""

from __future__ import annotations

import ctypes

import dynet as dy
import numpy as np
import pytest
from far import DEVICE

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
        {"copy": True},
        {"copy": True, "max_version": (1, 0)},
    ],
)
def test_who_may_write_gets_a_copy(options):
    e = counted()
    capsule = e.__dlpack__(**options)
    is_read_only, address = opened(capsule)
    assert not is_read_only
    numbers = (ctypes.c_float * 3).from_address(address)
    assert list(numbers) == [1.0, 2.0, 3.0]
    numbers[0] = 99.0
    assert e.value() == [1.0, 2.0, 3.0]
    dy.renew_cg()
    counted().value()
    assert list(numbers) == [99.0, 2.0, 3.0]


@pytest.mark.skipif(bool(DEVICE), reason="memory that the host does not see is copied")
@pytest.mark.parametrize("options", [{}, {"copy": None}, {"copy": False}, {"stream": None}])
def test_a_view_says_that_it_is_read_only(options):
    e = counted()
    assert opened(e.__dlpack__(max_version=(1, 0), **options)) == (True, e.numpy().ctypes.data)


def test_a_view_for_one_who_may_write_is_refused():
    e = counted()
    with pytest.raises(BufferError, match="max_version"):
        e.__dlpack__(copy=False)
    with pytest.raises(TypeError, match="speed"):
        e.__dlpack__(speed=1)
    assert e.value() == [1.0, 2.0, 3.0]


def test_numpy_copies_where_it_is_asked_to():
    e = counted()
    copy = np.from_dlpack(e, copy=True)
    copy[0] = 9.0
    assert not np.shares_memory(copy, e.numpy())
    assert e.value() == [1.0, 2.0, 3.0]
