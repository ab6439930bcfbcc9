"""Streamed normalisers and divergences against the full table of log-probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import OptionError, ShapeError
from samespace.theory import ModelPair, likelihood, likelihood_gap, log_normalisers
from tests.theory.pairs import equivalent, log_prob, log_z, transformed, unrelated
from tests.tolerances import atol, rtol


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that every seam between them is crossed."""
    monkeypatch.setattr(likelihood, "_ROWS", 7)
    monkeypatch.setattr(likelihood, "_LABELS", 4)
    monkeypatch.setattr(likelihood, "_HELD_VALUES", 50)


@pytest.mark.usefixtures("small_blocks")
def test_blocks_do_not_show_in_the_normalisers(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    np.testing.assert_allclose(
        log_normalisers(models.f, models.g), log_z(models.f, models.g), rtol=rtol("exact")
    )


@pytest.mark.usefixtures("small_blocks")
def test_divergences_and_losses_are_those_of_the_full_table(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    observed = rng.integers(9, size=60)
    found = likelihood_gap(*models.arrays, observed=observed)
    p, q = log_prob(models.f, models.g), log_prob(models.f_star, models.g_star)
    per_input = (np.exp(p) * (p - q)).sum(axis=1)
    np.testing.assert_allclose(found.kl, per_input.mean(), rtol=1e-9)
    np.testing.assert_allclose(
        found.kl_reverse, (np.exp(q) * (q - p)).sum(axis=1).mean(), rtol=1e-9
    )
    rows = np.arange(60)
    np.testing.assert_allclose(found.loss, -p[rows, observed].mean(), rtol=1e-9)
    np.testing.assert_allclose(found.loss_star, -q[rows, observed].mean(), rtol=1e-9)
    np.testing.assert_allclose(found.largest_gap, np.abs(p - q)[rows, observed].max(), rtol=1e-9)
    np.testing.assert_allclose(found.log_z_star, log_z(models.f_star, models.g_star), rtol=1e-10)
    half = 2.0 * per_input.std() / np.sqrt(60)
    np.testing.assert_allclose(found.high - found.kl, half, rtol=0.05)


def test_logits_far_beyond_the_range_of_exp_are_summed(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    f = 1e4 * models.f
    np.testing.assert_allclose(log_normalisers(f, models.g), (f @ models.g.T).max(axis=1))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_rows_are_multiplied_at_least_in_single_precision(
    rng: np.random.Generator, dtype: type
) -> None:
    models = unrelated(rng)
    f, g = models.f.astype(dtype), models.g.astype(dtype)
    exact = log_z(f.astype(np.float64), g.astype(np.float64))
    np.testing.assert_allclose(log_normalisers(f, g), exact, atol=1e-5)


def test_torch_tensors_stay_tensors_until_the_sums(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    models = unrelated(rng)
    tensors = [torch.from_numpy(array) for array in models.arrays]
    np.testing.assert_allclose(
        likelihood_gap(*tensors).kl, likelihood_gap(*models.arrays).kl, rtol=rtol("exact")
    )


def test_the_divergence_depends_on_the_distributions_alone(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    before, after = likelihood_gap(*models.arrays), likelihood_gap(*transformed(models, rng))
    np.testing.assert_allclose(after.kl, before.kl, rtol=1e-8)
    assert likelihood_gap(*equivalent(rng).arrays).kl < atol("exact")


def test_without_observed_labels_there_is_no_loss(rng: np.random.Generator) -> None:
    found = likelihood_gap(*unrelated(rng).arrays)
    assert (found.loss, found.loss_star, found.largest_gap) == (None, None, None)


def test_progress_is_told_of_every_block(rng: np.random.Generator) -> None:
    told: list[tuple[str, int, int]] = []
    models = unrelated(rng)
    log_normalisers(models.f, models.g, progress=lambda *step: told.append(step))
    assert told == [("normalising", 60, 60)]


def test_widths_of_f_and_g_must_agree(rng: np.random.Generator) -> None:
    with pytest.raises(ShapeError, match=r"same width M; got f \(n, 2\) and g \(K, 3\)"):
        log_normalisers(rng.standard_normal((5, 2)), rng.standard_normal((5, 3)))


def test_both_models_need_the_same_rows(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    with pytest.raises(ShapeError, match=r"got \(inputs, labels\) \[\(60, 9\), \(60, 8\)\]"):
        likelihood_gap(models.f, models.g, models.f_star, models.g_star[:8])


def test_a_label_per_input_is_needed(rng: np.random.Generator) -> None:
    with pytest.raises(ShapeError, match=r"one label number per input, shape \(60,\); got \(3,\)"):
        likelihood_gap(*unrelated(rng).arrays, observed=np.zeros(3, dtype=int))


def test_a_pair_needs_all_four_matrices(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match="two models are four matrices"):
        ModelPair.of(rng.standard_normal((5, 2)), rng.standard_normal((5, 2)))


def test_a_pair_needs_a_group(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match="folds=0; at least 1"):
        ModelPair.of(*unrelated(rng).arrays, folds=0)


def test_a_pair_needs_one_width_per_model(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    with pytest.raises(ShapeError, match=r"f and g of one model .* got f \(60, 2\), g \(9, 3\)"):
        ModelPair.of(models.f[:, :2], models.g, models.f_star, models.g_star)


def test_a_pair_needs_the_same_inputs(rng: np.random.Generator) -> None:
    models = unrelated(rng)
    with pytest.raises(ShapeError, match="got 59 and 60 inputs, 9 and 9 labels"):
        ModelPair.of(models.f[:59], models.g, models.f_star, models.g_star)


def test_a_pair_is_passed_through(rng: np.random.Generator) -> None:
    pair = ModelPair.of(*unrelated(rng).arrays)
    assert ModelPair.of(pair) is pair
