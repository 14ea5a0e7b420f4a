"""Discrete columns at the door: anything that can be hashed, or a sentence."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from posterity import validation

Columns: TypeAlias = list[list[Hashable]]
"""D columns of N categories each."""


def check_columns(estimator: BaseEstimator, X: Any, *, reset: bool) -> tuple[Columns, int]:
    """The categories column by column, and the number of rows.

    Examples
    --------
    >>> check_columns(BaseEstimator(), [["a", 1], ["b", 1]], reset=True)
    ([['a', 'b'], [1, 1]], 2)
    """
    validation.refuse_collection(X, type(estimator).__name__, learned=reset)
    # Of a list or a frame that holds both, NumPy would turn the numbers into words.
    dtype = None if isinstance(X, np.ndarray) else object
    table = validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite=False)
    columns: Columns = table.T.tolist()
    for d, column in enumerate(columns):
        _refuse_non_categories(column, d)
    return columns, len(table)


def _refuse_non_categories(column: list[Any], d: int) -> None:
    """Name the first row that holds nothing, or something that cannot be looked up."""
    try:
        missing = [value for value in set(column) if _is_missing(value)]
    except TypeError as error:
        raise TypeError(
            f"Column {d} of X holds a value that cannot be hashed ({error}); use numbers, words or "
            "tuples as categories."
        ) from error
    if missing:
        row = next(i for i, value in enumerate(column) if _is_missing(value))
        raise ValueError(
            f"Input X contains NaN, infinity or None: {column[row]!r} in column {d} (row {row}). "
            "Give what is missing a category of its own first, such as 'missing'."
        )


def _is_missing(value: Any) -> bool:
    """NaN, NaT, None, pandas.NA, or a number that is not finite."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return bool(value != value) or (isinstance(value, float) and not np.isfinite(value))
