"""Boosted trees of tests that are drawn anew in every round: for families with millions of them.

A round draws tests, codes what some rows answer, grows a tree, and forgets all tests but those of
the tree, which every row then answers. It holds a byte for each test and row that chooses, eight
million answers before they are coded, and what the outputs of all rows take.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from posterity import progress
from posterity.arrays import Array
from posterity.trees.boosting import sketching
from posterity.trees.boosting.boosted_trees import BoostedTrees, Round
from posterity.trees.boosting.candidates import FreshTests, answer_test
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.grown import GrownTree, TreeRules, sum_by_leaf
from posterity.trees.families import family

Derivatives = Callable[[Array], tuple[Array, Array]]
"""From latents (N, L) to slopes and curvatures (N, L) of each row's log-probability."""

_NO_LEAVES = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class FreshRules:
    """How trees of fresh tests are boosted.

    Parameters
    ----------
    n_rounds : int
        Trees to add.
    n_tests : int
        Tests that a round draws.
    learning_rate : float, default=0.1
        Of a Newton step of a leaf's value, what is added.
    tree : TreeRules
        How trees grow; monotone constraints are of no use here.
    n_rows : int, optional
        Rows that choose the tests of a round, drawn at random by weight; None: all.
    n_offsets : int, default=64
        The most thresholds of a test, at quantiles of what 4096 rows answer.
    n_directions : int, optional
        Random directions in the space of outputs along which tests are chosen; None: all outputs.
    """

    n_rounds: int
    n_tests: int
    learning_rate: float = 0.1
    tree: TreeRules = field(default_factory=TreeRules)
    n_rows: int | None = None
    n_offsets: int = 64
    n_directions: int | None = None


def boost_fresh_tests(
    weak: family.Family,
    rows: Any,
    derivatives: Derivatives,
    weights: Array,
    start: Array,
    rules: FreshRules,
    rng: np.random.Generator,
    n_jobs: int | None = None,
) -> tuple[BoostedTrees, Array]:
    """Trees that are added to given latents, and the latents after them, (N, L).

    The offset of the trees is zero. Training goes on from the latents of earlier trees where these
    are ``start``.

    Parameters
    ----------
    weak : Family
        Tests, fitted.
    rows : Any
        All rows, counted by ``len``.
    derivatives : callable
        From latents (N, L) to slopes and curvatures (N, L).
    weights : array (N,)
        How often rows count; rows of weight 0 only follow.
    start : array (N, L)
        Latents at which training begins.
    rules : FreshRules
        How.
    rng : Generator
        Draws rows and tests.
    n_jobs : int, optional
        Threads; the result does not depend on their number.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees import Projections
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = (X.sum(axis=1) > 0.0) * 1.0
    >>> def derivatives(A):
    ...     p = 1.0 / (1.0 + np.exp(-A))
    ...     return y[:, None] - p, p * (1.0 - p)
    >>> trees, A = boost_fresh_tests(
    ...     Projections(n_columns=2).adapt_to(X), X, derivatives, np.ones(300), np.zeros((300, 1)),
    ...     FreshRules(20, 10, tree=TreeRules(max_depth=1)), np.random.default_rng(0),
    ... )
    >>> trees.n_trees, round(float(np.mean((A[:, 0] > 0.0) == y)), 2)
    (20, 1.0)
    """
    latents, found = start.copy(), []
    counted = np.flatnonzero(weights > 0.0).astype(np.int32)
    tests = FreshTests(weak, rows, counted, rules.n_tests, rules.n_offsets, rng, n_jobs)
    catalogues: list[Catalogue] = []
    every = range(rules.n_rounds)
    for _ in progress.track(every, description="boosting", unit="rounds", size=lambda _: 1):
        slopes, curvatures = derivatives(latents)
        chosen = _draw_rows(counted, weights, rules.n_rows, rng)
        catalogue, tree = _grow_tree(tests, chosen, slopes, curvatures, weights, rules, rng)
        leaves = _find_leaves(weak, rows, catalogue, tree)
        G, H = (sum_by_leaf(leaves, x, weights, tree.n_leaves) for x in (slopes, curvatures))
        precisions = (H + rules.tree.prior_precision) / rules.learning_rate**2
        values = rules.learning_rate * G / (H + rules.tree.prior_precision)
        latents += values[leaves]
        found.append((tree, values, precisions))
        catalogues.append(catalogue)
    return _collect(tests, np.zeros(start.shape[1]), catalogues, found), latents


def _draw_rows(
    counted: family.Places, weights: Array, n_rows: int | None, rng: np.random.Generator
) -> family.Places:
    if n_rows is None or n_rows >= len(counted):
        return counted
    shares = weights[counted] / np.sum(weights[counted])
    drawn = rng.choice(counted, n_rows, replace=False, p=shares)
    return np.sort(drawn).astype(np.int32)


def _grow_tree(
    tests: FreshTests,
    chosen: family.Places,
    slopes: Array,
    curvatures: Array,
    weights: Array,
    rules: FreshRules,
    rng: np.random.Generator,
) -> tuple[Catalogue, GrownTree]:
    """A tree of fresh tests, and the catalogue of its tests alone."""
    coded = replace(tests, places=chosen).draw()
    # Rows that were drawn by weight count once each.
    counts = weights[chosen] if len(chosen) == len(tests.places) else np.ones(len(chosen))
    g, h = slopes[chosen], curvatures[chosen]
    if rules.n_directions is not None and rules.n_directions < g.shape[1]:
        order = sketching.order_outputs(coded.codes, g, counts)
        g, h = sketching.sketch_outputs(g, h, counts, order, rules.n_directions, rng)
    with Grower.open(coded.codes, tests.n_jobs) as grower:
        tree = grower.grow(g, h, counts, rules.tree, rng)
    used, which = np.unique(tree.tests, return_inverse=True)
    whole = coded.catalogue
    catalogue = Catalogue(whole.family, whole.tests[used], whole.cuts[used])
    return catalogue, replace(tree, tests=which.reshape(-1).astype(np.int64), leaves=_NO_LEAVES)


def _find_leaves(
    weak: family.Family, rows: Any, catalogue: Catalogue, tree: GrownTree
) -> NDArray[np.int32]:
    """The leaf of every row, which answers the tests of the tree."""
    places = np.arange(len(rows), dtype=np.int32)
    answers = [
        answer_test(weak, rows, places, catalogue.tests[j : j + 1])
        for j in range(len(catalogue.tests))
    ]
    cuts = catalogue.cuts[tree.tests, tree.codes]
    on_right = [~(answers[t] <= cut) for t, cut in zip(tree.tests, cuts, strict=True)]
    leaves = np.zeros(len(rows), dtype=np.int32)
    if tree.children is None:
        for d, side in enumerate(on_right):
            leaves += side.astype(np.int32) << d
        return leaves
    node = np.zeros(len(rows), dtype=np.int32) if len(on_right) else ~leaves
    for number, side in enumerate(on_right):  # a child that is a node comes later
        here = node == number
        node[here] = tree.children[number, side[here].astype(np.intp)]
    return ~node


def _collect(
    tests: FreshTests, offset: Array, catalogues: list[Catalogue], found: list[Round]
) -> BoostedTrees:
    if found:
        return BoostedTrees.from_rounds(catalogues, offset, found)
    empty = Catalogue(tests.weak, tests.no_tests, np.empty((0, 255)))
    return BoostedTrees.from_rounds(empty, offset, [])
