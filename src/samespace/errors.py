"""Every error samespace raises on purpose: one base class, one name per thing that went wrong.

Each also is the built-in error a Python user would expect there, so both ``except SamespaceError`` and
``except ValueError`` work. A message says what arrived, what is needed, and what to write instead.
"""

from __future__ import annotations


class SamespaceError(Exception):
    """Base of all errors that samespace raises on purpose."""


class ShapeError(SamespaceError, ValueError):
    """Arrays whose shapes cannot be meant: 1-D, empty, ragged, or of widths that do not fit."""


class NotFiniteError(SamespaceError, ValueError):
    """NaN or infinity among the values."""


class DtypeError(SamespaceError, TypeError):
    """Values that are not real numbers, or ids that cannot be compared with each other."""


class PairingError(SamespaceError, ValueError):
    """Rows of two representations that cannot be paired: other counts, duplicate or missing ids."""


class TooFewRowsError(SamespaceError, ValueError):
    """Fewer rows than can decide anything."""


class DegenerateError(SamespaceError, ValueError):
    """A representation without variance, or a system without a unique solution."""


class FormatError(SamespaceError, ValueError):
    """A file that is not what its name says: truncated, a pickle, of an unknown format."""


class MissingSourceError(SamespaceError, FileNotFoundError):
    """A path at which there is nothing."""


class OutputError(SamespaceError, OSError):
    """An output that cannot be written, or that would overwrite something."""


class OptionError(SamespaceError, ValueError):
    """An option outside its range, or options that contradict each other."""


class NoInverseError(SamespaceError, ValueError):
    """A map that has no inverse on the space asked for."""


class MissingDependencyError(SamespaceError, ImportError):
    """An optional package that this feature needs is not installed."""


class DiversityError(SamespaceError, ValueError):
    """A model of the canonical family whose labels or inputs do not span its space."""


class InterruptedWorkError(SamespaceError, RuntimeError):
    """Unfinished work found on disk that does not belong to the settings given now."""


class FamilyError(SamespaceError, ValueError):
    """A model whose probabilities are not of the canonical form p(y|x,S) ~ exp f(x)'g(y)."""
