"""The normal nearest to the posterior of coupled functions: its equations, its bound, its use."""

import numpy as np
import pytest
from scipy import linalg
from scipy.special import log_softmax, softmax
from support.for_each import for_each
from support.latents import with_covariance

from posterity import kernels, likelihoods, optimize
from posterity.likelihoods import softmax_mean
from posterity.process.latent.density import LatentTargets
from posterity.process.softmax import variational
from posterity.process.softmax.posterior import SoftmaxPosterior
from posterity.process.softmax.shared import SharedSoftmaxPosterior

THREE = likelihoods.Categorical(3)
SLACK = {"variational": 0.5, "shared": 0.55}  # nats of four rows


def condition(kind, *told):
    if kind == "shared":
        return SharedSoftmaxPosterior.condition(*told)
    return SoftmaxPosterior.condition(kind, *told)


def rows(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.argmax(X @ rng.normal(size=(2, 3)) + 0.3 * rng.gumbel(size=(n, 3)), axis=1) * 1.0


def targets_of(y, weights=None, *, offset=False):
    return LatentTargets.with_offset_prior(
        y, np.ones(len(y)) if weights is None else weights, THREE, offset=offset
    )


def prior_draws(kernel, X, n_draws, rng):
    """Functions (n_draws, N, C) of the prior."""
    L = np.linalg.cholesky(kernel(X) + 1e-10 * np.eye(len(X)))
    return np.einsum("ij,sjc->sic", L, rng.standard_normal((n_draws, len(X), 3)))


def test_expectations_are_averages_over_draws():
    rng = np.random.default_rng(0)
    m, R = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3))
    S = 2.0 * R @ R.transpose(0, 2, 1)
    p_mean, pq_mean, log_sum = softmax_mean.expectations(m, S)
    F = np.linalg.cholesky(S)
    for n in range(4):
        a = m[n] + rng.standard_normal((400_000, 3)) @ F[n].T
        p = softmax(a, axis=1)
        np.testing.assert_allclose(p_mean[n], p.mean(axis=0), atol=5e-3)
        np.testing.assert_allclose(pq_mean[n], (p * (1 - p)).mean(axis=0), atol=5e-3)
        # log sum exp counts what all values share, which points of contrasts leave out
        shared = np.log(np.sum(np.exp(a - a.mean(axis=1, keepdims=True)), axis=1)).mean()
        assert log_sum[n] - m[n].mean() == pytest.approx(shared, abs=2e-2)


