"""Weights of which many are probably zero: the prior whose mode is the Lasso."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.priors.base import Prior


@dataclass(frozen=True, eq=False)
class Laplace(Prior):
    """Density exp(-|w| / scale) / (2 scale), independently.

    At w = 0 the density has a corner: there ``d1`` is 0, one of the slopes between -1/scale and
    1/scale, and ``d2`` leaves the corner out.

    Parameters
    ----------
    scale : float or array-like
        Positive: one number, or one per weight. The standard deviation is ``sqrt(2) * scale``.

    Examples
    --------
    >>> from posterity import priors
    >>> priors.Laplace(scale=0.5).d1([-3.0, 0.0, 0.1])
    array([ 2.,  0., -2.])
    """

    scale: ArrayLike

    def __post_init__(self) -> None:
        given = np.asarray(self.scale, dtype=np.float64)
        if not np.all((given > 0.0) & np.isfinite(given)):
            raise ValueError(
                f"scale must be positive and finite; its smallest value is {np.min(given)}."
            )

    def log_prob(self, w: ArrayLike) -> Array:
        s = self._scale()
        return -np.abs(w) / s - np.log(2.0 * s)

    def d1(self, w: ArrayLike) -> Array:
        return 0.0 - np.sign(w) / self._scale()

    def d2(self, w: ArrayLike) -> Array:
        return np.zeros(np.broadcast_shapes(np.shape(w), self._scale().shape))

    def sample(self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Array:
        return self._scale() * rng.laplace(size=shape)

    def _scale(self) -> Array:
        """The scale as an array."""
        return np.asarray(self.scale, dtype=np.float64)
