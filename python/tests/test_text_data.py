"""From files of text to numbers: `dynet.text`."""

from __future__ import annotations

import doctest
import gzip
import importlib
import os
import pickle
import random
import struct
import subprocess
import sys
from collections import Counter

import dynet as dy
import numpy as np
import pytest
from dynet import text


@pytest.mark.parametrize("name", ["", "._vocabulary"])
def test_what_the_texts_show(name):
    module = importlib.import_module("dynet.text" + name)
    failed, attempted = doctest.testmod(module)
    assert attempted > 1 and failed == 0


def test_it_is_imported_when_it_is_used():
    code = (
        "import sys, dynet as dy; assert not {'dynet.text', 'dynet.callbacks', 'dynet._rows'} & "
        "{*sys.modules}; dy.text.Vocabulary(['a']); assert 'dynet.text' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- vocabularies --------------------------------------------------------------------------------


def test_a_vocabulary_from_counts():
    words = ["b", "a", "c", "a", "b", "a", "d"]
    vocabulary = text.Vocabulary.from_counts(words, min_count=2, first=["<s>"])
    assert list(vocabulary) == ["<unk>", "<s>", "a", "b"]
    assert vocabulary == text.Vocabulary.from_counts(Counter(words), min_count=2, first=["<s>"])
    assert vocabulary.ids(["b", "c", "<s>"]) == [3, 0, 1]
    assert vocabulary.words([2, 0]) == ["a", "<unk>"]
    assert vocabulary["zzz"] == 0 and "zzz" not in vocabulary and "a" in vocabulary
    small = text.Vocabulary.from_counts(words, max_size=2, unknown=None)
    assert list(small) == ["a", "b"]
    with pytest.raises(KeyError, match="'c' is not among 2 words"):
        small.ids(["a", "c"])


class Model:
    def __init__(self, m, words):
        self.words, self.pc = words, m.add_subcollection("model")

    @property
    def spec(self):
        return (self.words,)

    @classmethod
    def from_spec(cls, spec, m):
        return cls(m, *spec)

    def param_collection(self):
        return self.pc


def test_a_vocabulary_travels(tmp_path):
    words = text.Vocabulary(["<unk>", "日本", "a"], unknown="<unk>")
    assert pickle.loads(pickle.dumps(words)) == words
    words.save(tmp_path / "words.txt")
    assert text.Vocabulary.load(tmp_path / "words.txt", unknown="<unk>") == words
    assert text.Vocabulary.load(tmp_path / "words.txt") != words

    file = str(tmp_path / "model.safetensors")
    dy.save(file, [Model(dy.ParameterCollection(), words)])
    (again,) = dy.load(file, dy.ParameterCollection())
    assert again.words == words and again.words.ids(["a"]) == [2]


def test_mistakes_with_vocabularies():
    words = text.Vocabulary(["a"])
    for call, error, message in [
        (lambda: text.Vocabulary(["a", "b", "a"]), ValueError, r"words\[2\] is 'a', and so is"),
        (lambda: text.Vocabulary(["a", 3]), TypeError, r"words\[1\] is 3; want a text"),
        (lambda: text.Vocabulary(["a"], unknown="u"), ValueError, "'u' is not among the 1 words"),
        (lambda: text.Vocabulary.from_counts("abc"), TypeError, "counts is a text"),
        (lambda: text.Vocabulary.from_counts(["a"], max_size=0), ValueError, "want 1 or more"),
        (lambda: words.ids("a"), TypeError, r"'a' is a text; want a list of words"),
        (lambda: words.words([0, 1]), IndexError, "1 is no id of 1 words; want 0 to 0"),
        (lambda: words.words([-1]), IndexError, "-1 is no id"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_letters_are_code_points():
    letters = text.Vocabulary.from_counts([*"日本", *"née"])
    assert letters.ids(list("née")) == [letters[c] for c in ("n", "é", "e")] and "é" in letters


# ---- embeddings ----------------------------------------------------------------------------------

WORDS = ["the", "Dog", "日本", ". . .", "née"]
VECTORS = np.array(
    [[0.5, -1, 2], [0.25, 0, 1e-5], [3, 4, 5], [1, 2, 3], [-0.5, 7, 1e10]], np.float32
)


def as_text(header=True, separator=" ", end="\n"):
    lines = [
        separator.join([w, *(repr(float(x)) for x in v)]) + end for w, v in zip(WORDS, VECTORS)
    ]
    return "".join([f"{len(WORDS)} 3{end}"] * header + lines).encode()


def as_binary(end=b"\n"):
    entries = [w.encode() + b" " + v.astype("<f4").tobytes() + end for w, v in zip(BINARY, VECTORS)]
    return f"{len(BINARY)} 3\n".encode() + b"".join(entries)


BINARY = [word.replace(" ", "") for word in WORDS]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (as_text(header=False), WORDS),  # GloVe
        (as_text(), WORDS),  # word2vec
        (as_text(end=" \r\n"), WORDS),  # fastText ends lines with a space
        (as_text(separator="\t"), WORDS),
        (b"\xef\xbb\xbf" + as_text(header=False), WORDS),
        (as_text() + b"\n\n", WORDS),
        (as_binary(), BINARY),
        (as_binary(end=b""), BINARY),
    ],
)
def test_formats_of_embeddings(tmp_path, compress, content, words):
    file = tmp_path / "vectors"
    file.write_bytes(compress(content))
    found = text.read_pretrained_embeddings(file)
    assert found.words == words and found.dimension == 3 and len(found) == 5
    assert found.vectors.dtype == np.float32 and np.array_equal(found.vectors, VECTORS)
    assert np.array_equal(found["née"], VECTORS[4]) and "Dog" in found and "dog" not in found
    some = text.read_pretrained_embeddings(str(file), ["née", "THE"])
    assert some.words == ["the", "née"] and np.array_equal(some.vectors, VECTORS[[0, 4]])
    assert text.read_pretrained_embeddings(file, limit=2).words == words[:2]
    # Lines behind the limit are not looked at.
    (cut := tmp_path / "cut").write_text("the 1 2\nof 1")
    assert text.read_pretrained_embeddings(cut, limit=1).words == ["the"]
    with pytest.raises(dy.TypeError, match=r"words\[1\] is 3; want a text"):
        text.read_pretrained_embeddings(file, ["the", 3])
    assert len(text.read_pretrained_embeddings(file, ["absent"])) == 0


def test_every_vector_of_random_numbers_is_told_from_text(tmp_path):
    """Bytes of a vector may be letters of numbers, and the other way round."""
    drawn = random.Random(1)
    for i in range(200):
        dimension = drawn.choice([2, 3, 50])
        vectors = [[drawn.gauss(0, 1) for _ in range(dimension)] for _ in range(2)]
        head = f"2 {dimension}\n".encode()
        binary = head + b"".join(b"1.5 " + struct.pack(f"<{dimension}f", *v) for v in vectors[:1])
        binary += b"\nx " + struct.pack(f"<{dimension}f", *vectors[1])
        lines = [" ".join([w, *map(repr, v)]) for w, v in zip(["1.5", "x"], vectors)]
        for content in (binary, head + "\n".join(lines).encode()):
            (tmp_path / "v").write_bytes(content)
            found = text.read_pretrained_embeddings(tmp_path / "v")
            assert found.words == ["1.5", "x"], (i, dimension)
            assert np.allclose(found.vectors, vectors, rtol=1e-6)


def test_a_later_vector_replaces_an_earlier_one(tmp_path):
    (tmp_path / "v").write_text("a 1 2\nb 3 4\na 5 6\n")
    found = text.read_pretrained_embeddings(tmp_path / "v")
    assert found.words == ["a", "b"] and found.vectors.tolist() == [[5, 6], [3, 4]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "v:1: there are no embeddings"),
        (b"the\n", "v:1: 'the' has no numbers"),
        (b"1 999999999999\nthe 1 2\n", "v:2: 'the 1 2' has more than 1 numbers"),
        (b"1 " + b"9" * 5000 + b"\nthe 1 2\n", "v:1: "),
        (b"a 1 2\nb 3\n", "v:2: 'b 3' has 1 numbers; want 2"),
        (b"a 1 2\nb 3 4 5\n", "v:2: 'b 3 4 5' has more than 2 numbers"),
        (b"a 1 2\nb 3 x\n", "v:2: number 2 of 'b 3 x' is 'x'; want a finite number, 2 in all"),
        (b"a 1 2\nb nan 3\n", "v:2: number 1 of 'b nan 3' is 'nan'"),
        (b"a 1 2\nb 3 nan\n", "v:2: number 2 of 'b 3 nan' is 'nan'"),
        (b"a 1 2\nb 1e39 3\n", "v:2: number 1 of 'b 1e39 3' is '1e39'"),
        (b"3 2\na 1 2\nb 3 4\n", "v:1: the first line says 3 words; there are 2"),
        (b"1 2\na 1 2\nb 3 4\n", "v:1: the first line says 1 words; there are 2"),
        (as_binary()[:-4], "byte 76: the file ends in the vector of 'née', word 5 of 5"),
        (as_binary()[:30], "the file ends in the vector of 'Dog'"),
        (as_binary() + b"xy", "the first line says 5 words; more bytes follow"),
        (b"1 2\na " + struct.pack("<2f", 1, np.nan), "byte 5: the vector has a number that is"),
        (
            gzip.compress(as_text(header=False) * 50)[:-30],
            "v: damaged where it is compressed with gzip",
        ),
        (b"PK\x03\x04rest", "v: it is a zip archive; unpack it first"),
        (
            b"\xba\x16\x4f\x2f\x0c\0\0\0",
            "v: it is a binary model of fastText; its text form (.vec)",
        ),
        (gzip.compress(b"\xba\x16\x4f\x2f\x0c\0\0\0"), "v: it is a binary model of fastText"),
        (b"\n<html>404 1 2\n", "v: it is a page of HTML"),
        (b"\x93NUMPY\1\0v\0{}", "v: it is an array of NumPy"),
    ],
)
def test_damaged_embeddings_have_their_place(tmp_path, content, message):
    file = tmp_path / "v"
    file.write_bytes(content)
    with pytest.raises(dy.IoError) as e:
        text.read_pretrained_embeddings(file)
    assert message in str(e.value)


