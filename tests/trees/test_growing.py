"""Trees as they grow: where rows come to, what a tree gains, and when it stops."""

import numpy as np
import pytest
import tree_oracles
from support.for_each import for_each

from posterity.trees.families.columns import Columns
from posterity.trees.families.projections import Differences, Orientations, Projections
from posterity.trees.growth import growing
from posterity.trees.growth.class_terms import ClassCriterion
from posterity.trees.growth.growing import GrowthRules
from posterity.trees.growth.normal_terms import NormalCriterion


def _data(n=300, D=4, C=3, seed=0, missing=0.1, decimals=1):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, D)), decimals)
    y = np.argmax(X[:, :2] @ rng.normal(size=(2, C)) + rng.gumbel(size=(n, C)), axis=1)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y.astype(np.int32)


def _log_likelihood(leaf, y, weights, C):
    parts = [leaf == l for l in np.unique(leaf)]
    return sum(tree_oracles.class_log_likelihood(y[p], weights[p], C) for p in parts)


class _Counting(Columns):
    asked = 0

    def respond(self, rows, places, tests, which):
        type(self).asked += 1
        return super().respond(rows, places, tests, which)


@for_each("codes", [True, False])
@for_each("decimals", [1, 12])
@for_each("n_tests", [1, 3])
def test_rows_find_the_leaves_again_that_they_were_put_in(codes, decimals, n_tests):
    X, y = _data(decimals=decimals)
    family, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(3), GrowthRules(n_tests), codes=codes
    )
    assert np.array_equal(tree_oracles.leaf_of(family, tree.tree, X), tree.leaf)
    assert sorted(set(tree.leaf)) == list(range(tree.tree.n_leaves))


@for_each("criterion", [NormalCriterion(), NormalCriterion(own_variance=False)])
def test_rows_find_their_leaves_in_trees_of_numbers_by_projections(criterion):
    X, y = _data(missing=0.0)
    target = X[:, :2] + y[:, None]
    family, tree = tree_oracles.grown(
        growing.grow,
        X,
        target,
        criterion,
        GrowthRules(3, min_samples_leaf=5),
        family=Projections(),
        codes=False,
    )
    assert np.array_equal(tree_oracles.leaf_of(family, tree.tree, X), tree.leaf)
    assert np.bincount(tree.leaf).min() >= 5
    assert tree.tree.n_leaves > 5


@for_each("codes", [True, False])
def test_every_leaf_is_pure_where_rows_differ_and_nothing_stops_the_tree(codes):
    X, y = _data(missing=0.0, decimals=12)
    _, tree = tree_oracles.grown(growing.grow, X, y, ClassCriterion(3), GrowthRules(1), codes=codes)
    assert _log_likelihood(tree.leaf, y, np.ones(len(y)), 3) == 0.0


def test_gains_add_up_to_what_the_tree_gains():
    X, y = _data()
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    _, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(3), GrowthRules(2, min_samples_leaf=4), weights=w
    )
    root = _log_likelihood(np.zeros(len(y)), y, w, 3)
    risen = _log_likelihood(tree.leaf, y, w, 3) - root
    assert tree.tree.gains.min() >= 0.0
    assert float(tree.tree.gains.sum()) == pytest.approx(risen, rel=1e-5)


def test_each_split_is_the_best_of_the_whole_catalogue_where_all_tests_are_drawn():
    X, y = _data(missing=0.1)
    family, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(3), GrowthRules(8, max_depth=1)
    )
    codes, ones = family.prepare_rows(X).T, np.ones(len(y))

    def value(mask):
        return tree_oracles.class_log_likelihood(y[mask], ones[mask], 3)

    _, best = tree_oracles.best_split(codes, 1.0, ones, value)
    assert _log_likelihood(tree.leaf, y, ones, 3) == pytest.approx(best)
    assert tree.tree.n_leaves == 2


def test_depth_and_weight_of_leaves_are_limited():
    X, y = _data()
    w = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    _, tree = tree_oracles.grown(
        growing.grow,
        X,
        y,
        ClassCriterion(3),
        GrowthRules(2, max_depth=3, min_samples_leaf=7.5),
        weights=w,
    )
    assert tree.tree.n_leaves <= 8
    assert np.bincount(tree.leaf, weights=w).min() >= 7.5
    _, deep = tree_oracles.grown(growing.grow, X, y, ClassCriterion(3), GrowthRules(2, max_depth=3))
    assert 4 < deep.tree.n_leaves <= 8


@for_each("y", [np.zeros(5), np.zeros(1)])
def test_a_root_of_one_class_is_a_leaf(y):
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    _, tree = tree_oracles.grown(
        growing.grow, X, y.astype(np.int32), ClassCriterion(2), GrowthRules(1)
    )
    assert tree.tree.roots.tolist() == [-1]
    assert tree.tree.tests.shape == (0, 1)
    assert tree.tree.children.shape == (0, 2)
    assert tree.tree.n_leaves == 1
    assert not tree.leaf.any()


