"""The normal nearest to the posterior of weights: its equations, its bound, its use."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import multivariate_t
from support.for_each import for_each
from support.latents import with_covariance

from posterity import designs, likelihoods, optimize
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational import NearestNormal, find_nearest_normal

LIKELIHOODS = {
    2: likelihoods.Bernoulli(),
    3: likelihoods.Categorical(3),
    4: likelihoods.Categorical(4),
}
each_count = pytest.mark.parametrize("n_classes", [2, 3, 4])


def problem_of(n_classes, *, n=12, m=2, offset=True, variance=8.0, weights=None, seed=0):
    """Classes that hardly overlap."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m))
    logits = 3.0 * Z @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n, n_classes))
    y = np.argmax(logits, axis=1).astype(float)
    y[:n_classes] = np.arange(n_classes)
    targets = RowTargets.from_observations(y, weights, LIKELIHOODS[n_classes], offset=offset)
    A = np.hstack([Z, np.ones((n, 1))]) if offset else Z
    precision = targets.offset_precision if offset else None
    prior = WeightPrior(1.0 / variance, A.shape[1], precision)
    return WeightProblem(designs.Dense(A), targets, prior)


def latents(problem, draws):
    """Latent values (s, n, C), of one latent value as the second of two classes."""
    t, Z = problem.targets, problem.design.rows(0, problem.design.n_rows)
    W = draws.reshape(len(draws), *problem.shape)
    A = np.einsum("nm,smj->snj", Z, W) @ t.Q.T + t.shift
    return np.concatenate([np.zeros_like(A), A], axis=2) if A.shape[2] == 1 else A


def log_joint(problem, draws):
    """log p(y, W) at draws (s, M J)."""
    t, (M, J) = problem.targets, problem.shape
    log_p = log_softmax(latents(problem, draws), axis=2)
    own = t.y.astype(int)
    w = np.ones(len(own)) if t.weights is None else t.weights
    P = problem.prior.add_precision(np.zeros((M * J, M * J)))
    log_prior = 0.5 * np.linalg.slogdet(P / (2.0 * np.pi))[1]
    quadratic = 0.5 * np.einsum("si,ij,sj->s", draws, P, draws)
    return log_p[:, np.arange(len(own)), own] @ w + log_prior - quadratic


def bound_by_draws(problem, mean, root, z):
    """E_q[log p(y, W)] + the entropy of q, by points z (s, M J) of a standard normal."""
    entropy = np.linalg.slogdet(root)[1] + 0.5 * len(mean) * np.log(2.0 * np.pi * np.e)
    return float(np.mean(log_joint(problem, mean + z @ root.T))) + entropy


def normal_points(n, dimension, seed=0):
    """Draws whose mean is zero and whose covariance is one."""
    z = np.random.default_rng(seed).standard_normal((n, dimension))
    z = np.concatenate([z, -z])
    return z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z))).T


def importance_sampled(problem, fit, n=40_000):
    """Exact averages over the posterior: probabilities of the rows, and log p(y)."""
    rng = np.random.default_rng(1)
    root = np.linalg.inv(np.tril(fit.L)).T
    mean, d, nu = fit.weights.W.reshape(-1), len(fit.L), 5.0
    z = rng.standard_normal((n, d)) * np.sqrt(nu / rng.chisquare(nu, size=(n, 1)))
    log_q = multivariate_t(np.zeros(d), np.eye(d), df=nu).logpdf(z) - np.linalg.slogdet(root)[1]
    draws = mean + z @ root.T
    log_w = log_joint(problem, draws) - log_q
    share = np.exp(log_w - logsumexp(log_w))
    assert 1.0 / np.sum(share**2) > 0.02 * n
    p = np.einsum("s,snc->nc", share, softmax(latents(problem, draws), axis=2))
    return p, logsumexp(log_w) - np.log(n)


def probabilities(problem, fit):
    mean, covariance = with_covariance(fit.latent(problem.design.rows(0, problem.design.n_rows)))
    likelihood = problem.targets.likelihood
    if isinstance(likelihood, likelihoods.Bernoulli):
        return likelihood.predict(mean[:, 0], covariance[:, 0, 0]).probabilities()
    return likelihood.predict(mean, covariance).probabilities()


