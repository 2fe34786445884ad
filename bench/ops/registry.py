"""The operations of cases.txt in PyTorch, as a user of PyTorch would write them.

A tensor of DyNet with the shape ``{a,b}xn`` is a contiguous tensor of the shape ``(n, b, a)`` here,
``(b, a)`` for one example: the numbers lie in the same order. Functions that PyTorch lacks are
composed of its own functions. A peer gets a case, prepares everything outside of the computation
(indices, masks), and returns a function of the tensors. peers_of_numbers.py and peers_of_parts.py
have the peers.
"""

from __future__ import annotations

from typing import Callable

import torch
from case import Case
from torch import Tensor

Function = Callable[..., Tensor]
Peer = Callable[[Case], Function]

PEERS: dict[str, Peer] = {}


def peer(*names: str) -> Callable[[Peer], Peer]:
    """Registers a peer."""

    def register(f: Peer) -> Peer:
        for name in names:
            PEERS[name] = f
        return f

    return register


def tensors_of(case: Case) -> list[Tensor]:
    """The arguments of a case."""
    made = []
    for shape in case.shapes:
        extents = tuple(reversed(shape.dims))
        extents = (shape.batch, *extents) if shape.batch > 1 else extents
        made.append(torch.empty(extents).uniform_(case.low, case.high))
    return made
