"""The programs of `dynet.programs`: ``dynet train``, ``dynet tag``, ``dynet evaluate``."""

from __future__ import annotations

import argparse
import doctest
import errno
import importlib
import itertools
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

import dynet as dy
import numpy as np
import pytest
from dynet.programs import _edits, _features, _options, _parser, _tagger, _training, load, main
from treebanks import SMALL, sentence, stopped_after_an_epoch, untagged, write_treebanks

TREEBANK = pathlib.Path(__file__).parents[2].parent / "shared" / "data" / "ud"


@pytest.mark.parametrize("name", ["_edits"])
def test_what_the_texts_show(name):
    failed, attempted = doctest.testmod(importlib.import_module("dynet.programs." + name))
    assert attempted > 1 and failed == 0


# ---- lemmas as edits -----------------------------------------------------------------------------


def test_an_edit_makes_the_lemma_of_its_own_form():
    drawn = random.Random(1)
    for _ in range(3000):
        form, lemma = (
            "".join(drawn.choice("abAB'é日İ") for _ in range(drawn.randint(1, 6))) for _ in "fl"
        )
        assert _edits.apply(_edits.edit(form, lemma), form) == lemma


def test_edits_change_as_little_as_they_can():
    edit, apply = _edits.edit, _edits.apply
    assert edit("dogs", "dog") == edit("Cats", "cat") == '["lower", 0, "", 1, ""]'
    assert edit("ANSI", "ANSI") == edit("Steve", "Steve") == '["same", 0, "", 0, ""]'
    assert edit("LONDON", "London") == '["title", 0, "", 0, ""]'
    assert edit("ungemacht", "machen") == '["lower", 4, "", 1, "en"]'
    assert apply(edit("parties", "party"), "ies") is None
    assert apply('["lower", 0, "", 1, ""]', "İs") == "İs".lower()[:-1]


def test_edits_of_a_treebank():
    if not TREEBANK.is_dir():
        pytest.skip("no treebank beside the project, in ../shared/data/ud")
    words = [w for s in dy.ConlluReader(TREEBANK / "en_lines-ud-dev.conllu") for w in s.words]
    edits = [_edits.edit(w.form, w.lemma) for w in words]
    assert all(_edits.apply(e, w.form) == w.lemma for e, w in zip(edits, words))
    assert len(set(edits)) < 130 and len(words) > 10000


def test_features_of_words():
    assert _features.shape("iPhone-4S") == "xXxxx-dX" and _features.shape("1999") == "ddd"
    found = _features.features("Sweden")
    assert found[:3] == ["Sweden", "sweden", "Xxxx"] and found[3:6] == ["s", "sw", "swe"]
    assert found[6:] == ["n", "en", "den", "eden"] and _features.features("at")[-2:] == ["^at"] * 2
    table = _features.Features(["the", "The", "dog"] * 2)
    rows = [table.rows(form) for form in ("the", "The", "9ü")]
    assert rows[0] != rows[1] and rows[0][1] == rows[1][1] and rows[2] == table.starts
    assert max(map(max, rows)) < table.size == sum(map(len, table.slots))


# ---- a tagger ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_treebanks(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module")
def model(files):
    names = [f"--{name}={files / name}.conllu" for name in ("train", "dev")]
    assert main(["train", "tagger", *names, f"--output={files / 'model'}", *SMALL]) == 0
    return files / "model.safetensors"


def test_a_tagger_learns_and_keeps_the_rest_of_a_file(files, model, capsys):
    gold = (files / "dev.conllu").read_text()
    (files / "plain.conllu").write_text(untagged(gold))
    answered = files / "answered.conllu"
    assert main(["tag", str(model), str(files / "plain.conllu"), "--output", str(answered)]) == 0
    assert answered.read_text() == gold and not list(files.glob("*.part"))
    # Without the suffix, and to the standard output.
    assert main(["tag", str(model).removesuffix(".safetensors"), str(files / "plain.conllu")]) == 0
    assert capsys.readouterr().out == gold
    assert main(["evaluate", str(model), str(files / "dev.conllu")]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[1:]] == [
        *("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas")
    ]
    assert all(line.split()[1:] == ["100.00"] * 3 + ["150"] * 2 for line in table[1:])


