r"""SVCCA: canonical correlations between the leading principal components of two representations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from samespace.errors import OptionError
from samespace.measures.cca import canonical
from samespace.measures.held_out import pooled_correlations
from samespace.measures.result import Result
from samespace.measures.whitening import column_spread, constant, sides
from samespace.moments import Moments

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.measures.whitening import Side


@dataclass(frozen=True, eq=False, repr=False)
class SVCCA(Result):
    """Canonical correlations, descending, between ``components_x`` and ``components_y`` components.

    ``variance_x`` and ``variance_y`` are the shares of variance that those components hold.
    ``held_out_correlations`` is None when it was not asked for, or when there were no two folds with rows.
    """

    correlations: Float[Array, " r"]
    held_out_correlations: Float[Array, " q"] | None
    components_x: int
    components_y: int
    variance_x: float
    variance_y: float
    standardised: bool
    n: int
    d_x: int
    d_y: int

    @property
    def mean(self) -> float:
        """In-sample mean of the correlations."""
        return float(self.correlations.mean())

    @property
    def held_out_mean(self) -> float | None:
        """Mean of the held-out correlations."""
        held_out = self.held_out_correlations
        return None if held_out is None else float(held_out.mean())


def svcca(
    x: Any,
    y: Any = None,
    *,
    components: int | None = None,
    variance_kept: float | None = None,
    standardised: bool = False,
    held_out: bool = True,
) -> SVCCA:
    r"""Canonical correlations of X and Y after each is cut to its leading principal components.

    .. math:: \rho = \operatorname{sv}\bigl(\Lambda_x^{-1/2} V_x' S_{xy} V_y \Lambda_y^{-1/2}\bigr),

    with V the leading eigenvectors of :math:`S` and :math:`\Lambda` their eigenvalues: the singular values of
    :math:`U_x'U_y`, for the leading left singular vectors U of the centred rows.

    **Invariant to** a rotation or reflection, one scale and a shift of either side (with ``standardised``
    instead: to a scale of each column, a permutation and a shift). Unlike CCA it is *not* invariant to
    affine maps, since the cut goes by variance.

    **It misleads** where the cut falls inside a group of nearly equal eigenvalues: then the span kept is
    chosen by noise, and two samples of one model lose correlation. A share of variance keeps different
    numbers of components on either side and for other data; a number of components keeps different
    shares: published values differ by this choice alone, so ours records both. In-sample values flatter
    as those of CCA do, with the number of components in the place of the width.

    Parameters
    ----------
    x, y
        Arrays, paths or representations with paired rows; or a :class:`~samespace.moments.Moments` as ``x``.
    components
        Components kept on either side, at most the numerical rank; or
    variance_kept
        share of variance to keep, in (0, 1]: the fewest components that hold it. Default 0.99.
    standardised
        First scale every column to unit variance (as Roeder et al. do in their Figure 4).
    held_out
        Also fit components and directions without each fold, and judge them on it.

    Returns
    -------
    SVCCA
        Spectrum, numbers of components and the shares that they hold; ``.mean`` and ``.held_out_mean``.

    References
    ----------
    Raghu, Gilmer, Yosinski and Sohl-Dickstein (2017), SVCCA: singular vector canonical correlation analysis
    for deep learning dynamics and interpretability, Section 2; Roeder, Metz and Kingma (2021), Figure 4.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.measures import svcca
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.standard_normal((300, 3))
    >>> X = np.hstack([signal, 0.01 * rng.standard_normal((300, 5))])
    >>> Y = np.hstack([signal[:, ::-1], 0.01 * rng.standard_normal((300, 5))])
    >>> found = svcca(X, Y, components=3)
    >>> print(found.correlations.round(3), round(found.variance_x, 3))
    [1. 1. 1.] 1.0
    """
    m = Moments.of(x, y)
    share = _checked(components, variance_kept, widest=max(m.d_x, m.d_y))
    spectra = _spectra(m, standardised=standardised)
    for name, spectrum in zip("XY", spectra, strict=True):
        if len(spectrum.variances) == 0:
            raise constant(name, m.n)
    counts = [spectrum.count(components, share) for spectrum in spectra]

    def directions(train: Moments) -> tuple[Array, Array]:
        return canonical(train, *_cut(_spectra(train, standardised=standardised), counts))[1:]

    return SVCCA(
        correlations=canonical(m, *_cut(spectra, counts))[0],
        held_out_correlations=pooled_correlations(m, directions) if held_out else None,
        components_x=counts[0],
        components_y=counts[1],
        variance_x=spectra[0].share(counts[0]),
        variance_y=spectra[1].share(counts[1]),
        standardised=standardised,
        n=m.n,
        d_x=m.d_x,
        d_y=m.d_y,
    )


def _checked(components: int | None, variance_kept: float | None, *, widest: int) -> float:
    """The share of variance to keep, once the two ways to say how much are known not to disagree."""
    if components is not None and variance_kept is not None:
        raise OptionError(
            f"components={components} and variance_kept={variance_kept} both say how much to keep; give one."
        )
    if components is not None and not 1 <= components <= widest:
        raise OptionError(
            f"components={components}; between 1 and the width, {widest}, can be kept."
        )
    share = 0.99 if variance_kept is None else variance_kept
    if not 0.0 < share <= 1.0:
        raise OptionError(f"variance_kept={share}; write a share in (0, 1], such as 0.99.")
    return share


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Principal components above rounding, by descending variance; ``directions`` have v'Sv = 1."""

    variances: Float[Array, " r"]
    directions: Float[Array, "d r"]

    @classmethod
    def of(cls, side: Side, *, standardised: bool) -> _Spectrum:
        sd = column_spread(side)
        varying = np.flatnonzero(sd)
        if len(varying) == 0:
            return cls(np.zeros(0), np.zeros((len(sd), 0)))
        scale = sd[varying] if standardised else np.ones(len(varying))
        S = side.S[np.ix_(varying, varying)] / np.outer(scale, scale)
        values, vectors = eigh(S, driver="evd", check_finite=False)
        kept = np.flatnonzero(values > side.rounding * values[-1])[::-1]
        directions = np.zeros((len(sd), len(kept)))
        directions[varying] = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
        return cls(values[kept], directions)

    def count(self, components: int | None, share: float) -> int:
        """Components to keep: the number asked for, or the fewest that hold the share of variance."""
        rank = len(self.variances)
        if components is not None:
            return min(components, rank)
        held = np.cumsum(self.variances) / self.variances.sum()
        # The last entry can fall short of 1 by rounding, and a share of 1 asks for all.
        return min(int(np.searchsorted(held, share)) + 1, rank)

    def share(self, k: int) -> float:
        """Share of the variance that the first k components hold."""
        return float(self.variances[:k].sum() / self.variances.sum())


def _spectra(m: Moments, *, standardised: bool) -> tuple[_Spectrum, _Spectrum]:
    x, y = (_Spectrum.of(side, standardised=standardised) for side in sides(m))
    return x, y


def _cut(spectra: tuple[_Spectrum, _Spectrum], counts: list[int]) -> list[Float[Array, "d k"]]:
    return [spectrum.directions[:, :k] for spectrum, k in zip(spectra, counts, strict=True)]
