"""Streams: cutting, selecting, reading ahead, sorting through a file."""

from __future__ import annotations

import tempfile
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import OutputError
from samespace.sources import spool
from samespace.sources.finite import count_not_finite, is_finite
from samespace.sources.spool import Spool
from samespace.sources.stream import prefetch, rebatch, select

cuts = st.lists(st.integers(0, 9), min_size=1, max_size=8)


def cut(X, sizes):
    return np.split(X, np.cumsum(sizes)[:-1])


@given(cuts, st.integers(1, 12))
def test_rebatching_keeps_rows_and_fixes_sizes(sizes, rows):
    X = np.arange(2 * sum(sizes)).reshape(-1, 2)
    batches = list(rebatch(cut(X, sizes), rows))
    np.testing.assert_array_equal(np.concatenate([X[:0], *batches]), X)
    assert all(len(b) == rows for b in batches[:-1])
    assert all(len(b) <= rows for b in batches[-1:])


def test_a_batch_within_one_chunk_is_a_view():
    X = np.ones((12, 2))
    assert all(np.shares_memory(b, X) for b in rebatch([X], 4))


@given(cuts, st.data())
def test_selecting_equals_indexing(sizes, data):
    n = sum(sizes)
    X = np.arange(2 * n).reshape(-1, 2)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, max(n - 1, 0)), max_size=n))), int)
    kept = list(select(cut(X, sizes), rows))
    np.testing.assert_array_equal(np.concatenate([X[:0], *kept]), X[rows])


def test_prefetching_reads_one_ahead_and_no_more():
    read = []
    gate = threading.Event()

    def items():
        for i in range(5):
            read.append(i)
            if i == 1:
                gate.set()
            yield i

    stream = prefetch(items())
    assert next(stream) == 0
    assert gate.wait(10)
    assert read == [0, 1]
    assert list(stream) == [1, 2, 3, 4]


def test_prefetching_passes_errors_on():
    def items():
        yield 1
        raise ValueError("broken on the thread")

    stream = prefetch(items())
    assert next(stream) == 1
    with pytest.raises(ValueError, match="broken on the thread"):
        next(stream)


def test_an_abandoned_stream_ends_its_thread():
    before = threading.active_count()
    stream = prefetch(iter(range(100)))
    next(stream)
    stream.close()
    assert threading.active_count() == before


@given(cuts, st.integers(1, 200), st.randoms(use_true_random=False))
def test_a_spool_reorders_any_stream(sizes, region_bytes, random):
    n = max(sum(sizes), 1)
    X = np.arange(2.0 * n).reshape(-1, 2)
    positions = np.array(random.sample(range(n), n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spool, "_REGION_BYTES", region_bytes)
        made = Spool(
            iter(cut(X, sizes)) if sum(sizes) else iter([X]), positions, width=2, dtype=X.dtype
        )
    expected = np.empty_like(X)
    expected[positions] = X
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(list(made.chunks())), expected)


def test_a_spool_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = Spool(iter([np.ones((4, 2))]), np.arange(4), width=2, dtype=np.float64)
    assert list(tmp_path.iterdir()) == []  # unnamed already while it is in use
    assert len(next(made.chunks())) == 4


def test_a_spool_interrupted_closes_its_file(monkeypatch):
    def interrupted():
        yield np.ones((2, 2))
        raise KeyboardInterrupt

    opened = []
    original = tempfile.TemporaryFile
    monkeypatch.setattr(
        tempfile, "TemporaryFile", lambda **options: opened.append(original(**options)) or opened[0]
    )
    with pytest.raises(KeyboardInterrupt):
        Spool(interrupted(), np.arange(4), width=2, dtype=np.float64)
    assert opened[0].closed


def test_a_full_disk_says_where_and_how_much():
    def full():
        yield np.ones((2, 2))
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match=r"needs 64 bytes in .*Set TMPDIR"):
        Spool(full(), np.arange(4), width=2, dtype=np.float64)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_bad_value_is_seen_in_every_type(dtype, bad):
    X = np.full((7, 5), np.finfo(dtype).max, dtype)
    assert is_finite(X)
    X[3, 2] = bad
    assert not is_finite(X)
    assert not is_finite(X[:, ::-1])
    count, row, column, value = count_not_finite([X[:2], X[2:]])
    assert (count, row, column) == (1, 3, 2)
    np.testing.assert_equal(value, bad)


def test_bad_values_are_seen_on_torchs_side():
    torch = pytest.importorskip("torch", reason="needs torch, an optional library")
    X = torch.ones(6, 4, dtype=torch.bfloat16)
    assert is_finite(X)
    X[4, 1] = float("nan")
    X[5, 0] = float("inf")
    assert not is_finite(X)
    assert count_not_finite([X])[:3] == (2, 4, 1)