def test_words_that_were_never_seen(files, model):
    (files / "new.conllu").write_text(
        untagged(sentence(random.Random(5), 1)).replace("The\t", "THE\t").replace("s\t", "ses\t")
    )
    ((_, answers),) = load(str(model)).tag(dy.ConlluReader(files / "new.conllu"))
    assert answers["lemma"][0] == "the" and answers["upos"][3:] == ["AUX", "PART"]


def test_scores_are_those_of_the_answers(files, model, capsys):
    """A file with wrong tags and without heads."""
    lines = (files / "dev.conllu").read_text().replace("\t0\tdep", "\t_\tdep")
    (files / "wrong.conllu").write_text(lines.replace("\tAUX\t", "\tVERB\t"))
    assert main(["evaluate", str(model), str(files / "wrong.conllu")]) == 0
    scores = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert scores["UPOS"] == scores["AllTags"] == "80.00" and scores["Lemmas"] == "100.00"


def test_a_training_that_was_stopped_goes_on(files, model, tmp_path, capsys):
    names = [f"--{name}={files / name}.conllu" for name in ("train", "dev")]
    command = ["train", "tagger", *names, f"--output={tmp_path / 'again'}", *SMALL]
    with stopped_after_an_epoch(_tagger.Tagger):
        assert main(command) == 130
    assert not (tmp_path / "again.safetensors").exists()
    capsys.readouterr()
    assert main(command) == 2
    assert (
        "has checkpoints of another training; go on with it by --resume" in capsys.readouterr().err
    )
    assert main([*command, "--resume"]) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:3]] == [
        ["epoch", "2"],
        ["epoch", "3"],
    ]
    assert (tmp_path / "again.safetensors").read_bytes() == model.read_bytes()


def small_training(folder, seed, scores, epochs=3, resume=False):
    """The order of the examples, the parameter after each epoch, and at the end."""
    model, seen, after, left = dy.ParameterCollection(), [], [], list(scores)
    W = model.add_parameters(1, init=1)

    def loss(x):
        seen.append(x)
        return x * dy.squared_norm(W)

    def score():
        after.append(W.as_array()[0])
        return {"a": left[0], "b": left.pop(0)}

    options = argparse.Namespace(
        distributed=False,
        rate=0.1,
        epochs=epochs,
        batch=2,
        output=str(folder),
        resume=resume,
        seed=seed,
        workers=0,
    )
    _training.train(options, model, loss, list(range(1, 9)), score if scores else None)
    return seen, after, W.as_array()[0]


def test_the_best_epoch_is_kept(tmp_path):
    seen, after, end = small_training(tmp_path / "a", 1, [0.1, 0.9, 0.2])
    assert len({*after}) == 3 and end == after[1]
    again, _, last = small_training(tmp_path / "b", 1, [])
    assert again == seen and last == after[2]  # without scores the last one
    assert small_training(tmp_path / "c", 2, [])[0] != seen


def test_the_line_of_the_best_epoch_tells_of_the_kept_one(tmp_path, capsys):
    _, after, end = small_training(tmp_path / "a", 1, [0.1, 0.9, 0.9])
    assert end == after[2] and capsys.readouterr().out.endswith("best epoch: 3\n")


def test_a_training_goes_on_with_its_own_rates(tmp_path):
    small_training(tmp_path / "a", 1, [])
    with pytest.raises(dy.UsageError, match=r"CosineSchedule\(0.1, 12.*CosineSchedule\(0.1, 20"):
        small_training(tmp_path / "a", 1, [], epochs=5, resume=True)
    assert small_training(tmp_path / "a", 1, [], resume=True)[0] == []


