"""The error-free transformations, against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posterity.linalg import double_double

EPS = np.finfo(float).eps
# Far enough from both ends of the range that neither a product nor its error leaves it.
numbers = st.floats(-1e100, 1e100).filter(lambda v: v == 0 or abs(v) > 1e-100)


def exact(*values):
    return sum((Fraction(float(v)) for v in values), Fraction(0))


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_a_sum_and_its_error_are_exact(a, b):
    s, e = double_double.two_sum(np.float64(a), np.float64(b))
    assert s == a + b
    assert exact(s, e) == exact(a, b)


@given(numbers, numbers)
def test_a_product_and_its_error_are_exact(a, b):
    p, e = double_double.two_product(np.float64(a), np.float64(b))
    assert p == a * b
    assert exact(p, e) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 1000])
def test_sum_of_rows_is_that_of_twice_the_precision(n, rng):
    a = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-12, 12, size=(n, 2))
    high, low = double_double.sum_rows(a)
    for j in range(2):
        error = abs(exact(high[j], low[j]) - exact(*a[:, j]))
        assert error <= n * n * EPS**2 * np.sum(np.abs(a[:, j]))


def pair(rng, *shape):
    value = rng.normal(size=shape)
    return value, rng.normal(size=shape) * 1e-17


def test_residual_is_rounded_once(rng):
    A = double_double.ScaledColumns(*pair(rng, 6, 4), 2.0 ** np.arange(4))
    X = pair(rng, 4, 2)
    nearly = A.value * A.scale @ X[0]
    B = (nearly, rng.normal(size=nearly.shape) * 1e-17)  # cancels to the last bits
    F = double_double.residual(B, A, X)
    for i, k in np.ndindex(F.shape):
        terms = [
            exact(A.value[i, j], A.error[i, j]) * exact(A.scale[j]) * exact(X[0][j, k], X[1][j, k])
            for j in range(4)
        ]
        true = exact(B[0][i, k], B[1][i, k]) - sum(terms)
        assert abs(exact(F[i, k]) - true) <= EPS * abs(true) + 100 * EPS**2 * sum(map(abs, terms))


def test_transposed_product_is_rounded_once(rng):
    A = double_double.ScaledColumns(*pair(rng, 9, 3), 2.0 ** np.arange(3))
    R = pair(rng, 9, 2)
    R[0][-1] = -(A.value[:-1, 0] @ R[0][:-1]) / A.value[-1, 0]  # orthogonal to the first column
    G = double_double.transposed_product(A, R)
    for j, k in np.ndindex(G.shape):
        terms = [
            exact(A.value[i, j], A.error[i, j]) * exact(A.scale[j]) * exact(R[0][i, k], R[1][i, k])
            for i in range(9)
        ]
        error = abs(exact(G[j, k]) - sum(terms))
        assert error <= EPS * abs(sum(terms)) + 100 * EPS**2 * sum(map(abs, terms))


def test_an_absent_error_is_zero(rng):
    value, scale = rng.normal(size=(5, 3)), np.ones(3)
    R = pair(rng, 5, 2)
    absent = double_double.transposed_product(double_double.ScaledColumns(value, None, scale), R)
    zero = double_double.transposed_product(double_double.ScaledColumns(value, 0 * value, scale), R)
    np.testing.assert_array_equal(absent, zero)
