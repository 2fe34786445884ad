"""``dynet train lm`` and ``dynet score``."""

from __future__ import annotations

import math
import random
import re
import subprocess
import sys

import dynet as dy
import pytest
from dynet.programs import _options, load, main
from dynet.programs._lm import LanguageModel, LinesScore

SMALL = ["--epochs=3", "--size=24", "--rate=0.03", "--batch=8", "--dropout=0.1"]


def line(drawn):
    """The number of the words is that of the noun."""
    noun = drawn.choice(["dog", "cat", "tree"])
    return "the dogs bark" if drawn.random() < 0.5 else f"a {noun} falls"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, drawn = tmp_path_factory.mktemp("lm"), random.Random(3)
    for name, count in (("train", 300), ("dev", 40)):
        (folder / name).write_text("\n\n".join(line(drawn) for _ in range(count)) + "\n")
    return folder


@pytest.fixture(scope="module")
def model(files):
    names = [f"--{name}={files / name}" for name in ("train", "dev")]
    assert main(["train", "lm", *names, f"--output={files / 'lm'}", *SMALL]) == 0
    return str(files / "lm.safetensors")


def scored(model, file, capsys):
    assert main(["score", model, str(file)]) == 0
    rows = [row.split("\t") for row in capsys.readouterr().out.splitlines()]
    return [(float(a), float(b), words) for a, b, words in rows]


def test_it_learns(files, model, capsys):
    capsys.readouterr()
    (files / "lines").write_text("the dogs  bark\n\na dog falls\na dogs bark\nthe zebra\n")
    rows = scored(model, files / "lines", capsys)
    assert [words for *_, words in rows] == [
        "the dogs bark",
        "a dog falls",
        "a dogs bark",
        "the zebra",
    ]
    # Half of the lines, and a sixth of them: the model knows no more than that.
    assert rows[0][0] == pytest.approx(math.log(0.5), abs=0.2)
    assert rows[1][0] == pytest.approx(math.log(1 / 6), abs=0.3)
    assert rows[2][0] < -6
    for log, perplexity, words in rows:
        count = len(words.split()) + 1
        assert perplexity == pytest.approx(math.exp(-log / count), rel=1e-3)
    assert main(["score", model, str(files / "lines"), f"--output={files / 'out'}"]) == 0
    assert len((files / "out").read_text().splitlines()) == 4


