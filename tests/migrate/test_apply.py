"""Applying a map: every format to every format, nothing half-written, taken up after any kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file, save_file

from samespace.errors import (
    FormatError,
    InterruptedWorkError,
    MissingSourceError,
    NotFiniteError,
    OptionError,
    OutputError,
    ShapeError,
)
from samespace.maps import Affine, Map
from samespace.migrate import apply, partial
from samespace.migrate import apply as apply_function
from samespace.representation import Representation
from tests.tolerances import rtol

N, D, WIDE = 500, 6, 4
BATCH = 64
apply_module = sys.modules[apply_function.__module__]


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(apply_module, "_BATCH_BYTES", BATCH * 8 * D)


@pytest.fixture
def fitted(rng):
    return Affine(rng.standard_normal((D, WIDE)), rng.standard_normal(WIDE), 0.0)


@pytest.fixture
def X(rng):
    return rng.standard_normal((N, D)).astype(np.float32)


def vectors(X):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(X).ravel()), X.shape[1])


def table(X, start=0):
    ids = range(start, start + len(X))
    return pa.table(
        {
            "id": [f"doc-{i}" for i in ids],
            "v": vectors(X),
            "tags": [[str(i), None] for i in ids],
            "price": pa.array([None if i % 7 == 0 else i / 3 for i in ids]),
        }
    )


def write(folder, kind, X):
    path = folder / f"old.{kind}"
    if kind == "npy":
        np.save(path, X)
    elif kind == "parquet":
        pq.write_table(table(X), path, row_group_size=97)
    else:
        save_file({"v": X, "ids": np.arange(len(X)), "name": np.zeros((2, 3), np.int8)}, path)
    return path


def read(path):
    return Representation.of(path, column="v" if has_v(path) else None).to_array()


def has_v(path):
    if path.suffix == ".parquet":
        return "v" in pq.read_schema(path).names
    return path.suffix == ".safetensors" and "v" in load_file(path)


class Interrupt:
    """A progress callback that presses Ctrl-C once so many rows are done in a stage."""

    def __init__(self, stage, rows):
        self.stage, self.rows = stage, rows

    def __call__(self, stage, done, total):
        if (stage, done) >= (self.stage, self.rows) and stage == self.stage:
            raise KeyboardInterrupt


KINDS = ["npy", "parquet", "safetensors"]


class TestFormats:
    @pytest.mark.parametrize("source", KINDS)
    @pytest.mark.parametrize("target", KINDS)
    def test_every_format_to_every_format(self, tmp_path, fitted, X, source, target):
        output = tmp_path / f"new.{target}"
        made = apply(
            fitted, write(tmp_path, source, X), output, column=None if source == "npy" else "v"
        )
        assert (made.rows, made.resumed, made.output) == (N, 0, output)
        values = read(output)
        assert values.dtype == np.float32
        expected = X @ fitted.matrix + fitted.bias
        np.testing.assert_allclose(values, expected, rtol=rtol("exact", "float32"), atol=1e-5)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted({f"old.{source}", output.name})

    def test_parquet_keeps_every_other_column_in_its_place(self, tmp_path, fitted, X):
        apply(fitted, write(tmp_path, "parquet", X), tmp_path / "new.parquet")
        before, after = (
            pq.read_table(tmp_path / "old.parquet"),
            pq.read_table(tmp_path / "new.parquet"),
        )
        assert after.column_names == before.column_names
        assert after.drop(["v"]).equals(before.drop(["v"]))
        assert after.schema.field("v").type == pa.list_(pa.float32(), WIDE)

    def test_parquet_keeps_the_compression(self, tmp_path, fitted, X):
        pq.write_table(table(X), tmp_path / "old.parquet", compression="zstd")
        apply(fitted, tmp_path / "old.parquet", tmp_path / "new.parquet")
        chunk = pq.read_metadata(tmp_path / "new.parquet").row_group(0).column(0)
        assert chunk.compression == "ZSTD"

    def test_large_outputs_have_several_row_groups(self, tmp_path, fitted, X, monkeypatch):
        monkeypatch.setattr(
            sys.modules["samespace.migrate.columns"], "_ROW_GROUP_BYTES", 100 * 4 * WIDE
        )
        apply(fitted, write(tmp_path, "npy", X), tmp_path / "new.parquet")
        assert pq.read_metadata(tmp_path / "new.parquet").num_row_groups == 5

    def test_safetensors_keeps_the_other_tensors(self, tmp_path, fitted, X):
        apply(fitted, write(tmp_path, "safetensors", X), tmp_path / "new.safetensors", column="v")
        after = load_file(tmp_path / "new.safetensors")  # the library reads what we laid out
        assert set(after) == {"v", "ids", "name"}
        np.testing.assert_array_equal(after["ids"], np.arange(N))
        np.testing.assert_array_equal(after["v"], read(tmp_path / "new.safetensors"))

    @pytest.mark.parametrize(
        ("source", "target", "dropped"),
        [
            ("parquet", "npy", ("id", "tags", "price")),
            ("parquet", "safetensors", ("id", "tags", "price")),
            ("safetensors", "parquet", ("ids", "name")),
            ("npy", "npy", ()),
        ],
    )
    def test_what_cannot_be_kept_is_named(self, tmp_path, fitted, X, source, target, dropped):
        path = write(tmp_path, source, X)
        column = None if source == "npy" else "v"
        made = apply(fitted, path, tmp_path / f"new.{target}", column=column)
        assert set(made.dropped) == set(dropped)

    @pytest.mark.parametrize("stored", [np.float16, np.float32, np.float64])
    def test_the_type_stays_the_inputs(self, tmp_path, fitted, X, stored):
        apply(fitted, write(tmp_path, "npy", X.astype(stored)), tmp_path / "new.npy")
        assert np.load(tmp_path / "new.npy").dtype == stored

    @pytest.mark.parametrize("target", KINDS)
    def test_the_type_can_be_chosen(self, tmp_path, fitted, X, target):
        output = tmp_path / f"new.{target}"
        apply(fitted, write(tmp_path, "npy", X), output, dtype="float16")
        assert Representation.of(output).dtype == "float16"

    def test_a_map_can_be_a_file(self, tmp_path, fitted, X):
        fitted.save(tmp_path / "map.safetensors")
        apply(tmp_path / "map.safetensors", write(tmp_path, "npy", X), tmp_path / "new.npy")
        assert isinstance(Map.load(tmp_path / "map.safetensors"), Affine)
        assert np.load(tmp_path / "new.npy").shape == (N, WIDE)

    def test_several_files_to_one(self, tmp_path, fitted, X):
        folder = tmp_path / "index"
        folder.mkdir()
        for i in range(2):
            part = slice(250 * i, 250 * i + 250)
            pq.write_table(table(X[part], 250 * i), folder / f"{i}.parquet")
        apply(fitted, folder, tmp_path / "new.parquet")
        after = pq.read_table(tmp_path / "new.parquet")
        assert after["id"].to_pylist() == [f"doc-{i}" for i in range(N)]
        np.testing.assert_allclose(read(tmp_path / "new.parquet"), fitted.transform(X), atol=1e-5)


class TestFolders:
    @pytest.fixture
    def index(self, tmp_path, X):
        for i, name in enumerate(("a", "b/c", "b/d")):
            path = tmp_path / "index" / f"{name}.parquet"
            path.parent.mkdir(exist_ok=True, parents=True)
            pq.write_table(table(X[100 * i : 100 * i + 100], 100 * i), path)
        return tmp_path / "index"

    def test_each_file_gets_its_own(self, tmp_path, fitted, X, index):
        made = apply(fitted, index, tmp_path / "new")
        assert (made.rows, made.resumed) == (300, 0)
        names = sorted(
            str(p.relative_to(tmp_path / "new")) for p in (tmp_path / "new").rglob("*.*")
        )
        assert names == ["a.parquet", "b/c.parquet", "b/d.parquet"]
        np.testing.assert_allclose(
            read(tmp_path / "new" / "b/c.parquet"), fitted.transform(X[100:200]), atol=1e-5
        )
        assert not partial.partial_folder(tmp_path / "new").exists()

    def test_an_interrupted_folder_goes_on_where_it_stopped(self, tmp_path, fitted, index):
        with pytest.raises(KeyboardInterrupt):
            apply(fitted, index, tmp_path / "new", progress=Interrupt("applying", 164))
        assert not (tmp_path / "new").exists()
        made = apply(fitted, index, tmp_path / "new")
        assert (made.rows, made.resumed) == (300, 164)
        apply(fitted, index, tmp_path / "whole")
        for path in (tmp_path / "new").rglob("*.parquet"):
            twin = tmp_path / "whole" / path.relative_to(tmp_path / "new")
            assert path.read_bytes() == twin.read_bytes()

    def test_progress_counts_over_all_files(self, tmp_path, fitted, index):
        heard = []
        apply(fitted, index, tmp_path / "new", progress=lambda *report: heard.append(report))
        applied = [report[1:] for report in heard if report[0] == "applying"]
        assert applied == sorted(applied)
        assert applied[-1] == (300, 300)

    def test_force_replaces_a_folder(self, tmp_path, fitted, index):
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "stale.parquet").touch()
        with pytest.raises(OutputError, match=r"new exists and would be overwritten"):
            apply(fitted, index, tmp_path / "new")
        apply(fitted, index, tmp_path / "new", force=True)
        assert not (tmp_path / "new" / "stale.parquet").exists()
        assert (tmp_path / "new" / "a.parquet").exists()

    def test_files_of_other_columns_need_a_folder(self, tmp_path, fitted, X, index):
        pq.write_table(table(X[:9]).drop(["price"]), index / "z.parquet")
        with pytest.raises(FormatError, match=r"only one has column 'price'.*Write a folder"):
            apply(fitted, index, tmp_path / "new.parquet")
        assert apply(fitted, index, tmp_path / "new").rows == 309

    def test_files_of_other_column_types_need_a_folder(self, tmp_path, fitted, X, index):
        odd = table(X[:9]).drop(["price"]).append_column("price", pa.array(["free"] * 9))
        pq.write_table(odd, index / "z.parquet")
        with pytest.raises(FormatError, match="column 'price' is string, not double"):
            apply(fitted, index, tmp_path / "new.parquet")


class TestInterruption:
    @pytest.mark.parametrize("target", KINDS)
    @pytest.mark.parametrize("rows", [1, 200, 449, N])
    def test_ctrl_c_keeps_the_rows_that_were_done(self, tmp_path, fitted, X, target, rows):
        path, output = write(tmp_path, "parquet", X), tmp_path / f"new.{target}"
        with pytest.raises(KeyboardInterrupt):
            apply(fitted, path, output, progress=Interrupt("applying", rows))
        assert not output.exists()
        made = apply(fitted, path, output)
        assert (made.rows, made.resumed) == (N, min(N, -(-rows // BATCH) * BATCH))
        apply(fitted, path, tmp_path / f"whole.{target}")
        assert output.read_bytes() == (tmp_path / f"whole.{target}").read_bytes()
        assert not partial.partial_folder(output).exists()

    def test_ctrl_c_while_parquet_is_written(self, tmp_path, fitted, X):
        path, output = write(tmp_path, "parquet", X), tmp_path / "new.parquet"
        with pytest.raises(KeyboardInterrupt):
            apply(fitted, path, output, progress=Interrupt("writing", 1))
        assert not output.exists()
        assert apply(fitted, path, output).resumed == N
        assert pq.read_table(output)["id"].to_pylist() == [f"doc-{i}" for i in range(N)]

    @pytest.mark.parametrize("rows", [130, 400])
    def test_kill_at_any_moment(self, tmp_path, fitted, X, rows):
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"
        fitted.save(tmp_path / "map.safetensors")
        code = f"""
