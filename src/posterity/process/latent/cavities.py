"""Means of latent values at given variances of their cavities, for expectation propagation.

A cavity is the distribution of a latent value under all sites but its own. While the variances of
the cavities are held, the means that expectation propagation asks for are a mode, that of the
process under a likelihood whose slope at the mean f is the slope of log Z at the mean m of the
cavity, f = m + variance * slope. A log-concave likelihood makes that problem concave, and a
factor at hand solves it in steps of N^2 operations.
"""

from __future__ import annotations

import numpy as np

from posterity import likelihoods
from posterity.arrays import Array

_EXACT = 1e-9  # standard deviations by which the mean of a cavity may be wrong
_TRIES = 30


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
