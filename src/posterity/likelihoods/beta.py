"""Shares between 0 and 1, such as rates, proportions and fractions of a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_softmax, logit, polygamma

from posterity import distributions
from posterity.arrays import Array
from posterity.distributions import special
from posterity.likelihoods.base import Averaged

_FARTHEST = 200.0  # latent values beyond count as that: cubes of 1 / exp(200) are numbers
_REACH = 16.0  # standard deviations of the latent value, from the first node to the last
_STEP = 0.85  # between nodes, in standard deviations of what a component makes of the latent value
_MOST_NODES = 1024
_LEAST_SCATTER = 1e-9
_LARGE = 20.0  # from here on the asymptotic series suffices


@dataclass(frozen=True, eq=False)
class Beta(Averaged):
    """0 < y < 1 of a beta distribution with mean 1 / (1 + exp(-a)).

    With mean m the variance of y is m (1 - m) / (concentration + 1). It is not log-concave in a:
    an observation on the wrong side of the mean loses influence.

    Parameters
    ----------
    concentration : float, optional
        Positive: the larger, the less noise. None asks for it to be learned.

    Notes
    -----
    The prediction of an uncertain a is a mixture of beta distributions over nodes that reach eight
    standard deviations of a on either side. Where 1024 nodes are too few to resolve components of
    such a large concentration, those of the mixture have a smaller one: about 11,800 divided by the
    variance of a. Expectation propagation integrates about the nearer of two peaks where an
    observation is some 15 standard deviations from where all others have it.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Beta(concentration=20.0)
    >>> prediction = likelihood.predict(mean=[0.0, 3.0], variance=[0.0, 1.0])
    >>> prediction.mean().round(3), prediction.standard_deviation().round(3)
    (array([0.5  , 0.931]), array([0.109, 0.087]))
    >>> prediction.interval(0.9)[1].round(4)
    array([0.6799, 0.9999])
    """

    log_concave: ClassVar[bool] = False
    _learnable: ClassVar[tuple[str, ...]] = ("concentration",)

    concentration: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._check_positive("concentration")

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        t = self._terms(y, a)
        log_slope = np.log(y) + np.log1p(-np.asarray(y, dtype=np.float64))
        return special.log_logit_beta_density(t.alpha, t.beta, t.z) - log_slope

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        t = self._terms(y, a)
        return t.weight * t.residual

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        t = self._terms(y, a)
        return t.weight * (t.skew * t.residual - t.rise)

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        t = self._terms(y, a)
        bend = t.skew * (t.rise - 1.0) + t.weight**2 * (t.third(t.alpha) - t.third(t.beta))
        return t.weight * ((1.0 - 6.0 * t.half) * t.residual - 2.0 * t.skew * t.rise - bend)

    def step_curvature(self, y: ArrayLike, a: ArrayLike) -> Array:
        """Weights whose step does not pass the mode.

        The slope is the weight times logit(y) - z(a), where z rises with a, faster the farther a
        is from zero, and by no more than z'(0) + abs(z).
        """
        t = self._terms(y, a)
        k = self._concentration
        at_zero = 0.5 * k * polygamma(1, 0.5 * k)
        at_mode = np.minimum(self._terms(y, t.z).rise, at_zero + np.abs(t.z))
        return t.weight * np.maximum(t.rise, at_mode)

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        t = self._terms(y, a)
        excess = special.trigamma_excess(t.alpha), special.trigamma_excess(t.beta)
        moved = t.beta * excess[1] - t.alpha * excess[0]  # the residual, with log concentration
        rise = t.weight * (
            excess[0] + excess[1] + t.alpha * t.third(t.alpha) + t.beta * t.third(t.beta)
        )
        slope = t.weight * (t.residual + moved)
        return (
            self.score(y, a)[1:],
            slope[None],
            (self.d2(y, a) + t.weight * (t.skew * moved - rise))[None],
        )

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        t, k = self._terms(y, a), self._concentration
        of_shapes = t.mean * special.log_less_digamma(t.alpha)
        of_shapes = of_shapes + (1.0 - t.mean) * special.log_less_digamma(t.beta)
        distance = np.logaddexp(0.0, t.z) - np.logaddexp(0.0, t.a) - t.mean * (t.z - t.a)
        value = k * (of_shapes - special.log_less_digamma(k) - distance)
        return np.stack(np.broadcast_arrays(t.weight * t.residual, value))

    def information(self, a: ArrayLike) -> Array:
        t, k = self._terms(0.5, a), self._concentration
        shares = t.alpha**2 * special.trigamma_excess(t.alpha)
        shares = shares + t.beta**2 * special.trigamma_excess(t.beta)
        value = shares - np.square(k) * special.trigamma_excess(np.asarray(k))
        return np.stack(np.broadcast_arrays(t.weight * t.rise, value))

    def predict(
        self, mean: ArrayLike, variance: ArrayLike
    ) -> distributions.Beta | distributions.Mixture:
        m, v = np.broadcast_arrays(
            np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        )
        k = self._concentration
        if not np.any(v):
            return _beta(m, k)
        with np.errstate(divide="ignore"):
            largest = 4.0 * ((_MOST_NODES * _STEP / _REACH) ** 2 - 1.0) / v
        wide = np.minimum(k, np.maximum(largest - 12.0, 1.0))
        t, log_w = _normal_nodes(np.sqrt(np.max(v * (3.0 + 0.25 * wide))))
        a = m[..., None] + np.sqrt(v)[..., None] * t
        return distributions.Mixture(_beta(a, wide[..., None]), log_w)

    def check(self, y: Array) -> None:
        bad = np.flatnonzero(~((y > 0.0) & (y < 1.0)))
        if bad.size:
            raise ValueError(
                f"y is {y[bad[0]]:g} in row {bad[0]}; a beta likelihood needs shares above 0 and "
                "below 1. Divide percentages by 100, move shares of exactly 0 or 1 inside, as by "
                "(y * (N - 1) + 0.5) / N for N rows, or leave such rows out."
            )

    def _constant_start(self, y: Array, weights: Array) -> float:
        return float(np.average(logit(y), weights=weights))

    def _constant_variance(self, y: Array, weights: Array, a: Array) -> float:
        typical = Beta(_concentration_of(y, weights))
        return float(1.0 / typical.information(a[0])[0])

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        k = _concentration_of(y, weights)
        # From all scatter being noise: from less, weights that explain noise are found first.
        return {"concentration": (k, 0.1 * k, 1e6 * k)}

    @property
    def _concentration(self) -> Any:
        return self._numbers("concentration")

    def _terms(self, y: ArrayLike, a: ArrayLike) -> _Terms:
        return _Terms.of(y, a, self._concentration)


@dataclass(frozen=True)
class _Terms:
    """What the derivatives at a are made of; none of them cancels at large concentrations."""

    a: Array
    z: Array  # logit of y
    mean: Array
    half: Array  # mean (1 - mean)
    skew: Array  # 1 - 2 mean
    alpha: Array
    beta: Array
    weight: Array  # concentration * half
    residual: Array  # logit of y, less its expectation

    @classmethod
    def of(cls, y: ArrayLike, a: ArrayLike, k: Any) -> _Terms:
        z, b = np.broadcast_arrays(
            logit(np.asarray(y, dtype=np.float64)),
            np.clip(np.asarray(a, dtype=np.float64), -_FARTHEST, _FARTHEST),
        )
        p, q = expit(b), expit(-b)
        alpha, beta = k * p, k * q
        lost = special.log_less_digamma(alpha) - special.log_less_digamma(beta)
        return cls(b, z, p, p * q, -np.tanh(0.5 * b), alpha, beta, k * p * q, z - b + lost)

    @property
    def rise(self) -> Array:
        """The slope in a of the expected logit of y, which is never below one."""
        excess = special.trigamma_excess(self.alpha) + special.trigamma_excess(self.beta)
        return 1.0 + self.weight * excess

    @staticmethod
    def third(x: Array) -> Array:
        """The second derivative of digamma, and 1 / x^2, without cancellation at large x."""
        b, c = np.maximum(x, _LARGE), np.minimum(x, _LARGE)
        r = 1.0 / b**2
        series = -r * (1.0 / b + r * (0.5 - r * (1 / 6 - r * (1 / 6 - r * 0.3))))
        return np.where(x < _LARGE, polygamma(2, c) + 1.0 / c**2, series)


def _beta(a: Array, k: Any) -> distributions.Beta:
    near = np.clip(a, -_FARTHEST, _FARTHEST)
    return distributions.Beta(k * expit(near), k * expit(-near))


def _normal_nodes(ratio: float) -> tuple[Array, Array]:
    """Nodes and log weights (K,) of the trapezoid rule for a standard normal.

    Close enough for a function whose features are narrower than the normal by that ratio.
    """
    count = int(np.ceil(_REACH / _STEP * np.sqrt(1.0 + ratio**2))) + 1
    t = 0.5 * _REACH * np.linspace(-1.0, 1.0, min(count, _MOST_NODES))
    return t, log_softmax(-0.5 * t**2)


def _concentration_of(y: Array, weights: Array) -> float:
    """The concentration of one beta distribution with the mean and the variance of y."""
    mean = float(np.average(y, weights=weights))
    scatter = float(np.average((y - mean) ** 2, weights=weights)) / (mean * (1.0 - mean))
    return max(1.0 / max(scatter, _LEAST_SCATTER) - 1.0, 0.1)
