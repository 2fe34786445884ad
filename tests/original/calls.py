"""Names of arguments, and the types that arguments may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dynet as dy
import numpy as np
from checked import Case, arrays_of, operand

Function = Callable[..., object]

# By the texts of the arguments x and y, as `checked` reads them.
NAMED: list[tuple[str, dict[str, Function]]] = [
    ("5|5", {
        "cdiv": lambda x, y: dy.cdiv(x=x, y=y),
        "cmult": lambda x, y: dy.cmult(x=x, y=y),
        "dot_product": lambda x, y: dy.dot_product(x=x, y=y),
        "squared_distance": lambda x, y: dy.squared_distance(x=x, y=y),
        "l1_distance": lambda x, y: dy.l1_distance(x=x, y=y),
        "huber_distance": lambda x, y: dy.huber_distance(x=x, y=y, c=2.0),
        "bmin": lambda x, y: dy.bmin(x=x, y=y),
        "bmax": lambda x, y: dy.bmax(x=x, y=y),
        "circ_conv": lambda u, v: dy.circ_conv(u=u, v=v),
        "circ_corr": lambda u, v: dy.circ_corr(u=u, v=v),
        "elu": lambda x, _: dy.elu(x=x, alpha=0.5),
        "silu": lambda x, _: dy.silu(x=x, beta=0.5),
        "scale_gradient": lambda x, _: dy.scale_gradient(x=x, lambd=0.5),
        "round": lambda x, _: dy.round(x=x, gradient_mode="zero_gradient"),
        "argmax": lambda x, _: dy.argmax(x=x, gradient_mode="zero_gradient"),
        "softmax": lambda x, _: dy.softmax(x=x, d=0),
        "log_softmax": lambda x, _: dy.log_softmax(x=x, restrict=None),
        "select_rows": lambda x, _: dy.select_rows(x=x, rs=[0, 2]),
        "cumsum": lambda x, _: dy.cumsum(x=x, d=0),
        "pickneglogsoftmax": lambda x, _: dy.pickneglogsoftmax(x=x, v=1),
        "pickneglogsoftmax_batch": lambda x, _: dy.pickneglogsoftmax_batch(x=x, vs=[1]),
        "hinge": lambda x, _: dy.hinge(x=x, v=1, m=2),
        "hinge_batch": lambda x, _: dy.hinge_batch(x=x, vs=[1], m=2.0),
        "pick": lambda x, _: dy.pick(e=x, index=1, dim=0),
        "pick_batch": lambda x, _: dy.pick_batch(e=x, indices=[1, 2], dim=0),
        "pick_range": lambda x, _: dy.pick_range(x=x, s=1, e=3, d=0),
        "pick_batch_elem": lambda x, _: dy.pick_batch_elem(x=x, v=0),
        "pick_batch_elems": lambda x, _: dy.pick_batch_elems(x=x, vs=[0, 0]),
        "strided_select": lambda x, _: dy.strided_select(x=x, strides=[2], range_from=[0], range_to=[4]),
        "reshape": lambda x, _: dy.reshape(x=x, d=(1, 5), batch_size=1),
        "noise": lambda x, _: dy.noise(x=x, stddev=0.0),
        "dropout": lambda x, _: dy.dropout(x=x, p=0.0),
        "dropout_batch": lambda x, _: dy.dropout_batch(x=x, p=0.0),
        "dropout_dim": lambda x, _: dy.dropout_dim(x=x, d=0, p=0.0),
        "block_dropout": lambda x, _: dy.block_dropout(x=x, p=0.0),
        "max_dim": lambda x, _: dy.max_dim(x=x, d=0),
        "logsumexp_dim": lambda x, _: dy.logsumexp_dim(x=x, d=0),
        "moment_elems": lambda x, _: dy.moment_elems(x=x, r=2),
        "layer_norm": lambda x, g: dy.layer_norm(x=x, g=g, b=g),
        "esum": lambda x, y: dy.esum(xs=[x, y]),
        "average": lambda x, y: dy.average(xs=[x, y]),
        "emax": lambda x, y: dy.emax(xs=[x, y]),
        "logsumexp": lambda x, y: dy.logsumexp(xs=[x, y]),
        "concatenate": lambda x, y: dy.concatenate(xs=[x, y], d=0),
        "concatenate_cols": lambda x, y: dy.concatenate_cols(xs=[x, y]),
        "concatenate_to_batch": lambda x, y: dy.concatenate_to_batch(xs=[x, y]),
        "affine_transform": lambda x, _: dy.affine_transform(exprs=[x]),
    }),
    ("4,6|1", {
        "colwise_add": lambda x, _: dy.colwise_add(x=x, y=dy.ones(4)),
        "weight_norm": lambda w, g: dy.weight_norm(w=w, g=g),
        "filter1d_narrow": lambda x, _: dy.filter1d_narrow(x=x, y=dy.ones((4, 2))),
        "transpose": lambda x, _: dy.transpose(x=x, dims=[1, 0]),
        "select_cols": lambda x, _: dy.select_cols(x=x, cs=[0, 2]),
        "sum_dim": lambda x, _: dy.sum_dim(x=x, d=[0], b=False, n=0),
        "mean_dim": lambda x, _: dy.mean_dim(x=x, d=[0], b=False, n=0),
        "std_dim": lambda x, _: dy.std_dim(x=x, d=[0], b=False, n=0),
        "moment_dim": lambda x, _: dy.moment_dim(x=x, d=[0], r=2, b=False, n=0),
        "fold_rows": lambda x, _: dy.fold_rows(x=x, nrows=2),
        "kmax_pooling": lambda x, _: dy.kmax_pooling(x=x, k=2, d=1),
        "kmh_ngram": lambda x, _: dy.kmh_ngram(x=x, v=2),
        "hinge_dim": lambda x, _: dy.hinge_dim(x=x, v=[0] * 6, d=0, m=1.0),
        "conv2d": lambda x, _: dy.conv2d(x=x, f=dy.ones((2, 2, 1, 1)), stride=[1, 1], is_valid=True),
        "conv2d_bias": lambda x, b: dy.conv2d_bias(x=x, f=dy.ones((2, 2, 1, 1)), b=b, stride=[1, 1], is_valid=False),
        "maxpooling2d": lambda x, _: dy.maxpooling2d(x=x, ksize=[2, 2], stride=[1, 1], is_valid=True),
        "pairwise_rank_loss": lambda _, y: dy.pairwise_rank_loss(x=y, y=y, m=2.0),
        "poisson_loss": lambda _, y: dy.poisson_loss(log_lambda=y, x=2),
        "pow": lambda x, _: dy.pow(x=dy.square(x), y=dy.scalarInput(2.0)),
        "vanilla_lstm_gates": lambda _, x: dy.vanilla_lstm_gates(
            x_t=x, h_tm1=dy.ones(1), Wx=dy.ones((4, 1)), Wh=dy.ones((4, 1)), b=dy.ones(4), weightnoise_std=0.0
        ),
        "vanilla_lstm_c": lambda _, c: dy.vanilla_lstm_c(c_tm1=c, gates_t=dy.ones(4)),
        "vanilla_lstm_h": lambda _, c: dy.vanilla_lstm_h(c_t=c, gates_t=dy.ones(4)),
        "contract3d_1d_bias": lambda _, y: dy.contract3d_1d_bias(x=dy.ones((2, 3, 1)), y=y, b=dy.ones((2, 3))),
        "contract3d_1d_1d": lambda _, y: dy.contract3d_1d_1d(x=dy.ones((2, 3, 1)), y=y, z=dy.ones(3)),
    }),
]  # fmt: skip

TYPES: dict[str, Function] = {
    "x * np.float64": lambda x: x * np.float64(2),
    "x + True": lambda x: x + True,
    "pick of np.int64": lambda x: dy.pick(x, np.int64(2)),
    "pick of np.float64": lambda x: dy.pick(x, np.float64(2.0)),
    "pick of True": lambda x: dy.pick(x, True),
    "x[True]": lambda x: x[True],
    "classes in an array": lambda x: dy.pickneglogsoftmax_batch(x, np.array([3])),
    "classes in a tuple": lambda x: dy.pickneglogsoftmax_batch(x, (3,)),
    "indices in an array": lambda x: dy.pick_batch(x, np.array([0, 4, 1])),
    "rows in a tuple": lambda x: dy.select_rows(x, (1, 1)),
    "an integer as margin": lambda x: dy.hinge(x, 1, 2),
    "np.float32 as margin": lambda x: dy.hinge(x, 1, np.float32(0.5)),
    "np.float32 as rate": lambda x: dy.dropout(x, np.float32(0.0)),
    "an integer as stddev": lambda x: dy.noise(x, 0),
    "a row of a set": lambda x: x * len({x, x}),
    "x += 1": lambda x: add_to(x),
    "x if x in [x]": lambda x: x if x in [x] else -x,
    "dims of floats": lambda _: dy.zeros((2.0, 3)),
    "dims of np.int64": lambda _: dy.zeros((np.int64(2), 3)),
    "one_hot of a tuple": lambda _: dy.one_hot(4, (1, 2)),
    "one_hot of an array": lambda _: dy.one_hot(4, np.array([1, 2])),
    "inputVector of a tuple": lambda _: dy.inputVector((1, 2)),
    "inputTensor of bools": lambda _: dy.inputTensor(np.array([True, False])),
    "scalarInput of np.float32": lambda _: dy.scalarInput(np.float32(2)),
    "scalarInput of True": lambda _: dy.scalarInput(True),
}


def add_to(x: object) -> object:
    x += 1
    return x


def called(function: Function, texts: list[str]) -> object:
    dy.renew_cg()
    m = dy.ParameterCollection()
    y = function(*[operand(m, arrays_of(text, i))[1] for i, text in enumerate(texts)])
    return [y.dim(), y.npvalue()]


def classes() -> object:
    """Each kind of expression is an Expression."""
    dy.renew_cg()
    m = dy.ParameterCollection()
    p, table = m.add_parameters(2), m.add_lookup_parameters((3, 2))
    x = dy.inputVector([1.0, 2.0])
    kinds = (
        dy.scalarInput(1),
        x,
        dy.vecInput(2),
        dy.inputTensor([1.0]),
        dy.pick(x, 0),
        x[0],
        table[1],
        p,
        table,
    )
    return [isinstance(kind, dy.Expression) for kind in kinds]


def cases() -> Iterable[Case]:
    for texts, functions in NAMED:
        for name, function in functions.items():
            yield f"names of {name}", lambda f=function, t=texts: called(f, t.split("|"))
    for name, function in TYPES.items():
        yield name, lambda f=function: called(f, ["5"])
    yield "kinds of expressions", classes
