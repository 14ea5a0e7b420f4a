"""Observations with outliers: Student's t around the latent value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp

from posterity import distributions
from posterity.arrays import Array
from posterity.distributions import special
from posterity.likelihoods import spread
from posterity.likelihoods.base import Likelihood

_LOG_2PI = float(np.log(2.0 * np.pi))
_NODES = 100
_LOG_LOST = 55.0  # the mass of the nodes left out is exp(-55 / 2)


@dataclass(frozen=True, eq=False)
class StudentT(Likelihood):
    """y = a + scale t, with t of Student's distribution.  [P8 Prob 8.2]

    It is not log-concave in a: an observation far from a loses its influence.

    Parameters
    ----------
    scale : float, optional
        Positive. None asks for it to be learned.
    degrees_of_freedom : float, optional
        Positive: the fewer, the more outliers are expected. None asks for it to be learned.

    Notes
    -----
    A prediction of an uncertain a is a mixture of normals over the hidden precision of the row.
    Its log density is right to 1e-9 for y up to 100 scales from a, and much farther with few
    degrees of freedom. Its variance is right to 1e-3 for 2.5 degrees of freedom, and to rounding
    from four on; with two or fewer, where the variance is infinite, that of the mixture is finite.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.StudentT(scale=1.0, degrees_of_freedom=4.0)
    >>> likelihood.d1(y=[1.0, 100.0], a=0.0).round(3)
    array([1.  , 0.05])
    """

    log_concave: ClassVar[bool] = False
    _learnable: ClassVar[tuple[str, ...]] = ("scale", "degrees_of_freedom")

    scale: float | None = None
    degrees_of_freedom: float | None = None

    def __post_init__(self) -> None:
        self._check_positive("scale", "degrees_of_freedom")

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        return distributions.StudentT(a, self._scale, self._nu).logpdf(y)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        r, q = self._residual(y, a)
        return (self._nu + 1.0) * r / (q + r**2)

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        r, q = self._residual(y, a)
        return (self._nu + 1.0) * (r**2 - q) / (q + r**2) ** 2

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        r, q = self._residual(y, a)
        return (self._nu + 1.0) * 2.0 * r * (r**2 - 3.0 * q) / (q + r**2) ** 3

    def step_curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """The weights of iterated least squares, whose quadratic touches -log_prob from above."""
        r, q = self._residual(y, a)
        return (self._nu + 1.0) / (q + r**2)

    def slopes(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        r, q = self._residual(y, a)
        nu, D = self._nu, q + r**2
        in_q = (nu + 1.0) * q * np.stack([0.5 * r**2 / (q * D), -r / D**2, (q - 3 * r**2) / D**3])
        half_step = special.digamma_half_step(np.asarray(0.5 * nu))
        value = 0.5 * nu * (half_step - np.log1p(r**2 / q)) - 0.5
        in_nu = in_q + np.stack([value, nu * r / D, nu * (r**2 - q) / D**2])
        in_scale = 2.0 * in_q  # q = nu scale^2
        in_scale[0] -= 1.0
        first, second, third = np.stack([in_scale, in_nu], axis=1)
        return first, second, third

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.StudentT | distributions.Mixture:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if not np.any(v):
            return distributions.StudentT(m + v, self._scale, self._nu)
        log_u, log_w = precision_nodes(self._nu)
        sd = np.sqrt(v[..., None] + self._scale**2 * np.exp(-log_u))
        return distributions.Mixture(distributions.Normal(m[..., None], sd), log_w)

    def tilted(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> tuple[Array, ...]:
        v, r = np.asarray(variance, dtype=np.float64)[..., None], np.subtract(y, mean)[..., None]
        log_u, log_w = precision_nodes(self._nu)
        V = v + self._scale**2 * np.exp(-log_u)
        log_terms = log_w - 0.5 * (r**2 / V + np.log(V) + _LOG_2PI)
        log_Z = logsumexp(log_terms, axis=-1)
        share = np.exp(log_terms - log_Z[..., None])
        slope = np.sum(share * r / V, axis=-1)
        spread_of_slopes = np.sum(share * (r / V - slope[..., None]) ** 2, axis=-1)
        return log_Z, slope, spread_of_slopes - np.sum(share / V, axis=-1)

    def _null_variance(self, y: Array, weights: Array, a: Array) -> float:
        return spread.robust_scale(y, weights) ** 2

    def _null_start(self, y: Array, weights: Array) -> float:
        return spread.median(y, weights)

    @property
    def _scale(self) -> float:
        return float(self._known("scale"))

    @property
    def _nu(self) -> float:
        return float(self._known("degrees_of_freedom"))

    def _residual(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, float]:
        """y - a, and q = nu scale^2: log_prob falls as log(q + (y - a)^2)."""
        return np.subtract(y, a), self._nu * self._scale**2

    def _ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        s = spread.robust_scale(y, weights)
        return {"scale": (s, 1e-6 * s, 10.0 * s), "degrees_of_freedom": (4.0, 0.5, 1e3)}


def precision_nodes(nu: float) -> tuple[Array, Array]:
    """Logs of hidden precisions u ~ Gamma(nu / 2, rate nu / 2), and of their weights, (K,).

    The trapezoid rule in log u: y given u is normal of variance scale^2 / u, and as a function of
    log u any product with it is smooth on the scale of the step.
    """
    alpha = 0.5 * nu
    step = 0.75 / np.sqrt(alpha + 3.5)
    end = np.log1p(np.sqrt(80.0 / alpha) + 40.0 / alpha)
    count = max(_NODES, int(np.ceil((end + _LOG_LOST / nu) / step)))
    log_u = end - step * np.arange(float(count))
    return log_u, log_softmax(alpha * (log_u - np.exp(log_u)))