def test_evaluation_adds_up_the_lines(files, model, capsys):
    capsys.readouterr()
    rows = scored(model, files / "dev", capsys)
    assert main(["evaluate", model, str(files / "dev")]) == 0
    head, row = (text.split() for text in capsys.readouterr().out.splitlines())
    assert head == ["words", "unknown", "value"] and row[:3] == ["perplexity", str(40 * 4), "0"]
    total = sum(log for log, *_ in rows)
    assert float(row[3]) == pytest.approx(math.exp(-total / 160), rel=1e-2)
    (files / "other").write_text("the zebra zooms\n")
    assert main(["evaluate", model, str(files / "other")]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[1:3] == ["4", "2"]


def test_probabilities_of_all_next_words_are_one(files, model):
    """The probability of a word is the ratio of two lines' probabilities without their ends."""
    lm = load(model)
    dy.renew_cg()
    with dy.evaluating():
        words = lm.example(["the", "dogs"])[:-1]
        before = lm.line_loss(words).value()
        every = [lm.line_loss([*words, w]).value() for w in range(lm.end + 1)]
    assert sum(math.exp(before - x) for x in every) == pytest.approx(1, abs=1e-4)


def test_scores_add_up():
    one, other = LinesScore(), LinesScore()
    one.add(3, 4)
    other.add(2, 1)
    other.unknown = 1
    total = one + other
    assert (total.words, total.unknown, total.value) == (5, 1, math.exp(1))


def test_conllu_is_read_by_its_forms(files, model, tmp_path, capsys):
    rows = [f"{i}\t{form}" + "\t_" * 8 for i, form in enumerate(["the", "dogs", "bark"], 1)]
    (tmp_path / "a.conllu").write_text("# text = the dogs bark\n" + "\n".join(rows) + "\n\n")
    (tmp_path / "plain").write_text("the dogs bark\n")
    capsys.readouterr()
    assert scored(model, tmp_path / "a.conllu", capsys) == scored(model, tmp_path / "plain", capsys)
    assert LanguageModel.read(str(tmp_path / "a.conllu")) == [["the", "dogs", "bark"]]


def test_the_line_of_an_epoch_has_means_of_words(files, tmp_path, capsys):
    """Without dropout and at a rate near 0: the loss is the logarithm of the perplexity."""
    words = ["--train", str(files / "dev"), "--dev", str(files / "dev"), "--rate=1e-9"]
    command = ["train", "lm", *words, "--epochs=1", "--size=8", "--dropout=0"]
    assert main([*command, f"--output={tmp_path / 'm'}"]) == 0
    found = re.search(r"epoch 1  loss (\S+)  perplexity (\S+)", capsys.readouterr().out)
    assert math.exp(float(found[1])) == pytest.approx(float(found[2]), rel=1e-2)


def test_the_best_epoch_has_the_lowest_perplexity(files, tmp_path, capsys, monkeypatch):
    left = [3.0, 2.0, 5.0]
    monkeypatch.setattr(LanguageModel, "columns", staticmethod(lambda _: {"p": left.pop(0)}))
    names = [f"--{name}={files / 'dev'}" for name in ("train", "dev")]
    assert main(["train", "lm", *names, f"--output={tmp_path / 'm'}", *SMALL]) == 0
    assert "best epoch: 2\n" in capsys.readouterr().out


def test_the_vocabulary_has_an_end(files, tmp_path):
    words = ["train", "lm", f"--train={files / 'train'}", f"--output={tmp_path / 'm'}"]
    assert main([*words, "--epochs=1", "--size=4", "--vocabulary=4"]) == 0
    assert len(load(str(tmp_path / "m")).words) == 4
    with pytest.raises(_options.OptionError, match="--vocabulary is for `dynet train lm`, not ner"):
        _options.parse(["train", "ner", "--train=a", "--output=b", "--vocabulary=4"])


def test_workers_train_the_same_model(files, tmp_path):
    if sys.platform == "win32":
        pytest.skip("no fork")
    command = [sys.executable, "-m", "dynet", "train", "lm", f"--train={files / 'dev'}"]
    command += [*SMALL, "--epochs=1", "--dropout=0", "--dynet-shared-parameters", "1"]
    for workers in ("1", "2"):
        words = [*command, f"--output={tmp_path / workers}", "--workers", workers]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / f"{n}.safetensors").read_bytes() for n in "12")
    assert one == two


def test_other_models_and_files(files, model, tmp_path, capsys):
    for command, wanted in [
        ("tag", "`dynet train tagger` or `dynet train parser` or `dynet train ner`"),
        ("parse", "`dynet train parser`"),
    ]:
        assert main([command, model, str(files / "dev")]) == 2
        end = f"lm.safetensors: is a model of `dynet train lm`; want one of {wanted}\n"
        assert capsys.readouterr().err.endswith(end)
    (tmp_path / "tags").write_text("a B-X\n\nb O\n\n")
    words = ["train", "ner", f"--train={tmp_path / 'tags'}", f"--output={tmp_path / 'ner'}"]
    assert main([*words, "--epochs=1", "--size=4"]) == 0
    assert main(["score", str(tmp_path / "ner"), str(files / "dev")]) == 2
    assert (
        "is a model of `dynet train ner`; want one of `dynet train lm`" in capsys.readouterr().err
    )
    (tmp_path / "empty").write_text("\n\n")
    for command in (["train", "lm", "--output=m", "--train"], ["evaluate", model]):
        assert main([*command, str(tmp_path / "empty")]) == 2
        assert (
            "empty:1: there are no words; want a sentence on each line" in capsys.readouterr().err
        )
    (tmp_path / "latin").write_bytes(b"caf\xe9\n")
    assert main(["score", model, str(tmp_path / "latin")]) == 2
    assert "latin:1:" in capsys.readouterr().err
