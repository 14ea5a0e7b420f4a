"""Prior distributions of the weights, which linear models take as ``prior=``.

A prior knows neither the data nor the features that its weights belong to. Weights are independent:
``log_prob`` is elementwise, and the log density of a whole vector is the sum.
"""

from __future__ import annotations

import abc
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from posterity import distributions
from posterity.arrays import Array

__all__ = ["Flat", "Normal", "Prior", "Sparse"]


class Prior(abc.ABC):
    """Independent beliefs, one per weight.

    A subclass is a frozen dataclass of its parameters, compared by value.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @abc.abstractmethod
    def log_prob(self, w: ArrayLike) -> Array:
        """Log density of each weight, with all constants."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = [field.name for field in dataclasses.fields(self)]
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)


@dataclass(frozen=True, eq=False)
class Normal(Prior):
    """w ~ N(0, variance), independently: the prior of ridge regression.

    Parameters
    ----------
    variance : float or array-like of shape (M,), optional
        Positive and finite: one number, or one for each column. None: one number, learned by the
        evidence.

    Examples
    --------
    >>> from posterity import BayesianLinearRegression, priors
    >>> prior = priors.Normal([1.0, 0.01])
    >>> X, y = [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]], [1.0, 2.0, 3.5]
    >>> BayesianLinearRegression(prior=prior, noise_variance=0.1).fit(X, y).coef_.round(2)
    array([1.2 , 0.01])
    """

    variance: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.variance is not None:
            given = np.asarray(self.variance, dtype=np.float64)
            bad = given[~((given > 0.0) & np.isfinite(given))]
            if bad.size:
                raise ValueError(f"variance must be positive and finite, not {bad[0]}.")

    @property
    def is_shared(self) -> bool:
        """Whether all weights have one variance, which is given or learned."""
        return self.variance is None or np.ndim(self.variance) == 0

    @property
    def shared_variance(self) -> float | None:
        """The variance of every weight, None where it is learned; one of columns multiplied."""
        if self.variance is None:
            return None
        return float(np.asarray(self.variance)) if self.is_shared else 1.0

    def find_column_factor(self, n_columns: int) -> Array | float:
        """What columns are multiplied by, so that their weights have one variance."""
        if self.is_shared:
            return 1.0
        given = np.asarray(self.variance, dtype=np.float64)
        if given.shape != (n_columns,):
            raise ValueError(
                f"prior has {given.size} variances, but there are {n_columns} columns that have a "
                "weight: pass one number, or one for each."
            )
        return np.sqrt(given)

    def log_prob(self, w: ArrayLike) -> Array:
        if self.variance is None:
            raise ValueError("variance=None is to be learned from data: fit a model, or give it.")
        return distributions.Normal(0.0, np.sqrt(self.variance)).logpdf(w)


@dataclass(frozen=True, eq=False)
class Flat(Prior):
    """The improper prior of maximum likelihood: log density 0 everywhere.

    Examples
    --------
    >>> from posterity import priors
    >>> priors.Flat().log_prob([-5.0, 1e6])
    array([0., 0.])
    """

    shared_variance: ClassVar[float] = np.inf

    def find_column_factor(self, n_columns: int) -> float:
        """Columns stay as they are."""
        del n_columns
        return 1.0

    def log_prob(self, w: ArrayLike) -> Array:
        return np.zeros(np.shape(w))


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
        which no constant makes integrate to one.
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
        return distributions.StudentT(0.0, 1.0, self.degrees_of_freedom).logpdf(w)

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
