"""The same tests on a far device (tests/support/far_device.h) or on a GPU, also one that the CPU
plays (tests/cuda_on_host).

DYNET_TEST_DEVICE names the device: FAR:0, which the library of DYNET_FAR_MODULE makes known, or
GPU:0 of the library of DYNET_GPU_LIBRARY. `ctest -R far/python` and `ctest -R gpu/python` set both.
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
if DEVICE.startswith("GPU"):
    LEFT_OUT |= {
        "test_interrupt.py": "promises times, for work that takes this device hours",
        "test_reference.py": "compares the last digit of printed numbers with the CPU's",
        "test_cores.py": "is about loops of the CPU, also in a child process",
    }

# Tests for which a GPU that the CPU plays needs minutes: DYNET_TEST_ALL=1 runs them too. The others
# take two minutes of one core.
SLOW = [
    "test_programs.py",
    "test_serve.py",
    "test_serve_example.py",
    "test_distributed.py",
    "test_transition_parser.py",
    "test_types.py",
    "test_warnings.py",
    "test_figures.py",
    "test_ends.py",
    "test_old_meta.py",
    "test_a_long_computation_lets_other_threads_run",
    "test_a_thread_ends_while_another_runs_backward_in_its_graph",
    "test_a_sampled_loss_trains_the_softmax",
    "test_a_resumed_training_is_the_same_to_the_bit",
]
if DEVICE.startswith("GPU") and "DYNET_TEST_ALL" not in os.environ:
    LEFT_OUT |= dict.fromkeys(SLOW, "takes minutes; DYNET_TEST_ALL=1 runs it")

# Makes the device the default one. Tests that start a process put it before their program.
PRELUDE = (
    f"""
import ctypes, os
import _dynet, dynet_config
if "DYNET_FAR_MODULE" in os.environ:
    ctypes.CDLL(os.environ["DYNET_FAR_MODULE"])
dynet_config.set(devices={DEVICE!r})
"""
    if DEVICE
    else ""
)
