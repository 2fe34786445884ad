"""BLEU, which the package sacrebleu computes."""

from __future__ import annotations

import math
from importlib import import_module

import _dynet

from ._counts import Score

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Bleu(Score):
    """BLEU of a corpus by sacrebleu (Post, 2018), from 0 to 100. The package is imported when a
    value is asked for; ``pip install sacrebleu`` installs it.

    `settings` go to ``sacrebleu.BLEU``, such as ``tokenize="char"``. The score keeps the sentences,
    because BLEU of a corpus is not a mean over sentences.

        score = Bleu()
        score.add("the cat sat on the mat", ["the cat sat on the mat", "a cat sat on a mat"])
        score.value         # 100.0
        print(score)        # with the signature that papers report
    """

    def __init__(self, **settings: object) -> None:
        self.settings = settings
        self.hypotheses: list[str] = []
        self.references: list[tuple[str, ...]] = []

    def add(self, hypothesis: str, references: str | Sequence[str]) -> None:
        """A translation and its references, texts that are not tokenized. ValueError without a
        reference, or for another number of references than the first sentence has; TypeError for
        other things than texts, such as lists of words. Nothing is counted then."""
        if not hasattr(references, "__iter__"):
            kind = type(references).__name__
            raise _dynet.TypeError(f"Bleu.add: references is a {kind}; want texts")
        several = (references,) if isinstance(references, str) else tuple(references)
        for name, text in (("hypothesis", hypothesis), *(("a reference", one) for one in several)):
            if not isinstance(text, str):
                raise _dynet.TypeError(
                    f"Bleu.add: {name} is a {type(text).__name__}; want a text, not tokenized"
                )
        if not several or (self.references and len(several) != len(self.references[0])):
            wanted = f"want {len(self.references[0])}" if self.references else "want one or more"
            raise _dynet.ValueError(f"Bleu.add: {len(several)} references for a sentence; {wanted}")
        self.hypotheses.append(hypothesis)
        self.references.append(several)

    def _result(self) -> tuple[float, str]:
        try:
            sacrebleu = import_module("sacrebleu")
        except ModuleNotFoundError as e:
            raise ModuleNotFoundError(
                "Bleu: the package sacrebleu is not installed; pip install sacrebleu"
            ) from e
        try:
            bleu = sacrebleu.BLEU(**self.settings)
        except (TypeError, ValueError, AssertionError) as e:
            raise _dynet.ValueError(f"Bleu: sacrebleu refuses {self.settings}: {e}") from e
        score = bleu.corpus_score(
            self.hypotheses, [list(stream) for stream in zip(*self.references)]
        )
        return float(score.score), str(bleu.get_signature())

    @property
    def value(self) -> float:
        return self._result()[0] if self.hypotheses else math.nan

    def _settings(self) -> tuple[object, ...]:
        return tuple(sorted(self.settings.items()))

    def _take(self, other: Bleu) -> None:
        if self.references and other.references:
            mine, more = len(self.references[0]), len(other.references[0])
            if mine != more:
                raise _dynet.ValueError(
                    f"Bleu: one score has {mine} references for a sentence and the other {more}; "
                    "want the same number"
                )
        self.hypotheses += other.hypotheses
        self.references += other.references

    def __repr__(self) -> str:
        """Without the value, which takes time and the package."""
        return f"<Bleu of {len(self.hypotheses)} sentences>"

    def _rows(self) -> list[tuple[str, ...]]:
        value, signature = self._result() if self.hypotheses else (math.nan, "")
        return [
            ("", "sentences", "BLEU", "signature"),
            ("translation", str(len(self.hypotheses)), f"{value:.2f}", signature),
        ]
