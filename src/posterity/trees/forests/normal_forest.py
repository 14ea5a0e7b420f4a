"""Forests whose leaves are normal: a prediction is the mixture of what their trees say.

Concentration and sharpness are learned from rows that trees have not seen.
A leaf is normal around the mean of its rows, with variance (q + s v) / (n + s): v is the squared
error of a tree, and q the sum of squared deviations of the n rows around the leaf, see
:mod:`posterity.trees.forests.normal_leaves`. The mixture of these over trees spreads too far:
the mean of many trees is better than a tree. So it is drawn together around its mean, by the square
root of the sharpness.

How much better grows with the number of trees. Of the squared error of a tree a share omega is
variance between trees, so that the mean of m trees has 1 - omega (1 - 1 / m) of it, while their
mixture has 1 + omega (1 - 1 / m): the sharpness of m trees is in proportion to the ratio. Only
about a third of all T trees have not seen a row, and this rule carries over to T what they teach.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import forest, normal_leaves
from posterity.trees.forests.forest import Forest, ForestPlan
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.growth.normal_terms import NormalCriterion
from posterity.trees.structure import Trees

_LEARNING = 8  # numbers held of each row and tree while concentration and sharpness are learned


@dataclass(frozen=True, eq=False)
class NormalForest(Forest):
    """Trees, the targets in their leaves, and how these become predictions.

    The prediction of a forest is the mixture of those of its trees.
    """

    leaves: NormalLeaves
    pooled: Array  # (K,)
    concentration: float
    sharpness: float

    @functools.cached_property
    def leaf_stds(self) -> Array:
        """Standard deviations of the leaves, (L, K)."""
        wider = normal_leaves.widen_small_leaves(self.leaves, self.trees.children)
        v = leaf_variances(wider, self.pooled, self.concentration)
        return np.sqrt(v / self.sharpness)

    def check_consistency(self) -> None:
        """Raise ValueError unless every leaf has its mean, and every target its variance."""
        super().check_consistency()
        validation.require(isinstance(self.leaves, NormalLeaves), "the leaves are not normal.")
        self.leaves.check_consistency()
        n_leaves = self.trees.n_leaves
        validation.require(self.leaves.n_leaves == n_leaves, f"there are not {n_leaves} leaves.")
        validation.require_array(self.pooled, "pooled", np.float64, (self.leaves.mean.shape[1],))
        validation.require_positive(self.concentration, "concentration")
        validation.require_positive(self.sharpness, "sharpness")

    def members(self, X: Any, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Return means and standard deviations of the predictions of each tree, (n, T, K) both.

        They are drawn together around the mean of all trees by the root of the sharpness.
        """
        found = self.apply(X, n_jobs)
        mean = self.leaves.mean[found]
        center = mean.mean(axis=1, keepdims=True)
        return center + (mean - center) / self.sharpness**0.5, self.leaf_stds[found]

    def mean(self, X: Any, n_jobs: int | None = None) -> Array:
        """The mean of all trees, (n, K)."""
        total = np.zeros((len(X), self.leaves.mean.shape[1]))

        def add(places: Places) -> None:
            block = slice(places[0], places[-1] + 1)
            for leaf in self.router.leaves(X, places):
                total[block] += self.leaves.mean[leaf]

        forest.map_blocks(add, len(X), self.router.rows_at_once, n_jobs)
        return total / self.trees.n_trees

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        if self.leaves.mean.shape[1] > 1:
            raise page_forms.NoFormError("A forest with several targets cannot run in a page.")
        nodes, order = self.trees.page_form(self.family.tested_columns())
        return {
            "kind": "normal_forest",
            "nodes": nodes,
            "means": self.leaves.mean[order, 0].astype(np.float32),
            "deviations": self.leaf_stds[order, 0].astype(np.float32),
            "sharpness": self.sharpness,
        }


