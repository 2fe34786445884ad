"""Names of PyTorch end in an error with the name here."""

import re
from pathlib import Path

import dynet as dy
import pytest
from dynet import _torch_names

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-pytorch.md"


def test_functions_and_classes():
    with pytest.raises(
        AttributeError, match=r"no 'relu', a name of PyTorch; here that is rectify\(x\)"
    ):
        dy.relu(dy.scalarInput(1))
    with pytest.raises(AttributeError, match="no 'Module'"):

        class Own(dy.Module):
            pass

    with pytest.raises(AttributeError, match="no 'optim'"):
        dy.optim.Adam
    assert "rectify" in repr(dy.relu)


def test_attributes():
    dy.renew_cg()
    x = dy.scalarInput(1)
    with pytest.raises(AttributeError, match=r"Expression has no attribute 'item'.*x\.value\(\)"):
        x.item()
    with pytest.raises(AttributeError, match=r"Trainer has no attribute 'step'.*update\(\)"):
        dy.AdamTrainer(dy.ParameterCollection()).step()
    for name in _torch_names.METHODS["Expression"]:
        assert not hasattr(x, name)


def test_they_are_no_names_of_ours():
    assert not {*_torch_names.FUNCTIONS} & {*dir(dy)}
    assert not {*_torch_names.FUNCTIONS} & {*dy.__all__}
    for name in _torch_names.FUNCTIONS:
        assert isinstance(getattr(dy, name), _torch_names.Elsewhere), f"{name} is a name of ours"
    for kind, names in _torch_names.METHODS.items():
        for name in names:
            assert isinstance(vars(getattr(dy, kind)).get(name), _torch_names.Absent), name


def called(text):
    return re.findall(r"([A-Za-z_]\w*)\(", text)


def test_what_they_are_here_exists():
    for name, ours in _torch_names.FUNCTIONS.items():
        for one in called(ours):
            known = hasattr(dy, one) and one in dir(dy)
            assert known or hasattr(dy.ParameterCollection, one), f"{name}: no {one}"
    for kind, names in _torch_names.METHODS.items():
        for name, ours in names.items():
            for one in called(ours):
                assert one in dir(dy) or hasattr(getattr(dy, kind), one), f"{kind}.{name}: no {one}"


@pytest.mark.skipif(not PAGE.exists(), reason="the documentation is not beside the tests")
def test_the_page_has_them():
    assert PAGE.read_text(encoding="utf-8").endswith("\n".join(_torch_names.rows()) + "\n")
