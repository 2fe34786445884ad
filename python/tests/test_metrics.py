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
from collections import Counter

import dynet as dy
import numpy as np
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


def test_counts_of_arrays_are_plain_numbers():
    score = metrics.Accuracy(ignored=-1)
    score.add(np.array([1, 2, -1]), np.array([1, 3, 4]))
    assert (score.correct, score.total) == (1, 2) and type(score.correct) is int


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
        total.merge(score)
        assert total == sum([score, score, score])
        score += score  # its own counts, which change
        assert str(score) == str(other + other)
    with pytest.raises(TypeError, match=r"Accuracy \+ F1: want two scores of one kind"):
        metrics.Accuracy() + metrics.F1()
    with pytest.raises(TypeError, match=r"int \+ Accuracy: want two scores of one kind"):
        sum([metrics.Accuracy()], 1)
    for one, other in [
        (metrics.Accuracy(ignored=0), metrics.Accuracy()),
        (metrics.SpanF1(), metrics.SpanF1("BIO")),
        (metrics.BracketF1(), metrics.BracketF1.evalb()),
        (metrics.ConlluScores(), metrics.ConlluScores(punctuation=False)),
    ]:
        with pytest.raises(ValueError, match="different settings"):
            one + other
    assert metrics.SpanF1("IOBES") + metrics.SpanF1("BIOES") == metrics.SpanF1("IOBES")


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
    (lambda: metrics.SpanF1().add(["PER"], ["O"]), "the tag 'PER' of word 1; want O, or B, I"),
    (lambda: metrics.SpanF1(["BIO"]), r"scheme=\['BIO'\]; want one of any"),
    (lambda: metrics.SpanF1("IOB3"), "scheme='IOB3'; want one of any, BIO, BIOES"),
    (lambda: metrics.Perplexity().add(float("nan"), 1), "a loss of nan for 1 words"),
    (lambda: metrics.Perplexity().add(1, -1), "words=-1; want a whole number of 0 or more"),
    (lambda: metrics.Perplexity().add(1, 2.5), "Perplexity.add: words=2.5; want a whole number"),
    (lambda: metrics.Perplexity().add(1, "2"), "words='2'; want a whole number of 0 or more"),
    (lambda: metrics.Perplexity().add(1, 0), "a loss of 1.0 for 0 words; want a number, and 0 for"),
    (lambda: metrics.F1().count(2, 1, 3), "F1.count: 2 matched of 1 gold and 3 predicted; want no"),
    (lambda: metrics.F1().count(0, 1, -1), "F1.count: predicted=-1; want a whole number"),
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


NO_ANSWERS = [
    (lambda: metrics.Accuracy().add([[1, 2]], [[1, 2]]), r"gold\[0\] is a list that can change"),
    (lambda: metrics.Confusion().add([1], np.ones((1, 2))), r"predicted\[0\] is a ndarray"),
    (
        lambda: metrics.Confusion().add([1], [(1, [2])]),
        r"predicted\[0\] is a tuple that can change",
    ),
    (lambda: metrics.Accuracy().add(1, [1]), "gold is a int; want a list of answers"),
    (lambda: metrics.Accuracy().add([1], {1}), "predicted is a set; want a list of answers, in"),
    (lambda: metrics.F1().add([1], None), "F1.add: predicted is a NoneType; want a list"),
    (lambda: metrics.F1().add([[1]], [1]), r"F1.add: gold\[0\] is a list that can change"),
    (lambda: metrics.Perplexity().add("x", 1), "Perplexity.add: loss='x'; want a number"),
    (lambda: metrics.BracketF1(equal=["A"]), "equal is a list; want a dict of labels"),
    (lambda: metrics.Bleu().add("a", None), "references is a NoneType; want texts"),
    (lambda: metrics.spans(5), "spans: tags is a int; want a list of tags"),
    (lambda: metrics.ConlluScores().add(5, []), "the gold treebank has a int; want a file"),
    (lambda: metrics.SpanF1().add("O", "O"), "gold is the text 'O'; want a list of tags"),
    (lambda: metrics.spans("BIO"), "tags is the text 'BIO'; want a list of tags"),
    (lambda: metrics.BracketF1(None), "ignored is a NoneType; want a list of labels"),
    (lambda: metrics.Accuracy(ignored=[-1]), "Accuracy: ignored is a list; want one answer"),
    (lambda: metrics.BracketF1("TOP"), "ignored is the text 'TOP'; want a list of labels"),
    (lambda: metrics.Bleu().add(["a", "b"], ["a b"]), "hypothesis is a list; want a text"),
    (lambda: metrics.Bleu().add("a b", [["a", "b"]]), "a reference is a list; want a text"),
    (lambda: metrics.ConlluScores().add([], [1]), "the predicted treebank has a int; want a file"),
]


