"""Columns with a role of their own: time, groups, coordinates and exposure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from posterity import distributions, models
from posterity.arrays import Array
from posterity.tables import column_types, dates, frames, texts
from posterity.tables.column_types import ParsedColumn
from posterity.tables.columns import Column, Schema, TableError, refuse_cells

REGIONS = 25
"""Regions into which rows with coordinates are divided, where nothing says how many."""
GROUPS = "it names the groups that are held out"
EXPOSURE = "it is the exposure of the counts"
NEEDS_EXPOSURE = "takes no exposure: it does not describe the rate of counts."
_BETWEEN = "\x1f"  # stands between the labels of several columns, and in no label


@dataclass(frozen=True)
class Roles:
    """The columns that say which rows depend on each other, and over what counts were made."""

    time: str | None = None
    groups: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    exposure: str | None = None

    def list_inputs(self) -> tuple[str, ...]:
        """Return the columns that stay inputs even if they look like identifiers."""
        return (*((self.time,) if self.time else ()), *self.blocks)

    def check_columns(self, table: pl.DataFrame, target: str, drop: Sequence[str]) -> None:
        """Refuse columns that do not exist, and those that cannot have a role."""
        named = (*self.list_inputs(), *self.groups)
        frames.require_columns(table, named)
        if len(set(self.groups)) != len(self.groups):
            raise TableError("groups must name different columns, such as HOSPITAL,PATIENT.")
        if len(self.blocks) not in (0, 2) or len(set(self.blocks)) != len(self.blocks):
            raise TableError("blocks must name two different columns, such as LAT,LON.")
        if sum(map(bool, (self.time, self.groups, self.blocks))) > 1:
            raise TableError(
                "Only one of time, groups and blocks can say which rows are held out; choose "
                "the one by which new rows will differ from these."
            )
        for name in named:
            if name == target:
                raise TableError(f"{name!r} is the target, so it cannot order or group the rows.")
            if name in drop and (name not in self.groups or len(self.groups) == 1):
                raise TableError(f"Column {name!r} orders or groups the rows; do not drop it.")
        self._check_exposure(table, (*named, *drop, target))

    def _check_exposure(self, table: pl.DataFrame, others: Sequence[str]) -> None:
        """Refuse an exposure that does not exist or is said to be something else, too."""
        if self.exposure is None:
            return
        frames.require_columns(table, (self.exposure,))
        if self.exposure in others:
            raise TableError(
                f"Column {self.exposure!r} is the exposure of the counts, so it cannot be the "
                "target, order or group the rows, or be dropped."
            )

    def check_kind(self, column: Column) -> None:
        """Refuse a time or a coordinate that cannot be read as a date or a number."""
        if column.name == self.time and column.kind == "category":
            raise TableError(
                f"Column {column.name!r} cannot be read as dates or numbers, so it does not say "
                "when a row was observed."
            )
        if column.name in self.blocks and column.kind != "number":
            raise TableError(
                f"Column {column.name!r} is not a number, so it cannot be a coordinate."
            )

    def order_inputs(self, inputs: Sequence[Column]) -> tuple[Column, ...]:
        """Return the inputs, the time first."""
        return tuple(sorted(inputs, key=lambda column: column.name != self.time))


@dataclass(frozen=True)
class GroupPart:
    """Encode the group of each row as a number.

    Attributes
    ----------
    columns : tuple of str
        Names of the columns; a group of several is a combination of their values.
    levels : tuple of str
        Groups with training rows; each is encoded as its position, and any other group as -1.

    Examples
    --------
    >>> import polars as pl
    >>> from posterity import tables
    >>> rows = pl.DataFrame({"patient": ["bob", "eve", None]})
    >>> tables.GroupPart(("patient",), ("ann", "bob")).encode(rows)
    array([ 1., -1., -1.])
    """

    columns: tuple[str, ...]
    levels: tuple[str, ...]

    @classmethod
    def from_rows(cls, rows: pl.DataFrame, columns: Sequence[str]) -> Self:
        """Learn the groups of some columns."""
        groups = _join_labels(rows, columns).drop_nulls().unique().sort()
        return cls(tuple(columns), tuple(groups.to_list()))

    def encode(self, rows: pl.DataFrame) -> Array:
        """Return the number of the group of each row, (N,); -1 if it is unknown or missing."""
        labels = _join_labels(rows, self.columns)
        return texts.find_places(labels, self.levels).astype(np.float64)


def _join_labels(rows: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return the label of the group of each row; null where one of the columns has no value."""
    frames.require_columns(rows, columns)
    labels = [texts.convert_labels(rows[name]) for name in columns]
    if len(labels) == 1:
        return labels[0]
    return pl.DataFrame(labels).select(pl.concat_str(pl.all(), separator=_BETWEEN)).to_series()


