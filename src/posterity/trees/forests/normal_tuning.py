"""Concentration and sharpness of a forest of numbers, from rows that trees have not seen.

A leaf is normal around the mean of its rows, with variance (q + s v) / (n + s): v is the squared
error of a tree, and q the sum of squared deviations of the n rows around the leaf, see
:mod:`posterity.trees.forests.normal_surroundings`. The mixture of these over trees spreads too far:
the mean of many trees is better than a tree. So it is drawn together around its mean, by the square
root of the sharpness.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from posterity.arrays import Array
from posterity.trees.forests import tuning
from posterity.trees.forests.normal_leaves import NormalLeaves

_TINY = np.finfo(np.float64).tiny
_LOG_ZERO = -1e300  # its exponential is zero, and differences of two of it are not NaN
_RANGES = (0.03, 100.0), (0.1, 10.0)


@dataclass(frozen=True, eq=False)
class TreePredictions:
    """Predictions of each tree for each row: means (T, r, K), and counts (T, r) and sums of
    squares (T, r, K) around it."""

    leaves: NormalLeaves
    used: NDArray[np.bool_]  # (T, r), whether the tree has not seen the row
    target: Array  # (r, K)
    weights: Array  # (r,)
    pooled: Array  # (K,)

    @classmethod
    def from_leaves(
        cls,
        leaves: NormalLeaves,
        wider: NormalLeaves,
        found: NDArray[np.int32],
        target: Array,
        weights: Array,
        own: Array,
        pooled: Array,
    ) -> TreePredictions:
        """From leaves and what is around them, ``found`` (T, r) saying which: -1 where a tree has
        seen the row. What is the row's own, (r,), is taken out of them."""
        T = len(found)
        y, w = np.tile(target, (T, 1)), np.tile(own, T)
        at, near = (part.take(found.ravel()).remove_rows(y, w) for part in (leaves, wider))
        shape = (*found.shape, target.shape[1])
        n, square = near.count.reshape(found.shape), near.square.reshape(shape)
        each = NormalLeaves(n, at.fill_empty(near.mean).mean.reshape(shape), square)
        return cls(each, (found >= 0) & (n > 0.0), target, weights, pooled)

    def log_prob(self, learned: NormalTuning) -> Array:
        """Log-density of the targets under the mixture of trees, (r, K)."""
        v = leaf_variances(self.leaves, learned.pooled, learned.concentration)
        apart = self._spread_targets(learned.sharpness) - self.leaves.mean
        return _log_mean(_log_normal(apart, v), self.used) + 0.5 * np.log(learned.sharpness)

    def mean(self) -> Array:
        """The mean of the trees, (r, K)."""
        n = np.maximum(self.used.sum(axis=0), 1)
        return np.sum(np.where(self.used[..., None], self.leaves.mean, 0.0), axis=0) / n[:, None]

    def has_prediction(self) -> NDArray[np.bool_]:
        """Rows that some tree has not seen, (r,)."""
        return np.any(self.used, axis=0)

    def loss(self, x: Array) -> tuple[float, Array]:
        """Minus the log score a row of x = (log s, log beta), minus their log prior,
        and its gradient."""
        s, beta = np.exp(x)
        n, q = self.leaves.count[..., None], self.leaves.square
        v = leaf_variances(self.leaves, self.pooled, s)
        apart = self._spread_targets(beta) - self.leaves.mean
        log_p = _log_normal(apart, v)
        own = softmax(np.where(self.used[..., None], log_p, _LOG_ZERO), axis=0)
        w = np.where(self.has_prediction(), self.weights, 0.0)
        by_log_v = 0.5 * own * (apart**2 / v - 1.0)
        by_s = by_log_v * s * (n * self.pooled - q) / ((q + s * self.pooled) * (n + s))
        by_place = np.sum(-own * apart / v, axis=0) * (self._spread_targets(beta) - self.mean())
        score = np.nan_to_num(_log_mean(log_p, self.used)) + 0.5 * x[1]
        value = w @ score.sum(axis=1) - 0.5 * tuning.PRECISIONS @ x**2
        slope = np.array([np.einsum("i,tik->", w, by_s), np.sum(w @ (0.5 + 0.5 * by_place))])
        return -value / w.sum(), -(slope - tuning.PRECISIONS * x) / w.sum()

    def pool_errors(self) -> TreePredictions:
        """The same, with the error of single trees as their variance within leaves: leaves that
        follow every row know nothing of it."""
        w = self.used * self.weights
        square = (self.target - self.leaves.mean) ** 2
        error = np.einsum("ti,tik->k", w, square) / max(w.sum(), _TINY)
        return dataclasses.replace(self, pooled=np.where(error > _TINY, error, self.pooled))

    def _spread_targets(self, beta: float) -> Array:
        """Where targets lie, (r, K), when the mixture is as wide as the trees make it."""
        center = self.mean()
        return center + np.sqrt(beta) * (self.target - center)


def leaf_variances(leaves: NormalLeaves, pooled: Array, s: float) -> Array:
    """Return the variances of the leaves' predictions, (..., K)."""
    return (leaves.square + s * pooled) / (leaves.count[..., None] + s)


class NormalTuning(NamedTuple):
    """How leaves become predictions: v, s and beta."""

    pooled: Array  # (K,)
    concentration: float
    sharpness: float


def learn_normal_tuning(
    members: TreePredictions, concentration: float | None, sharpness: float | None
) -> NormalTuning:
    """From unseen rows; see :func:`posterity.trees.forests.tuning.tune`."""
    apart = members.pool_errors()
    left_out = members.has_prediction() & (members.weights > 0.0)
    s, beta = tuning.tune(apart.loss, left_out, (concentration, sharpness), _RANGES)
    return NormalTuning(apart.pooled, s, beta)


def _log_normal(apart: Array, v: Array) -> Array:
    return -0.5 * (np.log(2.0 * np.pi * v) + apart**2 / v)


def _log_mean(log_p: Array, used: NDArray[np.bool_]) -> Array:
    """Log of the mean over the trees in use, (r, K); NaN where no tree is."""
    n = used.sum(axis=0).astype(np.float64)
    log_n = np.log(np.where(n > 0, n, np.nan))[:, None]
    return logsumexp(np.where(used[..., None], log_p, -np.inf), axis=0) - log_n
