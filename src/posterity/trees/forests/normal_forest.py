"""Forests whose leaves are normal: a prediction is the mixture of what their trees say."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import forest, held_out, normal_surroundings, normal_tuning, out_of_bag
from posterity.trees.forests.forest import Forest, ForestPlan
from posterity.trees.forests.kinds import NumberTargets
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.forests.normal_tuning import NormalTuning, TreePredictions
from posterity.trees.structure import Trees

LEARNING = 8  # numbers held of each row and tree while concentration and sharpness are learned


@dataclass(frozen=True, eq=False)
class NormalForest(Forest):
    """Trees, the targets in their leaves, and how these become predictions.

    See :mod:`~posterity.trees.forests.normal_tuning` for how they are learned.
    """

    leaves: NormalLeaves
    pooled: Array  # (K,)
    concentration: float
    sharpness: float

    @functools.cached_property
    def leaf_stds(self) -> Array:
        """Standard deviations of the leaves, (L, K)."""
        wider = normal_surroundings.widen_small_leaves(self.leaves, self.trees.children)
        v = normal_tuning.leaf_variances(wider, self.pooled, self.concentration)
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


@dataclass(frozen=True, eq=False)
class FittedNormals:
    """A forest, and how it does on rows by those of its trees that have not seen them."""

    forest: NormalForest
    oob_log_prob: Array | None  # (N,), of all targets of a row; NaN where every tree has seen it
    oob_log_score: float
    oob_rmse: float


def fit_normals(
    family: Family,
    X: Any,
    Y: Array,
    weights: Array | None,
    plan: ForestPlan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> FittedNormals:
    """Grow a forest.

    Parameters
    ----------
    family : Family
        The tests, fitted to X.
    X : array (N, D), or what the family takes
    Y : array (N, K)
        Targets, that are taken to be independent where a leaf is known.
    weights : array (N,), optional
        How often each row is there.
    plan : ForestPlan
    rng : numpy.random.Generator
    groups : array (N,), optional
        Groups, from 0, of rows that are alike: a tree draws all rows of a group, or none.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees.families import columns
    >>> from posterity.trees.growth import growing
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> family = columns.Columns().adapt_to(X)
    >>> plan = ForestPlan(n_trees=20, rules=growing.GrowthRules(n_tests=2, min_samples_leaf=5))
    >>> fitted = fit_normals(family, X, X[:, :1], None, plan, np.random.default_rng(0))
    >>> fitted.oob_rmse < 0.3
    True
    >>> mean, std = fitted.forest.members(np.array([[1.0, 0.0]]))
    >>> mean.shape
    (1, 20, 1)
    """
    w = np.ones(len(Y)) if weights is None else weights
    rows = family.prepare_rows(X)
    planted = forest.grow_trees(family, rows, Y, w, NumberTargets(), plan, rng, groups=groups)
    overall = target_variance(Y, w)
    leaves, *_ = fill_leaves(NormalLeaves.join(planted.leaves), planted.trees, overall)
    judges, unseen = planted, np.arange(len(Y), dtype=np.int32)
    if plan.holds_out:
        judges, unseen = held_out.grow_held_out(family, X, rows, Y, w, plan, rng, groups)
    known, wider, pooled = fill_leaves(NormalLeaves.join(judges.leaves), judges.trees, overall)
    left_out = out_of_bag.OutOfBag(Forest(family, judges.trees).router, X, judges.seen)

    def members(places: Places) -> TreePredictions:
        found, nothing = left_out.leaves(places), np.zeros(len(places))
        return TreePredictions.from_leaves(
            known, wider, found, Y[places], w[places], nothing, pooled
        )

    width = judges.trees.n_trees * Y.shape[1]
    sample = members(unseen[out_of_bag.choose_rows(len(unseen), LEARNING * width)])
    learned = normal_tuning.learn_normal_tuning(
        sample, plan.n_trees, plan.concentration, plan.sharpness
    )
    parts = forest.map_blocks(
        lambda places: score_rows(members(places), learned),
        len(Y),
        out_of_bag.rows_at_once(judges.trees.n_trees, width),
        plan.n_jobs,
    )
    log_prob, square = (np.concatenate(part) for part in zip(*parts, strict=True))
    grown = NormalForest(family, planted.trees, leaves, *learned[:3])
    return FittedNormals(
        grown,
        log_prob,
        out_of_bag.mean_of_known(log_prob, w),
        out_of_bag.mean_of_known(square, w) ** 0.5,
    )


def target_variance(Y: Array, weights: Array) -> Array:
    """Return the variance of all targets, whatever their leaf, (K,)."""
    center = np.average(Y, axis=0, weights=weights)
    spread: Array = np.average((Y - center) ** 2, axis=0, weights=weights)
    return spread


def fill_leaves(
    leaves: NormalLeaves, trees: Trees, overall: Array
) -> tuple[NormalLeaves, NormalLeaves, Array]:
    """The leaves with those filled to which nothing came, what is around each of them, and the
    variance there, (K,); ``overall`` is that of all rows."""
    wider = normal_surroundings.widen_small_leaves(leaves, trees.children)
    return leaves.fill_empty(wider.mean), wider, wider.pooled_variance(overall)


def score_rows(members: TreePredictions, learned: NormalTuning) -> tuple[Array, Array]:
    """Log-density, summed over targets, and mean squared error of each row."""
    square = np.mean((members.target - members.mean()) ** 2, axis=1)
    log_p = members.log_prob(learned).sum(axis=1)
    return log_p, np.where(members.has_prediction(), square, np.nan)
