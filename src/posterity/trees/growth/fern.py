"""Ferns: trees where all nodes of a level have one test and one threshold.  [P9 Sec 9.10]"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from posterity.arrays import Array
from posterity.trees.families.family import Family, Places, Tests
from posterity.trees.growth import growing, partition, quantising
from posterity.trees.structure import Trees

_DEEPEST = 24


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
    criterion: growing.SplitCriterion,
    rules: growing.GrowthRules,
    rng: np.random.Generator,
) -> growing.GrownTree:
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
    >>> from posterity.trees.growth.class_splits import ClassCriterion
    >>> from posterity.trees.families.columns import Columns
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> columns = Columns().adapt_to(X)
    >>> places = np.arange(4, dtype=np.int32)
    >>> rules, rng = growing.GrowthRules(2, max_depth=2), np.random.default_rng(0)
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
    if rules.max_depth is None or rules.max_depth > _DEEPEST:
        raise ValueError(
            f"max_depth is {rules.max_depth}; a fern of S levels has 2**S leaves, and S must be "
            f"from 1 to {_DEEPEST}."
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
    return growing.GrownTree(_build_tree(family, no_tests, levels), leaf)


def _leaf_starts(sorted_leaves: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where the rows of each leaf that has any begin, and where the last ones end."""
    steps = np.flatnonzero(np.diff(sorted_leaves)) + 1
    return np.concatenate([[0], steps, [len(sorted_leaves)]])


def _grow_level(
    family: Family,
    data: tuple[Any, Places, NDArray[Any], Array],
    start: NDArray[np.int64],
    search: growing.SplitSearch,
    rules: growing.GrowthRules,
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


def _build_tree(family: Family, no_tests: Tests, levels: list[_FernLevel]) -> Trees:
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
