"""Counts 0, 1, 2, ...: Poisson, and with scatter beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, expit, gammaln, log_expit

from posterity import distributions
from posterity.arrays import Array
from posterity.distributions import negative_binomial
from posterity.likelihoods import exposed_counts, spread
from posterity.likelihoods.base import Averaged, Likelihood

_LARGEST_LOG = 700.0  # exp(700) is a number
_LARGEST_LOG_MEAN = 690.0  # exp(690) and its inverse are numbers


@dataclass(frozen=True, eq=False)
class Poisson(Averaged):
    """y in {0, 1, 2, ...} of a Poisson distribution with rate exp(a).

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Poisson()
    >>> float(likelihood.d1(y=3, a=0.0))
    2.0
    >>> likelihood.predict(mean=[0.0, 0.0], variance=[0.0, 4.0]).mean().round(3)
    array([1.   , 7.389])
    """

    takes_exposure: ClassVar[bool] = True
    joins_predictions: ClassVar[bool] = False

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return k * eta - _rate(eta) - gammaln(k + 1.0)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return k - _rate(eta)

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return np.broadcast_to(-_rate(eta), np.broadcast_shapes(k.shape, eta.shape))

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self.d2(y, a)

    def information(self, a: ArrayLike) -> Array:
        return _rate(a)[None]

    def expected_derivatives(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array]:
        k, m = exposed_counts.separate(y, mean)
        rate = _mean_rate(m, variance)
        return k * m - rate - gammaln(k + 1.0), k - rate, rate + np.zeros_like(k)

    def expected_d3(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
        k, m = exposed_counts.separate(y, mean)
        return -_mean_rate(m, variance) - np.zeros(k.shape)

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.Poisson | distributions.PoissonLogNormal:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if not np.any(v):
            return distributions.Poisson(_rate(m + v))
        return distributions.PoissonLogNormal(m, np.sqrt(v))

    def check(self, y: Array) -> None:
        spread.require_counts(y, "Poisson")

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        return spread.fit_rate(y, weights)


def _rate(a: ArrayLike) -> Array:
    """exp(a), and the largest number where that is not one."""
    return np.exp(np.minimum(np.asarray(a, dtype=np.float64), _LARGEST_LOG))


def _mean_rate(mean: ArrayLike, variance: ArrayLike) -> Array:
    """The average of exp(a) over a normal a."""
    return _rate(np.asarray(mean, dtype=np.float64) + 0.5 * np.asarray(variance, dtype=np.float64))


_LARGEST_SHAPE = 1e8  # the counts are Poisson's to eight digits
_LARGE = 20.0  # from here on the asymptotic series suffices
_STEP = 0.4  # of the trapezoid rule, in the log of a variable


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Likelihood):
    """y in {0, 1, 2, ...} with mean exp(a) and variance exp(a) + exp(2 a) / shape.

    It is a Poisson distribution whose rate is gamma distributed, with the shape of that gamma.

    Parameters
    ----------
    shape : float, optional
        Positive: the larger, the nearer to Poisson. None asks for it to be learned.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.NegativeBinomial(shape=2.0)
    >>> float(likelihood.d1(y=3, a=0.0).round(3))
    1.333
    >>> likelihood.predict(mean=[0.0, 2.0], variance=0.0).variance().round(2)
    array([ 1.5 , 34.69])
    """

    _learnable: ClassVar[tuple[str, ...]] = ("shape",)
    takes_exposure: ClassVar[bool] = True
    joins_predictions: ClassVar[bool] = False

    shape: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._check_positive("shape")

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        return negative_binomial.log_mass(k, eta, _float(self._shape))

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        q, rest = self._shares(eta)
        return k * rest - self._shape * q

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        q, rest = self._shares(eta)
        return -(k + self._shape) * q * rest

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        q, rest = self._shares(eta)
        return self.d2(k, eta) * (rest - q)

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        k, eta = exposed_counts.separate(y, a)
        q, rest = self._shares(eta)
        slope = k * q * rest - self._shape * q**2
        curvature = q * rest * (k * (rest - q) - 2.0 * self._shape * q)
        return self.score(k, eta)[1:], slope[None], curvature[None]

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        k, eta = exposed_counts.separate(y, a)
        r, d1 = self._shape, self.d1(k, eta)
        mean_log = log_expit(np.log(r) - eta)
        return np.stack([d1, r * (_digamma_step(_float(r), k) + mean_log) - d1])

    def information(self, a: ArrayLike) -> Array:
        q, r = self._shares(a)[0], self._shape
        return np.stack(np.broadcast_arrays(r * q, _shape_information(q, _float(r))))

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.NegativeBinomial | distributions.NegativeBinomialLogNormal:
        m, v = _float(mean), _float(variance)
        if not np.any(v):
            log_mean = np.clip(m + v, -_LARGEST_LOG_MEAN, _LARGEST_LOG_MEAN)
            return distributions.NegativeBinomial(np.exp(log_mean), self._shape)
        return distributions.NegativeBinomialLogNormal(m, np.sqrt(v), self._shape)

    def check(self, y: Array) -> None:
        spread.require_counts(y, "negative binomial")

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        return spread.fit_rate(y, weights)

    @property
    def _shape(self) -> float | Array:
        return self._numbers("shape")

    def _shares(self, a: ArrayLike) -> tuple[Array, Array]:
        """mean / (shape + mean) and shape / (shape + mean)."""
        z = _float(a) - np.log(self._shape)
        return expit(z), expit(-z)

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        k, e = exposed_counts.separate(y, 0.0)[0], exposed_counts.exposures(y)
        exposed = weights * e
        rate = max(float(np.average(k / e, weights=exposed)), 0.5 / float(np.sum(exposed)))
        mean = rate * float(np.average(e, weights=weights))
        relative = float(np.average((k / (rate * e) - 1.0) ** 2, weights=exposed))
        # From all scatter beyond that of a Poisson being noise, and no less than can be seen.
        start = 1.0 / max(relative - 1.0 / mean, 0.01 * relative, 1e-3)
        return {"shape": (start, 1e-3 * start, max(1e4 * start, _LARGEST_SHAPE))}


def _float(x: ArrayLike) -> Array:
    return np.asarray(x, dtype=np.float64)


def _digamma_step(r: Array, y: Array) -> Array:
    """digamma(r + y) - digamma(r), without cancellation at large r."""
    b, c = np.maximum(r, _LARGE), np.minimum(r, _LARGE)

    def tail(x: Array) -> Array:  # of log x - digamma(x), beyond 1 / (2 x)
        s = 1.0 / x**2
        return s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s / 240)))

    series = np.log1p(y / b) + 0.5 * y / (b * (b + y)) + tail(b) - tail(b + y)
    return np.where(r > _LARGE, series, digamma(c + y) - digamma(c))


def _shape_information(q: Array, r: Array) -> Array:
    """Fisher information of the log of the shape: an integral whose terms are all positive.

    The series sum_j j! q^(j+1) / ((j+1) r (r+1) ... (r+j)) holds beta integrals; summed under the
    integral it is that of exp(-r u) (-log(1 - q x) - q x) / x with x = 1 - exp(-u), over u > 0.
    """
    least = np.maximum(r, 1.0)
    start, end = np.log(1e-6 / least), np.log(45.0 / r)
    total = np.zeros(np.broadcast_shapes(q.shape, r.shape))
    n = int(np.ceil(np.max((end - start) / _STEP, initial=1.0)))
    step = (end - start) / n
    for i in range(n + 1):
        u = np.exp(start + i * step)
        x = -np.expm1(-u)
        total = total + u * np.exp(-r * u) * _log_excess(q * x) / x
    return r**2 * step * total


def _log_excess(z: Array) -> Array:
    """-log(1 - z) - z for z from 0 to 1, without cancellation at small z."""
    small = np.minimum(z, 0.05)
    series = np.zeros_like(small)
    for n in range(11, 1, -1):
        series = small * (series + 1.0 / n)
    return np.where(z < 0.05, small * series, -np.log1p(-np.minimum(z, 1.0 - 1e-16)) - z)
