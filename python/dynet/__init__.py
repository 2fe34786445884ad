"""DyNet: neural networks whose structure changes with every input.

>>> import dynet as dy
>>> model = dy.ParameterCollection()
>>> W = model.add_parameters((3, 2))
>>> dy.renew_cg()                                  # doctest: +SKIP
>>> y = dy.tanh(W * dy.inputVector([1.0, -1.0]))
>>> y.npvalue()                                    # doctest: +SKIP

Importing starts the library: the options ``--dynet-*`` of ``sys.argv`` are read, which stays as it
is, and what :func:`dynet_config.set` was given goes before them.
"""

from __future__ import annotations

# Names that old programs expect from `from dynet import *`; `np` and `pickle` are below.
import os  # noqa: F401
import sys

import dynet_config
from _dynet import *
from _dynet import DynetParams, _dress_functions

from ._bidirectional import BiRNNBuilder as BiRNNBuilder
from ._bidirectional import StackedRNNState as StackedRNNState
from ._files import load as load
from ._files import load_generator as load_generator
from ._files import save as save
from ._told import told as _explained

# Names that few programs use, and where they are.
_SELDOM = {
    "UnsignedValue": "._old_names",
    "FloatValue": "._old_names",
    "UnsignedVectorValue": "._old_names",
    "FloatVectorValue": "._old_names",
    "Saveable": "._old_names",
    "matInput": "._old_names",
    "inputMatrix": "._old_names",
    "fit": "._fit",
    "Step": "._fit",
    "History": "._fit",
    "both": "._fit",
    "TensorBoard": "._tensorboard",
}

TYPE_CHECKING = False  # that of typing, which takes longer to import than all else here
if TYPE_CHECKING:
    from ._fit import History as History
    from ._fit import Step as Step
    from ._fit import both as both
    from ._fit import fit as fit
    from ._old_names import FloatValue as FloatValue
    from ._old_names import FloatVectorValue as FloatVectorValue
    from ._old_names import Saveable as Saveable
    from ._old_names import UnsignedValue as UnsignedValue
    from ._old_names import UnsignedVectorValue as UnsignedVectorValue
    from ._old_names import inputMatrix as inputMatrix
    from ._old_names import matInput as matInput
    from ._tensorboard import TensorBoard as TensorBoard
else:

    def __getattr__(name: str) -> object:
        """What few programs use is imported where it is used: NumPy takes longer than the rest."""
        if name == "np":
            try:
                import numpy as module
            except ModuleNotFoundError:
                raise AttributeError("dynet.np is NumPy, which is not installed") from None
        elif name == "pickle":
            import pickle as module
        elif name in _SELDOM:
            from importlib import import_module

            value = getattr(import_module(_SELDOM[name], __name__), name)
            globals()[name] = value
            return value
        elif name == "__all__":
            return _star()
        else:
            raise AttributeError(f"module 'dynet' has no attribute '{name}'")
        globals()[name] = module
        return module


def _star() -> list[str]:
    """What `from dynet import *` brings: every name but those of Python's own exceptions and the
    short ones of what is new, which programs may have; and modules that old programs expect."""
    hidden = {"annotations", "TYPE_CHECKING", "IndexError", "TypeError", "ValueError"}
    hidden |= {name for name, module in _SELDOM.items() if module != "._old_names"}
    names = [name for name in globals() if not name.startswith("_") and name not in hidden]
    later = ["np", "pickle", *_SELDOM]
    return names + [name for name in later if name not in {*names, *hidden} and _there(name)]


def __dir__() -> list[str]:
    """What there is, with what is imported where it is used, but not the names of others."""
    others = {"annotations", "TYPE_CHECKING", "dynet_config", "os", "sys", "np", "pickle"}
    return sorted({*globals(), *_SELDOM} - others)


def _there(name: str) -> bool:
    return hasattr(sys.modules[__name__], name)


HAVE_CUDA = False
__version__ = "3.0.0"
__gitversion__ = ""


@_explained
def print_graphviz(**kwargs: object) -> None:
    """Prints the graph as DOT text, which ``dot -Tsvg`` draws.

    What DyNet 2.1 took with ``--dynet-viz``, such as ``compact=True``, is passed over. ``cg()`` at
    the end of a notebook's cell, and ``cg().to_svg()``, draw the graph without Graphviz.
    """
    print(cg().to_dot(), end="")


def _start() -> None:
    _dress_functions()
    params = DynetParams()
    params.from_args()
    conf = dynet_config.get()
    if conf is not None:
        params.from_config(conf)
    params.init()


_start()

# After the start: which class it is can be an option (--dynet-lstm vanilla).
from _dynet import LSTMBuilder as LSTMBuilder  # noqa: E402
