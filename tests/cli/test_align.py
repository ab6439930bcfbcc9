"""``samespace align`` as a user meets it, and the reading of its files."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from samespace.cli import app
from samespace.errors import FormatError, OptionError
from samespace.theory.occurrence_files import read_occurrences
from samespace.theory.occurrences import Occurrences
from samespace.worlds.modular import CModAdd, ModAdd


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, world in (
        ("c", CModAdd()),
        ("broken", CModAdd(concentration=0.9)),
        ("d", ModAdd()),
    ):
        columns = world.triplets().columns()
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["align", *map(str, arguments)])


def test_aligned_files_say_so(files):
    result = run("c.parquet", "d.parquet")
    assert result.exit_code == 0
    assert result.stdout.startswith("aligned: all 8 equivalent pairs")
    assert "8 classes of 2 or more" in result.stdout
    assert "farthest from" not in result.stdout


def test_broken_symbols_are_listed_the_worst_first(files):
    result = run("broken.parquet", "d.parquet", "--top", 3)
    assert result.exit_code == 0
    assert result.stdout.startswith("not aligned")
    assert "0 kept, 8 missed, 0 confused" in result.stdout
    assert "and 13 more" in result.stdout


def test_json_is_json_and_nothing_else(files):
    read = json.loads(run("broken.parquet", "d.parquet", "--json").stdout)
    assert (read["verdict"], read["missed"], len(read["broken"])) == ("not aligned", 8, 16)


def test_other_names_of_columns_and_counted_rows(files, rng):
    for name, world, columns in (
        ("seen", CModAdd(), ["word", "near"]),
        ("task", ModAdd(), ["word", "near", "stars"]),
    ):
        data = world.triplets().columns()
        count = rng.multinomial(40_000, data.pop("probability"))
        table = dict(zip(columns, data.values(), strict=True)) | {"count": count}
        pq.write_table(pa.table(table), files / f"{name}.parquet")
    result = run(
        *(
            "seen.parquet",
            "task.parquet",
            "--symbol",
            "word",
            "--context",
            "near",
            "--label",
            "stars",
        )
    )
    assert result.exit_code == 0
    assert result.stdout.startswith("aligned")
    assert "labels are taken for a function" in result.stdout


def test_wrong_input_is_one_line_and_code_2(files):
    missing = run("c.parquet", "c.parquet")
    assert missing.exit_code == 2
    assert "has no column 'label'; it has symbol, context, probability" in missing.stderr
    assert run("c.parquet", "nowhere.parquet").exit_code == 2


def test_files_read_as_the_columns_they_hold(files):
    columns = ModAdd().triplets().columns()
    read = read_occurrences("d.parquet", label="label")
    told = Occurrences.of(**columns | {"symbol": columns["symbol"].astype(str)})
    order = [read.symbols.index(symbol) for symbol in told.symbols]
    np.testing.assert_allclose(read.totals[order], told.totals)
    assert (read.exact, read.labelled, read.strata) == (True, True, 32)


def test_batches_and_compaction_do_not_change_what_is_read(files, rng, monkeypatch):
    symbol, context = rng.integers(0, 9, 5000), rng.integers(0, 50, 5000)
    (files / "many").mkdir()
    for part in range(2):
        rows = slice(2500 * part, 2500 * (part + 1))
        pq.write_table(
            pa.table({"symbol": symbol[rows], "context": context[rows]}),
            files / "many" / f"{part}.parquet",
        )
    monkeypatch.setattr("samespace.theory.occurrence_files._BATCH", 300)
    monkeypatch.setattr("samespace.theory.occurrence_files._COMPACT_AT", 500)
    seen = []
    read = read_occurrences("many", progress=lambda *state: seen.append(state))
    assert read.totals.sum() == 5000
    assert seen[-1] == ("reading", 5000, 5000)
    assert read.cells.nnz == len(set(zip(symbol.tolist(), context.tolist(), strict=True)))


def test_rare_symbols_are_left_out(files):
    table = pa.table({"symbol": list("aaabbc"), "context": list("xyzxyx")})
    pq.write_table(table, files / "few.parquet")
    assert read_occurrences("few.parquet", min_count=2).symbols == ("a", "b")
    assert set(read_occurrences("few.parquet", max_symbols=2).symbols) == {"a", "b"}


def test_what_cannot_be_read_is_refused(files):
    def write(**columns):
        pq.write_table(pa.table(columns), files / "bad.parquet")
        return files / "bad.parquet"

    with pytest.raises(FormatError, match="missing values"):
        read_occurrences(write(symbol=["a", None], context=["x", "y"]))
    with pytest.raises(OptionError, match="every file has a column 'count'"):
        read_occurrences(write(symbol=["a"], context=["x"], count=[1], probability=[1.0]))
    with pytest.raises(FormatError, match="holds no rows"):
        read_occurrences(write(symbol=pa.array([], pa.string()), context=pa.array([], pa.string())))
    with pytest.raises(OptionError, match="max_symbols at least 2"):
        read_occurrences(write(symbol=["a"], context=["x"]), max_symbols=1)
    (files / "bad.parquet").write_bytes(b"no parquet")
    with pytest.raises(FormatError, match="not a readable Parquet file"):
        read_occurrences(files / "bad.parquet")