@pytest.mark.parametrize("wrong, text", NO_ANSWERS)
def test_things_that_are_no_answers(wrong, text):
    with pytest.raises(TypeError, match=text) as caught:
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


def is_span(scheme, tags, begin, end):
    """Whether well-formed tags of one type are a span, by the definition of the scheme."""
    letters = [t.partition("-")[0] for t in tags[begin:end]]
    if len({t.partition("-")[2] for t in tags[begin:end]}) != 1:
        return False
    if scheme == "BIOES":
        return letters in (["S"], ["B", *"I" * (end - begin - 2), "E"])
    goes_on = end < len(tags) and tags[end] == "I" + tags[begin][1:]
    return letters == ["B", *"I" * (end - begin - 1)] and not goes_on


@pytest.mark.parametrize("scheme, letters", [("BIO", "BIO"), ("BIOES", "BIESO")])
def test_spans_are_those_of_the_definition(scheme, letters):
    draw = random.Random(2)
    total = 0
    for _ in range(500):
        tags = random_tags(draw, letters, draw.randint(1, 9))
        places = [(i, j) for i in range(len(tags)) for j in range(i + 1, len(tags) + 1)]
        wanted = [(tags[i][2:], i, j) for i, j in places if is_span(scheme, tags, i, j)]
        assert metrics.spans(tags, scheme) == wanted
        total += len(wanted)
    assert total > 300


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
        each = seqeval.classification_report(gold, found, output_dict=True, zero_division=0)
        for kind, numbers in lenient.types.items():
            assert numbers.value == pytest.approx(each[kind]["f1-score"], abs=1e-12)
            assert numbers.gold == each[kind]["support"]


def test_unlabelled_brackets_and_trees_of_a_reader(tmp_path):
    score = metrics.BracketF1(labelled=False)
    score.add("(ROOT (S (NP (D a) (N b)) (V c)))", "(X (Y (D a) (N b)) (V c))")
    assert (score.matched, score.gold, score.predicted, score.exact) == (2, 2, 2, 1)
    file = tmp_path / "trees.txt"
    file.write_text("(S (NP (D a) (N b)) (V c))\n")
    tree = next(iter(dy.TreeReader(str(file))))
    score.add(tree, tree)
    assert score.exact == 2


def random_tree(draw, words):
    """Labels, tags and brackets over the words, as nested lists."""
    if len(words) == 1 and draw.random() < 0.6:
        return [draw.choice("NV."), words[0]]
    cuts = sorted(draw.sample(range(1, len(words)), min(len(words) - 1, draw.randint(0, 2))))
    parts = [words[i:j] for i, j in zip([0, *cuts], [*cuts, len(words)])]
    return [draw.choice("XYZ"), *(random_tree(draw, part) for part in parts)]


def brackets_of(tree, deleted, ignored=()):
    """Labels with the words below, by recursion."""

    def words(node):
        if isinstance(node[1], str):
            return [] if node[1] in deleted else [node[1]]
        return [w for child in node[1:] for w in words(child)]

    if isinstance(tree[1], str):
        return []
    own = [(tree[0], tuple(words(tree)))] if words(tree) and tree[0] not in ignored else []
    return own + [b for child in tree[1:] for b in brackets_of(child, deleted, ignored)]


