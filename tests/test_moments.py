"""Moments: a monoid to rounding, stable far from zero, and each part what its rows alone would give."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samespace.batch
from samespace.accumulate import DeviceAccumulator, HostAccumulator
from samespace.errors import (
    DegenerateError,
    FormatError,
    MissingSourceError,
    OptionError,
    OutputError,
    ShapeError,
    TooFewRowsError,
)
from samespace.hashing import fold_of
from samespace.moments import Moments
from samespace.representation import Pair
from tests.oracles.second_moments import centred_sums
from tests.tolerances import EPSILON, rtol

SUMS = ("mean_x", "mean_y", "Sxx", "Sxy", "Syy", "norm_products")


def rows(rng: np.random.Generator, n: int = 120, d_x: int = 3, d_y: int = 2) -> tuple:
    X = rng.standard_normal((n, d_x)) * np.arange(1, d_x + 1) + 2
    Y = X @ rng.standard_normal((d_x, d_y)) + rng.standard_normal((n, d_y))
    return X, Y, rng.permutation(10 * n)[:n].astype(np.uint64)


def moments(X: Any, Y: Any, keys: Any = None, **options: Any) -> Moments:
    m = Moments(X.shape[1], Y.shape[1], **options)
    m.update(X, Y, keys)
    return m


def gap(found: Moments, expected: Any, *, names: tuple[str, ...] = SUMS) -> float:
    """The largest difference, each quantity in units of its own size."""
    return max(
        float(np.abs(getattr(found, name) - getattr(expected, name)).max())
        / float(np.abs(getattr(expected, name)).max() or 1.0)
        for name in names
    )


def spread_gap(found: Moments, expected: dict[str, np.ndarray]) -> float:
    """The largest relative difference of the centred sums."""
    return max(
        float(np.abs(getattr(found, name) - expected[name]).max() / np.abs(expected[name]).max())
        for name in ("Sxx", "Sxy", "Syy", "norm_products")
    )


class TestAgainstExactArithmetic:
    @pytest.mark.parametrize("shift", [0.0, 1e4, -1e8])
    @pytest.mark.parametrize("scale", [1e-60, 1.0, 1e60])
    def test_sums_are_those_of_two_passes_in_rational_numbers(self, rng, shift, scale):
        X, Y, keys = rows(rng, n=40)
        X, Y = (X + shift) * scale, (Y - shift) * scale
        m, exact = moments(X, Y, keys), centred_sums(X, Y)
        assert np.allclose(m.mean_x, exact["mean_x"], rtol=rtol("exact"))
        assert np.allclose(m.mean_y, exact["mean_y"], rtol=rtol("exact"))
        # The input holds a spread of 1 at 1e8 to 1e-8: the sums lose nothing beyond.
        assert spread_gap(m, exact) < rtol("exact")

    @pytest.mark.parametrize("order", ["sorted", "drifting", "two levels", "alternating"])
    def test_a_mean_that_moves_is_followed(self, rng, order):
        n = 1000
        t = np.arange(n)[:, None]
        X, Y, keys = rows(rng, n=n)
        level = {
            "sorted": 0 * t,
            "drifting": 0.01 * t,
            "two levels": 50.0 * (t > 20),
            "alternating": 30.0 * (t // 50 % 2),
        }[order]
        X, Y = X + level + 1e8, Y - level - 1e8
        if order == "sorted":
            X, Y = np.sort(X, axis=0), np.sort(Y, axis=0)
        m = Moments(3, 2)
        for start in range(0, n, 10):
            m.update(X[start : start + 10], Y[start : start + 10], keys[start : start + 10])
        assert spread_gap(m, centred_sums(X, Y)) < rtol("exact")

    def test_the_pivot_is_moved_to_data_that_left_it(self, rng):
        # A first batch a million spreads away: about its mean, sums of fourth powers would lose 1e24 eps.
        X, Y, keys = rows(rng, n=4000)
        X[:1] -= 1e6
        Y[:1] += 1e6
        m = Moments(3, 2, folds=2)
        for start in (0, *range(1, 4000, 300)):
            stop = 1 if start == 0 else start + 300
            m.update(X[start:stop], Y[start:stop], keys[start:stop])
        far = fold_of(keys[:1], 2)[0]
        calm = fold_of(keys, 2) != far
        exact = centred_sums(X[calm], Y[calm])
        found = m.fold(1 - far)
        assert all(
            np.allclose(getattr(found, s), exact[s], rtol=1e-4, atol=1e-4 * np.abs(exact[s]).max())
            for s in ("Sxx", "Sxy", "Syy")
        )

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
    def test_narrow_values_are_summed_as_the_numbers_they_are(self, rng, dtype):
        X, Y, keys = rows(rng, n=40)
        X, Y = (1000 * X).astype(dtype), (1000 * Y).astype(dtype)  # float16 squares would overflow
        wide = X.astype(np.float64), Y.astype(np.float64)
        assert spread_gap(moments(X, Y, keys), centred_sums(*wide)) < rtol("exact")

    def test_single_precision_products_cost_six_digits_not_more(self, rng):
        X, Y, keys = rows(rng, n=5000)
        X, Y = X + 1e6, Y - 1e6
        loose, tight = moments(X, Y, keys, precision="float32"), moments(X, Y, keys)
        assert 0 < gap(loose, tight) < 100 * EPSILON["float32"]

    def test_constant_columns_have_no_spread_at_all(self, rng):
        X, Y, keys = rows(rng)
        X[:, 1], Y[:, 0] = 0.1, -1e5 / 3
        m = moments(X, Y, keys)
        assert (m.Sxx[1] == 0).all()
        assert (m.Syy[0] == 0).all()
        assert (m.Sxy[1] == 0).all()


class TestMonoid:
    @given(
        st.lists(st.integers(0, 80), max_size=5),
        st.lists(st.integers(1, 40), min_size=6, max_size=6),
        st.sampled_from([0.0, 1e3, -1e6]),
        st.integers(0, 2**32 - 1),
    )
    def test_any_partition_in_any_order_with_any_batches_is_the_same(
        self, cuts, sizes, shift, seed
    ):
        rng = np.random.default_rng(seed)
        X, Y, keys = rows(rng, n=80)
        X, Y = X + shift, Y - shift
        whole = moments(X, Y, keys, folds=4, keep=9)
        order = rng.permutation(80)
        parts = []
        for index, size in zip(np.split(order, sorted(cuts)), sizes, strict=False):
            part = Moments(3, 2, folds=4, keep=9)
            for start in range(0, len(index), size):
                batch = index[start : start + size]
                part.update(X[batch], Y[batch], keys[batch])
            parts.append(part)
        while len(parts) > 1:  # a random tree of merges, not only a chain
            a, b = (parts.pop(rng.integers(len(parts))) for _ in range(2))
            parts.append(a + b)
        (merged,) = parts
        tolerance = rtol("exact")
        assert (merged.n, merged.n_seen) == (80, 80)
        assert gap(merged, whole) < tolerance
        for k in range(4):
            assert merged.fold_size(k) == whole.fold_size(k)
            if whole.fold_size(k) > 1:
                assert gap(merged.fold(k), whole.fold(k)) < tolerance
        for name in ("keys", "x", "y"):
            found, expected = (getattr(m.reservoir, name) for m in (merged, whole))
            assert np.array_equal(found, expected)

    def test_merging_with_nothing_changes_nothing(self, rng):
        m = moments(*rows(rng))
        for both in (m + Moments(3, 2), Moments(3, 2) + m):
            assert gap(both, m) == 0
            assert both.n == m.n
            assert np.array_equal(both.reservoir.keys, m.reservoir.keys)

    def test_merging_leaves_the_parts_alone_and_can_be_continued(self, rng):
        X, Y, keys = rows(rng)
        a, b = moments(X[:50], Y[:50], keys[:50]), moments(X[50:90], Y[50:90], keys[50:90])
        before = a.Sxx.copy(), b.Sxx.copy()
        both = a + b
        both.update(X[90:], Y[90:], keys[90:])
        assert np.array_equal(a.Sxx, before[0])
        assert np.array_equal(b.Sxx, before[1])
        assert gap(both, moments(X, Y, keys)) < rtol("exact")

    def test_reading_between_updates_changes_nothing(self, rng):
        X, Y, keys = rows(rng)
        read = Moments(3, 2)
        for start in range(0, 120, 30):
            read.update(X[start : start + 30], Y[start : start + 30], keys[start : start + 30])
            assert read.n == start + 30
            assert np.isfinite(read.Sxy).all()
        assert gap(read, moments(X, Y, keys)) < rtol("exact")

    def test_an_empty_batch_is_nothing(self, rng):
        X, Y, keys = rows(rng)
        m = moments(X, Y, keys)
        m.update(X[:0], Y[:0], keys[:0])
        assert m.n == m.n_seen == 120

    @pytest.mark.parametrize(
        ("other", "match"),
        [
            (Moments(2, 2), r"\(3, 2, 10\) and of \(2, 2, 10\) cannot be merged; .* same widths"),
            (Moments(3, 2, folds=5), r"\(3, 2, 10\) and of \(3, 2, 5\) cannot be merged"),
            (Moments(3, 2, keep=7), r"samples of 2048 and of 7 rows"),
        ],
    )
    def test_what_does_not_fit_does_not_merge(self, other, match):
        with pytest.raises(ShapeError, match=match):
            Moments(3, 2) + other


class TestParts:
    def test_folds_and_their_complements_are_what_their_rows_alone_give(self, rng):
        X, Y, keys = rows(rng, n=200)
        m, fold = moments(X, Y, keys), fold_of(keys, 10)
        for k in range(10):
            inside = fold == k
            assert m.fold_size(k) == m.fold(k).n == inside.sum()
            assert gap(m.fold(k), moments(X[inside], Y[inside])) < rtol("exact")
            assert gap(m.without(k), moments(X[~inside], Y[~inside])) < rtol("exact")
            assert m.fold(k).folds == 1

    def test_a_fold_and_the_rest_make_the_whole(self, rng):
        m = moments(*rows(rng))
        assert gap(m.fold(3) + m.without(3), m) < rtol("exact")

    @pytest.mark.parametrize("k", [-1, 10])
    @pytest.mark.parametrize("part", ["fold", "without", "fold_size"])
    def test_a_fold_that_is_not_there(self, rng, k, part):
        with pytest.raises(OptionError, match=rf"fold {k} of Moments with folds 0 to 9"):
            getattr(moments(*rows(rng)), part)(k)

    def test_a_fold_without_rows_says_so_when_read(self, rng):
        X, Y, _ = rows(rng, n=2)
        m = moments(X, Y)
        empty = next(k for k in range(10) if not m.fold_size(k))
        assert m.fold(empty).n == 0
        with pytest.raises(TooFewRowsError, match="hold no rows yet"):
            m.fold(empty).Sxx  # noqa: B018 (a property that raises)

    def test_swapped_moments_are_those_of_the_swapped_rows(self, rng):
        X, Y, keys = rows(rng)
        m, direct = moments(X, Y, keys, keep=30).swap(), moments(Y, X, keys, keep=30)
        assert gap(m, direct) < rtol("exact")
        assert gap(m.fold(2), direct.fold(2)) < rtol("exact")
        assert np.array_equal(m.reservoir.x, direct.reservoir.x)
        assert gap(m.swap(), moments(X, Y, keys)) < rtol("exact")
        m.update(Y, X, keys)
        assert m.n == 240

    def test_swapping_swaps_what_is_known_of_the_pairing(self, rng):
        X, Y, _ = rows(rng, n=60)
        swapped = Moments.of(X, Y[10:], on=(np.arange(60), np.arange(10, 60))).swap()
        assert swapped.pairing == {
            "paired_by": "id",
            "unmatched_x": 0,
            "unmatched_y": 10,
            "names": ["new", "old"],
        }
        assert Moments(3, 2).swap().pairing == {}

    def test_another_pairing_of_the_rows_needs_the_cross_moment_alone(self, rng):
        X, Y, keys = rows(rng)
        m = moments(X + 1e5, Y, keys)
        shuffled = moments(X + 1e5, Y[rng.permutation(120)], keys)
        assert gap(m.with_cross(shuffled.Sxy), shuffled, names=SUMS[:-1]) < rtol("exact")
        assert gap(m, moments(X + 1e5, Y, keys)) == 0


class TestOf:
    def test_one_pass_over_two_arrays(self, rng):
        X, Y, _ = rows(rng)
        assert gap(Moments.of(X, Y), moments(X, Y)) < rtol("exact")

    def test_rows_paired_by_id_do_not_depend_on_their_order(self, rng):
        X, Y, ids = rows(rng, n=300)
        order = rng.permutation(300)
        straight = Moments.of(X, Y, on=(ids, ids), keep=20)
        shuffled = Moments.of(X[order], Y, on=(ids[order], ids), keep=20)
        assert gap(shuffled, straight) < rtol("exact")
        assert gap(shuffled.fold(1), straight.fold(1)) < rtol("exact")
        assert np.array_equal(shuffled.reservoir.x, straight.reservoir.x)

    def test_moments_and_pairs_pass(self, rng):
        X, Y, _ = rows(rng)
        m = Moments.of(Pair.of(X, Y))
        assert Moments.of(m) is m
        assert m.pairing["names"] == ["old", "new"]

    def test_a_second_side_beside_moments_is_no_use(self, rng):
        X, Y, _ = rows(rng)
        for both in (Moments.of(X, Y), Pair.of(X, Y)):
            with pytest.raises(OptionError, match="already holds both sides"):
                Moments.of(both, Y)

    def test_progress_counts_up_to_all_rows(self, rng):
        calls: list[tuple[str, int, int]] = []
        Moments.of(*rng.standard_normal((2, 70_000, 1)), progress=lambda *c: calls.append(c))
        assert [c[0] for c in calls] == ["reading"] * len(calls)
        done = [c[1] for c in calls]
        assert len(done) > 1
        assert done == sorted(set(done))
        assert calls[-1][1:] == (70_000, 70_000)

    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"folds": 0}, "folds=0; at least 1"),
            ({"keep": -1}, "keep=-1; write 0"),
            ({"precision": "float16"}, "precision='float16'; write 'float64' or 'float32'"),
        ],
    )
    def test_options_out_of_range(self, options, match):
        with pytest.raises(OptionError, match=match):
            Moments(3, 2, **options)


class TestUpdate:
    @pytest.mark.parametrize(("x", "y"), [((9, 2), (9, 2)), ((9, 3), (8, 2)), ((9,), (9, 2))])
    def test_a_batch_that_does_not_fit(self, x, y):
        with pytest.raises(ShapeError, match=r"does not fit Moments of \(3, 2\); pass X \(n, 3\)"):
            Moments(3, 2).update(np.ones(x), np.ones(y))

    @pytest.mark.parametrize("keys", [np.arange(9), [[1] * 10]])
    def test_keys_that_are_not_one_a_row(self, keys):
        with pytest.raises(ShapeError, match=r"keys of shape .* for a batch of 10 rows"):
            Moments(3, 2).update(np.ones((10, 3)), np.ones((10, 2)), keys)

    def test_signed_keys_are_the_same_keys(self, rng):
        X, Y, keys = rows(rng)
        signed = moments(X, Y, keys.astype(np.int64).tolist(), keep=20)
        assert gap(signed.fold(0), moments(X, Y, keys).fold(0)) == 0
        assert signed.reservoir.keys.dtype == np.uint64

    def test_without_keys_rows_are_numbered_through_the_batches(self, rng):
        X, Y, _ = rows(rng)
        m = Moments(3, 2, keep=120)
        for start in (0, 50):
            m.update(X[start : start + 50], Y[start : start + 50])
        assert sorted(m.reservoir.keys.tolist()) == list(range(100))
        assert gap(m.fold(0), moments(X[:100], Y[:100]).fold(0)) < rtol("exact")

    @pytest.mark.parametrize("value", [np.nan, np.inf, 1e100, 1e200, 1e308])
    @pytest.mark.parametrize("precision", ["float64", "float32"])
    def test_values_beyond_squaring_are_refused_when_read(self, rng, value, precision):
        X, Y, _ = rows(rng)
        X[70, 1] = value
        m = Moments(3, 2, precision=precision)
        for start in range(0, 120, 40):  # with a pivot moved and a merge over the broken sums
            m.update(X[start : start + 40], Y[start : start + 40])
        with pytest.raises(DegenerateError, match="NaN or infinite values, or values too large"):
            (m + m).Sxx  # noqa: B018 (a property that raises)

    def test_moments_of_nothing_say_so(self):
        assert Moments(3, 2).n == 0
        with pytest.raises(TooFewRowsError, match=r"hold no rows yet; call update\(X, Y\) first"):
            Moments(3, 2).mean_x  # noqa: B018 (a property that raises)

    def test_the_repr_is_cheap_and_says_what_is_in_it(self, rng):
        m = moments(*rows(rng))
        assert repr(m) == "Moments(n=120, d_x=3, d_y=2, folds=10)"
        assert "_total" not in vars(m)

    def test_one_row_has_no_spread(self):
        m = moments(np.array([[3.0, 1.0]]), np.array([[2.0]]))
        assert (m.n, m.mean_x.tolist(), m.mean_y.tolist()) == (1, [3.0, 1.0], [2.0])
        assert not m.Sxx.any()


class TestDevices:
    """A CUDA array stays where it is; here torch's CPU stands for the device."""

    @pytest.fixture
    def stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(samespace.batch, "home", lambda array: array)

    @pytest.mark.usefixtures("stay")
    @pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
    def test_rows_on_a_device_give_the_moments_of_the_same_rows_at_home(self, rng, torch, dtype):
        X, Y, keys = rows(rng)
        x, y = (torch.from_numpy(a + 100).to(getattr(torch, dtype)) for a in (X, Y))
        m = Moments(3, 2, keep=15)
        for start in range(0, 120, 50):
            m.update(x[start : start + 50], y[start : start + 50], keys[start : start + 50])
        assert isinstance(m._sums._accumulator, DeviceAccumulator)
        at_home = moments(x.double().numpy(), y.double().numpy(), keys, keep=15)
        assert gap(m, at_home) < rtol("exact")
        assert gap(m.fold(4), at_home.fold(4)) < rtol("exact")
        assert np.array_equal(m.reservoir.y, at_home.reservoir.y)

    @pytest.mark.usefixtures("stay")
    def test_batches_may_move_between_device_and_host(self, rng, torch):
        X, Y, keys = rows(rng)
        m = Moments(3, 2)
        m.update(X[:40], Y[:40], keys[:40])
        m.update(torch.from_numpy(X[40:80]), torch.from_numpy(Y[40:80]), keys[40:80])
        assert isinstance(m._sums._accumulator, DeviceAccumulator)
        m.update(X[80:], torch.from_numpy(Y[80:]), keys[80:])
        assert isinstance(m._sums._accumulator, HostAccumulator)
        assert gap(m, moments(X, Y, keys)) < rtol("exact")

    def test_what_is_on_the_host_is_multiplied_by_its_blas(self, rng, torch):
        X, Y, keys = rows(rng)
        m = moments(torch.from_numpy(X).to(torch.bfloat16), torch.from_numpy(Y), keys)
        assert isinstance(m._sums._accumulator, HostAccumulator)
        rounded = torch.from_numpy(X).to(torch.bfloat16).double().numpy()
        assert gap(m, moments(rounded, Y, keys)) < rtol("exact")


