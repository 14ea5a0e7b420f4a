"""Expectation propagation: a Gaussian process under any elementwise likelihood, by moments.

Each observation is replaced by a normal site that gives its latent value the mean and the variance
it has under the observation itself and all other sites [GPML Alg 3.5]. All sites are renewed at
once, from one factor and one inverse a sweep, until they agree. Of many rows under a log-concave
likelihood sweeps start from Laplace's sites, and find variances only: between them the means are
brought into agreement with these, which costs no factor (Seeger and Nickisch 2011 decouple the two
likewise).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from posterity import callers, kernels, likelihoods, linalg, optimize
from posterity.arrays import Array
from posterity.process.latent import mode, sites
from posterity.process.latent.cavities import CavityLikelihood
from posterity.process.latent.site_evidence import Memory, SiteEvidence
from posterity.process.latent.site_posterior import SitePosterior
from posterity.process.latent.sites import InvertedSites, NotAMaximumError, Sites
from posterity.process.latent.targets import LatentTargets

_AGREED = 1e-7  # standard deviations between the two means of a latent value, or so of variances
_SWEEPS = 200
_LEAST_PACE = 0.05  # of the way to the new sites; less is not progress
_FASTER = 1.2  # after a sweep that came closer
_MANY_ROWS = 250  # from which a factor costs more than the moments that save it
_ROUGHLY = 1e-4  # of the first gain, at which means are good enough for the next sweep
_FARTHEST = 1.0  # that a log variance is extrapolated
_SECANTS = 5
_LEAST_SHARE = 0.1  # of the precision found, that is extrapolated
_DEPENDENT = 1e-10  # squares of singular values of secants that add nothing new
_TINY = float(np.finfo(np.float64).tiny)
_TOO_SMALL = 1e-8  # of the prior precision: a site not to be divided by
_STRENGTHS = (1.0, 0.7, 0.5, 0.3, 0.1, 0.0)  # of negative sites; without them all is well
_STEP = 1e-4  # in log parameters of a likelihood, for differences of log Z


class PropagationEvidence(SiteEvidence):
    """log Z of expectation propagation, with its gradient; the weights of all rows must be one."""

    def __init__(self, X: Any, targets: LatentTargets) -> None:
        _check_weights(targets)
        super().__init__(X, targets)

    def _converge(
        self, memory: Memory, likelihood: likelihoods.Likelihood, start: Array | None
    ) -> _FixedPoint:
        return _propagate(memory, likelihood, self.targets, start)


class PropagationPosterior(SitePosterior):
    """The latent function at any rows, given N observations, by expectation propagation.

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-0.5], [1.0]]), np.array([0.0, 0.0, 1.0])
    >>> likelihood = likelihoods.Bernoulli()
    >>> targets = LatentTargets.with_offset_prior(y, np.ones(3), likelihood, offset=False)
    >>> posterior = PropagationPosterior.condition(4.0 * kernels.RBF(1.0), likelihood, X, targets)
    >>> f = posterior.latent(np.array([[-1.0], [9.0]]))
    >>> f.mean[:, 0].round(3), f.variance[:, 0].round(3)
    (array([-1.657,  0.   ]), array([2.09, 4.  ]))
    """

    @classmethod
    def condition(
        cls,
        kernel: kernels.Kernel,
        likelihood: likelihoods.Likelihood,
        X: Any,
        targets: LatentTargets,
    ) -> Self:
        """Sweep until the sites agree.

        Warns with ``optimize.ConvergenceWarning`` where they do not.
        """
        _check_weights(targets)
        memory = sites.allocate(targets.n_rows)
        with linalg.limit_threads(targets.n_rows):
            total = sites.fill_covariance(memory, kernel, X, targets)
            found = _propagate(memory, likelihood, targets, None)
            factor = _factor(memory, found.sites[0])
        if not found.converged:
            callers.warn_caller(found.stop_reason, optimize.ConvergenceWarning)
        return cls(
            total,
            X,
            float(targets.shift[0]),
            found.alpha,
            factor,
            found.log_evidence,
            found.n_iter,
            found.stop_reason,
        )


@dataclass(frozen=True)
class _TiltedMoments:
    """Each latent value without its site, and what its observation makes of that."""

    mean: Array  # (N,), of the cavity, without the shift
    variance: Array  # (N,)
    log_Z: Array  # (N,)
    d1: Array  # (N,), derivatives of log Z in the mean
    d2: Array  # (N,)

    @classmethod
    def from_cavities(
        cls,
        mean: Array,
        variance: Array,
        likelihood: likelihoods.Likelihood,
        targets: LatentTargets,
    ) -> _TiltedMoments:
        log_Z, d1, d2 = likelihood.log_partition(
            *targets.measure_from_shift(likelihood, mean), variance
        )
        return cls(mean, variance, log_Z, d1, d2)

    @property
    def sites(self) -> Array:
        """Precision and precision times mean of the sites that match the moments, (2, N)."""
        share = 1.0 + self.variance * self.d2  # tilted variance over that of the cavity
        return np.stack([-self.d2, self.d1 - self.mean * self.d2]) / share  # [GPML 3.59]

    def gap(self, mean: Array, variance: Array) -> float:
        """How far its moments are from these, in standard deviations, at worst."""
        own_mean = self.mean + self.variance * self.d1  # [GPML 3.58]
        own_variance = self.variance * (1.0 + self.variance * self.d2)
        means = np.abs(own_mean - mean) / np.sqrt(variance)
        return float(np.max(np.maximum(means, np.abs(own_variance / variance - 1.0))))

    def log_constants(self, tau: Array, nu: Array) -> float:
        """What makes each site as large, under its cavity, as what it stands for."""
        D, m, v = 1.0 + tau * self.variance, self.mean, self.variance
        inner = (2.0 * m * nu + nu * nu * v - m * m * tau) / D
        return float(np.sum(self.log_Z + 0.5 * np.log(D) - 0.5 * inner))

    def slopes(self, likelihood: likelihoods.Likelihood, targets: LatentTargets) -> Array:
        """Derivatives of the sum of log Z in the parameters of the likelihood, by differences."""
        (y, a), theta = targets.measure_from_shift(likelihood, self.mean), likelihood.theta

        def total(step: Array) -> float:
            moved = likelihood.with_parameters(theta + step)
            return float(np.sum(moved.log_partition(y, a, self.variance)[0]))

        steps = _STEP * np.eye(len(theta))
        return np.array([(total(h) - total(-h)) / (2.0 * _STEP) for h in steps])


@dataclass(frozen=True)
class _FixedPoint:
    sites: Array  # (2, N), tau and nu
    alpha: Array  # (N,)
    R: InvertedSites
    tilted: _TiltedMoments
    log_evidence: float
    n_iter: int
    stop_reason: str
    converged: bool

    def slopes(self, likelihood: likelihoods.Likelihood, targets: LatentTargets) -> Array:
        return self.tilted.slopes(likelihood, targets)


@dataclass(frozen=True)
class _Marginals:
    """The latent values under all sites."""

    alpha: Array  # (N,), K^-1 mean
    mean: Array  # (N,)
    R: InvertedSites
    log_determinant: float

    @classmethod
    def under(cls, memory: Memory, tau: Array, nu: Array) -> _Marginals:
        K = memory[0]
        factor = _factor(memory, tau)
        alpha = nu - factor.apply(K @ nu)
        return cls(alpha, K @ alpha, factor.invert(K), factor.log_determinant)

    def cavities(self, tau: Array, nu: Array) -> tuple[Array, Array]:
        """Mean and variance without each value's own site.  [GPML 3.56]"""
        v = self.R.variances
        share = 1.0 - tau * v
        return (self.mean - v * nu) / share, v / share