import os, signal, sys
from samespace.migrate import apply, partial
partial.CHECKPOINT_SECONDS = 0
sys.modules[apply.__module__]._BATCH_BYTES = {BATCH * 8 * D}
def die(stage, done, total):
    if done >= {rows}:
        os.kill(os.getpid(), signal.SIGKILL)
apply({str(tmp_path / "map.safetensors")!r}, {str(path)!r}, {str(output)!r}, progress=die)
"""
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        killed = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
        assert killed.returncode == -signal.SIGKILL
        assert not output.exists()
        made = apply(fitted, path, output)
        assert made.resumed == -(-rows // BATCH) * BATCH
        np.testing.assert_array_equal(np.load(output), whole(fitted, path, tmp_path))

    def test_rows_that_the_manifest_does_not_vouch_for_are_made_again(self, tmp_path, fitted, X):
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"
        with pytest.raises(KeyboardInterrupt):
            apply(fitted, path, output, progress=Interrupt("applying", 192))
        with (partial.partial_folder(output) / "rows").open("ab") as file:
            file.write(b"half a row that a crash left")
        assert apply(fitted, path, output).resumed == 192
        np.testing.assert_array_equal(np.load(output), whole(fitted, path, tmp_path))

    def test_rows_that_vanished_are_made_again(self, tmp_path, fitted, X):
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"
        with pytest.raises(KeyboardInterrupt):
            apply(fitted, path, output, progress=Interrupt("applying", 192))
        (partial.partial_folder(output) / "rows").write_bytes(b"")
        assert apply(fitted, path, output).resumed == 0
        np.testing.assert_array_equal(np.load(output), whole(fitted, path, tmp_path))

    @pytest.mark.parametrize("change", ["map", "input", "dtype", "column"])
    def test_work_of_other_arguments_is_refused_then_thrown_away(self, tmp_path, fitted, X, change):
        path, output = write(tmp_path, "parquet", X), tmp_path / "new.npy"
        with pytest.raises(KeyboardInterrupt):
            apply(fitted, path, output, progress=Interrupt("applying", 192))
        options = {"dtype": "float64"} if change == "dtype" else {}
        options |= {"column": "v"} if change == "column" else {}
        if change == "map":
            fitted = Affine(fitted.matrix + 1, fitted.bias, 0.0)
        if change == "input":
            write(tmp_path, "parquet", 2 * X)
        with pytest.raises(InterruptedWorkError, match=rf"unfinished work with another {change}"):
            apply(fitted, path, output, **options)
        assert apply(fitted, path, output, force=True, **options).resumed == 0
        assert np.load(output).shape == (N, WIDE)

    def test_two_processes_at_one_output(self, tmp_path, fitted, X):
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"

        def again(stage, done, total):
            apply(fitted, path, output)

        with pytest.raises(InterruptedWorkError, match="another process is writing"):
            apply(fitted, path, output, progress=again)

    def test_the_manifest_says_no_more_than_is_on_the_disk(self, tmp_path, fitted, X, monkeypatch):
        monkeypatch.setattr(partial, "CHECKPOINT_SECONDS", 0)
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"
        folder = partial.partial_folder(output)

        def look(stage, done, total):
            promised = json.loads((folder / "manifest.json").read_text())["rows"]
            assert (folder / "rows").stat().st_size >= 128 + promised * WIDE * 4
            assert promised == done

        assert apply(fitted, path, output, progress=look).rows == N


def whole(fitted, path, folder):
    apply(fitted, path, folder / "whole.npy")
    return np.load(folder / "whole.npy")


class TestRefusals:
    def test_an_output_is_never_overwritten_by_accident(self, tmp_path, fitted, X):
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"
        output.write_bytes(b"precious")
        with pytest.raises(OutputError, match=r"new\.npy exists and would be overwritten.*--force"):
            apply(fitted, path, output)
        assert output.read_bytes() == b"precious"
        apply(fitted, path, output, force=True)
        assert np.load(output).shape == (N, WIDE)

    def test_an_input_may_be_its_own_output(self, tmp_path, fitted, X):
        path = write(tmp_path, "parquet", X)
        apply(fitted, path, path, force=True)
        assert pq.read_table(path).num_rows == N
        assert Representation.of(path).d == WIDE

    def test_a_map_of_another_width(self, tmp_path, fitted, X):
        path = write(tmp_path, "npy", X[:, :5])
        with pytest.raises(
            ShapeError, match="vectors of width 5; the map takes width 6 and gives width 4"
        ):
            apply(fitted, path, tmp_path / "new.npy")
        assert not partial.partial_folder(tmp_path / "new.npy").exists()

    def test_values_that_are_not_finite_leave_nothing(self, tmp_path, fitted, X):
        X[400, 2] = np.nan
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"
        with pytest.raises(NotFiniteError, match="the first is nan in row 400, column 2"):
            apply(fitted, path, output)
        assert [p.name for p in tmp_path.iterdir()] == ["old.npy"]

    def test_values_that_overflow_the_type(self, tmp_path, X):
        large = Affine(1e4 * np.eye(D), np.zeros(D), 0.0)
        path = write(tmp_path, "npy", (10 * X).astype(np.float16))
        with pytest.raises(NotFiniteError, match=r"overflow float16 once they are mapped.*--dtype"):
            apply(large, path, tmp_path / "new.npy")
        assert apply(large, path, tmp_path / "new.npy", dtype="float32").rows == N

    def test_an_output_of_another_kind(self, tmp_path, fitted, X):
        path = write(tmp_path, "npy", X)
        for name in ("new.csv", "new.faiss"):
            with pytest.raises(
                FormatError, match=r"of a kind that is not written.*\.npy, \.parquet"
            ):
                apply(fitted, path, tmp_path / name)

    def test_a_folder_of_a_kind_that_is_not_written(self, tmp_path, fitted):
        faiss = pytest.importorskip("faiss", reason="needs samespace[faiss]")
        index = faiss.IndexFlatL2(D)
        index.add(np.ones((30, D), np.float32))
        faiss.write_index(index, str(tmp_path / "old.faiss"))
        with pytest.raises(FormatError, match="of a kind that is not written"):
            apply(fitted, tmp_path / "old.faiss", tmp_path / "new")
        assert [p.name for p in tmp_path.iterdir()] == ["old.faiss"]
        assert apply(fitted, tmp_path / "old.faiss", tmp_path / "new.npy").rows == 30

    def test_a_folder_that_does_not_exist(self, tmp_path, fitted, X):
        path = write(tmp_path, "npy", X)
        with pytest.raises(OutputError, match=r"no folder .*gone to write new\.npy to"):
            apply(fitted, path, tmp_path / "gone" / "new.npy")

    def test_an_input_that_does_not_exist(self, tmp_path, fitted):
        with pytest.raises(MissingSourceError, match="nothing at"):
            apply(fitted, tmp_path / "gone.npy", tmp_path / "new.npy")

    def test_a_map_that_does_not_exist(self, tmp_path, X):
        with pytest.raises(MissingSourceError, match="no file at"):
            apply(tmp_path / "gone.safetensors", write(tmp_path, "npy", X), tmp_path / "new.npy")

    def test_a_type_that_means_nothing(self, tmp_path, fitted, X):
        with pytest.raises(OptionError, match="dtype='int8'; write one of float16"):
            apply(fitted, write(tmp_path, "npy", X), tmp_path / "new.npy", dtype="int8")

    def test_a_full_disk_keeps_what_is_done(self, tmp_path, fitted, X):
        path, output = write(tmp_path, "npy", X), tmp_path / "new.npy"

        def full(stage, done, total):
            if done >= 256:
                raise OSError(28, "No space left on device")

        with pytest.raises(
            OutputError, match=r"stopped .*No space left.*run the same command to go on"
        ):
            apply(fitted, path, output, progress=full)
        assert apply(fitted, path, output).resumed == 256
