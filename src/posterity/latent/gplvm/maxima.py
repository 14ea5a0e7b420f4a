"""The highest points of many functions at once, one for each row, and how they bend there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from posterity import optimize
from posterity.arrays import Array

_VALUES = 1 << 21  # of one array at a time: 16 MiB
_LEAST_GAIN = 1e-6  # nats: the point is then found to a thousandth of its deviation
_FIRST_STEP = 1e-3  # and the longest, of the prior's deviation: not out of a narrow valley
_LONGEST_STEP = 0.5
_STEP = 1e-4  # for curvature by differences; of the prior's deviation, in which functions bend

# From points (m, Q) and the row of each: values (m,) and their gradients (m, Q).
RowsAndSlopes: TypeAlias = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]


def find_highest(
    log_posterior: RowsAndSlopes, starts: Array, max_iter: int
) -> tuple[Array, NDArray[np.bool_]]:
    """The highest point (n, Q) found for each row from its own starts (n, k, Q).

    And whether the search for it ended by itself.
    """
    n, k, _ = starts.shape
    ends = climb(log_posterior, starts, max_iter)
    best = np.arange(n) * k + np.argmin(ends.value.reshape(n, k), axis=1)
    return ends.x[best], ends.converged[best]


def climb(log_posterior: RowsAndSlopes, starts: Array, max_iter: int) -> optimize.ManyOptima:
    """The maximum next to each start (n, k, Q), n k of them, and minus the function there.

    The function takes points (m, Q) and the row of each; it returns values (m,) and their
    gradients (m, Q).
    """
    n, k, Q = starts.shape

    def value_and_gradient(X: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
        value, slope = log_posterior(X, which // k)
        return -value, -slope

    return optimize.minimise_many(
        value_and_gradient,
        starts.reshape(n * k, Q),
        first_step=_FIRST_STEP,
        longest_step=_LONGEST_STEP,
        max_iter=max_iter,
        least_gain=_LEAST_GAIN,
    )


def difference_curvature(slopes: Callable[[Array], Array], X: Array) -> Array:
    """Minus the second derivatives (n, Q, Q) at X of functions of each row, by differences.

    Examples
    --------
    >>> difference_curvature(lambda X: -2.0 * X, np.zeros((1, 2))).round(6) + 0.0
    array([[[2., 0.],
            [0., 2.]]])
    """
    columns = []
    for step in _STEP * np.eye(X.shape[1]):
        columns.append((slopes(X - step) - slopes(X + step)) / (2.0 * _STEP))
    A = np.stack(columns, axis=2)
    return 0.5 * (A + np.swapaxes(A, 1, 2))


def split_rows(Y: Array, n_values: int) -> Iterator[Array]:
    """Rows of which each asks for so many values, some at a time; one piece at least."""
    size = max(1, _VALUES // n_values)
    return (Y[i : i + size] for i in range(0, max(1, len(Y)), size))
