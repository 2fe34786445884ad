"""Texts of the reference pages beside operations and headers: the topics, their order, a few
sentences for each; and for functions written by hand in C++, their Python names and an example.

All exceptions from "C++, Python, stub and page list the same names" stand here, each with its
reason; python/tests/test_reference.py checks them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Topic:
    """A page. `families`: headers that tools/generate-api writes; `functions`: keys of WRITTEN."""

    page: str
    title: str
    text: str
    families: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)


@dataclass
class Written:
    """A function written by hand in C++. `python`: its names there, None for the C++ name.
    `operation`: the operation whose node it adds, if it adds one node; None for the operation of
    its own name, if there is one."""

    example: str
    python: list[str] | None = None
    operation: str | None = None


TOPICS = [
    Topic(
        "inputs",
        "Inputs, constants, parameters and devices",
        "Here numbers enter the graph: numbers of your program, constants, the values of parameters and rows of "
        "lookup tables. In C++ these functions take the graph as first argument; in Python they use the graph of "
        "the thread. `to_device` carries a value from one device to another.",
        functions=["input", "input#2", "input#3", "one_hot", "zeros", "ones", "constant", "parameter",
                   "const_parameter", "lookup", "const_lookup", "to_device"],
    ),
    Topic(
        "arithmetic",
        "Arithmetic",
        "Operators on elements, with numbers and with each other, and sums, means and extremes of lists. `x * y` "
        "of two expressions is the product of matrices; the product of elements is `cmult`.",
        families=["arithmetic"],
        functions=["operator/", "colwise_add", "max", "min", "logsumexp"],
    ),
    Topic(
        "elementary",
        "Elementary functions",
        "Functions of each element: exponentials, logarithms, powers, trigonometric and hyperbolic functions, "
        "rounding, choices. `flip_gradient` and `scale_gradient` give the value unchanged and another gradient.",
        families=["elementary", "trigonometry"],
    ),
    Topic(
        "activations",
        "Activations",
        "The nonlinear functions of neural networks, each applied to every element. (`tanh` is here; other "
        "hyperbolic functions are among the elementary functions.)",
        families=["activation"],
    ),
    Topic(
        "products",
        "Products and matrices",
        "Products of matrices and tensors, inner products, distances that are products, transposition, inverse "
        "and determinant. Use `affine_transform` for layers: one node in place of the two nodes of `W * x + b`.",
        families=["linear", "contract", "matrix"],
        functions=["contract3d_1d_1d", "einsum", "trace_of_product"],
    ),
    Topic(
        "reductions",
        "Sums, means, norms and normalisation",
        "Functions that make one number of many: over all elements of an example, along some dimensions, or over "
        "the examples of a batch; and normalisations, which divide by such a number.",
        families=["reduce", "norm"],
        functions=["sum_dim", "mean_dim", "moment_dim", "std_dim", "mean_elems", "moment_elems", "std_elems",
                   "mean_batches", "moment_batches", "std_batches", "sum_rows", "sum_cols", "average_cols"],
    ),
    Topic(
        "shapes",
        "Shapes and parts",
        "Functions that move numbers: they show them in another shape, put tensors together, or take parts of them "
        "by index, range or list; `scatter_add` is the way back and adds. In Python `x[2]` is `pick`, and `x[1:3]` "
        "is `pick_range`.",
        families=["shape", "pick", "select"],
        functions=["pickrange", "concatenate_cols", "strided_select", "scatter_add"],
    ),
    Topic(
        "order",
        "Order",
        "Functions for which the order of the elements counts: running sums, and the largest elements.",
        families=["order"],
    ),
    Topic(
        "losses",
        "Softmax, losses and distances",
        "Distributions over classes, the losses that compare them with a right class, losses with a margin, and "
        "distances of tensors. Losses take scores, not probabilities, unless they say otherwise.",
        families=["loss", "sparsemax", "margin", "distance"],
        functions=["log_softmax", "hinge_dim"],
    ),
    Topic(
        "convolution",
        "Convolution and pooling",
        "Sums and maxima over windows that move along an image or a sentence. An image is {height,width,channels}; "
        "a sentence is a matrix with a column for each word.",
        families=["convolve", "sliding"],
        functions=["conv2d"],
    ),
    Topic(
        "random",
        "Random numbers",
        "Dropout, noise, and tensors of random numbers. Numbers depend on the seed, the graph and the node, not "
        "on the order in which nodes are computed. Each new graph draws anew.",
        families=["random"],
        functions=["random_normal", "random_uniform", "random_bernoulli", "random_gumbel", "sample_categorical"],
    ),
    Topic(
        "recurrent",
        "Cells and sequences",
        "Cells: the part of a step of an LSTM or tree LSTM behind the affine transformation, in one node. The "
        "builders use these cells, and a program needs them for a cell of its own. And functions of whole "
        "sequences, with one expression per step.",
        families=["recurrent"],
        functions=["vanilla_lstm_gates", "vanilla_lstm_gates_concat", "vanilla_lstm_gates_dropout",
                   "vanilla_lstm_gates_dropout_concat", "lookup_sequence", "sequence_loss"],
    ),
    Topic(
        "chains",
        "Labels of whole sequences",
        "Losses that count all ways in which a sequence may be labelled: the linear-chain conditional random field, "
        "whose labels depend on their neighbours, and connectionist temporal classification, in which the steps "
        "of the labels are unknown.",
        functions=["crf_log_partition", "crf_score", "crf_viterbi", "ctc_loss"],
    ),
    Topic(
        "trees",
        "Trees of sentences",
        "Sums over all dependency trees and all constituents of a sentence, and scores of given ones: the losses of "
        "parsers. [Structured prediction](../structured-prediction.md) has the searches for the best trees.",
        functions=["spanning_tree_log_partition", "eisner_log_partition", "tree_score", "cky_log_partition",
                   "spans_score"],
    ),
    Topic(
        "gradients",
        "Gradients as nodes",
        "`backward` computes gradients as numbers; here they are nodes of the graph. The page of "
        "[operations](README.md#gradients) lists the operations without nodes for their gradients.",
        functions=["gradient"],
    ),
    Topic(
        "segments",
        "Segments and attention",
        "Functions that bring a varying number of entries together. Segments are given by an index per entry, as the "
        "edges of a graph by the node to which they lead; attention weighs all entries by how well they fit a query.",
        families=["attention"],
        functions=["segment_sum", "segment_max", "segment_softmax", "attention"],
    ),
]  # fmt: skip

MATRIX = "x = dy.inputTensor([[1., 2., 3.], [4., 5., 9.]])\n"
VECTORS = "x1 = dy.inputVector([1., 5., 3.])\nx2 = dy.inputVector([4., 2., 3.])\n"
TABLE = "table = dy.ParameterCollection().lookup_parameters_from_numpy(np.array([[1., 2.], [3., 4.], [5., 6.]]))\n"
LSTM = "x, h = dy.inputVector([0.5]), dy.inputVector([0.1])\nw = dy.inputTensor(np.ones((4, 1)))\n"
CHAIN = """\
emissions = dy.inputTensor([[1., 0., 1.], [0., 2., 0.]])  # a row per tag, a column per step
transitions = dy.inputTensor([[0.5, 0.], [0., 0.5]])
"""
ARCS = "scores = dy.inputTensor([[1., 3.], [0., 2.], [1., 0.]])  # a row per head, the root first; a column per word\n"
SPANS = "scores = dy.inputTensor(np.arange(8.).reshape(2, 2, 2))  # two words, two labels\n"
BATCH = "x = dy.inputTensor([[1., 3.], [2., 6.]], batched=True)\n"

# Functions written by hand in C++, by name; of several comments for one name the second is `name#2`.
WRITTEN = {
    "input": Written("print(dy.scalarInput(2.5).value())\n", ["scalarInput"]),
    # (The Python forms of input read their numbers at once; `set` gives others.)
    "input#2": Written(
        """\
