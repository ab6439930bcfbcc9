"""The retrain gate: which class decides, in which direction, and with which exit code."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError
from samespace.migrate import gate
from samespace.moments import Moments

N, D = 3000, 6


def rotation(rng, d=D):
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


@pytest.fixture
def old(rng):
    return rng.standard_normal((N, D))


@pytest.fixture
def rotated(rng, old):
    return 2 * old @ rotation(rng) + 1 + 0.01 * rng.standard_normal((N, D))


@pytest.fixture
def sheared(rng, old):
    stretch = np.diag([1, 2, 4, 1, 3, 2]) @ rotation(rng)
    return old @ stretch + 0.01 * rng.standard_normal((N, D))


def test_a_smaller_class_passes_for_a_larger_one(old, rotated):
    decision = gate(old, rotated, require="affine", min_score=0.98)
    assert (decision.outcome, decision.exit_code, decision.passed) == ("pass", 0, True)
    assert decision.deciding.name == "orthogonal"
    assert decision.score > 0.999
    np.testing.assert_allclose(decision.map.transform(old), rotated, atol=0.1)


def test_a_larger_class_does_not_pass_for_a_smaller_one(old, sheared):
    decision = gate(old, sheared, require="orthogonal")
    assert (decision.outcome, decision.exit_code) == ("fail", 1)
    assert decision.deciding.name == "orthogonal"
    assert "Holding are: affine." in decision.reason


def test_neither_of_two_neighbours_passes_for_the_other(old, rotated):
    assert gate(old, rotated, require="permutation").passed is False


def test_the_score_asked_for_decides(rng, old):
    noisy = old @ rotation(rng) + 0.3 * rng.standard_normal((N, D))  # explains about 92%
    assert gate(old, noisy, min_score=0.9).outcome == "pass"
    assert gate(old, noisy, min_score=0.95).outcome == "fail"


def test_independent_models_fail(rng, old):
    decision = gate(old, rng.standard_normal((N, D)))
    assert decision.exit_code == 1
    assert decision.score < 0.1


def test_too_few_rows_cannot_be_decided(rng, old):
    few = slice(0, 24)
    noisy = old @ rotation(rng) + 0.3 * rng.standard_normal((N, D))
    decision = gate(old[few], noisy[few], min_score=0.9)
    assert (decision.outcome, decision.exit_code, decision.passed) == ("undecided", 2, None)


def test_the_direction_matters_when_one_side_knows_more(rng, old):
    narrow = old[:, :3] @ rotation(rng, 3)
    assert gate(old, narrow, side="old-to-new").passed is True
    decision = gate(old, narrow, side="new-to-old")
    assert decision.passed is False
    assert (decision.comparison.d_x, decision.comparison.d_y) == (3, D)


def test_moments_give_the_same_decision_as_rows(old, sheared):
    from_rows = gate(old, sheared, side="new-to-old")
    from_moments = gate(Moments.of(old, sheared), side="new-to-old")
    assert from_rows.to_dict() == from_moments.to_dict()


def test_the_decision_is_json_able(old, rotated):
    said = json.loads(json.dumps(gate(old, rotated).to_dict()))
    assert said["outcome"] == "pass"
    assert said["decided_by"] == "orthogonal"
    assert said["comparison"]["n"] == N


def test_no_map_where_widths_forbid_the_class(old):
    decision = gate(old, old[:, :3], require="identity")
    assert decision.passed is False
    assert decision.score is None
    with pytest.raises(
        DegenerateError, match="no identity map here: The identity class needs equal"
    ):
        _ = decision.map


def test_options_that_mean_nothing(old):
    with pytest.raises(OptionError, match="require='linear'; write one of identity, permutation"):
        gate(old, old, require="linear")
    with pytest.raises(OptionError, match="side='left'; write one of old-to-new, new-to-old"):
        gate(old, old, side="left")


def test_progress_is_reported(old, rotated):
    stages = set()
    gate(old, rotated, progress=lambda stage, done, total: stages.add(stage))
    assert "reading" in stages