def number_groups(rows: pl.DataFrame, columns: Sequence[str]) -> NDArray[np.intp]:
    """Number the groups of some columns from 0; a row without a group is a group of its own."""
    codes = GroupPart.from_rows(rows, columns).encode(rows).astype(np.intp)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(np.count_nonzero(alone))
    return codes


def number_regions(
    rows: pl.DataFrame,
    schema: Schema,
    columns: Sequence[str],
    n_regions: int = REGIONS,
    seed: int = 0,
) -> NDArray[np.intp]:
    """Number the regions of rows by clusters of their standardised coordinates."""
    from sklearn.cluster import KMeans  # takes as long to import as a fit

    kinds = {column.name: column for column in schema.inputs}
    found = np.column_stack([read_positions(rows, kinds[name]) for name in columns])
    scale = np.std(found, axis=0)
    places = (found - np.mean(found, axis=0)) / np.where(scale > 0.0, scale, 1.0)
    n = min(n_regions, len(np.unique(places, axis=0)))
    return KMeans(n, n_init=1, random_state=seed).fit_predict(places)


def fit_with_groups(
    estimator: Any, X: Any, y: Any, groups: ArrayLike | None, *, exposed: bool = False
) -> Any:
    """Fit a copy of an estimator, and tell it the group of each row if it asks for groups.

    Estimators that judge themselves by rows which they leave out, such as forests and boosted
    trees, then leave out whole groups. The last step of a pipeline is told, too.

    Parameters
    ----------
    estimator : estimator
        Not changed.
    X, y : array-like
        Training rows and their targets.
    groups : array-like of shape (N,), optional
        Group of each row; None if rows do not depend on each other.
    exposed : bool, default=False
        Whether the last column of X is the exposure of the counts in y. The fitted estimator then
        takes it as the last column of new rows, too.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import RandomForestRegressor, tables
    >>> patient = np.repeat(np.arange(30), 3)
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(30, 2))[patient], np.sin(patient) + 0.01 * rng.normal(size=90)
    >>> forest = RandomForestRegressor(20, random_state=0)
    >>> for groups in (None, patient):
    ...     fitted = tables.fit_with_groups(forest, X, y, groups)
    ...     print(fitted.predict_dist(X).variance().mean().round(1))
    0.1
    0.7
    """
    name = find_groups_parameter(estimator)
    given = {} if groups is None or name is None else {name: groups}
    if exposed and not takes_exposure(estimator):
        raise TableError(f"{type(estimator).__name__} {NEEDS_EXPOSURE}")
    chosen = RateRegressor(estimator) if exposed else estimator
    return clone(chosen).fit(X, y, **given)


def find_groups_parameter(estimator: Any) -> str | None:
    """Return the parameter of ``fit`` that takes the group of each row, or None."""
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = find_groups_parameter(last)
        return None if inner is None else f"{step}__{inner}"
    return "groups" if has_fit_parameter(estimator, "groups") else None


def read_positions(frame: pl.DataFrame, column: Column) -> Array:
    """Read times (in days for dates) or coordinates, which no row may lack."""
    read = dates.require_days if column.kind == "date" else texts.require_numbers
    values = read(frame[column.name], column)
    refuse_cells(
        np.isnan(values),
        column.name,
        lambda row: (
            "the value is missing, so the row cannot be placed among the others. Fill in "
            "the cell or remove the row."
        ),
    )
    return values


