"""Where rows come from: arrays, ``.npy``, Parquet, safetensors, vector stores; one file for each kind.

A source (`Source`) knows its number of rows, its width and its element type, and yields its rows in
order. `open_source` finds the one that reads a path; `samespace.representation` is the only caller
that users meet.
"""

from __future__ import annotations

from samespace.sources.opening import open_source
from samespace.sources.source import RandomAccess, Source

__all__ = ["RandomAccess", "Source", "open_source"]