def text_of(tree):
    return tree if isinstance(tree, str) else f"({' '.join(map(text_of, tree))})"


def tags_of(tree):
    if isinstance(tree[1], str):
        return {tree[1]: tree[0]}
    return {w: t for child in tree[1:] for w, t in tags_of(child).items()}


@pytest.mark.parametrize("labelled", [True, False])
def test_brackets_are_those_of_a_recursion(labelled):
    draw = random.Random(8)
    score = metrics.BracketF1(["Z"], labelled=labelled, deleted=["."], equal={"Y": "X"})
    matched = gold = predicted = 0
    for _ in range(300):
        words = [f"w{i}" for i in range(draw.randint(1, 7))]
        trees = [random_tree(draw, words) for _ in "gp"]
        deleted = {w for w, tag in tags_of(trees[0]).items() if tag == "."}
        counted = []
        for tree in trees:
            pairs = brackets_of(tree, deleted, {"Z"})
            counted.append(Counter((label.replace("Y", "X") * labelled, w) for label, w in pairs))
        score.add(*map(text_of, trees))
        matched += (counted[0] & counted[1]).total()
        gold += counted[0].total()
        predicted += counted[1].total()
    assert (score.matched, score.gold, score.predicted) == (matched, gold, predicted)
    assert matched > 200


def test_brackets_over_words_without_tags():
    score = metrics.BracketF1()
    score.add("(S (NP the dog) (VP ran))", "(S the (NP dog) (VP ran))")
    assert (score.matched, score.gold, score.predicted) == (1, 2, 1)  # (VP ran) is like a tag


def test_settings_of_evalb():
    """Counts by hand, from the parameters of Collins."""
    gold = "(TOP (S (`` ``) (NP (N dogs)) (VP (V give) (PRT (RP up))) (. .) ('' '')))"
    found = "(TOP (S (`` ``) (NP (NP (N dogs))) (VP (V give) (ADVP (RP up)) (. .)) ('' '')))"
    score = metrics.BracketF1.evalb()
    score.add(gold, found)
    assert (score.matched, score.gold, score.predicted) == (4, 4, 5)
    plain = metrics.BracketF1()
    plain.add(gold, found)
    assert (plain.matched, plain.gold, plain.predicted) == (2, 4, 5)
    # Nothing but deleted words.
    score.add("(TOP (NP (. .) (. .)))", "(TOP (S (NP (. .)) (. .)))")
    assert (score.gold, score.predicted, score.exact, score.sentences) == (4, 5, 1, 2)


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
        ValueError, match=r"sentence 1 of the predicted treebank: word 1 \('We'\) has no head"
    ):
        conllu(tmp_path, GOLD, GOLD.replace("3\tnsubj:x", "_\t_"))


def test_conllu_refuses_heads_that_are_no_tree(tmp_path):
    two = GOLD.replace("3\tnsubj:x", "0\troot")
    with pytest.raises(
        ValueError,
        match=r"gold treebank: word 1 \('We'\) and word 3 \(\"n't\"\) have the head 0; want",
    ):
        conllu(tmp_path, two, GOLD)
    score = metrics.ConlluScores(several_roots=True)
    score.add(tmp_path / "gold.conllu", tmp_path / "predicted.conllu")
    assert counts(score)["UAS"] == (2, 3, 3)
    with pytest.raises(
        ValueError,
        match=r"sentence 1 of the predicted treebank: word 2 .* itself, by its head 3; want a tree",
    ):
        conllu(tmp_path, GOLD, GOLD.replace("0\troot", "2\troot"))
    assert math.isnan(metrics.ConlluScores().value)


