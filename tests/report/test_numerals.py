"""Numbers as text: sensible digits, ranges, and never a number where there is none."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samespace.report import numerals

shares = st.floats(-1e3, 1e9, allow_nan=False)


@pytest.mark.parametrize(
    "write", [numerals.share, numerals.difference, numerals.explained, numerals.correlation]
)
@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_number_is_never_a_zero(write, missing):
    assert write(missing) == "not computed"


def test_a_missing_end_makes_the_interval_missing():
    assert numerals.interval(0.1, None) == "not computed"
    assert numerals.interval(math.nan, 0.2) == "not computed"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0%"),
        (1e-15, "<0.0001%"),
        (0.000123, "0.0123%"),
        (0.5, "50.0%"),
        (2.883, "288%"),
        (25.0, "2,500%"),
        (1234.0, "1,234x"),
        (3.2e12, "3.2e+12x"),
    ],
)
def test_share(value, text):
    assert numerals.share(value) == text


@pytest.mark.parametrize(
    ("unexplained", "text"),
    [(0.0, "100%"), (1e-9, ">99.9999%"), (0.00005, "99.995%"), (1.0, "0%"), (4e5, "-399,999x")],
)
def test_explained_never_rounds_up_to_all(unexplained, text):
    assert numerals.explained(unexplained) == text


@given(shares)
def test_explained_says_all_only_of_all(unexplained):
    assert (numerals.explained(unexplained) == "100%") <= (abs(unexplained) < 1e-6)


@given(st.floats(0, 90), st.floats(1e-9, 5))
def test_an_interval_shows_ends_that_differ(low, width):
    text = numerals.interval(low, low + width)
    if width > 0.01 * (low + width) and low + width > 1e-5:
        first, _, last = text.removesuffix("%").partition(" to ")
        assert first != last


@given(shares)
def test_text_is_ascii_and_has_no_negative_zero(value):
    for text in (numerals.share(value), numerals.difference(value), numerals.explained(value)):
        assert text.isascii()
        assert not re.fullmatch("-[0.]+%", text)


def test_an_interval_narrower_than_its_digits_says_one_value():
    assert numerals.interval(0.5, 0.5) == "50.0%"
    assert numerals.interval(0.25073, 0.25073 + 1e-12) == "25.07%"
    assert numerals.interval(0.0, 0.0) == "0%"
    assert numerals.interval(0.0, 1e-12) == "<0.0001%"
    assert numerals.interval(200.0, 300.0) == "200x to 300x"


def test_plain_writes_every_kind():
    assert numerals.plain(math.inf) == "infinite"
    assert numerals.plain("id") == "id"
    assert numerals.plain([]) == "none"
    assert numerals.plain({"rank": 3}) == "rank: 3"
    assert numerals.plain(False) == "no"
