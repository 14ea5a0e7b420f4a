"""The contents of a report, and derived data that its sections share."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import comparison, tables
from posterity.arrays import Array
from posterity.comparison import results
from posterity.comparison.results import LEVELS
from posterity.report import what_if
from posterity.tables import roles

_PACKAGES = ("posterity", "numpy", "scikit-learn")


def find_versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of the libraries that the numbers depend on."""
    return tuple((name, metadata.version(name)) for name in _PACKAGES)


@dataclass(frozen=True, eq=False)
class ReportContents:
    """Everything that a report shows.

    Parameters
    ----------
    title : str
        Title of the page.
    command : str
        Command that makes the report again.
    model : tables.TableModel
        Fitted model; the winner of ``comparison`` if there is one.
    frame : polars.DataFrame
        The rows, including the target; a sample if the file is larger than memory.
    held_out : HeldOut
        Predictions for rows of ``frame``, and the observed values.
    comparison : Comparison, optional
        Scores of several models; ``held_out`` then contains only held-out rows.
    two_classes : TwoClassScores, optional
        Scores of two classes, if there is no ``comparison``, which has them.
    model_path : str, default="model.posterity"
        File of the saved model, for the suggested commands.
    source : str, default="data.csv"
        File of the table, for the suggested commands.
    dask : str, optional
        Address of the Dask cluster, for the suggested commands.
    n_rows_in_file : int, optional
        Number of rows in the file. None: as many as ``frame`` has.
    row_numbers : ndarray of shape (n,), optional
        Positions of the rows of ``frame`` in the file, from 0. None: consecutive.
    inferred : tuple of str
        Sentences that describe the inferred schema.
    notes : tuple of str
        Sentences to show at the top.
    seed : int, default=0
        Random seed.
    versions : tuple of (str, str)
        Names and versions of the libraries.
    """

    title: str
    command: str
    model: tables.TableModel
    frame: pl.DataFrame
    held_out: results.HeldOut
    comparison: results.Comparison | None = None
    two_classes: results.TwoClassScores | None = None
    model_path: str = "model.posterity"
    source: str = "data.csv"
    dask: str | None = None
    n_rows_in_file: int | None = None
    row_numbers: NDArray[Any] | None = None
    inferred: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seed: int = 0
    versions: tuple[tuple[str, str], ...] = field(default_factory=find_versions)

    @property
    def schema(self) -> tables.Schema:
        """Inferred schema of the table."""
        return self.model.schema_

    @property
    def is_regression(self) -> bool:
        """Whether the target is a number."""
        return self.schema.task == "regression"

    @property
    def n_rows(self) -> int:
        """Number of rows in the file."""
        return self.frame.height if self.n_rows_in_file is None else self.n_rows_in_file

    @property
    def model_name(self) -> str:
        """Short name of the model, or its class."""
        if self.comparison is not None:
            return self.comparison.best.name
        return type(tables.strip_exposure(self.model.estimator_)).__name__

    @property
    def rows_description(self) -> str:
        """Description of the scored rows, for captions."""
        return "rows of the file" if self.comparison is None else "held-out rows"

    def row_number(self, row: int) -> int:
        """Return the number of a row in the file, counted from 1 below the header."""
        return 1 + int(row if self.row_numbers is None else self.row_numbers[row])

    @property
    def row_number_note(self) -> str:
        """Sentence that explains the row numbers."""
        if self.row_numbers is None and self.n_rows > self.frame.height:
            return "Rows are counted from 1 within the sample that was read."
        return "Rows are counted from 1 below the header."

    @property
    def predict_command(self) -> str:
        """Command that predicts new rows."""
        words = ["posterity", "predict", self.model_path, self.source]
        return shlex.join([*words, *(() if self.dask is None else ("--dask", self.dask))])


