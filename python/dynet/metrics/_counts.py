"""Scores that are counts: of answers, of pairs of answers, of matches, of a loss."""

from __future__ import annotations

import math
from collections import Counter

import _dynet

from dynet._told import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence
    from typing import TypeAlias, TypeVar

    from dynet._told import Whole

    Own = TypeVar("Own", bound="Score")
    Pair: TypeAlias = tuple[Hashable, Hashable]


class Score:
    """Base of all scores: counts that add up, a value, and a table.

    A score can be pickled, so a worker may send it. ``a + b`` and ``sum(scores)`` make a new score;
    ``a += b`` and ``a.merge(b)`` add to `a`. All are a TypeError for scores of different kinds, and
    a ValueError for scores of different settings; the scores are unchanged then.
    """

    @property
    def value(self) -> float:
        """The number for which a model is chosen; NaN if nothing was counted."""
        raise NotImplementedError

    def _settings(self) -> tuple[object, ...]:
        """Scores add up only if these agree."""
        return ()

    def _take(self: Own, other: Own) -> None:
        """Adds the counts of a score of the same kind and settings."""
        raise NotImplementedError

    def _rows(self) -> list[tuple[str, ...]]:
        """The table: its head, then its rows; the first column is text."""
        raise NotImplementedError

    def merge(self, other: object) -> None:
        """Adds the counts of another score."""
        if type(other) is not type(self):
            kinds = f"{type(self).__name__} + {type(other).__name__}"
            raise _dynet.TypeError(f"{kinds}: want two scores of one kind")
        if other._settings() != self._settings():
            settings = f"{self._settings()} and {other._settings()}"
            raise _dynet.ValueError(
                f"{type(self).__name__}: scores of different settings, {settings}, do not add up"
            )
        self._take(other)

    def __iadd__(self: Own, other: object) -> Own:
        self.merge(other)
        return self

    def __add__(self: Own, other: object) -> Own:
        total = self._copy()
        total.merge(other)
        return total

    def __radd__(self: Own, other: object) -> Own:
        """For `sum`, which begins with 0."""
        if type(other) is not int or other != 0:
            kinds = f"{type(other).__name__} + {type(self).__name__}"
            raise _dynet.TypeError(f"{kinds}: want two scores of one kind")
        return self._copy()

    def _copy(self: Own) -> Own:
        from copy import deepcopy

        copy: Own = type(self).__new__(type(self))
        copy.__dict__.update(deepcopy(vars(self)))
        return copy

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return table(self._rows())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.value:.4f}>"


