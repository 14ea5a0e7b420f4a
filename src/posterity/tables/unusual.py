"""Find rows that are far from all rows that a model was fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from posterity import linalg
from posterity.arrays import Array

COMBINATION = "combination"
"""The reason for a row whose single values are common, but not together."""

_BEYOND = 0.25  # of the range of a column, or of the largest distance, that is still usual
_FEW = 25.0  # rows that double this share: their range is not yet that of many
_RIDGE = 0.1  # added to the variances of standardised columns
_MOST_COLUMNS = 200  # whose covariance is stored
_EPS = 1e-9
_KINDS = ("number", "category", "date")


@dataclass(frozen=True, eq=False)
class TrainingRange:
    """The range of the encoded training rows: of each input, and of their Mahalanobis distance.

    Attributes
    ----------
    names : tuple of str
        The inputs that are checked.
    low, high : ndarray of shape (D,)
        Smallest and largest usual value of each encoded column.
    low_sum, high_sum : ndarray of shape (B,)
        The same for the sum of the columns of each input; indicators of categories sum to 1.
    columns : ndarray of int of shape (d,)
        Encoded columns of numbers and dates, whose combinations are checked.
    mean, factor : ndarray of shape (d,) and (d, d)
        Their mean, and the Cholesky factor of their covariance plus 0.1.
    limit : float
        Largest usual distance.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import tables
    >>> x = np.linspace(-1.0, 1.0, 50)
    >>> encoder = tables.TableEncoder((tables.Column("a", "number"), tables.Column("b", "number")))
    >>> X = encoder.fit({"a": x, "b": -x}).transform({"a": x, "b": -x})
    >>> rows = encoder.transform({"a": [0.0, 3.0, 1.0], "b": [0.1, -1.0, 1.0]})
    >>> tables.TrainingRange.from_rows(X, encoder).find_reasons(rows, encoder)
    [None, 'a', 'combination']
    """

    names: tuple[str, ...]
    low: Array
    high: Array
    low_sum: Array
    high_sum: Array
    columns: NDArray[Any]
    mean: Array
    factor: Array
    limit: float

    @classmethod
    def from_rows(cls, X: Array, encoder: Any) -> Self:
        """Summarise encoded training rows."""
        kinds = {column.name: column.kind for column in encoder.columns}
        checked = [(name, part) for name, part in encoder.blocks() if kinds.get(name) in _KINDS]
        low, high = _widen(X)
        low_sum, high_sum = _widen(_sum_inputs(X, [part for _, part in checked]))
        places = [
            np.arange(X.shape[1])[part] for name, part in checked if kinds[name] != "category"
        ]
        columns = np.concatenate([np.empty(0, dtype=np.intp), *places])
        if len(columns) > _MOST_COLUMNS:
            columns = columns[:0]
        rows = np.nan_to_num(X[:, columns])
        mean = rows.mean(axis=0)
        covariance = (rows - mean).T @ (rows - mean) / len(rows)
        factor = linalg.cholesky(covariance + _RIDGE * np.eye(len(columns)))
        distances = _leave_out(_square_distances(rows, mean, factor), len(rows))
        limit = (1.0 + _usual_excess(len(X))) * float(np.sqrt(distances.max()))
        names = tuple(name for name, _ in checked)
        return cls(names, low, high, low_sum, high_sum, columns, mean, factor, limit)

    def find_reasons(self, X: Array, encoder: Any) -> list[str | None]:
        """Return for each encoded row the inputs with unusual values, or None."""
        parts = [part for name, part in encoder.blocks() if name in self.names]
        sums = _sum_inputs(X, parts)
        beyond = np.less(X, self.low) | np.greater(X, self.high)
        odd = (sums < self.low_sum) | (sums > self.high_sum)
        for k, part in enumerate(parts):
            odd[:, k] |= beyond[:, part].any(axis=1)
        rows = np.nan_to_num(X[:, self.columns])
        far = np.sqrt(_square_distances(rows, self.mean, self.factor)) > self.limit
        return [
            ", ".join(name for name, is_odd in zip(self.names, row, strict=True) if is_odd)
            or (COMBINATION if is_far else None)
            for row, is_far in zip(odd, far, strict=True)
        ]


def _usual_excess(n: int) -> float:
    return _BEYOND * (1.0 + float(np.sqrt(_FEW / n)))


def _widen(X: Array) -> tuple[Array, Array]:
    """Return the range of each column, wider by a quarter or more on either side."""
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(X, axis=0, initial=np.inf), np.nanmax(X, axis=0, initial=-np.inf)
    empty = low > high  # no value at all: nothing is known of the column
    margin = np.where(
        empty, 0.0, _usual_excess(len(X)) * (high - low) + _EPS * (1.0 + np.abs(high))
    )
    return np.where(empty, -np.inf, low - margin), np.where(empty, np.inf, high + margin)


def _sum_inputs(X: Array, parts: Sequence[slice]) -> Array:
    """Sum the encoded columns of each input, (n, B)."""
    return np.stack([np.nansum(X[:, part], axis=1) for part in parts], axis=1).reshape(
        len(X), len(parts)
    )


def _square_distances(rows: Array, mean: Array, factor: Array) -> Array:
    if not rows.shape[1]:
        return np.zeros(len(rows))
    return linalg.quadratic_form(factor, (rows - mean).T)


def _leave_out(squares: Array, n: int) -> Array:
    """Estimate the distances that training rows would have if each had been left out."""
    leverage = np.minimum((squares + 1.0) / n, 0.9)
    return squares / (1.0 - leverage) ** 2
