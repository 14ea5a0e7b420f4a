"""Rows as those trees see them that did not grow from them, and forests finished by these.

They teach how leaves become predictions, and how well they do. On rows that are not in memory
together they are a sample: leaves know the rows of their trees, and may know all others too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families.family import Family, Places
from posterity.trees.forests import forest
from posterity.trees.forests.forest import Forest, ForestPlan, GrownTrees, L, TargetKind
from posterity.trees.structure import Trees

F = TypeVar("F", bound=Forest)

_MOST_ROWS = 1 << 12  # to learn two numbers from: the sharpness to two hundredths
_MOST_NUMBERS = 1 << 22


def unpack_columns(packed: NDArray[np.uint8], places: Places) -> NDArray[np.bool_]:
    """Some columns of bits that ``np.packbits`` has packed by rows.

    Examples
    --------
    >>> packed = np.packbits([[False] * 9 + [True]], axis=1)
    >>> unpack_columns(packed, np.array([0, 9]))
    array([[False,  True]])
    """
    shifted = packed[:, places >> 3] >> (7 - (places & 7)).astype(np.uint8)
    return (shifted & 1).astype(np.bool_)


def choose_rows(n_rows: int, width: int) -> Places:
    """Rows enough to learn two numbers from, always the same; ``width`` numbers are held of each.

    Examples
    --------
    >>> choose_rows(4, 10), len(choose_rows(1_000_000, 10)), len(choose_rows(1_000_000, 10_000))
    (array([0, 1, 2, 3], dtype=int32), 4096, 419)
    """
    most = min(_MOST_ROWS, max(_MOST_NUMBERS // width, 1))
    if n_rows <= most:
        return np.arange(n_rows, dtype=np.int32)
    chosen = np.random.default_rng(0).choice(n_rows, most, replace=False)
    return np.sort(chosen).astype(np.int32)


def rows_at_once(n_trees: int, width: int) -> int:
    """Number of rows that are looked at together, where ``width`` numbers are held of each."""
    return max(_MOST_NUMBERS // max(n_trees, width), 1)


def mean_of_known(values: Array, weights: Array) -> float:
    """The weighted mean of what is known; NaN where nothing is."""
    known = ~np.isnan(values) & (weights > 0.0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else np.nan


_PARTS = 10
_ENOUGH = 512  # rows held out: the sharpness is then known to a twentieth


def grow_held_out(
    family: Family,
    X: Any,
    rows: Any,
    Y: Array,
    weights: Array,
    kind: TargetKind[L, Any],
    plan: ForestPlan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None,
) -> tuple[GrownTrees[L], Places]:
    """Trees that have each seen nine tenths of the rows, and the rows that one has not seen.

    There are ten of them, or of more than 512 rows as many as hold out 512. Where all rows are
    equal, nothing is held out.
    """
    counts = weights > 0.0
    part = _assign_parts(X, Y, groups, family.column_order())
    n_trees = min(_PARTS, -(-_PARTS * _ENOUGH // len(part)))
    seen = part != np.arange(n_trees)[:, None]
    seen |= ~np.any(seen & counts, axis=1, keepdims=True)  # no tree grows from nothing

    def grow(places: NDArray[np.intp], rng: np.random.Generator) -> tuple[Trees, L]:
        target, drawn = Y[places], weights[places]
        return plan.grow_tree(family, rows, places.astype(np.int32), target, drawn, kind, rng)

    children = zip(seen, rng.spawn(n_trees), strict=True)
    grown = [grow(np.flatnonzero(one & counts), child) for one, child in children]
    trees, leaves = zip(*grown, strict=True)
    is_new = ~seen.all(axis=0)
    unseen = np.flatnonzero(is_new | ~is_new.any()).astype(np.int32)
    return GrownTrees(Trees.join(trees), list(leaves), np.packbits(seen, axis=1)), unseen


def _assign_parts(
    X: Any, Y: Array, groups: NDArray[np.int32] | None, order: NDArray[np.int32] | None = None
) -> NDArray[np.intp]:
    """The part of each row, from 0 to 9: by group, or in turn in the order of the targets.

    Equal rows are in the same part, so that a weight of two and two equal rows are the same.

    Examples
    --------
    >>> Y = np.array([[3.0], [1.0], [3.0], [2.0], [4.0]])
    >>> _assign_parts(np.zeros((5, 1)), Y, None)
    array([2, 0, 2, 1, 3])
    """
    if groups is not None:
        return groups.astype(np.intp) % _PARTS
    keys = (*Y.T, _project_rows(X, len(Y), order))
    rank = np.lexsort(keys[::-1])
    is_new = np.any([np.diff(key[rank]) != 0.0 for key in keys], axis=0)
    part = np.empty(len(Y), dtype=np.intp)
    part[rank] = np.concatenate([[0], np.cumsum(is_new)]) % _PARTS
    return part


def _project_rows(X: Any, n: int, order: NDArray[np.int32] | None) -> Array:
    """One number for each row, equal for equal rows; zero where rows are not numbers."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return np.zeros(n)
    direction = np.random.default_rng(0).standard_normal(X.shape[1])
    rows = X if order is None else X[:, order]
    return np.sum(np.nan_to_num(rows) * direction, axis=1)


