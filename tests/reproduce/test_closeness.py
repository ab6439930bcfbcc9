"""The study of closeness runs, obeys the bounds, and draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samespace import reproduce
from samespace.reproduce.closeness import study
from samespace.reproduce.closeness.findings import spearman
from tests.tolerances import atol

torch = pytest.importorskip("torch")


def test_every_stage_obeys_the_bounds_and_is_drawn(tmp_path: Path) -> None:
    found = reproduce.make(reproduce.find("closeness", "training"), scale="smoke", folder=tmp_path)[
        "values"
    ]
    assert found["stages"] == 10
    assert found["violations_of_2_llv_squared"] == 0
    assert found["violations_of_half_gap_squared"] == 0
    assert found["violations_of_4_llv_squared_by_the_linear_map"] == 0
    picture = tmp_path / "closeness" / "results" / "training-smoke.svg"
    assert picture.read_text("utf-8").startswith("<?xml")


def test_soft_labels_follow_the_model_they_are_drawn_from() -> None:
    from samespace.worlds.samples import Labelled

    n, classes = 40_000, 4
    z = torch.tensor([[2.0, 0.0]]).expand(n, 2)
    sample = Labelled(z=z, x=z, labels=torch.zeros(n, dtype=torch.long))
    labels = study.soft(sample, classes, 1.0, torch.Generator().manual_seed(0)).labels.numpy()
    scores = np.exp(np.cos(2 * np.pi * np.arange(classes) / classes))
    frequencies = np.bincount(labels, minlength=classes) / n
    np.testing.assert_allclose(
        frequencies, scores / scores.sum(), atol=atol("statistical", standard_error=0.5 / n**0.5)
    )


def test_the_affine_error_is_zero_for_a_map_and_one_for_noise(rng: np.random.Generator) -> None:
    f = rng.standard_normal((2000, 2))
    assert study.affine_error(f, f @ rng.standard_normal((2, 2)) + 3.0) < atol("exact")
    assert abs(study.affine_error(f, rng.standard_normal((2000, 2))) - 1.0) < 0.05


def test_rank_correlation_sees_order_alone(rng: np.random.Generator) -> None:
    x = rng.standard_normal(50)
    assert spearman(x, np.exp(x)) == pytest.approx(1.0)
    assert spearman(x, -(x**3)) == pytest.approx(-1.0)
