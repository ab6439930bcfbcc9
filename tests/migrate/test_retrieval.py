"""Ranking and its scores, against sorting everything and against formulas written out by hand."""

from __future__ import annotations

import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.errors import OptionError, PairingError, ShapeError
from samespace.maps import Affine, Orthogonal
from samespace.migrate import evaluate, evaluate_migration, rank, ranking
from tests.tolerances import atol


def sorted_everything(Q, D, depth, similarity):
    Q, D = Q.astype(np.float32), D.astype(np.float32)
    if similarity == "cosine":
        Q = Q / np.linalg.norm(Q, axis=1, keepdims=True)
        D = D / np.linalg.norm(D, axis=1, keepdims=True)
    return np.argsort(-(Q @ D.T), axis=1, kind="stable")[:, :depth]


class TestRank:
    @pytest.mark.parametrize("similarity", ["cosine", "dot"])
    @pytest.mark.parametrize("depth", [1, 7, 40, 500])
    def test_it_is_sorting_everything(self, rng, monkeypatch, similarity, depth):
        monkeypatch.setattr(ranking, "_DOCUMENTS", 37)
        monkeypatch.setattr(ranking, "_QUERIES", 5)
        Q, D = rng.standard_normal((12, 4)), rng.standard_normal((300, 4))
        expected = sorted_everything(Q, D, depth, similarity)
        np.testing.assert_array_equal(rank(Q, D, depth=depth, similarity=similarity), expected)

    @given(
        st.lists(st.integers(0, 2), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 12)
    )
    def test_ties_go_to_the_earlier_document_however_the_work_is_cut(self, values, depth, block):
        D = np.array(values, float)[:, None]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranking, "_DOCUMENTS", block)
            found = rank(np.ones((1, 1)), D, depth=depth, similarity="dot")
        np.testing.assert_array_equal(found, np.argsort(-D.T, axis=1, kind="stable")[:, :depth])

    def test_documents_of_length_zero_rank_by_similarity_zero(self):
        D = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
        np.testing.assert_array_equal(rank(np.array([[1.0, 0.0]]), D), [[1, 0, 2]])

    def test_documents_in_a_file(self, tmp_path, rng):
        Q, D = rng.standard_normal((3, 4)), rng.standard_normal((50, 4))
        np.save(tmp_path / "d.npy", D)
        np.testing.assert_array_equal(rank(Q, tmp_path / "d.npy"), rank(Q, D))

    def test_tensors_rank_as_arrays_do(self, rng):
        torch = pytest.importorskip("torch", reason="needs torch, an optional library")
        Q, D = rng.standard_normal((3, 4)), rng.standard_normal((50, 4))
        np.testing.assert_array_equal(rank(torch.asarray(Q), torch.asarray(D)), rank(Q, D))

    def test_different_widths(self):
        with pytest.raises(
            ShapeError, match=r"queries are 2 wide and documents 3.*Map one side first"
        ):
            rank(np.ones((4, 2)), np.ones((5, 3)))

    def test_options_that_mean_nothing(self):
        with pytest.raises(OptionError, match="depth=0; needed is at least 1"):
            rank(np.ones((4, 2)), np.ones((5, 2)), depth=0)
        with pytest.raises(OptionError, match="similarity='l2'; write 'cosine' or 'dot'"):
            rank(np.ones((4, 2)), np.ones((5, 2)), similarity="l2")


