"""The flat prior: all weights are equally probable."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.priors.base import Prior


@dataclass(frozen=True, eq=False)
class Flat(Prior):
    """The improper prior of maximum likelihood: log density 0 everywhere.

    Examples
    --------
    >>> from posterity import priors
    >>> priors.Flat().log_prob([-5.0, 1e6])
    array([0., 0.])
    """

    def log_prob(self, w: ArrayLike) -> Array:
        return np.zeros(np.shape(w))

    def d1(self, w: ArrayLike) -> Array:
        return np.zeros(np.shape(w))

    def d2(self, w: ArrayLike) -> Array:
        return np.zeros(np.shape(w))

    def sample(self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Array:
        raise ValueError(
            "A flat prior does not integrate to one and cannot be sampled; use a Normal prior with "
            "a large variance."
        )
