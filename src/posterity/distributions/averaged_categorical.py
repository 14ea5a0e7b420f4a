"""One of several classes, according to several predictors that need not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from posterity.arrays import Array
from posterity.distributions import discrete, parameters
from posterity.distributions.categorical import Categorical
from posterity.distributions.discrete import Discrete


@dataclass(frozen=True, repr=False, eq=False)
class AveragedCategorical(Discrete):
    """Predictions of a class that are averages of several, and know how far these disagreed.

    The entropy has two parts: what the members are unsure of themselves (aleatoric), and what they
    disagree about (epistemic). The second is the information that one would gain about the class
    by being told which member is right.

    Parameters
    ----------
    log_p : array-like of shape (..., C)
        Log-probabilities of the classes.
    epistemic_share : array-like of shape (...,)
        The part of the entropy, from 0 to 1, that is disagreement. Zero by default.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> unsure, at_odds = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]]
    >>> prediction = distributions.AveragedCategorical.from_members([unsure, at_odds])
    >>> prediction.probabilities()
    array([[0.5, 0.5],
           [0.5, 0.5]])
    >>> prediction.epistemic_share
    array([0., 1.])
    """

    _event_axes: ClassVar[int] = 1

    log_p: Array
    epistemic_share: Array

    def __init__(self, log_p: ArrayLike, epistemic_share: ArrayLike = 0.0) -> None:
        checked = parameters.check_log_probabilities("log_p", log_p)
        share = parameters.check_probability("epistemic_share", epistemic_share)
        self._store(log_p=checked, epistemic_share=share)

    @classmethod
    def from_valid_arrays(cls, log_p: Array, epistemic_share: Array) -> Self:
        """Build from valid arrays without checks, which take longest for a single row."""
        self = object.__new__(cls)
        self._store(log_p=log_p, epistemic_share=epistemic_share)
        return self

    @classmethod
    def from_members(cls, members: ArrayLike, log_weights: ArrayLike | None = None) -> Self:
        """Average the probabilities (..., T, C) of T members, of equal weight by default."""
        p = np.asarray(members, dtype=np.float64)
        with np.errstate(divide="ignore"):
            each = Categorical(np.log(p))
        average = each.average(log_weights)
        w = np.exp(discrete.average_weights(log_weights, each.shape))
        return cls(average.log_p, _share(np.sum(w * each.entropy(), axis=-1), average.entropy()))

    def mean(self) -> Array:
        """Expected indicator of each class: its probability, shape ``(*shape, C)``."""
        return self.probabilities()

    def variance(self) -> Array:
        """Variance of the indicator of each class, shape ``(*shape, C)``."""
        return Categorical(self.log_p).variance()

    def log_probabilities(self) -> Array:
        return self.log_p

    def epistemic_entropy(self) -> Array:
        """Entropy from the disagreement of the members, in nats."""
        return self.epistemic_share * self.entropy()

    def aleatoric_entropy(self) -> Array:
        """Mean entropy of the members, in nats."""
        return (1.0 - self.epistemic_share) * self.entropy()

    def average(self, log_weights: ArrayLike | None = None) -> Self:
        log_w = discrete.average_weights(log_weights, self.shape)
        mixed = Categorical(self.log_p).average(log_w)
        own = np.sum(np.exp(log_w) * self.aleatoric_entropy(), axis=-1)
        return type(self)(mixed.log_p, _share(own, mixed.entropy()))

    def _store(self, **checked: Array) -> None:
        """The share has no axis of classes."""
        log_p, share = checked["log_p"], checked["epistemic_share"]
        shape = np.broadcast_shapes(log_p.shape[:-1], share.shape)
        object.__setattr__(self, "log_p", np.broadcast_to(log_p, (*shape, log_p.shape[-1])))
        object.__setattr__(self, "epistemic_share", np.broadcast_to(share, shape))


def _share(own: Array, total: Array) -> Array:
    """The epistemic share of the entropy.

    Entropy is concave, so that only rounding lets the members' exceed that of their average.
    """
    some = total > 0.0
    return np.where(some, np.clip(1.0 - own / np.where(some, total, 1.0), 0.0, 1.0), 0.0)
