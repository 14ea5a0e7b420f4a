"""Guards: round-off passes, mistakes do not."""

import numpy as np
import pytest

from posterity import linalg
from posterity.arrays import to_numpy


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_round_off_is_clipped_relative_to_scale(library, scale):
    variance = library(scale * np.array([0.5, 0.0, -1e-9, -1e-16]))
    clipped = to_numpy(linalg.nonnegative(variance, scale))
    np.testing.assert_array_equal(clipped, [0.5 * scale, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("bad", [-1e-7, -1.0, np.nan])
def test_more_than_round_off_is_an_error(library, bad):
    with pytest.raises(ArithmeticError, match="1 of 3 variances are NaN, or negative by more"):
        linalg.nonnegative(library(np.array([1.0, bad, 0.0])), library(np.ones(3)))


def test_each_variance_has_its_own_scale():
    variance = np.array([-1e-7, 1.0])
    np.testing.assert_array_equal(linalg.nonnegative(variance, np.array([100.0, 1.0])), [0.0, 1.0])
    with pytest.raises(ArithmeticError):
        linalg.nonnegative(variance, np.array([1.0, 100.0]))


def test_symmetrize_removes_round_off(library, rng):
    A = rng.normal(size=(5, 5))
    noisy = A + A.T + 1e-14 * rng.normal(size=(5, 5))
    S = to_numpy(linalg.symmetrize(library(noisy)))
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S, A + A.T, atol=1e-13)


@pytest.mark.parametrize("bad", [1e-6, np.nan])
def test_symmetrize_refuses_an_asymmetric_matrix(library, bad):
    with pytest.raises(ArithmeticError, match="the matrix is not symmetric"):
        linalg.symmetrize(library(np.array([[1.0, bad], [0.0, 1.0]])))


def test_symmetrize_passes_an_empty_matrix():
    assert linalg.symmetrize(np.empty((0, 0))).shape == (0, 0)
