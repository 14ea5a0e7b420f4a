"""Expectation propagation: a Gaussian process under any elementwise likelihood, by moments.

Each observation is replaced by a normal site that gives its latent value the mean and the variance
it has under the observation itself and all other sites [GPML Alg 3.5]. All sites are renewed at
once, from one factor and one inverse a sweep, until they agree. Of many rows under a log-concave
likelihood sweeps start from Laplace's sites, and find variances only: between them the means are
brought into agreement with these, which costs no factor (Seeger and Nickisch 2011 decouple the two
likewise).

A cavity is the distribution of a latent value under all sites but its own. While the variances of
the cavities are held, the means that expectation propagation asks for are a mode, that of the
process under a likelihood whose slope at the mean f is the slope of log Z at the mean m of the
cavity, f = m + variance * slope. A log-concave likelihood makes that problem concave, and a
factor at hand solves it in steps of N^2 operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posterity import kernels, likelihoods, linalg
from posterity.arrays import Array
from posterity.process.latent import laplace
from posterity.process.latent.density import LatentTargets
from posterity.process.latent.sites import InvertedSites, Memory, NotAMaximumError, Sites

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
_EXACT = 1e-9  # standard deviations by which the mean of a cavity may be wrong
_TRIES = 30
_STEP = 1e-4  # in log parameters of a likelihood, for differences of log Z


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
        """The largest distance of its moments from these, in standard deviations."""
        own_mean = self.mean + self.variance * self.d1  # [GPML 3.58]
        own_variance = self.variance * (1.0 + self.variance * self.d2)
        means = np.abs(own_mean - mean) / np.sqrt(variance)
        return float(np.max(np.maximum(means, np.abs(own_variance / variance - 1.0))))

    def log_constants(self, tau: Array, nu: Array) -> float:
        """The log factors that make each site as large, under its cavity, as its observation."""
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

    @property
    def start(self) -> Array:
        return self.sites

    def factorise(self, memory: Memory) -> Sites:
        return _factorise(memory, self.sites[0])

    def differentiate(
        self,
        K: Array,
        kernel: kernels.Kernel,
        X: Any,
        likelihood: likelihoods.Likelihood,
        targets: LatentTargets,
    ) -> Array:
        a = self.alpha[:, None]
        theta = self.R.pullback(kernel, X, a, a)  # [GPML 5.27]
        return np.append(theta, self.tilted.slopes(likelihood, targets))


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
        factor = _factorise(memory, tau)
        alpha = nu - factor.apply(K @ nu)
        return cls(alpha, K @ alpha, factor.invert(K), factor.log_determinant)

    def cavities(self, tau: Array, nu: Array) -> tuple[Array, Array]:
        """Mean and variance without each value's own site.  [GPML 3.56]"""
        v = self.R.variances
        share = 1.0 - tau * v
        return (self.mean - v * nu) / share, v / share


def propagate(
    memory: Memory,
    likelihood: likelihoods.Likelihood,
    targets: LatentTargets,
    start: Array | None,
) -> _FixedPoint:
    """Sweep from given sites, or from none, slower after sweeps that do not come closer.

    The weights of all rows must be one.
    """
    _check_weights(targets)
    means_pay = likelihood.log_concave and targets.n_rows >= _MANY_ROWS
    secants = _Secants()
    climb = _MeanClimb(memory[0], likelihood, targets, secants) if means_pay else None
    current = np.zeros((2, targets.n_rows)) if start is None else start
    if means_pay and start is None:
        current = np.stack(laplace.approach(memory, likelihood, targets))
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
    """Extrapolation of the last few sweeps by Anderson's mixing (Walker and Ni 2011)."""

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
        _, f = laplace.follow(self.K, cavity, t, marginals.R, start, _ROUGHLY)
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


def _factorise(memory: Memory, tau: Array) -> Sites:
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


class CavityLikelihood:
    """The likelihood of posterior means, at given variances of the cavities.

    The last means and moments are kept: a search asks for value and slope at one point.

    Parameters
    ----------
    likelihood : Likelihood
        Log-concave, with ``log_partition``.
    variance : array (N,)
        Of the cavities.
    mean : array (N,)
        Of the cavities, to start from, as the likelihood sees latent values.

    Examples
    --------
    >>> likelihood = likelihoods.Bernoulli()
    >>> cavity = CavityLikelihood(likelihood, np.array([4.0]), np.array([0.0]))
    >>> y, f = np.array([1.0]), np.array([2.0])
    >>> slope = cavity.d1(y, f)
    >>> (cavity.mean + cavity.variance * slope).round(6)
    array([2.])
    """

    def __init__(self, likelihood: likelihoods.Likelihood, variance: Array, mean: Array) -> None:
        self.likelihood, self.variance, self.mean = likelihood, variance, mean
        self.depends_on_difference = likelihood.depends_on_difference
        self.moments: tuple[Array, Array, Array] | None = None  # log Z and two derivatives
        self._f: Array | None = None

    def log_prob(self, y: Array, f: Array) -> Array:
        """log Z + variance * slope^2 / 2, whose derivative in f is the slope."""
        log_Z, slope, _ = self._moments_at(y, f)
        return log_Z + 0.5 * self.variance * slope**2

    def d1(self, y: Array, f: Array) -> Array:
        """The slope of log Z in the mean of the cavity."""
        return self._moments_at(y, f)[1]

    def _moments_at(self, y: Array, f: Array) -> tuple[Array, Array, Array]:
        if self.moments is None or self._f is None or not np.array_equal(f, self._f):
            self._solve(y, f)
        assert self.moments is not None
        return self.moments

    def _solve(self, y: Array, f: Array) -> None:
        """Find the means of the cavities that lead to f, by Newton's method in each row."""
        m, v = self.mean, self.variance
        if self.moments is not None and self._f is not None:
            m = m + (f - self._f) / (1.0 + v * self.moments[2])
        for _ in range(_TRIES):
            log_Z, d1, d2 = self.likelihood.log_partition(y, m, v)
            missing = f - (m + v * d1)  # [GPML 3.58]
            if np.max(np.abs(missing) / np.sqrt(v)) <= _EXACT:
                break
            m = m + missing / (1.0 + v * d2)
        else:
            log_Z = np.full_like(log_Z, -np.inf)  # too far from the last point: a step is shortened
        self.mean, self._f, self.moments = m, f.copy(), (log_Z, d1, d2)
