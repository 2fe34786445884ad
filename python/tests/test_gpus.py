"""GPUs as programs ask for them: with a library of GPUs of the tests, and without one.

DYNET_TEST_GPU_LIBRARY names the library (tests/support/gpu_library.cc); ``ctest`` and ``./run test``
set the variable.
"""

from __future__ import annotations

import os
import subprocess
import sys

import dynet as dy
import pytest

LIBRARY = os.environ.get("DYNET_TEST_GPU_LIBRARY", "")
NO_CUDA = "this build of DyNet has no CUDA; install dynet-cuda13"
DEVICES = "import dynet as dy; print(dy.ones(1).device_name(), *dy.available_devices())"

with_library = pytest.mark.skipif(not LIBRARY, reason="DYNET_TEST_GPU_LIBRARY names no library")
without_library = pytest.mark.skipif(dy.HAVE_CUDA, reason="a library of GPUs is installed")


def run(code: str, *args: str, machine: str | None = "two", ok: bool = True) -> str:
    """Output of a program on a machine of gpu_library.cc, or its last lines of errors."""
    env = {**os.environ}
    if machine is not None:
        env |= {"DYNET_GPU_LIBRARY": LIBRARY, "DYNET_TEST_MACHINE": machine}
    result = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=60, env=env
    )
    assert (result.returncode == 0) == ok, result.stderr
    return result.stdout if ok else result.stderr


def configured(options: str) -> str:
    return f"import dynet_config; {options}; " + DEVICES


@without_library
def test_options_without_a_library_are_errors():
    assert not dy.HAVE_CUDA
    for args, subject in [
        (["--dynet-gpu"], "--dynet-gpus 1"),
        (["--dynet_gpu"], "--dynet-gpus 1"),
        (["--dynet_gpus=2"], "--dynet-gpus 2"),
        (["--dynet-devices", "GPU:0"], "GPU:0"),
        (["--dynet-devices=CPU,GPU:3"], "GPU:3"),
    ]:
        text = run("import dynet", *args, machine=None, ok=False)
        assert f"{subject}: {NO_CUDA}" in text
        assert "dynet.DeviceError" in text
    code = """
try:
    import dynet
except RuntimeError as error:
    print(type(error).__name__)
"""
    assert run(code, "--dynet-gpu", machine=None) == "DeviceError\n"


@without_library
def test_a_config_without_a_library_is_a_warning():
    for options in ("set_gpu()", "set(requested_gpus=2)", "set(gpu_mask=[0, 1])"):
        code = f"""
import warnings, dynet_config
dynet_config.{options}
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import dynet as dy
print(len(seen), seen[0].message)
print(dy.ones(1).device_name())
"""
        text, device = run(code, "--dynet-devices=CPU:double", machine=None).splitlines()
        assert text.startswith("1 dynet_config asks for a GPU: " + NO_CUDA), text
        assert device == "CPU:double"
    named = "import dynet_config; dynet_config.set(devices='GPU:0'); import dynet"
    assert f"GPU:0: {NO_CUDA}" in run(named, machine=None, ok=False)


@with_library
def test_options():
    assert run("import dynet; print(dynet.HAVE_CUDA)") == "True\n"
    for args, expected in [
        ([], "CPU CPU"),
        (["--dynet-gpu"], "GPU:1 GPU:1 CPU"),  # which has more free memory
        (["--dynet-gpus", "2"], "GPU:0 GPU:0 GPU:1 CPU"),
        (["--dynet-devices", "CPU,GPU:1,GPU:0"], "GPU:0 GPU:0 GPU:1 CPU"),
        (["--dynet-devices=GPU:1"], "GPU:1 GPU:1 CPU"),
    ]:
        assert run(DEVICES, *args) == expected + "\n"


@with_library
def test_config():
    for options, expected in [
        ("set_gpu()", "GPU:1 GPU:1 CPU"),
        ("set(requested_gpus=2)", "GPU:0 GPU:0 GPU:1 CPU"),
        ("set(gpu_mask=[1, 0])", "GPU:0 GPU:0 CPU"),
        ("set(devices='CPU,GPU:1')", "GPU:1 GPU:1 CPU"),
        ("set(gpu_mask=[0, 0])", "CPU CPU"),
        ("set_gpu(); dynet_config.set_gpu(False)", "CPU CPU"),
        ("set_gpu(); dynet_config.set(random_seed=1)", "GPU:1 GPU:1 CPU"),
        ("set_gpu(); dynet_config.set(gpu_mask=[1, 0])", "GPU:0 GPU:0 CPU"),
        ("set_gpu(); dynet_config.set(devices='GPU:0')", "GPU:0 GPU:0 CPU"),
        ("set_gpu(); dynet_config.set_gpu(False); dynet_config.set(autobatch=0)", "CPU CPU"),
    ]:
        assert run(configured("dynet_config." + options)) == expected + "\n"
    # It goes before the arguments, in whichever way they name devices.
    assert run(configured("dynet_config.set_gpu()"), "--dynet-devices=GPU:0") == "GPU:1 GPU:1 CPU\n"
    assert (
        run(configured("dynet_config.set(devices='GPU:0')"), "--dynet-gpu") == "GPU:0 GPU:0 CPU\n"
    )
    text = run(configured("dynet_config.set(devices='GPU:0', requested_gpus=1)"), ok=False)
    assert "want GPUs by count or by number" in text
    assert "the mask has 2; want 0 or 1" in run(
        configured("dynet_config.set(gpu_mask=[2])"), ok=False
    )