@dataclass(frozen=True, eq=False)
class FittedForest(Generic[F]):
    """A forest, and how it does on rows by those of its trees that have not seen them."""

    forest: F
    oob_log_prob: Array | None  # (N,), of all targets of a row; NaN where every tree has seen it
    oob_log_score: float
    oob_score: float  # the accuracy of classes, or the mean squared error of numbers


@dataclass(frozen=True, eq=False)
class OutOfBagRows:
    """Some rows, and a bit for each tree and row: whether the tree has seen the row."""

    X: Array  # (r, D)
    target: NDArray[Any]  # (r, ...)
    weights: Array  # (r,)
    seen: NDArray[np.bool_]  # (T, r)

    def leaves(self, family: Family, trees: Trees) -> NDArray[np.int32]:
        """Their leaves in trees that did not grow from them, else -1; (T, r)."""
        places = np.arange(len(self.X), dtype=np.int32)
        return Forest(family, trees).router.leaves(self.X, places, self.seen)


def fit_forest(
    family: Family,
    X: Any,
    target: NDArray[Any],
    weights: Array | None,
    kind: TargetKind[L, F],
    plan: ForestPlan,
    rng: np.random.Generator,
    groups: NDArray[np.int32] | None = None,
) -> FittedForest[F]:
    """Grow a forest from rows in memory.

    Parameters
    ----------
    family : Family
        The tests, fitted to X.
    X : array (N, D), or what the family takes
    target : array (N,) or (N, K)
        Classes from 0 on; or numbers, that are independent of each other where a leaf is known.
    weights : array (N,), optional
        How often each row is there.
    kind : TargetKind
    plan : ForestPlan
    rng : numpy.random.Generator
    groups : array (N,), optional
        Groups, from 0, of rows that are alike: a tree draws all rows of a group, or none.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees.families import columns
    >>> from posterity.trees.forests.class_forest import ClassTargets
    >>> from posterity.trees.growth import growing
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> family = columns.Columns().adapt_to(X)
    >>> plan = ForestPlan(n_trees=20, rules=growing.GrowthRules(n_tests=2))
    >>> y, rng = (X[:, 0] > 0).astype(np.int32), np.random.default_rng(0)
    >>> fitted = fit_forest(family, X, y, None, ClassTargets(2), plan, rng)
    >>> fitted.oob_score > 0.95
    True
    >>> log_p, epistemic = fitted.forest.average(np.array([[2.0, 0.0], [-2.0, 0.0]]))
    >>> np.exp(log_p).round(1)
    array([[0., 1.],
           [1., 0.]])
    """
    w = np.ones(len(target)) if weights is None else weights
    rows, overall = family.prepare_rows(X), kind.summarise(target, w)
    planted = forest.grow_trees(family, rows, target, w, kind, plan, rng, groups=groups)
    judges, unseen = planted, np.arange(len(target), dtype=np.int32)
    if kind.holds_out and plan.holds_out:
        judges, unseen = grow_held_out(family, X, rows, target, w, kind, plan, rng, groups)
    scores = kind.score_leaves(judges.join_leaves(), judges.trees, overall)
    router = Forest(family, judges.trees).router

    def gather(places: Places) -> Any:
        found = router.leaves(X, places, unasked=unpack_columns(judges.seen, places))
        return scores.gather(found, target[places], w[places], np.zeros(len(places)))

    n_trees = judges.trees.n_trees
    held, to_learn = kind.count_numbers(n_trees, overall)
    learned = scores.learn(gather(unseen[choose_rows(len(unseen), to_learn)]), plan)
    parts = forest.map_blocks(
        lambda places: scores.score(gather(places), learned),
        len(target),
        rows_at_once(n_trees, held),
        plan.n_jobs,
    )
    log_prob, score = (np.concatenate(part) for part in zip(*parts, strict=True))
    leaves = planted.join_leaves()
    grown = kind.make_forest(family, planted.trees, leaves, overall, learned)
    return _conclude(grown, log_prob, score, w)


