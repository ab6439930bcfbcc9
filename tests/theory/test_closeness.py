"""One call gives every distance, from one pass, and survives what the theorems do not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.theory import closeness, d_llv, model_pair, theorem2
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
