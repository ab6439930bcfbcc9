"""The demo finds two models the same up to a map and two that are not, and may be interrupted."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from samespace.cli import app
from samespace.demo import close_losses, trained_pair
from samespace.errors import OptionError


@pytest.mark.usefixtures("torch")
def test_two_seeds_give_one_model_up_to_a_map(tmp_path):
    shown = trained_pair(tmp_path, steps=1500)
    assert shown.comparison.joint("affine").holds
    assert shown.comparison.verdict.name in ("orthogonal", "affine")
    assert shown.mean_cca > 0.99
    assert max(shown.losses) < 0.5
    assert "<html" in shown.report.read_text()
    assert np.load(shown.representations[0]).shape == (10_000, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.npy", "old.npy", "same.html"]


def test_close_losses_are_told_apart(tmp_path):
    shown = close_losses(tmp_path / "new folder")
    assert shown.comparison.verdict.name == "none"
    assert max(shown.losses) < 1e-8
    assert shown.mean_cca == pytest.approx(0.42, abs=0.02)


@pytest.mark.usefixtures("torch")
def test_an_interrupted_demo_goes_on_and_ends_the_same(tmp_path):
    def interrupt(stage, done, total):
        if done == 40:
            raise KeyboardInterrupt

    whole = trained_pair(tmp_path / "whole", steps=60)
    with pytest.raises(KeyboardInterrupt):
        trained_pair(tmp_path / "cut", steps=60, progress=interrupt)
    resumed = trained_pair(tmp_path / "cut", steps=60)
    for one, other in zip(whole.representations, resumed.representations, strict=True):
        assert np.array_equal(np.load(one), np.load(other))
    again = trained_pair(tmp_path / "cut", steps=60)
    assert np.array_equal(np.load(again.representations[0]), np.load(whole.representations[0]))


@pytest.mark.usefixtures("torch")
def test_the_command_prints_both_verdicts(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--steps", "60"])
    assert result.exit_code == 0
    assert result.stdout.count("joint verdict:") == 2
    assert "joint verdict: NONE" in result.stdout
    assert "wrote report to" in result.stderr


def test_steps_are_counted_from_one(tmp_path):
    with pytest.raises(OptionError, match="at least 1 step; got 0"):
        trained_pair(tmp_path, steps=0)
