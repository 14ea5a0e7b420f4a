"""Trees and ferns grow: draw tests for all nodes of a level, ask them, search, split.

A level is one draw, one look at the rows that are not in leaves yet, and one search, so that a tree
costs time in proportion to its rows and its depth. Ferns are trees where all nodes of a level have
one test and one threshold.  [P9 Sec 9.10]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families.family import Family, Places, Tests
from posterity.trees.growth import partition, quantising
from posterity.trees.growth.split_search import SplitSearch
from posterity.trees.structure import Trees

_DEEPEST = 1 << 30


@dataclass(frozen=True)
class GrowthRules:
    """Rules by which a tree or fern grows.

    Parameters
    ----------
    n_tests : int
        Tests that are drawn for each node, which takes the best of them.
    max_depth : int, optional
        Splits between the root and a leaf, at most.
    min_samples_leaf : float
        Weight that each side of a split has, at least.
    max_tries : int
        How often tests are drawn for a node, while none of them splits it.
    """

    n_tests: int
    max_depth: int | None = None
    min_samples_leaf: float = 1.0
    max_tries: int = 8

    def __post_init__(self) -> None:
        """Refuse what no tree can grow by."""
        for name in ("n_tests", "max_depth", "max_tries"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} is {value}; it must be at least 1.")
        if not self.min_samples_leaf >= 0.0:
            raise ValueError(
                f"min_samples_leaf is {self.min_samples_leaf}; it must not be negative."
            )


class SplitCriterion(Protocol):
    """The criterion of a good split."""

    def start_search(self, target: NDArray[Any], weights: Array) -> SplitSearch:
        """The search for splits of a tree or fern of these rows."""
        ...


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree, and where the rows are that it grew from."""

    tree: Trees
    leaf: NDArray[np.int32]  # (m,)


def grow(
    family: Family,
    rows: Any,
    places: Places,
    target: NDArray[Any],
    weights: Array,
    criterion: SplitCriterion,
    rules: GrowthRules,
    rng: np.random.Generator,
) -> GrownTree:
    """A tree of some of the rows.

    Parameters
    ----------
    family : Family
        The tests to draw from.
    rows : Any
        All rows, best as ``family.prepared`` made them.
    places : array (m,)
        Which of them the tree grows from.
    target : array (m, ...)
        What is to be told, of each of these.
    weights : array (m,)
        How often each of these counts; more than zero.
    criterion : SplitCriterion
        What makes a split a good one.
    rules : Rules
        When to stop.
    rng : numpy.random.Generator
        Source of the tests.

    Returns
    -------
    GrownTree
        Leaves are in the order of ``places``. With rows in another order the same tree grows, if
        the family answers with codes; if with numbers, cuts in nodes of more than 64 different
        answers change.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees.growth.class_terms import ClassCriterion
    >>> from posterity.trees.families.columns import Columns
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> columns = Columns().adapt_to(X)
    >>> places, target = np.arange(4, dtype=np.int32), np.array([0, 0, 1, 0], dtype=np.int32)
    >>> rng = np.random.default_rng(0)
    >>> grown = grow(
    ...     columns, columns.prepare_rows(X), places, target, np.ones(4),
    ...     ClassCriterion(2), GrowthRules(1), rng,
    ... )
    >>> grown.tree.thresholds
    array([2.5, 3.5])
    >>> grown.leaf
    array([0, 0, 1, 2], dtype=int32)
    """
    search = criterion.start_search(target, weights)
    leaf = np.zeros(len(places), dtype=np.int32)
    now, levels, n_nodes, n_leaves = partition.root_frontier(len(places)), [], 0, 0
    while len(now.links):
        here = now.slots
        tests = family.draw(len(now.links), rules.n_tests, rng)
        answers = family.respond(rows, places.take(here), tests, now.which)
        w = weights.take(here)
        codes = quantising.encode_answers(answers, w, now.start, rng)
        splits = search.split_nodes(
            codes, target.take(here, axis=0), w, now.start, rules.min_samples_leaf
        )
        level = _TreeLevel.from_splits(tests, answers, codes, now.start, splits)
        counts = (n_nodes, n_leaves, rules.max_depth or _DEEPEST, rules.max_tries)
        now, settled = partition.split_frontier(now, codes, splits, leaf, counts)
        levels.append((level, settled))
        n_nodes, n_leaves = n_nodes + len(level.gains), n_leaves + settled.n_leaves
    return GrownTree(_build_tree(family, levels), leaf)


class _TreeLevel(NamedTuple):
    """The nodes that were split in one round."""

    tests: Tests  # (n, P)
    between: Array  # (n, 2), see quantising.margins
    gains: Array  # (n,)
    is_coded: bool

    @classmethod
    def from_splits(
        cls,
        tests: Tests,
        answers: NDArray[Any],
        codes: NDArray[np.uint8],
        start: NDArray[np.int64],
        splits: partition.NodeSplits,
    ) -> Self:
        split = np.flatnonzero(splits.test >= 0)
        between = quantising.margins(answers, codes, start, splits.test, splits.code)
        chosen = tests[split, splits.test[split]]
        return cls(chosen, between, splits.gain[split], answers.dtype == np.uint8)


def _build_tree(family: Family, levels: list[tuple[_TreeLevel, partition.LinkTargets]]) -> Trees:
    """The flat arrays of what was found level by level."""
    tests = np.concatenate([level.tests for level, _ in levels])
    between = np.concatenate([level.between for level, _ in levels])
    ends = np.empty(1 + 2 * len(tests), dtype=np.int32)
    for _, settled in levels:
        ends[settled.links] = settled.ends
    return Trees(
        roots=ends[:1],
        tests=tests,
        thresholds=quantising.thresholds(family, tests, between, is_coded=levels[0][0].is_coded),
        children=ends[1:].reshape(-1, 2),
        gains=np.concatenate([level.gains for level, _ in levels]).astype(np.float32),
        n_leaves=sum(settled.n_leaves for _, settled in levels),
    )


