"""The maxima of many functions of one variable at once, as roots of their derivatives."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import elementwise

from posterity.arrays import Array

_NOT_FINITE = -3  # SciPy's status


def maximise_between(
    derivative: Callable[[Array], Array], lower: Array | float, upper: Array | float
) -> Array:
    """The maxima of K concave (or unimodal) functions on intervals, each to full precision.

    Parameters
    ----------
    derivative : callable
        K points to the K derivatives there, each positive before its maximum and negative after.
    lower, upper : array (K,) or float
        The ends. Where the derivative does not change sign between them, the better end is the
        maximum and is returned.

    Examples
    --------
    >>> maximise_between(lambda u: np.array([2.0, 50.0]) - u, np.zeros(2), 10.0)
    array([ 2., 10.])
    """
    left, right = np.broadcast_arrays(np.asarray(lower, float), np.asarray(upper, float))
    points = np.array(left)

    def slope(u: Array, which: NDArray[np.intp]) -> Array:
        points.flat[which] = u  # SciPy asks for some of the functions, ours answers for all
        return np.asarray(derivative(points)).flat[which]

    places = np.arange(left.size).reshape(left.shape)
    root = elementwise.find_root(slope, (left, right), args=(places,))
    bad = np.flatnonzero(root.status == _NOT_FINITE)
    if bad.size:
        raise ValueError(
            f"{bad.size} of {left.size} derivatives are NaN or infinite between the ends given. "
            f"The first is that of function {bad[0]}, searched from {left.flat[bad[0]]} to "
            f"{right.flat[bad[0]]}: check its range."
        )
    better = np.where(root.f_bracket[1] >= 0.0, right, left)
    return np.where(root.success, root.x, better)