def _propagate(
    memory: Memory,
    likelihood: likelihoods.Likelihood,
    targets: LatentTargets,
    start: Array | None,
) -> _FixedPoint:
    """Sweeps from given sites, or from none, slower after those that do not come closer."""
    means_pay = likelihood.log_concave and targets.n_rows >= _MANY_ROWS
    secants = _Secants()
    climb = _MeanClimb(memory[0], likelihood, targets, secants) if means_pay else None
    current = np.zeros((2, targets.n_rows)) if start is None else start
    if means_pay and start is None:
        current = np.stack(mode.approach(*memory, likelihood, targets))
    pace, last = 1.0, np.inf
    for n in range(1, _SWEEPS + 1):
        (tau, nu), marginals = _weaken_negative_sites(memory, current)
        tilted = _TiltedMoments.from_cavities(*marginals.cavities(tau, nu), likelihood, targets)
        gap = tilted.gap(marginals.mean, marginals.R.variances)
        if gap <= _AGREED:
            break
        if gap <= last:
            pace = min(1.0, _FASTER * pace)
        elif not secants.forget():
            pace = max(_LEAST_PACE, 0.5 * pace)
        if climb is not None:
            wanted = climb.solve(tilted, marginals).sites
        elif likelihood.log_concave:
            wanted = _keep_positive(secants.extrapolate(current, tilted.sites), tilted.sites)
        else:
            wanted = tilted.sites
        last, current = gap, current + pace * (wanted - current)
    value = tilted.log_constants(tau, nu) + 0.5 * float(nu @ marginals.mean)
    value -= 0.5 * marginals.log_determinant  # [GPML 3.65]
    reached = np.stack([tau, nu])
    reason = f"after {n} sweeps of expectation propagation, means of latent values still differ by "
    reason += f"up to {gap:.0e} standard deviations"
    return _FixedPoint(
        reached, marginals.alpha, marginals.R, tilted, value, n, reason, gap <= _AGREED
    )


