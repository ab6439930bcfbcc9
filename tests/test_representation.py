"""The gate as its callers meet it: names, ids, pairing in every order, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from samespace.errors import (
    DegenerateError,
    DtypeError,
    NotFiniteError,
    OptionError,
    PairingError,
    SamespaceError,
    ShapeError,
    TooFewRowsError,
)
from samespace.representation import Pair, Representation, check_spread, hash_ids

N, D = 300, 4


@pytest.fixture
def X(rng):
    return rng.standard_normal((N, D)).astype(np.float32)


def as_array(X, ids, folder, name):
    return Representation.of(X, ids=ids, name=name)


def as_npy(X, ids, folder, name):
    np.save(folder / f"{name}.npy", X)
    return Representation.of(folder / f"{name}.npy", ids=ids)


def as_parquet(X, ids, folder, name):
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table({"id": pa.array(ids), "v": vectors}), path, row_group_size=37)
    return Representation.of(path, id_column="id")


def as_torch(X, ids, folder, name):
    torch = pytest.importorskip("torch", reason="needs torch, an optional library")
    return Representation.of(torch.asarray(X), ids=ids, name=name)


FORMS = [as_array, as_npy, as_parquet, as_torch]


def collect(pair, rows=41):
    batches = list(pair.batches(rows))
    assert all(len(x) == len(y) == len(k) for x, y, k in batches)
    assert all(len(k) == rows for _, _, k in batches[:-1])
    return tuple(
        np.concatenate([np.asarray(part) for part in side]) for side in zip(*batches, strict=True)
    )


class TestPairingById:
    @pytest.mark.parametrize("old", FORMS)
    @pytest.mark.parametrize("new", FORMS)
    def test_rows_meet_by_id_in_any_two_orders(self, tmp_path, rng, X, old, new):
        ids_x, ids_y = rng.permutation(N), rng.permutation(N)
        pair = Pair.of(
            old(X[ids_x], ids_x, tmp_path, "old"), new(2 * X[ids_y], ids_y, tmp_path, "new")
        )
        A, B, keys = collect(pair)
        assert (pair.n, pair.paired_by, pair.unmatched_x, pair.unmatched_y) == (N, "id", 0, 0)
        np.testing.assert_array_equal(A, X[keys.astype(int)])
        np.testing.assert_array_equal(B, 2 * A)
        assert sorted(keys.tolist()) == list(range(N))

    @pytest.mark.parametrize("old", FORMS)
    @pytest.mark.parametrize("new", FORMS)
    def test_rows_without_a_partner_are_counted_and_left_out(self, tmp_path, rng, X, old, new):
        ids_x, ids_y = rng.permutation(N)[:250], rng.permutation(N)[:200]
        pair = Pair.of(old(X[ids_x], ids_x, tmp_path, "old"), new(X[ids_y], ids_y, tmp_path, "new"))
        A, B, keys = collect(pair)
        both = set(ids_x) & set(ids_y)
        assert (pair.n, pair.unmatched_x, pair.unmatched_y) == (
            len(both),
            250 - len(both),
            200 - len(both),
        )
        assert set(keys.tolist()) == both
        np.testing.assert_array_equal(A, B)

    @pytest.mark.parametrize("form", FORMS)
    def test_the_same_order_with_gaps_is_streamed(self, tmp_path, monkeypatch, X, form):
        even, third = np.arange(0, N, 2), np.arange(0, N, 3)
        pair = Pair.of(form(X[even], even, tmp_path, "old"), form(X[third], third, tmp_path, "new"))
        monkeypatch.setattr(Pair, "_sorted_y", None)  # must not be needed
        A, B, keys = collect(pair)
        np.testing.assert_array_equal(keys, np.arange(0, N, 6))
        np.testing.assert_array_equal(A, B)

    def test_strings_meet_as_integers_do(self, tmp_path, rng, X):
        ids = np.array([f"item/{i}" for i in range(N)])
        p = rng.permutation(N)
        pair = Pair.of(
            as_parquet(X, ids, tmp_path, "old"), as_parquet(X[p], ids[p], tmp_path, "new")
        )
        A, B, keys = collect(pair)
        np.testing.assert_array_equal(A, X)
        np.testing.assert_array_equal(B, X)
        np.testing.assert_array_equal(keys, hash_ids(ids))

    def test_a_second_pass_reads_the_same(self, tmp_path, rng, X):
        p = rng.permutation(N)
        pair = Pair.of(
            as_parquet(X, np.arange(N), tmp_path, "old"), as_parquet(X[p], p, tmp_path, "new")
        )
        first, second = collect(pair, 41), collect(pair, 300)
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_sorting_reports_progress(self, tmp_path, rng, X):
        p, heard = rng.permutation(N), []
        pair = Pair.of(
            as_parquet(X, np.arange(N), tmp_path, "old"),
            as_parquet(X[p], p, tmp_path, "new"),
            progress=lambda *report: heard.append(report),
        )
        collect(pair)
        assert heard[-1] == ("sorting by id", N, N)

    def test_columns_are_named_once_or_for_each_side(self, tmp_path, X):
        as_parquet(X, np.arange(N), tmp_path, "old")
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), D)
        pq.write_table(
            pa.table({"key": range(N), "a": vectors, "b": vectors}), tmp_path / "new.parquet"
        )
        old, new = str(tmp_path / "old.parquet"), str(tmp_path / "new.parquet")
        pair = Pair.of(old, new, on=("id", "key"), column=(None, "b"))
        np.testing.assert_array_equal(*collect(pair)[:2])
        assert Pair.of(old, old, on="id", column="v").paired_by == "id"

    @pytest.mark.parametrize("form", FORMS)
    def test_duplicate_ids_are_named(self, tmp_path, X, form):
        ids = np.arange(N)
        ids[17] = 5
        with pytest.raises(
            PairingError, match=r"old.* has duplicate ids in 2 rows, for instance .*5"
        ):
            Pair.of(form(X, ids, tmp_path, "old"), form(X, np.arange(N), tmp_path, "new"))

    def test_ids_of_two_types(self, tmp_path, X):
        with pytest.raises(DtypeError, match="ids of old are integers, those of new strings"):
            Pair.of(X, X, on=(np.arange(N), np.arange(N).astype(str)))

    def test_no_common_id(self, X):
        with pytest.raises(PairingError, match=r"no id of old .* is an id of new"):
            Pair.of(X, X, on=(np.arange(N), np.arange(N) + N))

    def test_ids_on_one_side_only(self, X):
        with pytest.raises(PairingError, match="old has ids and new has none"):
            Pair.of(Representation.of(X, ids=np.arange(N), name="old"), X)

    def test_too_few_common_ids(self, X):
        with pytest.raises(TooFewRowsError, match=r"19 rows are paired.*at least 20"):
            Pair.of(X, X, on=(np.arange(N), np.arange(N) + N - 19))

    @pytest.mark.parametrize(
        ("ids", "error", "message"),
        [
            (np.arange(N - 1), PairingError, f"has {N} rows but {N - 1} ids"),
            (np.arange(N).reshape(-1, 1), ShapeError, "have shape"),
            (
                np.arange(N) / 2,
                DtypeError,
                "are of type float64. Ids need to be integers or strings",
            ),
            ([1, "a"] * (N // 2), None, None),
            (np.array([1, "a"] * (N // 2), object), DtypeError, "are of types int, str"),
            (np.array(["a", None] * (N // 2), object), PairingError, "are missing, first in row 1"),
        ],
    )
    def test_ids_that_cannot_be_ids(self, X, ids, error, message):
        if (
            error is None
        ):  # NumPy makes strings of a mixed list before we see it; they are duplicates
            error, message = PairingError, "duplicate ids"
        with pytest.raises(error, match=message):
            Pair.of(X, X, on=(ids, ids))


class TestPairingByOrder:
    @pytest.mark.parametrize("old", FORMS)
    @pytest.mark.parametrize("new", FORMS)
    def test_keys_are_row_numbers(self, tmp_path, X, old, new):
        sides = old(X, range(N), tmp_path, "old"), new(X, range(N), tmp_path, "new")
        pair = Pair.of(*map(strip, sides))
        A, B, keys = collect(pair)
        assert pair.paired_by == "order"
        np.testing.assert_array_equal(A, X)
        np.testing.assert_array_equal(B, X)
        np.testing.assert_array_equal(keys, np.arange(N))

    def test_different_numbers_of_rows(self, X):
        with pytest.raises(PairingError, match=r"old has 300 rows and new has 299.*--on id"):
            Pair.of(X, X[1:])

    def test_fewer_rows_than_decide_anything(self, X):
        with pytest.raises(TooFewRowsError, match="19 rows are paired, fewer than can decide"):
            Pair.of(X[:19], X[:19])
        assert Pair.of(X[:19], X[:19], minimum=1).n == 19

    def test_a_column_name_means_nothing_to_arrays(self, X):
        with pytest.raises(OptionError, match="no named columns, so 'id' cannot be picked"):
            Pair.of(X, X, on="id")

    def test_a_column_name_comes_too_late_for_a_representation(self, X):
        with pytest.raises(OptionError, match="is a Representation already, so 'id'"):
            Pair.of(Representation.of(X), X, on="id")


def strip(representation):
    """The same rows without their ids."""
    if representation.name.endswith(".parquet"):
        return Representation.of(representation.name)
    return Representation(representation.name, representation.source)


class TestValues:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_values_that_are_not_finite_are_counted_and_located(self, tmp_path, X, form, dtype):
        X = X.astype(dtype)
        X[123, 2], X[200, 0], X[299, 3] = np.nan, np.inf, -np.inf
        r = form(X, np.arange(N), tmp_path, "old")
        message = "holds 3 values that are NaN or infinite, of 1,200; the first is nan in row 123, column 2"
        with pytest.raises(NotFiniteError, match=message):
            r.to_array()
        with pytest.raises(NotFiniteError, match=message):
            collect(Pair.of(r, r))

    def test_gathered_rows_are_checked_too(self, X):
        X[7, 1] = np.inf
        with pytest.raises(NotFiniteError, match="the first is inf in row 7, column 1"):
            Representation.of(X).take(np.array([3, 7]))

    def test_large_finite_values_pass(self):
        X = np.full((N, D), 3e38, np.float32)
        assert len(Representation.of(X).to_array()) == N

    def test_batches_of_nothing_are_refused(self, X):
        with pytest.raises(OptionError, match="rows=0, start=0; needed is rows >= 1"):
            next(Representation.of(X).batches(0))

    def test_rows_of_a_stream_cannot_be_gathered(self, tmp_path, X):
        with pytest.raises(OptionError, match="can only be read in order"):
            as_parquet(X, np.arange(N), tmp_path, "old").take(np.array([3]))


class TestSpread:
    def test_variation_passes(self):
        assert check_spread("old", np.array([0.0, 1e-30])) is None

    @pytest.mark.parametrize("variance", [np.zeros(3), np.array([1e-25, 0, 0])])
    def test_a_constant_representation(self, variance):
        with pytest.raises(DegenerateError, match="old is constant: every row is the same vector"):
            check_spread("old", variance, np.ones(3))

    def test_a_small_spread_around_a_small_mean_passes(self):
        assert check_spread("old", np.array([1e-25]), np.array([1e-6])) is None

    def test_values_too_large_to_square(self):
        with pytest.raises(DegenerateError, match=r"variance of old is inf.*Divide both"):
            check_spread("old", np.array([np.inf]))


class TestRepresentation:
    def test_a_representation_passes_through(self, X):
        r = Representation.of(X, name="old")
        assert Representation.of(r) is r
        assert Representation.of(r, name="new").name == "new"

    def test_names_are_paths_or_given(self, tmp_path, X):
        path = tmp_path / "emb.npy"
        np.save(path, X)
        assert Representation.of(path).name == str(path)
        assert Representation.of(X).name == "array"
        pair = Pair.of(X, path)
        assert (pair.x.name, pair.y.name) == ("old", str(path))

    def test_reprs_are_cheap_and_say_what_matters(self, X):
        assert repr(Representation.of(X)) == "Representation('array', n=300, d=4, dtype='float32')"
        assert repr(Pair.of(X, X)) == "Pair('old', 'new', n=300, paired_by='order')"

    def test_ids_of_files_without_any_are_none(self, tmp_path, X):
        as_parquet(X, np.arange(N), tmp_path, "old")
        assert Representation.of(tmp_path / "old.parquet").ids is None

    def test_ids_are_none_without_any(self, X):
        r = Representation.of(X)
        assert r.ids is None
        np.testing.assert_array_equal(r.keys(), np.arange(N))

    def test_every_refusal_is_one_of_ours_and_of_pythons(self):
        for error, python in ((ShapeError, ValueError), (DtypeError, TypeError)):
            assert issubclass(error, SamespaceError)
            assert issubclass(error, python)


class TestKeys:
    def test_keys_of_strings_are_the_same_in_every_process(self):
        code = "from samespace.representation import hash_ids; print(hash_ids(['a', 'é'])[1])"
        runs = {
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True,
                env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            ).stdout
            for seed in ("1", "2")
        }  # fmt: skip
        assert runs == {f"{hash_ids(['é'])[0]}\n"}

    def test_keys_do_not_depend_on_the_batch(self):
        ids = [f"{'long' * i}-{i}" for i in range(40)]
        split = np.concatenate([hash_ids(ids[:7]), hash_ids(ids[7:])])
        np.testing.assert_array_equal(hash_ids(ids), split)

    def test_strings_and_their_bytes_share_a_key(self):
        assert hash_ids(["é"]) == hash_ids(["é".encode()])

    def test_negative_integers_have_keys_of_their_own(self):
        assert len(set(hash_ids(np.array([-1, 0, 1])).tolist())) == 3

    def test_python_integers_in_an_object_array_are_integers(self):
        np.testing.assert_array_equal(hash_ids(np.array([3, 5], object)), [3, 5])

    def test_tensors_are_ids_too(self):
        torch = pytest.importorskip("torch", reason="needs torch, an optional library")
        np.testing.assert_array_equal(hash_ids(torch.arange(3)), [0, 1, 2])
