"""Helpers of the checks: finite differences, and comparison of arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posterity import arrays
from posterity.arrays import Array


def to_numpy(values: Any) -> Array:
    """Convert an array of any library to NumPy."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)


def difference_derivative(values: Callable[[float], Any], step: float) -> Array:
    """Return the derivative at zero from four values; the error is of order step^4."""
    near, far = (to_numpy(values(h)) - to_numpy(values(-h)) for h in (step, 2.0 * step))
    return (8.0 * near - far) / (12.0 * step)


def describe_difference(found: Any, expected: Any, sentence: str, allowed: float) -> str:
    """Return a message with the largest difference if it exceeds a tolerance, else ""."""
    a, b = to_numpy(found), to_numpy(expected)
    if a.shape != b.shape:
        return f"{sentence}: shapes {a.shape} and {b.shape}."
    if not a.size:
        return ""
    where = np.unravel_index(int(np.argmax(np.abs(a - b))), a.shape)
    if np.abs(a - b)[where] <= allowed:
        return ""
    place = f" at [{', '.join(str(i) for i in where)}]" if a.ndim else ""
    return f"{sentence}: {a[where]:.6g} and {b[where]:.6g}{place}."