class TestSaving:
    @pytest.mark.parametrize("keep", [0, 30])
    @pytest.mark.parametrize("precision", ["float64", "float32"])
    def test_what_was_saved_is_read_back_to_the_bit(self, rng, tmp_path, keep, precision):
        X, Y, ids = rows(rng)
        m = Moments.of(X, Y, on=(ids, ids), keep=keep, precision=precision)
        m.save(tmp_path / "m.safetensors")
        back = Moments.load(tmp_path / "m.safetensors")
        assert gap(back, m) == 0
        assert all(gap(back.fold(k), m.fold(k)) == 0 for k in range(10))
        for name in ("keep", "keys", "x", "y"):
            assert np.array_equal(getattr(back.reservoir, name), getattr(m.reservoir, name))
        assert (back.pairing, back.n_seen, back.precision) == (m.pairing, 120, precision)
        back.update(X, Y, ids + np.uint64(10_000))
        assert gap(back, m + moments(X, Y, ids + np.uint64(10_000), keep=keep)) < 1e-5

    def test_saving_does_not_end_the_pass(self, rng, tmp_path):
        X, Y, keys = rows(rng)
        m = moments(X[:60], Y[:60], keys[:60])
        m.save(tmp_path / "half.safetensors")
        m.update(X[60:], Y[60:], keys[60:])
        assert gap(m, moments(X, Y, keys)) < rtol("exact")
        assert Moments.load(tmp_path / "half.safetensors").n == 60

    def test_files_that_are_no_moments(self, tmp_path):
        (tmp_path / "broken").write_bytes(b"\x80\x04pickle")
        with pytest.raises(FormatError, match="not a whole safetensors file"):
            Moments.load(tmp_path / "broken")
        with pytest.raises(MissingSourceError, match=r"no file at .*should hold saved moments"):
            Moments.load(tmp_path / "absent")

    def test_a_folder_that_is_not_there(self, rng, tmp_path):
        with pytest.raises(OutputError, match=r"cannot write .*a folder that exists"):
            moments(*rows(rng)).save(tmp_path / "absent" / "m.safetensors")
