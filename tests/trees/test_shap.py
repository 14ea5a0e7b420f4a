"""Shapley values of boosted trees, beside the definition: a sum over all subsets of columns."""

import itertools
import math

import numpy as np
import pytest
from support.for_each import for_each

from posterity.trees.boosting.boosted_trees import BoostedTrees
from posterity.trees.boosting.catalogue import Catalogue
from posterity.trees.boosting.growing import Grower
from posterity.trees.boosting.shap import find_shapley_values
from posterity.trees.boosting.tree_records import TreeRules
from posterity.trees.families import columns, projections


def problem(growth, n_outputs, n_members=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)).round(1)
    X[::6, 2] = np.nan
    weak = columns.Columns().adapt_to(X)
    catalogue = Catalogue.from_rows(weak, X, np.arange(90, dtype=np.int32), weak.catalogue())
    members = []
    with Grower.open(catalogue.encode_rows(X, np.arange(90, dtype=np.int32))) as grower:
        for _ in range(n_members):
            rounds = []
            for depth in (4, 1, 3):
                slopes = rng.normal(size=(90, n_outputs)) + X[:, :1] + 2.0 * np.isnan(X[:, 2:3])
                rules = TreeRules(growth=growth, max_depth=depth)
                tree = grower.grow(slopes, np.ones_like(slopes), np.ones(90), rules, rng)
                shape = (tree.n_leaves, n_outputs)
                rounds.append((tree, rng.normal(size=shape), rng.random(shape) + 0.2))
            members.append(BoostedTrees.from_rounds(catalogue, rng.normal(size=n_outputs), rounds))
    return X, weak, members


def expect(trees, weak, x, known, t, node, leaves):
    """The mean value of the leaves below a node, where only some columns are known, and cover."""
    if node < 0 or (trees.children is None and node >= trees.nodes[t + 1] - trees.nodes[t]):
        leaf = trees.leaves[t] + (leaves if trees.children is None else ~node)
        return trees.values[leaf], np.mean(trees.precisions[leaf])
    at = trees.nodes[t] + node
    sides = []
    for side in (0, 1):
        if trees.children is None:
            below = (node + 1, leaves + (side << node))
        else:
            below = (int(trees.children[at, side]), 0)
        sides.append(expect(trees, weak, x, known, t, *below))
    cover = sides[0][1] + sides[1][1]
    mean = (sides[0][0] * sides[0][1] + sides[1][0] * sides[1][1]) / cover
    test = trees.tests[at : at + 1]
    if weak.columns_of(test)[0] not in known:
        return mean, cover
    one = np.zeros(1, dtype=np.int32)
    answer = weak.respond(x[None], one, test[None], one)[0, 0]
    return sides[0 if answer <= trees.thresholds[at] else 1][0], cover


def value_of(trees, weak, x, known):
    start = 0 if len(trees.tests) else -1
    parts = [expect(trees, weak, x, known, t, start, 0)[0] for t in range(trees.n_trees)]
    return trees.offset[0] + sum(parts)


def shapley_by_hand(trees, weak, x):
    D = len(x)
    found = np.zeros((D, trees.values.shape[1]))
    for j in range(D):
        others = [k for k in range(D) if k != j]
        for size in range(D):
            weight = math.factorial(size) * math.factorial(D - size - 1) / math.factorial(D)
            for known in itertools.combinations(others, size):
                with_j = value_of(trees, weak, x, {*known, j})
                found[j] += weight * (with_j - value_of(trees, weak, x, set(known)))
    return found


@for_each("growth", ["oblivious", "leaf"])
@for_each("n_outputs", [1, 2])
def test_shapley_values_are_those_of_all_subsets_and_sum_to_the_latents(growth, n_outputs):
    X, weak, members = problem(growth, n_outputs)
    joined = BoostedTrees.join(members)
    found, expected = find_shapley_values(joined, weak, X)
    total = expected + found.sum(axis=1)
    np.testing.assert_allclose(total, joined.moments(weak, X)[0], atol=1e-10)
    for i in (0, 1, 6):
        by_hand = [shapley_by_hand(member, weak, X[i]) for member in members]
        np.testing.assert_allclose(found[i], np.mean(by_hand, axis=0), atol=1e-10)
    np.testing.assert_allclose(
        expected, np.mean([value_of(m, weak, X[0], set()) for m in members], axis=0)
    )


def test_trees_without_splits_explain_nothing_and_other_families_are_refused():
    X, weak, members = problem("oblivious", 1, n_members=1)
    found, expected = find_shapley_values(members[0].truncate(0), weak, X)
    assert not found.any()
    np.testing.assert_array_equal(expected, members[0].offset[0])
    with pytest.raises(TypeError, match="columns"):
        find_shapley_values(members[0], projections.Projections(), X)
