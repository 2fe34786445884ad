"""Names of PyTorch that differ here, with their replacements.

The table is the source of three things: the error for each name, the section "Names" of
docs/coming-from-pytorch.md, and results of the site's search. A name that this library has too does
not stand here. A test checks that, and that the names on the right exist.
"""

from __future__ import annotations

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

PAGE = "docs/coming-from-pytorch.md"

#: Functions and classes of torch, torch.nn, torch.nn.functional and torch.optim, with their
#: replacements here.
FUNCTIONS = {
    "Adam": "AdamTrainer(model)",
    "AdamW": "AdamWTrainer(model)",
    "Adagrad": "AdagradTrainer(model)",
    "BCELoss": "binary_log_loss(x, y)",
    "Conv1d": "conv2d(x, filter, stride) with one row",
    "Conv2d": "conv2d(x, filter, stride)",
    "CrossEntropyLoss": "pickneglogsoftmax(scores, label)",
    "DataLoader": "bucketed(examples, size)",
    "Embedding": "model.add_lookup_parameters((rows, size))",
    "GRU": "GRUBuilder(layers, input_dim, hidden_dim, model, reset_after=True)",
    "L1Loss": "l1_distance(x, y)",
    "LSTM": "VanillaLSTMBuilder(layers, input_dim, hidden_dim, model)",
    "LayerNorm": "layer_norm(x, gain, bias)",
    "Linear": "W, b = model.add_parameters((m, n)), model.add_parameters(m); W * x + b",
    "MSELoss": "squared_distance(x, y)",
    "Module": "ParameterCollection(); a class needs no base",
    "MultiheadAttention": "MultiHeadAttentionBuilder(dim, heads, model)",
    "NLLLoss": "pickneglogsoftmax(scores, label), from scores",
    "Parameter": "model.add_parameters(shape)",
    "RNN": "SimpleRNNBuilder(layers, input_dim, hidden_dim, model)",
    "SGD": "SimpleSGDTrainer(model, learning_rate)",
    "bmm": "batch_matmul(x, y)",
    "cat": "concatenate([x, y])",
    "clamp": "clip(x, low, high)",
    "cosine_embedding_loss": "1 - cosine_similarity(x, y)",
    "device": "the argument device of parameters and inputs: a device of --dynet-devices",
    "flatten": "reshape(x, shape)",
    "from_numpy": "inputTensor(array)",
    "hstack": "concatenate_cols([x, y])",
    "index_select": "select_rows(x, rows) or select_cols(x, cols)",
    "manual_seed": "reset_random_seed(seed)",
    "masked_fill": "where(condition, x, y)",
    "matmul": "W * x",
    "mean": "mean_elems(x), mean_dim(x, [d], b) or average([x, y])",
    "mm": "x * y",
    "mse_loss": "squared_distance(x, y)",
    "mul": "cmult(x, y)",
    "nll_loss": "pickneglogsoftmax(scores, label), from scores",
    "norm": "l2_norm(x)",
    "optim": "the trainers, such as AdamTrainer(model)",
    "permute": "transpose(x, dims)",
    "relu": "rectify(x)",
    "scatter": "scatter_add(x, index, n)",
    "sigmoid": "logistic(x)",
    "squeeze": "reshape(x, shape)",
    "stack": "concatenate_cols([x, y]), or concatenate_to_batch([x, y])",
    "std": "std_elems(x) or std_dim(x, [d], b)",
    "tensor": "inputTensor(array)",
    "unsqueeze": "reshape(x, shape)",
    "var": "square(std_elems(x))",
    "vstack": "concatenate([x, y])",
}

