from __future__ import annotations

import math

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError, ShapeError, TooFewRowsError
from samespace.measures import alignment, rows, uniformity
from tests.measures.pairs import related, rotation
from tests.oracles import proximity
from tests.tolerances import atol

EXACT = atol("exact")


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_alignment_equals_a_loop_over_pairs(power, rng):
    X, Y = related(rng, d_x=3, d_y=3)
    expected = proximity.alignment(X, Y, power)
    assert alignment(X, Y, power=power) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_uniformity_equals_a_loop_over_pairs(temperature, rng):
    X, _ = related(rng, n=40)
    expected = proximity.uniformity(X, temperature)
    assert uniformity(X, temperature=temperature) == pytest.approx(expected, abs=EXACT)


def test_uniformity_of_the_uniform_sphere_is_known(rng):
    # E exp(-t |u - v|^2) over the 2-sphere is exp(-2t) sinh(2t) / (2t); at t = 2 its logarithm is -2.08.
    expected = math.log(math.exp(-4) * math.sinh(4) / 4)
    found = uniformity(rng.standard_normal((2000, 3)))
    assert found == pytest.approx(expected, abs=atol("statistical", standard_error=0.003))


def test_one_rotation_of_both_does_not_matter_and_of_one_it_does(rng):
    X, Y = related(rng, d_x=3, d_y=3)
    Q = rotation(rng, 3)
    assert alignment(X @ Q, Y @ Q) == pytest.approx(alignment(X, Y), abs=EXACT)
    assert abs(alignment(X @ Q, Y) - alignment(X, Y)) > 0.01
    assert uniformity(X @ Q) == pytest.approx(uniformity(X), abs=EXACT)


def test_normalised_does_not_see_the_length_of_a_row(rng):
    X, Y = related(rng, d_x=3, d_y=3)
    lengths = rng.uniform(0.1, 10, (len(X), 1))
    assert alignment(X * lengths, Y) == pytest.approx(alignment(X, Y), abs=EXACT)
    assert uniformity(X * lengths) == pytest.approx(uniformity(X), abs=EXACT)
    assert abs(alignment(X * lengths, Y, normalised=False) - alignment(X, Y)) > 0.1
    assert abs(uniformity(X * lengths, normalised=False) - uniformity(X)) > 0.1


def test_a_collapsed_encoder_is_aligned_and_not_uniform():
    X = np.ones((30, 4))
    assert alignment(X, X) == 0.0
    assert uniformity(X) == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize("n", [21, 22])
def test_blocks_do_not_matter_nor_does_a_last_row_alone(n, rng, monkeypatch):
    X = rng.standard_normal((n, 3))
    whole = uniformity(X)
    monkeypatch.setattr(rows, "_BLOCK_VALUES", 7 * n)
    assert uniformity(X) == pytest.approx(whole, abs=EXACT)


def test_potentials_that_all_underflow_still_have_a_logarithm(rng):
    X = 1e3 * rng.standard_normal((40, 3))
    squared = min(float((a - b) @ (a - b)) for i, a in enumerate(X) for b in X[:i])
    found = uniformity(X, normalised=False)
    assert found == pytest.approx(-2 * squared - math.log(40 * 39 / 2), rel=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda X: alignment(X, X, power=0), OptionError, "power=0; write a positive exponent"),
        (lambda X: alignment(X, X[:, :2]), ShapeError, "widths 4 and 2: the two views"),
        (lambda X: uniformity(X, temperature=-1), OptionError, "=-1; write a positive one"),
        (lambda X: uniformity(X[:1]), TooFewRowsError, "1 row makes no pair"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, error, message, rng):
    with pytest.raises(error, match=message):
        call(related(rng)[0])


def test_a_zero_row_has_no_direction(rng):
    X, _ = related(rng)
    X[:2] = 0
    with pytest.raises(DegenerateError, match="2 of the 200 rows of X are zero vectors"):
        uniformity(X)
