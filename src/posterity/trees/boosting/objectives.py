"""Log-probabilities of rows, which boosted trees raise, and their derivatives in the latents."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from posterity import compilation, likelihoods
from posterity.arrays import Array
from posterity.likelihoods import exposed_counts

_LEAST_CURVATURE = 1e-12  # rows that are certain still count a little


class Objective(abc.ABC):
    """Targets of N rows, and a likelihood with L latent values a row.

    It holds no latents: several members, which are at different ones, share it.
    """

    @abc.abstractmethod
    def fit_offset(self, weights: Array) -> Array:
        """The constant latents (L,) from which trees start."""

    @abc.abstractmethod
    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        """Log-probability of the targets of some rows, (m,), at their latents (m, L)."""

    @abc.abstractmethod
    def derivatives(self, latents: Array) -> tuple[Array, Array]:
        """Slopes and curvatures (N, L) > 0 of the log-probability in the latents.

        Where steps are to be natural gradients, the curvature is the Fisher information.
        """

    def measure_row(self, curvatures: Array, weights: Array) -> float:
        """The curvature in which the prior precision of leaf values is counted: 1, or a row's."""
        del curvatures, weights
        return 1.0


@dataclass(frozen=True, eq=False)
class TwoClassTargets(Objective):
    """Rows of class 0 or 1, with a sigmoid of one latent as the probability of class 1.

    Examples
    --------
    >>> import numpy as np
    >>> two = TwoClassTargets(np.array([0, 1, 1]))
    >>> two.derivatives(np.zeros((3, 1)))[0].ravel()
    array([-0.5,  0.5,  0.5])
    """

    y: NDArray[np.int64]  # (N,)

    def fit_offset(self, weights: Array) -> Array:
        return np.diff(_log_shares(self.y, weights, 2))

    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        return -np.logaddexp(0.0, np.where(self.y[rows] == 1, -1.0, 1.0) * latents[:, 0])

    def derivatives(self, latents: Array) -> tuple[Array, Array]:
        slopes, curvatures = np.empty(latents.shape), np.empty(latents.shape)
        _differentiate_sigmoid(self.y, latents, slopes, curvatures)
        return slopes, curvatures


@dataclass(frozen=True, eq=False)
class ClassTargets(Objective):
    """Rows of class 0 to C - 1, with a softmax of C latents.

    Examples
    --------
    >>> import numpy as np
    >>> three = ClassTargets(np.array([0, 2]), 3)
    >>> three.derivatives(np.zeros((2, 3)))[0].round(2)
    array([[ 0.67, -0.33, -0.33],
           [-0.33, -0.33,  0.67]])
    """

    y: NDArray[np.int64]  # (N,)
    n_classes: int

    def fit_offset(self, weights: Array) -> Array:
        shares = _log_shares(self.y, weights, self.n_classes)
        return shares - np.mean(shares)

    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        top = np.max(latents, axis=1)
        own = latents[np.arange(len(rows)), self.y[rows]]
        return own - top - np.log(np.sum(np.exp(latents - top[:, None]), axis=1))

    def derivatives(self, latents: Array) -> tuple[Array, Array]:
        slopes, curvatures = np.empty(latents.shape), np.empty(latents.shape)
        _differentiate_softmax(self.y, latents, slopes, curvatures)
        return slopes, curvatures


def class_targets(y: NDArray[np.int64], n_classes: int) -> Objective:
    """Two classes have one latent between them, more have one each."""
    return TwoClassTargets(y) if n_classes == 2 else ClassTargets(y, n_classes)


def _log_shares(y: NDArray[np.int64], weights: Array, n_classes: int) -> Array:
    """Log frequencies of the classes; half a row more of each, so that all are finite."""
    counts = np.bincount(y, weights, minlength=n_classes)
    return np.log((counts + 0.5) / (np.sum(counts) + 0.5 * n_classes))


