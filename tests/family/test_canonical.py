"""The canonical model: its probabilities, its three kinds of S, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import FamilyError, NotFiniteError, OptionError, ShapeError
from samespace.family import Canonical, CanonicalModel, PerSample, from_arrays
from samespace.family.softmax import log_softmax, row_blocks, scores
from tests.tolerances import atol


def by_definition(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Eq. 1 of Roeder et al. 2021, one number at a time."""
    table = np.array([[np.exp(x @ y) for y in g] for x in f])
    return np.log(table / table.sum(axis=1, keepdims=True))


@pytest.fixture
def pair(rng):
    return rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


def test_log_prob_is_equation_one(pair):
    assert from_arrays(*pair).log_prob() == pytest.approx(by_definition(*pair), abs=atol("exact"))


def test_the_implementation_satisfies_the_protocol(pair):
    model = from_arrays(*pair)
    assert isinstance(model, Canonical)
    assert model.dim == 3


def test_a_set_per_batch_is_renormalised(pair):
    f, g = pair
    chosen = np.array([4, 0, 2])
    assert from_arrays(f, g).log_prob(None, chosen) == pytest.approx(
        by_definition(f, g[chosen]), abs=atol("exact")
    )


def test_a_set_per_sample_equals_each_sample_on_its_own(pair, rng):
    f, g = pair
    model, sets = from_arrays(f, g), rng.integers(5, size=(7, 4))
    together = model.log_prob(None, PerSample(sets))
    for i, one in enumerate(sets):
        assert together[i] == pytest.approx(
            by_definition(f[i : i + 1], g[one])[0], abs=atol("exact")
        )


def test_per_sample_labels_may_be_vectors(rng):
    model = CanonicalModel(f=lambda x: x, g=np.tanh, dim=2)
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(3, 4, 2))
    expected = [by_definition(x[i : i + 1], np.tanh(y[i]))[0] for i in range(3)]
    assert model.log_prob(x, PerSample(y)) == pytest.approx(np.array(expected), abs=atol("exact"))


def test_log_likelihood_is_the_observed_column_whatever_the_blocks(pair, monkeypatch):
    model, observed = from_arrays(*pair), np.array([0, 1, 2, 3, 4, 0, 1])
    expected = model.log_prob()[np.arange(7), observed]
    monkeypatch.setattr(
        "samespace.family.canonical.row_blocks", lambda F, G: row_blocks(F, G, entries=10)
    )
    assert model.log_likelihood(None, observed) == pytest.approx(expected, abs=atol("exact"))
    sets = PerSample(np.tile(np.arange(5), (7, 1)))
    assert model.log_likelihood(None, observed, sets) == pytest.approx(expected, abs=atol("exact"))


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e4))
def test_softmax_survives_any_scale_and_ignores_a_shift(shift, scale):
    table = scale * np.array([[0.0, 1.0, -2.0]])
    assert np.exp(log_softmax(table)).sum() == pytest.approx(1.0, abs=atol("exact"))
    tolerance = 1e-12 * (abs(shift) + scale)
    assert log_softmax(table + shift) == pytest.approx(log_softmax(table), abs=tolerance)


def test_torch_arrays_stay_torch(pair):
    torch = pytest.importorskip("torch")
    model = from_arrays(*(torch.as_tensor(a) for a in pair))
    assert isinstance(model.log_prob(), torch.Tensor)
    assert model.log_prob().numpy() == pytest.approx(by_definition(*pair), abs=atol("exact"))
    assert model.log_likelihood(None, np.zeros(7, dtype=int)).shape == (7,)


@given(st.integers(0, 2**16))
def test_exactly_the_admissible_affine_maps_leave_the_probabilities_alone(seed):
    """The proposition of docs/theory/family.md: f -> f A, g -> g A^-T + c; a shift of f is not
    free.
    """
    rng = np.random.default_rng(seed)
    f, g = rng.normal(size=(20, 3)), rng.normal(size=(8, 3))
    A, a, c = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=3), rng.normal(size=3)
    before = from_arrays(f, g).log_prob()
    mapped = np.linalg.solve(A, g.T).T
    assert from_arrays(f @ A, mapped + c).log_prob() == pytest.approx(before, abs=1e-9)
    assert abs(from_arrays(f @ A + a, mapped + c).log_prob() - before).max() > 1e-3
    assert abs(from_arrays(f @ A, g @ A).log_prob() - before).max() > 1e-3


