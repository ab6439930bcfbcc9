"""The asymmetric SimCLR of semantic learners: a table of symbols against an encoder of contexts.

Figure 1b and 1c of the paper: one branch is a table ``E`` with a vector per symbol, the other encodes the
context (1c), or the context with its label (1b), by an embedding layer, three transformer layers and a
linear layer. Both objectives are the same code: with labels, the label is one more token of the context.

Everything is written for a population, whose axis comes first: the loss is one number per model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from samespace.errors import OptionError, ShapeError
from samespace.learn.stacked_transformer import Shape, StackedParameters, embedded, forward, initial


def infonce_in_batch(
    symbols: Tensor, contexts: Tensor, *, by_context: Tensor | None = None
) -> Tensor:
    """InfoNCE of Eq. 2 over a batch: every symbol picks its own context among the batch's contexts.

    ``loss = -mean_i [ s_i . c_i - log sum_j exp(s_i . c_j) ]``

    The softmax runs over contexts, so adding ``n`` with ``n . c_j`` equal for all contexts to a symbol
    changes nothing: each symbol has a free constant (see `samespace.theory.semantic_theorems`). In the
    other direction, where every context picks its symbol, the free constant is one per context.

    Parameters
    ----------
    symbols, contexts
        Embeddings (models, batch, d), row by row of the same samples.
    by_context
        The weight of the other direction for each model, between 0, the paper's, and 1; None is 0 for all.

    Returns
    -------
    Tensor
        One loss per model.

    Notes
    -----
    A batch may hold the same context twice; the copies count as negatives of each other, as in the paper.

    Examples
    --------
    Embeddings that tell nothing leave as many choices as there are rows:

    >>> import torch
    >>> nothing = torch.zeros(1, 4, 2)
    >>> infonce_in_batch(nothing, nothing).exp().round().tolist()
    [4.0]
    """
    _same_rows(symbols, contexts)
    logits = symbols @ contexts.transpose(1, 2)
    loss = _own_picked(logits, 2)
    if by_context is None:
        return loss
    return torch.lerp(loss, _own_picked(logits, 1), by_context)


def _own_picked(logits: Tensor, dim: int) -> Tensor:
    """Return each model's mean cross entropy of picking its own among the entries along `dim`."""
    return -functional.log_softmax(logits, dim=dim).diagonal(dim1=1, dim2=2).mean(dim=1)


def infonce_full(
    symbols: Tensor, contexts: Tensor, target: Tensor, *, log_prior: Tensor | None = None
) -> Tensor:
    """InfoNCE over the whole vocabulary of contexts, the limit of Eq. 2 for large batches.

    ``loss = -mean_i [ l_it - log sum_j exp(l_ij) ]`` with ``l_ij = s_i . c_j + log q_j``, t the row's context

    Parameters
    ----------
    symbols
        Embeddings (models, batch, d).
    contexts
        Embeddings of every context there is (models, contexts, d).
    target
        Which context each row occurred in, (models, batch).
    log_prior
        ``log q`` (contexts,). With ``q = p(context)`` the optimum is the one that in-batch negatives have,
        ``s . c = log p(c|s)/p(c) + constant of s``; None is uniform, whose optimum is ``log p(c|s)``.
    """
    if target.shape != symbols.shape[:2]:
        raise ShapeError(
            f"Each row needs one target context: symbols {tuple(symbols.shape)} want targets "
            f"{tuple(symbols.shape[:2])}, got {tuple(target.shape)}."
        )
    logits = symbols @ contexts.transpose(1, 2)
    return _picked(logits if log_prior is None else logits + log_prior, target)


def _picked(logits: Tensor, target: Tensor) -> Tensor:
    """Return each model's mean cross entropy of picking the target among the last axis."""
    losses = functional.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none")
    return losses.view(target.shape).mean(dim=1)


def _same_rows(symbols: Tensor, contexts: Tensor) -> None:
    if symbols.shape != contexts.shape:
        raise ShapeError(
            f"Symbols and contexts must be the two sides of the same rows, both (models, batch, d); got "
            f"{tuple(symbols.shape)} and {tuple(contexts.shape)}."
        )


