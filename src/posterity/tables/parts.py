"""How one column becomes numbers: what is fitted for it, and the arithmetic.

Each part is a plain record; ``encode`` gives ``width`` columns for the cells of one column of a
table, and never a nan.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from posterity.arrays import Array
from posterity.tables import dates, texts
from posterity.tables.columns import CellError, Column

MOST_LEVELS = 50
"""Levels of one category that get a column of their own."""

YEAR = 365.2425  # days


@dataclass(frozen=True)
class NumberPart:
    """A number, standardised, and whether it was missing.

    Attributes
    ----------
    name : str
        The column.
    mean, scale : float
        Mean and standard deviation of the values that were there.
    fill : float
        Stands for a missing value.
    has_indicator : bool
        Whether a second column is 1 for missing values; so where the fitted rows had some.
    style : str
        "comma" for a decimal comma in texts.
    lenient : bool
        Whether texts that are no numbers count as missing; they are an error otherwise.

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

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return 1 + self.has_indicator

    def names(self) -> tuple[str, ...]:
        """Their names."""
        return (self.name, f"{self.name} missing")[: self.width]

    def read(self, cells: pl.Series) -> Array:
        """The numbers in the cells, nan where missing."""
        return texts.checked(cells, self._column())

    def encode(self, cells: pl.Series) -> Array:
        """The standardised numbers, (N, width)."""
        x = self.read(cells)
        missing = np.isnan(x)
        z = _standardised(np.where(missing, self.fill, x), self.mean, self.scale, self.name)
        return np.column_stack([z, missing][: self.width]).astype(np.float64, copy=False)

    def _column(self) -> Column:
        return Column(self.name, "number", style=self.style, lenient=self.lenient)


@dataclass(frozen=True)
class CategoryPart:
    """A label, as one column of zeros and ones for each level.

    Attributes
    ----------
    name : str
        The column.
    levels : tuple of str
        Labels with a column of their own.
    other : bool
        Whether a column stands for all other labels; a row of zeros does where there is none.
    missing : bool
        Whether a column stands for missing labels; a row of zeros does where there is none.

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

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return len(self.levels) + self.other + self.missing

    def names(self) -> tuple[str, ...]:
        """Their names."""
        own = tuple(f"{self.name} = {level}" for level in self.levels)
        rest = ((f"{self.name} other",) if self.other else ()) + (
            (f"{self.name} missing",) if self.missing else ()
        )
        return own + rest

    def read(self, cells: pl.Series) -> pl.Series:
        """The labels in the cells, null where missing."""
        return texts.labels(cells)

    def encode(self, cells: pl.Series) -> Array:
        """Ones where a label is, (N, width)."""
        encoded = np.zeros((len(cells), self.width))
        places = self._places(self.read(cells))
        rows = np.flatnonzero(places >= 0)
        encoded[rows, places[rows]] = 1.0
        return encoded

    def _places(self, labels: pl.Series) -> Array:
        """The column that each row sets, -1 for none."""
        other = len(self.levels) if self.other else -1
        missing = len(self.levels) + self.other if self.missing else -1
        known = pl.Series(self.levels, dtype=pl.String)
        order = pl.Series(range(len(self.levels)), dtype=pl.Int32)
        places = labels.replace_strict(known, order, default=other, return_dtype=pl.Int32)
        return places.set(labels.is_null(), missing).to_numpy()


@dataclass(frozen=True)
class DatePart:
    """A date as time on a line, and as a place in the year, the week and the day.

    Attributes
    ----------
    name : str
        The column.
    origin, scale : float
        Mean and standard deviation in days, counted from 1970-01-01.
    year, week, day : bool
        Whether cosine and sine of the place in that cycle follow.
    has_indicator : bool
        Whether a last column is 1 for missing dates; all others are 0 there.
    style : str
        How texts are written: "iso", "dmy", "mdy", ...
    lenient : bool
        Whether texts that are no dates count as missing; they are an error otherwise.

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

    @property
    def width(self) -> int:
        """Columns that it makes."""
        return 1 + 2 * len(self.periods()) + self.has_indicator

    def names(self) -> tuple[str, ...]:
        """Their names."""
        cycles = [f"{self.name} {f} of {word}" for word in self.periods() for f in ("cos", "sin")]
        last = (f"{self.name} missing",) if self.has_indicator else ()
        return (self.name, *cycles, *last)

    def read(self, cells: pl.Series) -> Array:
        """Days since 1970-01-01, nan where missing."""
        column = Column(self.name, "date", style=self.style, lenient=self.lenient)
        return dates.checked(cells, column)

    def encode(self, cells: pl.Series) -> Array:
        """Standardised time and the cycles, (N, width)."""
        t = self.read(cells)
        missing = np.isnan(t)
        present = np.where(missing, self.origin, t)
        columns = [_standardised(present, self.origin, self.scale, self.name)]
        for period in self.periods().values():
            angle = phase(present, period)
            columns += [np.where(missing, 0.0, f(angle)) for f in (np.cos, np.sin)]
        columns += [missing.astype(np.float64)] if self.has_indicator else []
        return np.column_stack(columns)

    def periods(self) -> dict[str, float]:
        """Length in days of each cycle that is encoded, by its name."""
        cycles = {"year": (self.year, YEAR), "week": (self.week, 7.0), "day": (self.day, 1.0)}
        return {word: period for word, (used, period) in cycles.items() if used}


Part: TypeAlias = NumberPart | CategoryPart | DatePart


def phase(t: Array, period: float) -> Array:
    """Angle of time t in a cycle, from 0 to 2 pi."""
    return 2.0 * np.pi * np.mod(t / period, 1.0)


def _standardised(x: Array, mean: float, scale: float, name: str) -> Array:
    with np.errstate(over="ignore"):
        z = (x - mean) / scale
    if not np.isfinite(z).all():
        row = int(np.argmin(np.isfinite(z)))
        raise CellError(
            row + 1,
            name,
            f"{x[row]!r} is too far from what the model was fitted to ({mean:.6g} with a "
            f"standard deviation of {scale:.3g}). Correct the cell or leave it empty.",
        )
    return z
