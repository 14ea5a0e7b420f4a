"""The normal nearest to the posterior of a Gaussian process, and the one beside hidden precisions.

The normal q that is nearest in the sense of Kullback and Leibler has K^-1 mean = E_q[slope] and
sites of precision E_q[curvature], both averaged over itself [OA 2.10]. Under it expected counts add
up to those observed, but for the pull of the prior; under Laplace's they need not be near.

Noise that is normal given a hidden precision, as Student's t is, has a posterior of two factors, a
normal of the latent values and independent precisions of the rows, each the best given the other:
their bound of the log evidence only rises. As long as latent values are sought from those before,
the bound as a function of kernel and likelihood has no jumps downwards and no poles, which
Laplace's evidence has wherever a mode vanishes. With E the expected square of a residual, the best
precisions make of a row's part of the bound the log density of the noise at a residual of sqrt(E),
and of its site what iterated least squares would take there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from posterity import kernels, likelihoods
from posterity.arrays import Array
from posterity.inference.weights import variational
from posterity.process.latent import laplace
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.sites import InvertedSites, Memory, Sites

_TOO_SMALL = 1e-8  # of the prior precision: a site not to be divided by
_GAIN = 1e-10  # nats of the bound, below which precisions are as good as any
_SWEEPS = 500
_LONGER = 1.5  # after a step that gained, of the logs of precisions


def find_nearest(
    memory: Memory,
    likelihood: Any,
    targets: LatentTargets,
    start: Array | None = None,
) -> _NearestNormal | _Factors:
    """Find the best normal: the nearest where averages are known, else beside precisions."""
    if likelihood.has_averages:
        return _find_nearest_of_rates(memory, likelihood, targets)
    return _alternate(_MixtureRows(likelihood, targets), memory, start)


def _find_nearest_of_rates(
    memory: Memory, likelihood: likelihoods.Averaged, targets: LatentTargets
) -> _NearestNormal:
    """Climb from Laplace's approximation, whose evidence is kept."""
    mode = laplace.find_mode(memory, likelihood, targets)
    evidence = mode.log_evidence
    W = -targets.weights * likelihood.d2(targets.y, targets.shift[0] + mode.f)
    rows = _RateRows(memory, likelihood, targets)
    end = variational.climb_rate_bound(_NormalState.from_sites(rows, mode.alpha, mode.f, W))
    return _NearestNormal(end.place, evidence, end.n_steps, end.stop_reason, end.converged)


@dataclass(frozen=True)
class _NearestNormal:
    """The nearest normal, with Laplace's evidence, by which parameters are learned."""

    state: _NormalState
    log_evidence: float
    n_iter: int
    stop_reason: str
    converged: bool

    @property
    def alpha(self) -> Array:
        return self.state.alpha

    @property
    def start(self) -> Array:
        return self.state.f

    def factorise(self, memory: Memory) -> Sites:
        del memory  # the rows know it
        return self.state.rows.factor(self.state.W)


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
        """Change of the slopes with the variances, to first order."""
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
        """The full step from one factor of the curvatures that this normal asks for."""
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


@dataclass(frozen=True)
class _MixtureRows:
    """Terms of the bound that follow from expected squares of residuals, E (N,)."""

    likelihood: likelihoods.Likelihood
    targets: LatentTargets

    @property
    def shifted_targets(self) -> Array:
        """Targets from the shift on, as latent values are."""
        return self.targets.measure_from_shift(self.likelihood, np.zeros(self.targets.n_rows))[0]

    def log_density(self, E: Array) -> float:
        """Their part of the bound."""
        return float(self.targets.weights @ self.likelihood.log_prob(np.sqrt(E), 0.0))

    def precisions(self, E: Array) -> Array:
        """Return the precisions of the best sites."""
        return self.targets.weights * self.likelihood.step_curvature(np.sqrt(E), 0.0)


@dataclass(frozen=True)
class _Factors:
    """The normal under sites of precision W, and the bound with the precisions best for it."""

    sites: Array  # (N,), W
    alpha: Array  # (N,), K^-1 mean
    R: InvertedSites
    E: Array  # (N,), expected squares of residuals
    log_evidence: float  # the bound
    n_iter: int = 0
    stop_reason: str = ""
    converged: bool = False

    @classmethod
    def under(cls, rows: _MixtureRows, memory: Memory, W: Array) -> _Factors:
        K, y = memory[0], rows.shifted_targets
        factor = Sites.factorise(K, W, memory[1])
        nu = W * y
        alpha = nu - factor.apply(K @ nu)
        mean, log_det = K @ alpha, factor.log_determinant
        R = factor.invert(K)
        E = (y - mean) ** 2 + R.variances
        divergence = 0.5 * (log_det - float(W @ R.variances) + float(mean @ alpha))
        return cls(W, alpha, R, E, rows.log_density(E) - divergence)

    @property
    def start(self) -> Array:
        return self.sites

    def factorise(self, memory: Memory) -> Sites:
        return Sites.factorise(memory[0], self.sites, memory[1])

    def differentiate(
        self,
        K: Array,
        kernel: kernels.Kernel,
        X: Any,
        likelihood: likelihoods.Likelihood,
        targets: LatentTargets,
    ) -> Array:
        """Differentiate the bound; the factors are the best, and do not count."""
        a, none = self.alpha[:, None], np.zeros_like(self.E)
        own = likelihood.parameter_derivatives(np.sqrt(self.E), none)[0] @ targets.weights
        return np.append(self.R.pullback(kernel, X, a, a), own)  # [GPML 5.27]


def _alternate(rows: _MixtureRows, memory: Memory, start: Array | None) -> _Factors:
    """Alternate, with longer steps while they gain, until the bound rises no more."""
    y = rows.shifted_targets
    first = rows.precisions(y * y) if start is None else start
    now, pace, gain = _Factors.under(rows, memory, first), 1.0, np.inf
    for n in range(1, _SWEEPS + 1):
        wanted = np.log(rows.precisions(now.E)) - np.log(now.sites)
        trial = _Factors.under(rows, memory, now.sites * np.exp(pace * wanted))
        gain = trial.log_evidence - now.log_evidence
        if gain <= _GAIN and pace == 1.0:
            reason = f"a further step gains less than {_GAIN:.0e} nats"
            return replace(trial, n_iter=n, stop_reason=reason, converged=True)
        if gain > 0.0:
            now = trial
        pace = _LONGER * pace if gain > _GAIN else 1.0  # at a pace of one a step gains surely
    reason = f"the latent values still move after {_SWEEPS} steps, by {gain:.0e} nats in the last"
    return replace(_Factors.under(rows, memory, now.sites), n_iter=_SWEEPS, stop_reason=reason)
