"""Encode one column as numbers.

Each class is the fitted encoder of one kind of column; ``encode`` returns ``width`` columns,
without nan unless a number part keeps missing values.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.tables import dates, texts
from posterity.tables.columns import Column, refuse_cells
from posterity.tables.label_parts import LevelMeansPart, TextPart

MOST_LEVELS = 50
"""Maximum number of levels of a category that are encoded separately."""

YEAR = 365.2425  # days
_FEW = 4.0  # whole numbers in a smaller range may be the ends of a range of fractions


@dataclass(frozen=True)
class NumberPart:
    """Encode a numeric column: standardised value and missing indicator.

    Attributes
    ----------
    name : str
        Column name.
    mean, scale : float
        Mean and standard deviation of the observed values.
    fill : float
        Value that replaces missing ones.
    has_indicator : bool
        Whether a second column indicates missing values.
    style : str
        "comma" if text uses a decimal comma.
    lenient : bool
        Whether text that is not a number counts as missing instead of raising an error.
    unit : str
        Unit written beside the numbers.
    missing_words : tuple of str
        Texts that count as missing.
    keep_missing : bool
        Whether missing values are encoded as nan instead of ``fill``.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import tables
    >>> part = tables.NumberPart("size", mean=10.0, scale=2.0, fill=10.0, has_indicator=True)
    >>> part.encode(pl.Series(["12", "n/a"]))
    array([[1., 0.],
           [0., 1.]])
    """

    name: str
    mean: float
    scale: float
    fill: float
    has_indicator: bool
    style: str = ""
    lenient: bool = False
    unit: str = ""
    missing_words: tuple[str, ...] = ()
    keep_missing: bool = False

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return 1 + self.has_indicator

    def names(self) -> tuple[str, ...]:
        """Return the names of the encoded columns."""
        return (self.name, f"{self.name} missing")[: self.width]

    def read(self, cells: pl.Series) -> Array:
        """Parse the cells as numbers, nan where missing."""
        return texts.require_numbers(cells, self._column())

    def encode(self, cells: pl.Series) -> Array:
        """Encode the cells as an array of shape (N, width)."""
        x = self.read(cells)
        missing = np.isnan(x)
        z = _standardise(np.where(missing, self.fill, x), self.mean, self.scale, self.name)
        if self.keep_missing:
            z[missing] = np.nan
        return np.column_stack([z, missing][: self.width]).astype(np.float64, copy=False)

    def page_form(self, profile: Any) -> Form:
        """Return the control of a page: range, start value and encoding."""
        return {
            "name": self.name,
            "scale": self.scale,
            **_form_range(profile),
            "kind": "number",
            "mean": self.mean,
            "fill": self.fill,
            "indicator": self.has_indicator,
            "keeps": self.keep_missing,
            "gaps": profile.n_missing > 0,
            "whole": _are_whole(profile),
        }

    def _column(self) -> Column:
        return Column(
            self.name,
            "number",
            style=self.style,
            lenient=self.lenient,
            unit=self.unit,
            missing_words=self.missing_words,
        )


@dataclass(frozen=True)
class CategoryPart:
    """Encode a categorical column: one indicator column a level.

    Attributes
    ----------
    name : str
        Column name.
    levels : tuple of str
        Levels encoded as separate columns.
    other : bool
        Whether a column indicates all other labels; otherwise they are rows of zeros.
    missing : bool
        Whether a column indicates missing labels; otherwise they are rows of zeros.
    missing_words : tuple of str
        Texts that count as missing.
    spellings : tuple of str
        Labels whose other spellings, which differ only by case, are read as this one.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import tables
    >>> part = tables.CategoryPart("colour", levels=("blue", "red"), other=True, missing=False)
    >>> part.encode(pl.Series(["red", "green", None]))
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 0., 0.]])
    """

    name: str
    levels: tuple[str, ...]
    other: bool
    missing: bool
    missing_words: tuple[str, ...] = ()
    spellings: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.levels) + self.other + self.missing

    def names(self) -> tuple[str, ...]:
        """Return the names of the encoded columns."""
        own = tuple(f"{self.name} = {level}" for level in self.levels)
        rest = ((f"{self.name} other",) if self.other else ()) + (
            (f"{self.name} missing",) if self.missing else ()
        )
        return own + rest

    def read(self, cells: pl.Series) -> pl.Series:
        """Read the cells as labels, null where missing."""
        column = Column(
            self.name, "category", missing_words=self.missing_words, spellings=self.spellings
        )
        return texts.convert_labels(cells, column)

    def encode(self, cells: pl.Series) -> Array:
        """Encode the cells as indicators of shape (N, width)."""
        encoded = np.zeros((len(cells), self.width))
        other = len(self.levels) if self.other else -1
        missing = len(self.levels) + self.other if self.missing else -1
        labels = self.read(cells)
        places = texts.find_places(labels, self.levels, unknown=other, missing=missing)
        rows = np.flatnonzero(places >= 0)
        encoded[rows, places[rows]] = 1.0
        return encoded

    def page_form(self, profile: Any) -> Form:
        """Return the control of a page: the levels, and the most frequent one to start with."""
        counts = dict(zip(profile.levels, profile.counts, strict=True))
        levels = list(self.levels)
        return {
            "name": self.name,
            "kind": "category",
            "levels": levels,
            "other": self.other,
            "missing": self.missing,
            "start": max(levels, key=lambda level: counts.get(level, 0)) if levels else None,
        }


@dataclass(frozen=True)
class DatePart:
    """Encode dates: time, and phase in the year, the week and the day.

    Attributes
    ----------
    name : str
        Column name.
    origin, scale : float
        Mean and standard deviation of the days since 1970-01-01.
    year, week, day : bool
        Whether cosine and sine of the phase in that cycle are encoded.
    has_indicator : bool
        Whether a last column indicates missing dates; the other columns are then 0.
    style : str
        Text format: "iso", "dmy", "mdy", ...
    lenient : bool
        Whether text that is not a date counts as missing instead of raising an error.
    missing_words : tuple of str
        Texts that count as missing.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import tables
    >>> cycles = {"year": False, "week": True, "day": False}
    >>> part = tables.DatePart("sold", 0.0, 10.0, **cycles, has_indicator=False)
    >>> part.encode(pl.Series(["1970-01-08"]))
    array([[0.7, 1. , 0. ]])
    """

    name: str
    origin: float
    scale: float
    year: bool
    week: bool
    day: bool
    has_indicator: bool
    style: str = "iso"
    lenient: bool = False
    missing_words: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return 1 + 2 * len(self.periods()) + self.has_indicator

    def names(self) -> tuple[str, ...]:
        """Return the names of the encoded columns."""
        cycles = [f"{self.name} {f} of {word}" for word in self.periods() for f in ("cos", "sin")]
        last = (f"{self.name} missing",) if self.has_indicator else ()
        return (self.name, *cycles, *last)

    def read(self, cells: pl.Series) -> Array:
        """Parse the cells as days since 1970-01-01, nan where missing."""
        column = Column(
            self.name,
            "date",
            style=self.style,
            lenient=self.lenient,
            missing_words=self.missing_words,
        )
        return dates.require_days(cells, column)

    def encode(self, cells: pl.Series) -> Array:
        """Encode the cells as standardised time and cycles, (N, width)."""
        t = self.read(cells)
        missing = np.isnan(t)
        present = np.where(missing, self.origin, t)
        columns = [_standardise(present, self.origin, self.scale, self.name)]
        for period in self.periods().values():
            angle = compute_phase(present, period)
            columns += [np.where(missing, 0.0, f(angle)) for f in (np.cos, np.sin)]
        columns += [missing.astype(np.float64)] if self.has_indicator else []
        return np.column_stack(columns)

    def periods(self) -> dict[str, float]:
        """Return the encoded cycles by name, with their length in days."""
        cycles = {"year": (self.year, YEAR), "week": (self.week, 7.0), "day": (self.day, 1.0)}
        return {word: period for word, (used, period) in cycles.items() if used}

    def page_form(self, profile: Any) -> Form:
        """Return the control of a page: range, start value, cycles, and how dates are written."""
        return {
            "name": self.name,
            "scale": self.scale,
            **_form_range(profile),
            "kind": "date",
            "origin": self.origin,
            "periods": [float(period) for period in self.periods().values()],
            "indicator": self.has_indicator,
            "written": self._name_parts(),
        }

    def _name_parts(self) -> str:
        """Return whether a value is written as a date, a date and time, or a time."""
        if self.style == "clock":
            return "time"
        return "datetime" if self.day else "date"


Part: TypeAlias = NumberPart | CategoryPart | DatePart | LevelMeansPart | TextPart


def _form_range(profile: Any) -> Form:
    """Return the range and the start value, which is missing if all values are."""
    if not profile.quantiles:
        return {"low": 0.0, "high": 0.0, "start": None}
    low, _, median, _, high = profile.quantiles
    return {"low": low, "high": high, "start": median}


def _are_whole(profile: Any) -> bool:
    """Return whether the smallest and largest values are whole, so that all values may be."""
    ends = np.asarray(profile.quantiles)[[0, -1]] if profile.quantiles else np.zeros(2)
    return bool(np.all(ends == np.round(ends)) and np.ptp(ends) >= _FEW)


def compute_phase(t: Array, period: float) -> Array:
    """Return the phase of time t in a cycle, from 0 to 2 pi."""
    return 2.0 * np.pi * np.mod(t / period, 1.0)


def _standardise(x: Array, mean: float, scale: float, name: str) -> Array:
    with np.errstate(over="ignore"):
        z = (x - mean) / scale
    refuse_cells(
        ~np.isfinite(z),
        name,
        lambda row: (
            f"{x[row]!r} is too far from the training values (mean {mean:.6g}, standard "
            f"deviation {scale:.3g}). Correct the cell or leave it empty."
        ),
    )
    return z