@for_each("weighted", [False, True], ids=["once", "weights"])
def test_at_the_end_no_change_of_mean_or_covariance_raises_the_bound(weighted):
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 12) if weighted else None
    problem = problem_of(2, weights=weights)
    fit = find_nearest_normal(LaplaceFit.from_problem(problem), tol=1e-14)
    M = problem.shape[0]
    lower = np.tril_indices(M)
    t, Z = problem.targets, problem.design.rows(0, 12)
    nodes, node_weights = np.polynomial.hermite_e.hermegauss(120)
    P = problem.prior.add_precision(np.zeros((M, M)))
    w = np.ones(12) if weights is None else weights

    def bound(x):
        m, R = x[:M], np.zeros((M, M))
        R[lower] = x[M:]
        S = R @ R.T
        sd = np.sqrt(np.einsum("nm,mk,nk->n", Z, S, Z))
        a = (t.shift[0] + Z @ m)[:, None] + sd[:, None] * nodes
        log_p = t.likelihood.log_prob(t.y[:, None], a) @ (node_weights / node_weights.sum())
        distance = m @ P @ m + np.trace(P @ S) - M - np.linalg.slogdet(P)[1]
        return w @ log_p - 0.5 * (distance - np.linalg.slogdet(S)[1])

    S = np.linalg.inv(np.tril(fit.L) @ np.tril(fit.L).T)
    x = np.append(fit.weights.W[:, 0], np.linalg.cholesky(S)[lower])
    assert fit.bound == pytest.approx(bound(x), abs=1e-8)
    steps = 1e-4 * np.eye(len(x))
    slope = [(bound(x + h) - bound(x - h)) / 2e-4 for h in steps]
    np.testing.assert_allclose(slope, 0.0, atol=2e-5)


@pytest.mark.full
def test_it_is_what_minimising_the_divergence_by_draws_finds():
    problem = problem_of(3, n=10, m=1, variance=4.0)
    laplace = LaplaceFit.from_problem(problem)
    fit = find_nearest_normal(laplace, tol=1e-5)
    d = len(fit.L)
    z, lower = normal_points(500, d), np.tril_indices(d)

    def loss(x):
        R = np.zeros((d, d))
        R[lower] = x[d:]
        np.fill_diagonal(R, np.exp(np.diagonal(R)))
        return -bound_by_draws(problem, x[:d], R, z)

    start = np.linalg.cholesky(np.linalg.inv(np.tril(laplace.L) @ np.tril(laplace.L).T))
    np.fill_diagonal(start, np.log(np.diagonal(start)))
    x0 = np.append(laplace.weights.W.reshape(-1), start[lower])
    best = scipy_optimize.minimize(loss, x0, method="BFGS", options={"maxiter": 60})
    assert fit.bound == pytest.approx(-best.fun, abs=0.02)
    R = np.zeros((d, d))
    R[lower] = best.x[d:]
    np.fill_diagonal(R, np.exp(np.diagonal(R)))
    deviation = np.sqrt(np.diagonal(R @ R.T))
    np.testing.assert_allclose(
        fit.weights.W.reshape(-1) / deviation, best.x[:d] / deviation, atol=0.1
    )
    mine = np.sqrt(np.einsum("mjmj->mj", fit.covariance)).reshape(-1)
    np.testing.assert_allclose(mine, deviation, rtol=0.05)


@pytest.mark.full(but=1)
@each_count
@for_each("offset", [True, False], ids=["offset", "no offset"])
def test_its_bound_is_that_of_draws_and_above_that_of_laplace(n_classes, offset):
    problem = problem_of(n_classes, n=30, offset=offset)
    laplace = LaplaceFit.from_problem(problem)
    fit = find_nearest_normal(laplace)
    assert isinstance(fit, NearestNormal)
    z = normal_points(20_000, len(fit.L))

    def by_draws(normal):
        root = np.linalg.inv(np.tril(normal.L)).T
        return bound_by_draws(problem, normal.weights.W.reshape(-1), root, z)

    assert fit.bound == pytest.approx(by_draws(fit), abs=0.1)
    assert fit.bound > by_draws(laplace) + 0.1
    assert fit.log_evidence == laplace.log_evidence


@pytest.mark.full(but=1)
@each_count
def test_with_a_remainder_the_bound_is_that_of_draws_of_both(n_classes):
    problem = problem_of(n_classes, n=30)
    remainder = np.random.default_rng(3).uniform(0.0, 4.0, 30)
    fit = find_nearest_normal(LaplaceFit.from_problem(problem), remainder=remainder, tol=1e-6)
    z = normal_points(20_000, len(fit.L))
    root = np.linalg.inv(np.tril(fit.L)).T
    draws = fit.weights.W.reshape(-1) + z @ root.T
    A, y = latents(problem, draws), problem.targets.y.astype(int)
    noise = np.random.default_rng(4).standard_normal(A.shape)
    if n_classes == 2:
        noise[:, :, 0] = 0.0
    log_p = log_softmax(A + np.sqrt(remainder)[:, None] * noise, axis=2)
    plain = log_softmax(A, axis=2)
    lost = np.mean((log_p - plain)[:, np.arange(30), y], axis=0).sum()
    without = bound_by_draws(problem, fit.weights.W.reshape(-1), root, z)
    assert fit.bound == pytest.approx(without + lost, abs=0.1)
    unaware = find_nearest_normal(LaplaceFit.from_problem(problem), tol=1e-6)
    assert np.linalg.norm(fit.weights.W) > np.linalg.norm(unaware.weights.W)


