"""Agreement of models layer by layer: the analysis of Roeder et al. 2021, Figure 4, on models of
your own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import DegenerateError, OptionError, ShapeError
from samespace.measures.result import Result

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


@dataclass(frozen=True, eq=False, repr=False)
class LayerAgreement(Result):
    """Mean SVCCA of every pair of models, for each layer and each number of components.

    Attributes
    ----------
    pairs
        Mean canonical correlations (pairs, layers, components).
    layers, components
        What the second and third axis stand for.
    names
        The two models of each pair, joined by a bar.
    n
        Rows that were compared.
    """

    pairs: Float[Array, "pairs layers components"]
    layers: tuple[int, ...]
    components: tuple[int, ...]
    names: tuple[str, ...]
    n: int

    @property
    def mean(self) -> Float[Array, "layers components"]:
        """Average over all pairs, as the paper's figure shows it."""
        return self.pairs.mean(axis=0)


def layer_agreement(
    models: Mapping[str, Mapping[int, Any]], *, components: Sequence[int] = (16, 64, 256, 768)
) -> LayerAgreement:
    r"""How linearly related the same layer of different models is, over all pairs of models.

    Every feature is standardised; with :math:`U_k` the first k left singular vectors of a model's
    rows, the correlations of two models are the singular values of :math:`U_k' \tilde U_k`, and
    their mean is averaged over all pairs. The claim is that the last layer, which the theorem
    speaks of, agrees better than earlier ones.

    Invariant to scaling and shifting single features. Not invariant to general linear maps: which k
    directions are kept depends on the coordinates.

    Parameters
    ----------
    models
        For each model its layers: rows of hidden states (n, d) on the same inputs, under the
        layer's index, as `samespace.family.hidden.Reader` gives them.
    components
        Numbers of directions to keep; at most the rank of the narrowest layer.

    Notes
    -----
    In sample, as in the paper: with n rows, k directions of *independent* rows read about sqrt(k /
    n). The released notebook counts one of its six pairs twice and leaves one out; here each pair
    counts once.

    References
    ----------
    Roeder et al. 2021, Section 5.3 and Figure 4; Raghu et al. 2017.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((500, 8))
    >>> models = {"a": {-1: rows}, "b": {-1: 2 * rows + 1}, "c": {-1: rng.standard_normal((500, 8))}}
    >>> found = layer_agreement(models, components=[4])
    >>> dict(zip(found.names, found.pairs[:, 0, 0].round(2).tolist()))
    {'a|b': 1.0, 'a|c': 0.07, 'b|c': 0.07}
    """
    layers = _shared_layers(models)
    n = _shared_rows(models)
    pairs = list(combinations(models, 2))
    table = np.empty((len(pairs), len(layers), len(components)))
    for column, layer in enumerate(layers):
        bases = {
            name: _directions(states[layer], max(components), f"layer {layer} of {name!r}")
            for name, states in models.items()
        }
        for row, (one, other) in enumerate(pairs):
            cross = bases[one].T @ bases[other]
            table[row, column] = [_mean_correlation(cross[:k, :k]) for k in components]
    names = tuple(f"{one}|{other}" for one, other in pairs)
    return LayerAgreement(table, tuple(layers), tuple(components), names, n)


def _directions(states: Any, k: int, what: str) -> Float[Array, "n k"]:
    """First k left singular vectors of the standardised rows."""
    rows = np.asarray(states, dtype=np.float64)
    centred = rows - rows.mean(axis=0)
    spread = centred.std(axis=0)
    if not (spread > 0).all():
        raise DegenerateError(
            f"{what} has {int((spread == 0).sum())} constant features; leave them out."
        )
    u, singular, _ = np.linalg.svd(centred / spread, full_matrices=False)
    rank = int((singular > singular[0] * max(rows.shape) * np.finfo(np.float64).eps).sum())
    if k > rank:
        raise OptionError(
            f"{what} has {rank} directions ({rows.shape[0]} rows); {k} components were asked for."
        )
    return u[:, :k]


def _mean_correlation(cross: Float[Array, "k k"]) -> float:
    return float(np.minimum(np.linalg.svd(cross, compute_uv=False), 1.0).mean())


def _shared_layers(models: Mapping[str, Mapping[int, Any]]) -> list[int]:
    if len(models) < 2:
        raise OptionError(
            f"Agreement is between models: at least two are needed, got {len(models)}."
        )
    first = list(next(iter(models.values())))
    for name, states in models.items():
        if list(states) != first:
            raise OptionError(
                f"All models need the same layers; {name!r} has {list(states)}, not {first}."
            )
    return first


def _shared_rows(models: Mapping[str, Mapping[int, Any]]) -> int:
    counts = {
        f"{name}, layer {i}": len(rows) for name, s in models.items() for i, rows in s.items()
    }
    if len(set(counts.values())) != 1:
        raise ShapeError(
            f"All layers need the same rows; got {counts}. Models must share their tokeniser."
        )
    return next(iter(counts.values()))
