"""Fit the encoder of one column, and summarise its values."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from posterity.arrays import Array
from posterity.tables import dates, frames, label_parts, texts
from posterity.tables.columns import Column, TableError
from posterity.tables.label_parts import LevelMeansPart, TextPart
from posterity.tables.parts import (
    MOST_LEVELS,
    YEAR,
    CategoryPart,
    DatePart,
    NumberPart,
    Part,
    compute_phase,
)

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
        Kind of the column.
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
        return label_parts.fit_level_means(column, labels, y), profile
    other = sum(counts) + n_missing < len(labels)
    reading = (column.missing_words, column.spellings)
    return CategoryPart(column.name, levels, other, n_missing > 0, *reading), profile


def _fit_text(column: Column, labels: pl.Series) -> tuple[TextPart, Profile]:
    part = label_parts.fit_text(column.name, labels, missing_words=column.missing_words)
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


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode the columns of a table as numbers.

    Numbers are standardised, categories one-hot encoded, and dates encoded as time and its position
    in the year, the week and the day. Text is encoded by the words that it shares with other rows.
    Indicator columns mark missing values where the fitted rows had some. Unknown categories are
    encoded as "other". With targets, a category of more than 50 levels is encoded by the mean of
    the target in each level, shrunken to the mean of all rows.

    Parameters
    ----------
    columns : tuple of Column
        Columns to encode, as in ``tables.infer(...).inputs``.
    keep_missing : bool, default=False
        Leave missing numbers as nan, for estimators that accept them, without an indicator.

    Attributes
    ----------
    parts_ : tuple of NumberPart, CategoryPart, LevelMeansPart, DatePart or TextPart
        Fitted encoder of each column.
    profile_ : tuple of Profile
        Summary of the values of each column.
    n_features_out_ : int
        Number of encoded columns.

    Examples
    --------
    >>> from posterity import tables
    >>> columns = (tables.Column("size", "number"), tables.Column("colour", "category"))
    >>> frame = tables.as_frame({"size": ["1", "3"], "colour": ["red", "blue"]})
    >>> encoder = tables.TableEncoder(columns).fit(frame)
    >>> encoder.transform(frame)
    array([[-1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour = blue', 'colour = red']
    """

    parts_: tuple[Part, ...]
    profile_: tuple[Profile, ...]
    n_features_out_: int

    def __init__(self, columns: tuple[Column, ...], keep_missing: bool = False) -> None:
        self.columns = columns
        self.keep_missing = keep_missing

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn means, scales and levels from a table.

        ``y`` has a number for each row, or the index of its class if its type is an integer. It is
        used for categories of many levels only.
        """
        frame = self._require_frame(X)
        if not frame.height:
            raise TableError("The table has no rows to learn from.")
        targets = None if y is None else np.asarray(y)
        fitted = [
            fit_part(column, frame[column.name], targets, keep_missing=self.keep_missing)
            for column in self.columns
        ]
        self.parts_ = tuple(part for part, _ in fitted)
        self.profile_ = tuple(profile for _, profile in fitted)
        self.n_features_out_ = sum(part.width for part in self.parts_)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Fit, and encode the same rows.

        Where a row is encoded by targets, its own is left out, so that an estimator fitted to the
        encoded rows does not take it for an input.
        """
        encoded = self.fit(X, y).transform(X)
        frame = self._require_frame(X)
        for part, (name, columns) in zip(self.parts_, self.blocks(), strict=True):
            if isinstance(part, LevelMeansPart):
                encoded[:, columns] = part.encode_training_rows(frame[name], np.asarray(y))
        return encoded

    def transform(self, X: Any) -> Array:
        """Encode a table as an array of shape (N, ``n_features_out_``)."""
        check_is_fitted(self)
        frame = self._require_frame(X)
        encoded = np.empty((frame.height, self.n_features_out_))
        for part, (name, columns) in zip(self.parts_, self.blocks(), strict=True):
            encoded[:, columns] = part.encode(frame[name])
        return encoded

    def blocks(self) -> tuple[tuple[str, slice], ...]:
        """Return each table column with the slice of encoded columns that represents it."""
        check_is_fitted(self)
        ends = accumulate(part.width for part in self.parts_)
        return tuple(
            (part.name, slice(end - part.width, end))
            for part, end in zip(self.parts_, ends, strict=True)
        )

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the encoded columns."""
        check_is_fitted(self)
        names = [name for part in self.parts_ for name in part.names()]
        return np.asarray(names, dtype=object)

    def _require_frame(self, X: Any) -> pl.DataFrame:
        frame = frames.as_frame(X)
        frames.require_columns(frame, (column.name for column in self.columns))
        return frame


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator accepts missing values, nan, as such.

    Examples
    --------
    >>> from posterity import LinearRegression, RandomForestRegressor, tables
    >>> tables.accepts_missing(RandomForestRegressor()), tables.accepts_missing(LinearRegression())
    (True, False)
    """
    return bool(get_tags(estimator).input_tags.allow_nan)
