"""Values that must not drift; ``tests/golden/measures.json`` names the command that made them."""

from __future__ import annotations

import json

import pytest

from samespace.measures import (
    cca,
    cca_from_rows,
    cka,
    mcc,
    neighbour_overlap,
    procrustes,
    pwcca,
    r2,
    svcca,
    uniformity,
)
from tests.golden.make_measures import PATH, data
from tests.tolerances import atol

GOLDEN = json.loads(PATH.read_text())

READINGS = {
    "svcca_of_two_components": lambda X, Y: svcca(X, Y, components=2).correlations.tolist(),
    "pwcca_weighted_by_x": lambda X, Y: pwcca(X, Y).similarity,
    "r2_per_dimension": lambda X, Y: r2(X, Y).per_dimension.tolist(),
    "mcc": lambda X, Y: mcc(X, Y).mean,
    "mcc_spearman": lambda X, Y: mcc(X, Y, kind="spearman").mean,
    "mcc_columns_x": lambda X, Y: mcc(X, Y).columns_x.tolist(),
    "cka_biased": lambda X, Y: cka(X, Y).biased,
    "cka_debiased": lambda X, Y: cka(X, Y).debiased,
    "procrustes_similarity": lambda X, Y: procrustes(X[:, :2], Y).similarity,
    "neighbour_overlap_euclidean_k4": lambda X, Y: (
        neighbour_overlap(X, Y, k=4, distance="euclidean").overlap
    ),
    "uniformity": lambda X, Y: uniformity(X),
}


@pytest.mark.parametrize("name", READINGS)
def test_a_value_has_not_drifted(name):
    assert READINGS[name](*data()) == pytest.approx(GOLDEN[name], rel=0, abs=atol("exact"))


@pytest.mark.parametrize("route", [cca, cca_from_rows])
def test_canonical_correlations_have_not_drifted(route):
    expected = [float(digits) for digits in GOLDEN["canonical_correlations"]]
    assert route(*data()).correlations == pytest.approx(expected, rel=0, abs=atol("exact"))


def test_every_golden_value_is_read():
    assert set(GOLDEN) == {"command", "canonical_correlations", *READINGS}