N_SHOWN = 600  # rows in a figure: enough to show the shape, few enough to see single rows
_N_LOOKED_AT = 5000  # rows from which ranges and typical values are taken
_PER_CYCLE = 8  # points of a curve in one year, week or day
_DENSER = 4  # at most this many times the points of a curve without cycles
_MOST_SECONDS = 10.0  # to rank the inputs; only slow models reach it
_MATTERS = 0.01  # of the importance of the first input
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class ReportData:
    """A contents with derived data that all sections share.

    Attributes
    ----------
    contents : ReportContents
        Contents of the report.
    importance : tuple of comparison.Importance
        Importance of the inputs, the most important first.
    sample : polars.DataFrame
        Rows from which ranges and typical values are taken.
    shown : ndarray of int
        Positions in ``contents.held_out`` of the rows that figures show.
    """

    contents: ReportContents
    importance: tuple[comparison.Importance, ...]
    sample: pl.DataFrame
    shown: NDArray[np.intp]

    @classmethod
    def from_contents(cls, contents: ReportContents) -> ReportData:
        """Compute the shared data of a contents."""
        rng = np.random.default_rng(contents.seed)
        found = _importance(contents)
        rows = draw_positions(contents.frame.height, _N_LOOKED_AT, rng)
        return cls(
            contents,
            found,
            contents.frame[rows],
            draw_positions(len(contents.held_out.rows), N_SHOWN, rng),
        )

    def count_leading(self, at_least: int, at_most: int) -> int:
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
        return next(part for part in self.contents.model.encoder_.parts_ if part.name == name)

    def kind(self, name: str) -> tables.Kind:
        """Return whether an input is a number, a category or a date."""
        return next(one.kind for one in self.contents.schema.inputs if one.name == name)

    def list_kind(self, *kinds: tables.Kind) -> list[str]:
        """Return the names of inputs of these kinds, without numbers that are one of two."""
        found = (name for name in self.names if self.kind(name) in kinds)
        return [name for name in found if self.two_values(name) is None]

    def values(self, name: str, frame: pl.DataFrame) -> Array:
        """Read a column as numbers, or days since 1970; NaN for empty cells."""
        return self.part(name).read(frame[name])

    def take_measured(self, rows: NDArray[np.intp]) -> pl.DataFrame:
        """Return the rows of the table at positions of ``held_out``."""
        return self.contents.frame[self.contents.held_out.rows[rows]]

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
        return what_if.two_values(self.contents.model, name)

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
        groups = [name for name in self.contents.schema.groups if name not in cells]
        rows = rows.with_columns(pl.lit(None, pl.String).alias(name) for name in groups)
        exposure = self.contents.schema.exposure
        if exposure is None:
            return rows
        none = np.zeros(self.sample.height, dtype=np.bool_)
        typical = np.nanmedian(roles.read_exposures(self.sample, exposure, needed=none))
        return rows.with_columns(pl.lit(float(typical)).alias(exposure.name))

    def quantiles(self, frame: pl.DataFrame) -> Array:
        """Return the quantiles of the prediction at ``LEVELS``, (n, 5)."""
        dist = self.contents.model.predict_dist(frame)
        return np.stack([dist.icdf(level) for level in LEVELS], axis=1)


_TYPES: dict[str, Any] = {
    "number": pl.Float64,
    "category": pl.String,
    "text": pl.String,
    "date": pl.Datetime("us"),
}


def _importance(contents: ReportContents) -> tuple[comparison.Importance, ...]:
    """Return the importance on held-out rows if available, else on the rows of the contents."""
    if contents.comparison is not None:
        return contents.comparison.importance
    return comparison.importance(
        contents.model, contents.frame, seed=contents.seed, max_seconds=_MOST_SECONDS
    )


def draw_positions(n: int, at_most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw at most this many of n positions, in ascending order."""
    if n <= at_most:
        return np.arange(n)
    return np.sort(rng.choice(n, size=at_most, replace=False))


def _to_datetime(day: float) -> datetime:
    return _EPOCH + timedelta(days=float(np.clip(day, -700_000.0, 2_900_000.0)))
