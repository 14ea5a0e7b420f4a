"""The beta distribution, one per prediction, for shares between 0 and 1."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv, betaln, digamma

from posterity.arrays import Array
from posterity.distributions import base, parameters, special
from posterity.distributions.base import Continuous

_TINY = float(np.finfo(np.float64).tiny)
_LARGEST = 1.0 - float(np.finfo(np.float64).epsneg)


@dataclass(frozen=True, repr=False, eq=False)
class Beta(Continuous):
    """A batch of beta distributions.

    Parameters
    ----------
    a, b : array-like
        Positive. The mean is ``a / (a + b)``, and the variance falls with ``a + b``.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.Beta(a=[1.0, 9.0], b=[1.0, 3.0])
    >>> prediction.mean(), prediction.variance().round(4)
    (array([0.5 , 0.75]), array([0.0833, 0.0144]))
    >>> prediction.interval(0.9)[0].round(2)
    array([0.05, 0.53])
    """

    a: Array
    b: Array

    def __init__(self, a: ArrayLike, b: ArrayLike) -> None:
        self._store(a=parameters.check_positive("a", a), b=parameters.check_positive("b", b))

    def mean(self) -> Array:
        return self.a / (self.a + self.b)

    def variance(self) -> Array:
        total = self.a + self.b
        return (self.a / total) * (self.b / total) / (total + 1.0)

    def entropy(self) -> Array:
        a, b = self.a, self.b
        slopes = (a - 1.0) * digamma(a) + (b - 1.0) * digamma(b)
        return betaln(a, b) - slopes + (a + b - 2.0) * digamma(a + b)

    def logpdf(self, y: ArrayLike) -> Array:
        """Log density at y; -inf at 0, at 1 and outside."""
        inside, x, z = _logit_inside(y)
        log_p = special.log_logit_beta_density(self.a, self.b, z) - np.log(x) - np.log1p(-x)
        return np.where(inside, log_p, np.where(np.isnan(y), np.nan, -np.inf))

    def cdf(self, y: ArrayLike) -> Array:
        return betainc(self.a, self.b, np.clip(y, 0.0, 1.0))

    def ccdf(self, y: ArrayLike) -> Array:
        return betaincc(self.a, self.b, np.clip(y, 0.0, 1.0))

    def logcdf(self, y: ArrayLike) -> Array:
        inside, _, z = _logit_inside(y)
        outside = np.where(np.greater(y, 0.5), 0.0, np.where(np.isnan(y), np.nan, -np.inf))
        return np.where(inside, special.log_betainc(self.a, self.b, z), outside)

    def logccdf(self, y: ArrayLike) -> Array:
        inside, _, z = _logit_inside(y)
        outside = np.where(np.less(y, 0.5), 0.0, np.where(np.isnan(y), np.nan, -np.inf))
        return np.where(inside, special.log_betainc(self.b, self.a, -z), outside)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        """Independent draws, rounded to the nearest number inside of 0 and 1."""
        draws = rng.beta(self.a, self.b, base.draw_shape(shape, self.shape))
        return np.clip(draws, _TINY, _LARGEST)

    def _icdf(self, p: Array) -> Array:
        return betaincinv(self.a, self.b, p)

    def _iccdf(self, p: Array) -> Array:
        return betainccinv(self.a, self.b, p)


def _logit_inside(y: ArrayLike) -> tuple[NDArray[np.bool_], Array, Array]:
    """Which values lie between 0 and 1, these or else 0.5, and their logits."""
    given = np.asarray(y, dtype=np.float64)
    inside = (given > 0.0) & (given < 1.0)
    x = np.where(inside, given, 0.5)
    return inside, x, np.log(x) - np.log1p(-x)
