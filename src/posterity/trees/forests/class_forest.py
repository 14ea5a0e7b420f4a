"""Forests whose leaves count classes: they average the probabilities of their trees.  [P9 9.10]"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import validation
from posterity.arrays import Array
from posterity.inference.conjugate import apply_rule_of_succession
from posterity.page_forms import Form
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import class_tuning, forest, out_of_bag
from posterity.trees.forests.class_average import LeafTables
from posterity.trees.forests.class_leaves import ClassLeaves
from posterity.trees.forests.class_tuning import ClassTuning, LeafCounts, UnseenRows
from posterity.trees.forests.forest import Forest, ForestPlan
from posterity.trees.forests.kinds import ClassTargets

_MOST_NUMBERS = 1 << 22  # probabilities that are worked on at once


@dataclass(frozen=True, eq=False)
class ClassForest(Forest):
    """Trees, the counts of classes in their leaves, and how these become probabilities.

    See :mod:`posterity.trees.forests.class_average`; the base is how often classes are met at all.
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


@dataclass(frozen=True, eq=False)
class FittedClasses:
    """A forest, and how it does on rows by those of its trees that have not seen them."""

    forest: ClassForest
    oob_log_prob: Array | None  # (N,), of the own class; NaN where every tree has seen the row
    oob_log_score: float
    oob_accuracy: float


def fit_classes(
    family: Family,
    X: Any,
    codes: NDArray[np.int32],
    weights: Array | None,
    n_classes: int,
    plan: ForestPlan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> FittedClasses:
    """Grow a forest.

    Parameters
    ----------
    family : Family
        The tests, fitted to X.
    X : array (N, D), or what the family takes
    codes : array (N,)
        Classes from 0 to n_classes - 1.
    weights : array (N,), optional
        How often each row is there.
    n_classes : int
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
    >>> plan = ForestPlan(n_trees=20, rules=growing.GrowthRules(n_tests=2))
    >>> rng = np.random.default_rng(0)
    >>> fitted = fit_classes(family, X, (X[:, 0] > 0).astype(np.int32), None, 2, plan, rng)
    >>> fitted.oob_accuracy > 0.95
    True
    >>> log_p, epistemic = fitted.forest.average(np.array([[2.0, 0.0], [-2.0, 0.0]]))
    >>> np.exp(log_p).round(1)
    array([[0., 1.],
           [1., 0.]])
    """
    w = np.ones(len(codes)) if weights is None else weights
    rows = family.prepare_rows(X)
    kind = ClassTargets(n_classes)
    planted = forest.grow_trees(family, rows, codes, w, kind, plan, rng, groups=groups)
    leaves, base = ClassLeaves.join(planted.leaves), class_frequencies(codes, w, n_classes)
    left_out = out_of_bag.OutOfBag(Forest(family, planted.trees).router, X, planted.seen)

    def gather_unseen(places: Places) -> UnseenRows:
        own = np.zeros(len(places))
        return UnseenRows(left_out.leaves(places), codes[places], w[places], own)

    counts, sample = (
        LeafCounts.from_leaves(leaves, base),
        gather_unseen(out_of_bag.choose_rows(len(codes), class_tuning.TIMES * n_classes)),
    )
    learned = class_tuning.learn_class_tuning(
        counts, sample, plan.n_trees, plan.concentration, plan.sharpness
    )
    parts = forest.map_blocks(
        lambda places: score_rows(counts, gather_unseen(places), learned),
        len(codes),
        out_of_bag.rows_at_once(plan.n_trees, n_classes),
        plan.n_jobs,
    )
    log_prob, is_right = (np.concatenate(part) for part in zip(*parts, strict=True))
    grown = ClassForest(family, planted.trees, leaves, base, *learned[:2])
    return FittedClasses(
        grown,
        log_prob,
        out_of_bag.mean_of_known(log_prob, w),
        out_of_bag.mean_of_known(is_right, w),
    )


def class_frequencies(codes: NDArray[np.int32], weights: Array, n_classes: int) -> Array:
    """How probable classes are before anything is known of a row, (C,), > 0."""
    counts = np.bincount(codes, weights=weights, minlength=n_classes)
    return apply_rule_of_succession(counts.astype(np.float64, copy=False))


def score_rows(counts: LeafCounts, unseen: UnseenRows, learned: ClassTuning) -> tuple[Array, Array]:
    """Log-probability of its own class, and whether it is the most probable one, of each row."""
    known = np.any(unseen.found >= 0, axis=0)
    if not known.any():
        return np.full(len(known), np.nan), np.full(len(known), np.nan)
    log_p = counts.log_probabilities(unseen, learned)
    own = np.take_along_axis(log_p, unseen.target[:, None], axis=1)[:, 0]
    is_right = np.argmax(log_p, axis=1) == unseen.target
    return np.where(known, own, np.nan), np.where(known, is_right, np.nan)
