"""``python -m samespace`` is the command line."""

from __future__ import annotations

from samespace.cli import main

main()