def table(rows: list[tuple[str, ...]]) -> str:
    """Lines with columns of one width; all but the first column end together."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = (
        "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths)))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def percent(x: float) -> str:
    return "-" if math.isnan(x) else f"{100 * x:.2f}"


def share(part: float, whole: float) -> float:
    """part / whole, NaN for nothing of nothing."""
    return part / whole if whole else math.nan


def number_of(name: str, what: str, x: object) -> int:
    """A count: 3, 3.0, numpy.int64(3). ValueError that names `what` for other values."""
    try:
        number = whole(x)
    except Exception:
        number = -1
    if number < 0:
        raise _dynet.ValueError(f"{name}: {what}={x!r}; want a whole number of 0 or more")
    return number


def pairs(name: str, gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> list[Pair]:
    """Answers side by side. ValueError that names `name` if one list is longer; TypeError for
    answers that are no single things, such as lists or rows of a matrix."""
    gold, predicted = listed(name, "gold", gold), listed(name, "predicted", predicted)
    if len(gold) != len(predicted):
        raise _dynet.ValueError(
            f"{name}.add: {len(gold)} gold answers and {len(predicted)} predicted ones; want one "
            "prediction for each answer"
        )
    return list(zip(gold, predicted))


def listed(
    name: str, which: str, answers: Iterable[Hashable], *, ordered: bool = True
) -> list[Hashable]:
    """Answers of `which` side, checked. Sets have no order, and are refused if it matters."""
    kind = type(answers).__name__
    if ordered and isinstance(answers, (set, frozenset, dict)):
        raise _dynet.TypeError(f"{name}.add: {which} is a {kind}; want a list of answers, in order")
    try:
        found = list(answers)
    except TypeError:  # a number, None, an array without dimensions
        found = None
    if found is None:
        raise _dynet.TypeError(f"{name}.add: {which} is a {kind}; want a list of answers")
    for i, answer in enumerate(found):
        if not _has_hash(answer):
            raise _dynet.TypeError(
                f"{name}.add: {which}[{i}] is a {type(answer).__name__} that can change; want one "
                "answer, such as a text or a number"
            )
    return found


def _has_hash(answer: object) -> bool:
    try:
        hash(answer)
    except TypeError:
        return False
    return True


class Accuracy(Score):
    """Correct answers ÷ answers.

    `ignored`: a gold answer that does not count, such as -1 for padding.

    >>> score = Accuracy()
    >>> score.add([0, 2, 1], [0, 1, 1])
    >>> score.correct, score.total
    (2, 3)
    """

    def __init__(self, ignored: Hashable | None = None) -> None:
        if not _has_hash(ignored):  # a list would equal no answer
            kind = type(ignored).__name__
            raise _dynet.TypeError(f"Accuracy: ignored is a {kind}; want one answer, such as -1")
        self.ignored = ignored
        self.correct = 0
        self.total = 0

    def add(self, gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> None:
        """Two lists of one length. ValueError otherwise; then nothing is counted."""
        counted = [
            right == answer
            for right, answer in pairs("Accuracy", gold, predicted)
            if self.ignored is None or right != self.ignored
        ]
        self.correct += sum(map(bool, counted))  # also of NumPy's truth values
        self.total += len(counted)

    @property
    def value(self) -> float:
        return share(self.correct, self.total)

    def _settings(self) -> tuple[object, ...]:
        return (self.ignored,)

    def _take(self, other: Accuracy) -> None:
        self.correct += other.correct
        self.total += other.total

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            ("", "correct", "all", "%"),
            ("accuracy", str(self.correct), str(self.total), percent(self.value)),
        ]


class F1(Score):
    """Precision, recall and F1 of sets: matched ÷ predicted, matched ÷ gold, and their harmonic
    mean ``2 matched / (gold + predicted)`` (van Rijsbergen, 1979). 0 if nothing matches; NaN if
    there was nothing to find and nothing was found.

    >>> score = F1()
    >>> score.add({"a", "b"}, {"b", "c", "d"})
    >>> score.precision, score.recall, score.value
    (0.3333333333333333, 0.5, 0.4)
    """

    def __init__(self) -> None:
        self.matched = 0
        self.gold = 0
        self.predicted = 0

    def add(self, gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> None:
        """Two collections. Each occurrence of an element counts."""
        name = type(self).__name__
        wanted = Counter(listed(name, "gold", gold, ordered=False))
        found = Counter(listed(name, "predicted", predicted, ordered=False))
        self.count((wanted & found).total(), wanted.total(), found.total())

    def count(self, matched: Whole, gold: Whole, predicted: Whole) -> None:
        """Adds numbers that were counted elsewhere. ValueError if more match than there are."""
        names = ("matched", "gold", "predicted")
        numbers = zip(names, (matched, gold, predicted))
        matched, gold, predicted = (number_of("F1.count", name, x) for name, x in numbers)
        if matched > min(gold, predicted):
            raise _dynet.ValueError(
                f"F1.count: {matched} matched of {gold} gold and {predicted} predicted; want no "
                "more than each of both"
            )
        self.matched += matched
        self.gold += gold
        self.predicted += predicted

    @property
    def precision(self) -> float:
        return share(self.matched, self.predicted)

    @property
    def recall(self) -> float:
        return share(self.matched, self.gold)

    @property
    def value(self) -> float:
        return share(2 * self.matched, self.gold + self.predicted)

    def _take(self, other: F1) -> None:
        self.count(other.matched, other.gold, other.predicted)

    def _rows(self) -> list[tuple[str, ...]]:
        return [self.head(), self.row("all")]

    @staticmethod
    def head() -> tuple[str, ...]:
        """The head of a table with `row`."""
        return ("", "precision", "recall", "F1", "gold", "predicted")

    def row(self, name: str) -> tuple[str, ...]:
        """A row of a table."""
        numbers = (percent(x) for x in (self.precision, self.recall, self.value))
        return (name, *numbers, str(self.gold), str(self.predicted))


class Confusion(Score):
    """How often each class was taken for each class; `value` is the accuracy.

    >>> score = Confusion()
    >>> score.add(["cat", "cat", "dog"], ["cat", "dog", "dog"])
    >>> score.counts["cat", "dog"], score.of("dog").precision
    (1, 0.5)
    """

    def __init__(self) -> None:
        #: by pairs of gold and predicted class
        self.counts: Counter[tuple[object, object]] = Counter()

    def add(self, gold: Iterable[Hashable], predicted: Iterable[Hashable]) -> None:
        """Two lists of one length. ValueError otherwise; then nothing is counted."""
        self.counts.update(Counter(pairs("Confusion", gold, predicted)))

    @property
    def labels(self) -> list[object]:
        """All classes that occurred, sorted (by their texts, if the classes do not compare)."""
        found = {label for pair in self.counts for label in pair}
        try:
            return sorted(found)  # type: ignore[type-var]
        except TypeError:
            return sorted(found, key=str)

    def of(self, label: object) -> F1:
        """Precision, recall and F1 of one class."""
        score = F1()
        score.count(
            self.counts[label, label],
            sum(n for (gold, _), n in self.counts.items() if gold == label),
            sum(n for (_, predicted), n in self.counts.items() if predicted == label),
        )
        return score

    @property
    def macro_f1(self) -> float:
        """The mean of the F1 of all classes; NaN if there are none."""
        labels = self.labels
        return share(sum(self.of(label).value for label in labels), len(labels))

    @property
    def value(self) -> float:
        correct = sum(n for (gold, predicted), n in self.counts.items() if gold == predicted)
        return share(correct, self.counts.total())

    def _take(self, other: Confusion) -> None:
        self.counts.update(other.counts)

    def _rows(self) -> list[tuple[str, ...]]:
        labels: Sequence[object] = self.labels
        head = ("gold \\ predicted", *map(str, labels), "recall")
        body = [
            (str(g), *(str(self.counts[g, p]) for p in labels), percent(self.of(g).recall))
            for g in labels
        ]
        last = ("precision", *(percent(self.of(p).precision) for p in labels), percent(self.value))
        return [head, *body, last]


class Perplexity(Score):
    """exp(loss ÷ words), for losses that are negative log probabilities by the natural logarithm.

    >>> score = Perplexity()
    >>> score.add(13.862943611198906, 10)   # a sum over ten words
    >>> round(score.value, 6)
    4.0
    """

    def __init__(self) -> None:
        self.loss = 0.0
        self.words = 0

    def add(self, loss: float, words: Whole) -> None:
        """The sum of the losses of `words` words. ValueError for another number than 0 or more
        words, a loss that is NaN, or a loss without words."""
        try:
            loss = float(loss)
        except (TypeError, ValueError):
            raise _dynet.TypeError(f"Perplexity.add: loss={loss!r}; want a number") from None
        words = number_of("Perplexity.add", "words", words)
        if math.isnan(loss) or (words == 0 and loss != 0):
            raise _dynet.ValueError(
                f"Perplexity.add: a loss of {loss} for {words} words; want a number, and 0 for no "
                "words"
            )
        self.loss += loss
        self.words += words

    @property
    def value(self) -> float:
        mean = share(self.loss, self.words)
        try:
            return math.exp(mean)
        except OverflowError:
            return math.inf

    def _take(self, other: Perplexity) -> None:
        self.loss += other.loss
        self.words += other.words

    def _rows(self) -> list[tuple[str, ...]]:
        return [("", "words", "value"), ("perplexity", str(self.words), f"{self.value:.2f}")]
