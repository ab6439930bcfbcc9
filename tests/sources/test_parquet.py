"""Parquet: every list type, row groups and files of any cut, and columns that are not vectors."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from samespace.errors import (
    DtypeError,
    FormatError,
    NotFiniteError,
    OptionError,
    PairingError,
    ShapeError,
)
from samespace.sources.checked import Representation


def fixed(X):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(X).ravel()), X.shape[1])


def variable(X, kind=pa.list_):
    return pa.array(list(X), kind(pa.from_numpy_dtype(X.dtype)))


def large(X):
    return variable(X, pa.large_list)


def tensor(X):
    storage = fixed(X)
    kind = pa.fixed_shape_tensor(storage.type.value_type, [X.shape[1]])
    return pa.ExtensionArray.from_storage(kind, storage)


def write(path, table, **options):
    path.parent.mkdir(exist_ok=True, parents=True)
    pq.write_table(pa.table(table), path, **options)
    return path


@pytest.mark.parametrize("column", [fixed, variable, large, tensor])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_every_list_type_reads_back(tmp_path, rng, column, dtype):
    X = rng.standard_normal((50, 3)).astype(dtype)
    path = write(tmp_path / "x.parquet", {"v": column(X)}, row_group_size=17)
    r = Representation.of(path)
    assert (r.n, r.d, r.dtype) == (50, 3, np.dtype(dtype).name)
    batches = list(r.batches(12))
    assert [len(b) for b in batches] == [12, 12, 12, 12, 2]
    assert {b.dtype for b in batches} == {np.dtype(dtype)}
    np.testing.assert_array_equal(np.concatenate(batches), X)


def test_decoded_vectors_share_arrows_memory(rng):
    from samespace.sources.vectors import to_matrix

    array = fixed(rng.standard_normal((10, 3))).slice(2, 5)
    matrix = to_matrix(array, 3, "x", 0)
    base = np.frombuffer(array.values.buffers()[1])
    assert np.shares_memory(matrix, base)
    np.testing.assert_array_equal(matrix, base.reshape(-1, 3)[2:7])


def test_a_variable_list_that_was_sliced_reads_its_own_rows(rng):
    from samespace.sources.vectors import to_matrix

    X = rng.standard_normal((10, 3))
    np.testing.assert_array_equal(to_matrix(variable(X).slice(2, 5), 3, "x", 0), X[2:7])


@pytest.mark.parametrize("start", [0, 1, 16, 17, 40, 59, 60])
def test_reading_starts_anywhere(tmp_path, rng, start):
    X = rng.standard_normal((60, 2))
    for i in range(3):
        part = {"v": fixed(X[20 * i : 20 * i + 20])}
        write(tmp_path / "r" / f"{i}.parquet", part, row_group_size=6)
    rest = list(Representation.of(tmp_path / "r").batches(7, start=start))
    np.testing.assert_array_equal(np.concatenate([X[:0], *rest]), X[start:])


def test_integers_in_a_named_column_become_float64(tmp_path):
    X = np.arange(12).reshape(6, 2)
    path = write(tmp_path / "x.parquet", {"v": fixed(X)})
    values = Representation.of(path, column="v").to_array()
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, X)


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (pa.array(range(6)), "integers"),
        (pa.array([f"doc-{i}" for i in range(6)]), "strings"),
        (pa.array([f"doc-{i}" for i in range(6)]).dictionary_encode(), "strings"),
        (pa.array([bytes([i] * 16) for i in range(6)], pa.binary(16)), "strings"),
    ],
)
def test_ids_of_every_type(tmp_path, ids, kind):
    path = write(tmp_path / "x.parquet", {"key": ids, "v": fixed(np.ones((6, 2)))})
    r = Representation.of(path, id_column="key")
    assert r.has_ids
    assert r.id_kind() == kind
    assert r.ids.tolist() == ids.to_pylist()
    assert len(set(r.keys().tolist())) == 6


def test_two_columns_of_vectors_need_a_name(tmp_path):
    table = {"old": fixed(np.ones((6, 2))), "new": fixed(np.ones((6, 3)))}
    path = write(tmp_path / "x.parquet", table)
    with pytest.raises(OptionError, match=r"2 columns of vectors: old, new.*--column NAME"):
        Representation.of(path)
    assert Representation.of(path, column="new").d == 3


def test_no_column_of_vectors(tmp_path):
    path = write(tmp_path / "x.parquet", {"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(
        OptionError, match=r"no column of vectors; it has a \(double\), b \(string\)"
    ):
        Representation.of(path)


def test_a_column_that_is_not_there(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": fixed(np.ones((6, 2)))})
    with pytest.raises(OptionError, match="no column 'w'; it has v"):
        Representation.of(path, column="w")
    with pytest.raises(OptionError, match="no column 'id'; it has v"):
        Representation.of(path, id_column="id")


@pytest.mark.parametrize("column", [[1.0, 2.0], [["a"], ["b"]]])
def test_a_column_that_is_not_vectors(tmp_path, column):
    path = write(tmp_path / "x.parquet", {"v": column})
    with pytest.raises(DtypeError, match=r"column 'v' of .* needed is a list or fixed-size list"):
        Representation.of(path, column="v")


def test_ragged_lists(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": [[1.0, 2.0]] * 7 + [[1.0]]})
    with pytest.raises(ShapeError, match="is ragged: row 7 has 1 numbers, the rows before it 2"):
        Representation.of(path).to_array()


def test_lists_without_numbers(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": pa.array([[], []], pa.list_(pa.float32()))})
    with pytest.raises(ShapeError, match="has vectors without numbers"):
        Representation.of(path)


def test_a_missing_vector(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": [[1.0, 2.0]] * 5 + [None]}, row_group_size=2)
    with pytest.raises(NotFiniteError, match="no vector in 1 rows of this batch, first in row 5"):
        Representation.of(path).to_array()


def test_a_missing_first_vector(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": [None] + [[1.0, 2.0]] * 5})
    with pytest.raises(NotFiniteError, match="no vector in its first row"):
        Representation.of(path)


def test_a_missing_number(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": [[1.0, 2.0]] * 5 + [[1.0, None]]})
    with pytest.raises(NotFiniteError, match="1 missing values, first in row 5"):
        Representation.of(path).to_array()


def test_a_missing_id(tmp_path):
    path = write(tmp_path / "x.parquet", {"id": ["a", None], "v": fixed(np.ones((2, 2)))})
    with pytest.raises(PairingError, match=r"column 'id' .* missing ids, first in row 1"):
        Representation.of(path, id_column="id").keys()


def test_ids_that_cannot_be_ids(tmp_path):
    path = write(tmp_path / "x.parquet", {"id": [1.0, 2.0], "v": fixed(np.ones((2, 2)))})
    with pytest.raises(DtypeError, match=r"column 'id' of .* holds double. Ids need to be"):
        Representation.of(path, id_column="id").keys()


def test_an_empty_table(tmp_path):
    path = write(tmp_path / "x.parquet", {"v": fixed(np.ones((0, 2)))})
    with pytest.raises(ShapeError, match="is empty; needed is at least one row"):
        Representation.of(path)


def test_an_empty_file_among_others(tmp_path):
    write(tmp_path / "r" / "0.parquet", {"v": variable(np.ones((0, 2)))})
    write(tmp_path / "r" / "1.parquet", {"v": variable(np.ones((4, 2)))})
    assert len(Representation.of(tmp_path / "r").to_array()) == 4


@pytest.mark.parametrize("kept", [0, 3, 200])
def test_a_truncated_file(tmp_path, kept):
    path = write(tmp_path / "x.parquet", {"v": fixed(np.ones((100, 2)))})
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(FormatError, match="not a readable Parquet file, or truncated"):
        Representation.of(path)


def test_a_file_damaged_inside(tmp_path, rng):
    path = write(tmp_path / "x.parquet", {"v": fixed(rng.standard_normal((1000, 8)))})
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    with pytest.raises(FormatError, match="is damaged"):
        Representation.of(path, column="v").to_array()
