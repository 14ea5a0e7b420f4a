"""Penalised least squares from the Gram matrix: closed forms, optimality, brute force."""

import itertools
import warnings

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import Lasso
from support.for_each import for_each

from posterity.linear.penalized import descent, paths
from posterity.linear.penalized.paths import minimise_lq_squares


def rows(N=50, M=6, correlation=0.0, seed=0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(N, 1))
    Z = np.sqrt(1.0 - correlation) * rng.normal(size=(N, M)) + np.sqrt(correlation) * common
    w = np.where(np.arange(M) < (M + 1) // 2, 3.0 * rng.normal(size=M), 0.0)
    return Z, Z @ w + rng.normal(size=N)


def statistics(Z, y):
    return Z.T @ Z, Z.T @ y, float(y @ y)


def objective(Z, y, w, penalty, q):
    return np.sum((y - Z @ w) ** 2) + np.sum(penalty * np.abs(w) ** q)


def test_power_two_is_ridge_with_one_penalty_a_weight():
    Z, y = rows(correlation=0.9)
    penalty = np.linspace(0.5, 20.0, 6)
    fit = minimise_lq_squares(*statistics(Z, y), penalty=penalty, penalty_power=2.0)
    ridge = np.linalg.solve(Z.T @ Z + np.diag(penalty), Z.T @ y)
    np.testing.assert_allclose(fit.weights, ridge, rtol=1e-9)
    assert fit.n_iter <= 3
    assert fit.objective == pytest.approx(objective(Z, y, ridge, penalty, 2.0), rel=1e-12)


@for_each(("N", "M", "correlation"), [(80, 10, 0.0), (60, 20, 0.9), (20, 50, 0.5)])
@for_each("part", [0.3, 0.03, 0.003])
def test_power_one_is_the_lasso_of_scikit_learn(N, M, correlation, part):
    Z, y = rows(N, M, correlation)
    penalty = part * 2.0 * np.abs(Z.T @ y).max()
    fit = minimise_lq_squares(*statistics(Z, y), penalty=penalty, penalty_power=1.0)
    peer = Lasso(alpha=penalty / (2 * N), fit_intercept=False, tol=1e-12, max_iter=1_000_000)
    peer.fit(Z, y)
    np.testing.assert_allclose(fit.weights, peer.coef_, atol=1e-5)
    assert fit.objective <= objective(Z, y, peer.coef_, penalty, 1.0) * (1.0 + 1e-12)
    assert np.count_nonzero(fit.weights) <= min(N, M)
    assert fit.converged


@for_each("q", [1.0, 1.05, 1.5, 2.0, 3.0])
@for_each(("N", "M"), [(60, 8), (15, 30)])
def test_convex_solutions_satisfy_the_conditions_of_optimality(q, N, M):
    Z, y = rows(N, M, 0.6)
    penalty = np.geomspace(0.5, 5.0, M)
    w = minimise_lq_squares(*statistics(Z, y), penalty=penalty, penalty_power=q).weights
    correlation = 2.0 * Z.T @ (y - Z @ w)
    slope = q * penalty * np.abs(w) ** (q - 1.0) * np.sign(w)
    scale = 2.0 * np.sqrt(np.sum(Z**2, axis=0) * (y @ y))
    active = w != 0.0
    assert np.abs((correlation - slope) / scale)[active].max() < 1e-9
    if q == 1.0:
        assert np.all(np.abs(correlation)[~active] <= penalty[~active] * (1.0 + 1e-9))
    else:
        assert active.all()


def test_below_power_one_two_weights_match_a_grid():
    for seed in range(6):
        Z, y = rows(30, 2, 0.7, seed)
        penalty = 0.2 * y @ y
        fit = minimise_lq_squares(*statistics(Z, y), penalty=penalty, penalty_power=0.5)
        axis = np.append(np.linspace(-8.0, 8.0, 401), 0.0)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        values = ((y - grid @ Z.T) ** 2).sum(axis=1) + penalty * np.sqrt(np.abs(grid)).sum(axis=1)
        assert fit.objective <= values.min() * (1.0 + 1e-9)
        assert np.abs(fit.weights - grid[values.argmin()]).max() < 0.04


def best_subset(Z, y, penalty, q):
    """The least objective over all sets of weights that are not zero, each by a simplex search."""
    M, best = Z.shape[1], float(y @ y)
    for size in range(1, M + 1):
        for subset in itertools.combinations(range(M), size):
            A = Z[:, subset]
            start = np.linalg.lstsq(A, y, rcond=None)[0]
            found = optimize.minimize(
                lambda w, A=A: objective(A, y, w, penalty, q), start, method="Nelder-Mead"
            )
            best = min(best, found.fun)
    return best


@for_each(
    ("M", "correlation", "q", "part", "seed"),
    [
        (4, 0.5, 0.3, 0.04, 8),  # found only by leaving a weight out
        (4, 0.8, 0.3, 0.04, 19),  # found only from least squares
        (5, 0.5, 0.3, 0.01, 20),  # found only from the Lasso
        (4, 0.0, 0.7, 0.04, 0),
        (4, 0.9, 0.9, 0.04, 1),
    ],
)
def test_below_power_one_no_set_of_columns_is_better(M, correlation, q, part, seed):
    Z, y = rows(40, M, correlation, seed)
    penalty = part * y @ y
    fit = minimise_lq_squares(*statistics(Z, y), penalty=penalty, penalty_power=q)
    assert fit.objective <= best_subset(Z, y, penalty, q) * (1.0 + 1e-7)
    assert fit.stop_reason == paths.LOCAL


@for_each("q", [0.5, 1.0, 1.5])
def test_scaling_targets_and_columns_scales_weights(q):
    Z, y = rows(correlation=0.5)
    a, s = 1e4, np.array([1e-3, 1.0, 7.0, 1e5, 0.3, 2.0])
    plain = minimise_lq_squares(*statistics(Z, y), penalty=9.0, penalty_power=q)
    scaled = minimise_lq_squares(
        *statistics(Z / s, a * y), penalty=9.0 * a ** (2.0 - q) * s**-q, penalty_power=q
    )
    np.testing.assert_allclose(scaled.weights, a * s * plain.weights, rtol=1e-7)
    assert scaled.objective == pytest.approx(a**2 * plain.objective, rel=1e-10)


@for_each("q", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_empty_and_repeated_columns_do_no_harm(q):
    Z, y = rows(40, 4)
    both = np.hstack([Z, np.zeros((40, 1)), Z[:, :1]])
    once = minimise_lq_squares(*statistics(Z, y), penalty=5.0, penalty_power=q)
    twice = minimise_lq_squares(*statistics(both, y), penalty=5.0, penalty_power=q)
    assert twice.weights[4] == 0.0
    assert twice.converged
    assert twice.objective <= once.objective * (1.0 + 1e-9)
    if q <= 1.0:
        assert twice.objective == pytest.approx(once.objective, rel=1e-9)


def test_without_a_penalty_it_is_least_squares_whatever_the_power():
    Z, y = rows(correlation=0.9)
    for q in (0.5, 1.0, 3.0):
        fit = minimise_lq_squares(*statistics(Z, y), penalty=0.0, penalty_power=q)
        np.testing.assert_allclose(fit.weights, np.linalg.lstsq(Z, y, rcond=None)[0], rtol=1e-8)
        assert fit.stop_reason == paths.CONVERGED


@for_each("q", [0.3, 1.0])
def test_a_large_penalty_silences_everything(q):
    Z, y = rows()
    fit = minimise_lq_squares(*statistics(Z, y), penalty=1e9, penalty_power=q)
    assert not fit.weights.any()
    assert fit.objective == pytest.approx(y @ y)
    nothing = minimise_lq_squares(np.eye(2), np.zeros(2), 0.0, penalty=1.0, penalty_power=q)
    assert not nothing.weights.any()


def test_nearly_dependent_columns_take_tens_of_sweeps_not_thousands():
    x = np.linspace(-1.0, 1.0, 200)
    Z = x[:, None] ** np.arange(1, 13)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    y = np.sin(4.0 * x)
    penalty = 1e-3 * 2.0 * np.abs(Z.T @ y).max()
    fit = minimise_lq_squares(*statistics(Z, y), penalty=penalty, penalty_power=1.0)
    assert fit.converged
    assert fit.n_iter < 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = Lasso(penalty / 400, fit_intercept=False, tol=1e-14, max_iter=1000).fit(Z, y)
    assert peer.n_iter_ == 1000
    assert fit.objective <= objective(Z, y, peer.coef_, penalty, 1.0) * (1.0 + 1e-12)


def test_a_gram_matrix_at_the_edge_of_rounding_still_ends():
    rng = np.random.default_rng(1)
    Z = 1e6 + rng.normal(size=(8, 12))
    y = rng.normal(size=8)
    fit = minimise_lq_squares(*statistics(Z, y), penalty=1e-3, penalty_power=1.0)
    assert fit.converged
    assert fit.objective <= y @ y


def test_rounding_of_a_sweep_ends_it_only_when_the_objective_has_stopped_falling():
    Z, y = rows(correlation=0.99)
    problem = descent.LqProblem(*statistics(Z, y), np.full(6, 0.1), 1.0, np.ones(6, dtype=bool))
    settled = descent.descend_coordinates(problem, np.zeros(6), tol=-1.0, max_iter=10_000)
    assert settled.converged
    exact = descent.descend_coordinates(problem, np.zeros(6), tol=1e-12, max_iter=10_000)
    np.testing.assert_allclose(settled.w, exact.w, rtol=1e-9)


def test_the_iteration_limit_is_reported():
    Z, y = rows(correlation=0.9)
    fit = minimise_lq_squares(*statistics(Z, y), penalty=1.0, penalty_power=1.5, max_iter=1)
    assert not fit.converged
    assert fit.stop_reason == paths.LIMIT


def test_from_a_start_only_that_valley_is_searched():
    Z, y = rows()
    whole = minimise_lq_squares(*statistics(Z, y), penalty=5.0, penalty_power=0.5)
    again = minimise_lq_squares(
        *statistics(Z, y), penalty=5.0, penalty_power=0.5, start=whole.weights
    )
    assert again.n_iter <= 3
    np.testing.assert_allclose(again.weights, whole.weights, rtol=1e-8)
