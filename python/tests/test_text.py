"""Corpora: readers, minibatches of like lengths, classes of words."""

import copy
import pickle

import dynet as dy
import pytest


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_file


def mistake(make):
    with pytest.raises(dy.IoError) as e:
        list(make())
    return str(e.value).splitlines()[0].replace("\\", "/").rsplit("/", 1)[-1]


def test_plain_text(write):
    path = write("\ufeffno it was\r\n\n  日本 \u00a0x y")
    reader = dy.PlainReader(path)
    assert next(reader) == ["no", "it", "was"]
    assert reader.line == 1
    assert list(reader) == [["日本", "\u00a0x", "y"]]
    assert list(reader) == []
    assert [len(words) for words in dy.PlainReader(str(path))] == [3, 3]


def test_errors_have_their_place(write):
    path = write(b"fine\nin latin\xe9\n")
    assert mistake(lambda: dy.PlainReader(path)).startswith("file.txt:2:9: byte 0xE9 is not UTF-8")
    path = write("a|O\nThe|O cat\n")
    assert mistake(lambda: dy.TaggedReader(path)).startswith("file.txt:2:7: a word without a tag")
    with pytest.raises(RuntimeError, match="cannot open"):
        dy.ConlluReader("no such file")


def test_tagged_and_parallel(write):
    assert list(dy.TaggedReader(write("The|DT dog|s|NN\n"))) == [(["The", "dog|s"], ["DT", "NN"])]
    one, two = write("a b\n\n", "1"), write("x\ny z\n", "2")
    assert list(dy.ParallelReader(one, two)) == [(["a", "b"], ["x"]), ([], ["y", "z"])]
    assert list(dy.ParallelReader(write("a ||| x y\n"))) == [(["a"], ["x", "y"])]
    with pytest.raises(dy.IoError, match=r"3:2:1: the file ends here, and .* goes on"):
        list(dy.ParallelReader(one, write("x\n", "3")))


def test_columns(write):
    text = "-DOCSTART- -X- -X- O\n\nEU NNP B-NP B-ORG\nrejects VBZ B-VP O\n\nPeter NNP B-NP B-PER\n"
    first, second = dy.ColumnReader(write(text))
    assert first.words == ["EU", "rejects"]
    assert first.columns[3] == ["B-ORG", "O"]
    assert (first.starts_document, second.starts_document) == (True, False)
    assert next(dy.ColumnReader(write("a X\n"), columns=0)).columns == [["a"], ["X"]]


def test_conllu(write):
    text = (
        "# sent_id = s1\n"
        "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tVamos\tir\tVERB\tv\tMood=Imp|Number=Plur\t0\troot\t0:root\t_\n"
        "2\tnos\tnosotros\tPRON\t_\tCase=Acc\t1\tobj\t1:obj\t_\n"
        "2.1\tfuimos\tir\tVERB\t_\t_\t_\t_\t1:conj\tSpaceAfter=No\n\n"
    )
    (sentence,) = dy.ConlluReader(write(text))
    assert sentence.comments == ["# sent_id = s1"]
    assert sentence.comment("sent_id") == "s1"
    assert [t.kind for t in sentence.tokens] == ["range", "word", "word", "empty"]
    assert [(w.form, w.lemma, w.upos, w.head, w.deprel) for w in sentence.words] == [
        ("Vamos", "ir", "VERB", 0, "root"),
        ("nos", "nosotros", "PRON", 1, "obj"),
    ]
    span, word, _, empty = sentence.tokens
    assert (span.id, span.last, span.head) == (1, 2, None)
    assert (empty.id, empty.last, empty.deps, empty.misc) == (2, 1, "1:conj", "SpaceAfter=No")
    assert (word.xpos, word.feature("Number"), word.feature("Case")) == ("v", "Plur", "")
    assert str(sentence) == text
    assert mistake(lambda: dy.ConlluReader(write(text.replace("\t1\tobj", "\t3\tobj")))).startswith(
        "file.txt:4:32: word 3 of a sentence of 2"
    )


def test_trees(write):
    penn, sst = dy.TreeReader(write("( (S (NP (DT The)\n (NN dog))) )\n(3 (2 It) (4 fun))\n"))
    assert str(penn) == "(S (NP (DT The) (NN dog)))"
    assert penn.words == ["The", "dog"]
    assert sst.nodes == [("It", []), ("2", [0]), ("fun", []), ("4", [2]), ("3", [1, 3])]
    path = write("(3 (2 It) (4 fun)\n(3 x)\n")
    assert mistake(lambda: dy.TreeReader(path, one_per_line=True)).startswith("file.txt:1:18: ")
    deep = write("(A " * 200000 + "x" + ")" * 200000)
    assert len(next(dy.TreeReader(deep)).nodes) == 200001


def test_buckets_are_those_of_cpp():
    data = ["x" * n for n in (5, 1, 3, 1, 9, 8, 7)]
    batches = dy.bucketed(data, size=2, window=4)
    assert [[len(x) for x in batch] for batch in batches] == [[5, 9], [1, 3], [1, 7], [8]]
    assert batches.position == "1 0 0 6938886825212493728"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("of", ["examples", "tokens", "padded_tokens"])
