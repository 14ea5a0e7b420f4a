"""The average over subsets of chosen columns is a brute-force sum over all of them."""

from itertools import combinations

import numpy as np
import pytest
from scipy import special, stats
from support import simulated_calibration
from support.for_each import for_each

from posterity import SparseLinearRegression, distributions, priors
from posterity.inference.averaging import PosteriorMixture
from posterity.inference.conjugate import WeightPosterior

COLUMNS, WEAK = 6, np.array([1.5, -0.6])
VALUES = np.array([[-2.0], [-0.3], [0.4], [2.0]])


def draw(rng, n=9, weights=WEAK):
    """Rows and two new ones, of columns of which the first have a weight."""
    X = rng.normal(size=(n + 2, COLUMNS)) * np.geomspace(0.1, 10.0, COLUMNS)
    y = X[:, : len(weights)] / X[:, : len(weights)].std(axis=0) @ weights + rng.normal(size=n + 2)
    return X[:n], y[:n], X[n:], y[n:]


def integrate_subsets(X, y, queries, kept, noise_variance=None):
    """Densities at VALUES, (4, 2), without an offset: dense matrices at every ratio."""
    N, prior = len(y), priors.Sparse(among=X.shape[1])
    total = norm = 0.0
    u = np.arange(-40.0, 15.0, 0.5)
    density_of_u = np.exp(0.25 * (u - 2.0 * np.logaddexp(0.0, u)) - special.betaln(0.25, 0.25))
    for m in range(len(kept) + 1):
        for columns in combinations(kept, m):
            spread = np.sqrt(np.mean(X[:, columns] ** 2, axis=0))
            Z, z = X[:, columns] / spread, queries[:, columns] / spread
            for ratio, weight in zip(np.exp(u) / max(m, 1), 0.5 * density_of_u, strict=True):
                C, c = np.eye(N) + ratio * Z @ Z.T, ratio * z @ Z.T
                mean, squares = c @ np.linalg.solve(C, y), y @ np.linalg.solve(C, y)
                solved = np.linalg.solve(C, c.T).T
                own = 1.0 + ratio * np.sum(z**2, axis=1) - np.sum(c * solved, axis=1)
                log_w = prior.choice(m) - 0.5 * np.linalg.slogdet(C)[1]
                if noise_variance is None:
                    nu, log_w = N - m, log_w - 0.5 * N * np.log(squares)
                    found = stats.t.pdf(VALUES, nu, mean, np.sqrt(own * squares / nu))
                else:
                    log_w -= 0.5 * squares / noise_variance
                    found = stats.norm.pdf(VALUES, mean, np.sqrt(own * noise_variance))
                total = total + weight * np.exp(log_w) * found
                norm += weight * np.exp(log_w)
    return total / norm


@for_each("noise_variance", [None, 0.7])
def test_predictions_are_those_of_all_subsets_and_ratios(noise_variance):
    X, y, queries, _ = draw(np.random.default_rng(20), n=14)
    model = SparseLinearRegression(fit_intercept=False, noise_variance=noise_variance).fit(X, y)
    assert len(model.relevance_) == 2
    assert len(model.posterior_.parts) > 1
    dense = integrate_subsets(X, y, queries, model.relevance_.tolist(), noise_variance)
    np.testing.assert_allclose(model.predict_dist(queries).pdf(VALUES), dense, rtol=0.01, atol=1e-4)


def test_joint_moments_and_samples_are_those_of_the_predictions():
    X, y, queries, _ = draw(np.random.default_rng(20), n=14)
    model = SparseLinearRegression().fit(X, np.column_stack([y, X[:, 0] - y]))
    assert len(model.posterior_.parts) > 1
    mean, std = model.predict(queries, return_std=True)
    predicted = model.predict_dist(queries)
    np.testing.assert_allclose(predicted.mean(), mean, rtol=1e-10)
    covariance = model.predict_cov(queries)
    np.testing.assert_allclose(np.diagonal(covariance, axis1=1, axis2=2).T, std**2, rtol=1e-10)
    latent = model.predict_dist(queries, noise_variance=0.0)
    drawn = model.sample_functions(queries, 20_000, random_state=0)
    for level in (0.1, 0.5, 0.8):
        np.testing.assert_allclose(np.mean(drawn <= latent.icdf(level), axis=0), level, atol=0.015)
    f = model.predict_latent(queries)
    np.testing.assert_allclose(np.std(drawn, axis=0), f.scale, rtol=0.05)
    assert model.weight_distribution(output=1).mean().shape == (COLUMNS + 1,)


@pytest.mark.full
def test_targets_of_new_rows_rank_evenly_where_rows_are_few():
    """At the best choice of columns and variances seven in ten are in intervals of 90 %."""

    def simulate(rng):
        X, y, queries, y_new = draw(rng, 10, np.exp(rng.uniform(-1.5, 2.0)) * rng.normal(size=2))
        return X, y, queries[:1], y_new[0]

    def fit(X, y):
        return SparseLinearRegression().fit(X, y)

    ranks = simulated_calibration.rank_new_targets(fit, simulate, n_truths=120)
    assert simulated_calibration.probability_of_uniform(ranks) > 0.01
    assert simulated_calibration.coverage(ranks) > 0.85


def test_many_rows_are_fitted_at_the_maximum():
    X, y, queries, _ = draw(np.random.default_rng(0), n=500)
    model = SparseLinearRegression().fit(X, y)
    assert isinstance(model.posterior_, WeightPosterior)
    assert isinstance(model.predict_dist(queries), distributions.Normal)
    few = SparseLinearRegression().fit(X[:20], y[:20])
    assert isinstance(few.posterior_, PosteriorMixture)
    np.testing.assert_array_equal(np.flatnonzero(few.coef_), few.relevance_)
