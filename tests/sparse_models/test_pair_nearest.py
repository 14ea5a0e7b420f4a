"""The nearest normal of pairs of a column and a class: of weights of their own, and by draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import multivariate_t
from sparse_support import Pairs
from support.latents import with_covariance

from posterity import designs, likelihoods, optimize
from posterity.inference.weights.laplace import LaplaceFit
from posterity.inference.weights.prior import WeightPrior
from posterity.inference.weights.problem import WeightProblem
from posterity.inference.weights.targets import RowTargets
from posterity.inference.weights.variational import NearestNormal, find_nearest_normal

C = 3
CATEGORICAL = likelihoods.Categorical(C)
each_offset = pytest.mark.parametrize("offset", [True, False], ids=["offset", "no offset"])


def rows(n=20, seed=0):
    """Classes that hardly overlap."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    y = np.argmax(3.0 * Z @ rng.normal(size=(3, C)) + rng.gumbel(size=(n, C)), axis=1)
    y[:C] = np.arange(C)
    return Z, y.astype(float), rng.uniform(0.5, 2.0, n)


def problem_of(*, offset=True, used=None, weighted=True, h=None):
    Z, y, weights = rows()
    targets = RowTargets.from_observations(
        y, weights if weighted else None, CATEGORICAL, offset=offset
    )
    in_use = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 1]], dtype=bool) if used is None else used
    precision = np.full((3, C), 0.1) if h is None else h
    if offset:
        Z = np.hstack([Z, np.ones((len(Z), 1))])
        in_use = np.vstack([in_use, np.ones((1, C), dtype=bool)])
        precision = np.vstack([precision, 1.0 / targets.offset_variance])
    return Pairs(Z, in_use, precision, targets)


def log_joint(p, draws):
    """log p(y, w) at draws (s, P), and the latent values (s, n, C)."""
    A = np.stack([p.latents(x) for x in draws])
    own = p.targets.y.astype(int)
    log_p = log_softmax(A, axis=2)[:, np.arange(len(own)), own] @ p.row_weights[:, 0]
    h = p.packed(p.precision)
    log_prior = 0.5 * np.sum(np.log(h / (2.0 * np.pi))) - 0.5 * np.sum(h * draws**2, axis=1)
    return log_p + log_prior, A


def bound_by_draws(p, fit, z):
    """E_q[log p(y, w)] + the entropy of q, by points z (s, P) of a standard normal."""
    root = np.linalg.inv(np.tril(fit.L)).T
    entropy = np.linalg.slogdet(root)[1] + 0.5 * len(root) * np.log(2.0 * np.pi * np.e)
    return np.mean(log_joint(p, p.packed(fit.weights.W) + z @ root.T)[0]) + entropy


def importance_sampled(p, fit, n=40_000):
    """Exact averages over the posterior: probabilities of the rows, and log p(y)."""
    rng, d, nu = np.random.default_rng(1), len(fit.L), 5.0
    root = np.linalg.inv(np.tril(fit.L)).T
    z = rng.standard_normal((n, d)) * np.sqrt(nu / rng.chisquare(nu, size=(n, 1)))
    log_q = multivariate_t(np.zeros(d), np.eye(d), df=nu).logpdf(z) - np.linalg.slogdet(root)[1]
    values, A = log_joint(p, p.packed(fit.weights.W) + z @ root.T)
    log_w = values - log_q
    share = np.exp(log_w - logsumexp(log_w))
    assert 1.0 / np.sum(share**2) > 0.02 * n
    return np.einsum("s,snc->nc", share, softmax(A, axis=2)), logsumexp(log_w) - np.log(n)


def normal_points(n, dimension):
    z = np.random.default_rng(0).standard_normal((n, dimension))
    z = np.concatenate([z, -z])
    return z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / len(z))).T


