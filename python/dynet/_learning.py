"""A look at gradients, for models that do not learn."""

from __future__ import annotations

from _dynet import ParameterCollection

from ._told import Refused, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@told
def gradient_norms(model: ParameterCollection) -> dict[str, float]:
    """The length of each parameter's gradient, by the parameter's name.

    Gradients are there between `backward` and `update`, which empties them. The loss does not
    depend on a parameter with a norm of 0. A norm that is many times as large as others often
    belongs to inputs of another scale. The gradient of a lookup table counts as one.
    """
    if not isinstance(model, ParameterCollection):
        raise Refused
    parameters: list[Any] = [*model.parameters_list(), *model.lookup_parameters_list()]
    norms = {}
    for parameter in parameters:
        numbers = parameter.grad_as_array().ravel()
        norms[parameter.name()] = float(numbers @ numbers) ** 0.5
    return norms