@compilation.compile_at_first_call
def _differentiate_sigmoid(
    y: NDArray[np.int64], latents: Array, slopes: Array, curvatures: Array
) -> None:
    for i in range(len(y)):
        p = 1.0 / (1.0 + np.exp(-latents[i, 0]))
        slopes[i, 0] = y[i] - p  # [P9 9.9]
        curvatures[i, 0] = max(p * (1.0 - p), _LEAST_CURVATURE)


@compilation.compile_at_first_call
def _differentiate_softmax(
    y: NDArray[np.int64], latents: Array, slopes: Array, curvatures: Array
) -> None:
    """As if classes did not share rows: the diagonal of the curvature."""
    C = latents.shape[1]
    for i in range(len(y)):
        top, total = latents[i, 0], 0.0
        for c in range(1, C):
            top = max(top, latents[i, c])
        for c in range(C):
            slopes[i, c] = np.exp(latents[i, c] - top)
            total += slopes[i, c]
        for c in range(C):
            p = slopes[i, c] / total
            slopes[i, c] = (1.0 if y[i] == c else 0.0) - p  # [P9 9.61]
            curvatures[i, c] = max(p * (1.0 - p), _LEAST_CURVATURE)


_LONGEST_STEP = 1.0  # of the log of a parameter
_SHORTEST_STEP = 1e-6
_OFFSET_STEPS = 50
_CALLS_OF_STEP = 4  # parameters change slowly, and need not follow in every round of every member
_WIDEST = 10.0  # log of how far the spread of a row may be from that of all
_LEAST_INFORMATION = 1e-10
_LEAST_TOLD = 0.1  # of the log of a spread, by a row: ten rows are a prior of unit precision


@dataclass(eq=False)
class Constants:
    """A likelihood whose free parameters follow the latents, by natural gradient steps."""

    likelihood: likelihoods.Likelihood
    bounds: Array  # (P, 2), of the logs; equal where a parameter is held
    are_held: bool = field(init=False)
    n_calls: int = 0

    def __post_init__(self) -> None:
        self.are_held = bool(np.all(self.bounds[:, 0] == self.bounds[:, 1]))

    def follow(self, y: Array, a: Array, weights: Array, n_steps: int = 1) -> None:
        """Move towards the best parameters at these latents."""
        for _ in range(0 if self.are_held else n_steps):
            slope = self.likelihood.score(y, a)[1:] @ weights
            eta = exposed_counts.separate(y, a)[1]
            information = self.likelihood.information(eta)[1:] @ weights
            floor = _LEAST_INFORMATION * np.sum(weights)
            move = np.clip(slope / np.maximum(information, floor), -_LONGEST_STEP, _LONGEST_STEP)
            theta = np.clip(self.likelihood.theta + move, *self.bounds.T)
            self.likelihood = self.likelihood.with_parameters(theta)
            if np.max(np.abs(move)) < _SHORTEST_STEP:
                break


@dataclass(frozen=True, eq=False)
class LocationTargets(Objective):
    """Targets whose latent value is boosted, at constant values of all other parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods
    >>> y = np.array([1.0, 2.0, 6.0])
    >>> targets = LocationTargets.start(y, np.ones(3), likelihoods.Normal())
    >>> targets.fit_offset(np.ones(3))
    array([3.])
    """

    y: Array  # (N,)
    weights: Array  # (N,)
    training: Constants
    held_out: Constants

    @classmethod
    def start(cls, y: Array, weights: Array, likelihood: likelihoods.Likelihood) -> LocationTargets:
        """With parameters that nothing explains yet."""
        started, bounds = likelihood.search_start(y, weights)
        a = np.full(len(y), started.fit_constant(y, weights)[0])
        begun = Constants(started, bounds)
        begun.follow(y, a, weights, _OFFSET_STEPS)
        return cls(y, weights, begun, Constants(begun.likelihood, bounds))

    def fit_offset(self, weights: Array) -> Array:
        return np.array([self.training.likelihood.fit_constant(self.y, weights)[0]])

    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        y, a = self.y[rows], latents[:, 0]
        self.held_out.follow(y, a, self.weights[rows])
        return self.held_out.likelihood.log_prob(y, a)

    def derivatives(self, latents: Array) -> tuple[Array, Array]:
        a, own = latents[:, 0], self.training
        if own.n_calls % _CALLS_OF_STEP == 0:
            own.follow(self.y, a, self.weights)
        own.n_calls += 1
        information = own.likelihood.information(exposed_counts.separate(self.y, a)[1])[0]
        return _as_columns(own.likelihood.d1(self.y, a), information)

    def measure_row(self, curvatures: Array, weights: Array) -> float:
        return _measure_mean_row(curvatures, weights)


