"""The canonical model: p(y|x,S) = exp f(x)'g(y) / sum over y' in S of exp f(x)'g(y').

Roeder et al. 2021, Eq. 1: the form that every theorem of this package speaks of. A model of the
family is a pair of functions into R^M, the *embedding* f of inputs and the *unembedding* g of
labels; the set S of candidate labels is part of the data, not of the model. It may be

- **fixed**: the classes of a classifier, a language model's vocabulary (the model's `labels`; S = None);
- **per batch**: one set for all inputs, such as the other half of a contrastive batch (S = the labels);
- **per sample**: a set for each input, such as its own negatives (S = ``PerSample(labels)``).

Anything with the four members of `Canonical` will do where this package asks for a model;
`CanonicalModel` is the one implementation that all reductions and adapters return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from samespace.errors import FamilyError, NotFiniteError, OptionError, ShapeError
from samespace.family.softmax import log_softmax, row_blocks, scores

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@runtime_checkable
class Canonical(Protocol):
    """What a model of the family can do; the arrays may be of any array-API library."""

    @property
    def dim(self) -> int:
        """The width M of f and of g."""
        ...

    def embed(self, inputs: Any = None) -> Float[Array, "n m"]:
        """Return f(x) of every input, as rows."""
        ...

    def unembed(self, labels: Any = None) -> Float[Array, "k m"]:
        """Return g(y) of every label of S, as rows; None stands for the model's own fixed S."""
        ...

    def log_prob(self, inputs: Any = None, labels: Any = None) -> Float[Array, "n k"]:
        """Return log p(y|x,S) for every input (row) and every label of S (column)."""
        ...


