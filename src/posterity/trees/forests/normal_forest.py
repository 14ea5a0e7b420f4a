"""Forests whose leaves are normal: a prediction is the mixture of what their trees say."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posterity import page_forms, validation
from posterity.arrays import Array
from posterity.page_forms import Form
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import forest, normal_leaves, normal_tuning
from posterity.trees.forests.forest import Forest
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.growth.criteria import NormalCriterion
from posterity.trees.structure import Trees

_LEARNING = 8  # numbers held of each row and tree while concentration and sharpness are learned


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
        wider = normal_leaves.widen_small_leaves(self.leaves, self.trees.children)
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

    def score_leaves(
        self, leaves: NormalLeaves, trees: Trees, overall: Array
    ) -> normal_tuning.LeafNormals:
        """The leaves, those filled to which nothing came, and what is around each of them."""
        return normal_tuning.LeafNormals.from_leaves(leaves, trees.children, overall)

    def make_forest(
        self,
        family: Family,
        trees: Trees,
        leaves: NormalLeaves,
        overall: Array,
        learned: normal_tuning.NormalTuning,
    ) -> NormalForest:
        """The forest of these leaves."""
        filled = self.score_leaves(leaves, trees, overall).leaves
        return NormalForest(family, trees, filled, *learned[:3])
