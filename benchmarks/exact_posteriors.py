"""The posterior of weights and of functions under a sigmoid or a softmax, without approximation.

Two weights are integrated over on a grid; functions are averaged over by long Markov chains, which
say how well they know what they say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, special

from benchmarks import samplers
from benchmarks.cases import Array, Data
from posterity import kernels

SEED, JITTER = 0, 1e-10
GRID, GRID_REACH = 601, 8.0  # nodes an axis, and prior deviations each way


@dataclass(frozen=True)
class Effort:
    """How long the chains are: first from the prior, then from a normal fitted to those."""

    chains: int = 16
    warm_up: int = 500
    first: int = 5_000
    draws: int = 4_000
    thin: int = 3
    annealed: int = 1_000
    temperatures: int = 200


REHEARSAL = Effort(8, 50, 300, 100, 1, 50, 20)


@dataclass(frozen=True)
class Reference:
    """The probabilities of each class at the test rows and the log evidence, as they are."""

    probabilities: Array
    log_evidence: float
    facts: dict[str, float]  # how well they are known


def integrate_posterior(data: Data, prior_variance: float) -> Reference:
    """By the trapezoidal rule, which converges faster than any power for integrands like these."""
    s = np.sqrt(prior_variance)
    axis = np.linspace(-GRID_REACH * s, GRID_REACH * s, GRID)
    W = np.array(np.meshgrid(axis, axis)).reshape(2, -1)
    log_p = _log_normal(W, prior_variance) + 2.0 * np.log(axis[1] - axis[0])
    for x, sign in zip(data.X, 2.0 * data.y - 1.0, strict=True):
        log_p += special.log_expit(sign * (x @ W))
    log_Z = float(special.logsumexp(log_p))
    p = np.exp(log_p - log_Z)
    p1 = np.array([p @ special.expit(x @ W) for x in data.X_test])
    return Reference(np.column_stack([1.0 - p1, p1]), log_Z, {})


def _log_normal(W: Array, variance: float) -> Array:
    return -0.5 * np.sum(W**2, axis=0) / variance - np.log(2.0 * np.pi * variance)


def sample_posterior(data: Data, kernel: kernels.Kernel, classes: int, effort: Effort) -> Reference:
    """By Markov chains over the function at the training rows; others follow from these."""
    rng = np.random.default_rng(SEED)
    L = _factor(kernel, data.X)
    target = latent_target(L, data.y, classes)
    n, warm = effort.chains, effort.warm_up
    first = samplers.sample(target, rng, chains=n, warm_up=warm, draws=effort.first, thin=1)
    near = samplers.Recentred.at(target, first)
    draws = samplers.sample(
        near.target, rng, chains=n, warm_up=warm, draws=effort.draws, thin=effort.thin
    )
    Z = near.states(draws)
    by_chain = probabilities(data, kernel, L, Z, rng)
    nearer = samplers.Recentred.at(target, Z)
    log_Z, log_Z_error = samplers.log_evidence(
        nearer.target, rng, chains=effort.annealed, temperatures=effort.temperatures
    )
    facts = {
        "scale_reduction": float(samplers.scale_reduction(draws).max()),
        "effective_size": float(samplers.effective_size(draws).min()),
        "probability_error": float(by_chain.std(axis=0, ddof=1).max() / np.sqrt(n)),
        "log_evidence_error": log_Z_error,
    }
    return Reference(by_chain.mean(axis=0), log_Z, facts)


def _factor(kernel: kernels.Kernel, X: Array) -> Array:
    """Return the factor of the covariance of the function at the rows."""
    K = kernel(X)
    return np.linalg.cholesky(K + JITTER * np.trace(K) / len(K) * np.eye(len(K)))


def latent_target(L: Array, y: Array, classes: int) -> samplers.Target:
    """Unknowns z with f = L z, the function at the rows; one after the other of each class."""
    n, codes = len(y), y.astype(np.intp)

    def log_likelihood(Z: Array) -> Array:
        F = Z.reshape(len(Z), -1, n) @ L.T
        if classes == 2:
            return special.log_expit((2.0 * y - 1.0) * F[:, 0]).sum(axis=1)
        return special.log_softmax(F, axis=1)[:, codes, np.arange(n)].sum(axis=1)

    return samplers.Target(n if classes == 2 else classes * n, log_likelihood)


def probabilities(
    data: Data, kernel: kernels.Kernel, L: Array, draws: Array, rng: np.random.Generator
) -> Array:
    """Mean of each chain at the test rows (chains, n, C), given its functions at the others."""
    V = linalg.solve_triangular(L, kernel(data.X, data.X_test), lower=True)
    scale = np.sqrt(np.maximum(kernel.diag(data.X_test) - np.sum(V**2, axis=0), 0.0))
    functions = draws.shape[2] // len(data.y)
    total = np.zeros((draws.shape[1], len(data.X_test), max(2, functions)))
    for Z in draws:
        latent = Z.reshape(len(Z), functions, -1) @ V
        latent += scale * rng.standard_normal(latent.shape)
        if functions == 1:
            latent = np.concatenate([np.zeros_like(latent), latent], axis=1)
        total += np.moveaxis(special.softmax(latent, axis=1), 1, 2)
    return total / len(draws)
