"""Data at the door: turned into float64 arrays, or refused with a sentence.

Shapes, column names and column counts are scikit-learn's business (``validate_data``); what is
added here is *where* a value is bad and what to do about it. Rows are counted from 0.
"""

import numbers
from collections import Counter
from collections.abc import Sequence, Sized
from typing import Any, NoReturn, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from posterity.arrays import Array

_FILL = "Fill or drop missing values first, e.g. with sklearn.impute.SimpleImputer."
_CLIP = "Clip or drop infinite values first."


def check_X(
    estimator: BaseEstimator,
    X: ArrayLike,
    *,
    reset: bool,
    min_rows: int = 1,
    allow_missing: bool = False,
) -> Array:
    """The inputs as a finite (N, D) float64 array, not copied where they already are one.

    Parameters
    ----------
    estimator : BaseEstimator
        Whose ``n_features_in_`` and ``feature_names_in_`` are set or compared.
    X : array-like or data frame of shape (N, D)
        The inputs.
    reset : bool
        True in ``fit``: remember the columns. False later: compare with those remembered.
    min_rows : int, default=1
        Fewer rows than this are refused.
    allow_missing : bool, default=False
        Let NaN pass, for models that know what to do where a value is missing.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> validation.check_X(BaseEstimator(), [[1, 2], [3, 4]], reset=True)
    array([[1., 2.],
           [3., 4.]])
    """
    plain = not reset and _is_plain(X, estimator, min_rows)
    checked: Array = np.asarray(X) if plain else _validated(estimator, X, reset, min_rows)
    _refuse_non_finite(checked, X, "X", allow_missing=allow_missing)
    return checked


def _is_plain(X: Any, estimator: BaseEstimator, min_rows: int) -> bool:
    """Whether there is nothing to convert, name or count: a query of one row should cost little."""
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) >= min_rows
        and X.shape[1] == vars(estimator).get("n_features_in_")
        and "feature_names_in_" not in vars(estimator)
    )


def _validated(estimator: BaseEstimator, X: ArrayLike, reset: bool, min_rows: int) -> Array:
    """By scikit-learn, in our words where a cell is not a number."""
    _refuse_duplicated_names(X)
    _refuse_dates(X, "X")
    try:
        checked: Array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=min_rows,
        )
    except (ValueError, TypeError, OverflowError) as error:
        _explain(X, "X", error)
    return checked


