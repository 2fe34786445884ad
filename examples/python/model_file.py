"""A model on disk: its parameters in a file of the library, and beside it, in FILE.settings, what
has to be known before that can be read. C++ reads and writes the same files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import dynet as dy
import numpy as np

from data import DataError


@dataclass
class Settings:
    """Named numbers and named lists of words. As text, line by line:

    task tagger          what kind of model it is
    hidden 50            numbers
    words[] 2            lists: how many words, then one a line
    <unk>
    the
    """

    task: str
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        """A number, or how long a list is."""
        return self.numbers[name] if name in self.numbers else len(self.lists[name])

    def numbers_of(self, name: str) -> dict[str, int]:
        """The numbers of the words of a list."""
        return {word: i for i, word in enumerate(self.lists[name])}


def save_model(settings: Settings, parameters: dy.ParameterCollection, model_file: str) -> None:
    """Settings first, then parameters, each in place of the old file at once: a crash leaves the
    old one or the new one, never a half."""
    file = model_file + ".settings"
    lines = [f"task {settings.task}"]
    lines += [f"{name} {value}" for name, value in settings.numbers.items()]
    for name, words in settings.lists.items():
        lines += [f"{name}[] {len(words)}", *words]
    with open(file + ".tmp", "w", encoding="utf-8", errors="surrogateescape") as out:
        out.write("\n".join(lines) + "\n")
    os.replace(file + ".tmp", file)
    parameters.save(model_file)


def load_settings(model_file: str, tasks: Sequence[str]) -> Settings:
    """Settings of one of these tasks. DataError for a file that is no such file."""
    file = model_file + ".settings"
    with open(file, encoding="utf-8", errors="surrogateescape", newline="\n") as text:
        lines = text.read().split("\n")
    if lines[-1] == "":
        lines.pop()

    def fail(line: int, reason: str) -> DataError:
        return DataError(file, line, 1, f"no settings of this program: {reason}")

    def number(text: str, line: int) -> int:
        if len(text) > 9 or not (text.isascii() and text.isdigit()):
            raise fail(line, f"want a number below 10^9, not '{text}'")
        return int(text)

    if not lines:
        raise fail(1, "the file is empty")
    settings = Settings("")
    at = 0
    while at < len(lines):
        name, _, value = lines[at].partition(" ")
        at += 1
        if not name or not value:
            raise fail(at, "want a name and a value")
        if (at == 1) != (name == "task"):
            raise fail(at, "want the task, and that in the first line only")
        if at == 1:
            if value not in tasks:
                raise fail(at, f"the task is '{value}'; want {tasks[0]}")
            settings.task = value
        elif name.endswith("[]") and len(name) > 2:
            count = number(value, at)
            words = lines[at : at + count]
            at += count
            if len(words) != count:
                raise fail(len(lines), f"the file ends before the last of {count} words")
            settings.lists[name[:-2]] = words
        else:
            settings.numbers[name] = number(value, at)
    return settings


def add_table(parameters: dy.ParameterCollection, rows: int, width: int) -> dy.LookupParameters:
    """A lookup table whose values start as in C++, within the range of a row. (Without ``init``
    Python takes the range of the whole table, as DyNet 2.1 does: near zero for many rows.)"""
    init = dy.GlorotInitializer(is_lookup=True)
    return parameters.add_lookup_parameters((rows, width), init=init)


def set_deterministic_values(parameters: dy.ParameterCollection) -> None:
    """Initial values by a formula that is the same in C++ and in Python. Vectors (biases) are zero,
    matrices and rows of tables uniform within the range of Glorot."""
    number = 0
    for parameter in parameters.parameters_list():
        shape = parameter.shape()
        scale = math.sqrt(6.0 / sum(shape)) if len(shape) > 1 else 0.0
        flat = _values_at(number, int(np.prod(shape)), scale)
        parameter.set_value(flat.reshape(shape, order="F"))
        number += 1
    for table in parameters.lookup_parameters_list():
        rows, width = table.shape()
        scale = math.sqrt(6.0 / (width + 1.0))
        table.init_from_array(_values_at(number, rows * width, scale).reshape(rows, width))
        number += 1


def _values_at(parameter: int, count: int, scale: float) -> np.ndarray:
    """Numbers in [-scale, scale) from their places: all steps are exact, in any language."""
    x = np.arange(count, dtype=np.uint32) * np.uint32(0x9E3779B1)
    x += np.uint32((parameter * 0x85EBCA6B + 1) & 0xFFFFFFFF)
    x ^= x >> np.uint32(16)
    x *= np.uint32(0x7FEB352D)
    x ^= x >> np.uint32(15)
    x *= np.uint32(0x846CA68B)
    x ^= x >> np.uint32(16)
    numbers = (x >> np.uint32(8)).astype(np.float64) / 8388608.0 - 1.0
    return (scale * numbers).astype(np.float32)
