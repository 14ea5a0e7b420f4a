"""Positive observations whose logarithm scatters normally around the latent value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions
from posterity.arrays import Array
from posterity.likelihoods import spread
from posterity.likelihoods.base import Likelihood
from posterity.likelihoods.normal import Normal


@dataclass(frozen=True, eq=False)
class LogNormal(Likelihood):
    """y > 0 whose logarithm is N(a, noise_variance).

    Parameters
    ----------
    noise_variance : float, optional
        Positive: the variance of log y. None asks for it to be learned.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.LogNormal(noise_variance=0.25)
    >>> likelihood.predict(mean=[0.0, 2.0], variance=[0.0, 0.5]).mean().round(3)
    array([ 1.133, 10.751])
    """

    _learnable: ClassVar[tuple[str, ...]] = ("noise_variance",)

    noise_variance: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._check_positive("noise_variance")

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._normal.log_prob(np.log(y), a) - np.log(y)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._normal.d1(np.log(y), a)

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._normal.d2(y, a)

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._normal.d3(y, a)

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        return self._normal.parameter_derivatives(np.log(y), a)

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        return self._normal.score(np.log(y), a)

    def information(self, a: ArrayLike) -> Array:
        return self._normal.information(a)

    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.LogNormal:
        log_y = self._normal.predict(mean, variance)
        return distributions.LogNormal(log_y.location, log_y.scale)

    def log_partition(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, ...]:
        log_Z, slope, curvature = self._normal.log_partition(np.log(y), mean, variance)
        return log_Z - np.log(y), slope, curvature

    def check(self, y: Array) -> None:
        spread.require_positive(y, "log-normal")

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        return self._normal.fit_constant(np.log(y), weights)

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        return Normal()._search_ranges(np.log(y), weights)

    @property
    def _normal(self) -> Normal:
        """The likelihood of log y."""
        return Normal(self._require_value("noise_variance"))
