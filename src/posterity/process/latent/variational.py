"""The normal nearest to the posterior of a Gaussian process of a rate: counts, positive amounts.

The normal q that is nearest in the sense of Kullback and Leibler has K^-1 mean = E_q[slope] and
sites of precision E_q[curvature], both averaged over itself [OA 2.10]. Under it expected counts add
up to those observed, but for the pull of the prior; under Laplace's they need not be near.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from posterity import kernels, likelihoods, linalg
from posterity.arrays import Array
from posterity.inference.weights import rate_climb
from posterity.process.latent import mode as process_mode
from posterity.process.latent import sites
from posterity.process.latent.site_evidence import Memory
from posterity.process.latent.site_posterior import SitePosterior
from posterity.process.latent.sites import Sites
from posterity.process.latent.targets import LatentTargets

_TOO_SMALL = 1e-8  # of the prior precision: a site not to be divided by


class NearestPosterior(SitePosterior):
    """The latent function at any rows, under the normal nearest to its posterior.

    ``log_evidence`` is that of Laplace's approximation, by which parameters are learned.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-0.5], [1.0]]), np.array([0.0, 0.0, 3.0])
    >>> likelihood = likelihoods.Poisson()
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> posterior = NearestPosterior.condition(4.0 * kernels.RBF(1.0), likelihood, X, targets)
    >>> f = posterior.latent(X)
    >>> likelihood.predict(f.mean[:, 0], f.variance[:, 0]).mean().round(2)
    array([0.27, 0.32, 2.66])
    """

    @classmethod
    def condition(
        cls,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Averaged,
        X: Any,
        targets: LatentTargets,
    ) -> Self:
        """Climb from Laplace's approximation.

        Warns with ``optimize.ConvergenceWarning`` where the nearest normal was not found.
        """
        memory = sites.allocate(targets.n_rows)
        with linalg.limit_threads(targets.n_rows):
            total = sites.fill_covariance(memory, kernel, X, targets)
            mode = process_mode.find(*memory, likelihood, targets)
            evidence = mode.log_evidence
            W = -targets.weights * likelihood.d2(targets.y, targets.shift[0] + mode.f)
            rows = _RateRows(memory, likelihood, targets)
            end = rate_climb.climb_rate_bound(_NormalState.from_sites(rows, mode.alpha, mode.f, W))
            factor = rows.factor(end.place.W)
        return cls(
            total,
            X,
            float(targets.shift[0]),
            end.place.alpha,
            factor,
            evidence,
            end.n_steps,
            end.stop_reason,
        )


@dataclass(frozen=True)
class _RateRows:
    """The covariance of the latent values, memory for a factor, and the observations."""

    memory: Memory
    likelihood: likelihoods.Averaged
    targets: LatentTargets

    def factor(self, W: Array) -> Sites:
        """Under sites of precision W; the last factor is overwritten."""
        K, memory = self.memory
        few = np.flatnonzero(W * np.diagonal(K) < _TOO_SMALL)
        return Sites.factorise(K, W, memory, few)

    def averages(self, f: Array, v: Array) -> tuple[float, Array, Array]:
        """The log-likelihood, its slopes and curvatures, over normal latent values."""
        t = self.targets
        log_p, d1, h = self.likelihood.expected_derivatives(t.y, t.shift[0] + f, v)
        return float(t.weights @ log_p), t.weights * d1, t.weights * h

    def drift(self, f: Array, v: Array, change: Array) -> Array:
        """How the slopes change with the variances, to first order."""
        t = self.targets
        d3 = self.likelihood.expected_d3(t.y, t.shift[0] + f, v)
        return np.asarray(0.5 * t.weights * d3 * change)


@dataclass(frozen=True)
class _NormalState:
    """A normal of mean f = K alpha and precision K^-1 + diag(W), and its bound on the evidence."""

    rows: _RateRows
    alpha: Array  # (N,)
    f: Array  # (N,)
    W: Array  # (N,)
    v: Array  # (N,), variances of the latent values
    log_determinant: float  # of I + K W
    log_likelihood: float  # averages over the normal
    slope: Array  # (N,), in the mean, without the prior's
    curvature: Array  # (N,)

    @classmethod
    def from_sites(cls, rows: _RateRows, alpha: Array, f: Array, W: Array) -> _NormalState:
        return cls._with_variances(rows, alpha, f, W, *_variances(rows, W))

    @classmethod
    def _with_variances(
        cls, rows: _RateRows, alpha: Array, f: Array, W: Array, v: Array, log_determinant: float
    ) -> _NormalState:
        return cls(rows, alpha, f, W, v, log_determinant, *rows.averages(f, v))

    @property
    def bound(self) -> float:
        distance = float(self.alpha @ self.f - self.W @ self.v) + self.log_determinant
        return self.log_likelihood - 0.5 * distance

    @property
    def expected_gain(self) -> float:
        full, excess = self._full, self.curvature - self.W
        in_mean = float((self.slope - self.alpha) @ full.df)
        return 0.5 * in_mean + 0.25 * float(excess @ (self.v - full.v))

    def with_less_variance(self) -> _NormalState:
        """Each site at least as precise as the prior, and then twice as precise."""
        prior = 1.0 / np.diagonal(self.rows.memory[0])
        return _NormalState.from_sites(
            self.rows, self.alpha, self.f, 2.0 * np.maximum(self.W, prior)
        )

    def step_towards_best(self, pace: float) -> _NormalState:
        if pace == 1.0:
            full = self._full
            return self._take_step(full.with_drift, self.curvature, full.v, full.log_determinant)
        W = self.W + pace * (self.curvature - self.W)
        v, log_determinant = _variances(self.rows, W)
        slope = pace * (self.slope - self.alpha) + self.rows.drift(self.f, self.v, v - self.v)
        R = self.rows.factor(self.curvature)
        return self._take_step(slope - R.apply(self._K @ slope), W, v, log_determinant)

    def step_mean(self, pace: float) -> _NormalState:
        return self._take_step(pace * self._full.dalpha, self.W, self.v, self.log_determinant)

    def _take_step(self, dalpha: Array, W: Array, v: Array, log_determinant: float) -> _NormalState:
        f = self.f + self._K @ dalpha
        return self._with_variances(self.rows, self.alpha + dalpha, f, W, v, log_determinant)

    @cached_property
    def _full(self) -> _FullStep:
        """From one factor of the curvatures that this normal asks for."""
        factor = self.rows.factor(self.curvature)
        R = factor.invert(self._K)
        slope = self.slope - self.alpha
        further = slope + self.rows.drift(self.f, self.v, R.variances - self.v)
        dalpha, both = (g - R.apply(self._K @ g) for g in (slope, further))
        return _FullStep(R.variances, factor.log_determinant, dalpha, self._K @ dalpha, both)

    @property
    def _K(self) -> Array:
        return self.rows.memory[0]


@dataclass(frozen=True)
class _FullStep:
    """A full step: by the Hessian of the bound in the mean, with the variances that follow."""

    v: Array  # (N,)
    log_determinant: float
    dalpha: Array  # (N,), of the mean alone
    df: Array  # (N,), K times that
    with_drift: Array  # (N,), of alpha, as the variances change


def _variances(rows: _RateRows, W: Array) -> tuple[Array, float]:
    """Return the latent variances under sites of precision W, and log det(I + K W)."""
    factor = rows.factor(W)
    return factor.invert(rows.memory[0]).variances, factor.log_determinant