def test_wrong_options_name_the_option():
    for options, expected in [
        ("set(requested_gpus=-1)", "requested_gpus is -1; want the number of GPUs"),
        ("set(requested_gpus='2')", "conf['requested_gpus'] is '2', of type str; want a whole"),
        ("set(gpu_mask='01')", "conf['gpu_mask'] is '01', of type str; want a list of numbers"),
        ("set(gpu_mask=[0, 2])", "gpu_mask: the mask has 2; want 0 or 1"),
        ("set(devices=['GPU:0'])", "conf['devices'] is ['GPU:0'], of type list; want text"),
        ("set(lstm=3)", "conf['lstm'] is 3, of type int; want text"),
        ("set(random_seed=-1)", "conf['seed'] is -1; want a whole number from 0"),
    ]:
        assert expected in run(configured("dynet_config." + options), machine=None, ok=False)
    text = run(DEVICES, "--dynet-gpu=2", machine=None, ok=False)
    assert "--dynet-gpu: the argument is '--dynet-gpu=2'; want no value, or --dynet-gpus=2" in text


@with_library
def test_params():
    code = """
import _dynet as dy
params = dy.DynetParams()
{}
params.init()
print(*dy.available_devices())
"""
    for calls, expected in [
        ("params.set_requested_gpus(1)", "GPU:1 CPU"),
        ("params.set_gpu_mask([1, 1])", "GPU:0 GPU:1 CPU"),
        ("params.set_gpu_mask([1, 1]); params.set_cpu_mode()", "CPU"),
        ("params.set_requested_gpus(2); params.set_requested_gpus(0)", "CPU"),
    ]:
        assert run(code.format(calls)) == expected + "\n"
    shown = "import _dynet as dy; p = dy.DynetParams(); p.set_requested_gpus(2); print(p)"
    assert "device=CPU, requested_gpus=2, lstm" in run(shown)


@with_library
def test_facts_about_a_gpu():
    code = """
import dynet as dy
info = dy.get_device_info("GPU:1")
print(info.name, info.type, info.id, repr(info))
try:
    dy.get_device_info("GPU:0")
except dy.DeviceError as error:
    print(str(error).splitlines()[0])
"""
    facts, error = run(code, "--dynet-devices=GPU:1").splitlines()
    assert facts == 'GPU:1 -1 1 <DeviceInfo "GPU:1">'
    assert error.endswith(
        "Invalid device name: GPU:0; GPUs are asked for at the start, as --dynet-devices GPU:0"
    )


@with_library
def test_a_program_trains_there():
    code = """
import dynet as dy, numpy as np
model = dy.ParameterCollection()
w = model.add_parameters((2, 3), init=0.25)
trainer = dy.SimpleSGDTrainer(model, 0.5)
for _ in range(3):
    dy.renew_cg()
    loss = dy.squared_norm(dy.tanh(w * dy.inputVector([1, -2, 0.5])))
    loss.backward()
    trainer.update()
print(w.as_array().tolist(), loss.value(), dy.to_device(loss, "CPU").npvalue())
"""
    assert run(code, "--dynet-gpu") == run(code)


@with_library
def test_errors_of_the_machine():
    for machine, args, text in [
        ("no driver", ["--dynet-gpu"], "the NVIDIA driver is not loaded (cudaError"),
        ("old driver", ["--dynet-devices=GPU:0"], "GPU:0: the NVIDIA driver is too old"),
        ("two", ["--dynet-devices=GPU:3"], "GPU:3: there are 2 GPUs"),
        ("two", ["--dynet-gpus=3"], "--dynet-gpus 3: there are 2 GPUs"),
        ("none", ["--dynet-gpu"], "--dynet-gpus 1: there are 0 GPUs"),
        ("three", ["--dynet-devices=GPU:1"], "no code for compute capability 6.1"),
        ("other release", ["--dynet-devices=GPU:0"], "is of release 2.9.0"),
        ("does not start", ["--dynet-devices=GPU:0"], "GPU:0: cudaStreamCreate: out of streams"),
    ]:
        output = run("import dynet", *args, machine=machine, ok=False)
        assert text in output
        assert "dynet.DeviceError" in output
    code = configured("dynet_config.set_gpu()")  # there is a library: a warning would hide a fault
    assert "the NVIDIA driver is not loaded" in run(code, machine="no driver", ok=False)


@with_library
def test_the_log_names_the_gpus():
    code = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="[%(name)s] %(message)s")
import dynet
"""
    lines = run(code, "--dynet-gpus=2", "--dynet-seed=7").splitlines()
    assert lines == [
        "[dynet] initializing CUDA",
        "[dynet] GPU:0: Test GPU, 2048 MiB",
        "[dynet] GPU:1: Test GPU, 4096 MiB",
        "[dynet] random seed: 7",
    ]


def test_options_without_effect():
    code = """
import warnings, sys
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import dynet as dy
print([str(w.message) for w in seen], dy.ones(1).device_name())
"""
    assert run(code, "--dynet-gpu-ids", "0,1", "--dynet-dynamic-mem", "1", machine=None) == (
        "['--dynet-gpu-ids 0,1 has no effect; --dynet-devices names GPUs'] CPU\n"
    )
