"""One call gives every distance, from one pass, and survives what the theorems do not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.errors import ShapeError
from samespace.theory import closeness, d_llv, model_pair, theorem2
from samespace.theory.triangle import Triangle, take
from tests.theory.pairs import equivalent, unrelated


def test_the_parts_are_those_of_the_single_functions(rng: np.random.Generator) -> None:
    models = equivalent(rng, noise=0.3)
    found = closeness(*models.arrays, observed=rng.integers(9, size=60))
    assert found.llv.value == pytest.approx(d_llv(*models.arrays).value, rel=1e-12)
    assert found.at_best is not None
    single = theorem2(*models.arrays)
    assert found.at_best.f.error_share == pytest.approx(single.f.error_share, rel=1e-9)
    assert found.likelihoods.loss is not None
    assert json.loads(json.dumps(found.to_dict()))["svd_f"]["of"] == "f"


def test_the_logits_are_passed_once(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []
    whole = model_pair.likelihood_gap
    monkeypatch.setattr(
        model_pair, "likelihood_gap", lambda *a, **k: passes.append(1) or whole(*a, **k)
    )
    closeness(*unrelated(rng).arrays)
    assert len(passes) == 1


def test_too_few_labels_leave_theorem_2_out_and_keep_the_rest(rng: np.random.Generator) -> None:
    found = closeness(*unrelated(rng, k=3).arrays)
    assert (found.at_best, found.over_all, found.labels.verdict) == (None, None, "too few")
    assert found.svd_f.value > 0
    assert found.to_dict()["at_best"] is None


def test_the_joint_triangle_contains_each_matrix_own(rng: np.random.Generator) -> None:
    X, Y = rng.standard_normal((50, 3)) + 2.0, rng.standard_normal((50, 2))
    joint, single = Triangle.of(X, Y).leading(1), Triangle.of(X)
    np.testing.assert_allclose(joint.mean, X.mean(axis=0))
    for r in (joint.centred, single.centred):
        np.testing.assert_allclose(r.T @ r, np.cov(X.T) * 49)
    np.testing.assert_allclose(single.plain.T @ single.plain, X.T @ X)


def test_triangles_need_the_same_rows(rng: np.random.Generator) -> None:
    with pytest.raises(ShapeError, match="in the same order; got 5 and 4 rows"):
        Triangle.of(rng.standard_normal((5, 2)), rng.standard_normal((4, 2)))


def test_rows_are_taken_from_files_that_are_read_in_order(
    rng: np.random.Generator, tmp_path: object
) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = rng.standard_normal((50, 3))
    path = f"{tmp_path}/g.parquet"
    parquet.write_table(
        pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 3)}), path
    )
    np.testing.assert_array_equal(take(path, np.array([40, 3, 3])), X[[40, 3, 3]])
