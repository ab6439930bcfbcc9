"""The one table of tolerances: how far two right answers may lie apart, by kind and dtype.

Three kinds:

``exact``
    A closed form on both sides (sums, QR, SVD, a linear solve): the answers differ by rounding alone.
    Rounding errors of a sum of ``n`` terms grow like ``sqrt(n) eps`` and a solve multiplies them by the
    condition number. The suite's problems have n up to 1e4 and condition numbers up to about 1e2, so
    about ``1e4 eps``: 2e-12 in float64. The table leaves a factor of fifty on top, for quantities that
    are differences of nearly equal numbers (unexplained shares, sines from cosines).
``iterative``
    A loop that stops at a tolerance (an optimiser, a power iteration): the answer is as far off as the
    stopping rule allows. Stopping rules in the suite are 1e-8 on the objective, whose square root, 1e-4,
    is how far off the minimiser may be; half-precision data stop earlier, at their own rounding.
``statistical``
    An estimate from a sample against the value that it estimates: four standard errors, which a right
    answer leaves once in 16,000 draws (and seeds are fixed). Pass the standard error; the default, 0.01,
    is that of a correlation or a share at n = 10,000. The dtype adds its own rounding, nothing else.

The dtype is that of the *inputs as both routes see them*. Where a float16 file is read and accumulated in
float64 on both routes, ask for float64; where one route works in the narrow type, ask for the narrow one.
"""

from __future__ import annotations

from typing import Literal

Kind = Literal["exact", "iterative", "statistical"]

STANDARD_ERRORS = 4.0

# Rounding unit: the distance from 1 to the next number of the type.
EPSILON = {
    "float64": 2.0**-52,
    "float32": 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}

# Each number's reason is the paragraph of its kind above, scaled by the type's rounding unit; the half
# types are capped where a looser bound would accept a wrong answer (a correlation off by more than 0.1).
RELATIVE: dict[tuple[str, str], float] = {
    ("exact", "float64"): 1e-10,  # 1e4 eps = 2e-12, times fifty
    ("exact", "float32"): 2e-4,  # 1e3 eps: such tests keep n d below 1e3 or accumulate in blocks
    ("exact", "float16"): 2e-2,  # 20 eps: accumulated wider, rounded on the way in and out
    ("exact", "bfloat16"): 6e-2,  # 8 eps, for the same reason; more would accept a wrong answer
    ("iterative", "float64"): 1e-4,  # square root of the stopping rule 1e-8
    ("iterative", "float32"): 2e-3,  # sqrt(eps) = 3.5e-4, times six for a flat minimum
    ("iterative", "float16"): 5e-2,  # sqrt(eps) = 3e-2
    ("iterative", "bfloat16"): 1e-1,  # sqrt(eps) = 9e-2
}

# Absolute tolerances hold for quantities of unit scale (correlations, shares of variance, whitened
# coordinates). They are a tenth of the relative ones: an expected zero is a difference of smaller terms.
ABSOLUTE_PER_RELATIVE = 0.1


def dtype_name(dtype: object) -> str:
    """Name a dtype of any library: ``np.float32``, ``torch.bfloat16`` and ``"float32"`` alike."""
    if isinstance(dtype, type):
        return dtype.__name__
    return str(getattr(dtype, "name", dtype)).rsplit(".", maxsplit=1)[-1]


def rtol(kind: Kind, dtype: object = "float64") -> float:
    """Relative tolerance; a statistical tolerance is absolute, so its relative one is 0."""
    if kind == "statistical":
        return 0.0
    return RELATIVE[kind, dtype_name(dtype)]


def atol(kind: Kind, dtype: object = "float64", *, standard_error: float = 0.01) -> float:
    """Absolute tolerance for unit scale; `standard_error` matters to the statistical kind alone."""
    if kind == "statistical":
        return STANDARD_ERRORS * standard_error + 4.0 * EPSILON[dtype_name(dtype)]
    return ABSOLUTE_PER_RELATIVE * RELATIVE[kind, dtype_name(dtype)]