print(dy.inputVector([1., 2., 3.]).dim(), dy.vecInput(4).dim())
print(dy.inputTensor([[1., 2.], [3., 4.]]).npvalue())
print(dy.inputTensor(np.ones((2, 3, 5)), batched=True).dim())
print(dy.inputTensorTranspose([1., 2., 3., 4.], (2, 2)).npvalue())
""",
        ["inputVector", "vecInput", "inputTensor", "inputTensorTranspose"],
        "input",
    ),
    "input#3": Written(
        "print(dy.sparse_inputTensor([[0, 2]], [1., 2.], 4, defval=-1).npvalue())\n",
        ["sparse_inputTensor"],
        "input",
    ),
    "one_hot": Written(
        "print(dy.one_hot(4, 2).npvalue(), dy.one_hot(4, [0, 3]).dim())\n", operation="input"
    ),
    "zeros": Written("print(dy.zeros((2, 3)).npvalue())\n", operation="constant"),
    "ones": Written(
        "print(dy.ones(3).npvalue(), dy.ones(3, batch_size=2).dim())\n", operation="constant"
    ),
    "constant": Written("print(dy.constant(3, 0.5).npvalue())\n"),
    "parameter": Written(
        """\
m = dy.ParameterCollection()
w = m.add_parameters((2, 2), init=0.5)
print(dy.parameter(w).npvalue(), (2 * w).npvalue())  # w is an expression itself
""",
    ),
    "const_parameter": Written(
        """\
