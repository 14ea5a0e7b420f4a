"""Outputs of rows are averages over the whole posterior of their latent points."""

import numpy as np
import pytest
from scipy import stats

from posterity import kernels
from posterity.latent.gplvm import placements, row_outputs, search, terms
from posterity.latent.gplvm.outputs import ExactOutputs

KERNEL, NOISE = kernels.Scaled(kernels.RBF(0.8), 2.0), 0.1


def term(Y, learned=False):
    bounds = np.tile([-3.0, 3.0], (len(KERNEL.theta), 1))
    return ExactOutputs(Y, KERNEL, bounds, NOISE, (1e-6, 10.0) if learned else None)


@pytest.fixture
def rows():
    """Latent points, and three columns of which the first is the same at x and at -x."""
    X = np.random.default_rng(0).normal(size=(40, 1))
    Y = np.hstack([np.cos(2.0 * X), np.sin(X), X**2 - 1.0])
    return X, Y + 0.3 * np.random.default_rng(1).normal(size=Y.shape)


def test_moments_are_integrals_over_the_latent_point(rows):
    X, Y = rows
    outputs = term(Y)
    decoder = outputs.decoder(X, outputs.start)
    asked = Y[:6] + 0.1
    asked[:3, 1:], asked[3:5, 2], asked[5] = np.nan, np.nan, np.nan
    mean, variance = row_outputs.decode_rows(decoder, asked, candidates=X)
    grid = np.linspace(-6.0, 6.0, 4001)[:, None]
    f = decoder.latent(grid)
    for k, row in enumerate(asked):
        repeated = np.broadcast_to(row, (len(grid), 3))
        log_p = decoder.log_density(grid, repeated)[0] + stats.norm.logpdf(grid[:, 0])
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        spread = np.sqrt(p @ (f.variance + (f.mean - p @ f.mean) ** 2))
        np.testing.assert_allclose(mean[k], p @ f.mean, atol=0.1 * np.max(spread))
        np.testing.assert_allclose(np.sqrt(variance[k]), spread, rtol=0.2)


def test_of_normal_posteriors_moments_are_exact():
    rng = np.random.default_rng(2)
    X, W = rng.normal(size=(30, 2)), rng.normal(size=(2, 4))
    outputs = ExactOutputs(X @ W, kernels.Linear(1.0), np.zeros((1, 2)), 0.01, None)
    decoder = outputs.decoder(X, np.zeros(1))
    row = np.array([[0.3, np.nan, np.nan, np.nan]])
    mean, variance = row_outputs.decode_rows(decoder, row, candidates=X)
    gain = W[:, 0] / (W[:, 0] @ W[:, 0] + 0.01)
    covariance = np.eye(2) - np.outer(gain, W[:, 0])
    np.testing.assert_allclose(mean[0], 0.3 * gain @ W, atol=0.02)
    np.testing.assert_allclose(variance[0], np.diag(W.T @ covariance @ W), atol=0.05)


def test_noise_is_that_of_the_largest_laplace_evidence(rows):
    X, Y = rows
    outputs = term(Y, learned=True)
    problem = search.LatentPointProblem(
        (outputs, terms.StandardNormalPrior()), placements.FreePlacement(40, 1), Y.size
    )
    start = np.concatenate([X.ravel(), outputs.start])
    found = problem.learn_noise(start)

    def log_evidence(log_noise):
        noise, step = np.exp(log_noise), 1e-5
        C = KERNEL(X) + noise * np.eye(40)
        value = sum(stats.multivariate_normal(np.zeros(40), C).logpdf(y) for y in Y.T)
        a = np.linalg.solve(C, Y)
        J = (KERNEL(X + step, X) - KERNEL(X - step, X)) @ a / (2.0 * step)  # slopes of the mean
        H = np.linalg.inv(C) * (J @ J.T) + np.eye(40)
        return value - 0.5 * np.linalg.slogdet(H)[1]

    grid = found[-1] + np.linspace(-0.2, 0.2, 41)
    best = grid[np.argmax([log_evidence(x) for x in grid])]
    assert found[-1] == pytest.approx(best, abs=0.03)
    np.testing.assert_array_equal(found[:-1], start[:-1])
