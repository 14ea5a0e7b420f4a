"""The sum of a Student-t and a normal: heavy-tailed noise about a location that is uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax

from posterity import quadrature
from posterity.arrays import Array
from posterity.distributions import base, parameters
from posterity.distributions.continuous import Continuous
from posterity.distributions.mixture import Mixture
from posterity.distributions.normal import Normal
from posterity.distributions.student_t import StudentT

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