@each_count
def test_the_lean_is_to_where_rows_curve_less_on_average(n_classes):
    """H^-1 times the slope of -tr(S h) / 2, S the covariance of all latent values of a row."""
    laplace = LaplaceFit.from_problem(problem_of(n_classes))
    t, W = laplace.problem.targets, laplace.weights.W
    Z, J = laplace.problem.design.rows(0, 12), W.shape[1]
    remainder = np.random.default_rng(3).uniform(0.0, 4.0, 12)
    for v in (None, remainder):
        S = laplace.spread(Z) + (0.0 if v is None else v[:, None, None] * np.eye(J))

        def value(x, S=S):
            A = t.latents(Z @ x.reshape(W.shape))
            return -0.5 * np.sum(S * t.curvature(A))

        steps = 1e-5 * np.eye(W.size)
        at = W.reshape(-1)
        slope = [(value(at + h) - value(at - h)) / 2e-5 for h in steps]
        H = np.tril(laplace.L) @ np.tril(laplace.L).T
        expected = np.linalg.solve(H, slope).reshape(W.shape)
        np.testing.assert_allclose(laplace.mean_shift(v), expected, rtol=1e-5, atol=1e-8)


@pytest.mark.full(but=1)
@each_count
def test_probabilities_are_nearer_to_exact_ones_than_those_of_laplace(n_classes):
    problem = problem_of(n_classes, n=25)
    laplace = LaplaceFit.from_problem(problem)
    fit = find_nearest_normal(laplace)
    exact, log_evidence = importance_sampled(problem, fit)
    assert fit.bound < log_evidence + 0.02
    errors = [np.mean(np.abs(probabilities(problem, f) - exact)) for f in (fit, laplace)]
    assert errors[0] < 0.25 * errors[1]


@for_each("n_classes", [2, 3])
def test_where_rows_are_many_it_is_that_of_laplace(n_classes):
    """The loss falls as one over the square of the rows, and then a step is not worth its pass."""
    problem = problem_of(n_classes, n=12)
    shares = []
    for times in (1.0, 100.0):
        repeated = replace(problem, targets=replace(problem.targets, weights=np.full(12, times)))
        laplace = LaplaceFit.from_problem(repeated)
        fit = find_nearest_normal(laplace)
        p = probabilities(repeated, find_nearest_normal(laplace, tol=1e-12))
        shares.append(np.max(np.abs(probabilities(repeated, fit) - p)))
        assert (fit is laplace) == (times == 100.0)
    assert shares[1] < 0.01


def test_a_row_that_counts_twice_is_two_rows():
    problem = problem_of(3, n=15)
    counts = np.where(np.arange(15) % 3 == 0, 2, 1)
    weighted = replace(problem, targets=replace(problem.targets, weights=counts.astype(float)))
    t, Z = problem.targets, problem.design.rows(0, 15)
    many = replace(t, y=np.repeat(t.y, counts))
    repeated = replace(problem, design=designs.Dense(np.repeat(Z, counts, axis=0)), targets=many)
    one, other = (find_nearest_normal(LaplaceFit.from_problem(p)) for p in (weighted, repeated))
    np.testing.assert_allclose(one.weights.W, other.weights.W, rtol=1e-9)
    np.testing.assert_allclose(one.L, other.L, rtol=1e-9, atol=1e-12)
    assert one.bound == pytest.approx(other.bound, abs=1e-9)


def test_classes_in_another_order_have_the_same_probabilities():
    problem = problem_of(4, n=40)
    order = np.array([2, 0, 3, 1])
    t = problem.targets
    moved = RowTargets.from_observations(
        order[t.y.astype(int)].astype(float), None, t.likelihood, offset=True
    )
    prior = replace(problem.prior, offset_precision=moved.offset_precision)
    other = replace(problem, targets=moved, prior=prior)
    p = probabilities(problem, find_nearest_normal(LaplaceFit.from_problem(problem)))
    q = probabilities(other, find_nearest_normal(LaplaceFit.from_problem(other)))
    np.testing.assert_allclose(q[:, order], p, atol=0.01)


def test_without_weights_there_is_nothing_to_improve():
    problem = problem_of(2, m=0, offset=False)
    laplace = LaplaceFit.from_problem(problem)
    assert find_nearest_normal(laplace) is laplace


def test_steps_that_do_not_suffice_are_said():
    laplace = LaplaceFit.from_problem(problem_of(3, n=40))
    with pytest.warns(optimize.ConvergenceWarning, match="the last of 2 steps"):
        fit = find_nearest_normal(laplace, max_steps=2)
    assert not fit.weights.converged
    assert fit.weights.n_iter == 2


def test_each_step_raises_the_bound_however_far_apart_the_classes_are():
    """Full steps would go to and fro here: the pace slows where the bound falls."""
    problem = problem_of(3, n=40, m=10, variance=1e4)
    laplace = LaplaceFit.from_problem(problem)
    bounds = []
    for steps in (1, 3, 5, 8, 12):
        with pytest.warns(optimize.ConvergenceWarning):
            bounds.append(find_nearest_normal(laplace, tol=1e-9, max_steps=steps).bound)
    assert np.all(np.diff(bounds) >= 0.0)
    assert bounds[-1] < 0.0
