"""How long rows may be: what a thread, or a multiprocessor's shared memory, can hold."""

NARROW = 32
"""Rows up to this long are held in registers."""

WIDE = 128
"""Rows up to this long are multiplied on tensor cores; longer ones go by torch's own products."""