@dataclass(frozen=True, eq=False)
class SpreadTargets(Objective):
    """Targets at given locations, whose spread is boosted: the log of the first parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity import likelihoods
    >>> y = np.array([1.0, -1.0, 2.0, -2.0])
    >>> targets = SpreadTargets(y, np.zeros(4), likelihoods.Normal(1.0))
    >>> np.exp(targets.fit_offset(np.ones(4))).round(3)
    array([2.5])
    """

    y: Array  # (N,)
    a: Array  # (N,)
    likelihood: likelihoods.Likelihood  # whose other parameters hold
    centre: float = field(init=False)

    def __post_init__(self) -> None:
        theta = self.likelihood.theta
        object.__setattr__(self, "centre", float(theta[0]) if len(theta) else 0.0)

    def fit_offset(self, weights: Array) -> Array:
        bounds = np.stack([self.likelihood.theta] * 2, axis=1)
        bounds[0] += [-_WIDEST, _WIDEST]
        best = Constants(self.likelihood, bounds)
        best.follow(self.y, self.a, weights, _OFFSET_STEPS)
        return best.likelihood.theta[:1]

    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        return self.with_spreads(latents[:, 0]).log_prob(self.y[rows], self.a[rows])

    def derivatives(self, latents: Array) -> tuple[Array, Array]:
        away, own = latents[:, 0] - self.centre, self.with_spreads(latents[:, 0])
        slopes = own.score(self.y, self.a)[1]
        slopes = np.where((np.abs(away) >= _WIDEST) & (slopes * away > 0.0), 0.0, slopes)
        return _as_columns(slopes, own.information(self.a)[1])

    def measure_row(self, curvatures: Array, weights: Array) -> float:
        """Mean information of a row, or more where rows tell next to nothing of a spread.

        Counts that are nearly Poisson's have any large shape: steps would have no end.
        """
        return max(_measure_mean_row(curvatures, weights), _LEAST_TOLD)

    def with_spreads(self, eta: Array) -> likelihoods.Likelihood:
        """The likelihood with that log of the first parameter in each row."""
        near = np.clip(eta, self.centre - _WIDEST, self.centre + _WIDEST)
        return spread_parameters(self.likelihood, near)


def _measure_mean_row(curvatures: Array, weights: Array) -> float:
    """The curvature (N, 1) of a row in the mean; rows count as often as their weights say."""
    total = float(np.sum(weights))
    return float(weights @ curvatures[:, 0]) / total if total > 0.0 else 1.0


def spread_parameters(likelihood: likelihoods.Likelihood, eta: Array) -> likelihoods.Likelihood:
    """The likelihood with the log eta of its first parameter by row, others as they are."""
    return likelihood.with_first_parameter(np.exp(eta))


def _as_columns(slopes: Array, curvatures: Array) -> tuple[Array, Array]:
    """(N, 1), contiguous, and curvatures that are positive."""
    least = _LEAST_INFORMATION * float(np.max(curvatures, initial=0.0))
    positive = np.maximum(curvatures, max(least, np.finfo(np.float64).tiny))
    return np.ascontiguousarray(slopes)[:, None], np.array(positive)[:, None]
