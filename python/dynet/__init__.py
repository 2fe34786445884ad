"""DyNet: neural networks whose structure changes with every input.

>>> import dynet as dy
>>> model = dy.ParameterCollection()
>>> W = model.add_parameters((3, 2))
>>> dy.renew_cg()                                  # doctest: +SKIP
>>> y = dy.tanh(W * dy.inputVector([1.0, -1.0]))
>>> y.npvalue()                                    # doctest: +SKIP

Importing starts the library: the library reads the options ``--dynet-*`` of ``sys.argv``, and
leaves ``sys.argv`` as it is. Options given to :func:`dynet_config.set` go before them.
"""

from __future__ import annotations

# Names that old programs expect from `from dynet import *`, like `np` and `pickle`.
import os  # noqa: F401
import sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType

import _dynet as _extension
import dynet_config

# Imports follow after the start, too:
# ruff: noqa: E402
from _dynet import *
from _dynet import DynetParams, _gpu_library

from ._beam import beam_search_task as beam_search_task
from ._bidirectional import BiRNNBuilder as BiRNNBuilder
from ._bidirectional import StackedRNNState as StackedRNNState
from ._cell import cell as cell
from ._distributed import DistributedTrainer as DistributedTrainer
from ._files import load as load
from ._files import load_generator as load_generator
from ._files import save as save
from ._fit import History as History
from ._fit import Step as Step
from ._fit import both as both
from ._fit import fit as fit
from ._learning import gradient_norms as gradient_norms
from ._old_names import FloatValue as FloatValue
from ._old_names import FloatVectorValue as FloatVectorValue
from ._old_names import Saveable as Saveable
from ._old_names import UnsignedValue as UnsignedValue
from ._old_names import UnsignedVectorValue as UnsignedVectorValue
from ._old_names import inputMatrix as inputMatrix
from ._old_names import matInput as matInput
from ._program import Start as _Start
from ._serve import OverloadError as OverloadError
from ._serve import RequestTimeout as RequestTimeout
from ._serve import serve as serve
from ._tensorboard import TensorBoard as TensorBoard
from ._together import run_together as run_together
from ._told import told as _explained
from ._torch_names import add_attributes as _add_attributes
from ._torch_names import functions as _torch_functions
from ._torch_weights import from_torch as from_torch
from ._torch_weights import to_torch as to_torch

TYPE_CHECKING = False  # as in typing, whose import takes longer than all else here
if TYPE_CHECKING:
    from collections.abc import Iterator

# There is no `__getattr__` here: with one, Python (from 3.11 on) would look each name of the module
# up anew each time, and `dy.tanh(x)` would take a fifth longer.


class _Later(_ModuleType):
    """Stands for a module until its first use: importing NumPy takes longer than all of dynet."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(module)
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        module = globals()[self._name] = _import_module(self.__name__)
        return getattr(module, attribute)


np = sys.modules.get("numpy") or _Later("np", "numpy")
pickle = sys.modules.get("pickle") or _Later("pickle", "pickle")
callbacks = _Later("callbacks", "dynet.callbacks")
distributed = _Later("distributed", "dynet.distributed")
metrics = _Later("metrics", "dynet.metrics")
text = _Later("text", "dynet.text")


class _Star:
    """`__all__`, computed when `from dynet import *` looks into it."""

    def __init__(self) -> None:
        self._names: list[str] = []

    def _found(self) -> list[str]:
        self._names = self._names or _star()
        return self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __getitem__(self, i: int) -> str:
        return self._found()[i]

    def __len__(self) -> int:
        return len(self._found())


_NOT_FOR_STAR = {
    *("IndexError", "TypeError", "ValueError"),
    *("cell", "fit", "Step", "History", "both", "TensorBoard", "gradient_norms"),
    *("callbacks", "distributed", "metrics", "programs", "text"),
    *("DistributedTrainer", "DistributedCheckpointer", "RankError"),
}


def _star() -> list[str]:
    """The names of `from dynet import *`: all names except Python's own exceptions and short new
    names, which programs may have; and modules that old programs expect."""
    hidden = {"annotations", "TYPE_CHECKING", *_NOT_FOR_STAR}
    for name, module in (("np", "numpy"), ("pickle", "pickle")):
        try:
            globals()[name] = _import_module(module)
        except ModuleNotFoundError:
            hidden.add(name)
    hidden |= {*_of_torch}
    return [name for name in globals() if not name.startswith("_") and name not in hidden]


def __dir__() -> list[str]:
    """The module's own names, without names of other libraries."""
    others = {"annotations", "TYPE_CHECKING", "dynet_config", "os", "sys", "np", "pickle"}
    return sorted({*globals()} - others - {*_of_torch})


_of_torch = _torch_functions(globals())
globals().update(_of_torch)
_add_attributes()

__all__ = _Star()  # type: ignore[misc]
HAVE_CUDA: bool = bool(_gpu_library())  # whether a library of GPUs is installed
__version__: str = _extension.__version__
__gitversion__ = ""


@_explained
def print_graphviz(**kwargs: object) -> None:
    """Prints the graph as DOT text, which ``dot -Tsvg`` draws.

    Arguments for ``--dynet-viz`` of DyNet 2.1, such as ``compact=True``, are ignored. ``cg()`` at
    the end of a notebook's cell, and ``cg().to_svg()``, draw the graph without Graphviz.
    """
    print(cg().to_dot(), end="")


def _start() -> None:
    params = DynetParams()
    params.from_args()
    conf = dynet_config.get()
    if conf is not None:
        params.from_config(conf)
    params.init()


if not _extension._is_for_names():  # otherwise the program starts the library: `_dynet.init()`
    with _Start():
        _start()

# After the start: which class it is can be an option (--dynet-lstm vanilla).
from _dynet import LSTMBuilder as LSTMBuilder
