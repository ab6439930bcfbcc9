"""Vector stores, read where their packages are installed."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pytest

from samespace.errors import FormatError, MissingDependencyError, OptionError, ShapeError
from samespace.sources.checked import Representation


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss", reason="needs samespace[faiss]")


@pytest.fixture
def lance():
    return pytest.importorskip("lance", reason="needs samespace[lance]")


def vectors(X):
    return pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])


def test_a_flat_index_gives_its_vectors_back(tmp_path, faiss, rng):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    index = faiss.IndexFlatIP(4)
    index.add(X)
    faiss.write_index(index, str(tmp_path / "x.faiss"))
    r = Representation.of(tmp_path / "x.faiss")
    np.testing.assert_array_equal(np.concatenate(list(r.batches(7, start=3))), X[3:])
    np.testing.assert_array_equal(r.take(np.array([9, 2])), X[[9, 2]])


def test_an_inverted_index_needs_its_direct_map(tmp_path, faiss, rng):
    X = rng.standard_normal((500, 4)).astype(np.float32)
    index = faiss.index_factory(4, "IVF4,Flat")
    index.train(X)
    index.add(X)
    faiss.write_index(index, str(tmp_path / "x.faiss"))
    with pytest.raises(FormatError, match=r"cannot|can be read back.*make_direct_map"):
        Representation.of(tmp_path / "x.faiss")


def test_an_empty_index(tmp_path, faiss):
    faiss.write_index(faiss.IndexFlatIP(4), str(tmp_path / "x.faiss"))
    with pytest.raises(ShapeError, match="is empty"):
        Representation.of(tmp_path / "x.faiss")


def test_a_lance_dataset_streams_with_its_ids(tmp_path, lance, rng):
    X = rng.standard_normal((50, 4)).astype(np.float32)
    lance.write_dataset(pa.table({"id": range(50), "v": vectors(X)}), str(tmp_path / "x.lance"))
    r = Representation.of(tmp_path / "x.lance", id_column="id")
    np.testing.assert_array_equal(np.concatenate(list(r.batches(7, start=3))), X[3:])
    np.testing.assert_array_equal(r.ids, np.arange(50))
    assert r.has_ids
    assert r.source.beside == ("id",)
    assert (r.n, r.d, r.dtype) == (50, 4, "float32")


def test_a_folder_named_lance_that_is_none(tmp_path, lance):
    (tmp_path / "x.lance").mkdir()
    with pytest.raises(FormatError, match="not a readable Lance dataset"):
        Representation.of(tmp_path / "x.lance")


def test_an_empty_lance_dataset(tmp_path, lance):
    table = pa.table({"v": vectors(np.ones((0, 4), np.float32))})
    lance.write_dataset(table, str(tmp_path / "x.lance"))
    with pytest.raises(ShapeError, match="is empty; needed is at least one row"):
        Representation.of(tmp_path / "x.lance")


@pytest.mark.parametrize(("suffix", "package"), [("faiss", "faiss"), ("lance", "pylance")])
def test_a_store_whose_package_is_missing(tmp_path, monkeypatch, suffix, package):
    path = tmp_path / f"x.{suffix}"
    path.mkdir() if suffix == "lance" else path.touch()
    monkeypatch.setitem(sys.modules, suffix, None)
    with pytest.raises(MissingDependencyError, match=rf"{package}.*samespace\[{suffix}\]"):
        Representation.of(path)


def test_only_one_store_is_read_at_a_time(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.faiss").touch()
        (tmp_path / f"{name}.lance").mkdir()
    with pytest.raises(OptionError, match="2 FAISS indices match"):
        Representation.of(str(tmp_path / "*.faiss"))
    with pytest.raises(OptionError, match="2 Lance datasets match"):
        Representation.of(str(tmp_path / "*.lance"))
