"""Arrays of other libraries give what NumPy's give; the measures of rows stay in the library."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.measures import alignment, cca, cka, mcc, neighbour_overlap, rows, uniformity
from tests.measures.pairs import related
from tests.tolerances import atol

torch = pytest.importorskip("torch", reason="PyTorch is an optional dependency")


def as_torch(X: np.ndarray, Y: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(X), torch.from_numpy(Y)


@pytest.mark.parametrize(
    "reading",
    [
        lambda X, Y: cca(X, Y).mean,
        lambda X, Y: cka(X, Y).debiased,
        lambda X, Y: mcc(X, Y, kind="spearman").mean,
        lambda X, Y: neighbour_overlap(X, Y).overlap,
        lambda X, Y: neighbour_overlap(X, Y, distance="euclidean").overlap,
        lambda X, Y: alignment(X[:, :3], Y),
        lambda X, Y: uniformity(X),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_torch_gives_what_numpy_gives(reading, dtype, rng):
    X, Y = (Z.astype(dtype) for Z in related(rng))
    expected = reading(X, Y)
    assert reading(*as_torch(X, Y)) == pytest.approx(expected, abs=atol("exact", dtype))


def test_bfloat16_is_compared_in_single_precision(rng):
    X, Y = (Z.bfloat16() for Z in as_torch(*related(rng)))
    expected = neighbour_overlap(X.float(), Y.float()).overlap
    assert neighbour_overlap(X, Y).overlap == pytest.approx(expected)


def test_rows_of_one_library_stay_in_it(rng):
    X, Y = rows.paired_rows(*as_torch(*related(rng)))
    assert isinstance(X, torch.Tensor)
    assert isinstance(Y, torch.Tensor)


def test_rows_of_two_libraries_meet_in_numpy(rng):
    X, Y = related(rng)
    found = rows.paired_rows(torch.from_numpy(X), Y)
    assert all(isinstance(side, np.ndarray) for side in found)
    assert neighbour_overlap(torch.from_numpy(X), Y).overlap == neighbour_overlap(X, Y).overlap


def test_a_library_without_a_selection_sorts(rng):
    class Plain:
        sort = staticmethod(np.sort)

    from samespace.measures.neighbours import _kth_smallest

    values = rng.standard_normal((5, 20))
    np.testing.assert_array_equal(_kth_smallest(Plain, values, 3), np.sort(values)[:, 2:3])
