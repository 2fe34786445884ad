"""The same tests on a far device (tests/support/far_device.h).

DYNET_TEST_DEVICE names the device, and DYNET_FAR_MODULE the library that makes it known. `ctest -R
far/python` sets both.
"""

from __future__ import annotations

import os

DEVICE = os.environ.get("DYNET_TEST_DEVICE", "")

# Files and tests that are not run there, with reasons.
LEFT_OUT = {
    "test_every_class_has_the_same_numbers_in_cpp": "the program in C++ computes on the CPU",
    "test_start.py": "starts processes on the devices that their options name",
    "test_gpus.py": "likewise",
    "test_workers.py": "parameters that processes share lie in memory of the host",
    "test_many_numbers_are_left_soon": "a device copies all numbers of a tensor at once",
    "test_one_parameter_for_two_tensors": "from_torch tells parameters apart by their host memory",
    "test_large_graphs_are_left_soon": "promises milliseconds, of which this device's queue has a part",
}

# Makes the device the default one. Tests that start a process put it before their program.
PRELUDE = (
    f"""
import ctypes, os
import _dynet, dynet_config
ctypes.CDLL(os.environ["DYNET_FAR_MODULE"])
dynet_config.set(devices={DEVICE!r})
"""
    if DEVICE
    else ""
)
