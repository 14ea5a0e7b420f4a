"""Axis scales with ticks at round numbers, dates or categories."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.report import numbers

_MARGIN = 0.03  # of the range, so that no mark touches the frame
_LABEL = 14  # characters of a name that fit below a tick
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY, _LAST_DAY = -700_000.0, 2_900_000.0  # within the calendar of datetime
_MONTHS = 75.0  # days; ticks of longer ranges are at the beginning of months
_YEAR = 365.2425
_HOURS = (1, 2, 3, 6, 12, 24, 48, 72, 168, 336, 720)  # between ticks, for short times
_STEPS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000, 24000)  # months
_MONDAY = 4.0  # the first one of 1970
_LONG, _FINE = 1e5, 1e-3  # numbers outside are labelled in units of a power of ten
_WIDE = 5  # characters; of longer labels every second one is omitted


@dataclass(frozen=True)
class AxisScale:
    """An axis with its range, ticks, labels and title.

    Attributes
    ----------
    low, high : float
        Values at the ends of the axis.
    ticks : tuple of float
        Values at the ticks.
    labels : tuple of str
        Labels of the ticks.
    title : str
        Title of the axis.
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    title: str = ""

    def place(self, values: ArrayLike) -> Array:
        """Return relative positions, 0 at the low end and 1 at the high end, clipped."""
        share = (np.asarray(values, dtype=np.float64) - self.low) / (self.high - self.low)
        return np.clip(share, 0.0, 1.0)


def linear_scale(values: ArrayLike, title: str = "", *, count: int = 5) -> AxisScale:
    """Make an axis of numbers that contains all the values.

    Examples
    --------
    >>> from posterity.report import scales
    >>> scales.linear_scale([0.0, 9.7]).labels
    ('0', '2', '4', '6', '8')
    """
    low, high = _finite_range(values)
    margin = _MARGIN * (high - low)
    return scale_between(low - margin, high + margin, title, count=count)


def scale_between(low: float, high: float, title: str = "", *, count: int = 5) -> AxisScale:
    """Make an axis of numbers with the given ends."""
    ticks = nice_ticks(low, high, count)
    labels, unit = _label_ticks(ticks)
    return AxisScale(low, high, tuple(ticks), labels, f"{title} ({unit})" if unit else title)


def percent_scale(
    title: str = "", *, low: float = 0.0, high: float = 1.0, count: int = 5
) -> AxisScale:
    """Make an axis of shares or probabilities, labelled in per cent."""
    ticks = nice_ticks(low, high, count)
    decimals = 0 if len(ticks) < 2 or ticks[1] - ticks[0] >= 0.0099 else 1
    return AxisScale(
        low, high, tuple(ticks), tuple(numbers.format_percent(t, decimals) for t in ticks), title
    )


def date_scale(values: ArrayLike, title: str = "", *, count: int = 4) -> AxisScale:
    """Make an axis of time, in days since 1970-01-01, labelled with dates.

    Examples
    --------
    >>> from posterity.report import scales
    >>> scales.date_scale([0.0, 4.5 * 365.25]).labels
    ('1970', '1971', '1972', '1973', '1974')
    """
    low, high = _finite_range(np.clip(np.asarray(values, dtype=np.float64), _FIRST_DAY, _LAST_DAY))
    ticks = [t for t in _day_ticks(low, high, count) if low <= t <= high]
    return AxisScale(
        low, high, tuple(ticks), tuple(format_date(t, high - low) for t in ticks), title
    )


def category_scale(labels: Sequence[str], title: str = "", *, length: int = _LABEL) -> AxisScale:
    """Make an axis of names at 0, 1, 2 ..."""
    texts = tuple(numbers.clip_text(label, length) for label in labels)
    return AxisScale(
        -0.5, max(len(texts), 1) - 0.5, tuple(map(float, range(len(texts)))), texts, title
    )


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about this many multiples of 1, 2 or 5 times a power of ten within the range.

    Examples
    --------
    >>> from posterity.report import scales
    >>> scales.nice_ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / max(count, 1)
    if not (math.isfinite(raw) and raw > 0.0):
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * min((1.0, 2.0, 5.0, 10.0), key=lambda m: abs(math.log(m * power / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    decimals = max(0, 1 - math.floor(math.log10(step)))
    return [round(k * step, decimals) + 0.0 for k in range(first, last + 1)]


def format_date(day: float, span: float) -> str:
    """Format a day since 1970 as a date, with the detail that suits a range of ``span`` days."""
    moment = _to_datetime(day)
    if span > 3.0 * _YEAR:
        return f"{moment.year}"
    if span > _MONTHS:
        return f"{moment:%Y-%m}"
    return f"{moment:%m-%d}" if (moment.hour, moment.minute) == (0, 0) else f"{moment:%H:%M}"


def _day_ticks(low: float, high: float, count: int) -> list[float]:
    span = high - low
    if span <= _MONTHS:
        apart = _nearest(_HOURS, 24.0 * span / count) / 24.0
        start = _MONDAY if apart >= 7.0 else 0.0
        first, last = math.ceil((low - start) / apart), math.floor((high - start) / apart)
        return [start + k * apart for k in range(first, last + 1)]
    step = _nearest(_STEPS, span / (_YEAR / 12.0) / count)
    begin, end = _to_datetime(low), _to_datetime(high)
    months = np.arange(12 * begin.year + begin.month - 1, 12 * end.year + end.month + 1)
    chosen = months[months % step == 0]
    firsts = [(int(m) // 12, int(m) % 12 + 1) for m in chosen if 12 <= m < 12 * 9999]
    return [(datetime(y, m, 1, tzinfo=UTC) - _EPOCH) / timedelta(days=1) for y, m in firsts]


def _to_datetime(day: float) -> datetime:
    return _EPOCH + timedelta(minutes=round(1440.0 * min(max(day, _FIRST_DAY), _LAST_DAY)))


def _nearest(steps: Sequence[int], wanted: float) -> int:
    return min(steps, key=lambda step: abs(math.log(step / wanted)))


def _finite_range(values: ArrayLike) -> tuple[float, float]:
    """Return the smallest and largest finite value, moved apart if they are equal."""
    x = np.asarray(values, dtype=np.float64)
    finite = x[np.isfinite(x)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if high - low > 1e-12 * max(abs(low), abs(high)):
        return low, high
    apart = 0.5 * abs(low) or 0.5
    return low - apart, high + apart


def _label_ticks(ticks: Sequence[float]) -> tuple[tuple[str, ...], str]:
    """Return labels with the decimals of the step, and a common power of ten for long ones."""
    step = min((b - a for a, b in itertools.pairwise(ticks)), default=0.0)
    largest = max((abs(t) for t in ticks), default=0.0)
    if step <= 0.0:
        return tuple(numbers.format_short(t) for t in ticks), ""
    power = 0 if largest < _LONG and step > _FINE else math.floor(math.log10(largest))
    decimals = max(0, -math.floor(math.log10(step) - power + 1e-9))
    texts = [numbers.format_fixed(t / 10.0**power, decimals) for t in ticks]
    crowded = max(map(len, texts)) > _WIDE
    shown = (text if not crowded or k % 2 == 0 else "" for k, text in enumerate(texts))
    return tuple(shown), numbers.format_power_of_ten(power) if power else ""
