"""The study of closeness runs, obeys the bounds, and draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from samespace import reproduce
from samespace.reproduce.closeness import findings, study
from tests.tolerances import atol

torch = pytest.importorskip("torch")


def test_every_stage_obeys_the_bounds_and_is_drawn(tmp_path: Path) -> None:
    found = reproduce.make(reproduce.find("closeness", "training"), scale="smoke", folder=tmp_path)[
        "values"
    ]
    assert found["stages"] == 10
    assert {name: one["violations"] for name, one in found["bounds"].items()} == dict.fromkeys(
        found["bounds"], 0
    )
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


def test_a_violated_bound_is_counted_and_the_worst_close_stage_is_told() -> None:
    record = _record({name: [[0.1], [0.2]] for name in study.MEASURES} | {"svd": [[0.01], [0.09]]})
    found = findings.summarise([record], {})
    # 2 T1^2 is 0.02 and 0.08: the first stage obeys, the second does not.
    assert found["bounds"]["d_SVD of f <= 2 T1^2"]["violations"] == 1
    assert found["bounds"]["d_SVD of f <= 2 M d_LLV (the authors')"]["violations"] == 0
    worst = {(one["measure"], one["at_most"]): one for one in found["what_close_means"]}
    assert worst["t1", 0.1]["worst"]["svd"] == 0.01
    assert worst["t1", 0.05]["worst"]["svd"] is None
    assert worst["t1", 0.5]["stages"] == 2


def test_rank_correlation_sees_order_alone() -> None:
    curves = {name: [[1.0], [2.0], [3.0]] for name in study.MEASURES}
    curves |= {"kl": [[1.0], [4.0], [9.0]], "loss": [[3.0], [2.0], [-9.0]]}
    found = findings.summarise([_record(curves)], {})["rank_correlations"]["svd"]
    assert found["kl"] == pytest.approx(1.0)
    assert found["loss"] == pytest.approx(-1.0)


def _record(curves: dict[str, list[list[float]]]) -> reproduce.Record:
    return reproduce.Record(
        paper="closeness",
        figure="training",
        scale="smoke",
        piece="soft-wide",
        settings={},
        values={"steps": [1, 2, 3][: len(curves["t1"])], "curves": curves},
        seconds=1.0,
        device="cpu",
        machine={},
        versions={},
        commit=None,
    )