class TestScores:
    # One query along the first axis; documents at known similarities, best first: 3, 1, 0, 2.
    Q = np.array([[1.0]])
    D = np.array([[0.5], [0.7], [0.1], [0.9]])

    def score(self, relevant, **options):
        return evaluate(self.Q, self.D, relevant, similarity="dot", **options)

    def test_by_hand(self):
        found = self.score([[1, 2]], ks=(1, 2, 4))  # at ranks 2 and 4
        assert found.recall == {1: 0.0, 2: 0.5, 4: 1.0}
        ideal = 1 / math.log2(2) + 1 / math.log2(3)
        expected = (1 / math.log2(3) + 1 / math.log2(5)) / ideal
        assert found.ndcg == pytest.approx(expected, abs=atol("exact"))
        assert found.mrr == 0.5
        assert (found.queries, found.depth) == (1, 4)

    def test_graded_gains_count_linearly_and_zero_means_irrelevant(self):
        found = self.score([{3: 1.0, 1: 3.0, 0: 0.0}], ks=(1,))
        ideal = 3 / math.log2(2) + 1 / math.log2(3)
        expected = (1 / math.log2(2) + 3 / math.log2(3)) / ideal
        assert found.ndcg == pytest.approx(expected, abs=atol("exact"))
        assert found.recall == {1: 0.5}

    def test_a_perfect_ranking_scores_one(self):
        found = self.score([[3, 1]], ks=(2,))
        assert repr(found).startswith("Retrieval(recall@2=1.0000, ndcg")
        assert (found.recall[2], found.ndcg, found.mrr) == (1.0, 1.0, 1.0)

    def test_nothing_found_scores_zero(self, rng):
        documents = np.linspace(1, 2, 200)[:, None]
        found = evaluate(self.Q, documents, [[0]], similarity="dot", ks=(1, 10))
        assert (found.recall, found.ndcg, found.mrr) == ({1: 0.0, 10: 0.0}, 0.0, 0.0)

    def test_values_by_query_average_to_the_means(self, rng):
        Q, D = rng.standard_normal((9, 3)), rng.standard_normal((40, 3))
        found = evaluate(Q, D, [[i, i + 1] for i in range(9)])
        assert found.ndcg == pytest.approx(found.per_query["ndcg"].mean())
        assert found.to_dict()["recall@10"] == pytest.approx(found.per_query["recall@10"].mean())

    def test_more_relevant_documents_than_ranks(self):
        found = evaluate(self.Q, np.ones((30, 1)), [range(30)], ks=(10,))
        assert found.ndcg == pytest.approx(1.0)
        assert found.recall == {10: pytest.approx(1 / 3)}

    def test_judgements_that_cannot_be_scored(self):
        with pytest.raises(PairingError, match="1 queries and 2 judgements"):
            self.score([[1], [2]])
        with pytest.raises(PairingError, match="query 0 has no relevant document"):
            self.score([[]])

    @pytest.mark.parametrize("row", [4, -1])
    def test_judgements_of_documents_that_are_not_there(self, row):
        with pytest.raises(PairingError, match=f"query 0 names document {row}; there are 4"):
            self.score([[row]])

    @pytest.mark.parametrize("ks", [(), (0, 10)])
    def test_depths_that_mean_nothing(self, ks):
        with pytest.raises(OptionError, match="needed are depths of 1 or more"):
            self.score([[1]], ks=ks)

    @pytest.mark.parametrize(
        ("model", "ndcg"), [("minilm", 0.649), ("mpnet", 0.656), ("sre", 0.226)]
    )
    def test_scifact_scores_as_published(self, shared_data, model, ndcg):
        vectors, relevant = scifact(shared_data)
        found = evaluate(vectors[f"queries_{model}"], vectors[f"docs_{model}"], relevant)
        assert found.ndcg == pytest.approx(ndcg, abs=0.0006)


def scifact(folder):
    vectors = np.load(folder / "retrieval" / "scifact-embeddings.npz")
    with gzip.open(folder / "retrieval" / "scifact.json.gz") as file:
        texts = json.load(file)
    row = {name: i for i, name in enumerate(texts["doc_ids"])}
    return vectors, [[row[doc] for doc in texts["val"][str(q)][1]] for q in vectors["qids"]]


