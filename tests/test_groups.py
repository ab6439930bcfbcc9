"""Rows that are kin share a fold, so that no map is judged on near-copies of rows it was fitted to."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import samespace as ss
from samespace.errors import OptionError, PairingError

COPIES = 10


def near_copies(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forty unrelated vectors, each ten times with a little noise: independent spaces, kin rows."""
    labels = np.repeat(np.arange(40), COPIES)
    old, new = (rng.standard_normal((40, 30))[labels] for _ in range(2))
    return old + 0.01 * rng.standard_normal(old.shape), new, labels


def test_kin_rows_flatter_unless_they_are_named(rng: np.random.Generator) -> None:
    old, new, labels = near_copies(rng)
    careless, careful = ss.compare(old, new), ss.compare(old, new, groups=labels)
    assert careless.affine.unexplained < 0.6  # the map remembers the forty vectors
    assert careful.affine.unexplained > 0.95
    assert careful.verdict.name in ("none", "undecided")


def test_a_group_lies_in_one_fold(rng: np.random.Generator) -> None:
    old, new, labels = near_copies(rng)
    moments = ss.Moments.of(old, new, groups=labels)
    assert sum(moments.fold_size(k) for k in range(10)) == len(old)
    assert all(moments.fold_size(k) % COPIES == 0 for k in range(10))


def test_groups_follow_rows_paired_by_id(rng: np.random.Generator) -> None:
    old, new, labels = near_copies(rng)
    ids, order = np.arange(len(old)), rng.permutation(len(old))
    moments = ss.Moments.of(old, new[order], on=(ids, ids[order]), groups=labels)
    np.testing.assert_allclose(moments.Sxy, ss.Moments.of(old, new, groups=labels).Sxy, atol=1e-9)
    assert all(moments.fold_size(k) % COPIES == 0 for k in range(10))


def test_a_column_names_the_groups(rng: np.random.Generator, tmp_path) -> None:
    old, new, labels = near_copies(rng)
    for name, rows in (("old", old), ("new", new)):
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
        pq.write_table(
            pa.table({"document": labels, "vector": vectors}), tmp_path / f"{name}.parquet"
        )
    read = ss.Moments.of(tmp_path / "old.parquet", tmp_path / "new.parquet", groups="document")
    given = ss.Moments.of(old, new, groups=labels)
    assert [read.fold_size(k) for k in range(10)] == [given.fold_size(k) for k in range(10)]


def test_groups_that_cannot_be_meant(rng: np.random.Generator) -> None:
    old, new, labels = near_copies(rng)
    with pytest.raises(OptionError, match="names a column, but old is no file"):
        ss.compare(old, new, groups="document")
    with pytest.raises(PairingError, match="400 rows but 399 ids"):
        ss.compare(old, new, groups=labels[1:])