class _Secants:
    """Where the last few sweeps lead, by Anderson's mixing (Walker and Ni 2011)."""

    def __init__(self) -> None:
        self._tried: list[tuple[Array, Array]] = []  # values, and how a sweep changed them

    def extrapolate(self, used: Array, found: Array) -> Array:
        """The values to use next, after a sweep from those used found others."""
        self._tried = [*self._tried[-_SECANTS:], (used.ravel(), (found - used).ravel())]
        if len(self._tried) == 1:
            return found
        moves = np.diff([tried for tried, _ in self._tried], axis=0).T
        bends = np.diff([change for _, change in self._tried], axis=0).T
        size = np.linalg.norm(bends, axis=0) + _TINY
        values, V = linalg.symmetric.eigh((bends / size).T @ (bends / size))
        V = V[:, values > _DEPENDENT] / np.sqrt(values[values > _DEPENDENT])
        shares = V @ (V.T @ ((bends / size).T @ self._tried[-1][1])) / size  # least squares
        return found - ((moves + bends) @ shares).reshape(found.shape)

    def forget(self) -> bool:
        """Begin again without secants, after one that led astray; whether there was one."""
        had_secant = len(self._tried) > 1
        self._tried = []
        return had_secant


def _keep_positive(guess: Array, found: Array) -> Array:
    """Sites as guessed, but where the precision would be much less than the one found."""
    return np.where(guess[0] > _LEAST_SHARE * found[0], guess, found)


class _MeanClimb:
    """Means that agree with the variances of their cavities, at a few products with K each.

    Sweeps then have to find the variances alone, and the last of them tell where these go.
    """

    def __init__(
        self,
        K: Array,
        likelihood: likelihoods.Likelihood,
        targets: LatentTargets,
        secants: _Secants,
    ) -> None:
        self.K, self.likelihood, self.targets = K, likelihood, targets
        self._secants = secants
        self._used: Array | None = None  # log variances of cavities that the last sweep was given

    def solve(self, tilted: _TiltedMoments, marginals: _Marginals) -> _TiltedMoments:
        """The moments at the means that the variances of the cavities, extrapolated, lead to."""
        t, v = self.targets, self._extrapolate(tilted.variance)
        _, m = t.measure_from_shift(self.likelihood, marginals.mean - v * tilted.d1)
        cavity = CavityLikelihood(self.likelihood, v, m)
        start = marginals.alpha, marginals.mean
        _, f = mode.follow(self.K, cavity, t, marginals.R, start, _ROUGHLY)
        d1 = cavity.d1(*t.measure_from_shift(self.likelihood, f))
        assert cavity.moments is not None
        return _TiltedMoments(f - v * d1, v, *cavity.moments)

    def _extrapolate(self, variance: Array) -> Array:
        """Variances that secants of the last sweeps lead to, or those of the last."""
        new = np.log(variance)
        guess = new if self._used is None else self._secants.extrapolate(self._used, new)
        self._used = np.clip(guess, new - _FARTHEST, new + _FARTHEST)
        return np.exp(self._used)


def _weaken_negative_sites(memory: Memory, asked: Array) -> tuple[Array, _Marginals]:
    """The sites asked for, or with those of negative precision as weak as a posterior needs.

    A likelihood that is not log-concave has such sites, and on the way they may leave none.
    """
    for strength in _STRENGTHS:
        chosen = np.where(asked[0] < 0.0, strength * asked, asked)
        try:
            marginals = _Marginals.under(memory, *chosen)
        except NotAMaximumError:
            continue
        if np.all(chosen[0] * marginals.R.variances < 1.0):  # every cavity is a distribution
            break
    return chosen, marginals


def _factor(memory: Memory, tau: Array) -> Sites:
    K, factor = memory
    few = np.flatnonzero(tau * np.diagonal(K) < _TOO_SMALL)
    return Sites.factorise(K, tau, factor, few)


def _check_weights(targets: LatentTargets) -> None:
    odd = np.flatnonzero(targets.weights != 1.0)
    if odd.size:
        raise ValueError(
            f"row {odd[0]} counts {targets.weights[odd[0]]:g} times, and expectation propagation "
            "takes every row once: repeat rows, or use Laplace's approximation"
        )
