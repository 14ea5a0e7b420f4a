"""Starts and bounds of parameters that are measured in the units of the inputs."""

import math

import numpy as np

from posterity import arrays
from posterity.arrays import Array, DeviceArray, namespace, to_numpy
from posterity.kernels.parameters import Range, Value

_SHORT, _LONG = 1e-3, 1e5  # of a column's spread


def column_deviations(X: DeviceArray) -> Array:
    """The standard deviation of each column; one where a column is constant."""
    s = _deviations(X)
    return np.where(s > 0.0, s, 1.0)


def _deviations(X: DeviceArray) -> Array:
    """The standard deviation of each column; exactly zero where a column is constant."""
    xp = namespace(X)
    size = xp.max(xp.abs(X), axis=0)
    unit = xp.where(size > 0.0, size, xp.ones_like(size))  # squares neither overflow nor vanish
    return to_numpy(xp.std(X / unit, axis=0) * unit)


def length_scale_range(X: DeviceArray, *, each: bool) -> Range:
    """Lengths at which typical rows are correlated by about exp(-1); one, or one per column.

    Rows differ by 2 s_d^2 in the square along column d. Lengths s_d sqrt(D) make that 2 / D, and 2
    over all columns. Columns that are constant do not count.
    """
    s, varying = column_deviations(X), _deviations(X)
    varying = varying[varying > 0.0]
    root = float(np.sqrt(max(1, len(varying))))
    if each:
        return Range(tuple(root * s), tuple(_SHORT * s), tuple(_LONG * s))
    if not len(varying):
        return Range(1.0, _SHORT, _LONG)
    low, high = float(varying.min()), float(varying.max())
    return Range(math.hypot(*varying), _SHORT * low, _LONG * high)


def broadcast_to_columns(value: Value, X: DeviceArray, where: object) -> DeviceArray | float:
    """A parameter ready to be multiplied with the rows: a number, or one for each column.

    ``where``, a kernel or a name, is formatted only for an error: rendering a kernel takes as long
    as a small block.

    Examples
    --------
    >>> broadcast_to_columns((1.0, 2.0), np.zeros((3, 2)), "RBF.length_scale")
    array([1., 2.])
    """
    if not isinstance(value, tuple):
        return value
    if len(value) != X.shape[1]:
        raise ValueError(
            f"{where} has {len(value)} numbers, but the rows have {X.shape[1]} columns; give one "
            "for each, or choose columns with Columns(...)."
        )
    return arrays.like(X, np.asarray(value))


def list_by_column(value: Value, D: int) -> list[float]:
    """Return a parameter as a list of one number for each of D columns."""
    numbers: list[float] = np.broadcast_to(np.asarray(value, dtype=np.float64), (D,)).tolist()
    return numbers


def column_ranges(X: DeviceArray) -> Array:
    """Largest less smallest value of each column."""
    xp = namespace(X)
    return to_numpy(xp.max(X, axis=0) - xp.min(X, axis=0))


def mean_squares(X: DeviceArray) -> Array:
    """The mean square of each column; one where a column is zero."""
    s = to_numpy(namespace(X).mean(X * X, axis=0))
    return np.where(s > 0.0, s, 1.0)
