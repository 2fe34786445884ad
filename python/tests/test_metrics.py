"""Scores of predictions: `dynet.metrics`."""

import copy
import doctest
import importlib
import math
import pickle
import random
import re
import subprocess
import sys

import dynet as dy
import pytest
from dynet import metrics

MODULES = ["", "._brackets", "._counts", "._spans"]


@pytest.mark.parametrize("name", MODULES)
def test_what_the_texts_show(name):
    module = importlib.import_module("dynet.metrics" + name)
    failed, attempted = doctest.testmod(module)
    assert attempted > 2 and failed == 0


def test_it_is_imported_when_it_is_used():
    code = (
        "import sys, dynet as dy; assert 'dynet.metrics' not in sys.modules; "
        "dy.metrics.Accuracy(); assert 'dynet.metrics' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def filled():
    """A score of each kind, and a function that makes another such score."""
    accuracy, confusion, perplexity = metrics.Accuracy(), metrics.Confusion(), metrics.Perplexity()
    accuracy.add([1, 2, 3], [1, 2, 4])
    confusion.add("abba", "abab")
    perplexity.add(2.5, 2)
    spans, brackets, f1 = metrics.SpanF1(), metrics.BracketF1(), metrics.F1()
    spans.add(["B-X", "I-X", "B-Y"], ["B-X", "I-X", "O"])
    brackets.add("(S (NP (D a) (N b)) (V c))", "(S (D a) (VP (N b) (V c)))")
    f1.add([1, 2, 2], [2, 2, 3])
    return [accuracy, confusion, perplexity, spans, brackets, f1]


def test_values_known_by_hand():
    accuracy, confusion, perplexity, spans, brackets, f1 = filled()
    assert accuracy.value == 2 / 3
    assert confusion.value == 0.5 and confusion.labels == ["a", "b"]
    assert confusion.of("a").recall == 0.5 and confusion.macro_f1 == 0.5
    assert perplexity.value == math.exp(1.25)
    assert spans.value == 2 / 3 and spans.types["Y"].value == 0 and spans.macro_f1 == 0.5
    assert (brackets.matched, brackets.gold, brackets.predicted) == (1, 2, 2)
    assert (brackets.exact, brackets.sentences) == (0, 1)
    assert (f1.matched, f1.precision, f1.recall) == (2, 2 / 3, 2 / 3)


def test_nothing_was_counted():
    for score in filled():
        assert math.isnan(type(score)().value)
        assert str(type(score)())
    f1 = metrics.F1()
    f1.add([1], [])
    assert f1.value == 0 and f1.recall == 0 and math.isnan(f1.precision)


def test_scores_add_up_and_travel():
    for score in filled():
        other = pickle.loads(pickle.dumps(score))
        assert other == score and other != type(score)()
        before = copy.deepcopy(vars(score))
        total = score + other
        assert total.value == pytest.approx(score.value) and vars(score) == before
        assert str(total) != str(score)  # twice the counts
        total += type(score)()
        assert str(total) == str(score + score)
    with pytest.raises(TypeError, match=r"Accuracy \+ F1: want two scores of one kind"):
        metrics.Accuracy() + metrics.F1()
    with pytest.raises(ValueError, match="different settings"):
        metrics.Accuracy(ignored=0) + metrics.Accuracy()


def test_tables():
    spans, confusion = filled()[3], filled()[1]
    assert str(spans).splitlines() == [
        "     precision  recall      F1  gold  predicted",
        "X       100.00  100.00  100.00     1          1",
        "Y            -    0.00    0.00     1          0",
        "all     100.00   50.00   66.67     2          1",
    ]
    assert str(confusion).splitlines() == [
        "gold \\ predicted      a      b  recall",
        "a                     1      1   50.00",
        "b                     1      1   50.00",
        "precision         50.00  50.00   50.00",
    ]
    assert repr(spans) == "<SpanF1 0.6667>"


WRONG = [
    (
        lambda: metrics.Accuracy().add([1, 2], [1]),
        "Accuracy.add: 2 gold answers and 1 predicted ones",
    ),
    (
        lambda: metrics.Confusion().add([1], [1, 2]),
        "Confusion.add: 1 gold answers and 2 predicted ones",
    ),
    (lambda: metrics.SpanF1().add(["O"], []), "SpanF1.add: 1 gold answers and 0 predicted ones"),
    (lambda: metrics.SpanF1().add(["PER"], ["O"]), "the tag 'PER'; want O, or B, I, E or S"),
    (lambda: metrics.SpanF1("IOB3"), "scheme='IOB3'; want one of any, BIO, BIOES"),
    (lambda: metrics.Perplexity().add(float("nan"), 1), "a loss of nan for 1 words"),
    (lambda: metrics.Perplexity().add(1, -1), "a loss of 1.0 for -1 words"),
    (lambda: metrics.BracketF1().add("(S a", "(S a)"), "an open bracket at the end in '\\(S a'"),
    (lambda: metrics.BracketF1().add("(S a) (S b)", "(S a)"), "a second tree in"),
    (lambda: metrics.BracketF1().add("(S (N ))", "(S a)"), "a bracket without a word in"),
    (lambda: metrics.BracketF1().add("a", "(S a)"), "'a' outside of the brackets in 'a'"),
    (lambda: metrics.BracketF1().add("(S a b)", "(S a)"), "2 words in the gold tree and 1 in the"),
    (
        lambda: metrics.BracketF1().add("(S a b)", "(S a c)"),
        "word 2 is 'b' in the gold tree and 'c'",
    ),
    (
        lambda: metrics.Bleu().add("a", []),
        "Bleu.add: 0 references for a sentence; want one or more",
    ),
]


@pytest.mark.parametrize("wrong, text", WRONG)
def test_wrong_input(wrong, text):
    with pytest.raises(ValueError, match=text) as caught:
        wrong()
    assert isinstance(caught.value, dy.Error)


def test_a_failed_add_counts_nothing():
    score = metrics.SpanF1()
    with pytest.raises(ValueError):
        score.add(["B-X", "Z"], ["B-X", "O"])
    assert score.types == {}
    score = metrics.Confusion()
    with pytest.raises(TypeError):
        score.add(["a", []], ["a", []])
    assert not score.counts


def random_tags(draw, letters, length):
    tags = [draw.choice(letters) for _ in range(length)]
    return [t if t == "O" else f"{t}-{draw.choice('XY')}" for t in tags]


@pytest.mark.parametrize("scheme, letters", [("BIO", "BIO"), ("BIOES", "BIESO")])
def test_spans_are_those_of_seqeval(scheme, letters):
    seqeval = pytest.importorskip("seqeval.metrics")
    strict = importlib.import_module("seqeval.scheme")
    draw = random.Random(7)
    for _ in range(200):
        gold = [random_tags(draw, letters, draw.randint(1, 12)) for _ in range(3)]
        found = [
            [draw.choice([a, b]) for a, b in zip(s, random_tags(draw, letters, len(s)))]
            for s in gold
        ]
        lenient, exact = metrics.SpanF1(), metrics.SpanF1(scheme)
        for pair in zip(gold, found):
            lenient.add(*pair)
            exact.add(*pair)
        wanted = seqeval.f1_score(gold, found, zero_division=0)
        assert (lenient.value if lenient.types else 0) == pytest.approx(wanted, abs=1e-12)
        wanted = seqeval.f1_score(
            gold,
            found,
            mode="strict",
            scheme={"BIO": strict.IOB2, "BIOES": strict.IOBES}[scheme],
            zero_division=0,
        )
        assert (exact.value if exact.types else 0) == pytest.approx(wanted, abs=1e-12)


def test_unlabelled_brackets_and_trees_of_a_reader(tmp_path):
    score = metrics.BracketF1(labelled=False)
    score.add("(ROOT (S (NP (D a) (N b)) (V c)))", "(X (Y (D a) (N b)) (V c))")
    assert (score.matched, score.gold, score.predicted, score.exact) == (2, 2, 2, 1)
    file = tmp_path / "trees.txt"
    file.write_text("(S (NP (D a) (N b)) (V c))\n")
    tree = next(iter(dy.TreeReader(str(file))))
    score.add(tree, tree)
    assert score.exact == 2


GOLD = """\
1\tWe\twe\tPRON\tP\tCase=Nom\t3\tnsubj:x\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t3\taux\t_\t_
3\tn't\t_\tPART\t_\tForeign=Yes|Own=No\t0\troot\t_\t_

"""


def conllu(tmp_path, gold, predicted):
    files = tmp_path / "gold.conllu", tmp_path / "predicted.conllu"
    for file, text in zip(files, (gold, predicted)):
        file.write_text(text, encoding="utf-8")
    score = metrics.ConlluScores()
    score.add(*files)
    return score


def counts(score):
    return {name: (f.matched, f.gold, f.predicted) for name, f in score.columns.items()}


def test_conllu_known_by_hand(tmp_path):
    score = conllu(tmp_path, GOLD, GOLD)
    assert score.value == 1 and counts(score)["CLAS"] == (2, 2, 2)
    # A subtype and a feature of the language do not count, nor does the lemma of a gold word without.
    other = GOLD.replace("nsubj:x", "nsubj").replace("|Own=No", "").replace("n't\t_", "n't\tnot")
    assert all(f.value == 1 for f in conllu(tmp_path, GOLD, other).columns.values())
    # One token instead of two words: it aligns with neither.
    other = (
        "1\tWe\twe\tPRON\tP\tCase=Nom\t2\tnsubj\t_\t_\n2\tdon't\tdo\tAUX\t_\t_\t0\troot\t_\t_\n\n"
    )
    score = conllu(tmp_path, GOLD, other)
    assert counts(score)["Tokens"] == (2, 2, 2) and counts(score)["Words"] == (1, 3, 2)
    assert counts(score)["UAS"] == (0, 3, 2) and counts(score)["UPOS"] == (1, 3, 2)
    # Two sentences instead of one.
    other = (
        "1\tWe\twe\tPRON\tP\tCase=Nom\t0\troot\t_\t_\n\n1\tdon't\tdo\tAUX\t_\t_\t0\troot\t_\t_\n\n"
    )
    assert counts(conllu(tmp_path, GOLD, other))["Sentences"] == (0, 1, 2)


def test_conllu_refuses_other_texts_and_words_without_heads(tmp_path):
    with pytest.raises(
        ValueError, match=r"differ at character 1: gold \"Wedon't\", predicted \"Iedon't\""
    ):
        conllu(tmp_path, GOLD, GOLD.replace("We", "Ie"))
    with pytest.raises(
        ValueError, match=r"word 1 \('We'\) of sentence 1 of the predicted treebank has no head"
    ):
        conllu(tmp_path, GOLD, GOLD.replace("3\tnsubj:x", "_\t_"))


def test_conllu_is_that_of_the_shared_task(tmp_path):
    """Compares with udeval of the package udtools, if that is installed."""
    pytest.importorskip("udtools")
    draw = random.Random(3)
    changed = []
    for line in (GOLD * 20).split("\n"):
        columns = line.split("\t")
        if len(columns) == 10 and "-" not in columns[0]:
            for column, others in ((3, ("X", "AUX")), (5, ("Case=Nom", "_")), (7, ("aux", "obj"))):
                if draw.random() < 0.3 and columns[7] != "root":
                    columns[column] = draw.choice(others)
        changed.append("\t".join(columns))
    score = conllu(tmp_path, GOLD * 20, "\n".join(changed))
    code = "from udtools.cli import main_eval; main_eval()"
    files = [str(tmp_path / "gold.conllu"), str(tmp_path / "predicted.conllu")]
    command = [sys.executable, "-c", code, "-v", "-c", "--no-enhanced", *files]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    rows = re.findall(r"^(\w+) *\| *(\d+) *\| *(\d+) *\| *(\d+)", output, re.M)
    theirs = {name: tuple(map(int, numbers)) for name, *numbers in rows}
    assert len(theirs) >= 10
    for name, numbers in counts(score).items():
        assert theirs[name] == numbers, name


def test_bleu(tmp_path):
    score = metrics.Bleu(tokenize="char")
    assert math.isnan(score.value)
    score.add("the cat sat on the mat", ["the cat sat on the mat", "a cat sat on a mat"])
    with pytest.raises(ValueError, match="1 references for a sentence; want 2"):
        score.add("a", "a")
    if importlib.util.find_spec("sacrebleu") is None:
        with pytest.raises(ModuleNotFoundError, match="pip install sacrebleu"):
            score.value
        return
    score.add("a dog", ["the dog", "one dog"])
    sacrebleu = importlib.import_module("sacrebleu")
    streams = [["the cat sat on the mat", "the dog"], ["a cat sat on a mat", "one dog"]]
    wanted = sacrebleu.corpus_bleu(score.hypotheses, streams, tokenize="char").score
    assert score.value == pytest.approx(wanted) and "tok:char" in str(score)
    assert (score + score).value == pytest.approx(wanted)
