"""Per-label biases absorbed into f and g."""

from __future__ import annotations

import numpy as np
import pytest

from samespace.errors import ShapeError
from samespace.family import absorb_bias, from_arrays
from tests.tolerances import atol


def test_absorbed_scores_are_the_biased_scores(rng):
    h, w, b = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    f, g = absorb_bias(h, w, b)
    assert f @ g.T == pytest.approx(h @ w.T + b, abs=atol("exact"))
    assert from_arrays(f, g, bias=True).bias


def test_the_papers_footnote_would_not_be_a_function_of_the_label(rng):
    """Roeder, Appendix D.6: q_w + b_w / q_hat entry by entry adds M b_w, and depends on the context
    q_hat.
    """
    q_hat, q, b = rng.normal(size=(2, 3)), rng.normal(size=3), 0.7
    absorbed = q + b / q_hat
    assert abs(absorbed[0] - absorbed[1]).max() > 0.1
    assert (q_hat * absorbed).sum(axis=1) == pytest.approx(q_hat @ q + 3 * b, abs=atol("exact"))


def test_torch_stays_torch(rng):
    torch = pytest.importorskip("torch")
    f, g = absorb_bias(torch.ones(2, 3), torch.ones(4, 3), torch.zeros(4))
    assert isinstance(f, torch.Tensor)
    assert f.shape == (2, 4)
    assert g.shape == (4, 4)


def test_one_bias_per_label():
    with pytest.raises(ShapeError, match="one bias per label: 4 labels"):
        absorb_bias(np.ones((2, 3)), np.ones((4, 3)), np.ones(5))
