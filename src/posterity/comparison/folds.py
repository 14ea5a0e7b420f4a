"""Split a table into cross-validation folds whose encoders see only training rows."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from posterity import tables
from posterity.arrays import Array
from posterity.comparison.baselines import constant_baseline

_FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """Encoded training and test rows; the encoder is fitted to the training rows only."""

    X_train: Any  # an array, in memory or of Dask
    y_train: Any
    X_test: Array
    y_test: NDArray[Any]
    rows: NDArray[np.intp]  # positions of the test rows in the table
    blocks: tuple[tuple[str, slice], ...]  # each input, and the columns that encode it
    with_missing: "Fold | None" = (
        None  # the same rows with missing numbers as nan, if there are any
    )

    def for_estimator(self, estimator: Any) -> "Fold":
        """Return the rows as the estimator takes them: missing numbers as such, or filled."""
        if self.with_missing is not None and tables.accepts_missing(estimator):
            return self.with_missing
        return replace(self, with_missing=None)


@dataclass(frozen=True, eq=False)
class TableFolds:
    """The folds of a table, with all of its targets."""

    folds: tuple[Fold, ...]
    y: NDArray[Any]
    classes: tuple[str, ...]
    n_rows: int  # with a target


def split_table(frame: pl.DataFrame, schema: tables.Schema, n_folds: int, seed: int) -> TableFolds:
    """Split the rows that have a target into folds, stratified by class.

    The encoder of every fold is fitted to its training rows, so held-out rows do not leak through
    means and categories.
    """
    whole = tables.TableModel(constant_baseline(schema.task), _check_schema(schema, n_folds)).fit(
        frame
    )
    y_all, has_target = whole.encode_targets(frame)
    present = np.flatnonzero(has_target)
    y = y_all[present]
    _refuse_too_few(y, schema, whole.labels_)
    folds = tuple(
        _encode_fold(frame, schema, y_all, present[train], present[test])
        for train, test in split_rows(y, n_folds, seed, stratified=bool(whole.labels_))
    )
    return TableFolds(folds, y, whole.labels_, len(y))


def split_rows(
    y: NDArray[Any], n_folds: int, seed: int, *, stratified: bool
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return the training and test rows of each fold: at least two rows, of each class equally."""
    n = min(n_folds, len(y) // 2)
    if not stratified:
        return list(KFold(n, shuffle=True, random_state=seed).split(y))
    n = min(n, int(np.unique(y, return_counts=True)[1].max()))
    with warnings.catch_warnings():
        # A class may have fewer rows than there are folds: some folds then lack it.
        warnings.filterwarnings("ignore", "The least populated class")
        return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(y, y))


def _check_schema(schema: tables.Schema, n_folds: int) -> tables.Schema:
    """Return the schema if a table with it can be split."""
    if n_folds < 2:
        raise ValueError(f"folds={n_folds} must be at least 2.")
    if not schema.inputs:
        raise tables.TableError(
            f"No input column is left to predict {schema.target!r} from; keep one with --keep."
        )
    return schema


def _refuse_too_few(y: NDArray[Any], schema: tables.Schema, classes: tuple[str, ...]) -> None:
    """Refuse tables with too few rows for cross-validation."""
    if len(y) < _FEWEST_ROWS:
        raise tables.TableError(
            f"Only {len(y)} rows have a value of {schema.target!r}; comparing models needs at "
            f"least {_FEWEST_ROWS}."
        )
    if classes and np.sum(np.bincount(y.astype(np.intp)) > 1) < 2:
        raise tables.TableError(
            f"Fewer than two classes of {schema.target!r} have two rows or more; a class needs at "
            "least one row to fit and one to score."
        )


def _encode_fold(
    frame: pl.DataFrame,
    schema: tables.Schema,
    y: NDArray[Any],
    train_rows: NDArray[np.intp],
    test_rows: NDArray[np.intp],
) -> Fold:
    """Encode the training and test rows of one fold, also with missing numbers as such."""
    kept = None
    if any(column.kind == "number" and column.n_missing for column in schema.inputs):
        kept = _encode_rows(frame, schema, y, train_rows, test_rows, keep_missing=True)
    fold = _encode_rows(frame, schema, y, train_rows, test_rows, keep_missing=False)
    return replace(fold, with_missing=kept)


def _encode_rows(
    frame: pl.DataFrame,
    schema: tables.Schema,
    y: NDArray[Any],
    train_rows: NDArray[np.intp],
    test_rows: NDArray[np.intp],
    *,
    keep_missing: bool,
) -> Fold:
    """Encode the training and test rows of one fold in one way."""
    encoder = tables.TableEncoder(schema.inputs, keep_missing)
    return Fold(
        encoder.fit_transform(frame[train_rows], y[train_rows]),
        y[train_rows],
        encoder.transform(frame[test_rows]),
        y[test_rows],
        test_rows,
        encoder.blocks(),
    )
