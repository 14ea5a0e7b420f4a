"""Ferns are trees, with one test and one threshold a level."""

import numpy as np
import pytest
import tree_oracles
from support.for_each import for_each

from posterity.trees.families.projections import Projections
from posterity.trees.growth.class_terms import ClassCriterion
from posterity.trees.growth.growing import GrowthRules, grow, grow_fern
from posterity.trees.growth.normal_terms import NormalCriterion


def _data(n=400, D=5, C=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    y = np.argmax(X[:, :3] @ rng.normal(size=(3, C)) + 0.3 * rng.gumbel(size=(n, C)), axis=1)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y.astype(np.int32)


@for_each("codes", [True, False])
def test_a_fern_is_a_complete_tree_with_one_test_and_threshold_a_level(codes):
    X, y = _data()
    family, fern = tree_oracles.grown(
        grow_fern, X, y, ClassCriterion(4), GrowthRules(3, max_depth=5), codes=codes
    )
    assert fern.tree.n_leaves == 32
    assert len(fern.tree.thresholds) == 31
    for level in range(5):
        nodes = slice(2**level - 1, 2 ** (level + 1) - 1)
        assert len(np.unique(fern.tree.tests[nodes], axis=0)) == 1
        assert len(set(fern.tree.thresholds[nodes])) == 1
    assert np.array_equal(tree_oracles.leaf_of(family, fern.tree, X), fern.leaf)


def test_leaves_are_numbered_by_the_answers_first_test_first():
    X, y = _data()
    X = np.nan_to_num(X)
    _, fern = tree_oracles.grown(grow_fern, X, y, ClassCriterion(4), GrowthRules(3, max_depth=3))
    nodes = [0, 1, 3]
    answers = X[:, fern.tree.tests[nodes, 0]] > fern.tree.thresholds[nodes]
    assert np.array_equal(answers @ [4, 2, 1], fern.leaf)


def test_ferns_of_numbers_find_their_leaves_again():
    X, y = _data()
    X = np.nan_to_num(X)
    for criterion in (NormalCriterion(), NormalCriterion(own_variance=False)):
        family, fern = tree_oracles.grown(
            grow_fern,
            X,
            X[:, :2] + y[:, None],
            criterion,
            GrowthRules(3, max_depth=4),
            family=Projections(),
            codes=False,
        )
        assert np.array_equal(tree_oracles.leaf_of(family, fern.tree, X), fern.leaf)
        assert fern.tree.n_leaves == 16


def test_a_fern_of_one_level_is_a_tree_of_one_level():
    X, y = _data()
    _, fern = tree_oracles.grown(
        grow_fern, X, y, ClassCriterion(4), GrowthRules(4, max_depth=1, min_samples_leaf=3)
    )
    _, tree = tree_oracles.grown(
        grow, X, y, ClassCriterion(4), GrowthRules(4, max_depth=1, min_samples_leaf=3)
    )
    assert np.array_equal(fern.leaf, tree.leaf)
    assert np.array_equal(fern.tree.thresholds, tree.tree.thresholds)
    assert np.allclose(fern.tree.gains, tree.tree.gains)


def test_gains_add_up_to_what_the_fern_gains():
    X, y = _data()
    _, fern = tree_oracles.grown(grow_fern, X, y, ClassCriterion(4), GrowthRules(3, max_depth=6))
    ones = np.ones(len(y))
    leaves = [fern.leaf == l for l in np.unique(fern.leaf)]
    after = sum(tree_oracles.class_log_likelihood(y[l], ones[l], 4) for l in leaves)
    before = tree_oracles.class_log_likelihood(y, ones, 4)
    assert float(fern.tree.gains.sum()) == pytest.approx(after - before, rel=1e-5)


def test_a_fern_stops_where_all_its_leaves_are_pure_and_where_no_test_parts_the_rows():
    y = np.repeat([0, 1], 10).astype(np.int32)
    _, pure = tree_oracles.grown(
        grow_fern, y[:, None] + 0.0, y, ClassCriterion(2), GrowthRules(1, max_depth=9)
    )
    assert pure.tree.n_leaves == 2
    _, flat = tree_oracles.grown(
        grow_fern, np.zeros((20, 1)), y, ClassCriterion(2), GrowthRules(1, max_depth=9)
    )
    assert flat.tree.n_leaves == 1
    assert flat.tree.roots.tolist() == [-1]
    assert flat.tree.tests.shape == (0, 1)


def test_levels_that_find_nothing_are_tried_again():
    X = np.zeros((8, 30))
    X[4:, 17] = 1.0
    y = np.repeat([0, 1], 4).astype(np.int32)
    _, fern = tree_oracles.grown(
        grow_fern, X, y, ClassCriterion(2), GrowthRules(1, max_depth=2, max_tries=1000)
    )
    assert fern.tree.tests.tolist() == [[17]]


def test_weights_count_like_repeated_rows():
    X, y = _data(n=100)
    times = np.random.default_rng(1).integers(1, 4, 100)
    rules = GrowthRules(3, max_depth=4, min_samples_leaf=5)
    _, one = tree_oracles.grown(grow_fern, X, y, ClassCriterion(4), rules, weights=times)
    again = np.repeat(np.arange(100), times)
    _, many = tree_oracles.grown(grow_fern, X[again], y[again], ClassCriterion(4), rules)
    assert np.array_equal(one.leaf[again], many.leaf)


def test_ten_thousand_classes_need_no_more_room_than_rows():
    rng = np.random.default_rng(2)
    y = rng.permutation(10_000).astype(np.int32)
    X = np.stack([(y >> bit) & 1 for bit in range(14)], axis=1).astype(float)
    _, fern = tree_oracles.grown(
        grow_fern, X, y, ClassCriterion(10_000), GrowthRules(14, max_depth=14)
    )
    assert np.bincount(fern.leaf).max() == 1


@for_each("depth", [None, 25])
def test_a_fern_has_to_be_told_how_deep_it_may_be(depth):
    X, y = _data()
    with pytest.raises(ValueError, match=r"2\*\*S leaves"):
        tree_oracles.grown(grow_fern, X, y, ClassCriterion(4), GrowthRules(1, max_depth=depth))
