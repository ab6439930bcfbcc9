"""Numbers as people read them: sensible digits, ranges, and "not computed" where there is no number.

Shares of variance are printed as percentages. The digits follow from the value, or for an interval
from its width, so that nothing looks more certain than it is; what is smaller than can be
printed reads "<0.0001%", never "0%". All text is ASCII, so that any terminal shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

NOT_COMPUTED = "not computed"
_SMALLEST = 1e-6  # shares below this are rounding: one ten-thousandth of a percent
_LARGEST = 100.0  # shares above this are read as multiples of the variance


def known(value: Any) -> bool:
    """Whether there is a number to print: neither None nor NaN."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def share(value: float | None) -> str:
    """A share of variance as a percentage with three significant digits.

    Examples
    --------
    >>> share(0.01234), share(1.3402), share(3e-9), share(0.0), share(None)
    ('1.23%', '134%', '<0.0001%', '0%', 'not computed')
    """
    if not known(value):
        return NOT_COMPUTED
    assert value is not None
    if value == 0:
        return "0%"
    if abs(value) < _SMALLEST:
        return "<0.0001%"
    if abs(value) >= _LARGEST:
        return _multiple(value)
    return _percent(value, _decimals(abs(value) * 100, digits=3))


def stated(value: float) -> str:
    """A share that somebody chose, such as a tolerance: as it was written, no digits added.

    Examples
    --------
    >>> stated(0.01), stated(0.995)
    ('1%', '99.5%')
    """
    return f"{100 * value:.6g}%"


def difference(value: float | None) -> str:
    """A share with its sign, for what one class loses against another.

    Examples
    --------
    >>> difference(0.0213), difference(-0.0004)
    ('+2.13%', '-0.0400%')
    """
    text = share(value)
    return f"+{text}" if known(value) and value is not None and value >= _SMALLEST else text


def explained(unexplained: float | None) -> str:
    """The share explained, with digits chosen by what is missing: 99.97%, not 100%.

    Examples
    --------
    >>> explained(0.0003), explained(0.25), explained(1e-12), explained(1.004)
    ('99.97%', '75%', '>99.9999%', '-0.4%')
    """
    if not known(unexplained):
        return NOT_COMPUTED
    assert unexplained is not None
    if 0 < unexplained < _SMALLEST:
        return ">99.9999%"
    if unexplained >= _LARGEST:
        return _multiple(1 - unexplained)
    missing = min(abs(unexplained), abs(1 - unexplained)) * 100
    return _percent(1 - unexplained, _decimals(missing, digits=1) if missing else 0)


def interval(low: float | None, high: float | None) -> str:
    """A range of shares, with the digits its width supports: two of the width, four at most.

    Examples
    --------
    >>> interval(0.00985, 0.01023), interval(0.996, 1.012), interval(None, None)
    ('0.985 to 1.023%', '99.6 to 101.2%', 'not computed')
    """
    if not (known(low) and known(high)):
        return NOT_COMPUTED
    assert low is not None
    assert high is not None
    if max(abs(low), abs(high)) < _SMALLEST:
        return "<0.0001%" if high else "0%"
    if max(abs(low), abs(high)) >= _LARGEST or high == low:
        first, last = share(low), share(high)
    else:
        width, largest = (high - low) * 100, max(abs(low), abs(high)) * 100
        decimals = min(_decimals(width, digits=2), _decimals(largest, digits=4))
        first, last = _percent(low, decimals), _percent(high, decimals)
    # Ends that read the same are said once: the interval is narrower than its digits.
    return last if first == last else f"{first.removesuffix('%')} to {last}"


def correlation(value: float | None) -> str:
    """A correlation with four decimals that does not round up to a 1 it is not.

    Examples
    --------
    >>> correlation(0.98764), correlation(0.999997), correlation(1.0)
    ('0.9876', '>0.9999', '1.0000')
    """
    if not known(value):
        return NOT_COMPUTED
    assert value is not None
    if 0.99995 <= value < 1:
        return ">0.9999"
    return f"{value:.4f}".replace("-0.0000", "0.0000")


def plain(value: Any) -> str:
    """Any setting or diagnostic: counts with thousands, reals with four digits, lists joined.

    Examples
    --------
    >>> plain(200000), plain(1.23456e7), plain(None), plain(True), plain([1, 0.5])
    ('200,000', '1.235e+07', 'not computed', 'yes', '1, 0.5')
    """
    if not known(value):
        return NOT_COMPUTED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "infinite" if math.isinf(value) else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {plain(item)}" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(plain(item) for item in value) or "none"
    return str(value)


def _decimals(percent: float, *, digits: int) -> int:
    """Decimals that show `digits` significant digits of a percentage, four at most."""
    return min(4, max(0, digits - 1 - math.floor(math.log10(percent))))


def _percent(value: float, decimals: int) -> str:
    text = f"{100 * value:,.{decimals}f}"
    return f"{text.lstrip('-') if not text.strip('-0.,') else text}%"


def _multiple(value: float) -> str:
    """Shares in the hundreds, as between spaces of other scales: multiples of the variance."""
    return f"{value:,.0f}x" if abs(value) < 1e6 else f"{value:.1e}x"