w = dy.ParameterCollection().add_parameters(2, init=0.5)
dy.sum_elems(dy.square(w) + dy.const_parameter(w)).backward()
print(w.grad_as_array())
""",
        operation="parameter",
    ),
    "lookup": Written(
        TABLE + "print(dy.lookup(table, 2).npvalue(), dy.lookup_batch(table, [0, 2]).dim())\n",
        ["lookup", "lookup_batch"],
    ),
    "const_lookup": Written(
        TABLE + "print(dy.lookup(table, 1, update=False).npvalue())\n",
        [],
        "lookup",
    ),
    "to_device": Written('print(dy.to_device(dy.inputVector([1., 2.]), "CPU").npvalue())\n'),
    "operator/": Written(
        "x = dy.inputVector([1., 6.])\ny = dy.inputVector([2., 3.])\nprint((x / y).npvalue())\n",
        [],
        "cdiv",
    ),
    "colwise_add": Written(
        MATRIX + "print(dy.colwise_add(x, dy.inputVector([10., 20.])).npvalue())\n", operation="add"
    ),
    "max": Written(VECTORS + "print(dy.emax([x1, x2]).npvalue())\n", ["emax"]),
    "min": Written(VECTORS + "print(dy.emin([x1, x2]).npvalue())\n", ["emin"]),
    "logsumexp": Written(VECTORS + "print(dy.logsumexp([x1, x2]).npvalue())\n"),
    "contract3d_1d_1d": Written(
        """\
x = dy.inputTensor(np.arange(8.).reshape(2, 2, 2))
y = dy.inputVector([1., 0.])
z = dy.inputVector([0., 1.])
print(dy.contract3d_1d_1d(x, y, z).npvalue())
""",
        ["contract3d_1d_1d", "contract3d_1d_1d_bias"],
    ),
    "einsum": Written(
        """\
