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

# Names that old programs expect from `from dynet import *`.
import os  # noqa: F401
import pickle  # noqa: F401
import sys  # noqa: F401

import dynet_config
import numpy as np  # noqa: F401
from _dynet import *
from _dynet import DynetParams, Error

from ._bidirectional import BiRNNBuilder as BiRNNBuilder
from ._bidirectional import StackedRNNState as StackedRNNState
from ._files import load as load
from ._files import load_generator as load_generator
from ._files import save as save

HAVE_CUDA = False
__version__ = "3.0.0"
__gitversion__ = ""


def print_graphviz(**kwargs: object) -> None:
    """Draws nothing: asks for :func:`print_text_graphviz` instead."""
    raise NotImplementedError("use print_text_graphviz(), or cg().to_dot()")


def _start() -> None:
    params = DynetParams()
    params.from_args()
    conf = dynet_config.get()
    if conf is not None:
        params.from_config(conf)
    params.init()


def _name_exceptions() -> None:
    """Tracebacks say dynet.ShapeError, where users find it."""
    for value in list(globals().values()):
        if isinstance(value, type) and issubclass(value, Error):
            value.__module__ = __name__


_name_exceptions()
_start()

# After the start: which class it is can be an option (--dynet-lstm vanilla).
from _dynet import LSTMBuilder as LSTMBuilder  # noqa: E402