def check_X_y(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    *,
    reset: bool = True,
    min_rows: int = 1,
    multi_output: bool = True,
) -> tuple[Array, Array]:
    """Inputs (N, D) and numeric targets, (N,) or (N, K), as finite float64 arrays.

    Parameters
    ----------
    estimator, X, reset, min_rows
        As for ``check_X``.
    y : array-like of shape (N,) or (N, K)
        The targets. A column (N, 1) stays a column, so that predictions come back as one.
    multi_output : bool, default=True
        False: a column is flattened with scikit-learn's warning, and K > 1 is refused.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> X, y = validation.check_X_y(BaseEstimator(), [[1], [2]], [3, 4])
    >>> X.shape, y
    ((2, 1), array([3., 4.]))
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    X_checked = check_X(estimator, X, reset=reset, min_rows=min_rows)
    y_checked = _targets(y, multi_output)
    if len(X_checked) != len(y_checked):
        raise ValueError(
            f"X has {len(X_checked)} rows but y has {len(y_checked)}; each row needs one target."
        )
    return X_checked, y_checked


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """One finite weight >= 0 a row, not all zero; None stays None, a number is repeated.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.check_sample_weight([1, 0, 2], 3)
    array([1., 0., 2.])
    >>> validation.check_sample_weight(None, 3) is None
    True
    """
    if sample_weight is None:
        return None
    weights = _column(sample_weight, "sample_weight", n_rows)
    _refuse_where(weights < 0.0, weights, "sample_weight", "weights must not be negative")
    if not weights.any():
        raise ValueError(
            "sample_weight is zero in every row; at least one weight must be positive."
        )
    return weights


@overload
def check_positive(value: ArrayLike, name: str, *, length: None = None) -> float: ...
@overload
def check_positive(value: ArrayLike, name: str, *, length: int) -> Array: ...
def check_positive(value: ArrayLike, name: str, *, length: int | None = None) -> float | Array:
    """A finite number > 0; with ``length``, one such number a row (one number is repeated).

    Examples
    --------
    >>> from posterity import validation
    >>> validation.check_positive(2, "length_scale")
    2.0
    >>> validation.check_positive([1, 4], "noise_variance", length=2)
    array([1., 4.])
    """
    if length is None:
        if not isinstance(value, numbers.Real) or value is True or not 0.0 < value < np.inf:
            raise ValueError(f"{name}={value!r} must be a finite number greater than zero.")
        return float(value)
    column = _column(value, name, length)
    _refuse_where(column <= 0.0, column, name, "it must be greater than zero")
    return column


def _targets(y: ArrayLike, multi_output: bool) -> Array:
    """The targets as a finite float64 array of one or two axes."""
    _refuse_dates(y, "y")
    values = _floats(y, "y")
    if values.ndim == 0:
        raise ValueError(f"y is the single value {values}; pass one target a row of X.")
    if values.shape[1:] == (0,):
        raise ValueError("y has no columns; pass one target a row of X.")
    return values if multi_output else column_or_1d(values, warn=True)


def _column(values: ArrayLike, name: str, n_rows: int) -> Array:
    """One finite float64 a row; a single number is repeated."""
    given = _floats(values, name)
    column = np.full(n_rows, float(given)) if given.ndim == 0 else given
    if column.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {column.shape} but there are {n_rows} rows; pass a one-dimensional "
            "array with one value a row."
        )
    return column


def _floats(data: ArrayLike, name: str) -> Array:
    """A finite float64 array of any shape up to two axes."""
    try:
        values: Array = check_array(
            data,
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite=False,
            ensure_min_samples=0,
            ensure_min_features=0,
        )
    except (ValueError, TypeError, OverflowError) as error:
        _explain(data, name, error)
    _refuse_non_finite(values, data, name)
    return values


def _refuse_where(bad: NDArray[np.bool_], values: Array, name: str, rule: str) -> None:
    """Name the first bad row."""
    rows = np.flatnonzero(bad)
    if rows.size:
        raise ValueError(f"{name} is {values[rows[0]]:g} in row {rows[0]}{_others(rows)}; {rule}.")


def _refuse_duplicated_names(X: Any) -> None:
    """Two columns of one name cannot be told apart when the model is used again."""
    names = _column_names(X)
    repeated = [repr(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise ValueError(
            f"X has more than one column named {', '.join(repeated)}; rename or drop duplicates."
        )


def _refuse_dates(data: Any, name: str) -> None:
    """NumPy would silently count microseconds."""
    dtypes = data.dtypes if _column_names(data) else [getattr(data, "dtype", None)]
    for j, dtype in enumerate(dtypes):
        if str(dtype).lower().startswith(("date", "time", "duration", "period")):
            raise ValueError(
                f"Input {name} holds dates or times (column {_column_label(data, j)}); turn them "
                "into numbers first, e.g. days since a fixed date."
            )


def _refuse_non_finite(values: Array, data: Any, name: str, *, allow_missing: bool = False) -> None:
    """Name the first place that is NaN or infinite."""
    if _all_finite(values):
        return
    nan = np.isnan(values)
    is_missing = not allow_missing and bool(nan.any())
    kind, bad, advice = ("NaN", nan, _FILL) if is_missing else ("infinity", np.isinf(values), _CLIP)
    places = np.argwhere(bad)
    if not len(places):
        return
    first = _place(data, places[0])
    raise ValueError(f"Input {name} contains {kind}: {first}{_others(places)}. {advice}")


def _all_finite(values: Array) -> bool:
    """A finite sum has finite terms; a sum that is not may only have overflowed."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(values).all())


def _explain(data: Any, name: str, error: Exception) -> NoReturn:
    """Say which cell could not be read as a number, or repeat what scikit-learn said."""
    place, value = _first_unreadable_cell(data)
    if isinstance(value, str):
        raise ValueError(
            f"Input {name}: {place} holds the text {value!r}; encode it as numbers first, "
            "e.g. with sklearn.preprocessing.OneHotEncoder."
        ) from error
    if type(value).__name__ == "NAType":
        raise ValueError(f"Input {name} contains NaN: {place}. {_FILL}") from error
    if isinstance(value, int):
        raise ValueError(f"Input {name}: {place} is too large for a float64 number.") from error
    raise error


def _first_unreadable_cell(data: Any) -> tuple[str, object]:
    """Place and value of the first cell, column by column, that is not a number."""
    try:
        cells = np.asarray(data, dtype=object)
    except (ValueError, TypeError):
        return "", None
    if cells.ndim in (1, 2):
        for index in np.ndindex(cells.T.shape):
            if not _is_readable(cells.T[index]):
                return _place(data, index[::-1]), cells.T[index]
    return "", None


def _is_readable(value: Any) -> bool:
    """Whether NumPy reads the value as a number; it reads None as NaN."""
    try:
        return value is None or isinstance(float(value), float)
    except (TypeError, ValueError, OverflowError):
        return False


def _place(data: Any, index: Sequence[int]) -> str:
    """A place in words: (row,) or (row, column)."""
    if len(index) == 1:
        return f"row {index[0]}"
    return f"column {_column_label(data, index[1])} (row {index[0]})"


def _others(places: Sized) -> str:
    """How many further places are bad."""
    count = len(places) - 1
    plural = "s" if count > 1 else ""
    return f" and {count} other place{plural}" if count else ""


def _column_label(data: Any, j: int) -> str:
    """A column's name in quotes, or its number counted from 0."""
    names = _column_names(data)
    return repr(names[j]) if names else str(j)


def _column_names(data: Any) -> list[object]:
    """The names of a data frame's columns; empty where the data has none."""
    return list(getattr(data, "columns", ()))
