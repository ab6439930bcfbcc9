"""Two PyTorch modules as a model of the family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from samespace.errors import OptionError
from samespace.family.bias import with_bias, with_ones
from samespace.family.canonical import CanonicalModel
from samespace.family.head import to_numpy

if TYPE_CHECKING:
    from jaxtyping import Float
    from numpy import ndarray as Array


def from_modules(
    f: Any,
    g: Any,
    *,
    batch_size: int = 1024,
    device: str | None = None,
    dim: int | None = None,
    name: str = "model",
) -> CanonicalModel:
    """Read a pair of PyTorch modules as a model of the family.

    Parameters
    ----------
    f
        Inputs -> embeddings (n, M).
    g
        What gives the unembeddings: an ``nn.Linear`` is a classifier's last layer (its rows are g,
        its bias is absorbed, S is all its outputs); an ``nn.Embedding`` a table of labels (S is all
        its rows); any other module is applied to the labels, and S comes with the data.
    batch_size
        Rows that go through a module at once.
    device
        Where to run; by default where each module's parameters are. The modules are moved there and
        stay.
    dim
        The width M, needed only when g is neither an ``nn.Linear`` nor an ``nn.Embedding``.

    Notes
    -----
    Inputs are a tensor or array of rows, or an iterable of batches such as a DataLoader (of a pair
    or tuple, the first element is taken). Both modules run in evaluation mode, without gradients,
    and are left in the mode they were in.

    Examples
    --------
    >>> import torch
    >>> model = from_modules(torch.nn.Tanh(), torch.nn.Linear(2, 3))
    >>> model.log_prob(torch.zeros(4, 2)).shape
    (4, 3)
    """
    import torch

    if batch_size < 1:
        raise OptionError(f"batch_size must be at least 1; got {batch_size}.")
    run = _Runner(batch_size, device)
    if isinstance(g, torch.nn.Linear | torch.nn.Embedding):
        bias = getattr(g, "bias", None)
        table = (
            to_numpy(g.weight) if bias is None else with_bias(to_numpy(g.weight), to_numpy(bias))
        )
        embed: Callable[[Any], Any] = lambda inputs: run(f, inputs)  # noqa: E731
        return CanonicalModel(
            f=embed if bias is None else lambda inputs: with_ones(embed(inputs)),
            g=lambda labels: table[labels],
            dim=int(table.shape[1]),
            labels=slice(None),
            bias=bias is not None,
            name=name,
        )
    if dim is None:
        raise OptionError(
            f"g is a {type(g).__name__}, whose width cannot be read off: pass dim=, the width of f "
            "and g. An nn.Linear or "
            "nn.Embedding needs none."
        )
    return CanonicalModel(
        f=lambda inputs: run(f, inputs), g=lambda labels: run(g, labels), dim=dim, name=name
    )


class _Runner:
    """Runs a module over rows, batch by batch, and collects what it gives as NumPy."""

    def __init__(self, size: int, device: str | None) -> None:
        self.size, self.device = size, device

    def __call__(self, module: Any, rows: Any) -> Float[Array, "n m"]:
        import torch

        device = self._device(module)
        training = module.training
        module.to(device).eval()
        try:
            with torch.no_grad():
                return np.concatenate([to_numpy(module(b.to(device))) for b in self._batches(rows)])
        finally:
            module.train(training)

    def _device(self, module: Any) -> Any:
        first = next(module.parameters(), None)
        return self.device or ("cpu" if first is None else first.device)

    def _batches(self, rows: Any) -> Iterator[Any]:
        import torch

        if hasattr(rows, "shape"):
            yield from torch.split(torch.as_tensor(rows), self.size)
            return
        for batch in rows:
            yield torch.as_tensor(batch[0] if isinstance(batch, list | tuple) else batch)
