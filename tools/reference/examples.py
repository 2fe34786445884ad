"""Examples: a few lines of Python for each entry, and their output.

Examples of an operation come from its own ``examples()`` (ext/op.h): shapes, attributes and payload
are the example's, the numbers a fixed sequence in its range.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
from typing import Any

import numpy as np
from python_side import SYMBOLS

# The head of each page's first example.
PRELUDE = """\
import dynet as dy
import numpy as np

np.set_printoptions(precision=4, suppress=True)
"""
# Also before the examples of operations that draw numbers: the same ones each time.
SEED = "dy.renew_cg()\ndy.reset_random_seed(4)\n"


def numbers(count: int, first: int, low: float, high: float) -> list[float]:
    """Numbers that lie all over [low, high], round ones if there is room."""
    step = 0.25 if high - low >= 1.5 else 0.05
    result = []
    for k in range(first, first + count):
        share = (0.66 + 0.618034 * k) % 1.0
        number = round((low + share * (high - low)) / step) * step
        result.append(round(min(max(number, math.ceil(low / step) * step), high), 6))
    return result


def literal(values: np.ndarray) -> str:
    text = str(values.tolist())
    return re.sub(r"\.0(?=[,\]])", ".", text)


def input_text(shape: tuple[int, ...], values: list[float], batched: bool) -> str:
    if batched:
        array = np.array(values).reshape((*shape, 2), order="F")
        return f"dy.inputTensor({literal(array)}, batched=True)"
    if shape == (1,):
        return f"dy.scalarInput({values[0]:g})"
    if len(shape) == 1:
        return f"dy.inputVector({literal(np.array(values))})"
    return f"dy.inputTensor({literal(np.array(values).reshape(shape, order='F'))})"


# Attributes that choose a dimension.
AXES = ("d", "dim", "dims")


def is_batched(op: dict[str, Any]) -> bool:
    """Whether the example gets a batch of two, if it says nothing itself."""
    return ("whole" in op["roles"] and op["kind"] != "view") or "x[e]" in op["formula"]


def faults(op: dict[str, Any], example: dict[str, Any], defaults: dict[str, Any]) -> int:
    """The faults that make an example hard to read, or let it show little: absent arguments, too
    many numbers or too few, many dimensions or, for a choice of one, few; attributes with their
    default."""
    total = 10 if op["variadic"] and len(example["inputs"]) == 1 else 0
    attributes = example["attrs"]
    for shape in example["inputs"]:
        size = math.prod(shape) * (2 if is_batched(op) else 1)
        if not shape or size == 0:
            total += 100
            continue
        total += (
            5 * (math.prod(shape) == 1) + 3 * (size > 9) + 10 * (size > 16) + 6 * (len(shape) > 2)
        )
        total += 7 * (len(shape) > 1 and 1 in shape)
        total += 4 * (len(shape) == 1 and any(a in AXES for a in attributes))
    for name, value in attributes.items():
        total += 2 * (value == defaults.get(name))
        total += 6 * (name not in AXES and value in (0, 1) and value != defaults.get(name))
    indices = example["indices"]
    total += 3 * (len(indices) > 1 and (indices == sorted(indices) or len(set(indices)) == 1))
    return total


def argument_names(op: dict[str, Any], count: int) -> list[str]:
    if op["variadic"]:
        return [f"x{k + 1}" for k in range(count)]
    return list(op["args"])


def call_text(
    op: dict[str, Any], example: dict[str, Any], names: list[str], defaults: dict[str, Any]
) -> str:
    payload = example["indices"] or example["values"]
    if op["python"] == "-" and op["mirrored"]:
        return f"{payload[0]:g} {SYMBOLS[op['mirrored']]} {names[0]}"
    if op["python"] in SYMBOLS:
        symbol = SYMBOLS[op["python"]]
        if op["python"] == "__neg__":
            return f"-{names[0]}"
        return f"{names[0]} {symbol} " + (f"{payload[0]:g}" if payload else names[1])
    arguments = [f"[{', '.join(names)}]"] if op["variadic"] else list(names)
    function = op["python"]
    if function == "-":
        function = op["python_batch"]
        arguments.append(str(payload))
    elif op["payload"]:
        arguments.append(f"{payload[0]:g}")
    for name, value in example["attrs"].items():
        if value == defaults.get(name):
            continue
        shown = f"{value:g}" if isinstance(value, float) else repr(value)
        arguments.append(f"{name}={shown}")
    return f"dy.{function}({', '.join(arguments)})"


def operation_example(op: dict[str, Any], defaults: dict[str, Any]) -> str:
    """The least faulty example that prints something else than zeros."""
    examples = sorted(op["examples"], key=lambda e: faults(op, e, defaults))
    texts = [example_text(op, e, defaults) for e in examples]
    return next((t for t in texts if re.search("[1-9]", run([t])[0])), texts[0])


def example_text(op: dict[str, Any], example: dict[str, Any], defaults: dict[str, Any]) -> str:
    batched = is_batched(op)
    names = argument_names(op, len(example["inputs"]))
    lines, used = [], 0
    for k, (name, shape) in enumerate(zip(names, example["inputs"])):
        if not shape:
            names[k] = "None"
            continue
        count = math.prod(shape) * (2 if batched else 1)
        values = numbers(count, used, example["low"], example["high"])
        used += count
        lines.append(f"{name} = {input_text(tuple(shape), values, batched)}\n")
    call = call_text(op, example, names, defaults)
    if op["outputs"] > 1:
        lines.append(f"for y in {call}:\n    print(y.npvalue())\n")
    elif op["true_gradient"]:
        lines.append(f"print(({call}).npvalue())\n" if " " in call.split("(")[0] or call[0] == "-"
                     else f"print({call}.npvalue())\n")  # fmt: skip
    else:
        lines.append(f"y = {call}\nprint(y.npvalue())\n")
        lines.append("dy.sum_elems(y).backward(full=True)\n")
        lines.append(f"print({names[0]}.gradient())\n")
    return (SEED if op["random"] else "") + "".join(lines)


def run(blocks: list[str]) -> list[str]:
    """The outputs of the blocks of a page, run one after the other."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    with np.printoptions():  # as they were, afterwards
        exec(PRELUDE, names)
        for block in blocks:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                try:
                    exec(compile(block, "example", "exec"), names)
                except Exception as error:
                    raise RuntimeError(f"{error}:\n{block}") from error
            printed.append(out.getvalue())
    return printed
