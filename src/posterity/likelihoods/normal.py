"""Observations that scatter normally around the latent value."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posterity import distributions
from posterity.arrays import Array
from posterity.likelihoods.base import Likelihood

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Normal(Likelihood):
    """p(y | a) = N(y | a, noise_variance).

    Parameters
    ----------
    noise_variance : float or array-like
        Positive: one number, or one per row where the noise of each row is known.

    Examples
    --------
    >>> from posterity import likelihoods
    >>> likelihood = likelihoods.Normal(noise_variance=4.0)
    >>> float(likelihood.d1(y=3.0, a=1.0))
    0.5
    >>> likelihood.predict(mean=[0.0, 1.0], variance=5.0).standard_deviation()
    array([3., 3.])
    """

    noise_variance: ArrayLike

    def __post_init__(self) -> None:
        given = np.asarray(self.noise_variance, dtype=np.float64)
        if not np.all((given > 0.0) & np.isfinite(given)):
            raise ValueError(
                "noise_variance must be positive and finite; "
                f"its smallest value is {np.min(given)}."
            )

    def log_prob(self, y: ArrayLike, a: ArrayLike) -> Array:
        sigma2 = self._sigma2()
        return -0.5 * (np.subtract(y, a) ** 2 / sigma2 + np.log(sigma2) + _LOG_2PI)

    def d1(self, y: ArrayLike, a: ArrayLike) -> Array:
        return np.subtract(y, a) / self._sigma2()

    def d2(self, y: ArrayLike, a: ArrayLike) -> Array:
        shape = np.broadcast_shapes(np.shape(y), np.shape(a), self._sigma2().shape)
        return np.broadcast_to(-1.0 / self._sigma2(), shape)

    def predict(self, mean: ArrayLike, variance: ArrayLike) -> distributions.Normal:
        return distributions.Normal(mean, np.sqrt(np.add(variance, self._sigma2())))

    def _sigma2(self) -> Array:
        """The noise variance as an array."""
        return np.asarray(self.noise_variance, dtype=np.float64)
