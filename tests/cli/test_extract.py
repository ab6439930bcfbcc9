"""samespace extract: hidden states of texts, written whole, resumed after an interruption."""

from __future__ import annotations

import json
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from typer.testing import CliRunner

from samespace.cli import app
from samespace.cli.texts import read_texts
from samespace.errors import (
    DtypeError,
    FormatError,
    MissingSourceError,
    PairingError,
    TooFewRowsError,
)
from samespace.family.hidden import Reader
from samespace.representation import Representation
from tests.family.checkpoints import WORDS, gpt2_checkpoint

TEXTS = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS][:40]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return gpt2_checkpoint(tmp_path_factory.mktemp("gpt2"))


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n", "utf-8")
    return path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    # By module, since the package's attribute of that name is the command.
    monkeypatch.setattr(import_module("samespace.cli.extract"), "_TEXTS_PER_PART", 16)


def run(*arguments):
    return CliRunner().invoke(app, ["extract", *map(str, arguments)])


def test_layers_are_columns_that_the_gate_reads(checkpoint, lines, tmp_path):
    out = tmp_path / "reps.parquet"
    ran = run(checkpoint, lines, "-o", out, "--layers", "-1,0")
    assert ran.exit_code == 0, ran.stderr
    assert "wrote 40 rows of 40 texts" in ran.stdout
    table = pq.read_table(out)
    assert table.column_names == ["id", "layer_-1", "layer_0"]
    assert table["id"].to_pylist() == list(range(40))
    assert table.schema.field("layer_-1").type == pa.list_(pa.float32(), 16)
    expected = Reader.load(checkpoint).states(TEXTS, layers=[0]).layers[0]
    read = Representation.of(str(out), column="layer_0").to_array()
    assert np.asarray(read) == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert not (tmp_path / ".reps.parquet.partial").exists()


def test_ids_are_the_files_own_and_tokens_have_theirs(checkpoint, tmp_path):
    source, out = tmp_path / "texts.parquet", tmp_path / "reps.parquet"
    pq.write_table(pa.table({"doc": [f"d{i}" for i in range(40)], "body": TEXTS}), source)
    options = ("--column", "body", "--id-column", "doc", "--pooling", "tokens")
    assert run(checkpoint, source, "-o", out, *options).exit_code == 0
    ids = pq.read_table(out)["id"].to_pylist()
    assert ids[:4] == ["d0:0", "d0:1", "d0:2", "d1:0"]
    assert len(ids) == 120


def test_interrupted_work_goes_on_where_it_stopped(checkpoint, lines, tmp_path, monkeypatch):
    out, done = tmp_path / "reps.parquet", []
    states = Reader.states

    def stops_at_the_second(self, texts, **options):
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(texts)
        return states(self, texts, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "states", stops_at_the_second)
        assert run(checkpoint, lines, "-o", out).exit_code == 130
    assert not out.exists()
    other = run(checkpoint, lines, "-o", out, "--layers", "0")
    assert other.exit_code == 2
    assert "another layers" in other.stderr
    seen = []
    monkeypatch.setattr(
        Reader, "states", lambda self, t, **o: seen.append(t) or states(self, t, **o)
    )
    assert run(checkpoint, lines, "-o", out).exit_code == 0
    assert [len(texts) for texts in seen] == [16, 8]
    assert pq.read_table(out)["id"].to_pylist() == list(range(40))


def test_nothing_is_overwritten_unless_forced(checkpoint, lines, tmp_path):
    out = tmp_path / "reps.parquet"
    out.write_bytes(b"precious")
    refused = run(checkpoint, lines, "-o", out)
    assert refused.exit_code == 2
    assert "would be overwritten" in refused.stderr
    assert out.read_bytes() == b"precious"
    assert run(checkpoint, lines, "-o", out, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--layers", "last"), "whole numbers by comma"),
        (("--layers", "-1,-1"), "names a layer twice"),
        (("--layers", "17"), "hidden states 0"),
        (("--id-column", "doc"), "leave out --id-column"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(checkpoint, lines, tmp_path, arguments, message):
    ran = run(checkpoint, lines, "-o", tmp_path / "reps.parquet", *arguments)
    assert ran.exit_code == 2
    assert message in ran.stderr.replace("\n", " ")
    assert list(tmp_path.iterdir()) == [lines]


def test_the_output_is_parquet(checkpoint, lines, tmp_path):
    assert "OUT is a .parquet file" in run(checkpoint, lines, "-o", tmp_path / "reps.npy").stderr


def test_json_lines_are_read(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text(
        "".join(json.dumps({"text": t, "id": i}) + "\n" for i, t in enumerate("ab")), "utf-8"
    )
    assert read_texts(path, id_column="id").texts == ["a", "b"]


def test_texts_that_cannot_be_read_are_named(tmp_path):
    def write(name, content):
        (tmp_path / name).write_text(content, "utf-8")
        return tmp_path / name

    with pytest.raises(MissingSourceError, match="no file of texts"):
        read_texts(tmp_path / "nothing.txt")
    with pytest.raises(TooFewRowsError, match="holds no texts"):
        read_texts(write("empty.txt", ""))
    with pytest.raises(FormatError, match="line 1 is no JSON object"):
        read_texts(write("bad.jsonl", "{"))
    with pytest.raises(FormatError, match="line 1 is no JSON object, but"):
        read_texts(write("list.jsonl", "[1]"))
    with pytest.raises(FormatError, match="has no column 'text'; it has 'body'"):
        read_texts(write("other.jsonl", '{"body": "a"}'))
    with pytest.raises(DtypeError, match="a text is needed"):
        read_texts(write("number.jsonl", '{"text": 1}'))
    with pytest.raises(PairingError, match="same id in several rows"):
        read_texts(write("twice.jsonl", '{"text": "a", "id": 1}\n' * 2), id_column="id")
    with pytest.raises(FormatError, match="is no Parquet file"):
        read_texts(write("not.parquet", "text"))
