"""Rows dealt into parts, each to be predicted by a model that saw only the others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from posterity import tables
from posterity.arrays import Array
from posterity.comparison.baselines import constant

_FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class Fold:
    """Numbers to fit to, and numbers to predict, encoded as the former alone would have it."""

    X_train: Any  # an array, in memory or of Dask
    y_train: Any
    X_test: Array
    y_test: NDArray[Any]
    rows: NDArray[np.intp]  # of the table, those of the test
    blocks: tuple[tuple[str, slice], ...]  # each input, and the columns that encode it


@dataclass(frozen=True, eq=False)
class Parts:
    """A table whose rows have been dealt out."""

    folds: tuple[Fold, ...]
    y: NDArray[Any]
    classes: tuple[str, ...]
    n_rows: int  # that are fitted to, in all parts but one


def split(frame: pl.DataFrame, schema: tables.Schema, n_folds: int, seed: int) -> Parts:
    """Deal the rows that have a target into parts, at most half as many as there are rows.

    The encoder of every part is fitted to the rows outside it: what is held out says nothing, not
    even through means and levels.
    """
    whole = tables.TableModel(constant(schema.task), _readable(schema, n_folds)).fit(frame)
    y_all, has_target = whole.outcomes(frame)
    present = np.flatnonzero(has_target)
    y = y_all[present]
    _refuse_too_few(y, schema, whole.classes_)
    part_of = dealt(y if whole.classes_ else np.zeros(len(y)), min(n_folds, len(y) // 2), seed)
    parts = range(int(part_of.max()) + 1)
    folds = tuple(_fold(frame, schema, present, y, part_of == part) for part in parts)
    return Parts(folds, y, whole.classes_, len(y))


def dealt(groups: NDArray[Any], n_folds: int, seed: int) -> NDArray[np.intp]:
    """The part of each row, drawn at random: all parts as large, also within each group."""
    shuffled = np.random.default_rng(seed).permutation(len(groups))
    by_group = shuffled[np.argsort(groups[shuffled], kind="stable")]
    part_of = np.empty(len(groups), dtype=np.intp)
    part_of[by_group] = np.arange(len(groups)) % n_folds
    return part_of


def _readable(schema: tables.Schema, n_folds: int) -> tables.Schema:
    """The schema, where it can be cut at all."""
    if n_folds < 2:
        raise ValueError(f"folds={n_folds} must be at least 2.")
    if not schema.inputs:
        raise tables.TableError(
            f"No column is left to predict {schema.target!r} from; keep one with --keep."
        )
    return schema


def _refuse_too_few(y: NDArray[Any], schema: tables.Schema, classes: tuple[str, ...]) -> None:
    """Say so where the rows are too few to hold any of them out."""
    if len(y) < _FEWEST_ROWS:
        raise tables.TableError(
            f"Only {len(y)} rows have a value of {schema.target!r}; to compare models takes at "
            f"least {_FEWEST_ROWS}."
        )
    if classes and np.sum(np.bincount(y.astype(np.intp)) > 1) < 2:
        raise tables.TableError(
            f"Fewer than two classes of {schema.target!r} have two rows or more; a class with one "
            "row cannot be both learned and held out."
        )


def _fold(
    frame: pl.DataFrame,
    schema: tables.Schema,
    present: NDArray[np.intp],
    y: NDArray[Any],
    is_test: NDArray[np.bool_],
) -> Fold:
    """Both sides of one part."""
    train = frame[present[~is_test]]
    encoder = tables.TableEncoder(schema.inputs).fit(train)
    return Fold(
        encoder.transform(train),
        y[~is_test],
        encoder.transform(frame[present[is_test]]),
        y[is_test],
        present[is_test],
        encoder.blocks(),
    )
