"""Where a transformer's representation ends: its last linear layer, whatever stands before it.

With the head replaced by the identity, what comes out where the logits were *is* f(x): the final
norm, BERT's transform, a pooler or the choice of the last token have all happened, in the right
place and order, because the model's own code did them. That the logits are then f(x)'g(y) is
checked on every model that is adapted, so a model outside the family (soft-capped logits, for one)
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import FamilyError, OptionError
from samespace.family.bias import with_bias, with_ones
from samespace.family.canonical import require_form
from samespace.family.softmax import scores

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array

    from samespace.family.tokens import Batch

Positions = Callable[["Batch"], Any]  # a mask, or a slice for all


@dataclass(frozen=True, eq=False)
class Head:
    """The last linear layer of a model, and its name there."""

    name: str
    layer: Any

    @property
    def bias(self) -> bool:
        """Whether the labels have biases."""
        return getattr(self.layer, "bias", None) is not None

    @property
    def dim(self) -> int:
        """The width of f and g: one more than the layer's when there is a bias."""
        return int(self.layer.weight.shape[1]) + int(self.bias)

    def unembeddings(self) -> Float[Array, "k m"]:
        """Return g(y) of all labels as NumPy: the rows of the weight, and the biases."""
        weight = to_numpy(self.layer.weight)
        return with_bias(weight, to_numpy(self.layer.bias)) if self.bias else weight


def find_head(model: Any, *, name: str | None = None) -> Head:
    """Find the layer that turns the representation into logits.

    Parameters
    ----------
    name
        The layer's name in the model, for a model whose head is not found otherwise.
    """
    modules = dict(model.named_modules())
    if name is not None:
        if name not in modules:
            raise OptionError(
                f"{type(model).__name__} has no module {name!r}; look through "
                "model.named_modules()."
            )
        return Head(name, modules[name])
    output = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    if output is None:
        labels = getattr(model.config, "num_labels", None)
        fitting = [m for m in modules.values() if getattr(m, "out_features", None) == labels]
        output = fitting[-1] if fitting else None
    if output is None:
        raise FamilyError(
            f"{type(model).__name__} has no output layer that could be found: without logits there "
            "is no p(y|x). "
            "Load a class with a head (AutoModelForCausalLM and the like), or name the layer: "
            "head=."
        )
    return next(Head(n, m) for n, m in modules.items() if m is output)


@contextmanager
def headless(model: Any, head: Head) -> Iterator[None]:
    """Within the block, the model returns f(x) where it returned logits; afterwards it is as
    before.
    """
    import torch

    parent, _, child = head.name.rpartition(".")
    owner = model.get_submodule(parent)
    training = model.training
    setattr(owner, child, torch.nn.Identity())
    model.eval()
    try:
        yield
    finally:
        setattr(owner, child, head.layer)
        model.train(training)


def embed(
    model: Any, head: Head, batches: Iterator[Batch], positions: Positions
) -> Float[Array, "n m"]:
    """Return f(x) at the chosen positions of every batch, in order."""
    width = int(head.layer.weight.shape[1])
    parts = [np.empty((0, width), np.float32)]
    with headless(model, head):
        for batch in batches:
            out = logits_of(model, {k: v for k, v in batch.items() if k != "labels"})
            parts.append(to_numpy(out)[positions(batch)].reshape(-1, width))
    rows = np.concatenate(parts)
    return with_ones(rows) if head.bias else rows


def logits_of(model: Any, batch: Batch) -> Any:
    """Run the model on one batch, without gradients, on the device where it lives."""
    import torch

    device = next(model.parameters()).device
    with torch.no_grad():
        return model(
            **{name: torch.as_tensor(values, device=device) for name, values in batch.items()}
        ).logits


def check_membership(model: Any, head: Head, batch: Batch) -> None:
    """Raise `FamilyError` unless the model's logits are f(x)'g(y), which one small batch tells."""
    _refuse_known(model)
    training = model.training
    model.eval()
    try:
        logits = to_numpy(logits_of(model, batch)).reshape(-1, head.layer.weight.shape[0])
    finally:
        model.train(training)
    everywhere = embed(model, head, iter([batch]), lambda _: np.s_[:])
    inner = scores(everywhere, head.unembeddings())
    require_form(logits, inner, name=type(model).__name__, epsilon=_epsilon(head.layer.weight))


def probe(model: Any) -> Batch:
    """Return one row of tokens, spread over the vocabulary, on which the form of the logits can be
    checked.
    """
    config = model.config.get_text_config()
    ids = np.linspace(0, config.vocab_size - 1, num=8).astype(np.int64)
    return {"input_ids": ids[ids != getattr(config, "pad_token_id", None)][None, :]}


def _refuse_known(model: Any) -> None:
    config, kind = model.config, type(model).__name__
    cap = getattr(config.get_text_config(), "final_logit_softcapping", None)
    if cap is not None:
        raise FamilyError(
            f"{kind} soft-caps its logits: {cap} tanh(f(x)'g(y) / {cap}) is no inner product, so "
            "its probabilities are "
            "outside the canonical family and no theorem links two such models. Compare its "
            "representations as "
            "arrays with samespace.compare, or set config.final_logit_softcapping = None if it is "
            "a version trained so."
        )
    if getattr(config, "problem_type", None) in ("regression", "multi_label_classification"):
        raise FamilyError(
            f"{kind} is trained for {config.problem_type}: its outputs are not a softmax over the "
            "labels, so it is outside "
            "the canonical family."
        )


def _epsilon(weight: Any) -> float:
    """Return the rounding unit of the type that the model computes in."""
    import torch

    return float(torch.finfo(weight.dtype).eps)


def to_numpy(tensor: Any) -> Float[Array, ...]:
    """Return a tensor as NumPy on the CPU, half precision widened to float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.element_size() < 4 else tensor).numpy()