class RateRegressor(models.Regressor):
    """A regressor of counts whose last column is the exposure of each count.

    Parameters
    ----------
    estimator : regressor
        One that takes ``exposure`` in ``fit`` and ``predict_dist``, with a likelihood of counts.

    Attributes
    ----------
    estimator_ : regressor
        Fitted to the other columns.

    Examples
    --------
    Ten hours with twenty events and twenty hours with forty, and the count of five hours:

    >>> import numpy as np
    >>> from posterity import GeneralizedLinearRegression, likelihoods, tables
    >>> rates = GeneralizedLinearRegression(likelihoods.Poisson())
    >>> X = np.array([[0.0, 10.0], [0.0, 20.0]])
    >>> model = tables.RateRegressor(rates).fit(X, np.array([20.0, 40.0]))
    >>> model.predict(np.array([[0.0, 5.0]])).round()
    array([10.])
    """

    estimator_: Any

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Fit to the other columns, with the exposures and where it asks for them the groups."""
        given = {} if groups is None else {"groups": groups}
        self.estimator_ = clone(self.estimator).fit(X[:, :-1], y, exposure=X[:, -1], **given)
        self.n_features_in_ = X.shape[1]
        return self

    def predict_dist(self, X: Any) -> distributions.Univariate:
        """Return the distribution of the count of each row over its exposure."""
        return self.estimator_.predict_dist(X[:, :-1], exposure=X[:, -1])


def takes_exposure(estimator: Any) -> bool:
    """Return whether an estimator learns rates from counts and their exposures.

    Examples
    --------
    >>> from posterity import BoostedTreesRegressor, likelihoods, tables
    >>> tables.takes_exposure(BoostedTreesRegressor(likelihood=likelihoods.Poisson()))
    True
    >>> tables.takes_exposure(BoostedTreesRegressor())
    False
    """
    likelihood = getattr(estimator, "likelihood", None)
    of_counts = bool(getattr(likelihood, "takes_exposure", False))
    return of_counts and has_fit_parameter(estimator, "exposure")


def strip_exposure(estimator: Any) -> Any:
    """Return the fitted estimator of the inputs alone, where the last column is the exposure.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import GeneralizedLinearRegression, likelihoods, tables
    >>> poisson = GeneralizedLinearRegression(likelihoods.Poisson())
    >>> x, years, y = np.arange(4.0), np.array([1.0, 2.0, 1.0, 2.0]), np.array([1, 2, 3, 8])
    >>> X = np.column_stack([x, years])
    >>> fitted = tables.fit_with_groups(poisson, X, y, None, exposed=True)
    >>> tables.strip_exposure(fitted).coef_.shape
    (1,)
    """
    return estimator.estimator_ if isinstance(estimator, RateRegressor) else estimator


def infer_exposure(cells: pl.Series, target: ParsedColumn, missing: tuple[str, ...]) -> Column:
    """Return how the exposures are read; refuse targets and exposures that cannot be used."""
    counts = target.numbers
    assert counts is not None  # the task is regression
    refuse_cells(
        ~np.isnan(counts) & ((counts < 0.0) | (counts != np.floor(counts))),
        target.column.name,
        lambda row: (
            f"{counts[row]:g} is not a count, and an exposure belongs to counts, which are "
            "whole numbers from 0 on. Correct the cell, choose another target, or leave out the "
            "exposure (--exposure)."
        ),
    )
    column = column_types.parse_column(cells, "number", missing=missing).column
    read_exposures(pl.DataFrame([cells]), column, needed=~np.isnan(counts))
    return column


def read_exposures(
    frame: pl.DataFrame, column: Column, *, needed: NDArray[np.bool_] | None = None
) -> Array:
    """Return the exposure of each row; refuse rows that need one and have none above zero."""
    name = column.name
    if name not in frame.columns:
        raise TableError(
            f"The table has no column {name!r} with the exposure of each count, over which this "
            "model predicts. Add it, or name the column that has it (--exposure)."
        )
    values = texts.require_numbers(frame[name], column)
    wrong = ~(values > 0.0)
    refuse_cells(
        wrong if needed is None else wrong & needed,
        name,
        lambda row: (
            "the exposure is missing or cannot be read. Correct the cell or remove the row."
            if np.isnan(values[row])
            else f"the exposure {texts.format_cell(frame[name][row])} is not greater than zero. "
            "Correct the cell or remove the row."
        ),
    )
    return values
