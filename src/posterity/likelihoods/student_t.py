"""Observations with outliers: Student's t around the latent value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, polygamma

from posterity import distributions, validation
from posterity.arrays import Array
from posterity.distributions import special
from posterity.distributions.student_t import precision_nodes
from posterity.likelihoods import spread
from posterity.likelihoods.base import Likelihood
from posterity.page_forms import Form

MIN_DEGREES_OF_FREEDOM = 2.34  # the deviation is half of the 90 % interval
_MOST_FREEDOM = 1e3  # next to normal
_TYPICAL_FREEDOM = 4.0
_MANY_DEGREES = 1e5  # from here on the terms of their information cancel
_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class StudentT(Likelihood):
    """y = a + scale t, with t of Student's distribution.  [P8 Prob 8.2]

    It is not log-concave in a: an observation far from a loses its influence.

    Parameters
    ----------
    scale : float, optional
        Positive. None asks for it to be learned.
    degrees_of_freedom : float, optional
        Positive: the fewer, the more outliers are expected. With two or fewer a prediction has an
        infinite variance, with one or fewer no mean. None asks for it to be learned.
    min_degrees_of_freedom : float, default=2.34
        The fewest that are learned. With 2.34 or more the standard deviation of the noise is no
        larger than half of its central 90 % interval. Fewer describe extreme outliers better; below
        two the standard deviation is not defined.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.StudentT(scale=1.0, degrees_of_freedom=4.0)
    >>> likelihood.d1(y=[1.0, 100.0], a=0.0).round(3)
    array([1.  , 0.05])
    """

    log_concave: ClassVar[bool] = False
    depends_on_difference: ClassVar[bool] = True
    is_scale_mixture: ClassVar[bool] = True
    _learnable: ClassVar[tuple[str, ...]] = ("scale", "degrees_of_freedom")

    scale: float | None = None
    degrees_of_freedom: float | None = None
    min_degrees_of_freedom: float = MIN_DEGREES_OF_FREEDOM

    def __post_init__(self) -> None:
        self._check_positive("scale", "degrees_of_freedom")
        if not 0.0 < self.min_degrees_of_freedom < _MOST_FREEDOM:
            raise ValueError(
                f"min_degrees_of_freedom={self.min_degrees_of_freedom} must lie between 0 and "
                f"{_MOST_FREEDOM:g}."
            )

    def check(self, y: Array) -> None:
        validation.check_spread(np.atleast_1d(np.ptp(y)), "targets", power=3)  # of the slope of d2

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        return distributions.StudentT(a, self._scale, self._nu).logpdf(y)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        u, D = self._residual(y, a)
        return (self._nu + 1.0) * u / D / self._scale

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        u, D = self._residual(y, a)
        return (self._nu + 1.0) * (u**2 - self._nu) / D**2 / self._scale**2

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        u, D = self._residual(y, a)
        cubic = 2.0 * u * (u**2 - 3.0 * self._nu) / D**3
        return (self._nu + 1.0) * cubic / self._scale**2 / self._scale

    def step_curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """The weights of iterated least squares, whose quadratic touches -log_prob from above."""
        return (self._nu + 1.0) / self._residual(y, a)[1] / self._scale**2

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        u, D = self._residual(y, a)
        nu, s = self._nu, self._scale
        in_q = (nu + 1.0) * np.stack(  # q = nu scale^2
            [-nu * u / D**2 / s, nu * (nu - 3.0 * u**2) / D**3 / s**2]
        )
        in_nu = in_q + np.stack([nu * u / D / s, nu * (u**2 - nu) / D**2 / s**2])
        second, third = np.stack([2.0 * in_q, in_nu], axis=1)
        return self.score(y, a)[1:], second, third

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        u, D = self._residual(y, a)
        nu, in_q = self._nu, (self._nu + 1.0) * (0.5 * u**2 / D)
        half_step = special.digamma_half_step(np.asarray(0.5 * nu))
        value = 0.5 * nu * (half_step - np.log1p(u**2 / nu)) - 0.5
        return np.stack([(nu + 1.0) * u / D / self._scale, 2.0 * in_q - 1.0, in_q + value])

    def information(self, a: ArrayLike) -> Array:
        """As of all likelihoods; the scale and the degrees of freedom are correlated.

        The information that log scale and log degrees of freedom share is
        -2 nu / ((nu + 1) (nu + 3)), which is not among the rows.
        """
        nu, s = np.asarray(self._nu, dtype=np.float64), np.asarray(self._scale, dtype=np.float64)
        of_a = (nu + 1.0) / (nu + 3.0) / s**2 + np.zeros(np.shape(a))
        few = np.minimum(nu, _MANY_DEGREES)
        steps = 0.25 * (polygamma(1, 0.5 * few) - polygamma(1, 0.5 * few + 0.5))
        closed = few**2 * steps - 0.5 * few * (few + 5.0) / ((few + 1.0) * (few + 3.0))
        of_nu = np.where(nu < _MANY_DEGREES, closed, 3.5 / nu**2)
        return np.stack(np.broadcast_arrays(of_a, 2.0 * nu / (nu + 3.0), of_nu))

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.StudentT | distributions.StudentTPlusNormal:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if not np.any(v):
            return distributions.StudentT(m + v, self._scale, self._nu)
        return distributions.StudentTPlusNormal(m, self._scale, self._nu, np.sqrt(v))

    def log_partition(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, ...]:
        v, r = np.asarray(variance, dtype=np.float64)[..., None], np.subtract(y, mean)[..., None]
        log_u, log_w = precision_nodes(self._nu)
        V = v + np.asarray(self._scale)[..., None] ** 2 * np.exp(-log_u)
        log_terms = log_w - 0.5 * (r**2 / V + np.log(V) + _LOG_2PI)
        log_Z = logsumexp(log_terms, axis=-1)
        share = np.exp(log_terms - log_Z[..., None])
        slope = np.sum(share * r / V, axis=-1)
        spread_of_slopes = np.sum(share * (r / V - slope[..., None]) ** 2, axis=-1)
        return log_Z, slope, spread_of_slopes - np.sum(share / V, axis=-1)

    def _constant_variance(self, y: Array, weights: Array, a: Array) -> float:
        return spread.robust_scale(y, weights) ** 2

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        # about the median, so that rounding is that of residuals and not of a far origin
        centre = spread.median(y, weights)
        value, variance = super().fit_constant(y - centre, weights)
        return centre + value, variance

    def page_form(self) -> Form:
        """Return the form from which a page predicts at normal latent values."""
        log_u, log_w = precision_nodes(float(self._nu))
        variances, weights = float(self._scale) ** 2 * np.exp(-log_u), np.exp(log_w)
        return {
            "kind": "scale_mixture",
            "variances": variances.tolist(),
            "weights": weights.tolist(),
        }

    def point_form(self) -> Form:
        freedom, noise = float(self._nu), float(self._scale) ** 2
        return {"kind": "student_t", "freedom": freedom, "unit": 0.0, "noise": noise}

    @property
    def _scale(self) -> Any:
        return self._numbers("scale")

    @property
    def _nu(self) -> Any:
        return self._numbers("degrees_of_freedom")

    def _residual(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        """u = (y - a) / scale and nu + u^2, in the log of which log_prob falls.

        In units of the scale no power of them is too large.
        """
        u = np.subtract(y, a) / self._scale
        return u, self._nu + u**2

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        s = spread.robust_scale(y, weights)
        low = self.min_degrees_of_freedom
        freedom = max(_TYPICAL_FREEDOM, low), low, _MOST_FREEDOM
        return {"scale": (s, 1e-6 * s, 10.0 * s), "degrees_of_freedom": freedom}
