"""One of several classes: two outcomes, C classes, and grades in increasing order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_softmax, logsumexp

from posterity.arrays import Array
from posterity.distributions import base, parameters
from posterity.distributions.base import Discrete


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
        log_w = base.average_weights(log_weights, self.shape)
        return type(self)(
            logsumexp(log_w + self.log_p1, axis=-1), logsumexp(log_w + self.log_p0, axis=-1)
        )


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
        log_w = base.average_weights(log_weights, self.shape)
        return type(self)(logsumexp(log_w[..., None] + self.log_p, axis=-2))


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
        w = np.exp(base.average_weights(log_weights, each.shape))
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
        log_w = base.average_weights(log_weights, self.shape)
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


@dataclass(frozen=True, repr=False, eq=False)
class Ordinal(Discrete):
    """Predictions of one of K numbers, whose probabilities are listed.

    Parameters
    ----------
    log_p : array-like of shape (..., K)
        Log-probabilities of the numbers, which sum to 1 along the last axis.
    levels : array-like of shape (K,)
        The numbers, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import distributions
    >>> stars = distributions.Ordinal(np.log([[0.1, 0.2, 0.7]]), levels=[1, 2, 5])
    >>> stars.mean().round(6), stars.median(), stars.cdf(2).round(6)
    (array([4.]), array([5.]), array([0.3]))
    """

    _event_axes: ClassVar[int] = 1

    log_p: Array
    levels: Array

    def __init__(self, log_p: ArrayLike, levels: ArrayLike) -> None:
        ordered = parameters.check_finite("levels", levels)
        if np.any(np.diff(ordered, axis=-1) <= 0.0):
            raise ValueError(f"levels={ordered.tolist()} must increase; sort them, once each.")
        self._store(log_p=parameters.check_log_probabilities("log_p", log_p), levels=ordered)

    def mean(self) -> Array:
        return np.sum(self.probabilities() * self.levels, axis=-1)

    def variance(self) -> Array:
        away = self.levels - self.mean()[..., None]
        return np.sum(self.probabilities() * away**2, axis=-1)

    def mode(self) -> NDArray[Any]:
        """The most probable number; the smallest of equals."""
        return self._level_at(super().mode())

    def log_probabilities(self) -> Array:
        return self.log_p

    def average(self, log_weights: ArrayLike | None = None) -> Self:
        mixed = Categorical(self.log_p).average(log_weights)
        return type(self)(mixed.log_p, self.levels[..., 0, :])

    def logpmf(self, y: ArrayLike) -> Array:
        """Log-probability of y; -inf where y is not one of the numbers."""
        k = self._count_up_to(y) - 1.0
        is_level = np.where(k < 0.0, np.nan, self._level_at(np.maximum(k, 0.0))) == y
        return super().logpmf(np.where(is_level | np.isnan(k), k, -1.0))

    def logcdf(self, y: ArrayLike) -> Array:
        return super().logcdf(self._count_up_to(y) - 1.0)

    def logccdf(self, y: ArrayLike) -> Array:
        return super().logccdf(self._count_up_to(y) - 1.0)

    def sample(
        self, shape: int | tuple[int, ...] = (), *, rng: np.random.Generator
    ) -> NDArray[Any]:
        return self._level_at(super().sample(shape, rng=rng))

    def _icdf(self, p: Array) -> Array:
        return self._level_at(super()._icdf(p))

    def _iccdf(self, p: Array) -> Array:
        return self._level_at(super()._iccdf(p))

    def _count_up_to(self, y: ArrayLike) -> Array:
        """How many of the numbers are not above y."""
        numbers = base.as_numbers(y)
        count = np.sum(self.levels <= numbers[..., None], axis=-1, dtype=np.float64)
        return np.where(np.isnan(numbers), np.nan, count)

    def _level_at(self, k: NDArray[Any]) -> Array:
        filled = np.where(np.isnan(k), 0.0, k)
        return base.lookup(self.levels, filled)
