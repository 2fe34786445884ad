"""The module with which DyNet 2.1 drew graphs: ``import dynet_viz as dy``, or ``--dynet-viz``.

Every graph can be drawn today, so this module equals :mod:`dynet`. ``print_graphviz()`` prints the
graph as DOT text.
"""

from dynet import *
from dynet import print_graphviz as print_graphviz