def test_workers_train_the_same_tagger(files, tmp_path):
    if sys.platform == "win32":
        pytest.skip("no fork")
    command = [sys.executable, "-m", "dynet", "train", "tagger", f"--train={files}/train.conllu"]
    command += [*SMALL, "--epochs=1", "--dropout=0", "--dynet-shared-parameters", "1"]
    for workers in ("1", "2"):
        done = subprocess.run(
            [*command, f"--output={tmp_path / workers}", "--workers", workers],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
    one, two = ((tmp_path / f"{n}.safetensors").read_bytes() for n in "12")
    assert one == two


# ---- the process ---------------------------------------------------------------------------------


def test_options_of_the_library_are_left_to_it():
    options = _options.parse(["tag", "--dynet-mem", "512", "m", "--dynet-seed=3", "f"])
    assert (options.model, options.file) == ("m", "f")
    options = _options.parse(["--dynet-autobatch", "tag", "m", "--dynet_autobatch", "0", "f"])
    assert (options.model, options.file) == ("m", "f")
    options = _options.parse(
        ["--dynet_gpu", "tag", "--dynet-dynamic-mem", "m", "--dynet-gpus=1", "f"]
    )
    assert (options.model, options.file) == ("m", "f")


def test_python_dash_m(files, model):
    done = subprocess.run(
        [sys.executable, "-m", "dynet", "tag", str(model), str(files / "dev.conllu")],
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0 and done.stdout == (files / "dev.conllu").read_bytes()
    done = subprocess.run([sys.executable, "-m", "dynet", "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "train" in done.stdout and "evaluate" in done.stdout


def test_numpy_is_asked_for(files, model):
    code = (
        "import sys; sys.modules['numpy'] = None\nfrom dynet.programs import main\n"
        f"sys.exit(main(['tag', {str(model)!r}, {str(files / 'dev.conllu')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("dynet: ")
    assert "numpy" in done.stderr.lower() and done.stderr.count("\n") == 1


def test_the_reader_of_the_output_may_leave(files, model):
    command = f"{sys.executable} -m dynet tag {model} {files / 'train.conllu'} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", "set -o pipefail; " + command], capture_output=True, text=True
    )
    assert done.stdout == "# sent_id = 0\n" and done.stderr == ""


def test_an_output_that_cannot_be_written(files, model, tmp_path):
    command = [sys.executable, "-m", "dynet"]
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    short = [str(model), str(files / "dev.conllu")]

    def status_of(words, end):
        line = shlex.join([*command, *words]) + end
        done = subprocess.run(
            ["bash", "-c", "set -o pipefail; " + line],
            capture_output=True,
            text=True,
            env=buffered,
            timeout=60,
        )
        return done.returncode, done.stderr

    if os.path.exists("/dev/full"):
        want = (2, "dynet: standard output: No space left on device\n")
        assert status_of(["evaluate", *short], " > /dev/full") == want
        large = files / "large.conllu"  # more than a buffer
        large.write_text(20 * (files / "train.conllu").read_text())
        assert status_of(["tag", str(model), str(large)], " > /dev/full") == want
        want = (2, "dynet: '/dev/full' cannot be written: No space left on device\n")
        assert status_of(["tag", *short, "--output=/dev/full"], "") == want
    want = (2, f"dynet: '{tmp_path}/no/f' cannot be written: No such file or directory\n")
    assert status_of(["tag", *short, f"--output={tmp_path}/no/f"], "") == want
    assert status_of(["evaluate", *short], " | true") == (0, "")
    status, error = status_of(["tag", *short], " >&-")
    assert status == 2 and error == "dynet: standard output is closed; want --output FILE\n"
    # A training that nobody reads leaves no model, and is no success.
    train = ["train", "tagger", f"--train={files}/train.conllu", f"--output={tmp_path}/m", *SMALL]
    status, error = status_of(train, " | head -n 1")
    assert status == 2 and "nobody reads the output" in error
    assert not (tmp_path / "m.safetensors").exists()


def test_an_output_that_fails_is_told_once(files, model, monkeypatch, capsys):
    """Python 3.14 keeps the text that could not be written, and flushing fails once more."""

    class Full:
        def write(self, text=""):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        flush = write

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["tag", str(model), str(files / "dev.conllu")]) == 2
    assert capsys.readouterr().err == "dynet: standard output: No space left on device\n"


def test_outputs_that_are_no_plain_files(files, model, tmp_path):
    words = ["tag", str(model), str(files / "dev.conllu"), "--output"]
    want = (files / "dev.conllu").read_bytes()
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "link.part").write_text("of the user")
    assert main([*words, str(tmp_path / "link")]) == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == want
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.part").read_text() == "of the user"
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", str(tmp_path / "pipe")], stdout=subprocess.PIPE) as reader:
        assert main([*words, str(tmp_path / "pipe")]) == 0
        assert reader.communicate(timeout=60)[0] == want
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_with_the_name_of_a_model(files, model, monkeypatch, capsys):
    monkeypatch.chdir(model.parent)
    pathlib.Path(model.stem).mkdir()
    assert main(["tag", model.stem, str(files / "dev.conllu")]) == 0
    assert capsys.readouterr().out == (files / "dev.conllu").read_text()


# ---- a parser ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parser(files):
    names = [f"--{name}={files / name}.conllu" for name in ("train", "dev")]
    options = [*SMALL, "--epochs=4"]
    assert main(["train", "parser", *names, f"--output={files / 'parser'}", *options]) == 0
    return str(files / "parser.safetensors")


def test_a_parser_learns(files, parser, model, capsys):
    gold = (files / "dev.conllu").read_text()
    flat = untagged(gold).replace("\tdep\t", "\t_\t")
    (files / "flat.conllu").write_text("1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n" + flat)
    assert main(["parse", parser, str(files / "flat.conllu")]) == 0
    first, _, rest = capsys.readouterr().out.partition("\n\n")
    assert rest == gold and first.split("\t")[6:8] == ["0", "dep"]
    assert main(["evaluate", parser, str(files / "dev.conllu")]) == 0
    table = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert table.pop("precision") and set(table.values()) == {"100.00"}
    assert {"UPOS", "Lemmas", "UAS", "LAS", "CLAS"} < set(table)
    assert main(["parse", str(model), str(files / "flat.conllu")]) == 2
    assert (
        "is a model of `dynet train tagger`; want one of `dynet train parser`"
        in capsys.readouterr().err
    )


def test_relations_are_scored_by_word_and_head(files, parser):
    model = load(parser)
    dy.renew_cg()
    with dy.evaluating():
        read = model.views(model.states(model.rows(["The", "dog", "barks"])))
    first, second = (model.relation_scores(read, h).npvalue() for h in ([2, 3, 0], [3, 3, 0]))
    assert (first[:, 0] != second[:, 0]).all() and np.array_equal(first[:, 1:], second[:, 1:])


def test_distances_of_heads():
    root, side, distance = _parser.ROOT, _parser.SIDE, _parser.distance
    assert [distance(head, 5) for head in (0, 5, 6, 4, 7, 3)] == [root, 0, 1, 2, 3, 4]
    right = [(distance(1 + far, 1) + 1) / 2 for far in range(1, 25)]
    assert right == [1, 2, 3, 4, 5, 6, *[7] * 5, *[8] * 12, 9]
    assert distance(999, 1) == 2 * side - 1 and distance(1, 999) == 2 * side < root
    assert _parser.distances(2) == [root, 0, 1, root, 2, 0]


def test_heads_are_scored_by_their_distance(parser):
    model = load(parser)

    def arcs():
        dy.renew_cg()
        with dy.evaluating():
            return model.views(model.states(model.rows(["The", "dog", "barks"]))).arcs.npvalue()

    before, added = arcs(), np.arange(_parser.ROOT + 1.0)
    model.far_bias.set_value(model.far_bias.as_array() + added)
    wanted = added[_parser.distances(3)].reshape(3, 4).T
    np.testing.assert_allclose(arcs() - before, wanted, atol=1e-4)


def test_each_word_counts_the_same(files, model):
    """Whether its sentence is long or short."""
    tagger = load(str(model))
    (sentence,) = itertools.islice(dy.ConlluReader(files / "dev.conllu"), 1)
    example = tagger.example(sentence)
    with dy.evaluating():
        dy.renew_cg()
        total = tagger.columns_loss(tagger.states(example.rows), example).value()
        assert tagger.length == len(example.rows) == 5  # as all sentences there
        assert tagger.loss(example).value() == pytest.approx(total / 5)
        tagger.length = 20.0
        assert tagger.loss(example).value() == pytest.approx(total / 20)


def test_answers_have_no_dropout(files, parser):
    model = load(parser)
    model.dropout = 0.95
    (sentence,) = itertools.islice(dy.ConlluReader(files / "dev.conllu"), 1)
    ((_, answers),) = model.tag([sentence])
    assert answers["upos"] == [w.upos for w in sentence.words]
    assert answers["head"] == [str(w.head) for w in sentence.words]
    assert not dy.evaluating.is_on()
    # The loss has it.
    losses = set()
    for _ in range(3):
        dy.renew_cg()
        losses.add(model.loss(model.example(sentence)).value())
    assert len(losses) == 3


@pytest.mark.parametrize(
    "head, message",
    [
        ("_", r"word 3 \('\w+'\) has no head; want a number"),
        ("2", "depends on itself, by its head"),
    ],
)
def test_a_parser_wants_trees(files, tmp_path, capsys, head, message):
    bad = (files / "train.conllu").read_text().replace("\t0\tdep", f"\t{head}\tdep", 1)
    (tmp_path / "bad.conllu").write_text(bad)
    command = ["train", "parser", f"--train={tmp_path / 'bad.conllu'}"]
    assert main([*command, f"--output={tmp_path / 'm'}"]) == 2
    assert re.search(r"bad\.conllu: sentence 1: .*" + message, capsys.readouterr().err)
    assert not (tmp_path / "m.safetensors").exists()


# ---- names ---------------------------------------------------------------------------------------


def columns_file(drawn, count):
    """Sentences like "Mr Anna Berg met Ole ." with tags of persons in BIO."""
    lines = ["-DOCSTART- -X- O", ""]
    for _ in range(count):
        for _ in range(drawn.randint(1, 2)):
            names = drawn.sample(["Anna", "Berg", "Ole", "Lund", "Ada"], drawn.randint(1, 3))
            lines += [f"{drawn.choice(['met', 'saw', 'Then'])} V O"]
            lines += [f"{n} N {'I' if i else 'B'}-PER" for i, n in enumerate(names)]
        lines += [". . O", ""]
    return "\n".join(lines) + "\n"


def test_names_are_found(tmp_path, capsys):
    drawn = random.Random(4)
    for name, count in (("train", 150), ("dev", 30)):
        (tmp_path / name).write_text(columns_file(drawn, count))
    names = [f"--{name}={tmp_path / name}" for name in ("train", "dev")]
    assert main(["train", "ner", *names, f"--output={tmp_path / 'ner'}", *SMALL]) == 0
    capsys.readouterr()
    model, gold = str(tmp_path / "ner"), (tmp_path / "dev").read_text()
    assert main(["tag", model, str(tmp_path / "dev")]) == 0
    assert capsys.readouterr().out == gold
    # A file without tags, in which a column of answers is added.
    plain = "".join(line.rpartition(" ")[0] + "\n" for line in gold.splitlines())
    (tmp_path / "plain").write_text(plain)
    assert main(["tag", model, str(tmp_path / "plain")]) == 0
    assert capsys.readouterr().out == gold
    assert main(["evaluate", model, str(tmp_path / "dev")]) == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["precision", "recall", "F1", "gold", "predicted"]
    assert table[-1].split()[:4] == ["all", "100.00", "100.00", "100.00"]
    (tmp_path / "words").write_text("Anna\n\n")
    assert main(["evaluate", model, str(tmp_path / "words")]) == 2
    assert "words:1: there are no tags" in capsys.readouterr().err
    ner = load(model)
    ner.dropout = 0.95
    sentences = list(dy.ColumnReader(tmp_path / "dev", columns=0))
    assert all(tags == s.columns[-1] for s, tags in ner.tag(sentences))
    assert main(["parse", model, str(tmp_path / "dev")]) == 2
    assert (
        "is a model of `dynet train ner`; want one of `dynet train parser`"
        in capsys.readouterr().err
    )


def test_tags_of_a_phrase_follow_their_kind(tmp_path):
    from dynet.programs._ner import Ner

    (tmp_path / "f").write_text("a B-X\nb I-X\nc O\n\nd B-Y\ne I-Y\n\n")
    model = dy.ParameterCollection()
    ner = Ner.for_data(model, Ner.read(str(tmp_path / "f")), 4, 0.0)
    tags = list(ner.tags)
    dy.renew_cg()
    # The scores alone would choose B-X I-Y I-X.
    best = {("B-X", 0): 3, ("I-Y", 1): 9, ("I-X", 2): 5}
    numbers = [[best.get((tag, i), 0) for i in range(3)] for tag in tags]
    ner.crf.new_graph(update=False)
    found = ner.tags.words(ner.crf.viterbi(dy.inputTensor(numbers))[0])
    assert found[1:] != ["I-Y", "I-X"] and found != ["B-X", "I-Y", "I-X"]
    allowed = {(tags[a], tags[b]) for a, b in ner.follows}
    assert ("B-X", "I-Y") not in allowed and ("O", "I-X") not in allowed
    assert {("I-X", "B-Y"), ("B-Y", "I-Y"), ("O", "O")} <= allowed
