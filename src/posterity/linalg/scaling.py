"""Powers of two that bring the columns of a matrix to one size, so that squares stay in range.

Multiplying by a power of two is exact: nothing is lost by scaling before, and unscaling after, a
factorisation.
"""

import numpy as np

from posterity.arrays import Array

SQUARE_RANGE = (1e-200, 1e200)  # sums of squares in here have lost nothing to underflow
_LARGEST_EXPONENT = 1000  # so that the scale and its reciprocal are both ordinary numbers


def power_of_two_scales(magnitudes: Array) -> Array:
    """Powers of two s with 1/2 <= s * magnitude < 1; 1 where the magnitude is zero.

    The exponent is held within 1000, so magnitudes beyond 2**1000 (or below 2**-1000) are brought
    to within 2**24 (or 2**-74) of one instead, whose squares are representable.

    Examples
    --------
    >>> power_of_two_scales(np.array([0.0, 1.0, 3.0, 100.0]))
    array([1.       , 0.5      , 0.25     , 0.0078125])
    """
    _, exponents = np.frexp(magnitudes)
    return np.ldexp(1.0, np.clip(-exponents, -_LARGEST_EXPONENT, _LARGEST_EXPONENT))


def column_magnitudes(A: Array) -> Array:
    """The largest absolute value of every column, without a copy of A.

    Raises
    ------
    ValueError
        Where a column holds NaN or infinity; the sentence names the first such column.
    """
    if not len(A):
        return np.zeros(A.shape[1:])
    largest = np.maximum(A.max(axis=0), -A.min(axis=0))
    bad = np.flatnonzero(~np.isfinite(largest))
    if bad.size:
        raise ValueError(
            f"cannot factorise: {bad.size} of {largest.size} columns hold NaN or infinity, "
            f"the first is column {bad[0]}; remove or impute these values first"
        )
    return largest


def column_norms(A: Array) -> Array:
    """Euclidean norms of the columns that neither overflow nor underflow.

    Examples
    --------
    >>> column_norms(np.array([[3e200, 0.0], [4e200, 0.0]]))
    array([5.e+200, 0.e+000])
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = np.einsum("ij,ij->j", A, A)
    low, high = SQUARE_RANGE
    if np.all((squares > low) & (squares < high)):
        return np.sqrt(squares)
    scale = power_of_two_scales(column_magnitudes(A))
    return np.sqrt(np.sum((A * scale) ** 2, axis=0)) / scale
