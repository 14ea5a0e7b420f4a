"""Rows of any kind: how many there are, and arrays of the library and device they live on."""

from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from posterity import arrays
from posterity.arrays import DeviceArray, namespace


def count_rows(X: Any) -> int:
    """The number of rows of an array or of a sequence of objects."""
    return int(X.shape[0]) if array_api_compat.is_array_api_obj(X) else len(X)


def full_like_rows(X: Any, shape: tuple[int, ...], value: float) -> DeviceArray:
    """An array of one value, of the library, type and device of X; NumPy for objects.

    Examples
    --------
    >>> full_like_rows(["a", "b"], (2,), 3.0)
    array([3., 3.])
    """
    if not array_api_compat.is_array_api_obj(X):
        return np.full(shape, value)
    where = array_api_compat.device(X)
    return namespace(X).full(shape, value, dtype=X.dtype, device=where)


def identity_like_rows(X: Any) -> DeviceArray:
    """The identity matrix of as many rows, of the library, type and device of X."""
    n = count_rows(X)
    if not array_api_compat.is_array_api_obj(X):
        return np.eye(n)
    return namespace(X).eye(n, dtype=X.dtype, device=array_api_compat.device(X))


def slice_rows(X: Any, start: int, stop: int) -> Any:
    """The rows from ``start`` up to ``stop``."""
    if not array_api_compat.is_array_api_obj(X):
        return X[start:stop]
    return X[start : min(stop, X.shape[0]), ...]


def select_rows(X: Any, places: NDArray[np.intp]) -> Any:
    """The rows with these numbers.

    Examples
    --------
    >>> select_rows(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if not array_api_compat.is_array_api_obj(X):
        return [X[i] for i in places]
    return namespace(X).take(X, arrays.like_index(X, places), axis=0)
