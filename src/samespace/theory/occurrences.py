"""Which symbol occurred in which context, with which label, how often: the data of semantic learners.

Formal semantics asks about two families of conditional distributions, and both have one form: a row per
symbol, and cells in *strata* within which the row is normalised. For ``p(context | symbol)`` the cells are
contexts and there is one stratum; for ``p(label | symbol, context)`` the cells are pairs of a context and a
label and every context is a stratum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import NotFiniteError, OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from numpy import ndarray as Array


@dataclass(frozen=True, kw_only=True, repr=False)
class Occurrences:
    """Symbols by cells, as counts of a sample or as exact probabilities.

    Attributes
    ----------
    symbols
        The symbols in order of the rows.
    cells
        Sparse matrix (symbols, cells) of counts or probabilities; cells of one stratum are neighbours.
    stratum
        The stratum of each cell: all 0 for unlabelled data, the number of the context for labelled data.
    exact
        True for probabilities, which are known; False for counts, which were drawn.
    labelled
        Whether the cells are contexts with labels (for semantic equivalence) or contexts alone.
    deterministic
        True for labelled counts in which no symbol has two labels in one context: the label is then taken
        for a function of symbol and context. Where no such pair was ever seen twice that is an assumption,
        but the only one under which such data say anything.

    Examples
    --------
    >>> data = Occurrences.of(["cat", "dog", "cat"], ["a _ sat", "a _ sat", "the _ ran"])
    >>> data.symbols, data.cells.toarray().tolist()
    (('cat', 'dog'), [[1.0, 1.0], [1.0, 0.0]])
    """

    symbols: tuple[Any, ...]
    cells: Any
    stratum: Int[Array, " cells"]
    exact: bool
    labelled: bool
    deterministic: bool

    @classmethod
    def of(
        cls,
        symbol: Sequence[Any] | Array,
        context: Sequence[Any] | Array,
        label: Sequence[Any] | Array | None = None,
        *,
        count: Sequence[float] | Array | None = None,
        probability: Sequence[float] | Array | None = None,
    ) -> Occurrences:
        """Collect one row per observation, or per distinct observation with its count or probability."""
        _columns(symbol=symbol, context=context, label=label)
        symbols, rows = np.unique(np.asarray(symbol), return_inverse=True)
        _, contexts = np.unique(np.asarray(context), return_inverse=True)
        labels = None if label is None else np.unique(np.asarray(label), return_inverse=True)[1]
        return cls.from_codes(
            symbols.tolist(), rows, contexts, labels, count=count, probability=probability
        )

    @classmethod
    def from_codes(
        cls,
        symbols: Sequence[Any],
        symbol: Int[Array, " rows"],
        context: Int[Array, " rows"],
        label: Int[Array, " rows"] | None = None,
        *,
        count: Sequence[float] | Array | None = None,
        probability: Sequence[float] | Array | None = None,
    ) -> Occurrences:
        """Collect observations whose symbols, contexts and labels are numbered already.

        Parameters
        ----------
        symbols
            What each number of `symbol` stands for.
        symbol, context, label
            Numbers from 0; rows may repeat and are then added up.
        count, probability
            Of each row, at most one of the two; without either every row counts once.
        """
        from scipy import sparse

        weight = _weights(len(symbol), count, probability)
        _same_length(symbol=symbol, context=context, label=label, weight=weight)
        cell_of = (
            context if label is None else context * (int(np.max(label, initial=0)) + 1) + label
        )
        codes, cell = np.unique(cell_of, return_inverse=True)
        shape = (len(symbols), len(codes))
        cells = sparse.coo_array((weight, (symbol, cell)), shape=shape).tocsr()
        cells.eliminate_zeros()
        stratum = np.zeros(len(codes), dtype=np.int64)
        stratum[cell] = 0 if label is None else context
        stratum = np.unique(stratum, return_inverse=True)[1]
        exact, labelled = probability is not None, label is not None
        return cls(
            symbols=tuple(symbols),
            cells=cells,
            stratum=stratum,
            exact=exact,
            labelled=labelled,
            deterministic=labelled and not exact and _one_each(cells, stratum),
        )

    @property
    def known(self) -> bool:
        """Whether one draw tells the whole distribution within a stratum, or probabilities are given."""
        return self.exact or self.deterministic

    @property
    def strata(self) -> int:
        """How many strata there are: 1, or the number of contexts."""
        return int(self.stratum[-1]) + 1 if len(self.stratum) else 0

    @property
    def totals(self) -> Float[Array, " symbols"]:
        """How often each symbol occurred, or how probable it is."""
        return np.asarray(self.cells.sum(axis=1)).ravel()

    def select(self, symbols: Sequence[Any]) -> Occurrences:
        """Return the given symbols, in the given order, with the cells in which any of them occurs."""
        rows = {symbol: row for row, symbol in enumerate(self.symbols)}
        unknown = [symbol for symbol in symbols if symbol not in rows]
        if unknown:
            raise OptionError(
                f"{len(unknown)} of the symbols asked for do not occur, among them {unknown[:3]}; ask for "
                "symbols of this data set."
            )
        chosen = self.cells[[rows[symbol] for symbol in symbols]]
        kept = np.unique(chosen.indices)
        stratum = np.unique(self.stratum[kept], return_inverse=True)[1]
        return replace(self, symbols=tuple(symbols), cells=chosen[:, kept], stratum=stratum)

    def __repr__(self) -> str:
        form = "probabilities" if self.exact else "counts"
        return (
            f"Occurrences({len(self.symbols)} symbols, {self.cells.shape[1]} cells in {self.strata} strata, "
            f"{form})"
        )


def _one_each(cells: Any, stratum: Array) -> bool:
    """Tell whether every row has at most one cell in each stratum."""
    rows = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    key = rows * (int(stratum.max(initial=0)) + 1) + stratum[cells.indices]
    return len(np.unique(key)) == len(key)


def _weights(rows: int, count: Any, probability: Any) -> Float[Array, " rows"]:
    if count is not None and probability is not None:
        raise OptionError("Each row has a count or a probability; got both: leave one of them out.")
    given = count if probability is None else probability
    if given is None:
        return np.ones(rows)
    weight = np.asarray(given, dtype=np.float64)
    if not np.isfinite(weight).all():
        raise NotFiniteError("Counts and probabilities are finite numbers; got NaN or infinity.")
    if (weight < 0).any():
        raise OptionError(f"Counts and probabilities are not negative; got {weight.min():g}.")
    if probability is None and (weight != np.round(weight)).any():
        raise OptionError(
            "Counts are whole numbers, since the test is one of drawn samples; pass `probability=` for "
            "frequencies that are exact."
        )
    return weight


def _columns(**given: Any) -> None:
    for name, column in given.items():
        if column is not None and np.ndim(column) != 1:
            raise ShapeError(
                f"{name} is a column with one entry per observation; got {np.ndim(column)} dimensions."
            )


def _same_length(**columns: Any) -> None:
    lengths = {name: len(column) for name, column in columns.items() if column is not None}
    if len(set(lengths.values())) > 1 or not lengths["symbol"]:
        raise ShapeError(
            f"Symbols, contexts and their labels and counts are columns of one length, at least 1; got "
            f"{lengths}."
        )