x = dy.inputTensor([[1., 2.], [3., 4.]])
y = dy.inputVector([1., -1.])
print(dy.einsum("ij,j->i", [x, y]).npvalue())
print(dy.einsum("ij->", [x]).value())
""",
    ),
    "trace_of_product": Written(
        MATRIX + "print(dy.trace_of_product(x, x).value())\n", operation="dot_product"
    ),
    "sum_dim": Written(
        MATRIX + "print(dy.sum_dim(x, [1]).npvalue(), dy.sum_dim(x, [0, 1]).value())\n"
    ),
    "mean_dim": Written(MATRIX + "print(dy.mean_dim(x, [0], False).npvalue())\n"),
    "moment_dim": Written(MATRIX + "print(dy.moment_dim(x, [1], 2, False).npvalue())\n"),
    "std_dim": Written(MATRIX + "print(dy.std_dim(x, [1], False).npvalue())\n"),
    "mean_elems": Written(MATRIX + "print(dy.mean_elems(x).npvalue())\n"),
    "moment_elems": Written(MATRIX + "print(dy.moment_elems(x, 2).npvalue())\n"),
    "std_elems": Written("print(dy.std_elems(dy.inputVector([1., 3.])).value())\n"),
    "mean_batches": Written(BATCH + "print(dy.mean_batches(x).npvalue())\n"),
    "moment_batches": Written(BATCH + "print(dy.moment_batches(x, 2).npvalue())\n"),
    "std_batches": Written(BATCH + "print(dy.std_batches(x).npvalue())\n"),
    "sum_rows": Written(MATRIX + "print(dy.sum_dim(x, [0]).npvalue())\n", []),
    "sum_cols": Written(MATRIX + "print(dy.sum_dim(x, [1]).npvalue())\n", []),
    "average_cols": Written(MATRIX + "print(dy.mean_dim(x, [1], False).npvalue())\n", []),
    "pickrange": Written(
        MATRIX + "print(dy.pickrange(x, 1, 2).npvalue())\n", operation="pick_range"
    ),
    "concatenate_cols": Written(
        VECTORS + "print(dy.concatenate_cols([x1, x2]).npvalue())\n", operation="concatenate"
    ),
    "strided_select": Written(
        MATRIX + "print(dy.strided_select(x, [1, 2], [0, 0], [2, 3]).npvalue())\n"
    ),
    "scatter_add": Written(
        "x = dy.inputVector([1., 2., 4.])\nprint(dy.scatter_add(x, [0, 3, 0], 4).npvalue())\n"
    ),
    "log_softmax": Written(
        "x = dy.inputVector([1., 2., 3.])\nprint(dy.log_softmax(x, restrict=[0, 2]).npvalue())\n",
        operation="restricted_log_softmax",
    ),
    "hinge_dim": Written(MATRIX + "print(dy.hinge_dim(x, [1, 0, 1], 0, m=4).npvalue())\n"),
    "conv2d": Written(
        """\
x = dy.inputTensor(np.arange(9.).reshape(3, 3, 1))
f = dy.inputTensor(np.ones((2, 2, 1, 1)))
print(dy.conv2d(x, f, [1, 1]).npvalue()[:, :, 0])
print(dy.conv2d_bias(x, f, dy.inputVector([100.]), [2, 2], is_valid=False).npvalue()[:, :, 0])
""",
        ["conv2d", "conv2d_bias"],
    ),
    "random_normal": Written("print(dy.random_normal(4, mean=5, stddev=0.1).npvalue())\n"),
    "random_uniform": Written("print(dy.random_uniform(4, -1, 1).npvalue())\n"),
    "random_bernoulli": Written("print(dy.random_bernoulli(8, 0.5, scale=2).npvalue())\n"),
    "random_gumbel": Written("print(dy.random_gumbel((2, 3)).npvalue())\n"),
    "sample_categorical": Written(
        "x = dy.inputVector([1., 2., 3.])\nprint(dy.sample_categorical(x).npvalue())\n"
    ),
    "vanilla_lstm_gates": Written(
        LSTM + "print(dy.vanilla_lstm_gates(x, h, w, w, dy.zeros(4)).npvalue())\n"
    ),
    "vanilla_lstm_gates_concat": Written(
        LSTM
        + "print(dy.vanilla_lstm_gates_concat([x, x], h, dy.concatenate_cols([w, w]), w, dy.zeros(4)).npvalue())\n"
    ),
    "vanilla_lstm_gates_dropout": Written(
        LSTM
        + "print(dy.vanilla_lstm_gates_dropout(x, h, w, w, dy.zeros(4), dy.ones(1), dy.zeros(1)).npvalue())\n"
    ),
    "vanilla_lstm_gates_dropout_concat": Written(
        LSTM
        + """\
