"""Arithmetic at twice the precision: a number is an unevaluated sum of two doubles.

The error of a floating-point sum or product is itself a double, and can be computed exactly. All
functions work on arrays, elementwise with broadcasting, and need no extended type of the
processor. Products require magnitudes below 1e290 and errors above the underflow threshold: scale
by a power of two first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from posterity.arrays import Array

_SPLITTER = 2.0**27 + 1.0
_BLOCK_VALUES = 1 << 17


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """s and e with s = fl(a + b) and s + e = a + b exactly.  [NLA 4.3]

    Examples
    --------
    >>> two_sum(np.array(1.0), np.array(1e-20))
    (np.float64(1.0), np.float64(1e-20))
    """
    s = a + b
    b_part = s - a
    return s, (a - (s - b_part)) + (b - b_part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """p and e with p = fl(a * b) and p + e = a * b exactly (Dekker, Veltkamp).

    Examples
    --------
    >>> p, e = two_product(np.array(1.0 + 2.0**-30), np.array(1.0 + 2.0**-30))
    >>> float(p - 1.0 - 2.0**-29), float(e) == 2.0**-60
    (0.0, True)
    """
    p = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def sum_rows(a: Array) -> tuple[Array, Array]:
    """The sum over the first axis, by a tree of exact sums, and the rounding error of it."""
    if not len(a):
        return np.zeros(a.shape[1:]), np.zeros(a.shape[1:])
    partial = a
    error = np.zeros(a.shape[1:])
    while len(partial) > 1:
        half = len(partial) // 2
        s, e = two_sum(partial[:half], partial[half : 2 * half])
        error = error + e.sum(axis=0)
        partial = np.concatenate([s, partial[2 * half :]])
    return partial[0], error


@dataclass(frozen=True)
class ScaledColumns:
    """A matrix (value + error) diag(scale), seen a few columns at a time: no copy is whole."""

    value: Array  # (n, p)
    error: Array | None  # (n, p), what rounding took from the entries; None is zero
    scale: Array  # (p,)    powers of two

    def blocks(self, k: int) -> Iterator[tuple[slice, Array, Array]]:
        """Columns as pairs, n x b x 1, few enough that their products with k vectors are small."""
        n, p = self.value.shape
        b = max(1, _BLOCK_VALUES // max(1, n * k))
        for j in range(0, p, b):
            columns = slice(j, j + b)
            value = (self.value[:, columns] * self.scale[columns])[:, :, None]
            if self.error is None:
                yield columns, value, np.zeros((1, 1, 1))
            else:
                yield columns, value, (self.error[:, columns] * self.scale[columns])[:, :, None]


def residual(B: tuple[Array, Array], A: ScaledColumns, X: tuple[Array, Array]) -> Array:
    """B - A X, rounded once: B (n x k) and X (p x k) are pairs of a value and its error.

    As accurate as if computed at twice the precision and then rounded.

    Examples
    --------
    >>> zero, third = np.zeros((1, 1)), np.full((1, 1), 1 / 3)
    >>> A = ScaledColumns(np.full((1, 1), 3.0), None, np.ones(1))
    >>> residual((np.ones((1, 1)), zero), A, (third, zero))
    array([[5.55111512e-17]])
    """
    high, low = B
    for columns, a, a_error in A.blocks(high.shape[1]):
        x, x_error = X[0][None, columns], X[1][None, columns]
        p, e = two_product(a, x)  # n x b x k
        terms = np.concatenate([high[None], -np.moveaxis(p, 1, 0)])
        high, t = sum_rows(terms)
        low = low + (t - np.sum(e + (a * x_error + a_error * x), axis=1))
    return high + low


def transposed_product(A: ScaledColumns, R: tuple[Array, Array]) -> Array:
    """A^T R, rounded once: R (n x k) is a pair of a value and its error.

    Examples
    --------
    >>> A = ScaledColumns(np.ones((3, 1)), None, np.ones(1))
    >>> transposed_product(A, (np.array([[1e20], [1.0], [-1e20]]), np.zeros((3, 1))))
    array([[1.]])
    """
    r, r_error = R[0][:, None], R[1][:, None]
    product = np.empty((A.value.shape[1], R[0].shape[1]))
    for columns, a, a_error in A.blocks(R[0].shape[1]):
        p, e = two_product(a, r)  # n x b x k
        high, low = sum_rows(p)
        product[columns] = high + (low + np.sum(e + (a * r_error + a_error * r), axis=0))
    return product


def _split(a: Array) -> tuple[Array, Array]:
    """The leading and trailing halves of the significand: a = high + low, products exact."""
    t = _SPLITTER * a
    high = t - (t - a)
    return high, a - high
