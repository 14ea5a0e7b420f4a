"""Student's t distribution, and its sum with a normal: heavy tails about an uncertain location."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, stdtr, stdtrit

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions import base, parameters, special
from posterity.distributions.base import Continuous
from posterity.distributions.location_scale import LocationScale
from posterity.distributions.mixture import Mixture
from posterity.distributions.normal import Normal

_LOG_PI = float(np.log(np.pi))
_HUGE = 1e100
_LONGEST_STEP = 600.0
_POWER_LAW = 45.0  # log of |z| / sqrt(nu) beyond which 1 + z^2 / nu is z^2 / nu


@dataclass(frozen=True, repr=False, eq=False)
class StudentT(LocationScale):
    """A batch of Student-t distributions: normal, with a variance that is itself uncertain.

    Parameters
    ----------
    location : array-like
        Medians. They are also the means for more than one degree of freedom; with fewer there is
        no mean, and ``mean`` and ``crps`` are NaN.
    scale : array-like
        Scales, zero or positive. The variance is ``scale**2 * df / (df - 2)``, infinite for two
        degrees of freedom or fewer.
    degrees_of_freedom : array-like
        Positive. The larger, the closer to the normal.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.StudentT([0.0, 1.0], scale=1.0, degrees_of_freedom=4.0)
    >>> prediction.variance()
    array([2., 2.])
    >>> prediction.pdf(0.0).round(3)
    array([0.375, 0.215])
    """

    location: Array
    scale: Array
    degrees_of_freedom: Array

    def __init__(
        self, location: ArrayLike, scale: ArrayLike, degrees_of_freedom: ArrayLike
    ) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_non_negative("scale", scale),
            degrees_of_freedom=parameters.check_positive("degrees_of_freedom", degrees_of_freedom),
        )

    def mean(self) -> Array:
        return np.where(self.degrees_of_freedom > 1.0, self.location, np.nan)

    def _standard_variance(self) -> Array:
        nu = self.degrees_of_freedom
        return np.where(nu > 2.0, nu / np.where(nu > 2.0, nu - 2.0, 1.0), np.inf)

    def _standard_entropy(self) -> Array:
        nu = self.degrees_of_freedom
        mean_log_growth = special.digamma_half_step(0.5 * nu)
        return 0.5 * (nu + 1.0) * mean_log_growth - self._log_constant()

    def _standard_logpdf(self, z: Array) -> Array:
        return self._log_constant() - 0.5 * (self.degrees_of_freedom + 1.0) * self._log_growth(z)

    def _standard_cdf(self, z: Array) -> Array:
        return stdtr(self.degrees_of_freedom, z)

    def _standard_logcdf(self, z: Array) -> Array:
        p = self._standard_cdf(z)
        far = (p < special.TINY) & (z > -np.inf)
        log_p = special.log_probability(p, self._standard_cdf(-z))
        return special.replace_where(
            log_p, far, _log_tail, self.degrees_of_freedom, -z, self._standard_logpdf(z)
        )

    def _standard_icdf(self, p: Array) -> Array:
        # far out, where SciPy's inverse gives up, the tail is a power of z to all digits
        nu = self.degrees_of_freedom
        with np.errstate(divide="ignore"):
            log_outside = np.log(np.minimum(p, 1.0 - p))
        log_r = (self._log_constant() - 0.5 * np.log(nu) - log_outside) / nu
        far = np.sqrt(nu) * np.exp(np.maximum(log_r, _POWER_LAW))
        near = stdtrit(_shorten(nu), _shorten(p))
        return np.where(log_r > _POWER_LAW, np.where(p > 0.5, far, -far), near)

    def _standard_mean_distance(self, z: Array) -> Array:
        nu = self.degrees_of_freedom
        moment = nu * np.exp(self._standard_logpdf(z) + self._log_growth(z)) / _degrees_less_one(nu)
        return z * (stdtr(nu, z) - stdtr(nu, -z)) + 2.0 * moment

    def _standard_half_spread(self) -> Array:
        nu = self.degrees_of_freedom
        half_step = special.log_gamma_half_step
        # B(1/2, nu - 1/2) / B(1/2, nu/2)^2
        log_ratio = 2.0 * half_step(0.5 * nu) - half_step(np.maximum(nu, 1.0) - 0.5) - 0.5 * _LOG_PI
        return 2.0 * np.sqrt(nu) / _degrees_less_one(nu) * np.exp(log_ratio)

    def _standard_sample(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        return rng.standard_t(self.degrees_of_freedom, size)

    def _log_constant(self) -> Array:
        """log of the density at z = 0."""
        nu = _shorten(self.degrees_of_freedom)
        return special.log_gamma_half_step(0.5 * nu) - 0.5 * (np.log(nu) + _LOG_PI)

    def _log_growth(self, z: Array) -> Array:
        """log(1 + z^2 / nu), also where z^2 overflows."""
        r = np.abs(z) / np.sqrt(self.degrees_of_freedom)
        return np.log1p(np.minimum(r, _HUGE) ** 2) + 2.0 * np.log(np.maximum(r / _HUGE, 1.0))


def _shorten(values: Array) -> Array:
    """The same, of length one along axes on which it repeats: functions of it are then cheap."""
    return values[tuple(slice(None, None if step else 1) for step in values.strides)]


def _degrees_less_one(nu: Array) -> Array:
    """nu - 1, or NaN where the mean does not exist."""
    return np.where(nu > 1.0, nu - 1.0, np.nan)


def _log_tail(nu: Array, z: Array, logpdf: Array) -> Array:
    """log P(Z > z) for z far out: t = z exp(u) under the integral."""
    k = 1.0 / (1.0 + (np.sqrt(nu) / z) ** 2)

    def log_decay(u: Array) -> Array:
        step = np.minimum(2.0 * u, _LONGEST_STEP)
        log_growth = np.log1p(k * np.expm1(step)) + (2.0 * u - step)
        return u - 0.5 * (nu + 1.0) * log_growth

    tail = quadrature.log_integrate_tail(log_decay, nu * k * (1.0 - z**-2.0))
    return logpdf + np.log(z) + tail


_NODES = 100
_LOG_LOST = 92.0  # the mass of the nodes left out is exp(-92 / 2), below every quantile in use
_LEVELS = np.append(10.0 ** np.arange(-16.0, -1.0), [0.03, 0.1, 0.2, 0.3, 0.4])


@dataclass(frozen=True, repr=False, eq=False)
class StudentTPlusNormal(Continuous):
    """Predictions of ``location + scale * t + normal_scale * e``, t Student's and e normal.

    Parameters
    ----------
    location : array-like
        Medians. They are also the means for more than one degree of freedom; with fewer there is
        no mean, and ``mean`` and ``crps`` are NaN.
    scale : array-like
        Scales of the Student-t part, zero or positive.
    degrees_of_freedom : array-like
        Of the Student-t part, positive. The variance is
        ``scale**2 * df / (df - 2) + normal_scale**2``, infinite for two or fewer.
    normal_scale : array-like
        Standard deviations of the normal part, zero or positive.

    Notes
    -----
    Moments are exact. The density is a mixture of normals over the hidden precision of the
    Student-t: its logarithm is right to 1e-9 for y up to 100 scales from the location, and much
    farther with few degrees of freedom.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.StudentTPlusNormal([0.0, 1.0], 1.0, 4.0, normal_scale=0.5)
    >>> prediction.variance()
    array([2.25, 2.25])
    >>> prediction.pdf(0.0).round(3)
    array([0.33 , 0.219])
    """

    location: Array
    scale: Array
    degrees_of_freedom: Array
    normal_scale: Array

    def __init__(
        self,
        location: ArrayLike,
        scale: ArrayLike,
        degrees_of_freedom: ArrayLike,
        normal_scale: ArrayLike,
    ) -> None:
        self._store(
            location=parameters.check_finite("location", location),
            scale=parameters.check_non_negative("scale", scale),
            degrees_of_freedom=parameters.check_positive("degrees_of_freedom", degrees_of_freedom),
            normal_scale=parameters.check_non_negative("normal_scale", normal_scale),
        )

    def mean(self) -> Array:
        return self._heavy.mean()

    def median(self) -> Array:
        return self.location.copy()

    def variance(self) -> Array:
        return self._heavy.variance() + self.normal_scale**2

    def standard_deviation(self) -> Array:
        return np.hypot(self._heavy.standard_deviation(), self.normal_scale)

    def logpdf(self, y: ArrayLike) -> Array:
        return self._mixture.logpdf(y)

    def cdf(self, y: ArrayLike) -> Array:
        return self._mixture.cdf(y)

    def ccdf(self, y: ArrayLike) -> Array:
        return self._mixture.ccdf(y)

    def logcdf(self, y: ArrayLike) -> Array:
        return self._mixture.logcdf(y)

    def logccdf(self, y: ArrayLike) -> Array:
        return self._mixture.logccdf(y)

    def entropy(self) -> Array:
        """Expected -log density, by quadrature; -inf where both scales are zero."""

        def surprise(y: Array) -> Array:
            log_p = self.logpdf(y)
            finite = np.where(np.isfinite(log_p), log_p, 0.0)
            return -np.exp(finite) * finite

        certain = (self.scale == 0.0) & (self.normal_scale == 0.0)
        return np.where(certain, -np.inf, quadrature.integrate(surprise, self._breakpoints()))

    def crps(self, y: ArrayLike) -> Array:
        # tails that the nodes leave out add to both of its terms alike, and cancel
        return np.where(self.degrees_of_freedom > 1.0, self._mixture.crps(y), np.nan)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        size = base.draw_shape(shape, self.shape)
        return self._heavy.sample(shape, rng=rng) + self.normal_scale * rng.standard_normal(size)

    def _icdf(self, p: Array) -> Array:
        return self._mixture.icdf(p)

    def _iccdf(self, p: Array) -> Array:
        return self._mixture.iccdf(p)

    def _breakpoints(self) -> Array:
        # a power of ten apart: between quantiles farther apart heavy tails are not smooth
        levels = _LEVELS.reshape(-1, *(1,) * len(self.shape))
        return np.concatenate([self.icdf(levels), self.median()[None], self.iccdf(levels[::-1])])

    @cached_property
    def _heavy(self) -> StudentT:
        """The sum without its normal part."""
        return StudentT(self.location, self.scale, self.degrees_of_freedom)

    @cached_property
    def _mixture(self) -> Mixture:
        """The normals whose variances are those of the Student-t part given its precision."""
        log_u, log_w = precision_nodes(self.degrees_of_freedom)
        sd = np.hypot(self.normal_scale[..., None], self.scale[..., None] * np.exp(-0.5 * log_u))
        return Mixture(Normal(self.location[..., None], sd), log_w)


def precision_nodes(nu: ArrayLike) -> tuple[Array, Array]:
    """Logs of hidden precisions u ~ Gamma(nu / 2, rate nu / 2), and of their weights, (..., K).

    The trapezoid rule in log u: y given u is normal of variance scale^2 / u, and as a function of
    log u any product with it is smooth on the scale of the step.
    """
    alpha = 0.5 * np.asarray(nu, dtype=np.float64)[..., None]
    step = 0.75 / np.sqrt(alpha + 3.5)
    end = np.log1p(np.sqrt(80.0 / alpha) + 40.0 / alpha)
    needed = np.ceil((end + 0.5 * _LOG_LOST / alpha) / step)
    log_u = end - step * np.arange(max(_NODES, float(np.max(needed, initial=0.0))))
    return log_u, log_softmax(alpha * (log_u - np.exp(log_u)), axis=-1)