@dataclass(frozen=True)
class NumberTargets:
    """Trees that predict numbers, one or several a row."""

    holds_out: ClassVar[bool] = True
    keeps_samples: ClassVar[bool] = False

    @property
    def criterion(self) -> NormalCriterion:
        """The evidence of the normals on both sides."""
        return NormalCriterion()

    def targets(self, y: Array) -> Array:
        """A column a target, (n, K)."""
        return np.ascontiguousarray(y[:, None] if y.ndim == 1 else y)

    def leaves(
        self, leaf: NDArray[np.int32], target: NDArray[Any], weights: Array, n_leaves: int
    ) -> NormalLeaves:
        """Return weight, mean and squared deviations of the targets in each leaf."""
        return NormalLeaves.from_rows(leaf, target, weights, n_leaves)

    def summarise(self, target: NDArray[Any], weights: Array) -> Array:
        """Return the variance of all targets, whatever their leaf, (K,)."""
        center = np.average(target, axis=0, weights=weights)
        spread: Array = np.average((target - center) ** 2, axis=0, weights=weights)
        return spread

    def count_numbers(self, n_trees: int, overall: Array) -> tuple[int, int]:
        """A number a tree and target, and eight where rows are learned from."""
        return n_trees * len(overall), _LEARNING * n_trees * len(overall)

    def score_leaves(self, leaves: NormalLeaves, trees: Trees, overall: Array) -> LeafNormals:
        """The leaves, those filled to which nothing came, and what is around each of them."""
        return LeafNormals.from_leaves(leaves, trees.children, overall)

    def make_forest(
        self,
        family: Family,
        trees: Trees,
        leaves: NormalLeaves,
        overall: Array,
        learned: NormalTuning,
    ) -> NormalForest:
        """The forest of these leaves."""
        filled = self.score_leaves(leaves, trees, overall).leaves
        return NormalForest(family, trees, filled, *learned[:3])


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
        beta = learned.of_members(self.count_members())
        apart = self._spread_targets(beta) - self.leaves.mean
        return _log_mean(_log_normal(apart, v), self.used) + 0.5 * np.log(beta)

    def mean(self) -> Array:
        """The mean of the trees, (r, K)."""
        n = np.maximum(self.count_members(), 1)
        return np.sum(np.where(self.used[..., None], self.leaves.mean, 0.0), axis=0) / n[:, None]

    def has_prediction(self) -> NDArray[np.bool_]:
        """Rows that some tree has not seen, (r,)."""
        return np.any(self.used, axis=0)

    def count_members(self) -> NDArray[np.int64]:
        """Number of trees that have not seen each row, (r,)."""
        return np.sum(self.used, axis=0)

    def loss(self, x: Array, ratio: Array) -> tuple[float, Array]:
        """Minus the log score a row of x = (log s, log beta), minus their log prior,
        and its gradient; the trees of a row have the sharpness beta times its ratio, (r, 1)."""
        s, beta = np.exp(x[0]), np.exp(x[1]) * ratio
        n, q = self.leaves.count[..., None], self.leaves.square
        v = leaf_variances(self.leaves, self.pooled, s)
        apart = self._spread_targets(beta) - self.leaves.mean
        log_p = _log_normal(apart, v)
        own = softmax(np.where(self.used[..., None], log_p, _LOG_ZERO), axis=0)
        w = np.where(self.has_prediction(), self.weights, 0.0)
        by_log_v = 0.5 * own * (apart**2 / v - 1.0)
        by_s = by_log_v * s * (n * self.pooled - q) / ((q + s * self.pooled) * (n + s))
        by_place = np.sum(-own * apart / v, axis=0) * (self._spread_targets(beta) - self.mean())
        score = np.nan_to_num(_log_mean(log_p, self.used)) + 0.5 * np.log(beta)
        value = w @ score.sum(axis=1) - 0.5 * forest.PRECISIONS @ x**2
        slope = np.array([np.einsum("i,tik->", w, by_s), np.sum(w @ (0.5 + 0.5 * by_place))])
        return -value / w.sum(), -(slope - forest.PRECISIONS * x) / w.sum()

    def pool_errors(self) -> TreePredictions:
        """The same, with the error of single trees as their variance within leaves: leaves that
        follow every row know nothing of it."""
        w = self.used * self.weights
        square = (self.target - self.leaves.mean) ** 2
        error = np.einsum("ti,tik->k", w, square) / max(w.sum(), _TINY)
        return dataclasses.replace(self, pooled=np.where(error > _TINY, error, self.pooled))

    def share_between_trees(self) -> float:
        """The share of the squared error of a tree that is variance between trees, omega.

        From rows that several trees have not seen, and zero without them.
        """
        m = self.count_members()
        w = np.where(m > 1, self.weights, 0.0)
        error = np.where(self.used[..., None], (self.target - self.leaves.mean) ** 2, 0.0)
        apart = np.where(self.used[..., None], (self.leaves.mean - self.mean()) ** 2, 0.0)
        of_trees = w / np.maximum(m, 1) @ error.sum(axis=0)
        between = w / np.maximum(m - 1, 1) @ apart.sum(axis=0)
        is_known = of_trees > _TINY
        shares = between[is_known] / of_trees[is_known]
        return min(float(np.mean(shares)), 1.0) if is_known.any() else 0.0

    def _spread_targets(self, beta: Array) -> Array:
        """Places of targets, (r, K), in a mixture that is as wide as the trees make it."""
        center = self.mean()
        return center + np.sqrt(beta) * (self.target - center)


