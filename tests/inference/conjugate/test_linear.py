"""The decoupled posterior and evidence against dense algebra."""

import numpy as np
import oracles
from support.for_each import for_each
from support.latents import with_variance

from posterity.designs import Statistics
from posterity.inference.conjugate.linear import WeightPosterior, reduce_statistics
from posterity.inference.conjugate.variances import compute_log_evidence

SHAPES = [(30, 4), (6, 20), (12, 12), (13, 12)]


def problem_of(n, m, *, offset=True, standardize=True, seed=0, noise=None):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m)) * rng.uniform(0.1, 10.0, m) + rng.normal(size=m)
    y = Z @ rng.normal(size=m) + rng.normal(size=n) + 4.0
    s = Statistics.from_rows(Z, y[:, None], noise_variance=noise, shift=offset)
    p = reduce_statistics(s, fit_intercept=offset, standardize=standardize)
    return Z, y, p, rng.normal(size=(7, m)) * 3.0


@for_each(("n", "m"), SHAPES)
@for_each("offset", [True, False])
@for_each("standardize", [True, False])
def test_mean_covariance_and_evidence_match_the_dense_formulas(n, m, offset, standardize):
    Z, y, p, X_star = problem_of(n, m, offset=offset, standardize=standardize)
    sigma2, tau2 = np.array([0.7]), np.array([0.3])
    q = WeightPosterior(p, sigma2, tau2)
    mean, cov, evidence = oracles.dense_posterior(
        Z, y, 0.7, 0.3, offset=offset, X_star=X_star, standardize=standardize
    )
    ours, variance = with_variance(q.latent(X_star))
    np.testing.assert_allclose(ours[:, 0], mean, rtol=1e-9)
    np.testing.assert_allclose(variance[:, 0], np.diag(cov), rtol=1e-8)
    np.testing.assert_allclose(q.joint(X_star).covariance[0], cov, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(X_star @ q.coef + q.intercept, mean[:, None], rtol=1e-9)
    log_evidence = compute_log_evidence(p, sigma2, tau2)
    np.testing.assert_allclose(log_evidence, evidence, rtol=1e-10)


def test_known_noise_of_each_row_matches_the_dense_formulas():
    noise = np.linspace(0.2, 3.0, 30)
    Z, y, p, X_star = problem_of(30, 4, noise=noise)
    q = WeightPosterior(p, np.ones(1), np.array([0.3]))
    mean, cov, evidence = oracles.dense_posterior(
        Z, y, noise, 0.3, offset=True, X_star=X_star, standardize=True
    )
    ours, variance = with_variance(q.latent(X_star))
    np.testing.assert_allclose(ours[:, 0], mean, rtol=1e-9)
    np.testing.assert_allclose(variance[:, 0], np.diag(cov), rtol=1e-8)
    log_evidence = compute_log_evidence(p, np.ones(1), np.array([0.3]))
    np.testing.assert_allclose(log_evidence, evidence, rtol=1e-10)


@for_each(("n", "m"), SHAPES)
def test_draws_have_the_mean_and_covariance_of_the_posterior(n, m):
    _, _, p, X_star = problem_of(n, m)
    q = WeightPosterior(p, np.array([0.7]), np.array([0.3]))
    size = 20_000
    coef, intercept = q.sample(size, np.random.default_rng(0))
    f = (X_star @ coef)[..., 0] + intercept
    mean, variance = with_variance(q.latent(X_star))
    error = np.sqrt(variance[:, 0] / size)
    assert np.all(np.abs(f.mean(axis=0) - mean[:, 0]) < 5 * error)
    C = q.joint(X_star).covariance[0]
    scale = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert np.abs(np.cov(f.T) - C).max() < 0.06 * scale.max()


def test_queries_inside_the_span_of_few_rows_keep_their_small_variance():
    """There prior minus explained cancels to eps * prior; the true variance is far below."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(5, 50))
    s = Statistics.from_rows(Z, rng.normal(size=(5, 1)), shift=False)
    p = reduce_statistics(s, fit_intercept=False, standardize=False)
    sigma2, tau2 = np.array([1e-18]), np.array([1.0])
    _, variance = with_variance(WeightPosterior(p, sigma2, tau2).latent(Z))
    np.testing.assert_allclose(variance, 1e-18, rtol=1e-6)


def test_outputs_are_independent_regressions_that_share_a_decomposition():
    rng = np.random.default_rng(1)
    Z, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    sigma2, tau2 = np.array([0.5, 2.0]), np.array([1.0, 0.1])
    joint = reduce_statistics(Statistics.from_rows(Z, Y), fit_intercept=True, standardize=True)
    both = with_variance(WeightPosterior(joint, sigma2, tau2).latent(Z))
    evidence = compute_log_evidence(joint, sigma2, tau2)
    for k in range(2):
        one = reduce_statistics(
            Statistics.from_rows(Z, Y[:, [k]]), fit_intercept=True, standardize=True
        )
        alone = with_variance(WeightPosterior(one, sigma2[[k]], tau2[[k]]).latent(Z))
        np.testing.assert_allclose(both[0][:, [k]], alone[0], rtol=1e-10)
        np.testing.assert_allclose(both[1][:, [k]], alone[1], rtol=1e-10)
        alone_evidence = compute_log_evidence(one, sigma2[[k]], tau2[[k]])
        np.testing.assert_allclose(evidence[k], alone_evidence[0], rtol=1e-12)


def test_dependent_and_constant_columns_are_not_counted_in_the_rank():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(20, 3))
    Z = np.column_stack([Z, Z[:, 0] + Z[:, 1], np.full(20, 0.1)])
    p = reduce_statistics(
        Statistics.from_rows(Z, rng.normal(size=(20, 1))), fit_intercept=True, standardize=True
    )
    assert p.rank == 3
    assert p.condition_number() == np.inf
