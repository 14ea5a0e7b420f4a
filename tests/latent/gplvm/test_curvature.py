"""Gauss and Newton's curvature of a process, beside moves that are made."""

import numpy as np
import pytest

from posterity import kernels
from posterity.latent.gplvm import inducing_outputs, terms
from posterity.latent.gplvm.inducing_outputs import InducingOutputs
from posterity.latent.gplvm.outputs import ExactOutputs
from posterity.latent.gplvm.trajectories import TrajectoryPrior

N, Q, D, NOISE = 12, 2, 3, 0.2
KERNEL = 1.5 * kernels.RBF(1.2)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, Q))


@pytest.fixture
def Y(X):
    return np.column_stack([np.sin(X[:, 0]), X[:, 0] * X[:, 1], X[:, 1]])


def added(term, X):
    H = np.zeros((len(X), Q, len(X), Q))
    term.add_curvature(H, X, term.start)
    return H


def cost_of_move(dX, X, Y, Z, C, weights):
    """delta^T C^-1 delta of outputs that are off by the slope of the mean times the move."""
    moved = [KERNEL(X + h, Z) @ weights for h in (1e-6 * dX, -1e-6 * dX)]
    delta = (moved[0] - moved[1]) / 2e-6
    return np.sum(delta * np.linalg.solve(C, delta))


def test_a_move_costs_what_it_does_to_outputs(rng, X, Y):
    H = added(ExactOutputs(Y, KERNEL, np.zeros((2, 2)), NOISE, None), X).reshape(N * Q, N * Q)
    C = KERNEL(X) + NOISE * np.eye(N)
    for dX in rng.normal(size=(4, N, Q)):
        expected = cost_of_move(dX, X, Y, X, C, np.linalg.solve(C, Y))
        assert dX.ravel() @ H @ dX.ravel() == pytest.approx(expected, rel=1e-6)


def test_curvature_is_about_that_of_the_density(rng, X):
    Y = np.linalg.cholesky(KERNEL(X) + 1e-4 * np.eye(N)) @ rng.normal(size=(N, 300))
    term = ExactOutputs(Y, KERNEL, np.zeros((2, 2)), 1e-2, None)
    H = added(term, X)
    for n in range(N):
        for q in range(Q):
            h = np.zeros((N, Q))
            h[n, q] = 1e-4
            up, down = (term(X + move, term.start)[1][n, q] for move in (h, -h))
            assert 0.3 < H[n, q, n, q] / ((down - up) / 2e-4) < 1.5


def test_outputs_that_are_missing_hold_nothing(X, Y):
    gone = Y.copy()
    gone[4] = np.nan
    whole, without = (
        added(ExactOutputs(V, KERNEL, np.zeros((2, 2)), NOISE, None), Z)
        for V, Z in ((np.delete(Y, 4, axis=0), np.delete(X, 4, axis=0)), (gone, X))
    )
    rest = np.delete(np.arange(N), 4)
    np.testing.assert_allclose(without[np.ix_(rest, range(Q), rest, range(Q))], whole, atol=1e-9)
    assert not without[4].any()


def test_inducing_points_at_all_rows_hold_as_the_process_does(X, Y):
    exact = added(ExactOutputs(Y, KERNEL, np.zeros((2, 2)), NOISE, None), X)
    carried = added(InducingOutputs(Y, KERNEL, np.zeros((2, 2)), NOISE, None, X), X)
    np.testing.assert_allclose(carried, exact, atol=1e-4 * np.abs(exact).max())


def test_inducing_points_hold_by_what_they_carry(rng, X, Y):
    Z = X[:4]
    H = added(InducingOutputs(Y, KERNEL, np.zeros((2, 2)), NOISE, None, Z), X)
    C = KERNEL(X, Z) @ np.linalg.solve(KERNEL(Z), KERNEL(Z, X)) + NOISE * np.eye(N)
    weights = np.linalg.solve(KERNEL(Z), KERNEL(Z, X)) @ np.linalg.solve(C, Y)
    dX = rng.normal(size=(N, Q))
    expected = cost_of_move(dX, X, Y, Z, C, weights)
    moved = dX.ravel()
    assert moved @ H.reshape(N * Q, N * Q) @ moved == pytest.approx(expected, rel=1e-4)


def test_many_outputs_are_stood_for_by_principal_ones(rng, X, Y):
    spread = Y @ rng.normal(size=(D, 40))
    few = inducing_outputs.principal_outputs(spread)
    assert few.shape == (N, N)
    np.testing.assert_allclose(few @ few.T, spread @ spread.T, atol=1e-9)
    wide = rng.normal(size=(50, 40))
    assert inducing_outputs.principal_outputs(wide).shape == (50, 16)


@pytest.mark.parametrize("tied", [False, True])
def test_curvature_of_a_prior_is_exact(rng, tied):
    X = rng.normal(size=(6, Q))
    times, groups = np.array([0.0, 1.0, 2.0, 0.5, 3.0, 1.5]), np.array([0, 1, 0, 1, 0, 0])
    moving = TrajectoryPrior(kernels.RBF(1.0), np.zeros((1, 2)), times, groups)
    prior = moving if tied else terms.StandardNormalPrior()
    H = added(prior, X).reshape(12, 12)
    pull = prior(X, prior.start)[1].ravel()
    np.testing.assert_allclose(H @ X.ravel(), -pull, rtol=1e-8)


def test_volume_adds_no_curvature(X):
    assert not added(terms.Volume(), X).any()
