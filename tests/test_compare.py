"""The verdict on generated pairs of every kind: right where it speaks, silent where rows are too few."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import samespace as ss
from samespace.compare import Comparison, Settings, compare
from samespace.errors import DegenerateError, OptionError, SamespaceError, TooFewRowsError
from samespace.hashing import fold_of
from samespace.lattice import CLASSES
from samespace.moments import Moments
from samespace.representation import Pair
from tests.maps.pairs import rotation, semi_orthogonal, spread_rows
from tests.oracles.held_out import errors_by_fold, totals_by_fold
from tests.tolerances import STANDARD_ERRORS, atol, rtol


def identity(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X.copy()


def permutation(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    d = X.shape[1]
    return X[:, np.roll(np.arange(d), 1)] * np.where(np.arange(d) % 2, -3.0, 0.5) + np.arange(d)


def orthogonal(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return 5 * X @ rotation(rng, X.shape[1]) - 1


def affine(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    shear = rotation(rng, X.shape[1]) @ np.diag(np.geomspace(1, 30, X.shape[1]))
    return X @ shear @ rotation(rng, X.shape[1]) + 2


def none(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return rng.standard_normal(X.shape)


def undecided(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return noisy(rng, affine(rng, X), 1 / 3)  # leaves 10%: the floor itself


KINDS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    one.__name__: one for one in (identity, permutation, orthogonal, affine, none, undecided)
}
RELATED = [*CLASSES, "none"]


def noisy(rng: np.random.Generator, Y: np.ndarray, noise: float) -> np.ndarray:
    return Y + noise * Y.std(0) * rng.standard_normal(Y.shape)


def white(rng: np.random.Generator, n: int = 600, d: int = 5) -> np.ndarray:
    return rng.standard_normal((n, d))


class TestVerdicts:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("make", [white, spread_rows], ids=["white", "correlated"])
    def test_every_verdict_is_reached(self, rng, kind, make):
        X = make(rng, n=600)
        result = compare(X, KINDS[kind](rng, X))
        assert result.verdict.name == kind
        assert result.verdict.reason.endswith(".")

    @pytest.mark.parametrize("kind", RELATED)
    def test_a_little_noise_changes_no_verdict(self, rng, kind):
        X = spread_rows(rng, n=2000)
        result = compare(X, noisy(rng, KINDS[kind](rng, X), 0.1))
        assert result.verdict.name == kind
        if kind != "none":
            assert result.affine.unexplained == pytest.approx(0.01 / 1.01, rel=0.1)

    @pytest.mark.parametrize("kind", RELATED)
    @pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
    def test_rounding_changes_no_verdict(self, rng, kind, dtype, torch):
        X = white(rng)
        x, y = (torch.from_numpy(a).to(getattr(torch, dtype)) for a in (X, KINDS[kind](rng, X)))
        assert compare(x, y).verdict.name == kind

    @pytest.mark.parametrize("kind", RELATED)
    def test_single_precision_products_change_no_verdict(self, rng, kind):
        X = white(rng)
        assert compare(X, KINDS[kind](rng, X), precision="float32").verdict.name == kind

    @given(
        st.sampled_from(RELATED), st.sampled_from([-40, -20, -3, 0, 3, 20, 40]), st.integers(0, 99)
    )
    def test_one_scale_for_both_changes_nothing(self, kind, power, seed):
        rng = np.random.default_rng(seed)
        X = spread_rows(rng)
        Y = noisy(rng, KINDS[kind](rng, X), 0.05)
        plain, scaled = compare(X, Y), compare(X * 10.0**power, Y * 10.0**power)
        assert scaled.verdict.name == plain.verdict.name
        for one, other in zip(plain.classes, scaled.classes, strict=True):
            assert other.unexplained == pytest.approx(one.unexplained, rel=1e-6, abs=atol("exact"))
            assert other.holds is one.holds

    @pytest.mark.parametrize("kind", ["permutation", "orthogonal", "affine", "none"])
    @pytest.mark.parametrize("power", [-30, 30])
    def test_a_scale_of_one_side_is_inside_all_but_the_identity(self, rng, kind, power):
        X = spread_rows(rng)
        assert compare(X, 10.0**power * KINDS[kind](rng, X)).verdict.name == kind
        assert compare(X, 10.0**power * X).verdict.name == "permutation"

    @pytest.mark.parametrize("kind", RELATED)
    def test_a_mean_that_dwarfs_the_spread_changes_nothing_but_the_identity(self, rng, kind):
        X = white(rng)
        Y = KINDS[kind](rng, X)
        assert compare(X + 1e7, Y + 1e7).verdict.name == kind
        assert compare(X, Y + 1e7).verdict.name == ("permutation" if kind == "identity" else kind)

    def test_heavy_tails_and_correlated_columns(self, rng):
        X = rng.standard_t(2.5, (3000, 6)) @ (rng.standard_normal((6, 6)) + 2 * np.eye(6))
        assert compare(X, orthogonal(rng, X)).verdict.name in ("orthogonal", "undecided")
        assert compare(X, rng.standard_t(2.5, (3000, 6))).verdict.name == "none"

    def test_a_function_that_is_not_affine_is_none(self, rng):
        X = white(rng, n=2000)
        assert compare(X, X**2).verdict.name == "none"

    def test_rows_in_another_order_are_none(self, rng):
        X = white(rng)
        assert compare(X, X[rng.permutation(600)]).verdict.name == "none"
        assert compare(X, np.roll(X, 1, axis=0)).verdict.name == "none"


class TestFewRows:
    @pytest.mark.parametrize("n", [20, 30, 60])
    @pytest.mark.parametrize("kind", RELATED)
    def test_fewer_rows_than_dimensions_decide_nothing_wrongly(self, rng, n, kind):
        X = rng.standard_normal((n, 64))
        assert compare(X, KINDS[kind](rng, X)).verdict.name in (kind, "undecided")

    def test_an_affine_relation_in_fewer_rows_than_dimensions_is_undecided(self, rng):
        X = rng.standard_normal((40, 64))
        for Y in (affine(rng, X), none(rng, X)):
            assert compare(X, Y).verdict.name == "undecided"

    def test_the_same_rows_are_the_same_however_few(self, rng):
        X = rng.standard_normal((20, 64))
        assert compare(X, X).verdict.name == "identity"

    @pytest.mark.parametrize("seed", range(15))
    def test_twenty_rows_are_never_judged_wrongly(self, seed):
        rng = np.random.default_rng(seed)
        for kind in RELATED:
            X = rng.standard_normal((20, 3))
            assert compare(X, KINDS[kind](rng, X)).verdict.name in (kind, "undecided")

    def test_nineteen_rows_are_too_few(self, rng):
        X = white(rng, n=19)
        with pytest.raises(
            TooFewRowsError, match="19 rows are paired, fewer than can decide anything"
        ):
            compare(X, X)
        with pytest.raises(TooFewRowsError, match="Moments of 19 rows"):
            compare(Moments.of(X, X))
        with pytest.raises(TooFewRowsError, match="Moments of 19 rows"):
            compare(Pair.of(X, X, minimum=1))

    def test_folds_without_rows_do_no_harm(self, rng):
        X = white(rng, n=25)
        result = compare(X, orthogonal(rng, X), folds=100)
        assert result.verdict.name == "orthogonal"
        assert result.settings.folds == 100


class TestWidths:
    @pytest.mark.parametrize("widths", [(6, 3), (3, 6), (1, 4), (4, 1)])
    def test_a_semi_orthogonal_map_is_orthogonal(self, rng, widths):
        X = spread_rows(rng, n=800, d=widths[0])
        result = compare(X, 2 * X @ semi_orthogonal(rng, *widths) + 1)
        assert result.verdict.name == "orthogonal"
        assert (result.d_x, result.d_y) == widths
        assert not result.identity.applies
        assert result.identity.holds is False
        assert result.permutation.map is None

    @pytest.mark.parametrize("widths", [(6, 3), (3, 6)])
    def test_other_linear_maps_are_affine_and_noise_is_none(self, rng, widths):
        X = white(rng, n=800, d=widths[0])
        A = np.diag(np.geomspace(1, 30, 6))[: widths[0]] @ rng.standard_normal((6, widths[1]))
        assert compare(X, X @ A).verdict.name == "affine"
        assert compare(X, rng.standard_normal((800, widths[1]))).verdict.name == "none"

    def test_one_dimension_on_each_side(self, rng):
        X = white(rng, d=1)
        assert compare(X, X).verdict.name == "identity"
        assert compare(X, -3 * X + 1).verdict.name == "permutation"


class TestDegenerate:
    def test_lost_rank_constant_columns_and_duplicates(self, rng):
        X = white(rng)
        wide = np.column_stack([X, X[:, :2], np.full(600, 0.1)])
        for kind in ("identity", "permutation", "orthogonal"):
            assert compare(wide, KINDS[kind](rng, wide)).verdict.name == kind
        twice = np.repeat(X, 3, axis=0)
        assert (
            compare(twice, orthogonal(np.random.default_rng(0), twice)).verdict.name == "orthogonal"
        )

    def test_a_constant_target_column_has_no_r2_and_does_no_harm(self, rng):
        X = white(rng)
        Y = orthogonal(rng, X)
        Y[:, 2] = 1e5 / 3
        result = compare(X, Y)
        assert np.isnan(result.r2[2])
        assert np.isfinite(np.delete(result.r2, 2)).all()
        assert json.loads(result.to_json())["r2"][2] is None
        assert "Y varies in only 4 of its 5 dimensions." in result.diagnostics.warnings

    @pytest.mark.parametrize("side", [0, 1])
    def test_a_constant_side_is_nothing_to_compare(self, rng, side):
        pair = [white(rng), white(rng)]
        pair[side] = np.full((600, 5), 0.1)
        with pytest.raises(DegenerateError, match=f"{('old', 'new')[side]} is constant"):
            compare(*pair)

    @pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e-100, 1e-50, 1e50, 1e100, 1e160, 1e300])
    @pytest.mark.parametrize("precision", ["float64", "float32"])
    def test_scales_out_of_range_end_in_advice(self, rng, scale, precision):
        X = white(rng)
        with pytest.raises(DegenerateError, match="constant"):
            compare(X * scale, X * scale, precision=precision)

    @pytest.mark.parametrize("power", [*range(-30, -8, 2), 8, 10, 20])
    def test_single_precision_says_when_its_range_ends(self, rng, power):
        X = white(rng) * 10.0**power
        try:
            name = compare(X, orthogonal(rng, X), precision="float32").verdict.name
        except DegenerateError as error:
            name = "advice" if "constant" in str(error) else str(error)
        assert name in ("orthogonal", "advice")

    @pytest.mark.parametrize("size", [1e2, 1e6, 1e10, 1e14])
    def test_one_outlier_never_makes_a_wrong_none(self, rng, size):
        X = white(rng)
        X[7] *= size
        result = compare(X, orthogonal(rng, X))
        assert result.verdict.name in ("orthogonal", "undecided")
        assert json.loads(result.to_json())["verdict"]["name"] == result.verdict.name
        assert any("look for outliers" in w for w in result.diagnostics.warnings)

    def test_one_row_that_varies_decides_nothing(self):
        X = np.zeros((30, 2))
        X[3] = 1
        result = compare(X, X[:, ::-1] * [1, 2])
        assert result.verdict.name == "undecided"
        assert all(math.isfinite(c.unexplained) for c in result.classes)

    def test_indicators_of_classes(self, rng):
        X = np.eye(4)[rng.integers(0, 4, 500)]
        assert compare(X, X[:, [2, 0, 3, 1]]).verdict.name == "permutation"


class TestNumbers:
    def test_shares_are_those_of_loops_over_the_rows(self, rng):
        X = spread_rows(rng, n=2000)
        Y = noisy(rng, affine(rng, X), 0.3)
        result = compare(X, Y)
        fold = fold_of(np.arange(2000, dtype=np.uint64), 10)
        for one in result.classes:
            loops = errors_by_fold(one.name, X, Y, fold).sum() / totals_by_fold(Y, fold).sum()
            # The jackknife takes out a bias of order 1/n, and the correction one of order p/n.
            assert one.unexplained == pytest.approx(loops, rel=5e-3)

    @pytest.mark.parametrize("noise", [0.1, 1 / 3])
    def test_intervals_cover_the_true_share(self, rng, noise):
        draws, truth, covered = 200, noise**2 / (1 + noise**2), 0
        for _ in range(draws):
            X = white(rng, n=500, d=3)
            Y = X @ rotation(rng, 3) + noise * white(rng, n=500, d=3)
            interval = compare(X, Y, keep=0).orthogonal.interval
            covered += interval.low <= truth <= interval.high
        assert abs(covered / draws - 0.95) < STANDARD_ERRORS * math.sqrt(0.95 * 0.05 / draws)

    def test_the_wrong_verdicts_at_the_floor_are_few(self, rng):
        wrong = 0
        for _ in range(100):
            X = white(rng, n=300, d=3)
            Y = X @ rotation(rng, 3)
            Y += math.sqrt(0.115 / 0.885) * white(
                rng, n=300, d=3
            )  # 11.5% unexplained: over the floor
            wrong += compare(X, Y, keep=0).verdict.name not in ("none", "undecided")
        assert wrong / 100 < 0.05 + STANDARD_ERRORS * math.sqrt(0.05 * 0.95 / 100)

    def test_independent_rows_read_the_null(self, rng):
        result = compare(white(rng), white(rng))
        for one in result.classes[2:]:
            assert one.null.low <= one.null.mean <= one.null.high
            assert one.unexplained == pytest.approx(1, abs=0.1)
        assert result.affine.in_sample < result.affine.unexplained
        assert np.all(result.r2 < 0.05)

    def test_more_confidence_is_a_wider_interval(self, rng):
        X = white(rng)
        Y = noisy(rng, X, 0.3)
        widths = [compare(X, Y, level=p).affine.interval.half_width for p in (0.5, 0.9, 0.99)]
        assert widths == sorted(set(widths))

    def test_tolerance_and_floor_decide(self, rng):
        X = white(rng, n=3000)
        Y = X @ rotation(rng, 5) @ np.diag([1, 1, 1, 1, 1.5])
        assert compare(X, Y).verdict.name == "affine"
        assert compare(X, Y, tolerance=0.1).verdict.name == "orthogonal"
        noise = noisy(rng, Y, 0.5)
        assert compare(X, noise).verdict.name == "none"
        assert compare(X, noise, floor=0.6).verdict.name == "affine"

    def test_maps_are_fitted_to_all_rows_and_map_rows(self, rng):
        X = spread_rows(rng)
        for kind in CLASSES:
            Y = KINDS[kind](rng, X)
            fitted = getattr(compare(X, Y), kind).map
            assert fitted.kind == kind
            assert np.allclose(fitted.transform(X), Y, atol=1e-6)

    def test_equal_seeds_agree_and_different_seeds_differ(self, rng):
        X, Y = white(rng), white(rng)
        one, same, other = (compare(X, Y, seed=s) for s in (1, 1, 2))
        assert one.to_dict() == same.to_dict()
        assert one.affine.null != other.affine.null
        assert one.affine.interval == other.affine.interval

    def test_rows_moments_and_pairs_are_one(self, rng):
        X = white(rng)
        Y = noisy(rng, orthogonal(rng, X), 0.1)
        by_rows = compare(X, Y).to_dict()
        assert compare(Moments.of(X, Y)).to_dict() == by_rows
        assert compare(Pair.of(X, Y)).to_dict() == by_rows

    def test_moments_merged_from_machines_read_the_same(self, rng):
        X = white(rng)
        Y = noisy(rng, orthogonal(rng, X), 0.1)
        keys = np.arange(600, dtype=np.uint64)
        parts = []
        for part in np.array_split(rng.permutation(600), 3):
            m = Moments(5, 5)
            m.update(X[part], Y[part], keys[part])
            parts.append(m)
        merged, whole = compare(parts[2] + (parts[0] + parts[1])), compare(X, Y)
        assert merged.verdict.name == whole.verdict.name
        for one, other in zip(merged.classes, whole.classes, strict=True):
            assert one.unexplained == pytest.approx(other.unexplained, rel=rtol("exact"))

    def test_the_other_direction_is_the_swapped_moments(self, rng):
        X = white(rng, d=4)
        Y = noisy(rng, affine(rng, X), 0.1)
        there, back = compare(Moments.of(X, Y).swap()), compare(Y, X)
        assert there.verdict.name == back.verdict.name
        assert there.names == ("new", "old")
        assert there.affine.unexplained == pytest.approx(back.affine.unexplained, rel=rtol("exact"))


class TestResult:
    @pytest.mark.parametrize("kind", KINDS)
    def test_it_goes_through_json_and_back(self, rng, kind):
        X = white(rng)
        result = compare(X, KINDS[kind](rng, X), names=["a <b>", "ü"])
        back = Comparison.from_dict(json.loads(result.to_json()))
        assert back.to_dict() == result.to_dict()
        assert back.verdict == result.verdict
        assert back.names == ("a <b>", "ü")
        assert back.orthogonal.interval == result.orthogonal.interval
        assert back.diagnostics == result.diagnostics
        assert back.settings == result.settings == Settings()
        assert np.array_equal(back.correlations, result.correlations)
        assert np.array_equal(back.held_out_correlations, result.held_out_correlations)
        assert (back.moments, back.sample, back.affine.map) == (None, None, None)

    def test_different_widths_go_through_json_too(self, rng):
        X = white(rng)
        result = compare(X, X[:, :3])
        assert Comparison.from_dict(json.loads(result.to_json())).to_dict() == result.to_dict()

    def test_no_array_in_it_is_larger_than_a_width(self, rng):
        X = white(rng)

        def longest(value: Any) -> int:
            children = value.values() if isinstance(value, dict) else value
            own = len(value) if isinstance(value, list) else 0
            return max([own, *(longest(c) for c in children if isinstance(c, dict | list))])

        assert longest(compare(X, X).to_dict()) <= 5

    def test_a_result_without_moments_has_no_spectrum(self, rng):
        data = compare(white(rng), white(rng)).to_dict()
        back = Comparison.from_dict(data)
        back.__dict__.pop("_spectra")
        with pytest.raises(OptionError, match="holds no moments, so no spectrum"):
            back.correlations  # noqa: B018 (a property that raises)

    def test_spectra_are_those_of_the_measure(self, rng):
        X = white(rng)
        Y = noisy(rng, affine(rng, X), 0.5)
        result = compare(X, Y)
        assert np.allclose(result.correlations, ss.cca(X, Y).correlations, rtol=rtol("exact"))
        assert np.all(np.diff(result.correlations) <= 0)

    @pytest.mark.parametrize(
        ("kind", "holds"),
        [
            ("identity", (True, True, True, True)),
            ("permutation", (False, True, False, True)),
            ("orthogonal", (False, False, True, True)),
            ("affine", (False, False, False, True)),
            ("none", (False, False, False, False)),
        ],
    )
    def test_a_class_holds_when_one_inside_it_does(self, rng, kind, holds):
        X = spread_rows(rng, n=800)
        result = compare(X, KINDS[kind](rng, X))
        assert tuple(result.holds(name) for name in CLASSES) == holds

    def test_what_is_open_below_keeps_a_class_open_or_holding(self, rng):
        X = white(rng)
        result = compare(X, undecided(rng, X))
        assert result.holds("affine") is None
        assert result.holds("identity") is False

    def test_a_class_that_is_none(self, rng):
        X = white(rng)
        with pytest.raises(
            OptionError, match="'rotation' is no class of the lattice; write one of identity"
        ):
            compare(X, X).holds("rotation")

    def test_it_shows_itself(self, rng):
        X = white(rng)
        result = compare(X, orthogonal(rng, X))
        assert repr(result).startswith(
            "Comparison(verdict='orthogonal', n=600, d_x=5, d_y=5, affine u="
        )
        assert "orthogonal" in str(result)
        assert "orthogonal" in result.to_markdown()
        assert [c.name for c in result.classes] == list(CLASSES)

    def test_the_sample_is_of_the_rows(self, rng):
        X = white(rng)
        sample = compare(X, 2 * X, keep=50).sample
        assert sample.x.shape == (50, 5)
        assert np.array_equal(sample.x, X[sample.keys.astype(int)])
        assert np.array_equal(sample.y, 2 * sample.x)
        assert compare(X, X, keep=0).sample is None

    def test_progress_ends_each_stage_at_its_total(self, rng):
        X = rng.standard_normal((2000, 70))
        calls: list[tuple[str, int, int]] = []
        compare(X, X, progress=lambda *c: calls.append(c))
        stages = {stage: [c[1:] for c in calls if c[0] == stage] for stage, *_ in calls}
        assert list(stages) == ["reading", "fitting folds"]
        for steps in stages.values():
            done = [d for d, _ in steps]
            assert done == sorted(set(done))
            assert steps[-1][0] == steps[-1][1]


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "match"),
        [
            ({"tolerance": -0.1}, r"tolerance=-0\.1; a share of the variance, 0 to 1"),
            ({"tolerance": math.nan}, "tolerance=nan"),
            ({"floor": 1.0}, r"floor=1\.0; a share of the variance from 0 to below 1"),
            ({"level": 1.0}, r"level=1\.0; a confidence between 0 and 1"),
            ({"folds": 1}, "folds=1; a held-out verdict needs at least 2"),
            ({"names": ["one"]}, r"names=\['one'\]; two are needed"),
            ({"keep": -1}, "keep=-1"),
            ({"precision": "half"}, "precision='half'"),
        ],
    )
    def test_options_that_cannot_be_meant(self, rng, options, match):
        X = white(rng)
        with pytest.raises(OptionError, match=match):
            compare(X, X, **options)

    def test_one_fold_of_moments_is_no_held_out_set(self, rng):
        X = white(rng)
        for m in (Moments.of(X, X).fold(3), Moments.of(X, X).without(3), Moments.of(X, X, folds=1)):
            with pytest.raises(
                TooFewRowsError, match="in 1 non-empty folds; a held-out verdict needs"
            ):
                compare(m)

    def test_rows_of_one_group_are_no_held_out_set(self, rng):
        X = white(rng)
        with pytest.raises(TooFewRowsError, match="of several groups, if rows are grouped"):
            compare(X, X, groups=np.zeros(600, int))

    @pytest.mark.parametrize("wrap", [Moments.of, Pair.of])
    @pytest.mark.parametrize("extra", ["y", "on", "groups"])
    def test_what_is_paired_already_takes_no_second_side(self, rng, wrap, extra):
        X = white(rng)
        with pytest.raises(OptionError, match="already holds both sides, paired"):
            compare(wrap(X, X), **{extra: X})

    def test_bad_input_is_a_samespace_error(self, rng):
        X = white(rng)
        broken = X.copy()
        broken[3, 1] = np.nan
        for x, y in ((X, None), (X, X[1:]), (broken, X), (X[:, 0], X), ([["a"]], X)):
            with pytest.raises(SamespaceError, match=r"needed|row"):
                compare(x, y)
