"""Two outcomes."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, logsumexp

from posterity.arrays import Array
from posterity.distributions import discrete, parameters
from posterity.distributions.discrete import Discrete


@dataclass(frozen=True, repr=False, eq=False)
class Bernoulli(Discrete):
    """Predictions of 0 or 1, kept as two logs so that neither tail rounds to certainty.

    Parameters
    ----------
    log_p1, log_p0 : array-like
        Logs of P(y = 1) and of P(y = 0), which sum to 1.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.Bernoulli.from_logit([0.0, 800.0])
    >>> prediction.mean()
    array([0.5, 1. ])
    >>> prediction.logpmf(1).round(3), float(prediction[1].logpmf(0))
    (array([-0.693,  0.   ]), -800.0)
    """

    log_p1: Array
    log_p0: Array

    def __init__(self, log_p1: ArrayLike, log_p0: ArrayLike) -> None:
        pair = np.broadcast_arrays(
            np.asarray(log_p1, dtype=np.float64), np.asarray(log_p0, dtype=np.float64)
        )
        log_p = parameters.check_log_probabilities("(log_p1, log_p0)", np.stack(pair, axis=-1))
        self._store(log_p1=log_p[..., 0], log_p0=log_p[..., 1])

    @classmethod
    def from_logit(cls, logit: ArrayLike) -> Self:
        """Build from the log odds of 1 against 0."""
        a = np.asarray(logit, dtype=np.float64)
        return cls(log_expit(a), log_expit(-a))

    def mean(self) -> Array:
        """P(y = 1)."""
        return np.exp(self.log_p1)

    def variance(self) -> Array:
        return np.exp(self.log_p1 + self.log_p0)

    def log_probabilities(self) -> Array:
        return np.stack([self.log_p0, self.log_p1], axis=-1)

    def average(self, log_weights: ArrayLike | None = None) -> Self:
        log_w = discrete.average_weights(log_weights, self.shape)
        return type(self)(
            logsumexp(log_w + self.log_p1, axis=-1), logsumexp(log_w + self.log_p0, axis=-1)
        )
