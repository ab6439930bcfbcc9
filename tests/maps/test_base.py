"""What every map does: its closed-form error is that of its rows, and files hold it exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest

from samespace.errors import DegenerateError, FormatError, NoInverseError, ShapeError
from samespace.maps import Affine, Identity, LowRank, Map, Orthogonal, Permutation
from samespace.maps.base import squared_error
from samespace.moments import Moments
from samespace.storage import save_tensors
from tests.maps.pairs import residual, spread_rows
from tests.tolerances import rtol

FITS: dict[str, Callable[[Any, Any], Map]] = {
    "identity": Identity.fit,
    "permutation": Permutation.fit,
    "orthogonal": Orthogonal.fit,
    "affine": Affine.fit,
    "low_rank": lambda X, Y=None: LowRank.fit(X, Y, rank=2),
}
EVERY = pytest.mark.parametrize("kind", FITS)
INVERTIBLE = pytest.mark.parametrize("kind", ["identity", "permutation", "orthogonal", "affine"])


@pytest.fixture
def noisy(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = spread_rows(rng)
    return X, X @ (rng.standard_normal((4, 4)) + 3 * np.eye(4)) + rng.standard_normal((300, 4)) + 7


@EVERY
def test_the_error_from_moments_is_the_error_of_the_rows(kind, noisy, rng):
    fitted = FITS[kind](*noisy)
    X, Y = spread_rows(rng) + 1, rng.standard_normal((300, 4))  # rows that it was not fitted to
    by_rows = residual(X, Y, fitted.matrix, fitted.bias)
    assert squared_error(Moments.of(X, Y), fitted) == pytest.approx(by_rows, rel=rtol("exact"))
    share = by_rows / np.sum((Y - Y.mean(0)) ** 2)
    assert fitted.score(X, Y) == pytest.approx(1 - share, rel=rtol("exact"))
    assert fitted.score(Moments.of(X, Y)) == fitted.score(X, Y)


@EVERY
def test_pushing_a_covariance_is_mapping_its_rows(kind, noisy):
    X, Y = noisy
    fitted = FITS[kind](X, Y)
    mapped = fitted.transform(X - X.mean(0)) - fitted.bias
    S = Moments.of(X, Y).Sxx
    assert np.allclose(fitted.push(S), mapped.T @ mapped, rtol=rtol("exact"))
    assert fitted.spread(S) == pytest.approx(np.sum(mapped**2), rel=rtol("exact"))


@EVERY
def test_fitting_rows_and_fitting_their_moments_is_one(kind, noisy):
    by_rows, by_moments = FITS[kind](*noisy), FITS[kind](Moments.of(*noisy), None)
    assert np.array_equal(by_rows.matrix, by_moments.matrix)
    assert np.array_equal(by_rows.bias, by_moments.bias)


@INVERTIBLE
def test_the_inverse_undoes_the_map(kind, noisy):
    X, Y = noisy
    fitted = FITS[kind](X, Y)
    assert np.allclose(
        fitted.inverse_transform(fitted.transform(X)), X, rtol=rtol("exact"), atol=1e-9
    )
    assert np.allclose(
        fitted.transform(fitted.inverse_transform(Y)), Y, rtol=rtol("exact"), atol=1e-9
    )


@EVERY
def test_a_saved_map_is_read_back_to_the_bit(kind, noisy, tmp_path):
    fitted = FITS[kind](*noisy)
    fitted.save(tmp_path / "map.safetensors")
    back = Map.load(tmp_path / "map.safetensors")
    assert type(back) is type(fitted)
    assert np.array_equal(back.matrix, fitted.matrix)
    assert np.array_equal(back.bias, fitted.bias)
    assert back._details() == fitted._details()
    assert repr(back) == repr(fitted)
    assert repr(back).startswith(f"{type(fitted).__name__}(4 -> 4")


def as_torch(a, dtype):
    torch = pytest.importorskip("torch", reason="needs torch, an optional library")
    return torch.from_numpy(a).to(getattr(torch, dtype))


@EVERY
@pytest.mark.parametrize(
    ("put", "expected"),
    [
        (lambda a: a, "float64"),
        (lambda a: a.astype(np.float32), "float32"),
        (lambda a: a.astype(np.float16), "float32"),
        (lambda a: as_torch(a, "float64"), "float64"),
        (lambda a: as_torch(a, "bfloat16"), "float32"),
        (array_api_strict.asarray, "float64"),
    ],
    ids=["float64", "float32", "float16", "torch", "bfloat16", "strict"],
)
def test_rows_stay_in_their_library_and_get_no_narrower(kind, noisy, put, expected):
    X, Y = noisy
    fitted = FITS[kind](X, Y)
    rows = put(X)
    mapped = fitted.transform(rows)
    assert type(mapped) is type(rows)
    assert str(mapped.dtype).endswith(expected)
    seen = np.asarray(rows.double() if hasattr(rows, "double") else rows, dtype=np.float64)
    wanted = seen @ fitted.matrix + fitted.bias
    assert np.allclose(np.asarray(mapped), wanted, rtol=rtol("exact", expected), atol=1e-3)


@pytest.mark.parametrize("rows", [np.ones((5, 3)), np.ones(4), [[1, 2, 3, 4]]])
def test_rows_of_another_width_are_no_use(noisy, rows):
    fitted = Affine.fit(*noisy)
    with pytest.raises(
        ShapeError, match=r"the affine map takes rows of width 4: an array \(n, 4\); got"
    ):
        fitted.transform(rows)
    with pytest.raises(ShapeError, match="the inverse affine map takes rows of width 4"):
        fitted.inverse_transform(rows)


def test_no_share_of_a_constant_can_be_explained(noisy):
    with pytest.raises(DegenerateError, match="Y is constant"):
        Affine.fit(*noisy).score(noisy[0], np.ones((300, 4)))


@pytest.mark.parametrize("fit", [Identity.fit, Permutation.fit])
def test_coordinates_cannot_be_matched_between_widths(noisy, fit):
    with pytest.raises(
        ShapeError, match=r"equal widths; these are 4 and 3\. Use the orthogonal or affine"
    ):
        fit(noisy[0], noisy[1][:, :3])


def test_files_that_hold_no_map(noisy, tmp_path):
    Moments.of(*noisy).save(tmp_path / "moments")
    with pytest.raises(FormatError, match="holds moments; map saved by samespace are needed"):
        Map.load(tmp_path / "moments")
    save_tensors(tmp_path / "odd", kind="map", tensors={}, metadata={"map": "spiral"})
    with pytest.raises(
        FormatError, match=r"unknown map 'spiral' in .*known: \['affine', 'identity'"
    ):
        Map.load(tmp_path / "odd")


def test_a_map_cannot_be_changed(noisy):
    with pytest.raises(AttributeError, match="cannot assign to field"):
        Affine.fit(*noisy).ridge = 1.0


def test_no_inverse_is_a_value_error_with_advice(noisy):
    with pytest.raises(
        ValueError, match=r"has no inverse: .*compare\(new, old\), or Moments\.swap"
    ):
        LowRank.fit(*noisy, rank=2).inverse_transform(noisy[1])
    assert issubclass(NoInverseError, ValueError)
