"""Two models compared: the verdict, what the theorem promises, and every case of the conclusion."""

from __future__ import annotations

import json

import numpy as np
import pytest

from samespace.errors import OptionError, ShapeError
from samespace.family import PerSample, absorb_bias, compare_models, from_arrays, two_tower
from samespace.family.conclusion import likelihoods_are
from samespace.worlds.nielsen import close_distributions_pair, close_losses_pair
from tests.tolerances import atol

A = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0]])
A_DUAL = np.linalg.inv(A).T


@pytest.fixture
def arrays(rng):
    return rng.normal(size=(600, 3)), rng.normal(size=(40, 3))


def test_equal_likelihoods_are_equal_up_to_a_linear_map(arrays, rng):
    f, g = arrays
    observed = rng.integers(40, size=600)
    joint = compare_models(
        from_arrays(f, g), from_arrays(f @ A, g @ A_DUAL + 1.0), observed=observed
    )
    assert joint.verdict.name == "affine"
    assert joint.conclusion.startswith("Equal likelihoods")
    assert "as the theorem says" in joint.conclusion
    assert joint.joint("affine").map.matrix == pytest.approx(A, abs=1e-8)
    assert joint.closeness.likelihoods.loss == pytest.approx(joint.closeness.likelihoods.loss_star)
    assert all(bound["holds"] for bound in joint.bounds)
    assert joint.f.verdict.name == joint.g.verdict.name == "affine"


def test_the_smallest_class_is_named_where_a_smaller_one_holds(arrays):
    f, g = arrays
    rotation = np.linalg.qr(A)[0]
    joint = compare_models(from_arrays(f, g), from_arrays(f @ rotation, g @ rotation))
    assert joint.verdict.name == "orthogonal"
    assert "even up to the class 'orthogonal'" in joint.conclusion


def test_perfect_correlations_of_each_side_do_not_make_one_model(arrays):
    f, g = arrays
    joint = compare_models(from_arrays(f, g), from_arrays(f @ A, g @ A))
    assert joint.f.affine.holds
    assert joint.g.affine.holds
    assert joint.f.correlations.mean() == pytest.approx(1.0, abs=atol("exact"))
    assert joint.g.correlations.mean() == pytest.approx(1.0, abs=atol("exact"))
    assert joint.verdict.name == "none"
    assert "Nothing is guaranteed, and indeed" in joint.conclusion


def test_equal_losses_are_not_equal_likelihoods(rng):
    """Nielsen et al. 2024, Section 4: both losses below 1e-8, mean CCA about 0.4."""
    pair = close_losses_pair(rng)
    old, new = from_arrays(pair.prime.f, pair.prime.g), from_arrays(pair.star.f, pair.star.g)
    joint = compare_models(old, new, observed=pair.labels)
    assert joint.closeness.likelihoods.loss < 1e-8
    assert joint.closeness.likelihoods.loss_star < 1e-8
    assert joint.old.hold
    assert joint.new.hold
    assert joint.conclusion.startswith("The losses are equal")
    assert "and indeed no one linear map" in joint.conclusion
    assert joint.verdict.name == "none"
    assert joint.g is None  # four labels: too few for a comparison of their own
    assert "d_SVD" in str(joint.to_dict()["bounds"])


def test_a_vanishing_divergence_is_not_equal_likelihoods(rng):
    """Nielsen et al. 2025, Table 1: the divergence goes to 0, the representations stay apart."""
    pair = close_distributions_pair(rng)
    old, new = from_arrays(pair.prime.f, pair.prime.g), from_arrays(pair.star.f, pair.star.g)
    joint = compare_models(old, new)
    assert joint.closeness.likelihoods.kl < 1e-4
    assert likelihoods_are(joint.closeness, joint.f.settings) == "different"
    assert joint.verdict.name == "none"


def test_close_likelihoods_say_how_much_may_lie_beyond(arrays, rng):
    f, g = arrays
    near = from_arrays(f @ A + 0.2 * rng.normal(size=f.shape), g @ A_DUAL)
    joint = compare_models(from_arrays(f, g), near)
    assert "lies beyond a linear map of the old f" in joint.conclusion
    beyond = joint.bounds[2]
    assert beyond["measured"] <= beyond["bound"]
    assert f"{100 * beyond['bound']:.2g}%" in joint.conclusion


def test_where_diversity_fails_a_part_of_f_is_free(arrays, rng):
    f, g = arrays
    two = g[:2]
    free = np.linalg.svd(two[1:] - two[:1])[2][1:]  # orthogonal to the one difference of labels
    other = f + rng.normal(size=(600, 2)) * 2.0 @ free
    joint = compare_models(from_arrays(f, two), from_arrays(other, two))
    assert joint.closeness.logits.value == pytest.approx(0.0, abs=1e-6)
    assert joint.conclusion.startswith("The theorem's conditions fail for the old model")
    assert "fix only 1 of its 3 dimensions" in joint.conclusion
    assert joint.verdict.name == "none"
    assert not joint.old.hold
    assert joint.old.to_dict()["labels"] == "too few"


