"""Lemma A.1 by minimising the exact risk; the theorems, their counterexample and its repair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from samespace.errors import DegenerateError, OptionError, ShapeError
from samespace.theory.semantic_optimum import in_batch_risk, log_lift, optimum
from samespace.theory.semantic_theorems import counterexample, theorem_3_1, theorem_4_2
from samespace.worlds.modular import CModAdd
from tests.tolerances import atol

EXACT = atol("exact")
JOINT = np.random.default_rng(0).dirichlet(np.full(12, 3.0)).reshape(3, 4)


@pytest.mark.parametrize("over", ["contexts", "symbols"])
@pytest.mark.parametrize("batch", [2, 3])
def test_the_minimiser_has_the_logits_of_lemma_a1_up_to_its_free_constants(over, batch):
    found = optimum(JOINT, batch=batch, over=over, rng=np.random.default_rng(1))
    assert found.residual < atol("iterative")
    best = in_batch_risk(log_lift(JOINT), JOINT, batch=batch, over=over)
    assert abs(found.risk - best) < EXACT
    # The constants are free on one side and not on the other.
    gap = found.logits - log_lift(JOINT)
    axis = 1 if over == "contexts" else 0
    assert np.ptp(gap, axis=axis).max() < atol("iterative")
    assert np.ptp(gap, axis=1 - axis).max() > 0.1


@pytest.mark.parametrize("over", ["contexts", "symbols"])
def test_risk_is_the_mean_loss_of_all_batches(over):
    logits = np.random.default_rng(2).normal(size=(3, 4))
    expected = 0.0
    # Every way to draw three pairs; the first one is judged, the others lend their candidate.
    for drawn in itertools.product(np.ndindex(3, 4), repeat=3):
        chance = np.prod([JOINT[pair] for pair in drawn])
        s, c = drawn[0]
        candidates = [logits[s, k] if over == "contexts" else logits[j, c] for j, k in drawn]
        expected += chance * (np.log(np.exp(candidates).sum()) - candidates[0])
    assert abs(in_batch_risk(logits, JOINT, batch=3, over=over) - expected) < EXACT


@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_the_counterexample_is_optimal_with_equivalents_apart(dimension):
    joint, symbols, contexts = counterexample(dimension, apart=7.0)
    logits = symbols @ contexts.T
    best = in_batch_risk(log_lift(joint), joint)
    assert abs(in_batch_risk(logits, joint) - best) < EXACT
    assert abs(np.linalg.norm(symbols[0] - symbols[1]) - 7.0) < EXACT
    found = theorem_4_2(joint, contexts, 0, 1)
    assert (found.as_printed, found.forced) == (True, False)
    assert f"{dimension + 1} are needed" in found.reason
    # What Lemma A.1 minimises does see the move.
    over = {"over": "symbols"}
    assert (
        in_batch_risk(logits, joint, **over) > in_batch_risk(log_lift(joint), joint, **over) + 0.1
    )
    assert theorem_4_2(joint, contexts, 0, 1, **over).forced


def test_one_more_affinely_independent_context_repairs_it():
    joint = np.full((3, 3), 1 / 9)
    plane = np.array([[1.0, 0.0], [0.0, 1.0]])
    on_line = np.vstack([plane, [[0.5, 0.5]]])
    off_line = np.vstack([plane, [[0.0, 0.0]]])
    assert not theorem_4_2(joint, on_line, 0, 1).forced
    repaired = theorem_4_2(joint, off_line, 0, 1)
    assert (repaired.forced, repaired.affine_rank) == (True, 2)
    # Any embedding of u that fits as well as that of v is that of v.
    system = np.column_stack([off_line, -np.ones(3)])
    assert np.linalg.matrix_rank(system) == 3


def test_symbols_that_differ_are_not_forced_together():
    found = theorem_4_2(JOINT, np.random.default_rng(3).normal(size=(4, 2)), 0, 1)
    assert (found.equivalent, found.forced) == (False, False)
    assert "do not occur in the same contexts" in found.reason


def test_pairs_that_never_occur_leave_no_optimal_model():
    data = CModAdd(numbers=4, modulus=2).triplets()
    _, context = np.unique(data.context, axis=0, return_inverse=True)
    joint = np.zeros((4, context.max() + 1))
    np.add.at(joint, (data.symbol, context.ravel()), data.probability)
    found = theorem_4_2(joint, np.random.default_rng(0).normal(size=(joint.shape[1], 2)), 0, 2)
    assert (found.equivalent, found.affine, found.attained, found.forced) == (
        True,
        True,
        False,
        False,
    )
    assert "infinity" in found.reason


def test_a_flat_cloud_of_contexts_names_its_rank():
    found = theorem_4_2(np.full((2, 3), 1 / 6), np.zeros((3, 2)), 0, 1)
    assert (found.rank, found.basis, found.forced) == (0, False, False)
    assert "span 0 of 2" in found.reason


def test_labels_make_theorem_3_1_of_theorem_4_2():
    rng = np.random.default_rng(4)
    joint = rng.dirichlet(np.ones(6)).reshape(1, 3, 2) * np.array([0.5, 0.5])[:, None, None]
    embedded = rng.normal(size=(3, 2, 2))
    assert theorem_3_1(joint, embedded, 0, 1).forced
    other = joint.copy()
    other[1, 0] = other[1, 0, ::-1]  # another label in one context: no longer equivalent
    assert not theorem_3_1(other, embedded, 0, 1).equivalent


def test_what_cannot_be_meant_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(DegenerateError, match="never occur"):
        optimum(np.array([[0.5, 0.0], [0.25, 0.25]]), rng=rng)
    with pytest.raises(DegenerateError, match="leave its row or column out"):
        log_lift(np.array([[0.5, 0.5], [0.0, 0.0]]))
    with pytest.raises(OptionError, match="sum to 1"):
        log_lift(np.ones((2, 2)))
    with pytest.raises(ShapeError, match="table"):
        log_lift(np.ones(3) / 3)
    with pytest.raises(ShapeError, match="tables of one shape"):
        in_batch_risk(np.zeros((2, 2)), JOINT)
    with pytest.raises(OptionError, match="'contexts' or 'symbols'"):
        in_batch_risk(np.zeros((3, 4)), JOINT, over="rows")
    with pytest.raises(OptionError, match="batch 1"):
        in_batch_risk(np.zeros((3, 4)), JOINT, batch=1)
    with pytest.raises(OptionError, match="'contexts' or 'symbols'"):
        theorem_4_2(JOINT, np.zeros((4, 2)), 0, 1, over="rows")
    with pytest.raises(ShapeError, match="one row of embeddings"):
        theorem_4_2(JOINT, np.zeros((5, 2)), 0, 1)
    with pytest.raises(ShapeError, match="contexts, labels, d"):
        theorem_3_1(JOINT, np.zeros((4, 2)), 0, 1)
    with pytest.raises(OptionError, match="at least 2"):
        counterexample(1)
