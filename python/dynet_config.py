"""Options of dynet, to be set before ``import dynet``:

>>> import dynet_config
>>> dynet_config.set(random_seed=1, autobatch=0)
>>> import dynet as dy                             # doctest: +SKIP

An option set here goes before the command line; an option left at its default does not.
"""

from __future__ import annotations

import builtins

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONFIG = "__DYNET_CONFIG"
_GPU = "__DYNET_GPU"


def set(
    mem: int | str = "512",
    random_seed: int = 0,
    autobatch: int = 1,
    profiling: int = 0,
    weight_decay: float = 0,
    shared_parameters: int = 0,
    requested_gpus: int = 0,
    gpu_mask: list[int] | None = None,
    lstm: str = "coupled",
    devices: str = "CPU",
    precision: str = "highest",
    mem_cap: int = 0,
    threads: int = 0,
) -> None:
    """Sets options. A second call replaces the first, but for the wish of `set_gpu`, which stays.
    ``docs/options.md`` explains each option; on the command line its name begins with ``--dynet-``.

    ``shared_parameters=1`` makes parameters that worker processes share (``dynet.WorkerPool``).
    ``requested_gpus=2`` asks for the two GPUs with the most free memory, ``gpu_mask=[0, 1]`` for
    GPU:1, and ``devices="GPU:1"`` too. Without a library of GPUs the first two are a warning, and
    the program runs on the CPU; the last is an error.
    """
    if gpu() and not requested_gpus and gpu_mask is None and devices == "CPU":
        requested_gpus = 1
    config = {
        "mem": mem,
        "seed": random_seed,
        "autobatch": autobatch,
        "profiling": profiling,
        "weight_decay": weight_decay,
        "shared_params": shared_parameters,
        "requested_gpus": requested_gpus,
        "gpu_mask": gpu_mask if gpu_mask is not None else [],
        "lstm": lstm,
        "devices": devices,
        "precision": precision,
        "mem_cap": mem_cap,
        "threads": threads,
    }
    builtins.__dict__[_CONFIG] = config


def set_gpu(flag: bool = True) -> None:
    """Asks for one GPU. Without a library of GPUs ``import dynet`` warns, and uses the CPU."""
    builtins.__dict__[_GPU] = flag
    if get() is None:
        set()
    config = get()
    assert config is not None
    config["requested_gpus"] = 1 if flag else 0


def gpu() -> bool:
    """Whether `set_gpu` asked for a GPU."""
    return bool(builtins.__dict__.get(_GPU, False))


def get() -> dict[str, Any] | None:
    """The options that were set, or None."""
    config: dict[str, Any] | None = builtins.__dict__.get(_CONFIG)
    return config
