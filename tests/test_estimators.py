from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from samespace import maps
from samespace.errors import NoInverseError, OptionError, ShapeError
from samespace.estimators import MapEstimator
from tests.tolerances import atol

EXACT = atol("exact")


@parametrize_with_checks(
    [MapEstimator(kind="affine"), MapEstimator(kind="low_rank"), MapEstimator(kind="orthogonal")]
)
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)  # asserts inside


@pytest.mark.parametrize("kind", ["identity", "permutation", "orthogonal", "affine", "low_rank"])
def test_fits_the_same_map_as_the_class(kind, rng):
    X = rng.standard_normal((60, 4))
    Y = X @ rng.standard_normal((4, 4)) + rng.standard_normal((60, 4))
    classes = {
        "identity": maps.Identity,
        "permutation": maps.Permutation,
        "orthogonal": maps.Orthogonal,
        "affine": maps.Affine,
        "low_rank": maps.LowRank,
    }
    fitted, expected = MapEstimator(kind=kind).fit(X, Y), classes[kind].fit(X, Y)
    np.testing.assert_allclose(fitted.map_.matrix, expected.matrix, atol=EXACT)
    np.testing.assert_allclose(fitted.predict(X), expected.transform(X), atol=EXACT)


def test_options_reach_the_map(rng):
    X, Y = rng.standard_normal((2, 60, 3))
    assert MapEstimator(ridge=0.5).fit(X, Y).map_.ridge == 0.5
    assert MapEstimator(kind="low_rank", rank=2).fit(X, Y).map_.rank == 2
    assert MapEstimator(kind="orthogonal", scaled=False).fit(X, Y).map_.scale == 1.0
    unshifted = MapEstimator(kind="permutation", shifted=False).fit(X, Y + 5)
    np.testing.assert_array_equal(unshifted.map_.bias, 0.0)


def test_inverse_transform_undoes_transform(rng):
    X = rng.standard_normal((60, 3))
    Y = X @ rng.standard_normal((3, 3)) + 1
    fitted = MapEstimator(ridge=0.0).fit(X, Y)
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(X)), X, atol=1e-9)
    with pytest.raises(NoInverseError, match="from 3 to 2 dimensions"):
        MapEstimator().fit(X, Y[:, :2]).inverse_transform(Y[:, :2])


def test_works_in_pipelines_and_searches(rng):
    X = rng.standard_normal((80, 3)) * [1, 10, 100]
    Y = X @ rng.standard_normal((3, 2))
    pipeline = make_pipeline(StandardScaler(), MapEstimator())
    search = GridSearchCV(pipeline, {"mapestimator__kind": ["orthogonal", "affine"]}).fit(X, Y)
    assert search.best_params_ == {"mapestimator__kind": "affine"}
    assert search.best_score_ == pytest.approx(1.0)


def test_is_cloned_with_its_options():
    estimator = MapEstimator(kind="low_rank", rank=2, folds=5)
    assert clone(estimator).get_params() == estimator.get_params()


def test_one_output_comes_back_one_dimensional(rng):
    X = rng.standard_normal((40, 2))
    fitted = MapEstimator().fit(X, X[:, 0])
    assert fitted.predict(X).shape == (40,)
    assert fitted.transform(X).shape == (40, 1)
    assert fitted.get_feature_names_out().tolist() == ["mapestimator0"]


def test_an_unknown_kind_is_refused(rng):
    with pytest.raises(OptionError, match=r"kind='linear'; write one of \['identity'"):
        MapEstimator(kind="linear").fit(*rng.standard_normal((2, 30, 2)))


def test_options_of_another_kind_are_refused(rng):
    X, Y = rng.standard_normal((2, 30, 2))
    with pytest.raises(OptionError, match=r"rank, ridge given for kind='identity'.*no options"):
        MapEstimator(kind="identity", ridge=1.0, rank=2).fit(X, Y)
    with pytest.raises(OptionError, match="ridge given for kind='orthogonal', which takes scaled"):
        MapEstimator(kind="orthogonal", ridge=1.0).fit(X, Y)


def test_classes_between_equal_widths_say_so(rng):
    X = rng.standard_normal((30, 3))
    with pytest.raises(ShapeError, match="permutation class needs equal widths; these are 3 and 2"):
        MapEstimator(kind="permutation").fit(X, X[:, :2])
