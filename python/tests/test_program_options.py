"""The command line of `dynet.programs`, and files of options."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import dynet as dy
import pytest
from dynet.programs import _options, main


def test_options_of_a_file(tmp_path):
    file = tmp_path / "tagger.toml"
    file.write_text('train = "a.conllu"\noutput = "m"\nepochs = 4\nrate = 0.01\nresume = true\n')
    options = _options.parse(["train", "tagger", "--config", str(file), "--epochs", "7"])
    assert options.epochs == 7 and options.rate == 0.01 and options.resume and options.batch == 8
    assert pathlib.Path(options.train) == tmp_path / "a.conllu"
    for content, message in [
        ("epoch = 4", "'epoch' is no option; want one of batch, dev, distributed, dropout, epochs"),
        ("epochs = 0", "argument --epochs: '0' is no whole number of 1 or more"),
        ("epochs = [1]", r"epochs is \[1\]; want a text or a number"),
        ("resume = 1", "resume is 1; want true or false"),
        ("epochs =", "no TOML: "),
        ("kind = 'tagger'", "'kind' is no option"),
    ]:
        file.write_text(content)
        with pytest.raises(_options.OptionError, match=r"tagger\.toml: " + message):
            _options.parse(["train", "tagger", "--config", str(file)])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "tagger"], "train: want --train FILE"),
        (["train", "tagger", "--train=a"], "train: want --output FILE"),
        (["train", "painter"], "argument kind: invalid choice: 'painter'"),
        (["train", "tagger", "--dropout=1"], "'1' is no number of 0 or more and less than 1"),
        (["train", "tagger", "--rate=nan"], "'nan' is no number"),
        (["train", "tagger", "--config=no.toml"], "no.toml: cannot be opened"),
        (["train", "tagger", "--train=no.conllu", "--output=m"], "cannot open 'no.conllu'"),
        (["train", "tagger", "--train={empty}", "--output=m"], "there are no sentences"),
        (["train", "tagger", "--train={bad}", "--output=m"], "bad.conllu:1:"),
        (["train", "tagger", "--train={bad}", "--output=no/m"], "there is no folder 'no'"),
        (["tag", "no-model", "x"], "no-model: there is no such file; want a model"),
        (["tag", "{other}", "x"], "has Parameters; want a model"),
        (["train", "tagger", "--train={bad}", "--output={folder}"], "is a folder; want a file"),
        (["train", "ner", "--train={tags}", "--output=m"], "tags: sentence 2: spans: the tag 'NN'"),
        (["paint"], "invalid choice: 'paint'"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_mistakes_end_with_a_line(tmp_path, capsys, arguments, message):
    (tmp_path / "empty").write_text("")
    (tmp_path / "bad.conllu").write_text("1\tno columns\n\n")
    m = dy.ParameterCollection()
    dy.save(str(tmp_path / "other.safetensors"), [m.add_parameters(2)])
    places = {"empty": tmp_path / "empty", "bad": tmp_path / "bad.conllu"}
    places["other"] = tmp_path / "other.safetensors"
    (tmp_path / "folder.safetensors").mkdir()
    (tmp_path / "tags").write_text("a O\n\nb NN\n\n")
    places |= {"folder": tmp_path / "folder.safetensors", "tags": tmp_path / "tags"}
    assert main([one.format(**places) for one in arguments]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("dynet: ") and message in errors and errors.count("\n") == 1
    assert "called at" not in errors


@pytest.mark.parametrize(
    ("options", "variables", "message"),
    [
        ("--dynet-mem=abc", {}, "--dynet-mem: the value is 'abc'; want N"),
        ("tag a b --dynet-seed x", {}, "--dynet-seed: the value is 'x'; want an unsigned integer"),
        ("tag a b", {"DYNET_MEM": "x"}, "DYNET_MEM in the environment stands for --dynet-mem"),
        ("tag --devices XY a b", {}, "--dynet-devices: the value is 'XY'; want"),
        ("tag --devices=XY a b", {}, "--dynet-devices: the value is 'XY'; want"),
        ("tag a b --devices", {}, "argument --devices: expected one argument"),
        ("tag --devices CPU:double a b", {}, "a: there is no such file"),
    ],
)
def test_wrong_options_of_the_library_end_with_a_line(tmp_path, options, variables, message):
    script = tmp_path / "dynet"
    script.write_text("import sys\nfrom dynet.programs import main\nsys.exit(main())\n")
    for program in (["-m", "dynet"], [str(script)]):
        done = subprocess.run(
            [sys.executable, *program, *options.split()],
            capture_output=True,
            text=True,
            env=os.environ | variables,
            timeout=60,
        )
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"dynet: {message}") and done.stderr.count("\n") == 1


def test_other_programs_see_the_error(tmp_path):
    """Also with options that mean something else to them."""
    script = tmp_path / "other"
    script.write_text("import sys, dynet; print(sys.argv[1:])")
    command = [sys.executable, str(script), "--devices", "XY"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "['--devices', 'XY']\n"
    command += ["--dynet-mem=abc"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "Traceback" in done.stderr


def test_devices_come_too_late_for_words_of_a_program():
    started = dy.get_device_info("").name
    options = _options.parse(["tag", "--devices", started, "m", "f"])
    assert (options.devices, options.model) == (started, "m")
    if started != "CPU":
        assert _options.parse(["tag", f"--devices=CPU,{started}", "m", "f"]).model == "m"
    with pytest.raises(_options.OptionError, match=r"has started on .*; want dynet_config\.set\("):
        _options.parse(["tag", "--devices=XY", "m", "f"])
