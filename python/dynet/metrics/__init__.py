"""Scores of predictions: `dynet.metrics`, or ``dy.metrics``.

A score is an object that counts. `add` takes gold and predicted answers; `value` is the one number
for which a model is chosen; ``str(score)`` is a table. Two scores of one kind add up, so each
worker and each rank counts its own examples:

>>> from dynet import metrics
>>> first, second = metrics.Accuracy(), metrics.Accuracy()
>>> first.add(["NOUN", "VERB"], ["NOUN", "NOUN"])
>>> second.add(["DET"], ["DET"])
>>> round((first + second).value, 3)
0.667
"""

from __future__ import annotations

from ._brackets import BracketF1 as BracketF1
from ._conllu import ConlluScores as ConlluScores
from ._counts import F1 as F1
from ._counts import Accuracy as Accuracy
from ._counts import Confusion as Confusion
from ._counts import Perplexity as Perplexity
from ._counts import Score as Score
from ._spans import SpanF1 as SpanF1
from ._spans import spans as spans
from ._translation import Bleu as Bleu

__all__ = [
    "F1",
    "Accuracy",
    "Bleu",
    "BracketF1",
    "Confusion",
    "ConlluScores",
    "Perplexity",
    "Score",
    "SpanF1",
    "spans",
]