def test_mistakes_with_embeddings(tmp_path):
    with pytest.raises(dy.IoError, match="no-such-file: cannot be opened: No such file"):
        text.read_pretrained_embeddings(tmp_path / "no-such-file")
    end, begin = os.pipe()
    os.write(begin, b"a 1 2\n")
    with pytest.raises(dy.IoError, match="it is a pipe, which cannot be read twice; want a file"):
        text.read_pretrained_embeddings(f"/dev/fd/{end}")
    os.close(begin)
    os.close(end)
    with pytest.raises(dy.ValueError, match="limit is 0; want 1 or more"):
        text.read_pretrained_embeddings("x", limit=0)
    with pytest.raises(dy.TypeError, match="words is the text 'dog'; want a list"):
        text.read_pretrained_embeddings("x", "dog")


def test_embeddings_fill_a_table(tmp_path):
    (tmp_path / "v").write_bytes(as_text())
    vocabulary = text.Vocabulary(["<unk>", "The", "Dog", "dog", "née"], unknown="<unk>")
    embeddings = text.read_pretrained_embeddings(tmp_path / "v", vocabulary)
    model = dy.ParameterCollection()
    table = model.add_lookup_parameters((6, 3), init=0.125)
    assert embeddings.fill(table, vocabulary) == 3
    rows = table.as_array()
    assert np.array_equal(rows[[1, 2, 4]], VECTORS[[0, 1, 4]]) and (rows[[0, 3, 5]] == 0.125).all()
    assert embeddings.fill(table, dy.Dict(["née", "The"]), lower=False) == 1
    assert np.array_equal(table.as_array()[0], VECTORS[4])
    before = table.as_array()
    for words, what in [
        ("née", "is the text 'née'; want a list"),
        (["née", 3], "is 3; want a text"),
    ]:
        with pytest.raises(dy.TypeError, match=r"Embeddings.fill: words(\[1\])? " + what):
            embeddings.fill(table, words)
    for shape in [(4, 3), (6, 2)]:
        with pytest.raises(dy.ShapeError, match=r"want 5 rows or more of shape \(3,\)"):
            embeddings.fill(model.add_lookup_parameters(shape), vocabulary)
    assert np.array_equal(table.as_array(), before)


