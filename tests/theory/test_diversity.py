"""Whether vectors are diverse, and whether the choice among them conditions L well."""

from __future__ import annotations

from importlib import import_module
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import DiversityError, OptionError
from samespace.theory import choice
from samespace.theory.diversity import diversity
from tests.tolerances import atol, rtol


def condition_by_hand(vectors: np.ndarray, chosen: np.ndarray) -> float:
    return float(np.linalg.cond((vectors[chosen[1:]] - vectors[chosen[0]]).T))


def test_too_few_labels_are_named_as_such(rng: np.random.Generator) -> None:
    found = diversity(rng.standard_normal((3, 3)))
    assert (found.verdict, found.holds, found.rank, len(found.chosen)) == ("too few", False, 2, 3)
    assert "3 labels have at most 2 independent differences and M = 3 needs 3" in found.reason
    assert "K >= 4" in found.reason


def test_enough_labels_in_a_smaller_subspace_are_degenerate(rng: np.random.Generator) -> None:
    flat = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 4)) + 7.0
    found = diversity(flat)
    assert (found.verdict, found.rank, len(found.chosen)) == ("degenerate", 2, 3)
    assert "span only 2 of 4 dimensions: outside of these f is not determined" in found.reason


def test_the_shift_of_g_does_not_count_as_a_dimension(rng: np.random.Generator) -> None:
    # Vectors of rank 2 about zero whose differences have rank 1.
    line = np.column_stack([np.ones(5), np.arange(5.0)])
    assert np.linalg.matrix_rank(line) == 2
    assert diversity(line).rank == 1


def test_equal_vectors_have_no_difference_at_all() -> None:
    found = diversity(np.ones((6, 2)))
    assert (found.rank, found.condition, found.cloud_condition) == (0, None, None)
    with pytest.raises(DiversityError, match="span only 0 of 2 dimensions"):
        found.require()


def test_nearly_dependent_vectors_hold_on_paper_only(rng: np.random.Generator) -> None:
    thin = rng.standard_normal((10, 2)) * [1.0, 1e-9]
    found = diversity(thin)
    assert (found.verdict, found.holds) == ("ill-conditioned", True)
    assert "rounding is multiplied by their condition number" in found.reason


def test_float32_rounding_is_not_taken_for_a_dimension(rng: np.random.Generator) -> None:
    flat = (rng.standard_normal((50, 2)) @ rng.standard_normal((2, 3))).astype(np.float32)
    assert diversity(flat).rank == 2
    assert diversity(flat, tolerance=1e-12).rank == 3


def test_inputs_are_worded_as_inputs(rng: np.random.Generator) -> None:
    assert "n >= 4: equal likelihoods do not determine g" in (
        diversity(rng.standard_normal((2, 3)), of="inputs").reason
    )


