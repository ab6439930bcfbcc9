"""Principal planes: against numpy's own eigenvectors, and the degenerate set."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.report.plane import picture, principal_plane
from tests.report.factory import comparison
from tests.tolerances import atol


def test_the_plane_is_spanned_by_the_top_eigenvectors(rng):
    X = rng.standard_normal((200, 6)) * [1, 5, 2, 0.5, 3, 1] + 7
    plane = principal_plane(X)
    values, vectors = np.linalg.eigh(np.cov(X.T))
    top = vectors[:, :-3:-1]
    np.testing.assert_allclose(
        plane.axes @ plane.axes.T, top @ top.T, atol=atol("exact", "float64")
    )
    np.testing.assert_allclose(plane.shares, values[:-3:-1] / values.sum())
    assert (plane.axes[np.abs(plane.axes).argmax(axis=0), [0, 1]] > 0).all()


@pytest.mark.parametrize("shape", [(1, 3), (5, 1), (2, 2)])
def test_degenerate_shapes_have_a_plane(shape):
    X = np.arange(np.prod(shape), dtype=float).reshape(shape)
    plane = principal_plane(X)
    assert plane.project(X).shape == (shape[0], 2)
    assert np.isfinite(plane.shares).all()


def test_constant_rows_have_no_spread():
    plane = principal_plane(np.ones((4, 3)))
    assert plane.shares.tolist() == [0.0, 0.0]


def test_mapped_points_meet_new_where_the_map_holds():
    drawn = picture(comparison("orthogonal"))
    spread = np.linalg.norm(drawn.new)
    assert np.linalg.norm(drawn.mapped["orthogonal"] - drawn.new) < 0.05 * spread
    assert np.linalg.norm(drawn.mapped["identity"] - drawn.new) > 0.5 * spread
    assert np.linalg.norm(drawn.old) == pytest.approx(spread)


def test_other_widths_leave_out_what_does_not_apply():
    drawn = picture(comparison("affine", d_y=20))
    assert set(drawn.mapped) == {"orthogonal", "affine"}
    assert drawn.old.shape == drawn.new.shape == (600, 2)


def test_without_rows_there_is_no_picture():
    assert picture(comparison("affine", keep=0)) is None
