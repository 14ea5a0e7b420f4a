"""Split a table into cross-validation folds whose encoders see only training rows."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from posterity import copies, tables
from posterity.arrays import Array
from posterity.comparison.baseline import constant_baseline
from posterity.comparison.holdout import Holdout
from posterity.row_groups import RowGroups
from posterity.tables import roles

_FEWEST_ROWS = 10
_FEWEST_TRAIN = 4  # rows before the first held-out ones
_CELLS = 5  # regions in each fold

Split: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Fold:
    """Encoded training and test rows; the encoder is fitted to the training rows only."""

    X_train: Any  # an array, in memory or of Dask
    y_train: Any
    X_test: Array
    y_test: NDArray[Any]
    rows: NDArray[np.intp]  # positions of the test rows in the table
    blocks: tuple[tuple[str, slice], ...]  # each input, and the columns that encode it
    clusters: NDArray[np.intp] | None = None  # of the test rows that depend on each other
    groups: tuple[Array, Array] | None = None  # numbers of the training and test rows' groups
    together: NDArray[np.intp] | None = None  # equal for training rows of one group or region
    exposed: bool = False  # the last columns are the exposures of the counts
    with_missing: "Fold | None" = (
        None  # the same rows with missing numbers as nan, if there are any
    )

    def for_estimator(self, estimator: Any) -> "Fold":
        """Return the rows as the estimator takes them: missing numbers as such, or filled."""
        if self.with_missing is not None and tables.accepts_missing(estimator):
            return self.with_missing
        return replace(self, with_missing=None)

    def as_seen(self, view: str) -> Self:
        """Return the fold with the columns that an estimator with this view is given."""
        if view == "plain":
            return self
        if self.groups is None:
            raise tables.TableError(
                "This model needs the group of each row; name its column (--group)."
            )
        X = [
            np.column_stack(pair)
            for pair in zip((self.X_train, self.X_test), self.groups, strict=True)
        ]
        kept = None if self.with_missing is None else self.with_missing.as_seen(view)
        return replace(self, X_train=X[0], X_test=X[1], groups=None, with_missing=kept)


@dataclass(frozen=True, eq=False)
class TableFolds:
    """The folds of a table, with all of its targets."""

    folds: tuple[Fold, ...]
    y: NDArray[Any]
    classes: tuple[str, ...]
    n_rows: int  # with a target
    n_copies: int = 0  # of them, of other rows in the same fold


def split_table(frame: pl.DataFrame, schema: tables.Schema, holdout: Holdout) -> TableFolds:
    """Split the rows that have a target into folds: at random, by time, groups or regions.

    The encoder of every fold is fitted to its training rows, so held-out rows do not leak through
    means and categories. At random, copies of a row are in one fold.
    """
    whole = tables.TableModel(constant_baseline(schema), _check_schema(schema, holdout.folds)).fit(
        frame
    )
    y_all, has_target = whole.encode_targets(frame)
    present = np.flatnonzero(has_target)
    y = y_all[present]
    _refuse_too_few(y, schema, whole.labels_)
    copied = None
    if holdout.kind == "random":
        inputs = whole.encode_inputs(frame[present])
        copied = copies.find_copies(inputs, y, is_class=bool(whole.labels_))
    parts, clusters = _split_by_holdout(
        frame[present], y, schema, holdout, copied, stratified=bool(whole.labels_)
    )
    folds = tuple(
        _encode_fold(
            frame,
            schema,
            y_all,
            (present[train], present[test]),
            None if clusters is None else clusters[test],
            clusters[train] if clusters is not None and holdout.kind == "blocks" else None,
        )
        for train, test in parts
    )
    n_copies = 0 if copied is None else len(y) - copied.n_groups
    return TableFolds(folds, y, whole.labels_, len(y), n_copies)


def split_rows(y: NDArray[Any], n_folds: int, seed: int, *, stratified: bool) -> list[Split]:
    """Return the training and test rows of each fold: at least two rows, of each class equally."""
    n = min(n_folds, len(y) // 2)
    if not stratified:
        return list(KFold(n, shuffle=True, random_state=seed).split(y))
    n = min(n, int(np.unique(y, return_counts=True)[1].max()))
    with warnings.catch_warnings():
        # A class may have fewer rows than there are folds: some folds then lack it.
        warnings.filterwarnings("ignore", "The least populated class")
        return list(StratifiedKFold(n, shuffle=True, random_state=seed).split(y, y))


def split_times(times: Array, holdout: Holdout) -> list[Split]:
    """Return earlier training rows and later test rows for several origins in the second half.

    The test rows of all origins follow each other and cover the second half of the distinct times,
    so every model is fitted to at least half of them, less the gap. Rows of the same time are
    never split.
    """
    distinct, place = np.unique(times, return_inverse=True)
    length = len(distinct) // (2 * holdout.folds)
    if length < 1:
        raise tables.TableError(
            f"Column {holdout.columns[0]!r} has {len(distinct)} different times, too few for "
            f"{holdout.folds} folds of later rows; at least {2 * holdout.folds} are needed. Use "
            "fewer folds (--folds)."
        )
    splits = []
    for train, test in TimeSeriesSplit(holdout.folds, test_size=length).split(distinct):
        last = holdout.last_training_time(distinct[train], distinct[test[0]])
        fitted = np.flatnonzero(times <= last)
        if len(fitted) < _FEWEST_TRAIN:
            raise tables.TableError(
                f"A gap of {holdout.gap} leaves {len(fitted)} rows to fit to before the first "
                "held-out row; use a smaller one (--gap) or fewer folds (--folds)."
            )
        splits.append((fitted, np.flatnonzero((place >= test[0]) & (place <= test[-1]))))
    return splits


def split_groups(
    groups: NDArray[np.intp], y: NDArray[Any], holdout: Holdout, *, stratified: bool
) -> list[Split]:
    """Return folds that hold out whole groups, with classes as equally frequent as possible."""
    n_groups = len(np.unique(groups))
    if n_groups < holdout.folds:
        what = f"{_name_columns(holdout.columns)} has" if holdout.kind == "groups" else "There are"
        raise tables.TableError(
            f"{what} {n_groups} {holdout.kind}, fewer than the {holdout.folds} folds"
            + (f"; use --folds {n_groups}." if n_groups > 1 else ", so none can be held out.")
        )
    if not stratified:
        by_group = GroupKFold(holdout.folds, shuffle=True, random_state=holdout.seed)
        return list(by_group.split(y, groups=groups))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        both = StratifiedGroupKFold(holdout.folds, shuffle=True, random_state=holdout.seed)
        found = list(both.split(y, y, groups))
    # A class may live in so few groups that a fold of the others is empty.
    return [(train, test) for train, test in found if len(train) and len(test)]


def _name_columns(names: tuple[str, ...]) -> str:
    """Return the subject of a sentence about the groups of some columns."""
    joined = " and ".join(repr(name) for name in names)
    return f"Column {joined}" if len(names) == 1 else f"The combination of {joined}"


def _split_by_holdout(
    rows: pl.DataFrame,
    y: NDArray[Any],
    schema: tables.Schema,
    holdout: Holdout,
    copied: RowGroups | None,
    *,
    stratified: bool,
) -> tuple[list[Split], NDArray[np.intp] | None]:
    """Return the training and test rows of each fold, and which rows depend on each other."""
    if copied is not None and copied.n_groups >= 2 * _FEWEST_TRAIN:
        fewer = replace(holdout, folds=min(holdout.folds, copied.n_groups // 2))
        return split_groups(copied.number, y, fewer, stratified=stratified), copied.number
    if holdout.kind == "random":
        return split_rows(y, holdout.folds, holdout.seed, stratified=stratified), None
    if holdout.kind == "groups":
        clusters = roles.number_groups(rows, holdout.columns)
        return split_groups(clusters, y, holdout, stratified=stratified), clusters
    if holdout.kind == "blocks":
        n_regions = _CELLS * holdout.folds
        clusters = roles.number_regions(rows, schema, holdout.columns, n_regions, holdout.seed)
        return split_groups(clusters, y, holdout, stratified=stratified), clusters
    (column,) = (one for one in schema.inputs if one.name in holdout.columns)
    splits = split_times(roles.read_positions(rows, column), holdout)
    windows = np.zeros(len(y), dtype=np.intp)
    for number, (_, test) in enumerate(splits):
        windows[test] = number
    return splits, windows


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
    split: Split,
    clusters: NDArray[np.intp] | None,
    regions: NDArray[np.intp] | None,
) -> Fold:
    """Encode the training and test rows of one fold, also with missing numbers as such."""
    train_rows, test_rows = split
    train, test = frame[train_rows], frame[test_rows]

    def encode(*, keep_missing: bool) -> Fold:
        encoder = tables.TableEncoder(schema.inputs, keep_missing)
        return Fold(
            _append_exposures(encoder.fit_transform(train, y[train_rows]), train, schema),
            y[train_rows],
            _append_exposures(encoder.transform(test), test, schema),
            y[test_rows],
            test_rows,
            encoder.blocks(),
            clusters,
            _encode_groups(train, test, schema.groups),
            roles.number_groups(train, schema.groups) if schema.groups else regions,
            exposed=schema.exposure is not None,
        )

    is_missing = any(column.kind == "number" and column.n_missing for column in schema.inputs)
    kept = encode(keep_missing=True) if is_missing else None
    return replace(encode(keep_missing=False), with_missing=kept)


def _append_exposures(X: Array, rows: pl.DataFrame, schema: tables.Schema) -> Array:
    """Append the exposure of each row as last column, if the table has one."""
    if schema.exposure is None:
        return X
    return np.column_stack([X, roles.read_exposures(rows, schema.exposure)])


def _encode_groups(
    train: pl.DataFrame, test: pl.DataFrame, groups: tuple[str, ...]
) -> tuple[Array, Array] | None:
    """Return the numbers of the groups of the rows, if the table has groups."""
    if not groups:
        return None
    part = roles.GroupPart.from_rows(train, groups)
    return part.encode(train), part.encode(test)
