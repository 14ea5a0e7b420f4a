"""Targets with normal noise, as they are or in logarithms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions, page_forms
from posterity.arrays import Array
from posterity.likelihoods import spread
from posterity.likelihoods.base import Likelihood
from posterity.page_forms import Form

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Normal(Likelihood):
    """p(y | a) = N(y | a, noise_variance).

    Parameters
    ----------
    noise_variance : float or array-like, optional
        Positive: one number, or one per row where the noise of each row is known. None asks for
        one number to be learned.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Normal(noise_variance=4.0)
    >>> float(likelihood.d1(y=3.0, a=1.0))
    0.5
    >>> likelihood.predict(mean=[0.0, 1.0], variance=5.0).standard_deviation()
    array([3., 3.])
    """

    depends_on_difference: ClassVar[bool] = True
    _learnable: ClassVar[tuple[str, ...]] = ("noise_variance",)

    noise_variance: ArrayLike | None = None

    def __post_init__(self) -> None:
        self._check_positive("noise_variance")

    @property
    def names(self) -> list[str]:
        return [] if np.ndim(self.noise_variance) else list(self._learnable)  # type: ignore[arg-type]

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        sigma2 = self._sigma2()
        return -0.5 * (np.subtract(y, a) ** 2 / sigma2 + np.log(sigma2) + _LOG_2PI)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return np.subtract(y, a) / self._sigma2()

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        shape = np.broadcast_shapes(np.shape(y), np.shape(a), self._sigma2().shape)
        return np.broadcast_to(-1.0 / self._sigma2(), shape)

    def d3(self, y: ArrayLike, a: ArrayLike) -> Array:
        return np.zeros_like(self.d2(y, a))

    def parameter_derivatives(self, y: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array]:
        if not self.names:
            return super().parameter_derivatives(y, a)
        return self.score(y, a)[1:], -self.d1(y, a)[None], -self.d2(y, a)[None]

    def score(self, y: ArrayLike, a: ArrayLike) -> Array:
        r, sigma2 = np.subtract(y, a), self._sigma2()
        return np.stack([r / sigma2, 0.5 * (r**2 / sigma2 - 1.0)])

    def information(self, a: ArrayLike) -> Array:
        return np.stack(np.broadcast_arrays(-self.d2(0.0, a), 0.5))

    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Normal:
        return distributions.Normal(mean, np.sqrt(np.add(variance, self._sigma2())))

    def log_partition(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike
    ) -> tuple[Array, ...]:
        v = np.add(variance, self._sigma2())
        r = np.subtract(y, mean)
        curvature = np.broadcast_to(-1.0 / v, np.broadcast_shapes(r.shape, v.shape))
        return self.predict(mean, variance).log_prob(y), r / v, curvature

    def fit_constant(self, y: Array, weights: Array) -> tuple[float, float]:
        W = weights / self._sigma2()
        mean = float(W @ y / np.sum(W))
        return mean, spread.scale(y, W) ** 2

    def page_form(self) -> Form:
        """Return the form from which a page predicts at normal latent values."""
        return page_forms.form_normal_noise(self.noise_variance)

    def _sigma2(self) -> Array:
        """The noise variance as an array."""
        return np.asarray(self._require_value("noise_variance"), dtype=np.float64)

    def _search_ranges(self, y: Array, weights: Array) -> Mapping[str, tuple[float, float, float]]:
        v = spread.scale(y, weights) ** 2
        return {"noise_variance": (0.1 * v, 1e-8 * v, 10.0 * v)}


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
