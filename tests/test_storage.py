"""Tensors with metadata: exact, whole or not at all, and never another kind of thing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from samespace import storage
from samespace.errors import FormatError, MissingSourceError, OutputError
from samespace.storage import load_tensors, save_tensors

TENSORS = {
    "a": np.arange(6.0).reshape(2, 3),
    "empty": np.empty((0, 4)),
    "keys": np.array([0, 2**64 - 1], np.uint64),
}
META = {"text": "naïve <x>", "none": None, "number": 0.1, "nested": {"list": [1, 2]}}


def write(path: Path, kind: str = "moments") -> None:
    save_tensors(path, kind=kind, tensors=TENSORS, metadata=META)


def test_tensors_and_metadata_come_back_exactly(tmp_path):
    write(tmp_path / "f")
    tensors, meta = load_tensors(tmp_path / "f", kind="moments")
    assert all(np.array_equal(tensors[k], v) for k, v in TENSORS.items())
    assert all(tensors[k].dtype == v.dtype for k, v in TENSORS.items())
    assert meta.items() >= META.items()


def test_views_are_written_as_what_they_show(tmp_path):
    save_tensors(tmp_path / "f", kind="k", tensors={"t": TENSORS["a"].T}, metadata={})
    assert np.array_equal(load_tensors(tmp_path / "f", kind="k")[0]["t"], TENSORS["a"].T)


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    write(tmp_path / "f")
    before = (tmp_path / "f").read_bytes()

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match=r"cannot write .*No space left on device"):
        write(tmp_path / "f", "map")
    assert (tmp_path / "f").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("inside", ["absent/f", "file/f"])
def test_a_path_that_cannot_be_written(tmp_path, inside):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="a folder that exists and that you may write to"):
        write(tmp_path / inside)


def test_a_path_at_which_there_is_nothing(tmp_path):
    with pytest.raises(MissingSourceError, match=r"no file at .*; it should hold saved map"):
        load_tensors(tmp_path / "absent", kind="map")
    with pytest.raises(MissingSourceError, match="no file at"):
        load_tensors(tmp_path, kind="map")


def test_a_truncated_file(tmp_path):
    write(tmp_path / "f")
    whole = (tmp_path / "f").read_bytes()
    for cut in (0, 4, len(whole) // 2, len(whole) - 1):
        (tmp_path / "f").write_bytes(whole[:cut])
        with pytest.raises(FormatError, match="not a whole safetensors file"):
            load_tensors(tmp_path / "f", kind="moments")


def test_another_kind_of_thing(tmp_path):
    write(tmp_path / "f")
    with pytest.raises(FormatError, match="holds moments; map saved by samespace are needed"):
        load_tensors(tmp_path / "f", kind="map")
    save_file({"w": np.ones(3)}, tmp_path / "g")
    with pytest.raises(FormatError, match="holds tensors of another program"):
        load_tensors(tmp_path / "g", kind="map")


def test_a_file_of_a_later_format(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "_VERSION", 2)
    write(tmp_path / "f")
    monkeypatch.undo()
    with pytest.raises(FormatError, match=r"written by a newer samespace \(format 2\); upgrade"):
        load_tensors(tmp_path / "f", kind="moments")


def test_the_metadata_is_plain_json(tmp_path):
    write(tmp_path / "f")
    raw = (tmp_path / "f").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["samespace"])["text"] == "naïve <x>"
