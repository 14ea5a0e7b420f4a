"""Weights that are probably small: the prior of ridge regression and of Gaussian processes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.priors.base import Prior

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Normal(Prior):
    """w ~ N(0, variance), independently.

    Parameters
    ----------
    variance : float or array-like
        Positive: one number, or one per weight. Infinity leaves a weight free, as ``Flat`` does:
        an intercept, for instance.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import priors
    >>> prior = priors.Normal(variance=[np.inf, 0.25])
    >>> prior.precision([3.0, 3.0])
    array([0., 4.])
    """

    variance: ArrayLike

    def __post_init__(self) -> None:
        given = np.asarray(self.variance, dtype=np.float64)
        if not np.all(given > 0.0):
            raise ValueError(f"variance must be positive; its smallest value is {np.min(given)}.")

    def log_prob(self, w: ArrayLike) -> Array:
        v = self._variance()
        proper = np.isfinite(v)
        log_constant = np.where(proper, -0.5 * (_LOG_2PI + np.log(np.where(proper, v, 1.0))), 0.0)
        return log_constant - 0.5 * np.square(w) / v

    def d1(self, w: ArrayLike) -> Array:
        return -np.asarray(w, dtype=np.float64) / self._variance()

    def d2(self, w: ArrayLike) -> Array:
        v = self._variance()
        return np.broadcast_to(-1.0 / v, np.broadcast_shapes(np.shape(w), v.shape))

    def sample(self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Array:
        v = self._variance()
        if not np.all(np.isfinite(v)):
            raise ValueError(
                "A weight of infinite prior variance cannot be sampled; give it a finite one."
            )
        return np.sqrt(v) * rng.standard_normal(shape)

    def _variance(self) -> Array:
        """The variance as an array."""
        return np.asarray(self.variance, dtype=np.float64)
