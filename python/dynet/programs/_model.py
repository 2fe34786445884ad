"""The part that all models have in common."""

from __future__ import annotations

from itertools import islice

import _dynet

from dynet import run_together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import Any, TypeVar

    from _dynet import Expression, ParameterCollection

    Own = TypeVar("Own", bound="Model")

#: Sentences whose graphs are computed together.
TOGETHER = 64


class Model:
    """Parameters, and data that give them a meaning; `dynet.save` writes both.

    A program's model adds: `KIND`, the word behind ``dynet train``; `read`, the sentences of a
    file; `for_data`, `example` and `loss` for its training; `forms` and `answer` for new
    sentences; `write`, the texts of answered sentences; `score`, `columns` and `table` for its
    quality; `members`, the arguments of its constructor after the collection.
    """

    KIND = ""
    #: Of the files. A change of `members`, of their classes, or of the parameters takes the next
    #: number: a file of another version is refused, because its numbers would mean other things.
    VERSION = 2
    #: Whether larger numbers of `columns` are better.
    LARGER_IS_BETTER = True

    def __init__(self, model: ParameterCollection, dropout: float) -> None:
        self.dropout = dropout
        self.pc = model.add_subcollection(type(self).__name__.lower())

    @property
    def members(self) -> tuple[object, ...]:
        raise NotImplementedError

    @property
    def spec(self) -> tuple[object, ...]:
        return (self.VERSION, *self.members)

    @classmethod
    def from_spec(cls: type[Own], spec: tuple[Any, ...], model: ParameterCollection) -> Own:
        # Files of the first version have no number.
        found, members = (spec[0], spec[1:]) if spec and type(spec[0]) is int else (1, spec)
        if found != cls.VERSION:
            raise _dynet.ValueError(
                f"it is of version {found} of `dynet train {cls.KIND}`; want version "
                f"{cls.VERSION}: train the model again, or use the dynet that wrote the file"
            )
        return cls(model, *members)

    def param_collection(self) -> ParameterCollection:
        return self.pc

    def dropped(self, x: Expression) -> Expression:
        return _dynet.dropout(x, self.dropout) if self.dropout else x

    @staticmethod
    def forms(sentence: Any) -> list[str]:
        """The words of a sentence."""
        raise NotImplementedError

    def answer(self, forms: list[str]) -> Generator[Any, Any, Any]:
        """Of one sentence: a task of `run_together`, or a request of a server."""
        raise NotImplementedError

    def answers(self, forms: list[list[str]]) -> list[Any]:
        """Of several sentences, computed together."""
        return run_together(self.answer(some) for some in forms)

    def tag(self, sentences: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Sentences with their answers, without dropout."""
        source = iter(sentences)
        while group := list(islice(source, TOGETHER)):
            with _dynet.no_grad(), _dynet.evaluating():
                _dynet.renew_cg()
                answers = self.answers([self.forms(s) for s in group])
            yield from zip(group, answers)
