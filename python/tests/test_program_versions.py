"""Files of `dynet train` by another version: refused with the file, both versions and advice."""

from __future__ import annotations

import dynet as dy
import pytest
from dynet import programs
from dynet.programs import _jobs, _model
from treebanks import write_treebanks

KINDS = {kind.__name__: kind for kind in _jobs.KINDS}
#: Of each kind the version, the types of the members, the parameters, and the numbers in all of
#: them, for the data below.
FORMATS = {
    "Tagger": (2, "Features list float int int float", 15, 15810),
    "Parser": (2, "Features list float int int float", 38, 70637),
    "TransitionParser": (2, "Features list float int int float", 30, 23646),
    "Ner": (2, "Features Vocabulary list int float int int float", 12, 10794),
    "LanguageModel": (2, "Vocabulary float int float", 6, 180),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = write_treebanks(tmp_path_factory.mktemp("versions"))
    (folder / "train.txt").write_text("Ann B-PER\nsings O\n\nin O\nOslo B-LOC\n\n")
    (folder / "train.lm").write_text("a b a\nb a\n")
    return folder


def made(kind, data):
    """An untrained model of a kind."""
    ends = {"ner": "txt", "lm": "lm"}
    sentences = kind.read(str(data / f"train.{ends.get(kind.KIND, 'conllu')}"))
    dy.reset_random_seed(1)
    return kind.for_data(dy.ParameterCollection(), sentences, 4, 0.0)


def written(kind, data, monkeypatch, spec):
    """The file of a model with another spec, a function of its members."""
    file = str(data / f"{kind.__name__}.safetensors")
    with monkeypatch.context() as patch:
        patch.setattr(_model.Model, "spec", property(lambda self: spec(self.members)))
        dy.save(file, [made(kind, data)])
    return file


@pytest.mark.parametrize("name", KINDS)
def test_files_of_other_versions_are_refused(name, data, monkeypatch, capsys):
    kind = KINDS[name]
    wanted = kind.VERSION
    # The first version wrote no number, and had fewer members.
    first = written(kind, data, monkeypatch, lambda members: members[:-1])
    with pytest.raises(dy.IoError) as e:
        programs.load(first)
    told = f"version 1 of `dynet train {kind.KIND}`; want version {wanted}: train the model again"
    assert first in str(e.value) and told in str(e.value)
    later = written(kind, data, monkeypatch, lambda members: (wanted + 1, *members))
    assert programs.main(["evaluate", later, str(data / "train.conllu")]) == 2
    message = capsys.readouterr().err
    assert later in message and len(message.splitlines()) == 1
    assert f"of version {wanted + 1} of `dynet train {kind.KIND}`; want version {wanted}" in message
    same = written(kind, data, monkeypatch, lambda members: (wanted, *members))
    assert type(programs.load(same)) is kind


@pytest.mark.parametrize("name", KINDS)
def test_another_format_takes_another_version(name, data):
    """An entry of the table changes only together with VERSION."""
    model = made(KINDS[name], data)
    members = " ".join(type(x).__name__ for x in model.members)
    parameters = [*model.pc.parameters_list(), *model.pc.lookup_parameters_list()]
    found = (model.VERSION, members, len(parameters), model.pc.parameter_count())
    assert found == FORMATS[name]