def test_enumeration_finds_the_best_conditioned_set(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((6, 2))
    found = diversity(vectors, method="enumerate")
    by_hand = min(condition_by_hand(vectors, np.array(p)) for p in permutations(range(6), 3))
    np.testing.assert_allclose(found.condition, by_hand, rtol=rtol("exact"))


@given(seed=st.integers(0, 2**32 - 1), m=st.integers(2, 6), extra=st.integers(1, 30))
def test_exchanges_never_condition_worse_than_their_start_in_frobenius_norm(
    seed: int, m: int, extra: int
) -> None:
    points = np.random.default_rng(seed).standard_normal((m + 1 + extra, m))
    start, spans = choice.by_pivoted_qr(points)
    assert spans
    best, _ = choice.by_exchanges(points, start)

    def frobenius(chosen: np.ndarray) -> float:
        vertices = points[chosen] - points[chosen].mean(axis=0)
        gradients = np.linalg.inv(np.column_stack([np.ones(m + 1), points[chosen]]))[1:]
        return float(np.linalg.norm(vertices) * np.linalg.norm(gradients))

    assert frobenius(best) <= frobenius(start) * (1 + 1e-12)
    assert len(set(best.tolist())) == m + 1


@pytest.mark.parametrize("method", ["qr", "exchange"])
@given(seed=st.integers(0, 2**32 - 1), m=st.integers(1, 20), kinds=st.integers(2, 60))
def test_copies_do_not_crowd_out_the_vectors_that_complete_them(
    method: str, seed: int, m: int, kinds: int
) -> None:
    rng = np.random.default_rng(seed)
    distinct = rng.standard_normal((kinds, m)) * np.geomspace(1.0, 100.0, kinds)[:, None]
    vectors = distinct[np.sort(rng.integers(0, kinds, 400))]
    found = diversity(vectors, method=method)
    assert found.rank == np.linalg.matrix_rank(vectors - vectors.mean(axis=0))
    assert len(set(found.chosen.tolist())) == found.rank + 1
    assert np.linalg.matrix_rank(vectors[found.chosen[1:]] - vectors[found.chosen[0]]) == found.rank


@pytest.mark.parametrize("method", ["qr", "exchange"])
def test_one_hot_vectors_are_chosen_once_each(rng: np.random.Generator, method: str) -> None:
    vectors = np.eye(30)[rng.integers(0, 30, 500)]
    found = diversity(vectors, method=method)
    assert found.rank == 29
    assert len(np.unique(vectors[found.chosen], axis=0)) == 30


def test_the_blocks_that_are_read_do_not_matter_to_what_spans(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = np.repeat(rng.standard_normal((9, 6)), 100, axis=0)
    # By name: the package's attribute `diversity` is the function.
    monkeypatch.setattr(
        import_module("samespace.theory.diversity"), "block_rows", lambda *_, **__: 37
    )
    found = diversity(vectors, method="qr")
    assert np.linalg.matrix_rank(vectors[found.chosen[1:]] - vectors[found.chosen[0]]) == 6


def test_the_cost_of_an_exchange_is_the_cost_after_it(rng: np.random.Generator) -> None:
    points = rng.standard_normal((12, 3))
    chosen = np.array([0, 1, 2, 3])
    _, after = choice._exchange_costs(points, chosen)
    for new, old in ((7, 0), (11, 3)):
        exchanged = chosen.copy()
        exchanged[old] = new
        now, _ = choice._exchange_costs(points, exchanged)
        np.testing.assert_allclose(after[new, old], now, rtol=rtol("exact"))


def test_the_best_pivot_is_the_best_of_all_pivots(rng: np.random.Generator) -> None:
    points = rng.standard_normal((5, 4)) * [1.0, 2.0, 3.0, 10.0]
    chosen = choice.best_pivot_first(points, np.arange(5))

    def frobenius(order: np.ndarray) -> float:
        L = points[order[1:]] - points[order[0]]
        return float(np.linalg.norm(L) * np.linalg.norm(np.linalg.inv(L)))

    turned = [np.r_[p, np.delete(np.arange(5), p)] for p in range(5)]
    np.testing.assert_allclose(frobenius(chosen), min(map(frobenius, turned)), rtol=rtol("exact"))


def test_exchange_beats_the_median_random_set_and_a_plain_qr_on_skewed_vectors(
    rng: np.random.Generator,
) -> None:
    vectors = (
        rng.standard_normal((300, 8))
        * np.logspace(0, 2, 8)
        @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    )
    exchange, qr = (diversity(vectors, method=m).condition for m in ("exchange", "qr"))
    random = [condition_by_hand(vectors, rng.choice(300, 9, replace=False)) for _ in range(50)]
    assert exchange is not None
    assert qr is not None
    assert exchange < qr
    assert exchange < np.median(random) / 3


def test_resampling_stops_at_the_first_set_that_is_good_enough(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((40, 3))
    easy = diversity(vectors, method="resample", rng=np.random.default_rng(0), max_condition=1e6)
    hard = diversity(vectors, method="resample", rng=np.random.default_rng(0), max_condition=2.5)
    assert easy.method == "best of 1 random sets of 40"
    assert hard.condition is not None
    assert easy.condition is not None
    assert hard.condition <= easy.condition
    same = diversity(vectors, method="resample", rng=np.random.default_rng(0), max_condition=2.5)
    np.testing.assert_array_equal(same.chosen, hard.chosen)


def test_the_condition_is_that_of_the_chosen_differences(rng: np.random.Generator) -> None:
    vectors = rng.standard_normal((200, 5))
    found = diversity(vectors)
    assert found.method == "qr and " + found.method[7:]
    np.testing.assert_allclose(
        found.condition, condition_by_hand(vectors, found.chosen), rtol=rtol("exact")
    )


def test_the_verdict_survives_a_map_and_a_shift_and_paths_are_read(
    rng: np.random.Generator, tmp_path: object
) -> None:
    vectors = rng.standard_normal((30, 4))
    moved = vectors @ rng.standard_normal((4, 4)) + 5.0
    assert diversity(moved).rank == diversity(vectors).rank == 4
    path = f"{tmp_path}/g.npy"
    np.save(path, vectors)
    np.testing.assert_array_equal(diversity(path).chosen, diversity(vectors).chosen)


def test_an_unknown_method_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match="method='best'; write 'auto', 'qr'"):
        diversity(rng.standard_normal((9, 2)), method="best")  # type: ignore[arg-type]


def test_resampling_asks_for_its_generator(rng: np.random.Generator) -> None:
    with pytest.raises(OptionError, match="method='resample' draws sets: pass rng="):
        diversity(rng.standard_normal((9, 2)), method="resample")


def test_to_dict_round_trips(rng: np.random.Generator) -> None:
    found = diversity(rng.standard_normal((9, 2)))
    again = type(found).from_dict(found.to_dict())
    np.testing.assert_array_equal(again.chosen, found.chosen)
    assert again.reason == found.reason
    assert abs(float(again.condition or 0) - float(found.condition or 1)) <= atol("exact")
