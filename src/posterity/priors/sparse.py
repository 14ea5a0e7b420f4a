"""Weights of which most are exactly zero: the prior of relevance vectors."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from posterity import distributions
from posterity.arrays import Array
from posterity.priors.base import Prior


@dataclass(frozen=True, eq=False)
class Sparse(Prior):
    """A Student-t of unit scale for every weight.  [P8 8.31]

    It is a mixture of normals N(0, 1 / h) over a hidden precision h ~ Gamma(nu / 2, rate nu / 2),
    one of each weight. Inference keeps the h of largest evidence instead of the mixture; where that
    is infinite, the weight is zero. Unit scale is that of the noise, for columns of unit mean
    square.

    Parameters
    ----------
    degrees_of_freedom : float, default=0.0
        Zero or positive: nu. Zero is the limit in which h may be anything: density 1 / abs(w),
        which no constant makes integrate to one. Its derivatives leave the spike at w = 0 out.

    among : int, default=0
        How many weights there are to choose from. Before the data every number of weights in use is
        as probable as any other, and so is every choice of that many: of many columns that explain
        nothing some seem to, and this is what they pay. Zero: a choice costs nothing.

    Examples
    --------
    >>> from posterity import priors
    >>> prior = priors.Sparse(degrees_of_freedom=1.0)
    >>> prior.log_prob([0.0, 1.0, 10.0]).round(2)
    array([-1.14, -1.84, -5.76])
    >>> prior.penalty([0.1, 1.0, float("inf")]).round(2)
    array([-0.7,  0. ,  0. ])
    """

    degrees_of_freedom: float = 0.0
    among: int = 0

    def __post_init__(self) -> None:
        nu = self.degrees_of_freedom
        if not (np.ndim(nu) == 0 and np.isfinite(nu) and nu >= 0.0):
            raise ValueError(f"degrees_of_freedom must be one number, zero or positive; not {nu}.")

    def log_prob(self, w: ArrayLike) -> Array:
        if self.degrees_of_freedom == 0.0:
            with np.errstate(divide="ignore"):
                return 0.0 - np.log(np.abs(w))
        return self._student().logpdf(w)

    def d1(self, w: ArrayLike) -> Array:
        r = self._radius(w)
        return 0.0 - (self.degrees_of_freedom + 1.0) * (np.asarray(w) / r) / r

    def d2(self, w: ArrayLike) -> Array:
        r, root = self._radius(w), float(np.sqrt(self.degrees_of_freedom))
        cosine = ((root - np.asarray(w)) / r) * ((root + np.asarray(w)) / r)
        return 0.0 - (self.degrees_of_freedom + 1.0) * cosine / r / r

    def sample(self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator) -> Array:
        if self.degrees_of_freedom == 0.0:
            raise ValueError(
                "A sparse prior of zero degrees of freedom does not integrate to one and cannot be "
                "sampled; give it degrees_of_freedom > 0."
            )
        return np.asarray(rng.standard_t(self.degrees_of_freedom, shape))

    def penalty(self, h: ArrayLike) -> Array:
        """Log density of the log of each precision h, less its largest value, which is at h = 1.

        An infinite precision, a weight that is out of the model, costs nothing.
        """
        precision = np.asarray(h, dtype=np.float64)
        if self.degrees_of_freedom == 0.0:
            return np.zeros(precision.shape)
        x = np.where(np.isinf(precision), 1.0, precision)
        return 0.5 * self.degrees_of_freedom * (np.log(x) - x + 1.0)

    def penalty_slope(self, h: ArrayLike) -> Array:
        """Derivative of the penalty in the log of each finite precision h."""
        return np.asarray(0.5 * self.degrees_at(h) * (1.0 - np.asarray(h)))

    def degrees_at(self, h: ArrayLike) -> Array:
        """Degrees of freedom of the prior of a precision h: the same everywhere."""
        return np.full(np.shape(h), self.degrees_of_freedom)

    def choice(self, m: int) -> float:
        """Log probability of the m weights in use, about that of none; the same from a half on."""
        few = min(m, self.among // 2)
        return -float(gammaln(self.among + 1) - gammaln(few + 1) - gammaln(self.among - few + 1))

    def price(self, m: int) -> float:
        """The cost, in nats, of one more than m weights."""
        return self.choice(m) - self.choice(m + 1)

    def log_density_of_choice(self, h: ArrayLike) -> float:
        """Log density of the precisions of the weights in use, and of their choice."""
        return float(np.sum(self.penalty(h))) + self.choice(int(np.sum(np.isfinite(h))))

    def _student(self) -> distributions.StudentT:
        return distributions.StudentT(0.0, 1.0, self.degrees_of_freedom)

    def _radius(self, w: ArrayLike) -> Array:
        """sqrt(nu + w^2), and one at the spike."""
        r = np.hypot(np.sqrt(self.degrees_of_freedom), w)
        return np.where(r > 0.0, r, 1.0)