both = dy.concatenate_cols([w, w])
mask_x, mask_h = dy.inputVector([1., 0.]), dy.ones(1)
print(dy.vanilla_lstm_gates_dropout_concat([x, x], h, both, w, dy.zeros(4), mask_x, mask_h).npvalue())
"""
    ),
    "crf_log_partition": Written(
        CHAIN + "print(dy.crf_log_partition(emissions, transitions).npvalue())\n"
    ),
    "crf_score": Written(
        CHAIN + "print(dy.crf_score(emissions, transitions, [0, 1, 1]).npvalue())\n"
    ),
    "crf_viterbi": Written(
        CHAIN
        + """\
tags, score = dy.crf_viterbi(emissions, transitions)
print(tags.npvalue(), score.npvalue())
"""
    ),
    "ctc_loss": Written(
        """\
scores = dy.inputTensor([[1., 2., 0.], [2., 0., 1.], [0., 1., 3.]])  # a column per step; class 0 is the blank
print(dy.ctc_loss(dy.log_softmax(scores), [1, 2]).npvalue())
"""
    ),
    "spanning_tree_log_partition": Written(
        ARCS + "print(dy.spanning_tree_log_partition(scores).value())\n"
    ),
    "eisner_log_partition": Written(
        ARCS + "print(dy.eisner_log_partition(scores, single_root=False).value())\n"
    ),
    "tree_score": Written(ARCS + "print(dy.tree_score(scores, [0, 1]).value())\n"),
    "cky_log_partition": Written(SPANS + "print(dy.cky_log_partition(scores).value())\n"),
    "spans_score": Written(
        SPANS + "print(dy.spans_score(scores, [(1, 0, 2), (0, 0, 1), (1, 1, 2)]).value())\n"
    ),
    "segment_sum": Written(
        """\
x = dy.inputTensor([[1., 2., 4.], [5., 3., 1.]])
print(dy.segment_sum(x, [0, 1, 0], 2).npvalue())  # columns 0 and 2 are segment 0
print(dy.segment_mean(x, [0, 1, 0], 2).npvalue())
"""
    ),
    "segment_max": Written(
        """\
x = dy.inputTensor([[1., 2., 4.], [5., 3., 1.]])
print(dy.segment_max(x, [0, 1, 0], 2).npvalue())
"""
    ),
    "segment_softmax": Written(
        """\
x = dy.inputVector([1., 2., 4.])
print(dy.segment_softmax(x, [0, 1, 0], 2, d=0).npvalue())
"""
    ),
    "attention": Written(
        """\
q, k = dy.inputVector([1., 0.]), dy.inputTensor([[2., 0., 9.], [0., 2., 9.]])
v = dy.inputTensor([[1., 2., 3.]])
print(dy.attention(q, k, v, lengths=[2]).npvalue())
"""
    ),
    "gradient": Written(
        """\
x = dy.inputVector([1., 2., 3.])
(g,) = dy.gradient(dy.sum_elems(dy.cube(x)), [x])
print(g.npvalue())
(h,) = dy.gradient(dy.sum_elems(g), [x])
print(h.npvalue())
"""
    ),
    "lookup_sequence": Written(
        TABLE
        + """\
for x in dy.lookup_sequence(table, [2, 0]):
    print(x.npvalue())
print([x.dim() for x in dy.lookup_sequence(table, [[2, 0], [1, 1]])])  # two sequences of two steps
"""
    ),
    "sequence_loss": Written(
        """\