# ---- columns of CoNLL-U --------------------------------------------------------------------------

TREE = """# sent_id = 1
# text = don't go
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tX=1
1\tdo\tdo\tAUX\t_\t_\t3\taux\t_\t_
2\tn't\tnot\tPART\tNEG\t_\t3\tadvmod\t_\t_
2.1\tyou\tyou\tPRON\t_\t_\t_\t_\t3:nsubj\t_
3\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_

"""


@pytest.fixture
def sentence(tmp_path):
    (tmp_path / "tree.conllu").write_text(TREE)
    return next(dy.ConlluReader(tmp_path / "tree.conllu"))


def test_columns_are_replaced(sentence, tmp_path):
    assert text.with_columns(sentence) == TREE
    changed = text.with_columns(
        sentence, upos=["A", "B", "C"], head=[2, 0, "_"], lemma=["x y", "_", "z"]
    )
    want = TREE.replace("do\tdo\tAUX\t_\t_\t3", "do\tx y\tA\t_\t_\t2")
    want = want.replace("not\tPART\tNEG\t_\t3", "_\tB\tNEG\t_\t0")
    assert changed == want.replace("go\tgo\tVERB\t_\t_\t0", "go\tz\tC\t_\t_\t_")
    (tmp_path / "again.conllu").write_text(changed)
    again = next(dy.ConlluReader(tmp_path / "again.conllu"))
    assert [w.upos for w in again.words] == ["A", "B", "C"] and again.words[2].head is None
    assert again.comments == sentence.comments and again.tokens[0].misc == "X=1"


