"""Rows tied by a process: joint precisions beside dense ones."""

import numpy as np
import pytest

from posterity import kernels
from posterity.latent.gplvm import trajectories

N, Q = 5, 3


@pytest.fixture
def C():
    return kernels.RBF(2.0)(np.arange(N)[:, None]) + 0.1 * np.eye(N)


@pytest.fixture
def A():
    F = np.random.default_rng(0).normal(size=(N, Q, Q))
    return F @ np.swapaxes(F, 1, 2)


def dense(A, P, columns):
    kept = np.zeros(Q)
    kept[columns] = 1.0
    H = np.kron(P, np.diag(kept))
    for n in range(N):
        H[Q * n : Q * n + Q, Q * n : Q * n + Q] += A[n]
    return H


@pytest.mark.parametrize("columns", [slice(None), slice(0, 2)])
def test_rows_are_as_sure_as_the_joint_covariance_says(A, C, columns):
    P = np.linalg.inv(C)
    L = trajectories.factor_tied_precision(A, P, columns)
    covariance = np.linalg.inv(dense(A, P, columns)).reshape(N, Q, N, Q)
    np.testing.assert_allclose(L @ L.T, dense(A, P, columns), atol=1e-9)
    for n, block in enumerate(trajectories.marginal_covariances(L, N)):
        np.testing.assert_allclose(block, covariance[n, :, n], atol=1e-9)


def test_stretches_have_the_prior_of_their_own_times(C):
    rows, P = np.array([4, 0, 3, 1, 2]), np.linalg.inv(C)
    (first, P_first), (last, P_last) = trajectories.split_into_stretches(rows, P, 3)
    np.testing.assert_array_equal(np.concatenate([first, last]), rows)
    np.testing.assert_allclose(P_first, np.linalg.inv(C[:3, :3]), atol=1e-8)
    np.testing.assert_allclose(P_last, np.linalg.inv(C[3:, 3:]), atol=1e-8)


def test_a_short_group_is_one_stretch(C):
    ((rows, P),) = trajectories.split_into_stretches(np.arange(N), C, N)
    assert P is C
    assert len(rows) == N