@each_offset
def test_pairs_of_all_classes_have_the_nearest_normal_of_contrasts(offset):
    """What the classes have in common no row tells of: the prior has it, at no distance."""
    h = np.repeat([[0.1], [0.3], [0.2]], C, axis=1)
    pairs = problem_of(offset=offset, used=np.ones((3, C), dtype=bool), h=h)
    t, M = pairs.targets, pairs.Z.shape[1]
    prior = WeightPrior(h[:, 0], M, t.offset_precision if offset else None)
    weights = WeightProblem(designs.Dense(pairs.Z), t, prior)
    one, other = (
        find_nearest_normal(pairs.laplace()),
        find_nearest_normal(LaplaceFit.from_problem(weights)),
    )
    assert isinstance(one, NearestNormal)
    assert one.bound == pytest.approx(other.bound, abs=1e-6)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-6)
    (mean, S), (other_mean, other_S) = (
        with_covariance(one.latent(pairs.Z)),
        with_covariance(other.latent(pairs.Z)),
    )
    D = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
    np.testing.assert_allclose(mean @ D.T, other_mean @ D.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(D @ S @ D.T, D @ other_S @ D.T, rtol=1e-5)


@each_offset
def test_its_bound_is_that_of_draws_and_above_that_of_laplace(offset):
    problem = problem_of(offset=offset)
    laplace = problem.laplace()
    fit = find_nearest_normal(laplace)
    z = normal_points(10_000, len(fit.L))
    assert fit.bound == pytest.approx(bound_by_draws(problem, fit, z), abs=0.1)
    assert fit.bound > bound_by_draws(problem, laplace, z) + 0.1
    assert fit.log_evidence == laplace.log_evidence
    np.testing.assert_array_equal(fit.weights.W[~problem.used], 0.0)


def test_at_the_end_mean_and_hessian_are_the_averages_that_define_it():
    problem = problem_of()
    fit = find_nearest_normal(problem.laplace(), tol=1e-10, max_steps=200)
    z = normal_points(10_000, len(fit.L))
    draws = problem.packed(fit.weights.W) + z @ np.linalg.inv(np.tril(fit.L))
    n, own = len(problem.Z), problem.targets.y.astype(int)
    slope, H = np.zeros((n, C)), np.zeros((n, C, C))
    for x in draws:
        p = softmax(problem.latents(x), axis=1)
        slope -= p / len(draws)
        H += (p[:, :, None] * np.eye(C) - p[:, :, None] * p[:, None, :]) / len(draws)
    slope[np.arange(n), own] += 1.0
    h = problem.packed(problem.precision)
    pull = problem.packed(problem.Z.T @ (problem.row_weights * slope))
    # Of the deviations of weights; averages by the points of processes know a thousandth or so.
    deviation = np.sqrt(np.diagonal(fit.packed_covariance))
    np.testing.assert_allclose(
        deviation * (h * problem.packed(fit.weights.W) - pull), 0.0, atol=0.03
    )
    columns = [np.outer(np.eye(C)[c], np.eye(4)[m]) for m, c in np.argwhere(problem.used)]
    J = np.stack([np.einsum("cm,nm->nc", B, problem.Z) for B in columns], axis=2)
    dense = np.einsum("ncp,n,ncd,ndq->pq", J, problem.row_weights[:, 0], H, J) + np.diag(h)
    mine = np.tril(fit.L) @ np.tril(fit.L).T
    np.testing.assert_allclose(deviation[:, None] * (mine - dense) * deviation, 0.0, atol=0.03)


def test_probabilities_are_nearer_to_exact_ones_than_those_of_laplace():
    problem = problem_of()
    laplace = problem.laplace()
    fit = find_nearest_normal(laplace)
    exact, log_evidence = importance_sampled(problem, fit)
    assert fit.bound < log_evidence + 0.02
    p = [
        CATEGORICAL.predict(*with_covariance(f.latent(problem.Z))).probabilities()
        for f in (fit, laplace)
    ]
    assert np.mean(np.abs(p[0] - exact)) < 0.3 * np.mean(np.abs(p[1] - exact))


def test_a_row_that_counts_twice_is_two_rows():
    problem = problem_of(weighted=False)
    counts = np.where(np.arange(20) % 3 == 0, 2, 1)
    t = problem.targets
    weighted = replace(problem, targets=replace(t, weights=counts.astype(float)))
    repeated = replace(
        problem,
        Z=np.repeat(problem.Z, counts, axis=0),
        targets=replace(t, y=np.repeat(t.y, counts)),
    )
    one, other = (find_nearest_normal(p.laplace()) for p in (weighted, repeated))
    np.testing.assert_allclose(one.weights.W, other.weights.W, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(one.L, other.L, rtol=1e-8, atol=1e-10)
    assert one.bound == pytest.approx(other.bound, abs=1e-9)


def test_the_lean_is_to_where_rows_curve_less_on_average():
    problem = problem_of()
    laplace = problem.laplace()
    S = laplace.latent(problem.Z).covariance

    def value(x):
        p = softmax(problem.latents(x), axis=1)
        h = p[:, :, None] * np.eye(C) - p[:, :, None] * p[:, None, :]
        return -0.5 * np.sum(problem.row_weights[:, :, None] * S * h)

    at = problem.packed(laplace.weights.W)
    steps = 1e-5 * np.eye(len(at))
    slope = np.array([(value(at + h) - value(at - h)) / 2e-5 for h in steps])
    H = np.tril(laplace.L) @ np.tril(laplace.L).T
    np.testing.assert_allclose(
        problem.packed(laplace.mean_shift()), np.linalg.solve(H, slope), rtol=1e-5, atol=1e-8
    )


def test_where_rows_are_many_it_is_that_of_laplace():
    problem = problem_of(weighted=False)
    many = replace(problem, targets=replace(problem.targets, weights=np.full(20, 1000.0)))
    laplace = many.laplace()
    assert find_nearest_normal(laplace) is laplace


def test_steps_that_do_not_suffice_are_said():
    laplace = problem_of().laplace()
    with pytest.warns(optimize.ConvergenceWarning, match="the last of 2 steps"):
        fit = find_nearest_normal(laplace, tol=1e-9, max_steps=2)
    assert not fit.weights.converged
