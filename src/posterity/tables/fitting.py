"""Fit the encoder of one column, and summarise its values."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.tables import dates, level_means, text_parts, texts
from posterity.tables.columns import Column
from posterity.tables.level_means import LevelMeansPart
from posterity.tables.parts import (
    MOST_LEVELS,
    YEAR,
    CategoryPart,
    DatePart,
    NumberPart,
    Part,
    compute_phase,
)
from posterity.tables.text_parts import TextPart

_RARE_COUNT, _RARE_SHARE = 10, 0.01
_MONTH = 27.0  # days
_SPREAD = 0.999  # mean resultant length above which a cycle is treated as a single phase


@dataclass(frozen=True)
class Profile:
    """Summary of the values of a column in the training rows.

    Attributes
    ----------
    name : str
        Column name.
    kind : "number", "category", "date" or "text"
        How the column is read.
    n_missing : int
        Number of missing values.
    quantiles : tuple of float
        Minimum, quartiles and maximum, in days since 1970-01-01 for dates; empty for categories.
    levels : tuple of str
        Most frequent labels; empty for numbers and dates.
    counts : tuple of int
        Number of rows with each level.

    Examples
    --------
    >>> from posterity import tables
    >>> encoder = tables.TableEncoder((tables.Column("x", "number"),))
    >>> encoder.fit({"x": ["1", "2", "3", "9", ""]}).profile_[0].quantiles
    (1.0, 1.75, 2.5, 4.5, 9.0)
    """

    name: str
    kind: str
    n_missing: int
    quantiles: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()


def fit_part(
    column: Column,
    cells: pl.Series,
    y: NDArray[np.generic] | None = None,
    *,
    keep_missing: bool = False,
) -> tuple[Part, Profile]:
    """Return the encoder of a column and the summary of its cells.

    With targets, a category of many levels is encoded by their means in each level.
    """
    if column.kind in ("category", "text"):
        labels = texts.convert_labels(cells, column)
        return (
            _fit_text(column, labels) if column.kind == "text" else _fit_category(column, labels, y)
        )
    read = dates.require_days if column.kind == "date" else texts.require_numbers
    values = read(cells, column)
    present = values[~np.isnan(values)]
    profile = _summarise_column(column, values, present)
    if column.kind == "date":
        return _fit_date(column, present, len(present) < len(values)), profile
    indicator = len(present) < len(values) and not keep_missing
    return _fit_number(column, present, indicator, keep_missing), profile


def compute_mean_and_scale(x: Array) -> tuple[float, float]:
    """Return mean and standard deviation; the scale is 1 for constant values."""
    if not len(x):
        return 0.0, 1.0
    largest = float(np.max(np.abs(x))) or 1.0
    u = x / largest  # squares of the raw numbers may overflow or underflow
    mean, sd = float(u.mean()), float(u.std())
    varies = sd > 8.0 * np.finfo(np.float64).eps
    scale = largest * sd
    return largest * mean, scale if varies and scale > 0.0 else 1.0


def select_frequent_levels(labels: pl.Series) -> pl.DataFrame:
    """Return the levels to keep as columns ``level`` and ``count``, most frequent first.

    All levels are kept if they are few; otherwise those in at least ten rows or 1 % of the rows.
    """
    counts = labels.drop_nulls().alias("level").value_counts(name="count")
    ordered = counts.sort(["count", "level"], descending=[True, False])
    if len(ordered) <= MOST_LEVELS:
        return ordered
    least = min(_RARE_COUNT, max(_RARE_SHARE * len(labels), 2))
    return ordered.filter(pl.col("count") >= least).head(MOST_LEVELS)


def _fit_category(
    column: Column, labels: pl.Series, y: NDArray[np.generic] | None
) -> tuple[CategoryPart | LevelMeansPart, Profile]:
    kept = select_frequent_levels(labels).sort("level")
    levels, counts = tuple(kept["level"].to_list()), tuple(kept["count"].to_list())
    n_missing = labels.null_count()
    profile = Profile(column.name, "category", n_missing, (), levels, counts)
    if y is not None and labels.drop_nulls().n_unique() > MOST_LEVELS:
        return level_means.fit_level_means(column, labels, y), profile
    other = sum(counts) + n_missing < len(labels)
    reading = (column.missing_words, column.spellings)
    return CategoryPart(column.name, levels, other, n_missing > 0, *reading), profile


def _fit_text(column: Column, labels: pl.Series) -> tuple[TextPart, Profile]:
    part = text_parts.fit_text(column.name, labels, missing_words=column.missing_words)
    return part, Profile(column.name, "text", labels.null_count())


def _fit_number(
    column: Column, present: Array, has_indicator: bool, keep_missing: bool
) -> NumberPart:
    mean, scale = compute_mean_and_scale(present)
    return NumberPart(
        column.name,
        mean,
        scale,
        mean,
        has_indicator,
        column.style,
        column.lenient,
        column.unit,
        column.missing_words,
        keep_missing,
    )


def _fit_date(column: Column, present: Array, has_missing: bool) -> DatePart:
    origin, scale = compute_mean_and_scale(present)
    span = float(np.ptp(present)) if len(present) else 0.0
    return DatePart(
        column.name,
        origin,
        scale,
        year=span >= 1.5 * YEAR and _varies_within_cycle(present, YEAR),
        week=span >= 14.0
        and _varies_within_cycle(present, 7.0)
        and _compute_typical_gap(present) < _MONTH,
        day=_varies_within_cycle(present, 1.0),
        has_indicator=has_missing,
        style=column.style or "iso",
        lenient=column.lenient,
        missing_words=column.missing_words,
    )


def _varies_within_cycle(t: Array, period: float) -> bool:
    """Return whether times cover more than one phase of a cycle."""
    angle = compute_phase(t, period)
    return len(t) > 0 and float(np.hypot(np.cos(angle).mean(), np.sin(angle).mean())) < _SPREAD


def _compute_typical_gap(t: Array) -> float:
    """Return the typical gap between dates: monthly data have no weekday effect."""
    return float(np.median(np.diff(np.unique(np.floor(t)))))


def _summarise_column(column: Column, values: Array, present: Array) -> Profile:
    levels = np.quantile(present, (0.0, 0.25, 0.5, 0.75, 1.0)) if len(present) else ()
    quantiles = tuple(float(level) for level in levels)
    return Profile(column.name, column.kind, len(values) - len(present), quantiles)
