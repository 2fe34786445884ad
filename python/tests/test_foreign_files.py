"""Files of other programs: tensors with several names, and files that are something else."""

from __future__ import annotations

import json
import struct

import dynet as dy
import numpy as np
import pytest


def foreign_safetensors(path, tensors, metadata=None):
    """As other programs write them."""
    header, data = {}, b""
    for name, array in tensors.items():
        content = np.ascontiguousarray(array, np.float32).tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    if metadata is not None:
        header["__metadata__"] = metadata
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def test_tied_names(tmp_path):
    """Writers of PyTorch keep one name of tensors that share their numbers."""
    E, b = np.arange(6.0).reshape(3, 2), np.array([1.0, 2.0])
    path = foreign_safetensors(tmp_path / "m.safetensors", {"embed.weight": E, "b": b})
    m = dy.ParameterCollection()
    with pytest.raises(dy.IoError, match=r"no tensor named 'head'.*PyTorch.*set_alias"):
        m.load_param(path, "head")
    W = m.add_parameters((3, 2))
    loader = dy.SafetensorsLoader(path)
    with pytest.raises(dy.IoError, match=r"set_alias.*of its shape: 'embed.weight'"):
        loader.populate(W, "head")
    with pytest.raises(dy.IoError, match="no tensor named 'nothing'"):
        loader.set_alias("head", "nothing")
    assert "head" not in loader
    loader.set_alias("head", "embed.weight")
    loader.populate(W, "head")
    np.testing.assert_array_equal(W.as_array(), E)
    assert "head" in loader and loader.shape("head") == (3, 2)
    assert loader.names() == ["b", "embed.weight"]
    loader.set_alias("b", "embed.weight")  # the file has it
    assert loader.shape("b") == (2,)


@pytest.mark.parametrize("by_metadata", [True, False])
def test_tied_names_of_a_whole_model(tmp_path, by_metadata):
    m = dy.ParameterCollection()
    W, E = m.add_parameters((3, 2), name="head"), m.add_lookup_parameters((3, 2), name="embed")
    numbers = np.arange(6.0).reshape(3, 2)
    metadata = {"format": "pt", "/head": "/embed", "/other": "/gone"}
    path = foreign_safetensors(
        tmp_path / "m.safetensors", {"/embed": numbers}, metadata if by_metadata else None
    )
    if by_metadata:  # as safetensors.torch.save_model
        m.populate(path)
    else:
        with pytest.raises(dy.IoError, match="no tensor named '/head'"):
            m.populate(path)
        loader = dy.SafetensorsLoader(path)
        loader.set_alias("/head", "/embed")
        loader.populate(m)
    np.testing.assert_array_equal(W.as_array(), numbers)
    np.testing.assert_array_equal(E.as_array(), numbers)
    one = dy.ParameterCollection()
    head = one.add_parameters((3, 2), name="head")
    if by_metadata:
        one.populate(path)  # the tensor of the file is this parameter's
        np.testing.assert_array_equal(head.as_array(), numbers)


def test_files_of_other_programs_are_named(tmp_path):
    m = dy.ParameterCollection()
    m.add_parameters(2)
    for begin, what in (
        (b"PK\x03\x04" + bytes(40), "zip"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x80\x04\x95", "pickle"),
        (b"<html>", "HTML"),
    ):
        for name in ("m.bin", "m.safetensors"):
            (tmp_path / name).write_bytes(begin)
            for read in (
                m.populate,
                dy.SafetensorsLoader,
                dy.Dict.load,
                dy.text.read_pretrained_embeddings,
                lambda f: list(dy.PlainReader(f)),
            ):
                with pytest.raises(dy.IoError, match=what):
                    read(str(tmp_path / name))
