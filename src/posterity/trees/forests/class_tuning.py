"""Concentration and sharpness of a forest of classes, from rows that trees have not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import compilation
from posterity.arrays import Array
from posterity.trees.forests import tuning
from posterity.trees.forests.class_leaves import ClassLeaves

_RANGES = (0.03, 30.0), (0.5, 20.0)


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Rows, the leaves to which trees would send them that have not seen them, and their classes.

    ``own`` is how much of its leaves a row itself is, which is then taken out of them.
    """

    found: NDArray[np.int32]  # (T, r), -1 where the tree has seen the row
    target: NDArray[np.int32]  # (r,)
    weights: Array  # (r,)
    own: Array  # (r,)


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Leaves in the types that the compiled functions take, and where they start from."""

    start: NDArray[np.uint64]  # (L + 1,)
    total: Array  # (L,)
    classes: NDArray[np.uint32]  # (nnz,)
    counts: Array  # (nnz,)
    base: Array  # (C,)

    @classmethod
    def from_leaves(cls, leaves: ClassLeaves, base: Array) -> LeafCounts:
        """The leaves of a forest."""
        start, classes = leaves.start().astype(np.uint64), leaves.classes.astype(np.uint32)
        return cls(start, leaves.totals(), classes, leaves.counts.astype(np.float64), base)

    def means(self, unseen: UnseenRows, concentration: float) -> tuple[Array, Array]:
        """Class probabilities averaged over trees, (r, C), and their slopes in log s."""
        shape = (len(unseen.target), len(self.base))
        P, dP = np.zeros(shape), np.zeros(shape)
        leaves = (self.start, self.total, self.classes, self.counts, self.base)
        _mean_probabilities(unseen.found, unseen.target, unseen.own, *leaves, concentration, P, dP)
        return P, dP

    def log_probabilities(
        self, unseen: UnseenRows, concentration: float, sharpness: float
    ) -> Array:
        """Return the log-probabilities of all classes, (r, C)."""
        return log_softmax(sharpness * np.log(self.means(unseen, concentration)[0]), axis=1)

    def loss(self, unseen: UnseenRows, x: Array) -> tuple[float, Array]:
        """Minus the log score a row of x = (log s, log beta), minus their log prior,
        and its gradient."""
        s, beta = np.exp(x)
        P, dP = self.means(unseen, s)
        A, dA, w = np.log(P), dP / P, unseen.weights
        log_q = log_softmax(beta * A, axis=1)
        by_s = beta * _above_mean(dA, log_q, unseen.target)
        by_beta = beta * _above_mean(A, log_q, unseen.target)
        value = w @ _take_own_class(log_q, unseen.target) - 0.5 * tuning.PRECISIONS @ x**2
        slope = np.array([w @ by_s, w @ by_beta]) - tuning.PRECISIONS * x
        return -value / w.sum(), -slope / w.sum()


def learn_class_tuning(
    counts: LeafCounts, unseen: UnseenRows, concentration: float | None, sharpness: float | None
) -> tuple[float, float]:
    """Concentration and sharpness by the unseen rows; see :func:`tuning.tune`."""
    left_out = np.any(unseen.found >= 0, axis=0) & (unseen.weights > 0.0)
    by_row = (unseen.target, unseen.weights, unseen.own)
    some = UnseenRows(unseen.found[:, left_out], *(values[left_out] for values in by_row))
    given = concentration, sharpness
    return tuning.tune(lambda x: counts.loss(some, x), left_out, given, _RANGES)


def _take_own_class(values: Array, target: NDArray[np.int32]) -> Array:
    """The column of its own class, of each row."""
    return np.take_along_axis(values, target[:, None], axis=1)[:, 0]


def _above_mean(values: Array, log_q: Array, target: NDArray[np.int32]) -> Array:
    """By how much the value of its own class exceeds the mean value, of each row."""
    return _take_own_class(values, target) - np.sum(np.exp(log_q) * values, axis=1)


@compilation.compile_at_first_call
def _mean_probabilities(
    found: NDArray[np.int32],
    target: NDArray[np.int32],
    own: Array,
    start: NDArray[np.uint64],
    total: Array,
    classes: NDArray[np.uint32],
    counts: Array,
    base: Array,
    s: float,
    P: Array,
    dP: Array,
) -> None:
    """See ``Counts.means``; a row that no tree has left out gets the base.

    A tree at a time, so that its leaves stay at hand.
    """
    used = np.zeros(found.shape[1])
    share, d_share = np.zeros(found.shape[1]), np.zeros(found.shape[1])
    for t in range(found.shape[0]):
        for i in range(found.shape[1]):
            if found[t, i] < 0:
                continue
            leaf = np.uint64(found[t, i])  # signed, every index would be asked for its sign
            n = total[leaf] - own[i]
            part, slope = 1.0 / (n + s), s / (n + s) ** 2
            for k in range(start[leaf], start[leaf + np.uint64(1)]):
                c = classes[k]
                n_c = counts[k] - own[i] if c == target[i] else counts[k]
                P[i, c] += n_c * part
                dP[i, c] -= n_c * slope
            used[i] += 1.0
            share[i] += s * part
            d_share[i] += n * slope
    for i in range(found.shape[1]):
        if used[i] == 0.0:
            used[i], share[i] = 1.0, 1.0
        for c in range(len(base)):
            P[i, c] = (P[i, c] + share[i] * base[c]) / used[i]
            dP[i, c] = (dP[i, c] + d_share[i] * base[c]) / used[i]