@dataclass(frozen=True, eq=False)
class LeafNormals:
    """Leaves, what is around each of them, and the variance there."""

    leaves: NormalLeaves
    wider: NormalLeaves
    pooled: Array  # (K,)

    @classmethod
    def from_leaves(
        cls, leaves: NormalLeaves, children: NDArray[np.int32], overall: Array
    ) -> LeafNormals:
        """From the leaves of trees; ``overall`` is the variance of all rows, (K,)."""
        wider = normal_leaves.widen_small_leaves(leaves, children)
        return cls(leaves.fill_empty(wider.mean), wider, wider.pooled_variance(overall))

    def gather(
        self, found: NDArray[np.int32], target: Array, weights: Array, own: Array
    ) -> TreePredictions:
        """Predictions of each tree for rows that it has not seen."""
        given = (found, target, weights, own, self.pooled)
        return TreePredictions.from_leaves(self.leaves, self.wider, *given)

    def learn(self, unseen: TreePredictions, plan: ForestPlan) -> NormalTuning:
        """Concentration and sharpness of all trees of a plan."""
        return learn_normal_tuning(unseen, plan.n_trees, plan.concentration, plan.sharpness)

    def score(self, unseen: TreePredictions, learned: NormalTuning) -> tuple[Array, Array]:
        """Log-density, summed over targets, and mean squared error of each row."""
        square = np.mean((unseen.target - unseen.mean()) ** 2, axis=1)
        log_p = unseen.log_prob(learned).sum(axis=1)
        return log_p, np.where(unseen.has_prediction(), square, np.nan)


def leaf_variances(leaves: NormalLeaves, pooled: Array, s: float) -> Array:
    """Return the variances of the leaves' predictions, (..., K)."""
    return (leaves.square + s * pooled) / (leaves.count[..., None] + s)


class NormalTuning(NamedTuple):
    """Numbers by which leaves become predictions: v, s and beta, of all T trees and of fewer."""

    pooled: Array  # (K,)
    concentration: float
    sharpness: float  # of T trees
    n_trees: int
    omega: float = 0.0

    def of_members(self, m: NDArray[np.int64]) -> Array:
        """The sharpness of mixtures of m trees, (r, 1)."""
        return self.sharpness * sharpen(m, self.n_trees, self.omega)


def sharpen(m: NDArray[np.int64], n_trees: int, omega: float) -> Array:
    """By how much the sharpness of m trees differs from that of all, (r, 1).

    Examples
    --------
    >>> sharpen(np.array([1, 2, 4]), n_trees=4, omega=0.5).ravel().round(2)
    array([0.45, 0.76, 1.  ])
    """
    fewer = omega * (1.0 - 1.0 / np.array([*np.maximum(m, 1), n_trees]))
    ratio = (1.0 + fewer) / (1.0 - fewer)
    return (ratio[:-1] / ratio[-1])[:, None]


def learn_normal_tuning(
    members: TreePredictions, n_trees: int, concentration: float | None, sharpness: float | None
) -> NormalTuning:
    """For ``n_trees`` trees, by rows that some of them have not seen; see :func:`forest.tune`."""
    apart = members.pool_errors()
    left_out = members.has_prediction() & (members.weights > 0.0)
    given = forest.settle((concentration, sharpness), left_out, members.weights)
    if given[0] is not None and given[1] is not None:
        return NormalTuning(apart.pooled, given[0], given[1], n_trees)
    omega = 0.0 if given[1] is not None else apart.share_between_trees()
    ratio = sharpen(members.count_members(), n_trees, omega)
    s, beta = np.exp(forest.tune(lambda x: apart.loss(x, ratio), given, _RANGES))
    return NormalTuning(apart.pooled, given[0] or float(s), given[1] or float(beta), n_trees, omega)


def _log_normal(apart: Array, v: Array) -> Array:
    return -0.5 * (np.log(2.0 * np.pi * v) + apart**2 / v)


def _log_mean(log_p: Array, used: NDArray[np.bool_]) -> Array:
    """Log of the mean over the trees in use, (r, K); NaN where no tree is."""
    n = used.sum(axis=0).astype(np.float64)
    log_n = np.log(np.where(n > 0, n, np.nan))[:, None]
    return logsumexp(np.where(used[..., None], log_p, -np.inf), axis=0) - log_n
