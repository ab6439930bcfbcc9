"""The rule, on errors made by hand: what holds, what fails, what is open, on either side of each bound."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.inference import Interval, Null
from samespace.lattice import CLASSES, ClassFit, LatticeFit
from samespace.maps import Affine, Identity, Map, Orthogonal, Permutation
from samespace.verdict import ClassResult, Rule, Verdict, decide, judge

RULE = Rule(tolerance=0.01, floor=0.9, level=0.95)
MAPS: dict[str, Map] = {
    "identity": Identity(np.eye(2), np.zeros(2)),
    "permutation": Permutation(np.eye(2), np.zeros(2)),
    "orthogonal": Orthogonal(np.eye(2), np.zeros(2), 1.0),
    "affine": Affine(np.eye(2), np.zeros(2), 0.0),
}
FAR_NULL = Null(1.0, 0.99, 1.01)


def fit(
    u: dict[str, float],
    *,
    spread: float = 0.0,
    in_sample: dict[str, float] | None = None,
    parameters: int = 0,
    null: Null = FAR_NULL,
    n: int = 1000,
) -> LatticeFit:
    """Ten equal folds with the given held-out shares, give or take `spread` from fold to fold."""
    wobble = spread * np.array([1.0, -1.0] * 5)
    classes = {
        name: ClassFit(
            name,
            MAPS[name],
            share + wobble,
            0.0,
            (in_sample or u)[name],
            (in_sample or u)[name],
            null,
            parameters,
        )
        for name, share in u.items()
    }
    ones = np.ones(2)
    return LatticeFit(classes, np.ones(10), ones, 0.0, ones, ones, n)


def verdict_of(u: dict[str, float], **options: object) -> Verdict:
    return decide(judge(fit(u, **options), RULE), RULE)


def all_at(
    identity: float, permutation: float, orthogonal: float, affine: float
) -> dict[str, float]:
    return dict(zip(CLASSES, (identity, permutation, orthogonal, affine), strict=True))


@pytest.mark.parametrize(
    ("u", "name"),
    [
        (all_at(0.0, 0.0, 0.0, 0.0), "identity"),
        (all_at(0.5, 0.0, 0.0, 0.0), "permutation"),
        (all_at(0.5, 0.5, 0.0, 0.0), "orthogonal"),
        (all_at(0.5, 0.5, 0.5, 0.0), "affine"),
        (all_at(2.0, 0.9, 0.8, 0.5), "none"),
        (all_at(0.5, 0.04, 0.5, 0.035), "permutation"),
    ],
)
def test_the_verdict_is_the_smallest_class_that_holds(u, name):
    assert verdict_of(u).name == str(verdict_of(u)) == name


@pytest.mark.parametrize(("share", "name"), [(0.0999, "affine"), (0.1001, "none")])
def test_the_floor_decides_between_affine_and_none(share, name):
    assert verdict_of(all_at(0.5, 0.5, 0.5, share)).name == name


@pytest.mark.parametrize(("excess", "name"), [(0.0099, "orthogonal"), (0.0101, "affine")])
def test_the_tolerance_decides_between_a_class_and_the_affine_one(excess, name):
    assert verdict_of(all_at(0.5, 0.5, 0.05 + excess, 0.05)).name == name


@pytest.mark.parametrize(
    ("u", "open_class"),
    [(all_at(0.5, 0.5, 0.5, 0.1), "affine"), (all_at(0.1, 0.5, 0.5, 0.095), "identity")],
)
def test_a_share_whose_interval_holds_the_floor_is_undecided(u, open_class):
    results = judge(fit(u, spread=0.02), RULE)
    assert results[open_class].holds is None
    assert decide(results, RULE).name == "undecided"


def test_folds_are_compared_pairwise():
    # A spread common to all classes says nothing of their difference: only the floor feels it.
    results = judge(fit(all_at(0.5, 0.5, 0.032, 0.03), spread=0.02), RULE)
    assert results["orthogonal"].excess_interval == Interval(
        pytest.approx(0.002), pytest.approx(0.002)
    )
    assert results["orthogonal"].holds


def test_an_excess_whose_interval_holds_the_tolerance_is_undecided():
    made = fit(all_at(0.5, 0.5, 0.06, 0.05))
    wobble = 0.01 * np.array([1.0, -1.0] * 5)
    orthogonal = made.classes["orthogonal"]
    made.classes["orthogonal"] = ClassFit(
        "orthogonal", orthogonal.map, orthogonal.held_out + wobble, 0.0, 0.06, 0.06, FAR_NULL, 0
    )
    results = judge(made, RULE)
    assert results["orthogonal"].holds is None
    assert "too close to the 1% allowed to decide on these rows" in results["orthogonal"].reason
    found = decide(results, RULE)
    assert found.name == "undecided"
    # The affine map holds, and the reason says what keeps it from being the verdict.
    assert found.reason.startswith("An affine map leaves 5%")
    assert "But an orthogonal map" in found.reason


def test_rows_too_few_for_the_numbers_fitted_are_undecided_never_none():
    # Held out all is lost, in sample nothing: as many numbers fitted as measured.
    found = verdict_of(
        all_at(2.0, 1.5, 1.2, 1.0),
        in_sample=all_at(0.05, 0.05, 0.0, 0.0),
        parameters=2001,
        null=Null(1.1, 1.0, 1.2),
    )
    assert found.name == "undecided"
    assert "random pairing could also read" in found.reason


def test_in_sample_shares_are_judged_after_their_correction():
    # 0.06 left after fitting half as many numbers as measured is 0.12 in the population: over the floor.
    results = judge(
        fit(all_at(0.5, 0.5, 0.5, 0.3), in_sample=all_at(0.5, 0.5, 0.5, 0.06), parameters=1000),
        RULE,
    )
    assert results["affine"].optimistic == pytest.approx(0.12)
    assert results["affine"].holds is False
    results = judge(
        fit(all_at(0.5, 0.5, 0.5, 0.3), in_sample=all_at(0.5, 0.5, 0.5, 0.04), parameters=1000),
        RULE,
    )
    assert results["affine"].optimistic == pytest.approx(0.08)
    assert results["affine"].holds is None


def test_more_numbers_fitted_than_measured_leave_no_optimistic_share():
    assert judge(fit(all_at(0, 0, 0, 0), parameters=2000), RULE)["affine"].optimistic is None


def test_what_random_pairing_could_read_does_not_hold():
    results = judge(fit(all_at(0.05, 0.05, 0.05, 0.05), null=Null(0.06, 0.04, 0.08)), RULE)
    assert all(r.holds is None for r in results.values())
    assert "which random pairing could also read (4%): too few rows" in results["affine"].reason


def test_when_the_affine_class_surely_fails_nothing_inside_it_can_hold():
    # Identity is left open by a wide interval; it lies in the affine class, which is surely out.
    made = fit(all_at(0.3, 0.9, 0.9, 0.2))
    made.classes["identity"] = ClassFit(
        "identity",
        MAPS["identity"],
        0.3 + 0.4 * np.array([1.0, -1.0] * 5),
        0.0,
        0.3,
        0.3,
        FAR_NULL,
        0,
    )
    results = judge(made, RULE)
    assert results["identity"].holds is None
    assert results["affine"].holds is False
    assert decide(results, RULE).name == "none"


def test_between_different_widths_two_classes_are_out():
    results = judge(fit({"orthogonal": 0.5, "affine": 0.01}), RULE)
    for name in ("identity", "permutation"):
        assert (results[name].applies, results[name].holds) == (False, False)
        assert results[name].unexplained is None
        assert results[name].reason == f"The {name} class needs equal widths."
    found = decide(results, RULE)
    assert found.name == "affine"
    assert set(found.margin) == {"orthogonal", "affine"}


def test_margins_are_distances_to_the_deciding_bound():
    margin = verdict_of(all_at(0.5, 0.055, 0.052, 0.05)).margin
    assert margin == {
        "identity": pytest.approx(0.01 - 0.45),
        "permutation": pytest.approx(0.01 - 0.005),
        "orthogonal": pytest.approx(0.01 - 0.002),
        "affine": pytest.approx(0.1 - 0.05),
    }


@pytest.mark.parametrize(
    ("u", "name", "reason"),
    [
        (
            all_at(0, 0, 0, 0),
            "identity",
            "The identity map leaves 0% of the variance of held-out rows",
        ),
        (
            all_at(0, 0, 0, 0),
            "affine",
            r"An affine map leaves 0% of the variance .* unexplained \(0% to 0%\).",
        ),
        (all_at(0.5, 0.5, 0.5, 0.3), "affine", "more than the 10% that the floor allows"),
        (
            all_at(0.5, 0.5, 0.08, 0.03),
            "orthogonal",
            "5% more than the affine map; only 1% more is allowed",
        ),
        (
            all_at(0.5, 0.034, 0.5, 0.03),
            "permutation",
            r"0\.4% more than the affine map \(1% is allowed\)",
        ),
        (all_at(0.02, 0.5, 0.5, 0.03), "identity", "no more than the affine map"),
    ],
)
def test_reasons_name_the_number_that_decided(u, name, reason):
    result = judge(fit(u), RULE)[name]
    assert re.search(reason, result.reason)


def test_rounding_is_no_number_to_print():
    assert "leaves 0% of" in judge(fit(all_at(1e-13, 1, 1, 1e-14)), RULE)["identity"].reason


def test_shares_are_never_negative():
    result = judge(fit(all_at(0.5, 0.5, 0.5, -1e-9)), RULE)["affine"]
    assert result.unexplained == 0.0
    assert result.interval == Interval(0.0, 0.0)


@given(
    st.lists(st.floats(0, 1.5), min_size=4, max_size=4),
    st.floats(0, 0.2),
    st.floats(0, 0.2),
    st.floats(0, 0.99),
)
def test_the_verdict_follows_from_the_flags(shares, spread, tolerance, floor):
    rule = Rule(tolerance, floor, 0.95)
    results = judge(fit(dict(zip(CLASSES, shares, strict=True)), spread=spread), rule)
    flags = [results[name].holds for name in CLASSES]
    found = decide(results, rule).name
    if found in CLASSES:
        before = flags[: CLASSES.index(found)]
        assert results[found].holds
        assert all(flag is False for flag in before)
    elif found == "none":
        assert flags[-1] is False
        assert True not in flags
    else:
        assert None in flags


@given(st.lists(st.floats(0, 1.2), min_size=4, max_size=4), st.floats(0, 0.1))
def test_a_wider_spread_never_turns_one_answer_into_the_other(shares, spread):
    u = dict(zip(CLASSES, shares, strict=True))
    tight, loose = judge(fit(u), RULE), judge(fit(u, spread=spread), RULE)
    for name in CLASSES:
        assert loose[name].holds in (tight[name].holds, None)


def test_results_cannot_be_changed():
    result = judge(fit(all_at(0, 0, 0, 0)), RULE)["affine"]
    assert isinstance(result, ClassResult)
    with pytest.raises(AttributeError, match="cannot assign to field 'holds'"):
        result.holds = False