@dataclass(frozen=True, eq=False)
class PerSample:
    """Candidate labels of each input: ``labels[i, j]`` is the j-th label of the set S of input i.

    Without it, an array of labels is one set S for all inputs; with it, the first two axes are
    inputs and candidates, whatever a label is: a number, a vector or an image.
    """

    labels: Any

    def __post_init__(self) -> None:
        """Check that there are two leading axes."""
        if len(getattr(self.labels, "shape", ())) < 2:
            shape = getattr(self.labels, "shape", type(self.labels).__name__)
            raise ShapeError(
                f"PerSample takes an array of labels (inputs, candidates, ...); got {shape}. "
                "For one set of candidates for all inputs, pass the labels themselves."
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class CanonicalModel:
    """A model of the family, from its two functions.

    Parameters
    ----------
    f
        Inputs (whatever they are) -> array (n, M).
    g
        Labels -> array (K, M).
    dim
        The width M.
    labels
        The fixed set S; None where S comes with the data.
    bias
        Whether the last coordinate of f is the constant 1 and that of g a per-label bias; see
        `samespace.family.bias`. It changes which maps are admissible: f may then be shifted.
    targets
        Inputs -> the position in S of the observed label of each row of f; None if the inputs do
        not tell.
    name
        What reports call the model.

    Examples
    --------
    >>> import numpy as np
    >>> from samespace.family import from_arrays
    >>> model = from_arrays(np.eye(2), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> np.exp(model.log_prob()).round(3)
    array([[0.212, 0.576, 0.212],
           [0.107, 0.107, 0.787]])
    """

    f: Callable[[Any], Any]
    g: Callable[[Any], Any]
    dim: int
    labels: Any = None
    bias: bool = False
    targets: Callable[[Any], Any] | None = None
    name: str = "model"

    def embed(self, inputs: Any = None) -> Float[Array, "n m"]:
        """Return f(x) of every input, as rows."""
        return self._checked("f", self.f(inputs))

    def unembed(self, labels: Any = None) -> Float[Array, "k m"]:
        """Return g(y) of every label: (K, M), or (n, K, M) for `PerSample` labels."""
        labels = self._candidates(labels)
        if not isinstance(labels, PerSample):
            return self._checked("g", self.g(labels))
        n, k, *rest = labels.labels.shape
        flat = self._checked("g", self.g(labels.labels.reshape((n * k, *rest))))
        return flat.reshape((n, k, self.dim))

    def log_prob(self, inputs: Any = None, labels: Any = None) -> Float[Array, "n k"]:
        """Return log p(y|x,S) for every input (row) and every label of its S (column), in nats."""
        return log_softmax(scores(self.embed(inputs), self.unembed(labels)))

    def log_likelihood(
        self, inputs: Any, observed: Int[Array, " n"] | None = None, labels: Any = None
    ) -> Float[Array, " n"]:
        """Return log p(y|x,S) of the observed label of each input; minus its mean is the loss.

        Parameters
        ----------
        observed
            The position in S of each observed label; by default what `targets` reads off the
            inputs.
        labels
            S as in `log_prob`. However large S is, no more than a block of its scores is held at
            once.
        """
        observed = np.asarray(self._required(inputs) if observed is None else observed)
        F, G = self.embed(inputs), self.unembed(labels)
        if observed.shape != (F.shape[0],):
            raise ShapeError(
                f"observed holds one position in S per row of f: {F.shape[0]} rows, got an array "
                "of shape "
                f"{observed.shape}."
            )
        return np.concatenate(
            [_at(F[b], G if G.ndim == 2 else G[b], observed[b]) for b in row_blocks(F, G)]
        )

    def observed(self, inputs: Any) -> Int[Array, " n"] | None:
        """Return the position in S of each row's observed label, None where the inputs do not tell."""
        return None if self.targets is None else self.targets(inputs)

    def _required(self, inputs: Any) -> Int[Array, " n"]:
        found = self.observed(inputs)
        if found is None:
            raise OptionError(
                f"These inputs of {self.name!r} do not tell their labels: pass observed=, the position in "
                "S of each observed label, or (to an adapter) inputs with labels."
            )
        return found

    def _candidates(self, labels: Any) -> Any:
        if labels is None and self.labels is None:
            raise OptionError(
                f"{self.name!r} has no fixed set of labels: pass the candidates S of this batch, "
                "or "
                "PerSample(labels) for a set per input."
            )
        return self.labels if labels is None else labels

    def _checked(self, which: str, values: Any) -> Any:
        shape = tuple(getattr(values, "shape", ()))
        if len(shape) != 2 or shape[1] != self.dim:
            raise ShapeError(
                f"{which} of {self.name!r} must give rows of width {self.dim}, shape (rows, "
                f"{self.dim}); it gave "
                f"{shape or type(values).__name__}."
            )
        if not bool((abs(values) < float("inf")).all()):
            raise NotFiniteError(
                f"{which} of {self.name!r} gave NaN or infinity; look at its inputs and weights."
            )
        return values


def from_arrays(
    f: Float[Array, "n m"],
    g: Float[Array, "k m"],
    log_prob: Float[Array, "n k"] | None = None,
    *,
    bias: bool = False,
    name: str = "model",
) -> CanonicalModel:
    """Make a model of the family from its outputs: rows f(x) of the inputs, rows g(y) of the
    labels.

    Inputs and labels are then row numbers; None stands for all of them in order.

    Parameters
    ----------
    log_prob
        What the original model says log p(y|x) is, (n, K). When given, it must be the log-softmax
        of f g' to rounding: a model outside the family ends here.
    bias
        Whether f and g carry a per-label bias in their last coordinate (`samespace.family.bias`).
    """
    f, g = _rows("f", f), _rows("g", g)
    if f.shape[1] != g.shape[1]:
        raise ShapeError(
            f"f and g must have the same width M; got f {tuple(f.shape)} and g {tuple(g.shape)}. "
            "If g is (M, K), "
            "as in many heads, pass its transpose."
        )
    if bias and not bool((f[:, -1] == 1).all()):
        raise FamilyError(
            "bias=True says that f's last column is all ones; it is not. Use absorb_bias(f, g, "
            "bias)."
        )
    model = CanonicalModel(
        f=lambda rows: f if rows is None else f[rows],
        g=lambda rows: g[rows],
        dim=int(f.shape[1]),
        labels=slice(None),
        bias=bias,
        name=name,
    )
    if log_prob is not None:
        require_form(log_prob, scores(f, g), name=name)
    return model


def require_form(
    log_prob: Float[Array, "n k"],
    inner: Float[Array, "n k"],
    *,
    name: str = "model",
    epsilon: float = 0.0,
) -> None:
    """Raise `FamilyError` unless ``log_prob`` is the log-softmax of the inner products, to
    rounding.

    The two may differ by a function of x alone before normalising, so unnormalised logits pass as
    well. `epsilon` is the rounding unit of the computation, where it is coarser than that of the
    arrays.
    """
    if tuple(log_prob.shape) != tuple(inner.shape):
        raise ShapeError(
            f"log_prob has shape {tuple(log_prob.shape)}, but f g' has {tuple(inner.shape)}: a row "
            "per input and a "
            "column per label."
        )
    stated, implied = log_softmax(log_prob), log_softmax(inner)
    gap, allowed = float(abs(stated - implied).max()), _rounding(log_prob, inner, epsilon)
    if not gap <= allowed:
        raise FamilyError(
            f"The log-probabilities of {name!r} are not the log-softmax of f g': they differ by up "
            f"to {gap:.3g} nats, "
            f"rounding explains {allowed:.1g}. A per-label bias belongs into g "
            "(samespace.family.absorb_bias); a "
            "temperature or a normalisation into f; soft-capped or sigmoid scores are outside the "
            "family."
        )


def _rounding(log_prob: Any, inner: Any, epsilon: float) -> float:
    """Bound the rounding of two routes to the same scores: 64 units in the last place of the
    largest.
    """
    units = [
        float(np.finfo(str(a.dtype).rsplit(".", maxsplit=1)[-1]).eps) for a in (log_prob, inner)
    ]
    return (
        64.0 * max(epsilon, *units) * max(1.0, float(abs(log_prob).max()), float(abs(inner).max()))
    )


def _rows(which: str, values: Any) -> Any:
    values = values if hasattr(values, "dtype") and hasattr(values, "shape") else np.asarray(values)
    if values.ndim != 2 or 0 in values.shape:
        raise ShapeError(
            f"{which} must be rows of width M, shape (rows, M); got shape {tuple(values.shape)}."
        )
    if "float" not in str(values.dtype):
        values = np.asarray(values, dtype=np.float64)
    return values


def _at(F: Any, G: Any, observed: Int[Array, " n"]) -> Float[Array, " n"]:
    """Return log p of one label per row, as NumPy."""
    table = log_softmax(scores(F, G))
    chosen = table[range(len(observed)), observed]
    return np.asarray(chosen.cpu() if hasattr(chosen, "cpu") else chosen)
