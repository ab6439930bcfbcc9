"""Finding files: one, a folder, a glob; and what is said of those that cannot be read."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from samespace.errors import DtypeError, FormatError, MissingSourceError, OptionError, ShapeError
from samespace.sources.checked import Representation


def save(path: Path, array) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
    return path


@pytest.fixture
def shards(tmp_path, rng):
    X = rng.standard_normal((30, 4)).astype(np.float32)
    for i in range(3):
        save(tmp_path / "reps" / f"part-{i}.npy", X[10 * i : 10 * i + 10])
    return tmp_path / "reps", X


def test_a_folder_is_read_in_the_order_of_names(shards):
    folder, X = shards
    np.testing.assert_array_equal(Representation.of(folder).to_array(), X)


def test_a_glob_is_read_in_the_order_of_names(shards):
    folder, X = shards
    np.testing.assert_array_equal(Representation.of(f"{folder}/part-[12].npy").to_array(), X[10:])


def test_hidden_files_and_folders_are_skipped(shards):
    folder, X = shards
    save(folder / "_temporary" / "part-9.npy", X)
    save(folder / ".part-0.npy", X)
    assert Representation.of(folder).n == 30


def test_batches_across_shards_have_the_size_asked_for(shards):
    folder, X = shards
    r = Representation.of(folder)
    assert [len(b) for b in r.batches(7)] == [7, 7, 7, 7, 2]
    np.testing.assert_array_equal(np.concatenate(list(r.batches(7, start=9))), X[9:])
    rows = np.array([29, 0, 10, 9])
    np.testing.assert_array_equal(r.take(rows), X[rows])


def test_npy_is_mapped_not_read(tmp_path):
    # A gigabyte with holes: reading it whole would show, mapping does not.
    path = tmp_path / "holes.npy"
    mapped = np.lib.format.open_memmap(path, "w+", np.float32, (1 << 18, 1024))
    mapped.flush()
    del mapped
    r = Representation.of(path)
    batch = next(r.batches(64))
    assert isinstance(batch.base, np.memmap) or isinstance(batch.base.base, np.memmap)
    assert (r.n, r.d) == (1 << 18, 1024)


def test_a_mapped_chunk_stays_valid_after_its_pages_are_given_back(tmp_path, rng):
    X = rng.standard_normal((50, 3))
    batches = list(Representation.of(save(tmp_path / "x.npy", X)).batches(8))
    np.testing.assert_array_equal(np.concatenate(batches), X)


def test_a_path_that_does_not_exist(tmp_path):
    with pytest.raises(MissingSourceError, match=r"nothing at .*gone.npy"):
        Representation.of(tmp_path / "gone.npy")
    with pytest.raises(FileNotFoundError, match="nothing at"):
        Representation.of(str(tmp_path / "*.npy"))


def test_a_folder_without_data(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(MissingSourceError, match=r"holds no \.npy, \.parquet"):
        Representation.of(tmp_path)


def test_a_folder_of_two_kinds(tmp_path):
    save(tmp_path / "x.npy", np.ones((3, 2)))
    (tmp_path / "y.parquet").write_bytes(b"")
    with pytest.raises(FormatError, match=r"several kinds .*npy, parquet"):
        Representation.of(tmp_path)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("x.npz", "np.load"),
        ("x.csv", "Write it as Parquet"),
        ("x.pt", "It is a pickle"),
        ("x.pkl", "can run any code"),
        ("x", "no suffix"),
    ],
)
def test_other_kinds_of_file_are_refused_with_advice(tmp_path, name, advice):
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(FormatError, match=f"of a kind that is not read.*{advice}"):
        Representation.of(tmp_path / name)


def test_an_empty_npy_file(tmp_path):
    (tmp_path / "x.npy").touch()
    with pytest.raises(FormatError, match=r"empty file.*np.save"):
        Representation.of(tmp_path / "x.npy")


def test_a_pickle_named_npy_is_never_loaded(tmp_path):
    (tmp_path / "x.npy").write_bytes(pickle.dumps([[1.0]]))
    with pytest.raises(FormatError, match=r"is a pickle.*can run any code"):
        Representation.of(tmp_path / "x.npy")


def test_an_object_array_is_never_loaded(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, None]], object), allow_pickle=True)
    with pytest.raises(FormatError, match="holds Python objects"):
        Representation.of(tmp_path / "x.npy")


def test_an_archive_named_npy(tmp_path):
    with (tmp_path / "x.npy").open("wb") as file:
        np.savez(file, a=np.ones((3, 2)))
    with pytest.raises(FormatError, match=r"is an \.npz archive"):
        Representation.of(tmp_path / "x.npy")


@pytest.mark.parametrize("kept", [40, 100, 200])
def test_a_truncated_npy_file(tmp_path, kept):
    path = save(tmp_path / "x.npy", np.ones((10, 4)))
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(FormatError, match=r"truncated|not a readable"):
        Representation.of(path)


def test_a_text_named_npy(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x01\x00\x04\x00oops")
    with pytest.raises(FormatError, match=r"is not a readable \.npy file"):
        Representation.of(tmp_path / "x.npy")


def test_a_vector_in_a_file(tmp_path):
    with pytest.raises(ShapeError, match=r"x\.npy has 1 dimensions"):
        Representation.of(save(tmp_path / "x.npy", np.ones(10)))


def test_strings_in_a_file(tmp_path):
    with pytest.raises(DtypeError, match="holds strings"):
        Representation.of(save(tmp_path / "x.npy", np.array([["a"]])))


def test_shards_of_two_widths(tmp_path):
    save(tmp_path / "r" / "a.npy", np.ones((3, 2)))
    save(tmp_path / "r" / "b.npy", np.ones((3, 5)))
    with pytest.raises(ShapeError, match=r"b\.npy has 5 columns but .*a\.npy has 2"):
        Representation.of(tmp_path / "r")


def test_shards_of_two_types(tmp_path):
    save(tmp_path / "r" / "a.npy", np.ones((3, 2), np.float16))
    save(tmp_path / "r" / "b.npy", np.ones((3, 2)))
    with pytest.raises(DtypeError, match=r"b\.npy holds float64 but .*a\.npy holds float16"):
        Representation.of(tmp_path / "r")


def test_npy_has_no_columns(tmp_path):
    path = save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(OptionError, match=r"no columns, so column 'v' cannot be picked"):
        Representation.of(path, column="v")
    with pytest.raises(OptionError, match="ids cannot be read from 'id'"):
        Representation.of(path, id_column="id")