def test_with_a_bias_the_shift_of_f_is_paid_by_the_biases(rng):
    h, w, b = rng.normal(size=(20, 3)), rng.normal(size=(8, 3)), rng.normal(size=8)
    A, a = rng.normal(size=(3, 3)) + 3 * np.eye(3), rng.normal(size=3)
    mapped = np.linalg.solve(A, w.T).T
    before = log_softmax(h @ w.T + b)
    after = log_softmax((h @ A + a) @ mapped.T + (b - mapped @ a))
    assert after == pytest.approx(before, abs=atol("exact"))


def test_where_labels_are_not_diverse_a_part_of_f_is_free(rng):
    f, g = rng.normal(size=(20, 3)), np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]])  # K = 2
    shift = np.array([2.0, -1.0, 5.0])  # orthogonal to the one difference of labels
    assert from_arrays(f + shift, g).log_prob() == pytest.approx(
        from_arrays(f, g).log_prob(), abs=atol("exact")
    )


def test_the_models_own_log_probabilities_are_checked(pair):
    f, g = pair
    from_arrays(f, g, by_definition(f, g))
    from_arrays(f, g, f @ g.T)  # unnormalised logits have the same form
    with pytest.raises(FamilyError, match="not the log-softmax of f g'"):
        from_arrays(f, g, -np.logaddexp(0.0, -f @ g.T))
    with pytest.raises(ShapeError, match="a row per input and a column per label"):
        from_arrays(f, g, by_definition(f, g).T)


def test_float32_outputs_are_checked_to_their_own_rounding(pair):
    f, g = pair
    half = [a.astype(np.float32) for a in (f, g, by_definition(f, g))]
    from_arrays(*half)
    half[2][0, 0] += 1e-3
    with pytest.raises(FamilyError, match="rounding explains"):
        from_arrays(*half)


def test_bias_must_be_a_column_of_ones(pair):
    f, g = pair
    with pytest.raises(FamilyError, match="last column is all ones"):
        from_arrays(f, g, bias=True)


def test_arrays_of_the_wrong_shape_are_refused(pair):
    f, g = pair
    with pytest.raises(ShapeError, match="pass its transpose"):
        from_arrays(f, g.T)
    with pytest.raises(ShapeError, match="rows of width M"):
        from_arrays(f[0], g)
    with pytest.raises(ShapeError, match="must give rows of width 3"):
        CanonicalModel(f=lambda x: x, g=lambda y: y, dim=3).embed(np.ones((2, 4)))
    with pytest.raises(ShapeError, match="it gave list"):
        CanonicalModel(f=list, g=list, dim=3).embed(())


def test_what_is_missing_or_does_not_fit_is_named(pair):
    model = from_arrays(*pair)
    with pytest.raises(OptionError, match="no fixed set of labels"):
        CanonicalModel(f=lambda x: x, g=lambda y: y, dim=3).log_prob(np.ones((2, 3)))
    with pytest.raises(OptionError, match="pass observed="):
        model.log_likelihood(None)
    with pytest.raises(ShapeError, match="one position in S per row of f"):
        model.log_likelihood(None, np.zeros(3, dtype=int))
    with pytest.raises(ShapeError, match="one set of candidates for all inputs"):
        PerSample(np.arange(3))
    with pytest.raises(ShapeError, match="need as many sets"):
        model.log_prob(np.arange(3), PerSample(np.zeros((4, 2), dtype=int)))
    with pytest.raises(NotFiniteError, match="NaN or infinity"):
        from_arrays(np.full((2, 3), np.nan), pair[1]).embed()


def test_integers_are_taken_as_numbers():
    model = from_arrays([[1, 2]], [[0, 1], [1, 0]])
    assert model.log_prob() == pytest.approx(
        by_definition(np.array([[1, 2]]), np.eye(2)[::-1]), abs=atol("exact")
    )


def test_scores_of_sets_per_input_match_a_loop(rng):
    F, G = rng.normal(size=(4, 2)), rng.normal(size=(4, 3, 2))
    assert scores(F, G) == pytest.approx(
        np.array([G[i] @ F[i] for i in range(4)]), abs=atol("exact")
    )
