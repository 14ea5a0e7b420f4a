"""Validate inputs, targets and positive numbers."""

import numbers
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from posterity import callers
from posterity.arrays import Array
from posterity.validation import refusals


def check_X(
    estimator: BaseEstimator,
    X: ArrayLike,
    *,
    reset: bool,
    min_rows: int = 1,
    allow_missing: bool = False,
    advice: str = "",
) -> Array:
    """Convert inputs to a finite float64 array (N, D), without a copy if possible.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator whose ``n_features_in_`` and ``feature_names_in_`` are set or checked.
    X : array-like or data frame of shape (N, D)
        The inputs.
    reset : bool
        Whether to store the columns (in ``fit``) or to compare with those stored.
    min_rows : int, default=1
        Minimum number of rows.
    allow_missing : bool, default=False
        Whether to accept NaN, for models that support missing values.
    advice : str, default=""
        Sentence added to the error about missing values.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> validation.check_X(BaseEstimator(), [[1, 2], [3, 4]], reset=True)
    array([[1., 2.],
           [3., 4.]])
    """
    refusals.refuse_collection(X, type(estimator).__name__, learned=reset)
    plain = not reset and _is_plain(X, estimator, min_rows)
    checked: Array = (
        np.asarray(X) if plain else _validate_rows(estimator, X, reset, min_rows, advice)
    )
    refusals.refuse_non_finite(checked, X, "X", allow_missing=allow_missing, advice=advice)
    return checked


def check_columns(estimator: BaseEstimator, X: Any, *, reset: bool = True) -> None:
    """Store number and names of columns, or compare with those stored, whatever cells hold.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> model = BaseEstimator()
    >>> validation.check_columns(model, [["a", 1.0], ["b", 2.0]])
    >>> model.n_features_in_
    2
    """
    refusals.refuse_duplicated_names(X)
    validate_data(estimator, X, reset=reset, skip_check_array=True)


def _is_plain(X: Any, estimator: BaseEstimator, min_rows: int) -> bool:
    """Return whether X needs no conversion, so that predicting one row is cheap."""
    return (
        type(X) is np.ndarray
        and X.dtype == np.float64
        and X.ndim == 2
        and len(X) >= min_rows
        and X.shape[1] == vars(estimator).get("n_features_in_")
        and "feature_names_in_" not in vars(estimator)
    )


def _validate_rows(
    estimator: BaseEstimator, X: ArrayLike, reset: bool, min_rows: int, advice: str
) -> Array:
    """Validate X by scikit-learn; report cells that are not numbers."""
    refusals.refuse_masked(X)
    refusals.refuse_empty_frame(X)
    refusals.refuse_duplicated_names(X)
    refusals.refuse_dates(X, "X")
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
        refusals.explain_conversion_error(X, "X", error, advice=advice)
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
    """Convert inputs (N, D) and numeric targets, (N,) or (N, K), to float64 arrays.

    Parameters
    ----------
    estimator, X, reset, min_rows
        As for ``check_X``.
    y : array-like of shape (N,) or (N, K)
        The targets. The shape (N, 1) is kept, so predictions have it too.
    multi_output : bool, default=True
        If False, a column is flattened with scikit-learn's warning, and K > 1 raises an error.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> X, y = validation.check_X_y(BaseEstimator(), [[1], [2]], [3, 4])
    >>> X.shape, y
    ((2, 1), array([3., 4.]))
    """
    _require_targets(estimator, y)
    X_checked = check_X(estimator, X, reset=reset, min_rows=min_rows)
    return X_checked, check_targets(estimator, y, len(X_checked), multi_output=multi_output)


def check_targets(
    estimator: BaseEstimator, y: ArrayLike | None, n_rows: int, *, multi_output: bool = True
) -> Array:
    """Convert numeric targets, (N,) or (N, K), to a finite float64 array.

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> validation.check_targets(BaseEstimator(), [3, 4], 2)
    array([3., 4.])
    """
    checked = _convert_targets(_require_targets(estimator, y), multi_output)
    if len(checked) != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has {len(checked)}; each row needs one target."
        )
    if n_rows:
        with np.errstate(over="ignore"):
            refusals.check_spread(np.atleast_1d(np.ptp(checked, axis=0)), "targets")
    return checked


