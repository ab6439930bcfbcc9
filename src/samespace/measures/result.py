"""What every measure returns: a frozen record of the estimate, what stands behind it, and how it was got."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np


class Result:
    """Base of the measures' frozen dataclasses: a cheap ``repr`` and a dictionary that round-trips.

    Derived classes are ``@dataclass(frozen=True, eq=False, repr=False)``; their fields are plain numbers,
    strings, None and NumPy arrays. None means *not computed* or *not defined here*, and the class's
    docstring says which.
    """

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-able values: arrays become lists, an undefined entry (NaN) becomes None."""
        return {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The inverse of :meth:`to_dict`."""
        return cls(**{name: _revived(value) for name, value in values.items()})

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{f.name}={_brief(getattr(self, f.name))}"
            for f in fields(self)  # type: ignore[arg-type]
        )
        return f"{type(self).__name__}({shown})"


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind == "f" and np.isnan(value).any():
        return np.where(np.isnan(value), np.asarray(None), value).tolist()
    return value.tolist()


def _revived(value: Any) -> Any:
    if not isinstance(value, list):
        return value
    # An empty list says nothing of its type, and a None among numbers stands for NaN: both are floats.
    return np.asarray(value, dtype=np.float64 if not value or None in value else None)


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{' x '.join(map(str, value.shape))}>"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