def build_forest(
    family: Family,
    trees: Trees,
    own: L,
    counted: L,
    kind: TargetKind[L, F],
    overall: Array,
    judges: OutOfBagRows,
    plan: ForestPlan,
) -> FittedForest[F]:
    """A forest whose leaves know all rows, or those of their trees if judges score these higher.

    Few trees predict classes better where all rows are counted in their leaves, many where each
    counts its own sample. Where all rows were counted, each judge is first taken out of its own
    leaves. The log-probabilities are those of the judges.
    """
    found, w = judges.leaves(family, trees), judges.weights

    def fit_leaves(leaves: L, of_judges: Array) -> FittedForest[F]:
        scores = kind.score_leaves(leaves, trees, overall)
        unseen = scores.gather(found, judges.target, w, of_judges)
        learned = scores.learn(unseen, plan)
        grown = kind.make_forest(family, trees, leaves, overall, learned)
        return _conclude(grown, *scores.score(unseen, learned), w)

    fitted = [fit_leaves(counted, w)]
    if kind.keeps_samples:
        fitted.append(fit_leaves(own, np.zeros(len(w))))
    return max(fitted, key=lambda one: one.oob_log_score)


def _conclude(grown: F, log_prob: Array, score: Array, weights: Array) -> FittedForest[F]:
    """A forest with the means of its scores."""
    log_score = mean_of_known(log_prob, weights)
    return FittedForest(grown, log_prob, log_score, mean_of_known(score, weights))


def choose_weighted_rows(weights: Array, width: int) -> NDArray[np.int32]:
    """Rows that count, enough to judge by; see :func:`choose_rows`.

    Examples
    --------
    >>> choose_weighted_rows(np.array([1.0, 0.0, 2.0]), width=10)
    array([0, 2], dtype=int32)
    """
    present = np.flatnonzero(weights).astype(np.int32)
    return present[choose_rows(len(present), width)]


def count_in_leaves(
    forest: Forest,
    sizes: list[int],
    X: Array,
    count: Callable[[NDArray[np.int32], slice, int], L],
    n_jobs: int | None = None,
) -> list[L]:
    """Statistics of the leaves of each tree.

    Parameters
    ----------
    forest : Forest
    sizes : list of T
        How many leaves each tree has.
    X : array (n, D)
    count : callable
        The leaf of each row of a slice, that slice, and the number of leaves, to what they know.
    n_jobs : int, optional
    """
    firsts = np.cumsum([0, *sizes[:-1]])
    step, parts = forest.router.rows_at_once, list[L]()
    for start in range(0, len(X), step):
        span = slice(start, min(start + step, len(X)))
        found = (forest.apply(X[span], n_jobs) - firsts).T.astype(np.int32)
        new = [count(leaf, span, n) for leaf, n in zip(found, sizes, strict=True)]
        parts = add_counts(parts, new) if parts else new
    return parts


def add_counts(parts: list[L], more: list[L]) -> list[L]:
    """Add the statistics of the leaves of each tree."""
    return [one.add(other) for one, other in zip(parts, more, strict=True)]