def test_the_curvature_has_the_trace_of_the_average_hessian():
    rng = np.random.default_rng(1)
    m, S = rng.normal(size=(5, 3)), np.broadcast_to(4.0 * np.eye(3), (5, 3, 3))
    log_p, d1, w, u = THREE.expected_value_and_slope(np.zeros(5), m, S)
    p, pq, _ = softmax_mean.expectations(m, S)
    np.testing.assert_allclose(u, p)
    np.testing.assert_allclose(d1.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(w * (1.0 - np.sum(u**2, axis=1)), pq.sum(axis=1), rtol=1e-12)
    assert np.all((w > 0.0) & (w < 1.0))
    assert np.all(log_p < 0.0)


@for_each("kind", SLACK)
@for_each("offset", [False, True])
def test_at_the_end_the_mean_is_the_kernel_times_the_average_slope(kind, offset):
    X, y = rows()
    kernel, targets = 20.0 * kernels.RBF(1.0), targets_of(y, offset=offset)
    posterior = condition(kind, kernel, THREE, X, targets)
    mean, covariance = with_covariance(posterior.latent(X))
    _, d1, _, _ = THREE.expected_value_and_slope(y, mean, covariance)
    np.testing.assert_allclose(posterior.b, d1, atol=0.02)
    variances = targets.offset_variance
    shared = np.mean(variances) if kind == "shared" else variances
    prior = kernel(X)[:, :, None] + shared
    np.testing.assert_allclose(
        mean, targets.shift + np.einsum("nmc,mc->nc", prior, posterior.b), atol=1e-6
    )


def class_curvatures(posterior):
    """The curvature of each row, (N, C, C)."""
    if isinstance(posterior, SharedSoftmaxPosterior):
        return posterior.sites.s[:, None, None] ** 2 * (np.eye(3) - 1.0 / 3)
    D = posterior.D.T
    return np.stack([np.diag(d) - np.outer(d, d) / d.sum() for d in D])


@for_each("kind", SLACK)
def test_its_bound_is_that_of_dense_algebra(kind):
    X, y = rows(n=12)
    kernel, targets = 5.0 * kernels.RBF(1.0), targets_of(y)
    posterior = condition(kind, kernel, THREE, X, targets)
    N, C = 12, 3
    mean, _ = with_covariance(posterior.latent(X))
    W = linalg.block_diag(*class_curvatures(posterior))
    prior = np.kron(kernel(X) + 1e-9 * np.eye(N), np.eye(C))
    S = np.linalg.inv(np.linalg.inv(prior) + W)
    blocks = np.stack([S[n * C : n * C + C, n * C : n * C + C] for n in range(N)])
    log_p, _, _, _ = THREE.expected_value_and_slope(y, mean, blocks)
    m = mean.ravel()
    divergence = 0.5 * (
        np.trace(np.linalg.solve(prior, S))
        + m @ np.linalg.solve(prior, m)
        - N * C
        + np.linalg.slogdet(prior)[1]
        - np.linalg.slogdet(S)[1]
    )
    assert posterior.log_evidence == pytest.approx(log_p.sum() - divergence, abs=1e-3)


@pytest.mark.full
@for_each("variance", [1.0, 30.0])
def test_it_is_nearer_to_the_exact_posterior_than_laplace(variance):
    X = np.array([[-1.0], [0.0], [0.3], [1.5]])
    y = np.array([0.0, 1.0, 1.0, 2.0])
    query = np.array([[-1.2], [0.2], [1.0]])
    kernel = variance * kernels.RBF(1.0)
    f = prior_draws(kernel, np.concatenate([X, query]), 400_000, np.random.default_rng(0))
    log_p = log_softmax(f, axis=2)
    like = np.exp(sum(log_p[:, n, int(c)] for n, c in enumerate(y)))
    exact = np.einsum("s,snc->nc", like, np.exp(log_p[:, 4:])) / like.sum()
    log_evidence = np.log(like.mean())
    laplace, *nearest = (
        condition(kind, kernel, THREE, X, targets_of(y)) for kind in ("laplace", *SLACK)
    )

    def largest_error(posterior):
        p = THREE.predict(*with_covariance(posterior.latent(query))).probabilities()
        return np.max(np.abs(p - exact))

    for posterior, slack in zip(nearest, SLACK.values(), strict=True):
        error = largest_error(posterior)
        assert posterior.log_evidence < log_evidence + 0.02
        assert posterior.log_evidence > log_evidence - slack
        assert error < 0.06
        assert error < largest_error(laplace) + 0.01
        assert variance < 10.0 or error < 0.5 * largest_error(laplace)


def test_weights_are_repetitions():
    X, y = rows(n=15)
    weights = np.random.default_rng(1).integers(1, 3, 15)
    kernel = 10.0 * kernels.RBF(1.5)
    weighted = SoftmaxPosterior.condition(
        "variational", kernel, THREE, X, targets_of(y, weights * 1.0)
    )
    repeated = SoftmaxPosterior.condition(
        "variational", kernel, THREE, X.repeat(weights, 0), targets_of(y.repeat(weights))
    )
    for a, b in zip(
        with_covariance(weighted.latent(X)), with_covariance(repeated.latent(X)), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=5e-2)
    assert weighted.log_evidence == pytest.approx(repeated.log_evidence, abs=1e-2)


def test_sweeps_that_do_not_suffice_are_announced(monkeypatch):
    X, y = rows()
    monkeypatch.setattr(variational, "_SWEEPS", 1)
    with pytest.warns(optimize.ConvergenceWarning, match="after 1 sweeps probabilities still"):
        SoftmaxPosterior.condition("variational", 50.0 * kernels.RBF(1.0), THREE, X, targets_of(y))
