"""Forests whose leaves count classes: they average the probabilities of their trees.  [P9 9.10]

Concentration and sharpness are learned from rows that trees have not seen. A row meets all T trees
of a forest, but only about a third of them have not seen it in training. An average of m trees is
as rough as a share of m votes is: by the rule of succession, a class that m votes do not name has a
probability in proportion to 1 / m. So the concentration falls with the number of trees, about as
s (T / m)^gamma with gamma = 1, and the sharpness changes with the noise of the average, about as
log beta + delta (1 / m - 1 / T). What is learned are s and beta at T, and gamma and delta, from the
trees that have not seen a row and from every second one of these.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from posterity import compilation, validation
from posterity.arrays import Array
from posterity.inference.conjugate import apply_rule_of_succession
from posterity.page_forms import Form
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import forest
from posterity.trees.forests.class_leaves import ClassLeaves, LeafTables
from posterity.trees.forests.forest import Forest, ForestPlan
from posterity.trees.growth.class_terms import ClassCriterion
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
        learned = learn_class_tuning(counts, unseen, n_trees, None, None)
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
        """Counts of classes in each leaf."""
        return ClassLeaves.from_rows(leaf, target, weights, n_leaves, self.n_classes)

    def summarise(self, target: NDArray[Any], weights: Array) -> Array:
        """Probabilities of classes before anything is known of a row, (C,), > 0."""
        counts = np.bincount(target, weights=weights, minlength=self.n_classes)
        return apply_rule_of_succession(counts.astype(np.float64, copy=False))

    def count_numbers(self, n_trees: int, overall: Array) -> tuple[int, int]:
        """A probability a class, twice where rows are learned from."""
        del n_trees
        return len(overall), _TIMES * len(overall)

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
        learned: ClassTuning,
    ) -> ClassForest:
        """The forest of these counts, whose base is the frequencies of classes."""
        return ClassForest(family, trees, leaves, overall, *learned[:2])


_TIMES = 2  # that each row is held: with all trees and with every second one
_RANGES = (0.01, 100.0), (0.3, 20.0)
_TRENDS = forest.Trend(1.0, (0.0, 2.0)), forest.Trend(0.0, (-2.0, 2.0))
_CONSTANT = forest.Trend(0.0, (0.0, 0.0))  # of what is given, and not learned
_EXPECTED = np.array([0.0, 0.0, *(trend.expected for trend in _TRENDS)])
_PRECISIONS = np.array([*forest.PRECISIONS, 4.0, 4.0])


@dataclass(frozen=True, eq=False)
class UnseenRows:
    """Rows, the leaves to which trees would send them that have not seen them, and their classes.

    ``own`` is how much of its leaves a row itself is, which is then taken out of them.
    """

    found: NDArray[np.int32]  # (T, r), -1 where the tree has seen the row
    target: NDArray[np.int32]  # (r,)
    weights: Array  # (r,)
    own: Array  # (r,)

    def count_members(self) -> NDArray[np.int64]:
        """Number of trees that have not seen each row, (r,)."""
        return np.sum(self.found >= 0, axis=0)

    def take(self, rows: NDArray[np.bool_]) -> UnseenRows:
        """Some of the rows."""
        found = np.ascontiguousarray(self.found[:, rows])
        return UnseenRows(found, self.target[rows], self.weights[rows], self.own[rows])

    def add_halves(self) -> UnseenRows:
        """The rows, and again those of more than one tree with every second one of these.

        Examples
        --------
        >>> found = np.array([[5, 7], [6, -1]], dtype=np.int32)
        >>> rows = UnseenRows(found, np.zeros(2, dtype=np.int32), np.ones(2), np.zeros(2))
        >>> rows.add_halves().found
        array([[ 5,  7,  5],
               [ 6, -1, -1]], dtype=int32)
        """
        is_used = self.found >= 0
        is_kept = np.cumsum(is_used, axis=0) % 2 == 1
        halves = UnseenRows(
            np.where(is_kept, self.found, np.int32(-1)), self.target, self.weights, self.own
        ).take(self.count_members() > 1)
        pairs = zip(vars(self).values(), vars(halves).values(), strict=True)
        return UnseenRows(*(np.concatenate(pair, axis=-1) for pair in pairs))


class ClassTuning(NamedTuple):
    """Numbers by which averages over trees become probabilities, for all T trees and for fewer."""

    concentration: float  # of T trees
    sharpness: float  # of T trees
    n_trees: int
    gamma: float = 0.0
    delta: float = 0.0

    def of_members(self, m: NDArray[np.int64]) -> tuple[Array, Array]:
        """Concentration and sharpness for averages of m trees."""
        fewer, rougher = _compare_sizes(m, self.n_trees)
        s = self.concentration * np.exp(self.gamma * fewer)
        return s, self.sharpness * np.exp(self.delta * rougher)


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

    def means(self, unseen: UnseenRows, concentration: Array) -> tuple[Array, Array]:
        """Class probabilities averaged over trees, (r, C), and their slopes in log s, (r,)."""
        shape = (len(unseen.target), len(self.base))
        P, dP = np.zeros(shape), np.zeros(shape)
        leaves = (self.start, self.total, self.classes, self.counts, self.base)
        _mean_probabilities(unseen.found, unseen.target, unseen.own, *leaves, concentration, P, dP)
        return P, dP

    def log_probabilities(self, unseen: UnseenRows, learned: ClassTuning) -> Array:
        """Return the log-probabilities of all classes, (r, C)."""
        s, beta = learned.of_members(unseen.count_members())
        return log_softmax(beta[:, None] * np.log(self.means(unseen, s)[0]), axis=1)

    def gather(
        self, found: NDArray[np.int32], target: NDArray[np.int32], weights: Array, own: Array
    ) -> UnseenRows:
        """Rows as they are learned from and scored."""
        return UnseenRows(found, target, weights, own)

    def learn(self, unseen: UnseenRows, plan: ForestPlan) -> ClassTuning:
        """Concentration and sharpness of all trees of a plan."""
        given = plan.concentration, plan.sharpness
        return learn_class_tuning(self, unseen, plan.n_trees, *given)

    def score(self, unseen: UnseenRows, learned: ClassTuning) -> tuple[Array, Array]:
        """Log-probability of its class, and whether that is the most probable one, of each row."""
        known = unseen.count_members() > 0
        if not known.any():
            return np.full(len(known), np.nan), np.full(len(known), np.nan)
        log_p = self.log_probabilities(unseen, learned)
        own = _take_own_class(log_p, unseen.target)
        is_right = np.argmax(log_p, axis=1) == unseen.target
        return np.where(known, own, np.nan), np.where(known, is_right, np.nan)

    def loss(self, unseen: UnseenRows, n_trees: int, x: Array) -> tuple[float, Array]:
        """Minus the log score a row, minus the log prior of x, and its gradient.

        x is (log s, log beta, gamma, delta / m), where m trees have not seen a row on average. Each
        pair of a row and a tree that has not seen it counts the same: rows of many such trees are
        closest to those that all trees meet.
        """
        m = unseen.count_members()
        fewer, rougher = _compare_sizes(m, n_trees)
        rougher *= m.mean()
        s, beta = np.exp(x[0] + x[2] * fewer), np.exp(x[1] + x[3] * rougher)
        P, dP = self.means(unseen, s)
        A, dA, off = np.log(P), dP / P, x - _EXPECTED
        w = unseen.weights * m / m.mean()
        log_q = log_softmax(beta[:, None] * A, axis=1)
        by_s = w * beta * _above_mean(dA, log_q, unseen.target)
        by_beta = w * beta * _above_mean(A, log_q, unseen.target)
        value = w @ _take_own_class(log_q, unseen.target) - 0.5 * _PRECISIONS @ off**2
        slope = np.array([by_s.sum(), by_beta.sum(), by_s @ fewer, by_beta @ rougher])
        return -value / w.sum(), -(slope - _PRECISIONS * off) / w.sum()


def learn_class_tuning(
    counts: LeafCounts,
    unseen: UnseenRows,
    n_trees: int,
    concentration: float | None,
    sharpness: float | None,
) -> ClassTuning:
    """For ``n_trees`` trees, by rows that some of them have not seen; see :func:`forest.tune`."""
    left_out = (unseen.count_members() > 0) & (unseen.weights > 0.0)
    given = forest.settle((concentration, sharpness), left_out, unseen.weights)
    if given[0] is not None and given[1] is not None:
        return ClassTuning(given[0], given[1], n_trees)
    some = unseen.take(left_out)
    if np.any(some.count_members() < n_trees):
        some = some.add_halves()
    trends = [
        trend if value is None else _CONSTANT for value, trend in zip(given, _TRENDS, strict=True)
    ]
    x = forest.tune(lambda x: counts.loss(some, n_trees, x), given, _RANGES, trends)
    s, beta = np.exp(x[:2])
    delta = float(x[3] * some.count_members().mean())
    return ClassTuning(given[0] or float(s), given[1] or float(beta), n_trees, float(x[2]), delta)


def _compare_sizes(m: NDArray[np.int64], n_trees: int) -> tuple[Array, Array]:
    """Return log T / m and 1 / m - 1 / T, by which averages of m trees are rougher than of T."""
    at_least = np.maximum(m, 1)
    return np.log(n_trees / at_least), 1.0 / at_least - 1.0 / n_trees


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
    s: Array,
    P: Array,
    dP: Array,
) -> None:
    """See ``LeafCounts.means``; a row that no tree has left out gets the base.

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
            part, slope = 1.0 / (n + s[i]), s[i] / (n + s[i]) ** 2
            for k in range(start[leaf], start[leaf + np.uint64(1)]):
                c = classes[k]
                n_c = counts[k] - own[i] if c == target[i] else counts[k]
                P[i, c] += n_c * part
                dP[i, c] -= n_c * slope
            used[i] += 1.0
            share[i] += s[i] * part
            d_share[i] += n * slope
    for i in range(found.shape[1]):
        if used[i] == 0.0:
            used[i], share[i] = 1.0, 1.0
        for c in range(len(base)):
            P[i, c] = (P[i, c] + share[i] * base[c]) / used[i]
            dP[i, c] = (dP[i, c] + d_share[i] * base[c]) / used[i]
