from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional dependency")
pytest.importorskip("torchmetrics", reason="torchmetrics is an optional dependency")

from torchmetrics.utilities import dim_zero_sum  # noqa: E402 (only once torch is known to be there)

from samespace import metrics  # noqa: E402
from samespace.errors import MissingDependencyError, OptionError, ShapeError  # noqa: E402
from samespace.measures import cca, cka, mcc, procrustes, r2  # noqa: E402
from tests import two_processes  # noqa: E402
from tests.measures.pairs import related  # noqa: E402
from tests.tolerances import atol, rtol  # noqa: E402

EXACT = atol("exact")

MEASURES = {
    metrics.MeanCanonicalCorrelation: lambda X, Y: cca(X, Y).mean,
    metrics.AffineR2: lambda X, Y: r2(X, Y).mean,
    metrics.MeanCorrelationCoefficient: lambda X, Y: mcc(X, Y).mean,
    metrics.LinearCKA: lambda X, Y: cka(X, Y).debiased,
    metrics.ProcrustesSimilarity: lambda X, Y: procrustes(X, Y).similarity,
}
EVERY = pytest.mark.parametrize("metric", MEASURES)


def tensors(rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    X, Y = related(rng)
    return torch.from_numpy(X), torch.from_numpy(Y)


@EVERY
def test_batches_give_what_the_measure_gives_of_all_rows(metric, rng):
    X, Y = tensors(rng)
    summed = metric(4, 3)
    for x, y in zip(X.split(37), Y.split(37), strict=True):
        summed.update(x, y)
    # Torch returns scalars in its default type, single precision.
    assert float(summed.compute()) == pytest.approx(MEASURES[metric](X, Y), abs=1e-6)
    assert summed.measure(summed.moments()) == pytest.approx(MEASURES[metric](X, Y), abs=EXACT)


@EVERY
def test_processes_add_up(metric, rng):
    X, Y = tensors(rng)
    here, there = metric(4, 3), metric(4, 3)
    here.update(X[:150], Y[:150])
    there.update(X[150:], Y[150:])
    here.merge_state(there)
    assert here.measure(here.moments()) == pytest.approx(MEASURES[metric](X, Y), abs=EXACT)
    assert here._reductions["grams"] is dim_zero_sum


def test_two_processes_report_what_one_would(tmp_path):
    X, Y = torch.randn(2, 200, 3, generator=torch.Generator().manual_seed(0))
    args = (str(tmp_path / "meeting"), X, X + Y, str(tmp_path))
    torch.multiprocessing.spawn(two_processes.evaluate_half, args, nprocs=2)
    whole = metrics.LinearCKA(3, 3)
    whole.update(X, X + Y)
    for rank in range(2):
        found = float((tmp_path / f"rank-{rank}").read_text())
        assert found == pytest.approx(float(whole.compute()), abs=EXACT)


@EVERY
def test_reset_forgets(metric, rng):
    X, Y = tensors(rng)
    again = metric(4, 3)
    again.update(torch.randn(50, 4), torch.randn(50, 3))
    again.reset()
    again.update(X, Y)
    assert again.measure(again.moments()) == pytest.approx(MEASURES[metric](X, Y), abs=EXACT)


@pytest.mark.parametrize("metric", list(MEASURES)[:3])
def test_folds_hold_out(metric, rng):
    X, Y = torch.from_numpy(rng.standard_normal((2, 200, 30)))
    in_sample, held_out = metric(30, 30), metric(30, 30, folds=10)
    in_sample.update(X, Y)
    held_out.update(X, Y)
    assert float(in_sample.compute()) > 0.12
    assert float(held_out.compute()) < 0.1


def test_a_shift_keeps_precision_when_the_mean_dwarfs_the_spread(rng):
    X, Y = tensors(rng)
    far = metrics.LinearCKA(4, 3, shift_x=X.mean(0) + 1e7, shift_y=Y.mean(0))
    far.update(X + 1e7, Y)
    expected = MEASURES[metrics.LinearCKA](X + 1e7, Y)
    assert far.measure(far.moments()) == pytest.approx(expected, rel=rtol("exact"))


def test_half_precision_is_summed_in_double(rng):
    X, Y = (Z.half() for Z in tensors(rng))
    summed = metrics.LinearCKA(4, 3)
    summed.update(X, Y)
    assert summed.grams.dtype == torch.float64
    expected = MEASURES[metrics.LinearCKA](X.double(), Y.double())
    assert summed.measure(summed.moments()) == pytest.approx(expected, abs=EXACT)


def test_gradients_are_not_kept(rng):
    X, Y = tensors(rng)
    summed = metrics.LinearCKA(4, 3)
    summed.update(X.requires_grad_(), Y)
    assert not summed.grams.requires_grad


def test_an_undefined_value_is_nan():
    summed = metrics.LinearCKA(4, 4)
    summed.update(torch.eye(4), torch.eye(4))
    assert summed.compute().isnan()


def test_shapes_that_do_not_fit_are_refused():
    summed = metrics.LinearCKA(4, 3)
    with pytest.raises(ShapeError, match=r"shapes \(5, 3\) and \(5, 3\) do not fit a metric of"):
        summed.update(torch.zeros(5, 3), torch.zeros(5, 3))
    with pytest.raises(ShapeError, match=r"pass x \(n, 4\) and y \(n, 3\)"):
        summed.update(torch.zeros(5, 4), torch.zeros(6, 3))
    with pytest.raises(ShapeError, match=r"shift_y has shape \(4,\); .* \(3,\)"):
        metrics.LinearCKA(4, 3, shift_y=torch.zeros(4))


def test_folds_that_cannot_be_meant_are_refused():
    with pytest.raises(OptionError, match="folds=0; write 1 for in-sample"):
        metrics.LinearCKA(4, 3, folds=0)


def test_without_torchmetrics_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchmetrics", None)
    monkeypatch.delitem(sys.modules, "samespace.metrics")
    with pytest.raises(MissingDependencyError, match=r"needs torchmetrics; .*samespace\[torch\]"):
        importlib.import_module("samespace.metrics")