_MOST_LEVELS = 24


class _FernLevel(NamedTuple):
    test: Tests  # (P,)
    between: Array  # (1, 2), see quantising.margins
    gain: float
    is_coded: bool
    goes_right: NDArray[np.bool_]  # (m,), in the order of the rows that were asked


def grow_fern(
    family: Family,
    rows: Any,
    places: Places,
    target: NDArray[Any],
    weights: Array,
    criterion: SplitCriterion,
    rules: GrowthRules,
    rng: np.random.Generator,
) -> GrownTree:
    """A fern of some of the rows, as a complete tree of S levels, S at most ``max_depth``.

    Each level has the split, of those that ``n_tests`` tests offer, that gains most log-likelihood
    in all nodes of the level together. There are fewer levels where tests were drawn ``max_tries``
    times for one, and none of them parts the rows with ``min_samples_leaf`` on both sides, and
    where all nodes are as good as they can be. Leaves are numbered by the answers, the first
    counting most; some may have no rows.

    Parameters and what is returned are those of :func:`~posterity.trees.growth.growing.grow`. The
    gain of a level is shared out equally among its nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from posterity.trees.growth.class_terms import ClassCriterion
    >>> from posterity.trees.families.columns import Columns
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> columns = Columns().adapt_to(X)
    >>> places = np.arange(4, dtype=np.int32)
    >>> rules, rng = GrowthRules(2, max_depth=2), np.random.default_rng(0)
    >>> fern = grow_fern(
    ...     columns, columns.prepare_rows(X), places, places, np.ones(4),
    ...     ClassCriterion(4), rules, rng,
    ... )
    >>> sorted(fern.leaf.tolist())
    [0, 1, 2, 3]
    >>> fern.tree.children
    array([[ 1,  2],
           [-1, -2],
           [-3, -4]], dtype=int32)
    """
    if rules.max_depth is None or rules.max_depth > _MOST_LEVELS:
        raise ValueError(
            f"max_depth is {rules.max_depth}; a fern of S levels has 2**S leaves, and S must be "
            f"from 1 to {_MOST_LEVELS}."
        )
    search = criterion.start_search(target, weights)
    leaf = np.zeros(len(places), dtype=np.int32)
    levels: list[_FernLevel] = []
    while len(levels) < rules.max_depth:
        order = np.argsort(leaf, kind="stable")
        data = (rows, places[order], target[order], weights[order])
        level = _grow_level(family, data, _leaf_starts(leaf[order]), search, rules, rng)
        if level is None:
            break
        leaf[order] = 2 * leaf[order] + level.goes_right
        levels.append(level)
    no_tests = family.draw(1, 1, rng)[0, :0]
    return GrownTree(_build_fern(family, no_tests, levels), leaf)


def _leaf_starts(sorted_leaves: NDArray[np.int32]) -> NDArray[np.int64]:
    """Places at which the rows of each leaf that has any begin, and at which the last ones end."""
    steps = np.flatnonzero(np.diff(sorted_leaves)) + 1
    return np.concatenate([[0], steps, [len(sorted_leaves)]])


def _grow_level(
    family: Family,
    data: tuple[Any, Places, NDArray[Any], Array],
    start: NDArray[np.int64],
    search: SplitSearch,
    rules: GrowthRules,
    rng: np.random.Generator,
) -> _FernLevel | None:
    """One more level for rows that lie side by side in their leaves; None at the end."""
    rows, places, target, weights = data
    everywhere, ends = np.zeros(len(places), dtype=np.int32), np.array([0, len(places)])
    for _ in range(rules.max_tries):
        tests = family.draw(1, rules.n_tests, rng)
        answers = family.respond(rows, places, tests, everywhere)
        codes = quantising.encode_answers(answers, weights, ends, rng)
        k, code, gain = search.split_level(codes, target, weights, start, rules.min_samples_leaf)
        if k == partition.CLOSED:
            return None
        if k >= 0:
            chosen = np.array([[k], [code]], dtype=np.int32)
            between = quantising.margins(answers, codes, ends, *chosen)
            return _FernLevel(
                tests[0, k], between, gain, answers.dtype == np.uint8, codes[k] > code
            )
    return None


def _build_fern(family: Family, no_tests: Tests, levels: list[_FernLevel]) -> Trees:
    """The complete tree of these levels, with nodes numbered level by level."""
    n_nodes = 2 ** len(levels) - 1
    repeats = 2 ** np.arange(len(levels))
    children = 2 * np.arange(n_nodes)[:, None] + np.array([1, 2])
    tests = np.concatenate([no_tests, *(level.test[None] for level in levels)])
    between = np.concatenate([np.empty((0, 2)), *(level.between for level in levels)])
    is_coded = any(level.is_coded for level in levels)
    thresholds = quantising.thresholds(family, tests, between, is_coded=is_coded)
    gains = np.array([level.gain for level in levels]) / repeats
    return Trees(
        roots=np.full(1, 0 if levels else ~0, dtype=np.int32),
        tests=np.repeat(tests, repeats, axis=0),
        thresholds=np.repeat(thresholds, repeats),
        children=np.where(children < n_nodes, children, ~(children - n_nodes)).astype(np.int32),
        gains=np.repeat(gains, repeats).astype(np.float32),
        n_leaves=n_nodes + 1,
    )
