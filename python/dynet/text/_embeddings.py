"""Vectors of words from files of word2vec, GloVe and fastText."""

from __future__ import annotations

import gzip
import os
import zlib
from math import isfinite

import _dynet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from typing import BinaryIO, TypeAlias

    import numpy as np

    from ._vocabulary import Vocabulary

    #: A word, the dimension, and a function that makes the vector.
    Entry: TypeAlias = tuple[str, int, Callable[[], np.ndarray]]

#: Longer words are a sign of a file in another format.
LONGEST_WORD = 1 << 16
#: The most digits of a number in a first line; longer ones are no counts.
MOST_DIGITS = (15, 6)
#: Bytes at the begin of a file by which the kind of a foreign file is known.
FOREIGN_BYTES = 512


class Embeddings:
    """Words with vectors of one dimension: `vectors[i]` belongs to `words[i]`."""

    def __init__(self, words: list[str], vectors: np.ndarray) -> None:
        self.words = words
        self.vectors = vectors  #: an array of float32, one row for each word
        self._places = {word: i for i, word in enumerate(words)}

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector of a word; KeyError for a word that was not read."""
        row: np.ndarray = self.vectors[self._places[word]]
        return row

    def __contains__(self, word: object) -> bool:
        return word in self._places

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"<Embeddings of {len(self)} words, dimension {self.dimension}>"

    def fill(
        self,
        table: _dynet.LookupParameters,
        words: Vocabulary | _dynet.Dict | Iterable[str],
        *,
        lower: bool = True,
    ) -> int:
        """Copies vectors into the rows of a table, and returns the number of rows that got one.

        Row i belongs to the i-th of `words`, a `Vocabulary` for instance. With `lower` a word
        without a vector takes the vector of its lower-case form. Other rows stay.
        """
        listed = _listed("Embeddings.fill", words)
        rows, *shape = table.shape()
        if shape != [self.dimension] or rows < len(listed):
            raise _dynet.ShapeError(
                f"Embeddings.fill: the table has {rows} rows of shape {tuple(shape)}; want "
                f"{len(listed)} rows or more of shape ({self.dimension},)"
            )
        found = 0
        for i, word in enumerate(listed):
            place = self._places.get(word)
            if place is None and lower:
                place = self._places.get(word.lower())
            if place is not None:
                table.init_row(i, self.vectors[place])
                found += 1
        return found


def read_pretrained_embeddings(
    file: str | os.PathLike[str],
    words: Vocabulary | _dynet.Dict | Iterable[str] | None = None,
    *,
    limit: int | None = None,
) -> Embeddings:
    """Reads the vectors of a file: text of GloVe, word2vec and fastText (`.vec`), or word2vec's
    binary format. The file may be compressed with gzip.

    With `words`, only vectors of these words and of their lower-case forms are kept, so that a
    large file takes little memory. `limit`: only the first vectors of the file, which are the
    frequent words in most files. A later vector of a word replaces an earlier one. A word may have
    spaces in it, unless it ends in a number.

    A first line with the number of words and the dimension is not kept, unless the dimension is 1.

    IoError with file:line, or the byte in a binary file: for a file that is damaged or of another
    kind, and for a number of vectors other than in its first line. Of vectors that are not kept,
    only the count of numbers is looked at.
    """
    if limit is not None and limit < 1:
        raise _dynet.ValueError(f"read_pretrained_embeddings: limit is {limit}; want 1 or more")
    import numpy as np

    name, wanted = os.fspath(file), _wanted(words)
    places: dict[str, int] = {}
    vectors: list[np.ndarray] = []
    dimension = 0
    with _opened(name) as opened:
        try:
            for i, (word, dimension, vector) in enumerate(_entries(opened, name), 1):  # noqa: B007
                if wanted is None or word in wanted:
                    place = places.setdefault(word, len(vectors))
                    vectors[place : place + 1] = [vector()]
                if i == limit:
                    break
        except (EOFError, zlib.error, gzip.BadGzipFile) as e:
            raise _dynet.IoError(f"{name}: damaged where it is compressed with gzip: {e}") from None
    if not dimension:
        raise _dynet.IoError(f"{name}:1: there are no embeddings")
    return Embeddings(list(places), np.array(vectors, np.float32).reshape(len(vectors), dimension))


def _wanted(words: Vocabulary | _dynet.Dict | Iterable[str] | None) -> Container[str] | None:
    if words is None:
        return None
    listed = _listed("read_pretrained_embeddings", words)
    return {*listed, *(word.lower() for word in listed)}


def _listed(call: str, words: Vocabulary | _dynet.Dict | Iterable[str]) -> list[str]:
    """TypeError, which names the call, for other objects than words."""
    if isinstance(words, str):
        raise _dynet.TypeError(f"{call}: words is the text {words!r}; want a list of words")
    listed = words.get_words() if isinstance(words, _dynet.Dict) else list(words)
    for i, word in enumerate(listed):
        if not isinstance(word, str):
            raise _dynet.TypeError(f"{call}: words[{i}] is {word!r}; want a text")
    return listed


def _opened(name: str) -> BinaryIO:
    try:
        file = open(name, "rb")  # noqa: SIM115
    except OSError as e:
        raise _dynet.IoError(f"{name}: cannot be opened: {e.strerror}") from None
    if not file.seekable():
        file.close()
        raise _dynet.IoError(f"{name}: it is a pipe, which cannot be read twice; want a file")
    if file.read(2) == b"\x1f\x8b":
        file.close()
        return gzip.open(name, "rb")  # type: ignore[return-value]
    file.seek(0)
    return file


def _entries(file: BinaryIO, name: str) -> Iterator[Entry]:
    first = file.readline(LONGEST_WORD)
    counts = _counts(first)
    if counts is not None:
        start = file.tell()
        begin = file.read(LONGEST_WORD + 4 * counts[1])
        file.seek(start)
        if begin and _is_binary(begin, counts[1]):
            return _binary(file, name, *counts)
    elif what := _dynet._foreign_file(first + file.read(FOREIGN_BYTES)):
        raise _dynet.IoError(f"{name}: {what}")
    file.seek(0)
    return _text(file, name, counts)


def _counts(line: bytes) -> tuple[int, int] | None:
    """The number of words and the dimension, if a first line has them. A dimension of 1 would look
    like a word that is a number."""
    fields = line.split()
    if len(fields) != 2 or not (fields[0].isdigit() and fields[1].isdigit()):
        return None
    if any(len(field) > most for field, most in zip(fields, MOST_DIGITS)):
        return None
    words, dimension = map(int, fields)
    return (words, dimension) if dimension > 1 else None


def _is_binary(begin: bytes, dimension: int) -> bool:
    """Whether numbers stand as four bytes each behind the first word. Such bytes are hardly ever
    text."""
    import codecs

    numbers = begin.split(b"\n", 1)[0].rsplit(None, dimension)[1:]
    if len(numbers) == dimension and _floats(numbers) is not None:
        return False
    rest = begin.partition(b" ")[2][: 4 * dimension]
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(rest)
    except UnicodeDecodeError:
        return True
    return any(c < " " and c not in "\t\r\n" for c in text)


def _floats(fields: list[bytes]) -> list[float] | None:
    try:
        numbers = list(map(float, fields))
    except ValueError:
        return None
    largest = max(map(abs, numbers), default=0.0)
    # A sum with a NaN in it is none; the largest may hide one.
    return numbers if largest < 3.5e38 and isfinite(sum(numbers)) else None


def _text(file: BinaryIO, name: str, counts: tuple[int, int] | None) -> Iterator[Entry]:
    found = 0
    dimension = counts[1] if counts is not None else 0
    for number, line in enumerate(file, 1):
        if number == 1:
            if counts is not None:
                continue
            line = line.removeprefix(b"\xef\xbb\xbf")
        line = line.strip(b" \t\r\n")
        if not line:
            continue
        place = f"{name}:{number}"
        dimension = dimension or _dimension(line, place)
        yield _text_entry(line, dimension, place)
        found += 1
    if counts is not None and found != counts[0]:
        raise _dynet.IoError(f"{name}:1: the first line says {counts[0]} words; there are {found}")


def _dimension(line: bytes, place: str) -> int:
    """The dimension of a file without a first line of counts: the numbers at the end of a line."""
    fields = line.split()
    count = 0
    while count < len(fields) - 1 and _floats([fields[-1 - count]]) is not None:
        count += 1
    if not count:
        raise _dynet.IoError(f"{place}: {_shown(line)} has no numbers; want a word and its vector")
    return count


def _text_entry(line: bytes, dimension: int, place: str) -> Entry:
    word, *fields = line.rsplit(None, dimension)
    if len(fields) != dimension:
        raise _dynet.IoError(f"{place}: {_shown(line)} has {len(fields)} numbers; want {dimension}")
    if b" " in word and _floats([word.split()[-1]]) is not None:
        raise _dynet.IoError(f"{place}: {_shown(line)} has more than {dimension} numbers")

    def vector() -> np.ndarray:
        import numpy as np

        numbers = _floats(fields)
        if numbers is None:
            wrong = next(i for i, f in enumerate(fields) if _floats([f]) is None)
            raise _dynet.IoError(
                f"{place}: number {wrong + 1} of {_shown(line)} is {_shown(fields[wrong])}; want a "
                f"finite number, {dimension} in all"
            )
        return np.array(numbers, np.float32)

    return _decoded(word), dimension, vector


def _binary(file: BinaryIO, name: str, words: int, dimension: int) -> Iterator[Entry]:
    import numpy as np

    for i in range(words):
        word = _binary_word(file, name, f"word {i + 1} of {words}")
        place = f"{name}: byte {file.tell() - len(word)}"  # of the word, from 1
        numbers = file.read(4 * dimension)
        if len(numbers) != 4 * dimension:
            raise _dynet.IoError(
                f"{place}: the file ends in the vector of {_shown(word)}, word {i + 1} of {words}"
            )

        def vector(numbers: bytes = numbers, place: str = place) -> np.ndarray:
            row = np.frombuffer(numbers, "<f4")
            if not np.isfinite(row).all():
                raise _dynet.IoError(f"{place}: the vector has a number that is not finite")
            return row.astype(np.float32)

        yield _decoded(word), dimension, vector
    if file.read(2).strip():
        raise _dynet.IoError(
            f"{name}: byte {file.tell()}: the first line says {words} words; more bytes follow"
        )


def _binary_word(file: BinaryIO, name: str, which: str) -> bytes:
    """The bytes before a space, without the line end that some writers put before a word."""
    word = bytearray()
    while (byte := file.read(1)) != b" ":
        if not byte or len(word) == LONGEST_WORD:
            end = "there is no space after" if byte else "the file ends before"
            raise _dynet.IoError(f"{name}: byte {file.tell()}: {end} {which}")
        word += byte
    return bytes(word.lstrip(b"\n"))


def _decoded(word: bytes) -> str:
    """Files of vectors have words that were cut inside of a letter: U+FFFD stands there."""
    return word.decode("utf-8", "replace")


def _shown(text: bytes) -> str:
    shown = _decoded(text)
    return repr(shown if len(shown) < 40 else shown[:37] + "...")
