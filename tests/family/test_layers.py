"""Agreement layer by layer: Figure 4's numbers, against the same thing by another route."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError, ShapeError
from samespace.family import layer_agreement
from tests.tolerances import atol


@pytest.fixture
def models(rng):
    hidden = rng.normal(size=(400, 6))
    return {
        name: {
            -1: hidden @ rng.normal(size=(6, 10)) + 0.1 * rng.normal(size=(400, 10)),
            -4: rng.normal(size=(400, 10)),
        }
        for name in ("small", "medium", "large")
    }


def by_regression(x, y, k):
    """Canonical correlations as the square roots of the eigenvalues of a product of projections."""
    bases = []
    for rows in (x, y):
        z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        values, vectors = np.linalg.eigh(z.T @ z)
        bases.append(z @ vectors[:, np.argsort(values)[::-1][:k]])
    onto = [b @ np.linalg.solve(b.T @ b, b.T) for b in bases]
    found = np.sort(np.linalg.eigvals(onto[0] @ onto[1]).real)[::-1][:k]
    return np.sqrt(found.clip(0)).mean()


def test_every_pair_counts_once_and_is_svcca(models):
    found = layer_agreement(models, components=[3, 6])
    assert found.names == ("small|medium", "small|large", "medium|large")
    assert found.n == 400
    for row, (one, other) in enumerate(name.split("|") for name in found.names):
        for column, layer in enumerate(found.layers):
            expected = [by_regression(models[one][layer], models[other][layer], k) for k in (3, 6)]
            assert found.pairs[row, column] == pytest.approx(expected, abs=1e-6)
    assert found.mean == pytest.approx(found.pairs.mean(axis=0), abs=atol("exact"))


def test_a_shared_layer_agrees_and_an_independent_one_does_not(models):
    last, earlier = layer_agreement(models, components=[6]).mean[:, 0]
    assert last > 0.95
    assert earlier < 0.3


def test_scaling_and_shifting_features_changes_nothing(models, rng):
    moved = {
        name: {
            i: rows * rng.uniform(1, 9, size=10) + rng.normal(size=10) for i, rows in layers.items()
        }
        for name, layers in models.items()
    }
    before, after = (layer_agreement(m, components=[4]).pairs for m in (models, moved))
    assert after == pytest.approx(before, abs=1e-9)


def test_a_linear_mix_does_change_which_directions_are_kept(models, rng):
    mixed = {
        **models,
        "small": {i: rows @ rng.normal(size=(10, 10)) for i, rows in models["small"].items()},
    }
    before, after = (layer_agreement(m, components=[3]).pairs[0, 1] for m in (models, mixed))
    assert abs(after - before).max() > 1e-3


def test_the_result_goes_round(models):
    found = layer_agreement(models, components=[3])
    again = type(found).from_dict(found.to_dict())
    assert again.pairs == pytest.approx(found.pairs)


def test_what_cannot_be_compared_is_named(models):
    with pytest.raises(OptionError, match="at least two are needed"):
        layer_agreement({"small": models["small"]})
    with pytest.raises(OptionError, match="need the same layers"):
        layer_agreement({**models, "odd": {-1: models["small"][-1]}}, components=[2])
    with pytest.raises(ShapeError, match="need the same rows"):
        layer_agreement(
            {**models, "odd": {i: r[:9] for i, r in models["small"].items()}}, components=[2]
        )
    with pytest.raises(OptionError, match="11 components were asked for"):
        layer_agreement(models, components=[11])
    flat = {-1: np.ones((400, 10)), -4: models["small"][-4]}
    with pytest.raises(DegenerateError, match="10 constant features"):
        layer_agreement({**models, "flat": flat}, components=[2])