@for_each("codes", [True, False])
def test_weights_count_like_repeated_rows(codes):
    X, y = _data(n=60, decimals=2)
    times = np.random.default_rng(3).integers(1, 3, len(y))
    _, one = tree_oracles.grown(
        growing.grow,
        X,
        y,
        ClassCriterion(3),
        GrowthRules(2, min_samples_leaf=3),
        weights=times,
        codes=codes,
    )
    of = Columns().adapt_to(X)
    again, ways = np.repeat(np.arange(60), times).astype(np.int32), np.ones(times.sum())
    rows = of.prepare_rows(X) if codes else X
    many = growing.grow(
        of,
        rows,
        again,
        y[again],
        ways,
        ClassCriterion(3),
        GrowthRules(2, min_samples_leaf=3),
        np.random.default_rng(0),
    )
    assert np.array_equal(one.leaf[again], many.leaf)
    assert np.array_equal(one.tree.thresholds, many.tree.thresholds)


@for_each("family", [Projections(), Differences(), Orientations()])
def test_nodes_count_weights_like_repeated_rows_however_many_these_are(family):
    X, y = _data(n=70, missing=0.1, decimals=1)
    times = np.random.default_rng(3).integers(1, 6, len(y))
    again = np.repeat(np.arange(len(y)), times)
    known = family.adapt_to(X)
    trees = [
        growing.grow(
            known,
            X,
            rows.astype(np.int32),
            y[rows],
            w,
            ClassCriterion(3),
            GrowthRules(4),
            np.random.default_rng(0),
        )
        for rows, w in ((np.arange(len(y)), times + 0.0), (again, np.ones(len(again))))
    ]
    assert np.array_equal(trees[0].leaf[again], trees[1].leaf)
    assert np.array_equal(trees[0].tree.thresholds, trees[1].tree.thresholds)


def test_cuts_in_large_nodes_count_weights_like_repeated_rows():
    X, y = _data(n=500, missing=0.0, decimals=12)
    times = np.random.default_rng(3).integers(1, 9, len(y))
    again = np.repeat(np.arange(len(y)), times)
    rules = GrowthRules(2, max_depth=1)
    _, one = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(3), rules, weights=times, codes=False
    )
    _, many = tree_oracles.grown(
        growing.grow, X[again], y[again], ClassCriterion(3), rules, codes=False
    )
    assert np.array_equal(one.tree.thresholds, many.tree.thresholds)


def test_with_codes_the_order_of_rows_changes_nothing():
    X, y = _data()
    mixed = np.random.default_rng(4).permutation(len(y))
    of = Columns().adapt_to(X)
    codes, ones = of.prepare_rows(X), np.ones(len(y))
    trees = [
        growing.grow(
            of, codes, p, y[p], ones, ClassCriterion(3), GrowthRules(2), np.random.default_rng(0)
        )
        for p in (np.arange(len(y), dtype=np.int32), mixed.astype(np.int32))
    ]
    assert np.array_equal(trees[0].leaf[mixed], trees[1].leaf)
    assert np.array_equal(trees[0].tree.thresholds, trees[1].tree.thresholds)


def test_a_tree_of_some_places_is_the_tree_of_those_rows():
    X, y = _data()
    places = np.arange(0, len(y), 2, dtype=np.int32)
    of = Columns().adapt_to(X)
    codes, ones = of.prepare_rows(X), np.ones(len(places))
    some = growing.grow(
        of,
        codes,
        places,
        y[places],
        ones,
        ClassCriterion(3),
        GrowthRules(2),
        np.random.default_rng(0),
    )
    alone = growing.grow(
        of,
        codes[places],
        np.arange(len(places), dtype=np.int32),
        y[places],
        ones,
        ClassCriterion(3),
        GrowthRules(2),
        np.random.default_rng(0),
    )
    assert np.array_equal(some.leaf, alone.leaf)


@for_each("codes", [True, False])
def test_missing_answers_part_from_all_others_at_infinity(codes):
    X = np.array([[1.0], [2.0], [3.0], [np.nan], [np.nan], [np.nan]])
    y = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    family, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(2), GrowthRules(1), codes=codes
    )
    assert tree.tree.thresholds[0] in (np.inf, -np.inf)  # as the largest, or as the smallest
    later = tree_oracles.leaf_of(family, tree.tree, np.array([[1e300], [np.nan]]))
    assert later.tolist() == [tree.leaf[0], tree.leaf[-1]]


def test_a_family_may_have_fewer_cuts_than_there_are_codes():
    class Halves(Columns):
        def adapt_to(self, X, weights=None):
            return type(self)(np.full((1, 255), np.inf), np.empty(0, dtype=np.int32))

        def prepare_rows(self, X):
            return np.where(np.isnan(X), 255, X > 0.0).astype(np.uint8)

        def cuts(self, tests):
            return np.zeros((len(tests), 1))

    X = np.array([[-1.0], [-1.0], [1.0], [1.0], [np.nan], [np.nan]])
    y = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    family, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(3), GrowthRules(1), family=Halves()
    )
    assert sorted(tree.tree.thresholds) == [0.0, np.inf]
    assert np.array_equal(tree_oracles.leaf_of(family, tree.tree, X), tree.leaf)