def test_mistakes_with_columns(sentence):
    for columns, message in [
        ({"form": ["a"] * 3}, "no column 'form'; want lemma, upos"),
        ({"upos": ["A"]}, "upos has 1 entries for 3 words; want one for each"),
        ({"upos": ["A", "", "B"]}, r"upos\[1\] is ''; want a text without tabs"),
        ({"misc": ["a\tb", "_", "_"]}, r"misc\[0\] is 'a\\tb'"),
        ({"head": [0, -1, 2]}, r"head\[1\] is '-1'; want a number or '_'"),
        ({"head": [0, 1, 4]}, r"head\[2\] is '4'; want a number or '_', and at most 3"),
        ({"head": [0, "\u0661", 1]}, r"head\[1\] is '\u0661'; want"),
        ({"misc": ["a\0", "_", "_"]}, r"misc\[0\] is 'a\\x00'"),
    ]:
        with pytest.raises(dy.ValueError, match=message):
            text.with_columns(sentence, **columns)


# ---- subwords ------------------------------------------------------------------------------------


@pytest.fixture
def tokenizer():
    tokenizers = pytest.importorskip("tokenizers", reason="not installed: pip install tokenizers")
    pieces = ["[UNK]", "[CLS]", "[SEP]", "un", "##think", "##able", "dog", "s", "##s"]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.normalizer = tokenizers.normalizers.Strip()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return made


def test_pieces_and_words(tokenizer):
    pieces = text.pieces(tokenizer, ["unthinkable", "dogs", "cat"])
    assert pieces.texts == ["[CLS]", "un", "##think", "##able", "dog", "##s", "[UNK]", "[SEP]"]
    assert pieces.ids == [1, 3, 4, 5, 6, 8, 0, 2] and pieces.spans == [(1, 4), (4, 6), (6, 7)]
    assert pieces.first(pieces.texts) == ["un", "dog", "[UNK]"]
    plain = text.pieces(tokenizer, ["dogs", "cat"], special=False)
    assert plain.spans == [(0, 2), (2, 3)] and len(plain) == 3
    dy.renew_cg()
    xs = [dy.scalarInput(i) for i in range(len(pieces))]
    assert [x.value() for x in pieces.mean(xs)] == [2, 4.5, 6]


def test_mistakes_with_pieces(tokenizer):
    pieces = text.pieces(tokenizer, ["dogs"])
    for call, error, message in [
        (lambda: text.pieces(tokenizer, ["dogs", " "]), ValueError, "no piece of the word ' ', of"),
        (lambda: text.pieces(tokenizer, "dogs"), TypeError, "'dogs' is a text; want a list"),
        (lambda: text.pieces(len, ["dogs"]), TypeError, "want a tokenizers.Tokenizer"),
        (lambda: pieces.first([1, 2]), ValueError, "2 expressions for 4 pieces; want one for each"),
        (lambda: pieces.mean([]), ValueError, "0 expressions for 4 pieces"),
    ]:
        with pytest.raises(error, match=message):
            call()
    tokenizer.enable_truncation(3)
    with pytest.raises(ValueError, match="no piece of the word 'cat', of 2"):
        text.pieces(tokenizer, ["dogs", "cat"])