def test_buckets(stream, of):
    data = [(i, (i * 7919) % 23 + 1) for i in range(100)]

    def make(size=30, **options):
        source = (lambda: iter(data)) if stream else data
        return dy.bucketed(source, size, of, length=lambda x: x[1], window=40, **options)

    batches = make()
    first, second = list(batches), list(batches)
    assert first != second
    for epoch in (first, second):
        assert sorted(x for batch in epoch for x in batch) == data
    for batch in first:
        lengths = [length for _, length in batch]
        assert lengths == sorted(lengths)
        costs = {
            "examples": len(batch),
            "tokens": sum(lengths),
            "padded_tokens": len(batch) * max(lengths),
        }
        assert costs[of] <= 30 or len(batch) == 1
    again = make()
    begun = [next(again) for _ in range(2)]
    position = again.position
    rest = list(again)
    assert begun + rest == first
    resumed = make()
    resumed.position = position
    assert list(resumed) == rest
    assert list(resumed) == second
    for other in (make(size=31), make(seed=2)):
        with pytest.raises(ValueError, match="position"):
            other.position = position
    with pytest.raises(ValueError, match="four numbers"):
        batches.position = "nonsense"


def test_buckets_of_a_reader_and_of_what_fails(write):
    path = write("a b c\nd\ne f g\nh\n")
    batches = dy.bucketed(lambda: dy.PlainReader(path), size=2, shuffle=False)
    assert list(batches) == [[["d"], ["h"]], [["a", "b", "c"], ["e", "f", "g"]]]

    def broken():
        yield "x"
        raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        list(dy.bucketed(broken))
    with pytest.raises(TypeError):
        dy.bucketed([1, 2])
    with pytest.raises(ValueError, match="of='words'"):
        dy.bucketed(["a"], of="words")
    with pytest.raises(ValueError, match="size 0"):
        dy.bucketed(["a"], size=0)
    assert list(dy.bucketed([])) == []
    for length in (lambda item: -1, lambda item: "two", lambda item: None):
        with pytest.raises(ValueError, match=r"length gave .*; want a whole number"):
            dy.bucketed(["a"], length=length)


def test_a_batch_that_could_not_be_given_comes_again():
    class Fails(list):
        fails = False

        def __getitem__(self, at):
            if Fails.fails:
                raise KeyError("not now")
            return super().__getitem__(at)

    batches = dy.bucketed(Fails("abcd"), size=2, shuffle=False)
    first = next(batches)
    Fails.fails = True
    with pytest.raises(KeyError, match="not now"):
        next(batches)
    Fails.fails = False
    assert sorted(first + next(batches)) == ["a", "b", "c", "d"]


def test_clusters(write, tmp_path):
    corpus = write("the cat sees a dog\na dog sees the cat\n\nthe dog sees a cat\na cat runs\n")
    out = tmp_path / "classes.txt"
    dy.make_clusters(corpus, out, 3)
    assert out.read_text() == "0 cat 4\n0 dog 3\n1 a 4\n1 the 3\n2 sees 3\n2 runs 1\n"
    ids = {}
    dy.ClassFactoredSoftmaxBuilder(4, str(out), ids, dy.ParameterCollection())
    assert len(ids) == 6
    dy.make_clusters([corpus, str(corpus)], str(out), 2, method="frequency", tree=True, min_count=4)
    assert "1\t<unk>\t2" in out.read_text().splitlines()
    dy.HierarchicalSoftmaxBuilder(4, str(out), {}, dy.ParameterCollection())
    with pytest.raises(ValueError, match="7 classes; want 1 to 6"):
        dy.make_clusters(corpus, out, 7)
    with pytest.raises(ValueError, match="method='x'"):
        dy.make_clusters(corpus, out, 2, method="x")


def test_a_dictionary(tmp_path):
    words = dy.Dict(["the", "cat"])
    assert [words.convert(w) for w in ("cat", "sat", "the")] == [1, 2, 0]
    assert words.convert(2) == "sat" and len(words) == 3 and "sat" in words and "dog" not in words
    assert words.get_words() == ["the", "cat", "sat"] and repr(words) == "Dict of 3 words"
    with pytest.raises(IndexError, match="Dict: id 3 of 3 words"):
        words.convert(3)
    file = tmp_path / "words"
    words.save(file)
    assert file.read_text() == "the\ncat\nsat\n"
    words.freeze()
    with pytest.raises(RuntimeError, match="unknown word 'dog' in a frozen dictionary"):
        words.convert("dog")
    words.set_unk("<unk>")
    assert words.convert("dog") == words.get_unk_id() == 3 and words.is_frozen()
    for copied in (copy.deepcopy(words), pickle.loads(pickle.dumps(words))):
        assert copied.convert("bird") == 3 and repr(copied) == "Dict of 4 words, frozen"
    loaded = dy.Dict.load(str(file))
    assert loaded.get_words() == ["the", "cat", "sat"] and not loaded.is_frozen()
    assert loaded.get_unk_id() == -1 and loaded.convert("dog") == 3
    loaded.clear()
    assert len(loaded) == 0 and repr(dy.Dict(["a"])) == "Dict of 1 word"


def test_a_cleared_dictionary_is_copied_as_it_is():
    words = dy.Dict(["a"])
    words.freeze()
    words.set_unk("<unk>")
    words.clear()
    for copied in (words, copy.deepcopy(words), pickle.loads(pickle.dumps(words))):
        assert len(copied) == 0 and copied.is_frozen() and copied.get_unk_id() == 1
        with pytest.raises(RuntimeError, match="a frozen dictionary that was cleared"):
            copied.convert("b")


@pytest.mark.parametrize(
    "state",
    [
        (["a"], True, 5),
        (["a"], True, -7),
        (["a"], False, 0),
        (["a", "a"], False, -1),
        ([], False, 3),
    ],
)
def test_a_damaged_state_of_a_dictionary_is_refused(state):
    with pytest.raises(ValueError, match=r"Dict: the state says \d words"):
        dy.Dict.__new__(dy.Dict).__setstate__(state)
