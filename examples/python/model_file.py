"""A model on disk: a safetensors file, with the settings of the model in its metadata. C++ reads
and writes the same files."""

from __future__ import annotations

from dataclasses import dataclass, field

import dynet as dy


@dataclass
class Settings:
    """The kind of model, named numbers and named lists of words. In the metadata ``task``, the
    numbers, and the lists under names with ``[]`` behind, a word per line."""

    task: str
    numbers: dict[str, int] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> int:
        """A number, or the length of a list. OSError if there is none."""
        if name in self.lists:
            return len(self.lists[name])
        if name not in self.numbers:
            raise OSError(f"the settings have no '{name}'")
        return self.numbers[name]

    def numbers_of(self, name: str) -> dict[str, int]:
        """The numbers of the words of a list."""
        return {word: i for i, word in enumerate(self.lists[name])}


def save_model(settings: Settings, parameters: dy.ParameterCollection, model_file: str) -> None:
    """The file appears at once when it is complete."""
    with dy.SafetensorsSaver(model_file) as saver:
        saver.save(parameters)
        saver.set_metadata("task", settings.task)
        for name, number in settings.numbers.items():
            saver.set_metadata(name, str(number))
        for name, words in settings.lists.items():
            saver.set_metadata(f"{name}[]", "".join(f"{word}\n" for word in words))


def load_settings(model_file: str, task: str) -> Settings:
    """OSError for a model of another task, and for one without settings."""
    metadata = dy.SafetensorsLoader(model_file).metadata()
    if metadata.pop("task", "") != task:
        raise OSError(f"{model_file} is not a model of {task}")
    settings = Settings(task)
    for name, value in metadata.items():
        if name.endswith("[]"):
            settings.lists[name[:-2]] = value.split("\n")[:-1]
        elif value.isascii() and value.isdecimal() and int(value) < 2**32:
            settings.numbers[name] = int(value)
        else:
            raise OSError(f"{model_file}: {name} is '{value}'; want a number")
    return settings


def add_table(parameters: dy.ParameterCollection, rows: int, width: int) -> dy.LookupParameters:
    """A lookup table whose values start as in C++, within the range of a row. (Without ``init``
    Python takes the range of the whole table, as DyNet 2.1 does: near zero for many rows.)"""
    init = dy.GlorotInitializer(is_lookup=True)
    return parameters.add_lookup_parameters((rows, width), init=init)
