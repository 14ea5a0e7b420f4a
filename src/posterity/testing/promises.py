"""Helpers of the checks: finite differences, and comparison of arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from posterity import arrays
from posterity.arrays import Array


def numbers(values: Any) -> Array:
    """Convert an array of any library to NumPy."""
    return np.asarray(arrays.to_numpy(values), dtype=np.float64)


def slope(values: Callable[[float], Any], step: float) -> Array:
    """Return the derivative at zero from four values; the error is of order step^4."""
    near, far = (numbers(values(h)) - numbers(values(-h)) for h in (step, 2.0 * step))
    return (8.0 * near - far) / (12.0 * step)


def difference(found: Any, expected: Any, sentence: str, allowed: float) -> str:
    """Return a message with the largest difference if it exceeds a tolerance, else ""."""
    a, b = numbers(found), numbers(expected)
    if a.shape != b.shape:
        return f"{sentence}: shapes {a.shape} and {b.shape}."
    if not a.size:
        return ""
    where = np.unravel_index(int(np.argmax(np.abs(a - b))), a.shape)
    if np.abs(a - b)[where] <= allowed:
        return ""
    place = f" at [{', '.join(str(i) for i in where)}]" if a.ndim else ""
    return f"{sentence}: {a[where]:.6g} and {b[where]:.6g}{place}."
