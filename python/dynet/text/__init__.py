"""From files of text to numbers: `dynet.text`, or ``dy.text``.

The readers of corpora are in `dynet` itself (`ConlluReader`, `ColumnReader`, ...). Here are the
steps that follow: words to ids, vectors from files, subwords, and columns back into CoNLL-U.

>>> from dynet import text
>>> words = text.Vocabulary.from_counts(["the", "dog", "the", "cat", "dog"], min_count=2)
>>> words.ids(["the", "cat", "dog"])
[1, 0, 2]
"""

from __future__ import annotations

from ._conllu import with_columns as with_columns
from ._embeddings import Embeddings as Embeddings
from ._embeddings import read_pretrained_embeddings as read_pretrained_embeddings
from ._subwords import Pieces as Pieces
from ._subwords import pieces as pieces
from ._vocabulary import Vocabulary as Vocabulary

__all__ = [
    "Embeddings",
    "Pieces",
    "Vocabulary",
    "pieces",
    "read_pretrained_embeddings",
    "with_columns",
]
