"""Markov chains for unknowns with a standard normal prior: slow, simple, and exact in the end.

Elliptical slice sampling has nothing to tune and no step that could be too large. Many chains run
at once, as rows of one array. The evidence is annealed importance sampling along the same steps.
Both are faster where a normal that was fitted to earlier draws takes the place of the prior.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import special

from benchmarks.cases import Array

LogLikelihood: TypeAlias = Callable[[Array], Array]  # of states (chains, d): (chains,)
_STEEPNESS = 2.0  # of temperatures: more of them near the prior, where states change fastest
_WIDER = 1.3  # times the variance of the draws: a normal too narrow would miss the tails


@dataclass(frozen=True)
class Target:
    """A standard normal prior of ``size`` unknowns, times a likelihood."""

    size: int
    log_likelihood: LogLikelihood

    def draw(self, rng: np.random.Generator, chains: int) -> Array:
        """States from the prior."""
        return rng.standard_normal((chains, self.size))


@dataclass(frozen=True)
class Recentred:
    """A target seen from a normal near it: states z = mean + L e, with e standard normal."""

    original: Target
    mean: Array
    L: Array

    @classmethod
    def at(cls, original: Target, draws: Array) -> Recentred:
        """About draws (..., d) from the target."""
        Z = draws.reshape(-1, original.size)
        S = np.atleast_2d(np.cov(Z, rowvar=False))
        L = np.asarray(np.linalg.cholesky(_WIDER * S), dtype=np.float64)
        return cls(original, Z.mean(axis=0), L)

    @property
    def target(self) -> Target:
        """The same posterior and evidence, of the states e."""
        return Target(self.original.size, self._log_likelihood)

    def states(self, E: Array) -> Array:
        """Return states of the original target from those of this one."""
        return self.mean + E @ self.L.T

    def _log_likelihood(self, E: Array) -> Array:
        """The likelihood times the prior, over the normal near it."""
        Z = self.states(E)
        over = 0.5 * np.sum(E**2 - Z**2, axis=1) + np.log(np.diagonal(self.L)).sum()
        return self.original.log_likelihood(Z) + over


def step(
    F: Array, value: Array, nu: Array, log_likelihood: LogLikelihood, rng: np.random.Generator
) -> tuple[Array, Array]:
    """One step of every chain, with ``nu`` drawn from the prior  [Murray, Adams, MacKay 2010]."""
    level = value - rng.exponential(size=len(F))
    angle = rng.uniform(0.0, 2.0 * np.pi, size=len(F))
    low, high = angle - 2.0 * np.pi, angle.copy()
    moved, reached, open_ = F.copy(), value.copy(), np.arange(len(F))
    while open_.size:
        t = angle[open_][:, None]
        proposed = F[open_] * np.cos(t) + nu[open_] * np.sin(t)
        v = log_likelihood(proposed)
        good = v > level[open_]
        moved[open_[good]], reached[open_[good]] = proposed[good], v[good]
        open_ = open_[~good]
        low[open_] = np.where(angle[open_] < 0.0, angle[open_], low[open_])
        high[open_] = np.where(angle[open_] < 0.0, high[open_], angle[open_])
        angle[open_] = rng.uniform(low[open_], high[open_])
    return moved, reached


def sample(
    target: Target, rng: np.random.Generator, *, chains: int, warm_up: int, draws: int, thin: int
) -> Array:
    """States of each chain after the warm-up, every ``thin``-th one: (draws, chains, d)."""
    F = target.draw(rng, chains)
    value, kept = target.log_likelihood(F), []
    for k in range(warm_up + draws * thin):
        F, value = step(F, value, target.draw(rng, chains), target.log_likelihood, rng)
        if k >= warm_up and (k - warm_up) % thin == thin - 1:
            kept.append(F)
    return np.array(kept)


def log_evidence(
    target: Target, rng: np.random.Generator, *, chains: int, temperatures: int
) -> tuple[float, float]:
    """By annealed importance sampling from the prior; with its standard error  [Neal 2001]."""
    F = target.draw(rng, chains)
    value, log_w = target.log_likelihood(F), np.zeros(chains)
    b = np.linspace(0.0, 1.0, temperatures + 1) ** _STEEPNESS
    for before, now in itertools.pairwise(b):
        log_w += (now - before) * value
        tempered = _temper_likelihood(target.log_likelihood, now)
        F, scaled = step(F, now * value, target.draw(rng, chains), tempered, rng)
        value = scaled / now
    log_mean = float(special.logsumexp(log_w) - np.log(chains))
    error = np.std(np.exp(log_w - log_mean), ddof=1) / np.sqrt(chains)
    return log_mean, float(error)


def _temper_likelihood(log_likelihood: LogLikelihood, b: float) -> LogLikelihood:
    return lambda F: b * log_likelihood(F)


def scale_reduction(draws: Array) -> Array:
    """Gelman and Rubin's R of the halves of each chain: (draws, chains, ...) to (...)."""
    half = len(draws) // 2
    halves = np.concatenate([draws[:half], draws[half : 2 * half]], axis=1)
    within = halves.var(axis=0, ddof=1).mean(axis=0)
    between = halves.mean(axis=0).var(axis=0, ddof=1)
    return np.sqrt((half - 1.0) / half + between / within)


def effective_size(draws: Array) -> Array:
    """How many independent draws are worth as much: (draws, chains, ...) to (...).

    The autocorrelations, averaged over chains, are summed in pairs until a pair is negative
    [Geyer 1992].
    """
    n, chains = draws.shape[:2]
    deviation = (draws - draws.mean(axis=(0, 1))).reshape(n, chains, -1)
    spectrum = np.fft.rfft(deviation, 2 * n, axis=0)
    products = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:n].mean(axis=1)
    rho = products / products[0]
    pairs = rho[: n - n % 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0.0, axis=0)
    time = 2.0 * np.sum(pairs * positive, axis=0) - 1.0
    return (n * chains / time).reshape(draws.shape[2:])
