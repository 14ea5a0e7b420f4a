"""The thin singular value decomposition, tall and wide."""

import numpy as np
import pytest

from posterity import linalg

EPS = np.finfo(float).eps
SHAPES = [(1, 1), (6, 6), (50, 4), (4, 50), (0, 3), (3, 0), (1, 7)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [1.0, 1e300, 1e-300])
def test_factors_multiply_to_the_matrix_and_are_orthonormal(shape, size, rng):
    A = rng.normal(size=shape)
    U, s, Vt = linalg.thin_svd(A * size)
    m = min(shape)
    assert (U.shape, s.shape, Vt.shape) == ((shape[0], m), (m,), (m, shape[1]))
    limit = 10 * max(shape) * EPS * np.max(s / size, initial=1.0)
    assert np.max(np.abs(U * (s / size) @ Vt - A), initial=0.0) <= limit
    assert np.max(np.abs(U.T @ U - np.eye(m)), initial=0.0) <= 10 * max(shape) * EPS
    assert np.max(np.abs(Vt @ Vt.T - np.eye(m)), initial=0.0) <= 10 * max(shape) * EPS
    assert np.all(np.diff(s) <= 0)


@pytest.mark.parametrize("tall", [True, False])
def test_small_singular_values_keep_their_digits(tall, rng):
    true = np.logspace(0, -12, 7)
    U, _ = np.linalg.qr(rng.normal(size=(100, 7)))
    V, _ = np.linalg.qr(rng.normal(size=(7, 7)))
    A = U * true @ V.T
    _, s, _ = linalg.thin_svd(A if tall else A.T)
    np.testing.assert_allclose(s, true, rtol=0, atol=20 * EPS)


def test_a_column_that_is_not_finite_is_named():
    with pytest.raises(ValueError, match="the first is column 1"):
        linalg.thin_svd(np.array([[1.0, np.nan], [0.0, 1.0], [1.0, 1.0]]))
