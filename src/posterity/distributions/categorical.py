"""One of several classes."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp

from posterity.arrays import Array
from posterity.distributions import discrete, parameters
from posterity.distributions.discrete import Discrete


@dataclass(frozen=True, repr=False, eq=False)
class Categorical(Discrete):
    """Predictions of a class from 0 to C - 1.

    Parameters
    ----------
    log_p : array-like of shape (..., C)
        Log-probabilities of the classes, which sum to 1 along the last axis.

    Examples
    --------
    >>> from posterity import distributions
    >>> prediction = distributions.Categorical.from_logits([[0.0, 0.0, -900.0], [2.0, 2.0, 2.0]])
    >>> prediction
    Categorical(shape=(2,))
    >>> prediction.logpmf(2).round(2)
    array([-900.69,   -1.1 ])
    >>> prediction.mode()
    array([0, 0])
    """

    _event_axes: ClassVar[int] = 1

    log_p: Array

    def __init__(self, log_p: ArrayLike) -> None:
        self._store(log_p=parameters.check_log_probabilities("log_p", log_p))

    @classmethod
    def from_logits(cls, logits: ArrayLike) -> Self:
        """Build from numbers whose softmax along the last axis gives the probabilities."""
        return cls(log_softmax(np.asarray(logits, dtype=np.float64), axis=-1))

    def mean(self) -> Array:
        """Expected indicator of each class: its probability, shape ``(*shape, C)``."""
        return self.probabilities()

    def variance(self) -> Array:
        """Variance of the indicator of each class, shape ``(*shape, C)``."""
        return -np.exp(self.log_p) * np.expm1(self.log_p)

    def log_probabilities(self) -> Array:
        return self.log_p

    def average(self, log_weights: ArrayLike | None = None) -> Self:
        log_w = discrete.average_weights(log_weights, self.shape)
        return type(self)(logsumexp(log_w[..., None] + self.log_p, axis=-2))
