"""Wrong calls: an error here is one that a program for the other library catches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case, arrays_of, operand

Function = Callable[..., object]

# The text of each argument, as `checked` reads it, and the calls that are wrong for them.
WRONG: list[tuple[str, dict[str, Function]]] = [
    ("5|3", {
        "x + y": lambda x, y: x + y,
        "x - y": lambda x, y: x - y,
        "cmult": dy.cmult,
        "cdiv": dy.cdiv,
        "bmin": dy.bmin,
        "bmax": dy.bmax,
        "emax": lambda x, y: dy.emax([x, y]),
        "esum": lambda x, y: dy.esum([x, y]),
        "average": lambda x, y: dy.average([x, y]),
        "logsumexp": lambda x, y: dy.logsumexp([x, y]),
        "dot_product": dy.dot_product,
        "squared_distance": dy.squared_distance,
        "l1_distance": dy.l1_distance,
        "huber_distance": dy.huber_distance,
        "binary_log_loss": dy.binary_log_loss,
        "trace_of_product": dy.trace_of_product,
        "circ_conv": dy.circ_conv,
        "circ_corr": dy.circ_corr,
        "concatenate_to_batch": lambda x, y: dy.concatenate_to_batch([x, y]),
        "concatenate_cols": lambda x, y: dy.concatenate_cols([x, y]),
        "pow": dy.pow,
        "x * y": lambda x, y: x * y,
        "layer_norm": lambda x, y: dy.layer_norm(x, y, y),
        "weight_norm": dy.weight_norm,
        "pairwise_rank_loss": dy.pairwise_rank_loss,
        "vanilla_lstm_c": dy.vanilla_lstm_c,
        "vanilla_lstm_h": dy.vanilla_lstm_h,
        "contract3d_1d": dy.contract3d_1d,
    }),
    ("5|5", {
        "pairwise_rank_loss of columns": dy.pairwise_rank_loss,
        "colwise_add of a vector": dy.colwise_add,
        "x * y of vectors": lambda x, y: x * y,
    }),
    ("3,4|3,4", {
        "x * y of matrices": lambda x, y: x * y,
        "circ_conv of matrices": dy.circ_conv,
        "affine_transform of wrong columns": lambda x, y: dy.affine_transform([x, y, x]),
        "constrained_softmax of matrices": dy.constrained_softmax,
        "contract3d_1d of matrices": dy.contract3d_1d,
        "weight_norm of matrices": dy.weight_norm,
    }),
    ("3,4|4", {
        "cdiv with a missing row": dy.cdiv,
        "cdiv, left too small": lambda x, y: dy.cdiv(y, x),
        "affine_transform of two": lambda x, y: dy.affine_transform([x, y]),
        "affine_transform with a wrong bias": lambda x, y: dy.affine_transform([y, x, y]),
        "colwise_add of rows": dy.colwise_add,
        "concatenate of other columns": lambda x, y: dy.concatenate([x, y]),
        "concatenate_cols of other rows": lambda x, y: dy.concatenate_cols([x, y]),
        "filter1d_narrow of other rows": dy.filter1d_narrow,
    }),
    ("2,3,2|2", {
        "x * y of three dimensions": lambda x, y: x * y,
        "softmax of three dimensions": lambda x, _: dy.softmax(x),
        "log_softmax of three dimensions": lambda x, _: dy.log_softmax(x),
        "select_cols of three dimensions": lambda x, _: dy.select_cols(x, [0]),
        "hinge of three dimensions": lambda x, _: dy.hinge(x, 0),
        "argmax of three dimensions": lambda x, _: dy.argmax(x, "zero_gradient"),
        "sum_dim d=3 of three dimensions": lambda x, _: dy.sum_dim(x, [3]),
        "fold_rows of three dimensions, nrows=4": lambda x, _: dy.fold_rows(x, 4),
        "contract3d_1d of another length": lambda x, y: dy.contract3d_1d_bias(x, dy.concatenate([y, y]), y),
    }),
    ("3,4|1", {
        "softmax d=2": lambda x, _: dy.softmax(x, 2),
        "pickneglogsoftmax of a matrix": lambda x, _: dy.pickneglogsoftmax(x, 0),
        "pickneglogsoftmax_batch of a matrix": lambda x, _: dy.pickneglogsoftmax_batch(x, [0]),
        "hinge of a matrix": lambda x, _: dy.hinge(x, 0),
        "sparsemax of a matrix": lambda x, _: dy.sparsemax(x),
        "log_softmax restrict of a matrix": lambda x, _: dy.log_softmax(x, [0]),
        "argmax of a matrix": lambda x, _: dy.argmax(x, "zero_gradient"),
        "hinge_dim with too few classes": lambda x, _: dy.hinge_dim(x, [0, 1]),
        "hinge_dim d=1 with too many classes": lambda x, _: dy.hinge_dim(x, [0, 1, 2, 0], 1),
        "hinge_dim of class 3 of 3": lambda x, _: dy.hinge_dim(x, [0, 1, 3, 0]),
        "reshape": lambda x, _: dy.reshape(x, (5, 2)),
        "transpose of one dimension": lambda x, _: dy.transpose(x, [0]),
        "transpose of three dimensions": lambda x, _: dy.transpose(x, [0, 1, 2]),
        "pick 3 of 3": lambda x, _: dy.pick(x, 3),
        "pick dim=2": lambda x, _: dy.pick(x, 0, 2),
        "pick 4 of 4, dim=1": lambda x, _: dy.pick(x, 4, 1),
        "pick -1": lambda x, _: dy.pick(x, -1),
        "pick 1.5": lambda x, _: dy.pick(x, 1.5),
        "pick_range 2 2": lambda x, _: dy.pick_range(x, 2, 2),
        "pick_range 2 1": lambda x, _: dy.pick_range(x, 2, 1),
        "pick_range 0 4": lambda x, _: dy.pick_range(x, 0, 4),
        "pick_range d=2": lambda x, _: dy.pick_range(x, 0, 1, 2),
        "select_rows 3 of 3": lambda x, _: dy.select_rows(x, [0, 3]),
        "select_cols 4 of 4": lambda x, _: dy.select_cols(x, [4]),
        "pick_batch_elem 1 of 1": lambda x, _: dy.pick_batch_elem(x, 1),
        "pick_batch_elems 1 of 1": lambda x, _: dy.pick_batch_elems(x, [0, 1]),
        "pick_batch 3 of 3": lambda x, _: dy.pick_batch(x, [0, 3]),
        "strided_select of stride 0": lambda x, _: dy.strided_select(x, [0], [0], [3]),
        "strided_select from 3 of 3": lambda x, _: dy.strided_select(x, [1], [3], [3]),
        "strided_select to 4 of 3": lambda x, _: dy.strided_select(x, [1], [0], [4]),
        "x[3]": lambda x, _: x[3],
        "x[-4]": lambda x, _: x[-4],
        "x[0:4]": lambda x, _: x[0:4],
        "x[-1:]": lambda x, _: x[-1:],
        "x[::0]": lambda x, _: x[::0],
        "x[::-1]": lambda x, _: x[::-1],
        "x['a']": lambda x, _: x["a"],
        "x[1.5]": lambda x, _: x[1.5],
        "x[0, 1]": lambda x, _: x[0, 1],
        "x[None]": lambda x, _: x[None],
        "max_dim d=2": lambda x, _: dy.max_dim(x, 2),
        "min_dim d=2": lambda x, _: dy.min_dim(x, 2),
        "sum_dim [2]": lambda x, _: dy.sum_dim(x, [2]),
        "mean_dim [2]": lambda x, _: dy.mean_dim(x, [2], False),
        "mean_dim []": lambda x, _: dy.mean_dim(x, [], False),
        "std_dim [2]": lambda x, _: dy.std_dim(x, [2], False),
        "moment_dim r=0": lambda x, _: dy.moment_dim(x, [0], 0, False),
        "moment_elems r=0": lambda x, _: dy.moment_elems(x, 0),
        "logsumexp_dim d=2": lambda x, _: dy.logsumexp_dim(x, 2),
        "kmax_pooling k=5 of 4": lambda x, _: dy.kmax_pooling(x, 5),
        "kmax_pooling k=0": lambda x, _: dy.kmax_pooling(x, 0),
        "kmax_pooling d=2": lambda x, _: dy.kmax_pooling(x, 1, 2),
        "fold_rows 2 of 3": lambda x, _: dy.fold_rows(x),
        "kmh_ngram 5 of 4": lambda x, _: dy.kmh_ngram(x, 5),
        "conv2d of a matrix": lambda x, _: dy.conv2d(x, x, [1, 1]),
        "conv2d of other channels": lambda x, _: dy.conv2d(x, dy.zeros((2, 2, 2, 1)), [1, 1]),
        "conv2d of a filter that is too large": lambda x, _: dy.conv2d(x, dy.zeros((4, 2, 1, 1)), [1, 1]),
        "maxpooling2d of a window that is too large": lambda x, _: dy.maxpooling2d(x, [4, 2], [1, 1]),
        "conv2d_bias of another length": lambda x, b: dy.conv2d_bias(x, dy.zeros((2, 2, 1, 2)), b, [1, 1]),
        "dropout_dim d=2": lambda x, _: dy.dropout_dim(x, 2, 0.5),
        "block_dropout 1.5": lambda x, _: dy.block_dropout(x, 1.5),
        "block_dropout -0.5": lambda x, _: dy.block_dropout(x, -0.5),
        "round of another mode": lambda x, _: dy.round(x, "other"),
        "round without a mode": lambda x, _: dy.round(x),
        "ceil of another mode": lambda x, _: dy.ceil(x, "other"),
        "argmax of another mode": lambda x, _: dy.argmax(x, "other"),
        "to_device of no device": lambda x, _: dy.to_device(x, "GPU:7"),
        "backward of a matrix": lambda x, _: x.backward(),
        "gradient before backward": lambda x, _: x.gradient(),
        "poisson_loss of a matrix": lambda x, _: dy.poisson_loss(x, 1),
        "x / y": lambda x, y: x / y,
        "x / text": lambda x, _: x / "a",
        "x + text": lambda x, _: x + "a",
        "x + None": lambda x, _: x + None,
        "x ** text": lambda x, _: x ** "a",
        "tanh of a number": lambda _x, _y: dy.tanh(1.5),
        "tanh of a list": lambda x, _: dy.tanh([x]),
        "tanh of nothing": lambda _x, _y: dy.tanh(),
        "tanh of two": dy.tanh,
        "cmult with a number": lambda x, _: dy.cmult(x, 2.0),
        "esum of an expression": lambda x, _: dy.esum(x),
        "len": lambda x, _: len(x),
    }),
    ("5|1", {
        "pickneglogsoftmax 5 of 5": lambda x, _: dy.pickneglogsoftmax(x, 5),
        "pickneglogsoftmax -1": lambda x, _: dy.pickneglogsoftmax(x, -1),
        "pickneglogsoftmax 1.5": lambda x, _: dy.pickneglogsoftmax(x, 1.5),
        "pickneglogsoftmax of a list": lambda x, _: dy.pickneglogsoftmax(x, [1]),
        "pickneglogsoftmax_batch of an int": lambda x, _: dy.pickneglogsoftmax_batch(x, 1),
        "hinge 5 of 5": lambda x, _: dy.hinge(x, 5),
        "hinge m=-1": lambda x, _: dy.hinge(x, 1, -1.0),
        "hinge_batch of too many": lambda x, _: dy.hinge_batch(x, [1, 2]),
        "log_softmax restrict=[]": lambda x, _: dy.log_softmax(x, []),
        "select_cols of a vector": lambda x, _: dy.select_cols(x, [0]),
        "kmh_ngram of a vector": lambda x, _: dy.kmh_ngram(x, 2),
        "filter1d_narrow of a vector": lambda x, _: dy.filter1d_narrow(x, x),
        "logdet of a vector": lambda x, _: dy.logdet(x),
    }),
    ("5x3|1", {
        "pickneglogsoftmax of a batch": lambda x, _: dy.pickneglogsoftmax(x, 1),
        "pickneglogsoftmax_batch of too few": lambda x, _: dy.pickneglogsoftmax_batch(x, [0, 1]),
        "pickneglogsoftmax_batch 5 of 5": lambda x, _: dy.pickneglogsoftmax_batch(x, [0, 1, 5]),
        "hinge of a batch": lambda x, _: dy.hinge(x, 1),
        "hinge_batch of too few": lambda x, _: dy.hinge_batch(x, [0, 1]),
        "pick_batch of too few": lambda x, _: dy.pick_batch(x, [0, 1]),
        "pick_batch_elem 3 of 3": lambda x, _: dy.pick_batch_elem(x, 3),
        "pick_batch_elems 3 of 3": lambda x, _: dy.pick_batch_elems(x, [0, 3]),
        "x + y of other batches": lambda x, _: x + dy.inputTensor(np.ones((5, 2)), batched=True),
        "cmult of other batches": lambda x, _: dy.cmult(x, dy.inputTensor(np.ones((5, 2)), batched=True)),
        "reshape into other batches": lambda x, _: dy.reshape(x, (5,), 2),
        "backward of a batch": lambda x, _: dy.sum_elems(x).backward(),
        "pick 9 of 5": lambda x, _: dy.pick(x, 9),
    }),
]  # fmt: skip

# Calls that need no argument.
ALONE: dict[str, Function] = {
    "esum of nothing": lambda: dy.esum([]),
    "average of nothing": lambda: dy.average([]),
    "emax of nothing": lambda: dy.emax([]),
    "logsumexp of nothing": lambda: dy.logsumexp([]),
    "concatenate of nothing": lambda: dy.concatenate([]),
    "concatenate_cols of nothing": lambda: dy.concatenate_cols([]),
    "concatenate_to_batch of nothing": lambda: dy.concatenate_to_batch([]),
    "affine_transform of nothing": lambda: dy.affine_transform([]),
    "inputTensor of a text": lambda: dy.inputTensor("abc"),
    "inputTensor of a dict": lambda: dy.inputTensor({}),
    "inputTensor.set without reusable_expr": lambda: dy.inputTensor(np.ones(3)).set(
        [1.0, 2.0, 3.0]
    ),
    "inputVector of text": lambda: dy.inputVector("abc"),
    "inputVector of texts": lambda: dy.inputVector(["a", "b"]),
    "inputVector of a number": lambda: dy.inputVector(3.0),
    "scalarInput of a text": lambda: dy.scalarInput("a"),
    "scalarInput of a list": lambda: dy.scalarInput([1.0]),
    "inputTensorTranspose of too few": lambda: dy.inputTensorTranspose([1, 2, 3], (2, 2)),
    "sparse_inputTensor of other lengths": lambda: dy.sparse_inputTensor(
        [[0, 1]], np.array([1.0]), (4,)
    ),
    "sparse_inputTensor of a matrix": lambda: dy.sparse_inputTensor(
        [[0, 1]], np.ones((2, 1)), (4,)
    ),
    "sparse_inputTensor of too few axes": lambda: dy.sparse_inputTensor(
        [[0, 1]], np.ones(2), (4, 2)
    ),
    "matInput": lambda: dy.matInput(2, 3),
    "inputMatrix": lambda: dy.inputMatrix([1, 2], (2, 1)),
    "random_gumbel mu=1": lambda: dy.random_gumbel((3,), mu=1.0),
    "zeros of nothing": lambda: dy.zeros(),
    "zeros of a text": lambda: dy.zeros("a"),
    "Expression()": lambda: dy.Expression(),
    "lookup 5 of 5": lambda: dy.lookup(rows(), 5),
    "lookup -1": lambda: dy.lookup(rows(), -1),
    "lookup of a text": lambda: dy.lookup(rows(), "a"),
    "p[5] of 5": lambda: rows()[5],
    "lookup_batch of 5 of 5": lambda: dy.lookup_batch(rows(), [0, 5]),
    "lookup_batch of an int": lambda: dy.lookup_batch(rows(), 1),
    "lookup in a matrix": lambda: dy.lookup(dy.inputTensor(np.ones((2, 3))), 1),
    "add_parameters of a text": lambda: dy.ParameterCollection().add_parameters("a"),
    "add_parameters with another init": lambda: dy.ParameterCollection().add_parameters(
        3, init="other"
    ),
    "set_value of another shape": lambda: (
        dy.ParameterCollection().add_parameters((2, 3)).set_value(np.ones((3, 2)))
    ),
    "init_from_array of too many rows": lambda: rows().init_from_array(np.ones((6, 3))),
    "init_from_array of another width": lambda: rows().init_from_array(np.ones((5, 2))),
}

kept: list[object] = []  # collections of the tables: the tables of 2.1 do not keep them


def rows() -> object:
    m = dy.ParameterCollection()
    kept.append(m)
    return m.lookup_parameters_from_numpy(np.ones((5, 3)))


def refused(function: Function, texts: list[str]) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    x = function(*[operand(m, arrays_of(text, i))[1] for i, text in enumerate(texts)])
    return x.npvalue() if isinstance(x, dy.Expression) else str(x)


def cases() -> Iterable[Case]:
    for texts, functions in WRONG:
        for name, function in functions.items():
            yield name, lambda f=function, t=texts: refused(f, t.split("|"))
    for name, function in ALONE.items():
        yield name, lambda f=function: refused(f, [])
