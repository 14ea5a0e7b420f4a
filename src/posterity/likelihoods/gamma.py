"""Positive observations whose scatter is in proportion to their mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from posterity import distributions
from posterity.arrays import Array
from posterity.distributions import special
from posterity.likelihoods import spread
from posterity.likelihoods.base import Averaged
from posterity.page_forms import Form

END = 10.0
"""Standard deviations of the latent value to the first node of a mixture."""

STEP = 0.75
"""Between nodes, in standard deviations of what a component makes of the latent value."""

NODES = 512
"""For which components are made wide enough."""

MOST_NODES = 1024
"""That a mixture has at the most."""

_EPS = float(np.finfo(np.float64).eps)
_LARGEST_SHAPE = 1.0 / _EPS  # shape times the squared rounding of log y is rounding
_LEAST_SCATTER = 100.0 * _EPS
_LARGEST_LOG = 340.0  # the square of exp(340) is a number


@dataclass(frozen=True, eq=False)
class Gamma(Averaged):
    """y > 0 of a gamma distribution with mean exp(a).  [P8 Prob 8.1]

    Its rate is shape * exp(-a), so that the standard deviation of y is exp(a) / sqrt(shape).

    Parameters
    ----------
    shape : float, optional
        Positive: the larger, the less noise. None asks for it to be learned.

    Notes
    -----
    The prediction of an uncertain a is a mixture of gamma distributions over nodes of a, with the
    exact mean and variance, that reach ten standard deviations of a. Where a is more than 15 times
    as uncertain as log y given a, the components are made wider and the normal narrower, so that
    512 nodes resolve them: this moves log densities by about 1e-5. They do for variances of a up
    to 25, a factor of e^5 each way; means beyond exp(+-340) count as that.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Gamma(shape=4.0)
    >>> prediction = likelihood.predict(mean=[0.0, 2.0], variance=[0.0, 0.5])
    >>> prediction.mean().round(3), prediction.variance().round(3)
    (array([1.   , 9.488]), array([ 0.25 , 95.499]))
    """

    _learnable: ClassVar[tuple[str, ...]] = ("shape",)

    shape: float | None = None

    def __post_init__(self) -> None:
        self._check_positive("shape")

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        k = np.asarray(self._shape)
        peak = special.log_gamma_density(k, k) + np.log(k)
        return peak - k * special.expm1_excess(_log_ratio(y, a)) - np.log(y)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._shape * np.expm1(_log_ratio(y, a))

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -self._shape * np.exp(_log_ratio(y, a))

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -self.d2(y, a)

    def expected_derivatives(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array]:
        # y exp(-a) is y exp(-m + v/2) on average, and log p is linear in a but for it
        m, half = np.asarray(mean, dtype=np.float64), 0.5 * np.asarray(variance, dtype=np.float64)
        h = -self.d2(y, m - half)
        return self.log_prob(y, m - half) - self._shape * half, h - self._shape, h

    def expected_d3(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
        return -self.d2(y, np.asarray(mean) - 0.5 * np.asarray(variance))

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        d1, value = self.score(y, a)
        return value[None], d1[None], self.d2(y, a)[None]

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        k = self._shape
        value = k * (special.log_less_digamma(k) - special.expm1_excess(_log_ratio(y, a)))
        return np.stack([self.d1(y, a), value])

    def information(self, a: ArrayLike) -> Array:
        k = np.asarray(self._shape)
        of_shape = k**2 * special.trigamma_excess(k)
        return np.stack(np.broadcast_arrays(k, of_shape, np.zeros(np.shape(a)))[:2])

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.Gamma | distributions.Mixture:
        m, v = np.broadcast_arrays(
            np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        )
        if not np.any(v):
            return distributions.Gamma(self._shape, self._shape * _mean_inverse(m))
        k, k_wide = self._shape, self._limit_shape(v)
        # the same first two moments of y, by components of another shape
        v_left = np.maximum(v + np.log1p(1.0 / k) - np.log1p(1.0 / k_wide), 0.0)
        t, log_w = _normal_nodes(np.sqrt(v_left), k_wide)
        a = (m + 0.5 * (v - v_left))[..., None] + np.sqrt(v_left)[..., None] * t
        components = distributions.Gamma(k_wide[..., None], k_wide[..., None] * _mean_inverse(a))
        return distributions.Mixture(components, log_w)

    def check(self, y: Array) -> None:
        spread.require_positive(y, "gamma")

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        return float(np.log(np.average(y, weights=weights))), _log_scatter(y, weights)

    def page_form(self) -> Form:
        """Return the form from which a page predicts at normal latent values."""
        return {
            "kind": "gamma",
            "shape": float(self._shape),
            "end": END,
            "step": STEP,
            "nodes": NODES,
            "most": MOST_NODES,
        }

    @property
    def _shape(self) -> Any:
        return self._numbers("shape")

    def _limit_shape(self, v: Array) -> Array:
        """The shape of components wide enough for the nodes to resolve."""
        most = (NODES * STEP / _node_reach(np.sqrt(v))) ** 2 - 1.0
        with np.errstate(divide="ignore"):
            return np.minimum(self._shape, np.maximum(most / v - 3.0, 1.0))

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        v = _log_scatter(y, weights)
        # From all scatter being noise: from less, weights that explain noise are found first.
        return {"shape": (1.0 / v, 0.1 / v, min(1e8 / v, _LARGEST_SHAPE))}


def _log_scatter(y: Array, weights: Array) -> float:
    """The variance of log y, and no less than digits can tell, in whatever units y is."""
    mean = float(np.average(y, weights=weights))
    near = np.abs(y / mean - 1.0) < 0.5
    log_ratio = np.where(near, np.log1p(np.where(near, (y - mean) / mean, 0.0)), np.log(y / mean))
    centre = np.average(log_ratio, weights=weights)
    variance = float(np.average((log_ratio - centre) ** 2, weights=weights))
    return max(variance, _LEAST_SCATTER)


def _normal_nodes(sd: Array, shape: Array) -> tuple[Array, Array]:
    """Nodes and log weights (..., K) of the trapezoid rule for a standard normal.

    Close enough for components of that shape, and so far to the right that the second moment of
    exp(a), whose integrand has its peak there, is exact.
    """
    steps = _node_reach(sd) / STEP * np.sqrt(1.0 + sd**2 * (shape + 3.0))
    count = min(int(np.ceil(np.max(steps, initial=1.0))) + 1, MOST_NODES)
    t = -END + _node_reach(sd)[..., None] * np.linspace(0.0, 1.0, count)
    return t, log_softmax(-0.5 * t**2, axis=-1)


def _node_reach(sd: Array) -> Array:
    """The distance from the first node to the last, in standard deviations."""
    return 2.0 * (END + sd)


def _log_ratio(y: ArrayLike, a: ArrayLike) -> Array:
    """log of y over its mean, of ratios that are numbers and whose squares are."""
    return np.minimum(np.subtract(np.log(y), a), _LARGEST_LOG)


def _mean_inverse(a: Array) -> Array:
    """1 / exp(a), of the means that are numbers and whose squares are."""
    return np.exp(-np.clip(a, -_LARGEST_LOG, _LARGEST_LOG))