@dataclass(frozen=True, kw_only=True)
class ContrastiveModels:
    """A population of symbol tables with their context encoders.

    Parameters
    ----------
    shape
        Of the context encoder; its `outputs` is the d of the symbol embeddings.
    parameters
        Of all models, the table under "symbol".
    by_context
        As for `infonce_in_batch`, (models,).
    """

    shape: Shape
    parameters: StackedParameters
    by_context: Tensor | None = None

    @classmethod
    def initial(
        cls,
        shape: Shape,
        *,
        symbols: int,
        seeds: Sequence[int],
        symbol_sd: float | Sequence[float] = 1.0,
        by_context: Sequence[float] | None = None,
        device: str = "cpu",
    ) -> ContrastiveModels:
        """Draw one model per seed; its table is normal with mean 0 and standard deviation `symbol_sd`."""
        spreads = [symbol_sd] * len(seeds) if isinstance(symbol_sd, float) else list(symbol_sd)
        models = [
            _contrastive(shape, symbols, seed, sd) for seed, sd in zip(seeds, spreads, strict=True)
        ]
        weights = None if by_context is None else torch.tensor(by_context, device=device)
        return cls(
            shape=shape,
            parameters=StackedParameters(models, device=device),
            by_context=weights if weights is not None and bool(weights.any()) else None,
        )

    def symbol_table(self) -> Tensor:
        """Return a copy of the tables, (models, symbols, d)."""
        return self.parameters.views()["symbol"].detach().clone()

    def encode(self, contexts: Tensor) -> Tensor:
        """Encode contexts (models, batch, length) to (models, batch, d)."""
        return forward(self.shape, self.parameters.views(), contexts)

    def loss(self, symbol: Tensor, context: Tensor) -> Tensor:
        """Return each model's in-batch loss on rows of symbols and contexts."""
        weights = self.parameters.views()
        encoded = forward(self.shape, weights, context)
        return infonce_in_batch(
            embedded(weights["symbol"], symbol), encoded, by_context=self.by_context
        )

    def full_loss(
        self, symbol: Tensor, vocabulary: Tensor, target: Tensor, *, log_prior: Tensor | None = None
    ) -> Tensor:
        """Return each model's loss over a vocabulary of contexts (contexts, length) common to all models."""
        weights = self.parameters.views()
        models = weights["symbol"].shape[0]
        encoded = forward(self.shape, weights, vocabulary.expand(models, *vocabulary.shape))
        return infonce_full(
            embedded(weights["symbol"], symbol), encoded, target, log_prior=log_prior
        )


def _contrastive(shape: Shape, symbols: int, seed: int, symbol_sd: float) -> dict[str, Tensor]:
    """Draw the parameters of one model; equal seeds draw equal ones but for the spread of the table."""
    if symbol_sd <= 0.0:
        raise OptionError(f"symbol_sd is a positive standard deviation; got {symbol_sd}.")
    generator = torch.Generator().manual_seed(seed)
    table = symbol_sd * torch.randn(symbols, shape.outputs, generator=generator)
    return {"symbol": table} | initial(shape, generator)


@dataclass(frozen=True, kw_only=True)
class Classifiers:
    """A population of sequence classifiers, whose embedding layer may start from learned symbols."""

    shape: Shape
    parameters: StackedParameters

    @classmethod
    def initial(
        cls,
        shape: Shape,
        *,
        seeds: Sequence[int],
        symbols: Tensor | None = None,
        device: str = "cpu",
    ) -> Classifiers:
        """Draw one classifier per seed.

        Parameters
        ----------
        shape
            Of the classifier; its `outputs` is the number of labels.
        seeds
            Equal seeds draw equal parameters, whether or not `symbols` replaces the embeddings.
        symbols
            Tables (models, symbols, width) that the embeddings start from; rows past `symbols`, such as
            a mask's, keep what was drawn. None starts at random.
        device
            Where the models are kept.
        """
        models = [initial(shape, torch.Generator().manual_seed(seed)) for seed in seeds]
        if symbols is not None:
            _check_tables(symbols, len(models), shape)
            for model, table in zip(models, symbols.cpu(), strict=True):
                model["token"][: len(table)] = table
        return cls(shape=shape, parameters=StackedParameters(models, device=device))

    def logits(self, tokens: Tensor) -> Tensor:
        """Return the labels' logits of sequences (models, batch, length)."""
        return forward(self.shape, self.parameters.views(), tokens)

    def loss(self, tokens: Tensor, label: Tensor) -> Tensor:
        """Return each model's mean cross entropy."""
        return _picked(self.logits(tokens), label)

    def accuracy(self, tokens: Tensor, label: Tensor) -> Tensor:
        """Return each model's share of right labels."""
        return (self.logits(tokens).argmax(dim=-1) == label).double().mean(dim=1)


def _check_tables(symbols: Tensor, models: int, shape: Shape) -> None:
    fits = symbols.dim() == 3 and symbols.shape[0] == models and symbols.shape[2] == shape.width
    if not fits or symbols.shape[1] > shape.tokens:
        raise ShapeError(
            f"Embeddings to start from must be (models, symbols, width) = ({models}, at most "
            f"{shape.tokens}, {shape.width}); got {tuple(symbols.shape)}."
        )
