"""Pictures, axes and numbers: marks are where they should be, and no text is left unescaped."""

import itertools
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.for_each import for_each

from posterity.report import numbers, scales, svg

FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
ATTACK = "\"><script>alert('1')</script>&"


def plain(text: str) -> str:
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ").replace("\N{MINUS SIGN}", "-")


@given(FINITE, FINITE)
def test_ticks_are_rising_within_the_range_and_few(a: float, b: float) -> None:
    low, high = sorted((a / 4.0, b / 4.0))
    ticks = scales.nice_ticks(low, high)
    assert 1 <= len(ticks) <= 12
    if high - low > 1e-6 * max(abs(low), abs(high)) and high - low > 1e-300:
        slack = 1e-6 * (high - low)
        assert all(low - slack <= t <= high + slack for t in ticks)
        assert all(s < t for s, t in itertools.pairwise(ticks))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_multiples_of_one_two_or_five(low: float, width: float) -> None:
    ticks = scales.nice_ticks(low, low + width)
    if len(ticks) > 1:
        step = ticks[1] - ticks[0]
        digit = round(step / 10.0 ** math.floor(math.log10(step) + 1e-6), 3)
        assert digit in (1.0, 2.0, 5.0)
        assert 2 <= len(ticks) <= 10


@given(st.lists(FINITE, min_size=1, max_size=5))
def test_a_scale_holds_all_its_values_and_names_each_tick(values: list[float]) -> None:
    scale = scales.linear_scale(np.array(values) / 4.0)
    assert len(scale.ticks) == len(scale.labels)
    places = scale.place(np.array(values) / 4.0)
    assert np.all((places >= 0.0) & (places <= 1.0))
    assert scale.high > scale.low


@for_each("values", [[], [np.nan], [5.0], [5.0, 5.0], [0.0], [np.inf, 1.0]])
def test_a_scale_of_next_to_nothing_has_two_ends(values: list[float]) -> None:
    scale = scales.linear_scale(values)
    assert np.isfinite([scale.low, scale.high]).all()
    assert scale.high > scale.low


def test_labels_have_the_decimals_of_their_step() -> None:
    assert scales.scale_between(0.0, 1.0).labels == ("0.0", "0.2", "0.4", "0.6", "0.8", "1.0")
    assert scales.scale_between(0.0, 100.0).labels == ("0", "20", "40", "60", "80", "100")


def test_a_power_of_ten_is_taken_out_of_long_numbers() -> None:
    scale = scales.scale_between(0.0, 4e15, "y")
    assert scale.labels == ("0", "1", "2", "3", "4")
    assert scale.title == "y (\u00d7\u202f10\u00b9\u2075)"
    small = scales.scale_between(0.0, 4e-7, "y")
    assert small.labels == ("0", "1", "2", "3", "4")
    assert small.title.endswith("10\u207b\u2077)")


def test_crowded_labels_are_named_every_second_time() -> None:
    labels = scales.scale_between(0.9986, 1.0).labels
    assert labels[::2] == ("0.9986", "0.9990", "0.9994", "0.9998")
    assert set(labels[1::2]) == {""}


@for_each(
    ("days", "first", "second"),
    [
        (2, "01-01", "12:00"),
        (20, "01-06", "01-13"),
        (400, "2020-01", "2020-04"),
        (9000, "2020", "2025"),
    ],
)
def test_dates_are_marked_where_a_calendar_turns(days: int, first: str, second: str) -> None:
    start = (np.datetime64("2020-01-01") - np.datetime64("1970-01-01")).astype(float)
    assert scales.date_scale([start, start + days]).labels[:2] == (first, second)


@for_each("day", [-1e9, -1e5, 0.0, 1e6, 1e300])
def test_dates_beyond_the_calendar_do_no_harm(day: float) -> None:
    scale = scales.date_scale([day, 0.0])
    assert scale.high > scale.low


@for_each(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234.6, "1235"),
        (123456.0, "123 456"),
        (9.996, "10"),
        (-0.0123, "-0.0123"),
        (1.5e9, "1.5 \u00d7 10\u2079"),
        (1e-7, "1 \u00d7 10\u207b\u2077"),
        (math.inf, "\u221e"),
        (math.nan, "\u2013"),
        (None, "\u2013"),
        (100.0, "100"),
    ],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert plain(numbers.format_short(value)) == text


