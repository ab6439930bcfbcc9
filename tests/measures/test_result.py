from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from samespace.measures import cca, cka, mcc, neighbour_overlap, procrustes, pwcca, r2, svcca
from tests.measures.pairs import moments, related

MEASURES = (cca, cka, mcc, neighbour_overlap, procrustes, pwcca, r2, svcca)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_result_survives_json(measure, rng):
    found = measure(*related(rng))
    revived = type(found).from_dict(json.loads(json.dumps(found.to_dict())))
    for field in dataclasses.fields(found):
        np.testing.assert_array_equal(getattr(revived, field.name), getattr(found, field.name))


def test_undefined_entries_and_missing_parts_survive_json(rng):
    X, Y = related(rng, n=30)
    found = r2(moments(X, np.column_stack([Y, np.ones(30)]), folds=1))
    revived = type(found).from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert revived.held_out is None
    np.testing.assert_array_equal(revived.per_dimension, found.per_dimension)
    assert np.isnan(revived.per_dimension[-1])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_repr_is_one_short_line(measure, rng):
    text = repr(measure(*related(rng)))
    assert text.startswith(type(measure(*related(rng))).__name__ + "(")
    assert "n=200" in text
    assert len(text) < 300
    assert "\n" not in text


def test_a_result_is_frozen(rng):
    found = cka(*related(rng))
    with pytest.raises(dataclasses.FrozenInstanceError, match="biased"):
        found.biased = 1.0