#: Attributes and methods, by the class here.
METHODS = {
    "Expression": {
        "T": "transpose(x)",
        "clamp": "clip(x, low, high)",
        "clone": "x itself: an expression does not change",
        "cpu": "to_device(x, 'CPU')",
        "cuda": "to_device(x, device), with a device of --dynet-devices",
        "data": "x.npvalue()",
        "detach": "nobackprop(x)",
        "exp": "exp(x)",
        "flatten": "reshape(x, shape)",
        "grad": "x.gradient()",
        "item": "x.value()",
        "log": "log(x)",
        "matmul": "x * y",
        "mean": "mean_elems(x) or mean_dim(x, [d], b)",
        "permute": "transpose(x, dims)",
        "requires_grad": "nobackprop(x); parameters have set_updated",
        "shape": "x.dim(), the extents and the batch size",
        "sigmoid": "logistic(x)",
        "size": "x.dim(), the extents and the batch size",
        "squeeze": "reshape(x, shape)",
        "std": "std_elems(x) or std_dim(x, [d], b)",
        "sum": "sum_elems(x) or sum_dim(x, [d], b)",
        "tanh": "tanh(x)",
        "to": "to_device(x, device)",
        "tolist": "x.vec_value()",
        "transpose": "transpose(x)",
        "unsqueeze": "reshape(x, shape)",
        "view": "reshape(x, shape)",
    },
    "Trainer": {
        "param_groups": "learning_rate and the other attributes of the trainer",
        "state_dict": "a Checkpointer, which saves model and trainer",
        "step": "update()",
        "zero_grad": "update() itself, which empties the gradients",
    },
    "ParameterCollection": {
        "cuda": "add_parameters(shape, device=device), or the option --dynet-devices",
        "eval": "with evaluating(): around the evaluation",
        "load_state_dict": "populate(file); dynet.from_torch for weights of PyTorch",
        "parameters": "parameters_list() and lookup_parameters_list()",
        "state_dict": "save(file); dynet.to_torch for PyTorch",
        "to": "add_parameters(shape, device=device)",
        "train": "no call: dropout is off within evaluating() alone",
        "zero_grad": "reset_gradient()",
    },
    "Parameters": {
        "data": "as_array(), and set_value(array)",
        "grad": "grad_as_array()",
        "requires_grad": "is_updated() and set_updated(flag)",
        "requires_grad_": "set_updated(flag)",
    },
    "LookupParameters": {
        "data": "as_array(), and init_from_array(array)",
        "grad": "grad_as_array()",
        "requires_grad": "is_updated() and set_updated(flag)",
        "requires_grad_": "set_updated(flag)",
        "weight": "as_array()",
    },
}


def _error(what: str, ours: str) -> AttributeError:
    return AttributeError(f"{what}; here that is {ours} ({PAGE})")


class Elsewhere:
    """Stands in the module for a function or a class that has another name here. Raises an
    AttributeError if called or made the base of a class."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _fail(self, *_: object, **__: object) -> NoReturn:
        raise _error(f"dynet has no {self._name!r}, a name of PyTorch", FUNCTIONS[self._name])

    __call__ = __mro_entries__ = _fail

    def __getattr__(self, name: str) -> NoReturn:  # torch.optim.Adam, torch.device.type
        if name.startswith("__"):
            raise AttributeError(name)
        self._fail()

    def __repr__(self) -> str:
        return f"<PyTorch's {self._name}, here {FUNCTIONS[self._name]}>"


class Absent(property):
    """An attribute whose error names the replacement. `hasattr` stays false."""

    def __init__(self, kind: str, name: str, ours: str) -> None:
        def fail(_: object) -> NoReturn:
            raise _error(f"{kind} has no attribute {name!r}, a name of PyTorch", ours)

        super().__init__(fail)


def functions(names: dict[str, object]) -> dict[str, Elsewhere]:
    """Stand-ins in a module with `names` for functions that the module lacks."""
    return {name: Elsewhere(name) for name in FUNCTIONS if name not in names}


def add_attributes() -> None:
    """Gives the classes their missing names. Parameters are expressions, with own words."""
    for kind, names in METHODS.items():
        of = getattr(_dynet, kind)
        for name, ours in names.items():
            if isinstance(getattr(of, name, None), (Absent, type(None))):
                setattr(of, name, Absent(kind, name, ours))


def rows() -> Iterator[str]:
    """The section "Names" of the page."""
    yield "| PyTorch | here |"
    yield "|---|---|"
    for name, ours in sorted(FUNCTIONS.items(), key=lambda item: item[0].lower()):
        yield f"| `{name}` | `{ours}` |"
    for kind, names in METHODS.items():
        for name, ours in names.items():
            yield f"| `{name}` of {_OBJECTS[kind]} | `{ours}` |"


_OBJECTS = {
    "Expression": "a tensor",
    "Trainer": "an optimizer",
    "ParameterCollection": "a module",
    "Parameters": "a parameter",
    "LookupParameters": "an embedding",
}