steps = [dy.inputVector([1., 2.]), dy.inputVector([0., 0.]), dy.inputVector([3., 1.])]
print(dy.sequence_loss(dy.concatenate_to_batch(steps), [1, None, 0]).npvalue())
"""
    ),
}

# C++ functions that Python does not have, with their replacements.
ONLY_CPP = {
    "const_lookup": "`lookup(p, index, update=False)`",
    "sum_rows": "`sum_dim(x, [0])`",
    "sum_cols": "`sum_dim(x, [1])`",
    "average_cols": "`mean_dim(x, [1], False)`",
}

# C++ names that mean something else in Python, or stand for several functions there; and the Python names that C++
# does not have, each with the C++ function.
OTHER_NAMES = {
    "esum": "sum: Python has a `sum` of its own, which the star import of old programs must not hide",
    "emax": "max of a list, as `esum`",
    "emin": "min of a list, as `esum`",
    "bmax": "max of two, as `esum`",
    "bmin": "min of two, as `esum`",
    "scalarInput": "input: C++ tells its forms apart by types, Python by names",
    "vecInput": "input, as `scalarInput`",
    "inputVector": "input, as `scalarInput`",
    "vectorInput": "input, as `scalarInput`",
    "inputTensor": "input, as `scalarInput`",
    "inputTensorTranspose": "input, as `scalarInput`",
    "sparse_inputTensor": "input, as `scalarInput`",
    "lookup_batch": "lookup with a list: C++ tells the forms apart by types",
    "pick_batch": "pick with a list, as `lookup_batch`",
    "pickneglogsoftmax_batch": "pickneglogsoftmax with a list, as `lookup_batch`",
    "hinge_batch": "hinge with a list, as `lookup_batch`",
    "cross_entropy_batch": "cross_entropy with a list, as `lookup_batch`",
    "weighted_cross_entropy_batch": "weighted_cross_entropy with a list, as `lookup_batch`",
    "conv2d_bias": "conv2d with a bias: a name of DyNet 2.1",
    "contract3d_1d_bias": "contract3d_1d with a bias, as `conv2d_bias`",
    "contract3d_1d_1d_bias": "contract3d_1d_1d with a bias, as `conv2d_bias`",
    "cwise_multiply": "cmult: a name of DyNet 2.1",
}

# Python functions that make nodes and are on no page of operations, with a line about each.
ELSEWHERE = {
    "apply": "runs an operation that the program has written in Python: `help(dynet.apply)`",
}

# Parameters that have another name in Python, of functions written by hand: key -> C++ name -> Python's.
PYTHON_PARAMETERS = {
    "hinge_dim": {"indices": "v"},
    "log_softmax": {"restriction": "restrict"},
    "strided_select": {"from": "range_from", "to": "range_to"},
    "colwise_add": {"b": "y"},
    "to_device": {"x": "e", "device": "device_str"},
    **{f"{moment}_dim": {"dims": "d"} for moment in ("sum", "moment", "mean", "std")},
    **{f"vanilla_lstm_gates{more}": {"wx": "Wx", "wh": "Wh"} for more in ("", "_concat")},
    **{name: {"d": "dim"} for name in ("zeros", "zeroes", "ones", "constant")},
    **{f"random_{kind}": {"d": "dim"} for kind in ("normal", "bernoulli", "uniform", "gumbel")},
    **{f"segment_{kind}": {"index": "indices"} for kind in ("sum", "mean", "max", "softmax")},
    "scatter_add": {"index": "indices"},
    **{f"{name}Trainer": {"b1": "beta_1", "b2": "beta_2"} for name in ("Adam", "Amsgrad", "Lamb")},
    "LionTrainer": {"b1": "beta_1", "b2": "beta_2"},
    "ComputationGraph.forward": {"last": "index"},
    "CRFBuilder.forbid": {"from": "before", "to": "after"},
    "Parameter.set_value": {"val": "arr"},
    "LookupParameter.initialize": {"index": "i"},
    "RNNBuilder.copy": {"params": "other"},
    "ParameterInitFromVector": {"v": "array"},
    "ParameterInitSaxe": {"gain": "scale"},
    **{
        f"{kind}SoftmaxBuilder": {"rep_dim": "input_dim", "rep": "x", "classidx": "c"}
        for kind in ("", "Standard", "ClassFactored", "Hierarchical", "Adaptive", "Sampled")
    },
}
