"""Which tables of log-probabilities are from the family; skip-gram with negative sampling is
not.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.errors import NotFiniteError, OptionError, ShapeError
from samespace.family import from_arrays, membership
from samespace.family.softmax import log_softmax


@pytest.fixture
def scores(rng):
    return rng.normal(size=(60, 3)) @ rng.normal(size=(3, 40))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_model_of_the_family_is_in_it_at_its_own_width(scores, dtype):
    table = log_softmax(scores).astype(dtype)
    found = membership(table, dim=3)
    assert found.holds
    assert found.rank == 3
    assert found.residual < 1e-9
    assert not membership(table, dim=2).holds


def test_biases_of_the_labels_do_not_count(scores, rng):
    assert membership(log_softmax(scores + rng.normal(size=40)), dim=3).rank == 3


def test_skip_gram_with_negative_sampling_is_not_in_the_family(scores):
    """Its own log-probability is log sigmoid(f'g) (Mikolov et al. 2013, Eq. 4): full rank, and not
    normalised over S.
    """
    table = -np.logaddexp(0.0, -scores)
    found = membership(table, dim=3)
    assert not found.holds
    assert (
        found.rank == 39
    )  # all that double centring leaves of 40 labels: no width below that would do
    assert found.residual > 0.01
    assert found.partition_error > 1.0
    assert "not in the canonical family" in str(found)


def test_normalising_negative_samplings_probabilities_does_not_help(scores):
    table = log_softmax(-np.logaddexp(0.0, -scores))
    found = membership(table, dim=3)
    assert found.partition_error < 1e-9
    assert not found.holds
    assert found.rank == 39


def test_equal_negative_sampling_models_need_not_have_equal_softmaxes(scores):
    """Two skip-grams may agree on every pair that was sampled, on which alone the loss depends, and
    on nothing else.
    """
    sampled = np.arange(40) % 2 == 0
    other = np.where(sampled, scores, scores + 1.0)
    assert (-np.logaddexp(0.0, -scores))[:, sampled] == pytest.approx(
        (-np.logaddexp(0.0, -other))[:, sampled]
    )
    assert abs(log_softmax(scores) - log_softmax(other)).max() > 0.1


def test_soft_capped_logits_are_not_in_the_family(scores):
    assert not membership(log_softmax(2.0 * np.tanh(scores / 2.0)), dim=3).holds


def test_the_result_is_plain(scores):
    found = membership(
        from_arrays(np.eye(3)[[0, 1, 2, 0, 1]], np.eye(3)[[0, 1, 2, 0, 1]]).log_prob(), dim=3
    )
    assert json.loads(json.dumps(found.to_dict()))["holds"] is True
    assert "in the canonical family" in str(found)


def test_tables_that_cannot_tell_are_refused(scores):
    with pytest.raises(OptionError, match="cannot test width 39"):
        membership(log_softmax(scores), dim=39)
    with pytest.raises(ShapeError, match="a table"):
        membership(scores[0], dim=2)
    with pytest.raises(NotFiniteError, match="never in S"):
        membership(np.where(scores > 2, -np.inf, scores), dim=3)
