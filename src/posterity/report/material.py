"""Data that several sections of a report share: ranked inputs, rows to show, typical values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import comparison, tables
from posterity.arrays import Array
from posterity.comparison.results import LEVELS
from posterity.report import what_if
from posterity.report.story import Story
from posterity.tables import roles

N_SHOWN = 600  # rows in a figure: enough to show the shape, few enough to see single rows
_N_LOOKED_AT = 5000  # rows from which ranges and typical values are taken
_PER_CYCLE = 8  # points of a curve in one year, week or day
_DENSER = 4  # at most this many times the points of a curve without cycles
_MOST_SECONDS = 10.0  # to rank the inputs; only slow models reach it
_MATTERS = 0.01  # of the importance of the first input
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class ReportData:
    """A story with derived data that all sections share.

    Attributes
    ----------
    story : Story
        Contents of the report.
    importance : tuple of comparison.Importance
        Importance of the inputs, the most important first.
    sample : polars.DataFrame
        Rows from which ranges and typical values are taken.
    shown : ndarray of int
        Positions in ``story.held_out`` of the rows that figures show.
    """

    story: Story
    importance: tuple[comparison.Importance, ...]
    sample: pl.DataFrame
    shown: NDArray[np.intp]

    @classmethod
    def of(cls, story: Story) -> ReportData:
        """Compute the shared data of a story."""
        rng = np.random.default_rng(story.seed)
        found = _importance(story)
        rows = draw_positions(story.frame.height, _N_LOOKED_AT, rng)
        return cls(
            story,
            found,
            story.frame[rows],
            draw_positions(len(story.held_out.rows), N_SHOWN, rng),
        )

    def leading(self, at_least: int, at_most: int) -> int:
        """Count the inputs that matter, within limits."""
        drops = np.array([one.drop for one in self.importance])
        matter = np.count_nonzero(drops > _MATTERS * drops.max(initial=0.0))
        return min(max(int(matter), at_least), at_most, len(drops))

    @property
    def names(self) -> list[str]:
        """Names of the inputs, the most important first."""
        return [one.name for one in self.importance]

    def part(self, name: str) -> Any:
        """Return the encoder of an input."""
        return next(part for part in self.story.model.encoder_.parts_ if part.name == name)

    def kind(self, name: str) -> tables.Kind:
        """Return whether an input is a number, a category or a date."""
        return next(one.kind for one in self.story.schema.inputs if one.name == name)

    def of_kind(self, *kinds: tables.Kind) -> list[str]:
        """Return the names of inputs of these kinds, without numbers that are one of two."""
        found = (name for name in self.names if self.kind(name) in kinds)
        return [name for name in found if self.two_values(name) is None]

    def values(self, name: str, frame: pl.DataFrame) -> Array:
        """Read a column as numbers, or days since 1970; NaN for empty cells."""
        return self.part(name).read(frame[name])

    def measured(self, rows: NDArray[np.intp]) -> pl.DataFrame:
        """Return the rows of the table at positions of ``held_out``."""
        return self.story.frame[self.story.held_out.rows[rows]]

    @cached_property
    def typical(self) -> dict[str, Any]:
        """Typical value of each input: the median, or the most frequent category."""
        return {name: self._typical_value(name) for name in self.names}

    def _typical_value(self, name: str) -> Any:
        if self.kind(name) in ("category", "text"):
            labels = self.part(name).read(self.sample[name]).drop_nulls()
            return labels.mode().sort()[0] if len(labels) else None
        values = self.values(name, self.sample)
        middle = float(np.nanmedian(values)) if not np.isnan(values).all() else 0.0
        if (pair := self.two_values(name)) is not None:
            return min(pair, key=lambda one: abs(one - middle))
        return middle if self.kind(name) == "number" else _to_datetime(middle)

    def two_values(self, name: str) -> tuple[float, float] | None:
        """Return the values of a number that is one of two, such as 0 and 1; else None."""
        return what_if.two_values(self.story.model, name)

    def column(self, name: str, values: Array) -> list[Any]:
        """Convert numbers, or days since 1970, to cells of a table."""
        if self.kind(name) == "number":
            return values.tolist()
        return [_to_datetime(day) for day in values.tolist()]

    def grid(self, name: str, low: float, high: float, n: int) -> Array:
        """Return at least n values of an input at which a curve is drawn.

        Cycles of a date are resolved; if there are too many, only the last ones are drawn.
        """
        periods = self.part(name).periods().values() if self.kind(name) == "date" else ()
        if not periods or high <= low:
            return np.linspace(low, high, n if high > low else 1)
        step = min(periods) / _PER_CYCLE
        start = max(low, high - _DENSER * n * step)
        return np.linspace(start, high, max(n, int(np.ceil((high - start) / step)) + 1))

    def rows_of(self, columns: dict[str, Sequence[Any]]) -> pl.DataFrame:
        """Build rows with typical values in all but the given columns, of a group not seen.

        The exposure of a count is the median one.
        """
        n = len(next(iter(columns.values())))
        cells = {name: [value] * n for name, value in self.typical.items()}
        types = {name: _TYPES[self.kind(name)] for name in cells}
        rows = pl.DataFrame({**cells, **columns}, schema=types, strict=False)
        groups = [name for name in self.story.schema.groups if name not in cells]
        rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in groups)
        exposure = self.story.schema.exposure
        if exposure is None:
            return rows
        none = np.zeros(self.sample.height, dtype=np.bool_)
        typical = np.nanmedian(roles.read_exposures(self.sample, exposure, needed=none))
        return rows.with_columns(pl.lit(float(typical)).alias(exposure.name))

    def quantiles(self, frame: pl.DataFrame) -> Array:
        """Return the quantiles of the prediction at ``LEVELS``, (n, 5)."""
        dist = self.story.model.predict_dist(frame)
        return np.stack([dist.icdf(level) for level in LEVELS], axis=1)


_TYPES: dict[str, Any] = {
    "number": pl.Float64,
    "category": pl.String,
    "text": pl.String,
    "date": pl.Datetime("us"),
}


def _importance(story: Story) -> tuple[comparison.Importance, ...]:
    """Return the importance on held-out rows if available, else on the rows of the story."""
    if story.comparison is not None:
        return story.comparison.importance
    return comparison.importance(
        story.model, story.frame, seed=story.seed, max_seconds=_MOST_SECONDS
    )


def draw_positions(n: int, at_most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw at most this many of n positions, in ascending order."""
    if n <= at_most:
        return np.arange(n)
    return np.sort(rng.choice(n, size=at_most, replace=False))


def _to_datetime(day: float) -> datetime:
    return _EPOCH + timedelta(days=float(np.clip(day, -700_000.0, 2_900_000.0)))
