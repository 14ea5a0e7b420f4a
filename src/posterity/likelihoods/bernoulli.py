"""Two classes, y in {0, 1}, by the logistic sigmoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from posterity import distributions
from posterity.arrays import Array
from posterity.likelihoods import sigmoid_mean
from posterity.likelihoods.base import Likelihood
from posterity.page_forms import Form


@dataclass(frozen=True, eq=False)
class Bernoulli(Likelihood):
    """p(y = 1 | a) = 1 / (1 + exp(-a)).  [P9 9.2]

    Parameters
    ----------
    averaging : {"exact", "approximate", "none"}, default="exact"
        How predictions average over a: by quadrature; by the closed form
        sigmoid(mean / sqrt(1 + pi variance / 8)), which is off by up to 0.02; or not at all.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Bernoulli()
    >>> float(likelihood.d1(y=1, a=0.0))
    0.5
    >>> likelihood.predict(mean=[3.0, 3.0], variance=[0.0, 25.0]).mean().round(3)
    array([0.953, 0.714])
    """

    averaging: str = "exact"

    def __post_init__(self) -> None:
        sigmoid_mean.check_averaging(self.averaging)

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        return log_expit(_latent_in_favour(y, a))

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return _class_sign(y) * expit(
            -_latent_in_favour(y, a)
        )  # y - expit(a) would lose what is small

    def value_and_slope(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array]:
        sign, z = _class_sign(y), _latent_in_favour(y, a)
        odds = np.exp(-np.abs(z))  # of the less probable class, so that nothing overflows
        against = np.where(z > 0.0, odds, 1.0) / (1.0 + odds)
        return np.minimum(z, 0.0) - np.log1p(odds), sign * against

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        return -expit(_latent_in_favour(y, a)) * expit(-_latent_in_favour(y, a))

    def information(self, a: ArrayLike) -> Array:
        return -self.d2(1.0, a)[None]

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self.d2(y, a) * -np.tanh(0.5 * np.asarray(a, dtype=np.float64))

    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Bernoulli:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if self.averaging == "none":
            return distributions.Bernoulli.from_logit(m + 0.0 * v)
        if self.averaging == "approximate":
            logit = m / np.sqrt(1.0 + np.pi / 8.0 * v)  # [P9 9.19]
            return distributions.Bernoulli.from_logit(logit)
        log_p0, log_p1 = sigmoid_mean.log_mean_probabilities(m, v)
        return distributions.Bernoulli(log_p1, log_p0)

    def check(self, y: Array) -> None:
        bad = np.flatnonzero((y != 0.0) & (y != 1.0))
        if bad.size:
            raise ValueError(f"y is {y[bad[0]]:g} in row {bad[0]}; it must be 0 or 1.")

    def log_partition(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, ...]:
        sign, v = _class_sign(y), np.asarray(variance, dtype=np.float64)
        log_Z, slope, curvature = sigmoid_mean.log_mean_sigmoid(_latent_in_favour(y, mean), v)
        return log_Z, sign * slope, curvature

    def expected_derivatives(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, Array, Array]:
        """``log_prob``, ``d1`` and minus ``d2``, averaged over a normal latent value."""
        v = np.asarray(variance, dtype=np.float64)
        log_p, slope, curvature = sigmoid_mean.mean_derivatives(_latent_in_favour(y, mean), v)
        return log_p, _class_sign(y) * slope, curvature

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        p1 = float(weights @ y) / float(np.sum(weights))
        p0 = float(weights @ (1.0 - y)) / float(np.sum(weights))
        return float(np.log(p1) - np.log(p0)), 1.0 / (p1 * p0)

    def page_form(self) -> Form:
        """Return the form from which a page predicts at normal latent values."""
        return {"kind": "two_classes", "averaging": self.averaging}


def _class_sign(y: ArrayLike) -> Array:
    """-1 for class 0, +1 for class 1."""
    return 2.0 * np.asarray(y, dtype=np.float64) - 1.0


def _latent_in_favour(y: ArrayLike, a: ArrayLike) -> Array:
    """The latent value in favour of what was observed."""
    return _class_sign(y) * np.asarray(a, dtype=np.float64)
