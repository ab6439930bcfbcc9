"""How long rows may be: what a thread, or a multiprocessor's shared memory, can hold."""

NARROW = 32
"""Rows up to this long are held in registers."""

WIDE = 128
"""Rows up to this long are multiplied on tensor cores; longer ones go by torch's own products."""

ENDS = (64, 128, 256)
"""Units, padded, that a perceptron's first and last hidden layer may have: a program holds a row of them."""