def test_biases_pay_for_a_shift_of_the_features(arrays, rng):
    h, w = arrays
    b, a = rng.normal(size=40), np.array([1.0, -2.0, 0.5])
    old = from_arrays(*absorb_bias(h, w, b), bias=True)
    new = from_arrays(*absorb_bias(h @ A + a, w @ A_DUAL, b - w @ A_DUAL @ a), bias=True)
    joint = compare_models(old, new)
    assert joint.verdict.name == "affine"
    assert joint.bias
    assert joint.old.hold  # the constant coordinate is left out of f's diversity
    assert joint.closeness.likelihoods.kl == pytest.approx(0.0, abs=atol("exact"))
    forgotten = from_arrays(*absorb_bias(h @ A + a, w @ A_DUAL, b), bias=True)
    assert compare_models(old, forgotten).verdict.name == "none"


def test_a_bias_in_one_model_counts_as_zero_in_the_other(arrays):
    f, g = arrays
    biased = from_arrays(*absorb_bias(f, g, np.zeros(40)), bias=True)
    assert compare_models(from_arrays(f, g), biased).verdict.name == "identity"


def test_models_of_different_widths_are_compared_as_far_as_they_can_be(arrays):
    f, g = arrays
    joint = compare_models(from_arrays(f, g), from_arrays(f[:, :2], g[:, :2]))
    assert joint.verdict.name == "none"
    assert "f varies in 3 dimensions in the old model and 2" in joint.verdict.reason
    assert joint.f.affine.unexplained < 1e-10


def test_labels_of_the_batch_are_compared(arrays):
    f, g = arrays
    old = two_tower(lambda x: x, lambda y: y, dim=3)
    new = two_tower(lambda x: x @ A, lambda y: y @ A_DUAL, dim=3)
    assert compare_models(old, new, f, labels=g).verdict.name == "affine"
    with pytest.raises(OptionError, match="one set of labels"):
        compare_models(old, new, f, labels=PerSample(np.zeros((600, 2, 3))))


def test_everything_is_plain_and_every_rendering_works(arrays, tmp_path):
    f, g = arrays
    joint = compare_models(
        from_arrays(f, g, name="monday"), from_arrays(f @ A, g @ A_DUAL, name="tuesday")
    )
    found = json.loads(joint.to_json())
    assert found["names"] == ["monday", "tuesday"]
    assert found["verdict"]["name"] == "affine"
    assert set(found["classes"]) == {"identity", "permutation", "orthogonal", "affine"}
    assert "joint verdict: AFFINE" in str(joint)
    assert "verdict='affine'" in repr(joint)
    assert joint.conclusion in joint.to_markdown().replace("\\", "")
    joint.to_html(tmp_path / "joint.html")
    assert "tuesday" in (tmp_path / "joint.html").read_text("utf-8")


def test_equal_calls_agree(arrays, rng):
    f, g = arrays
    models = from_arrays(f, g), from_arrays(f @ A + 0.1 * rng.normal(size=f.shape), g @ A_DUAL)
    assert compare_models(*models).to_json() == compare_models(*models).to_json()


def test_progress_is_reported(arrays):
    f, g = arrays
    seen = []
    compare_models(
        from_arrays(f, g), from_arrays(f, g), progress=lambda *step: seen.append(step[0])
    )
    assert "comparing" in seen


def test_what_cannot_be_compared_is_named(arrays):
    f, g = arrays
    with pytest.raises(ShapeError, match="the same inputs"):
        compare_models(from_arrays(f, g), from_arrays(f[:-1], g))
    with pytest.raises(ShapeError, match="the same labels"):
        compare_models(from_arrays(f, g), from_arrays(f, g[:-1]))
    with pytest.raises(OptionError, match="no class of the lattice"):
        compare_models(from_arrays(f, g), from_arrays(f, g)).joint("linear")


def test_a_language_model_with_a_final_layer_norm(rng):
    """Its f lies in a hyperplane: Definition 1 fails for it, and the theorem's conclusion holds all
    the same.
    """
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from samespace.family import causal_lm
    from tests.family.reductions.models import build, gpt2

    model = causal_lm(build("GPT2LMHeadModel", gpt2()).double(), name="gpt2")
    ids = torch.as_tensor(rng.integers(5, 60, size=(24, 10)))
    f, g = model.embed(ids), model.unembed()
    M = rng.normal(size=(16, 16)) + 6.0 * np.eye(16)
    mapped = from_arrays(f @ M, g @ np.linalg.inv(M).T, name="mapped")
    joint = compare_models(from_arrays(f, g), mapped, observed=model.observed(ids))
    assert joint.verdict.name == "affine"
    assert joint.old.inputs.verdict == "degenerate"
    assert joint.old.hold
    assert "15 of its 16 dimensions" in joint.conclusion
    assert joint.closeness.likelihoods.loss == pytest.approx(-model.log_likelihood(ids).mean())
    assert compare_models(model, model, ids).verdict.name == "identity"