@for_each("codes", [True, False])
def test_thresholds_lie_half_way_between_rows(codes):
    X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    X = np.vstack([X, 100.0 + np.arange(8.0)[:, None]])
    y = np.array([0, 0, 0, 1, 1, 1] + 8 * [1], dtype=np.int32)
    _, tree = tree_oracles.grown(growing.grow, X, y, ClassCriterion(2), GrowthRules(1), codes=codes)
    assert tree.tree.thresholds.tolist() == [6.0]


def test_neighbouring_numbers_are_parted_where_no_number_is_between_them():
    above = np.nextafter(1.0, 2.0)
    X, y = np.array([[1.0], [above]]), np.array([0, 1], dtype=np.int32)
    family, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(2), GrowthRules(1), codes=False
    )
    assert np.array_equal(tree_oracles.leaf_of(family, tree.tree, X), tree.leaf)
    assert tree.tree.thresholds.tolist() == [1.0]


@for_each("ends", [(-np.inf, np.inf), (-1.7e308, 1.7e308), (0.0, np.inf)])
def test_the_largest_numbers_are_parted(ends):
    X, y = np.array(ends)[:, None], np.array([0, 1], dtype=np.int32)
    family = Columns().adapt_to(np.zeros((2, 1)))
    two = np.arange(2, dtype=np.int32)
    tree = growing.grow(
        family, X, two, y, np.ones(2), ClassCriterion(2), GrowthRules(1), np.random.default_rng(0)
    )
    assert np.array_equal(tree_oracles.leaf_of(family, tree.tree, X), tree.leaf)
    assert len(set(tree.leaf)) == 2


def test_a_node_whose_tests_are_constant_gets_others_until_its_tries_are_over():
    X = np.zeros((8, 30))
    X[4:, 17] = 1.0
    y = np.repeat([0, 1], 4).astype(np.int32)
    _, patient = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(2), GrowthRules(1, max_tries=1000)
    )
    assert patient.tree.tests.tolist() == [[17]]
    _Counting.asked = 0
    _, hasty = tree_oracles.grown(
        growing.grow,
        np.zeros((8, 30)),
        y,
        ClassCriterion(2),
        GrowthRules(1, max_tries=5),
        family=_Counting(),
    )
    assert hasty.tree.n_leaves == 1
    assert _Counting.asked == 5


def test_rows_are_asked_once_a_level_however_many_nodes_it_has():
    X, y = _data(n=2000, missing=0.0, decimals=12)
    _Counting.asked = 0
    _, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(3), GrowthRules(2, max_depth=6), family=_Counting()
    )
    assert _Counting.asked == 6
    assert tree.tree.n_leaves > 32


def test_large_nodes_of_numbers_are_cut_near_the_best_place():
    rng = np.random.default_rng(8)
    X = rng.lognormal(sigma=4.0, size=(20000, 1))
    y = (X[:, 0] > 1.0).astype(np.int32)
    _, tree = tree_oracles.grown(
        growing.grow, X, y, ClassCriterion(2), GrowthRules(1, max_depth=1), codes=False
    )
    right = np.mean((tree.leaf == tree.leaf[np.argmax(X)]) == (y == 1))
    assert right > 1.0 - 2.0 / 64.0


def test_ten_thousand_classes_are_told_apart():
    rng = np.random.default_rng(9)
    y = rng.permutation(10_000).astype(np.int32)
    X = np.stack([y // 100, y % 100], axis=1).astype(float)
    _, tree = tree_oracles.grown(growing.grow, X, y, ClassCriterion(10_000), GrowthRules(2))
    assert tree.tree.n_leaves == 10_000


@for_each(
    ("rule", "message"),
    [
        ({"n_tests": 0}, "n_tests is 0"),
        ({"n_tests": 1, "max_depth": 0}, "max_depth is 0"),
        ({"n_tests": 1, "max_tries": 0}, "max_tries is 0"),
        ({"n_tests": 1, "min_samples_leaf": -1.0}, "min_samples_leaf is -1.0"),
        ({"n_tests": 1, "min_samples_leaf": np.nan}, "min_samples_leaf is nan"),
    ],
)
def test_rules_that_no_tree_can_grow_by_are_refused(rule, message):
    with pytest.raises(ValueError, match=message):
        GrowthRules(**rule)


def test_a_family_with_codes_but_no_cuts_is_refused():
    class Silent(Columns):
        def cuts(self, tests):
            return None

    X, y = _data()
    with pytest.raises(TypeError, match="its cuts are None"):
        tree_oracles.grown(growing.grow, X, y, ClassCriterion(3), GrowthRules(1), family=Silent())
