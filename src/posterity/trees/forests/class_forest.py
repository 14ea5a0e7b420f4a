"""Forests whose leaves count classes: they average the probabilities of their trees.  [P9 9.10]"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array
from posterity.inference.conjugate import apply_rule_of_succession
from posterity.page_forms import Form
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import class_tuning, forest
from posterity.trees.forests.class_leaves import ClassLeaves, LeafTables
from posterity.trees.forests.class_tuning import LeafCounts, UnseenRows
from posterity.trees.forests.forest import Forest
from posterity.trees.growth.criteria import ClassCriterion
from posterity.trees.structure import Trees

_PRIOR_WEIGHT = 1.0  # rows: small sides of a split pay for their probabilities
_MOST_NUMBERS = 1 << 22  # probabilities that are worked on at once


@dataclass(frozen=True, eq=False)
class ClassForest(Forest):
    """Trees, the counts of classes in their leaves, and how these become probabilities.

    See :mod:`posterity.trees.forests.class_leaves`; the base is how often classes are met at all.
    """

    leaves: ClassLeaves
    base: Array  # (C,)
    concentration: float
    sharpness: float

    @functools.cached_property
    def _tables(self) -> LeafTables:
        return LeafTables.from_leaves(self.leaves, self.base, self.concentration)

    def check_consistency(self) -> None:
        """Raise ValueError unless every leaf has its counts, and every class its frequency."""
        super().check_consistency()
        validation.require(isinstance(self.leaves, ClassLeaves), "the leaves count no classes.")
        self.leaves.check_consistency()
        n_leaves = self.trees.n_leaves
        validation.require(self.leaves.n_leaves == n_leaves, f"there are not {n_leaves} leaves.")
        validation.require_array(self.base, "base", np.float64, (self.leaves.n_classes,))
        validation.require_positive(self.concentration, "concentration")
        validation.require_positive(self.sharpness, "sharpness")

    def calibrate(self, X: Any, codes: NDArray[np.int32]) -> ClassForest:
        """A copy whose concentration and sharpness are learned from rows that no tree has seen."""
        found = self.router.leaves(X, np.arange(len(codes), dtype=np.int32))
        unseen = UnseenRows(found, codes, np.ones(len(codes)), np.zeros(len(codes)))
        counts = LeafCounts.from_leaves(self.leaves, self.base)
        n_trees = self.trees.n_trees
        learned = class_tuning.learn_class_tuning(counts, unseen, n_trees, None, None)
        return dataclasses.replace(
            self, concentration=learned.concentration, sharpness=learned.sharpness
        )

    def average(self, X: Any, n_jobs: int | None = None) -> tuple[Array, Array]:
        """Log-probabilities (n, C), and the share (n,) of their entropy that is disagreement."""
        log_p, epistemic = np.empty((len(X), len(self.base))), np.empty(len(X))
        tables, router = self._tables, self.router

        def write(places: Places) -> None:
            block = slice(places[0], places[-1] + 1)
            found = router.leaves(X, places)
            epistemic[block] = tables.log_average(found, self.sharpness, log_p[block])

        most = min(router.rows_at_once, max(_MOST_NUMBERS // len(self.base), 1))
        forest.map_blocks(write, len(X), most, n_jobs)
        return log_p, epistemic

    def page_form(self) -> Form:
        """Return the form from which a page computes the prediction."""
        nodes, order = self.trees.page_form(self.family.tested_columns())
        leaves = self.leaves
        start, sizes = leaves.start(), leaves.sizes.astype(np.int64)[order]
        first = np.repeat(start[:-1][order] - np.cumsum(sizes) + sizes, sizes)
        places = first + np.arange(len(first))
        return {
            "kind": "class_forest",
            "nodes": nodes,
            "sizes": sizes,
            "classes": leaves.classes[places],
            "counts": leaves.counts[places],
            "base": self.base.tolist(),
            "concentration": self.concentration,
            "sharpness": self.sharpness,
        }


@dataclass(frozen=True)
class ClassTargets:
    """Trees that predict classes, numbered from 0."""

    n_classes: int

    holds_out: ClassVar[bool] = False
    keeps_samples: ClassVar[bool] = True

    @property
    def criterion(self) -> ClassCriterion:
        """The evidence of the counts on both sides."""
        return ClassCriterion(self.n_classes, _PRIOR_WEIGHT)

    def targets(self, y: Array) -> NDArray[np.int32]:
        """Numbers of classes, (n,)."""
        return y.astype(np.int32)

    def leaves(
        self, leaf: NDArray[np.int32], target: NDArray[Any], weights: Array, n_leaves: int
    ) -> ClassLeaves:
        """How often each class came to each leaf."""
        return ClassLeaves.from_rows(leaf, target, weights, n_leaves, self.n_classes)

    def summarise(self, target: NDArray[Any], weights: Array) -> Array:
        """How probable classes are before anything is known of a row, (C,), > 0."""
        counts = np.bincount(target, weights=weights, minlength=self.n_classes)
        return apply_rule_of_succession(counts.astype(np.float64, copy=False))

    def count_numbers(self, n_trees: int, overall: Array) -> tuple[int, int]:
        """A probability a class, twice where rows are learned from."""
        del n_trees
        return len(overall), class_tuning.TIMES * len(overall)

    def score_leaves(self, leaves: ClassLeaves, trees: Trees, overall: Array) -> LeafCounts:
        """The counts of leaves, and the frequencies from which they start."""
        del trees
        return LeafCounts.from_leaves(leaves, overall)

    def make_forest(
        self,
        family: Family,
        trees: Trees,
        leaves: ClassLeaves,
        overall: Array,
        learned: class_tuning.ClassTuning,
    ) -> ClassForest:
        """The forest of these counts, whose base is the frequencies of classes."""
        return ClassForest(family, trees, leaves, overall, *learned[:2])
