"""Files that together are one representation must agree in width and element type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from samespace.errors import DtypeError, ShapeError


def check_agree(paths: Sequence[Path], widths: Sequence[int], dtypes: Sequence[str]) -> None:
    """Raise `ShapeError` or `DtypeError` naming the first file that differs from the first one."""
    for path, width, dtype in zip(paths, widths, dtypes, strict=True):
        if width != widths[0]:
            raise ShapeError(
                f"{path} has {width} columns but {paths[0]} has {widths[0]}; files read as one need "
                "the same width. Name one file, or a glob that matches one model's files only."
            )
        if dtype != dtypes[0]:
            raise DtypeError(
                f"{path} holds {dtype} but {paths[0]} holds {dtypes[0]}; files read as one need the "
                "same type. Convert them, or name them separately."
            )
