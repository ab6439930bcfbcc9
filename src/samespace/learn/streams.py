"""Endless batches for K members, whose position can be saved and taken up again exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.utils.data import DataLoader

from samespace.errors import OptionError
from samespace.learn.encoders import generators_of
from samespace.worlds.samples import part, stack

if TYPE_CHECKING:
    from torch import Tensor


class Stream(Protocol):
    """Anything that gives batches without end and can say where it stands."""

    def next(self) -> Any:
        """Return the next batch."""

    def state_dict(self) -> Mapping[str, Any]:
        """Return the position, as tensors and plain numbers."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the position given."""


class WorldStream:
    """Fresh samples of one world per member, each drawn from a generator of its member's own.

    Parameters
    ----------
    draws
        One function per member from a generator to a `Labelled` or `Pairs`, such as
        ``lambda generator: world.pairs(6144, generator)``.
    seeds
        One seed per member. A member sees the same samples whoever it is stacked with.
    ahead
        How many batches `draws` draw at once, cut apart along the rows. On a GPU, drawing many batches
        costs hardly more time than drawing one.
    """

    def __init__(
        self,
        draws: Sequence[Callable[[torch.Generator], Any]],
        seeds: Sequence[int],
        *,
        ahead: int = 1,
        device: str = "cpu",
    ) -> None:
        if len(draws) != len(seeds):
            raise OptionError(
                f"A stream needs one seed per member; got {len(draws)} draws, {len(seeds)} seeds."
            )
        self._draws, self._ahead = tuple(draws), ahead
        self._generators = generators_of(seeds, stream=2, device=device)
        self._before = self._states()
        self._drawn: Any = None
        self._used = ahead

    def next(self) -> Any:
        """Return the next batch of every member, stacked."""
        if self._used == self._ahead:
            self._draw()
        self._used += 1
        return part(self._drawn, self._used - 1, of=self._ahead)

    def state_dict(self) -> dict[str, Any]:
        """Return every generator's state before it last drew, and the batches used since."""
        return {"generators": self._before, "used": self._used if self._drawn is not None else None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Draw again what was drawn, and go to the first batch not used."""
        for generator, saved in zip(self._generators, state["generators"], strict=True):
            generator.set_state(saved)
        if state["used"] is not None:
            self._draw()
            self._used = int(state["used"])

    def _draw(self) -> None:
        self._before, self._used = self._states(), 0
        members = zip(self._draws, self._generators, strict=True)
        self._drawn = stack([draw(generator) for draw, generator in members])

    def _states(self) -> list[Tensor]:
        return [generator.get_state() for generator in self._generators]


class LoaderStream:
    """The batches of a torch `DataLoader` of your own, epoch after epoch.

    Epoch e shuffles by the seed and e alone, so a resumed stream skips the batches of its epoch that
    were already seen and goes on with exactly those that were not. The loader must therefore draw
    its order (and its workers' seeds) from a generator of its own: build it as
    ``DataLoader(data, shuffle=True, generator=torch.Generator())``.

    Batches come as the loader makes them; the loss decides what they mean.
    """

    def __init__(self, loader: DataLoader[Any], *, seed: int) -> None:
        if not isinstance(loader.generator, torch.Generator):
            raise OptionError(
                "A resumable stream needs a loader with a generator of its own; write "
                "DataLoader(data, shuffle=True, generator=torch.Generator())."
            )
        self._loader, self._seed = loader, seed
        self._epoch, self._used = 0, 0
        self._batches = self._begin()

    def next(self) -> Any:
        """Return the next batch, of the next epoch where this one is over."""
        batch = next(self._batches, None)
        if batch is None:
            self._epoch, self._used = self._epoch + 1, 0
            self._batches = self._begin()
            batch = next(self._batches, None)
        if batch is None:
            raise OptionError("The loader gave no batch in a whole epoch; its data set is empty.")
        self._used += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch and the number of its batches that were used."""
        return {"epoch": self._epoch, "used": self._used}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to a batch of an epoch."""
        self._epoch, self._used = int(state["epoch"]), int(state["used"])
        self._batches = self._begin()
        for _ in range(self._used):
            next(self._batches)

    def _begin(self) -> Iterator[Any]:
        [generator] = generators_of([self._seed], stream=1000 + self._epoch)
        self._loader.generator.set_state(generator.get_state())
        return iter(self._loader)