def _require_targets(estimator: BaseEstimator, y: ArrayLike | None) -> ArrayLike:
    """Raise scikit-learn's error if the targets are missing."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, "
            "but the target y is None."
        )
    return y


def check_coordinates(estimator: BaseEstimator, X: ArrayLike, n_components: int) -> Array:
    """Validate the argument of ``inverse_transform``, (n, Q).

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> from posterity import validation
    >>> validation.check_coordinates(BaseEstimator(), [[0, 1]], 2)
    array([[0., 1.]])
    """
    refusals.refuse_collection_beside_rows(X, "X")
    try:
        points: Array = check_array(
            X, dtype=np.float64, ensure_all_finite=False, ensure_min_features=0, estimator=estimator
        )
    except (ValueError, TypeError, OverflowError) as error:
        refusals.explain_conversion_error(X, "X", error)
    if points.shape[1] != n_components:
        raise ValueError(
            f"X has {points.shape[1]} columns, but inverse_transform of {type(estimator).__name__} "
            f"takes {n_components}: the coordinates that transform returns."
        )
    refusals.refuse_non_finite(points, X, "X")
    return points


def check_choice(value: str, name: str, allowed: tuple[str, ...]) -> str:
    """The word itself, if it is one of those allowed."""
    if value not in allowed:
        raise ValueError(f"{name}={value!r} must be one of {allowed}.")
    return value


def check_count(value: object, name: str, *, least: int = 1) -> int:
    """Check that a value is an integer of at least ``least``.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.check_count(3, "n_components")
    3
    """
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name}={value!r} must be a whole number of at least {least}.")
    return int(value)


@overload
def check_positive(value: ArrayLike, name: str, *, length: None = None) -> float: ...
@overload
def check_positive(value: ArrayLike, name: str, *, length: int) -> Array: ...
def check_positive(value: ArrayLike, name: str, *, length: int | None = None) -> float | Array:
    """Check that a number is finite and positive; with ``length``, one such number a row.

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
    column = convert_column(value, name, length)
    refusals.refuse_where(column <= 0.0, column, name, "it must be greater than zero")
    return column


def _convert_targets(y: ArrayLike, multi_output: bool) -> Array:
    """Convert targets to a finite float64 array of one or two axes."""
    refusals.refuse_dates(y, "y")
    values = _convert_floats(y, "y")
    if values.ndim == 0:
        raise ValueError(f"y is the single value {values}; pass one target a row of X.")
    if values.shape[1:] == (0,):
        raise ValueError("y has no columns; pass one target a row of X.")
    return values if multi_output else column_or_1d(values, warn=True)


def convert_column(values: ArrayLike, name: str, n_rows: int) -> Array:
    """Convert to one finite float64 a row; a single number is repeated."""
    given = _convert_floats(values, name)
    column = np.full(n_rows, float(given)) if given.ndim == 0 else given
    if column.shape != (n_rows,):
        raise ValueError(
            f"{name} has shape {column.shape} but there are {n_rows} rows; pass a one-dimensional "
            "array with one value a row."
        )
    return column


def _convert_floats(data: ArrayLike, name: str) -> Array:
    """Convert to a finite float64 array of at most two axes."""
    refusals.refuse_collection_beside_rows(data, name)
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
        refusals.explain_conversion_error(data, name, error)
    refusals.refuse_non_finite(values, data, name)
    return values


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Check sample weights: finite, >= 0, one per row, not all zero; None stays None.

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
    weights = convert_column(sample_weight, "sample_weight", n_rows)
    refusals.refuse_where(weights < 0.0, weights, "sample_weight", "weights must not be negative")
    if not weights.any():
        raise ValueError(
            "sample_weight is zero in every row; at least one weight must be positive."
        )
    refusals.check_total(weights)
    return weights


def check_repetitions(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Check sample weights that are repetitions of rows.

    Examples
    --------
    >>> from posterity import validation
    >>> validation.check_repetitions([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    weights = check_sample_weight(sample_weight, n_rows)
    warn_of_few_repetitions(weights)
    return weights


def warn_of_few_repetitions(weights: Array | None) -> None:
    """Warn if the weights of two or more rows add up to less than two.

    One row has no information about noise, so a model of less than two rows is close to its prior.
    The usual cause is weights scaled to a sum of one.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from posterity import validation
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     validation.warn_of_few_repetitions(np.array([0.25, 0.5, 0.25]))
    >>> print(caught[0].message)
    sample_weight says how often each row counts, and these 3 rows count as 1 in all; multiply the
    weights by 3 if each row counts once.
    """
    if weights is None:
        return
    total, n_positive = float(weights.sum()), int(np.count_nonzero(weights))
    if total < 2.0 <= n_positive:
        callers.warn_caller(
            f"sample_weight says how often each row counts, and these {n_positive} rows count as "
            f"{total:.3g} in all; multiply the weights by "
            f"{n_positive / total:.3g} if each row "
            "counts once.",
        )
