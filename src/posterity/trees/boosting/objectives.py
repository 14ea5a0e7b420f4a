"""What boosted trees raise: the log-probability of each row, and its derivatives in the latents."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posterity import compilation
from posterity.arrays import Array

_LEAST_CURVATURE = 1e-12  # rows that are certain still count a little


class Objective(abc.ABC):
    """Targets of N rows, and a likelihood with L latent values a row.

    It holds no latents: several members, which are at different ones, share it.
    """

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[slice, ...]:
        """Outputs that share a tree in every round, such as all classes; parts take turns."""

    @abc.abstractmethod
    def fit_offset(self, weights: Array) -> Array:
        """The constant latents (L,) from which trees start."""

    @abc.abstractmethod
    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        """Log-probability of the targets of some rows, (m,), at their latents (m, L)."""

    @abc.abstractmethod
    def derivatives(self, latents: Array, part: slice) -> tuple[Array, Array]:
        """Slopes and curvatures (N, l) > 0 of the log-probability in the latents of a part.

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
    >>> two.derivatives(np.zeros((3, 1)), slice(0, 1))[0].ravel()
    array([-0.5,  0.5,  0.5])
    """

    y: NDArray[np.int64]  # (N,)

    @property
    def parts(self) -> tuple[slice, ...]:
        return (slice(0, 1),)

    def fit_offset(self, weights: Array) -> Array:
        return np.diff(_log_shares(self.y, weights, 2))

    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        return -np.logaddexp(0.0, np.where(self.y[rows] == 1, -1.0, 1.0) * latents[:, 0])

    def derivatives(self, latents: Array, part: slice) -> tuple[Array, Array]:
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
    >>> three.derivatives(np.zeros((2, 3)), slice(0, 3))[0].round(2)
    array([[ 0.67, -0.33, -0.33],
           [-0.33, -0.33,  0.67]])
    """

    y: NDArray[np.int64]  # (N,)
    n_classes: int

    @property
    def parts(self) -> tuple[slice, ...]:
        return (slice(0, self.n_classes),)

    def fit_offset(self, weights: Array) -> Array:
        shares = _log_shares(self.y, weights, self.n_classes)
        return shares - np.mean(shares)

    def log_prob(self, latents: Array, rows: NDArray[np.int64]) -> Array:
        top = np.max(latents, axis=1)
        own = latents[np.arange(len(rows)), self.y[rows]]
        return own - top - np.log(np.sum(np.exp(latents - top[:, None]), axis=1))

    def derivatives(self, latents: Array, part: slice) -> tuple[Array, Array]:
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