@given(st.floats(1e-3, 1e6))
def test_a_short_number_is_right_to_half_a_digit(value: float) -> None:
    written = float(numbers.format_short(value, 4).replace("\N{NARROW NO-BREAK SPACE}", ""))
    assert written == pytest.approx(value, rel=6e-4) or abs(written - value) <= 0.5


@for_each(
    ("value", "error", "texts"),
    [
        (1.23456, 0.0123, ("1.235", "0.012")),
        (-5.0, 0.0996, ("-5.00", "0.10")),
        (12345.6, 210.0, ("12 346", "210")),
        (1.0, 0.0, ("1", "0")),
        (1.0, math.nan, ("1", "\u2013")),
    ],
)
def test_an_error_says_how_many_digits_count(
    value: float, error: float, texts: tuple[str, str]
) -> None:
    assert tuple(map(plain, numbers.format_with_error(value, error))) == texts


@for_each(
    ("n", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (12345, "12.3 kB"), (2 * 10**9, "2 GB")],
)
def test_sizes_are_in_the_unit_that_suits_them(n: int, text: str) -> None:
    assert plain(numbers.format_bytes(n)) == text


def test_long_texts_are_cut_and_lines_joined() -> None:
    assert numbers.clip_text("a\n b", 10) == "a b"
    assert numbers.clip_text("x" * 30, 10) == "x" * 9 + "\u2026"


def plot() -> svg.Plot:
    return svg.Plot(
        scales.scale_between(0.0, 10.0, ATTACK), scales.category_scale([ATTACK, "b"], "names")
    )


def test_texts_and_attributes_are_escaped() -> None:
    picture = plot().picture(
        plot().dots([1.0], [1.0], "ink", tips=[ATTACK]), title=ATTACK, description=ATTACK
    )
    assert "<script" not in picture
    root = ElementTree.fromstring(picture)
    assert root.attrib["aria-label"] == f"{ATTACK}. {ATTACK}"
    assert root.findall("title")[0].text == ATTACK
    assert root.findall(".//circle/title")[0].text == ATTACK


def test_marks_are_where_the_scales_say() -> None:
    p = svg.Plot(scales.scale_between(0.0, 10.0), scales.scale_between(0.0, 1.0))
    dot = ElementTree.fromstring(p.dots([5.0], [1.0], "ink"))[0].attrib
    middle = p.left + 0.5 * (p.width - p.left - p.right)
    assert (float(dot["cx"]), float(dot["cy"])) == (middle, p.top)
    line = re.findall(
        r"[\d.]+", ElementTree.fromstring(p.line([0.0, 10.0], [0.0, 0.0], "x")).attrib["d"]
    )
    floor = p.height - p.bottom
    assert list(map(float, line)) == [p.left, floor, p.width - p.right, floor]
    box = ElementTree.fromstring(p.boxes([0.0], [10.0], [0.0], [1.0], "x")).attrib["d"]
    assert box == f"M{p.left:g} {floor:g}H{p.width - p.right:g}V{p.top:g}H{p.left:g}Z"


def test_an_area_is_closed_below_its_upper_line() -> None:
    p = svg.Plot(scales.scale_between(0.0, 1.0), scales.scale_between(0.0, 1.0))
    d = ElementTree.fromstring(p.area([0.0, 1.0], [0.0, 0.0], [1.0, 1.0], "x")).attrib["d"]
    corners = [tuple(map(float, c.split())) for c in re.split("[ML]", d.removesuffix("Z"))[1:]]
    left, right, floor = p.left, p.width - p.right, p.height - p.bottom
    assert corners == [(left, p.top), (right, p.top), (right, floor), (left, floor)]


def test_marks_outside_the_scale_stay_on_the_page() -> None:
    p = svg.Plot(scales.scale_between(0.0, 1.0), scales.scale_between(0.0, 1.0))
    dot = ElementTree.fromstring(p.dots([99.0], [-99.0], "ink"))[0].attrib
    assert (float(dot["cx"]), float(dot["cy"])) == (p.width - p.right, p.height - p.bottom)
