"""Writes ``measures.json``: what the oracles say of one pair of integer matrices that a formula gives.

Run ``python -m tests.golden.make_measures`` from the root of the repository. No line of the package is used,
and the data depend on no random generator, so the values should never change.
"""

from __future__ import annotations

import json
from pathlib import Path

import mpmath
import numpy as np

from tests.oracles import canonical, kernels, matching, proximity, shapes

PATH = Path(__file__).with_name("measures.json")
COMMAND = "python -m tests.golden.make_measures"


def data() -> tuple[np.ndarray, np.ndarray]:
    """Integer columns of different spread, Y partly a function of X."""
    i = np.arange(24)[:, None]
    X = (7 * i + i * i * (np.arange(3) + 2) + 5) % np.array([23, 19, 13]) - 8
    Y = np.column_stack([2 * X[:, 0] - X[:, 1] + i[:, 0] % 5, X[:, 2] - 3 * (i[:, 0] % 2)])
    return X.astype(float), Y.astype(float)


def values() -> dict[str, object]:
    X, Y = data()
    return {
        "canonical_correlations": [
            mpmath.nstr(r, 20) for r in canonical.canonical_correlations(X, Y)
        ],
        "svcca_of_two_components": canonical.svcca(X, Y, 2, 2).tolist(),
        "pwcca_weighted_by_x": canonical.pwcca(X, Y),
        "r2_per_dimension": canonical.r2(X, Y).tolist(),
        "mcc": matching.mcc(X, Y)[0],
        "mcc_spearman": matching.mcc(X, Y, spearman=True)[0],
        "mcc_columns_x": list(matching.mcc(X, Y)[1]),
        "cka_biased": kernels.biased_cka(X, Y),
        "cka_debiased": kernels.debiased_cka(X, Y),
        "procrustes_similarity": shapes.similarity_in_the_plane(X[:, :2], Y),
        "neighbour_overlap_euclidean_k4": proximity.neighbour_overlap(X, Y, 4),
        "uniformity": proximity.uniformity(X, 2.0),
    }


if __name__ == "__main__":
    PATH.write_text(json.dumps({"command": COMMAND, **values()}, indent=2) + "\n")
