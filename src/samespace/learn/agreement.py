"""Stopping by the verdict: train until the members agree, or until the latents are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from samespace.compare import Comparison, compare
from samespace.errors import OptionError, ShapeError

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor, nn

    from samespace.learn.training import Scores


class Agreement:
    """Compare every member, on rows that nobody trains on, with its neighbour or with given latents.

    Give it to `train` as ``evaluate`` and `agreed` as ``stop``: training then ends as soon as the verdict
    is that every comparison holds up to the required class.

    Parameters
    ----------
    x
        Observations, (n, d_x), seen by all members; or (K, n, d_x), each member's own.
    latents
        What to find, (n, d_z) or (K, n, d_z); by default member k is compared with member k + 1, the
        last with the first, which needs one `x` for all.
    require
        The class that must hold: "identity", "permutation", "orthogonal" or "affine". A smaller class
        that holds counts, as in `Comparison.holds`.
    represent
        From the model and stacked observations to stacked representations; by default the model itself.

    Examples
    --------
    >>> import torch
    >>> from samespace.learn.encoders import StackedMLP
    >>> model, x = StackedMLP([3, 3], [4, 8, 2]), torch.randn(200, 4)
    >>> with torch.no_grad():
    ...     scores = Agreement(x)(model)
    >>> scores["holds"], agreed(scores)  # equal seeds
    ([1.0, 1.0], True)
    """

    def __init__(
        self,
        x: Float[Tensor, "*k n d_x"],
        latents: Float[Tensor, "*k n d_z"] | None = None,
        *,
        require: str = "affine",
        represent: Callable[[nn.Module, Tensor], Tensor] | None = None,
    ) -> None:
        if latents is None and x.ndim > 2:
            raise OptionError(
                "Members are compared with each other on the same rows: give x as (n, d_x), or the latents "
                f"that each member should find; got x of shape {tuple(x.shape)} and no latents."
            )
        self._x, self._latents, self._require = x, latents, require
        self._represent = represent if represent is not None else lambda model, rows: model(rows)

    def __call__(self, model: nn.Module) -> dict[str, list[float]]:
        """Return per member the share left unexplained by the required class, and whether it holds."""
        members = len(next(iter(model.parameters())))
        rows = self._x if self._x.ndim > 2 else self._x.expand(members, *self._x.shape)
        found = [
            self._compare(h, target) for h, target in self._pairs(self._represent(model, rows))
        ]
        return {
            "unexplained": [getattr(one, self._require).unexplained for one in found],
            "holds": [float(one.holds(self._require) is True) for one in found],
        }

    def _pairs(self, h: Float[Tensor, "k n d"]) -> list[tuple[Tensor, Tensor]]:
        if self._latents is None:
            if len(h) < 2:
                raise ShapeError("One member has none to agree with: train two, or give latents.")
            return list(zip(h, h.roll(-1, 0), strict=True))
        latents = self._latents
        return list(
            zip(h, latents if latents.ndim > 2 else latents.expand(len(h), -1, -1), strict=True)
        )

    def _compare(self, h: Tensor, target: Tensor) -> Comparison:
        return compare(h, target, keep=0)


def agreed(scores: Scores) -> bool:
    """Tell whether every comparison of the latest evaluation holds."""
    return all(one == 1.0 for one in scores["holds"])