def test_conllu_without_punctuation(tmp_path):
    line = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n"
    rows = [("dogs", "NOUN", 2, "nsubj"), ("bark", "VERB", 0, "root"), ("?!", "PUNCT", 2, "punct")]
    gold = "".join(line.format(i, *row) for i, row in enumerate([*rows, ("$", "SYM", 2, "obj")], 1))
    found = gold.replace("2\tpunct", "1\tpunct").replace("2\tobj", "1\tobj")
    assert counts(conllu(tmp_path, gold + "\n", found + "\n"))["LAS"] == (2, 4, 4)
    score = metrics.ConlluScores(punctuation=False)
    score.add(tmp_path / "gold.conllu", tmp_path / "predicted.conllu")
    assert counts(score)["UAS"] == counts(score)["LAS"] == (2, 3, 3)  # $ is no punctuation
    assert counts(score)["UPOS"] == (4, 4, 4) and counts(score)["CLAS"] == (2, 3, 3)


def random_treebank(draw, text):
    """A treebank over the characters of a text, cut into sentences, tokens and words at random."""
    sentences, words, ranges = [], [], []
    left = text
    while left:
        form = left[: draw.randint(1, 3)]
        left = left[len(form) :]
        if draw.random() < 0.3 and len(form) > 1:
            ranges.append((len(words), form))
            parts = draw.choice([[form[0], form[1:]], [form[:-1].upper(), "x"], ["y"] * 3])
            words += parts
            ranges[-1] += (len(words),)
        else:
            words.append(form)
        if not left or draw.random() < 0.2:
            sentences.append(sentence_of(draw, words, ranges))
            words, ranges = [], []
    return "".join(sentences)


def sentence_of(draw, words, ranges):
    order = draw.sample(range(1, len(words) + 1), len(words))
    heads = {w: draw.choice(order[:i]) if i else 0 for i, w in enumerate(order)}
    lines = []
    for i, form in enumerate(words):
        for begin, token, end in ranges:
            if begin == i:
                lines.append("\t".join([f"{begin + 1}-{end}", token, *["_"] * 8]))
        relation = (
            "root" if heads[i + 1] == 0 else draw.choice(["nsubj:x", "nsubj", "det", "punct"])
        )
        feats = draw.choice(["_", "Case=Nom", "Case=Nom|Own=No", "Case=Acc|Gender=Fem"])
        lemma, upos, xpos = draw.choice("_ab"), draw.choice(["X", "DET"]), draw.choice("_P")
        cells = [i + 1, form, lemma, upos, xpos, feats, heads[i + 1], relation, "_", "_"]
        lines.append("\t".join(map(str, cells)))
    return "\n".join(lines) + "\n\n"


def counts_of_udtools(folder):
    code = "from udtools.cli import main_eval; main_eval()"
    files = [str(folder / "gold.conllu"), str(folder / "predicted.conllu")]
    command = [sys.executable, "-c", code, "-v", "-c", "--no-enhanced", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = re.findall(r"^(\w+) *\| *(\d+) *\| *(\d+) *\| *(\d+)", done.stdout, re.M)
    assert len(rows) >= 10, done.stderr
    return {name: tuple(map(int, numbers)) for name, *numbers in rows}


def test_random_cuts_are_counted_as_in_the_shared_task(tmp_path):
    pytest.importorskip("udtools")
    draw = random.Random(5)
    text = "".join(draw.choice("abcABC.,") for _ in range(3000))
    score = conllu(tmp_path, random_treebank(draw, text), random_treebank(draw, text))
    theirs = counts_of_udtools(tmp_path)
    for name, numbers in counts(score).items():
        assert theirs[name] == numbers, name
    assert score.columns["Words"].matched > 100 < score.columns["UPOS"].matched


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
    theirs = counts_of_udtools(tmp_path)
    for name, numbers in counts(score).items():
        assert theirs[name] == numbers, name


def test_bleu():
    score = metrics.Bleu(tokenize="char")
    assert math.isnan(score.value) and repr(score) == "<Bleu of 0 sentences>"
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
    score = metrics.Bleu(tokenise="char")
    score.add("a", "a")
    with pytest.raises(ValueError, match=r"sacrebleu refuses {'tokenise': 'char'}: .*unexp"):
        score.value