class TestMigration:
    @pytest.fixture
    def world(self, rng):
        """A new model that is better than the old one, which is a noisy rotation of it."""
        documents = rng.standard_normal((600, 16))
        queries = documents[:200] + 0.6 * rng.standard_normal((200, 16))
        turn = np.linalg.qr(rng.standard_normal((16, 16)))[0]
        blur = 0.7 * rng.standard_normal((800, 16))
        return {
            "old_documents": (documents + blur[:600]) @ turn,
            "old_queries": (queries + blur[600:]) @ turn,
            "new_documents": documents,
            "new_queries": queries,
            "relevant": [[i] for i in range(200)],
        }

    def fit(self, world, side):
        old, new = world["old_documents"][200:], world["new_documents"][200:]
        return Orthogonal.fit(old, new) if side == "old-to-new" else Orthogonal.fit(new, old)

    @pytest.mark.parametrize("side", ["old-to-new", "new-to-old"])
    def test_the_map_stands_between_its_baselines(self, world, side):
        found = evaluate_migration(self.fit(world, side), **world, side=side)
        assert found.keep_old.ndcg < found.mapped.ndcg < found.reembed.ndcg
        assert found.unmapped.ndcg < 0.1
        assert (found.gain.sign, found.shortfall.sign) == (1, 1)
        assert "better than keeping the old model" in found.reason
        assert str(found).count("\n") == 6

    @pytest.mark.parametrize("side", ["old-to-new", "new-to-old"])
    def test_the_map_is_applied_to_the_side_it_says(self, world, side):
        fitted = self.fit(world, side)
        found = evaluate_migration(fitted, **world, side=side)
        if side == "old-to-new":
            sides = world["new_queries"], fitted.transform(world["old_documents"])
        else:
            sides = fitted.transform(world["new_queries"]), world["old_documents"]
        assert found.mapped.to_dict() == evaluate(*sides, world["relevant"]).to_dict()

    def test_the_right_map_between_equal_models_loses_nothing(self, world, rng):
        turn = np.linalg.qr(rng.standard_normal((16, 16)))[0]
        world |= {
            "old_documents": world["new_documents"] @ turn,
            "old_queries": world["new_queries"] @ turn,
        }
        found = evaluate_migration(self.fit(world, "old-to-new"), **world)
        assert found.mapped.ndcg == pytest.approx(found.reembed.ndcg, abs=atol("exact"))
        assert (found.gain.sign, found.shortfall.sign) == (0, 0)
        assert "cannot be told apart on these 200 queries" in found.reason

    def test_a_harmful_map_is_called_one(self, world):
        useless = Affine(np.eye(16)[::-1].copy(), np.zeros(16), 0.0)
        found = evaluate_migration(useless, **world)
        assert found.gain.sign == -1
        assert "worse than keeping the old model" in found.reason

    def test_models_of_different_width_have_no_unmapped_row(self, world):
        world["old_documents"] = world["old_documents"][:, :12]
        world["old_queries"] = world["old_queries"][:, :12]
        fitted = Affine.fit(world["old_documents"][200:], world["new_documents"][200:])
        found = evaluate_migration(fitted, **world)
        assert found.unmapped is None
        assert found.to_dict()["unmapped"] is None
        assert "new queries, old index" not in str(found)

    def test_equal_seeds_agree_and_different_seeds_differ(self, world):
        fitted = self.fit(world, "old-to-new")
        one, two, other = (evaluate_migration(fitted, **world, rng=seed) for seed in (1, 1, 2))
        assert one.gain == two.gain
        assert one.gain.interval != other.gain.interval

    def test_the_interval_is_that_of_the_mean(self, world):
        found = evaluate_migration(self.fit(world, "old-to-new"), **world)
        by_query = found.mapped.per_query["ndcg"] - found.keep_old.per_query["ndcg"]
        error = by_query.std(ddof=1) / math.sqrt(len(by_query))
        # Quantiles of 2000 resamples scatter by a few percent around the normal interval.
        assert found.gain.interval.half_width == pytest.approx(1.96 * error, rel=0.1)

    def test_a_side_that_means_nothing(self, world):
        with pytest.raises(OptionError, match="side='both'; write one of"):
            evaluate_migration(self.fit(world, "old-to-new"), **world, side="both")
