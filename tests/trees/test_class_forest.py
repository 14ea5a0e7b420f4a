import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from support.for_each import for_each

from posterity.trees.families import projections
from posterity.trees.families.columns import Columns
from posterity.trees.forests import class_forest
from posterity.trees.forests.class_forest import ClassTargets, ClassTuning, LeafCounts, UnseenRows
from posterity.trees.forests.class_leaves import ClassLeaves
from posterity.trees.forests.forest import ForestPlan
from posterity.trees.forests.out_of_bag import fit_forest
from posterity.trees.growth import growing
from posterity.trees.growth.class_terms import ClassCriterion

RULES = growing.GrowthRules(n_tests=2)


def problem(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.argmax(X[:, :3] + rng.gumbel(size=(n, 3)), axis=1).astype(np.int32)


def fitted(X, y, n_classes=3, weights=None, seed=0, family=None, **plan):
    full = ForestPlan(**{"n_trees": 12, "rules": RULES, **plan})
    known = (family or Columns()).adapt_to(X)
    return fit_forest(
        known, X, y, weights, ClassTargets(n_classes), full, np.random.default_rng(seed)
    )


def assert_same(a, b):
    for name in ("roots", "tests", "thresholds", "children", "gains"):
        np.testing.assert_array_equal(getattr(a.trees, name), getattr(b.trees, name))
    np.testing.assert_array_equal(a.leaves.dense(), b.leaves.dense())
    assert (a.concentration, a.sharpness) == (b.concentration, b.sharpness)


@pytest.fixture(scope="module")
def grown():
    return fitted(*problem())


def test_numbers_do_not_depend_on_the_number_of_jobs(grown):
    other = fitted(*problem(), n_jobs=2)
    assert_same(grown.forest, other.forest)
    np.testing.assert_array_equal(grown.oob_log_prob, other.oob_log_prob)
    X = np.tile(problem(seed=1)[0], (40, 1))
    for one, two in zip(grown.forest.average(X), grown.forest.average(X, n_jobs=2), strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(grown.forest.apply(X), grown.forest.apply(X, n_jobs=2))


def test_a_shorter_forest_is_the_beginning_of_a_longer_one(grown):
    few, n = fitted(*problem(), n_trees=5).forest, 5
    end = few.trees.n_leaves
    np.testing.assert_array_equal(few.trees.roots, grown.forest.trees.roots[:n])
    np.testing.assert_array_equal(few.leaves.dense(), grown.forest.leaves.dense()[:end])


def test_leaves_count_the_rows_that_come_to_them():
    X, y = problem()
    w = np.random.default_rng(0).random(len(y))
    forest = fitted(X, y, weights=w, bootstrap=False, n_trees=3).forest
    table = np.zeros((forest.trees.n_leaves, 3))
    for leaf in forest.apply(X).T:
        np.add.at(table, (leaf, y), w)
    np.testing.assert_allclose(forest.leaves.dense(), table, rtol=1e-12)


def test_a_whole_weight_is_as_many_rows_where_nothing_is_drawn():
    X, y = problem(60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    family = Columns().adapt_to(X)
    plan = ForestPlan(6, RULES, bootstrap=False)
    weighted = fit_forest(
        family, X, y, w.astype(float), ClassTargets(3), plan, np.random.default_rng(0)
    )
    rows = np.repeat(np.arange(60), w)
    repeated = fit_forest(
        family, X[rows], y[rows], None, ClassTargets(3), plan, np.random.default_rng(0)
    )
    assert_same(weighted.forest, repeated.forest)
    np.testing.assert_array_equal(weighted.forest.base, repeated.forest.base)


def test_a_forest_of_one_tree_is_the_tree():
    X, y = problem()
    forest = fitted(X, y, n_trees=1, bootstrap=False, concentration=2.0).forest
    counts = forest.leaves.dense()[forest.apply(X)[:, 0]]
    expected = (counts + 2.0 * forest.base) / (counts.sum(axis=1, keepdims=True) + 2.0)
    log_p, epistemic = forest.average(X)
    np.testing.assert_allclose(np.exp(log_p), expected, rtol=1e-12)
    np.testing.assert_allclose(epistemic, 0.0, atol=1e-12)


def test_rows_are_judged_by_trees_that_have_not_seen_them():
    X, y = problem()
    s, beta = 0.7, 1.4
    grown = fitted(X, y, concentration=s, sharpness=beta)
    forest, rng = grown.forest, np.random.default_rng(0)
    counts = forest.leaves.dense()
    each = (counts + s * forest.base) / (counts.sum(axis=1, keepdims=True) + s)
    total, used = np.zeros((150, 3)), np.zeros(150)
    plan = ForestPlan(12, RULES)
    for leaf, child in zip(forest.apply(X).T, rng.spawn(12), strict=True):
        out = np.setdiff1d(np.arange(150), plan.draw_rows(np.ones(150), child).places)
        total[out] += each[leaf[out]]
        used[out] += 1
    A = beta * np.log(total / used[:, None])
    log_p = A - logsumexp(A, axis=1, keepdims=True)
    expected = log_p[np.arange(150), y]
    np.testing.assert_allclose(grown.oob_log_prob, expected, rtol=1e-10)
    np.testing.assert_allclose(grown.oob_log_score, np.nanmean(expected))
    np.testing.assert_allclose(grown.oob_score, np.mean(log_p.argmax(axis=1) == y))


def test_nothing_is_learned_where_every_tree_has_seen_every_row():
    fit = fitted(*problem(), bootstrap=False)
    assert (fit.forest.concentration, fit.forest.sharpness) == (1.0, 1.0)
    assert np.isnan(fit.oob_log_prob).all()
    assert np.isnan(fit.oob_log_score)


def test_rows_that_are_alike_do_not_vouch_for_each_other_where_groups_are_known():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40, dtype=np.int32), 8)
    X = rng.normal(size=(40, 4))[groups] + 1e-3 * rng.normal(size=(320, 4))
    y = rng.integers(2, size=40).astype(np.int32)[groups]  # nothing to learn but the groups
    plan = ForestPlan(30, RULES)
    family = Columns().adapt_to(X)
    alone, together = (
        fit_forest(family, X, y, None, ClassTargets(2), plan, np.random.default_rng(0), which)
        for which in (None, groups)
    )
    assert alone.oob_score > 0.95
    assert together.oob_score < 0.7
    assert together.forest.sharpness < alone.forest.sharpness


def test_what_is_given_is_not_learned():
    fit = fitted(*problem(), concentration=3.0)
    assert fit.forest.concentration == 3.0
    assert fit.forest.sharpness != 1.0
    assert fitted(*problem(), sharpness=1.7).forest.sharpness == 1.7


def test_heavy_rows_that_no_tree_leaves_out_leave_the_sharpness_alone():
    X, y = problem()
    w = np.where(np.arange(150) < 75, 1.0, 20.0)
    fit = fitted(X, y, weights=w, n_trees=30)
    assert fit.forest.sharpness == 1.0
    assert fit.forest.concentration != 1.0
    assert fitted(X, y, n_trees=2).forest.sharpness != 1.0  # what two trees leave out is random


def clusters(n, seed):
    """Thirty clusters of ten classes, and rows in groups of six that lie close to each other."""
    rng = np.random.default_rng(seed)
    centers = 2.5 * np.random.default_rng(2).normal(size=(30, 6))
    groups = np.repeat(np.arange(n // 6, dtype=np.int32), 6)
    cluster = rng.integers(30, size=n // 6)
    place = centers[cluster] + 0.9 * rng.normal(size=(n // 6, 6))
    X = place[groups] + 0.3 * rng.normal(size=(n, 6))
    return X, (cluster % 10).astype(np.int32)[groups], groups


@pytest.mark.full
@for_each("n_trees", [1, 3, 12, 40, 200])
@for_each("grouped", [False, True], ids=["rows", "groups"])
def test_forests_of_any_size_are_as_sure_as_they_are_right(n_trees, grouped):
    X, y, groups = clusters(1800, seed=0)
    X_new, y_new, _ = clusters(6000, seed=1)
    if not grouped:  # one row of each group
        X, y, groups = X[::6], y[::6], None
    family, plan = Columns().adapt_to(X), ForestPlan(n_trees, RULES)
    fit = fit_forest(family, X, y, None, ClassTargets(10), plan, np.random.default_rng(0), groups)
    log_p = fit.forest.average(X_new)[0]
    confidence, is_right = np.exp(log_p.max(axis=1)).mean(), np.mean(log_p.argmax(axis=1) == y_new)
    assert abs(confidence - is_right) < 0.08
    beta = np.geomspace(0.5, 2.0, 15)[:, None, None]
    powers = beta * log_p - logsumexp(beta * log_p, axis=2, keepdims=True)
    scores = powers[:, np.arange(6000), y_new].mean(axis=1)
    assert scores[7] > scores.max() - 0.03  # of the power one


def test_averages_of_fewer_trees_are_rougher_by_the_trends():
    learned = ClassTuning(2.0, 1.5, n_trees=8, gamma=0.5, delta=-0.4)
    s, beta = learned.of_members(np.array([8, 2]))
    np.testing.assert_allclose(s, [2.0, 2.0 * 4**0.5])
    np.testing.assert_allclose(beta, [1.5, 1.5 * np.exp(-0.4 * (1 / 2 - 1 / 8))])


def test_the_saved_forest_holds_nothing_that_can_be_worked_out_again(grown):
    X = problem(seed=5)[0]
    size = len(pickle.dumps(grown.forest))
    expected = grown.forest.average(X)[0]
    assert len(pickle.dumps(grown.forest)) == size
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(grown.forest)).average(X)[0], expected)


def test_ferns_and_projections_make_forests_too():
    X, y = problem(300)
    ferns = fitted(X, y, grow=growing.grow_fern, rules=growing.GrowthRules(n_tests=5, max_depth=4))
    assert ferns.oob_score > 0.45
    oblique = fitted(X, y, family=projections.Differences())
    assert oblique.oob_score > 0.43
    assert np.isfinite(oblique.forest.average(X)[0]).all()


def test_a_class_with_one_example_and_constant_columns_are_no_trouble():
    X, y = np.ones((30, 2)), np.zeros(30, dtype=np.int32)
    y[7] = 1
    fit = fitted(X, y, 2)
    assert fit.forest.trees.n_leaves == 12
    assert np.exp(fit.forest.average(X)[0])[0, 0] > 0.9


def test_missing_values_go_their_own_way():
    X, y = problem(400)
    X[y == 2, 0] = np.nan
    fit = fitted(X, y)
    assert fit.forest.average(X)[0][y == 2, 2].mean() > -0.5


@pytest.mark.full
def test_ten_thousand_classes_are_counted_where_they_occur():
    rng = np.random.default_rng(0)
    y = np.arange(4000, dtype=np.int32) % 10_000
    X = y[:, None] / 100.0 + 0.001 * rng.random((4000, 3))
    tracemalloc.start()
    fit = fitted(X, y, 10_000, n_trees=3, rules=growing.GrowthRules(n_tests=2, max_depth=14))
    fit.forest.average(X[:50])
    assert tracemalloc.get_traced_memory()[1] < 3e8
    tracemalloc.stop()


def scores(seed=0, own=False):
    rng = np.random.default_rng(seed)
    leaf, target = rng.integers(9, size=200), rng.integers(3, size=200)
    leaves = ClassLeaves.from_rows(leaf, target, rng.integers(1, 5, size=200).astype(float), 9, 3)
    found = np.where(rng.random((6, 40)) < 0.4, rng.integers(9, size=(6, 40)), -1)
    w = rng.random(40)
    unseen = UnseenRows(
        found.astype(np.int32), rng.integers(3, size=40).astype(np.int32), w, own * w
    )
    return LeafCounts.from_leaves(leaves, rng.dirichlet(np.ones(3))), unseen, leaves


@pytest.mark.full
@for_each("own", [False, True])
def test_the_gradient_of_the_loss_is_its_slope(own):
    counts, unseen, _ = scores(own=own)
    x, step = np.array([0.3, 0.5, 0.8, -0.2]), 1e-6
    slopes = [
        (counts.loss(unseen, 6, x + d)[0] - counts.loss(unseen, 6, x - d)[0]) / (2 * step)
        for d in step * np.eye(4)
    ]
    np.testing.assert_allclose(counts.loss(unseen, 6, x)[1], slopes, rtol=1e-6)


def test_a_row_is_taken_out_of_its_own_leaves():
    counts, unseen, leaves = scores(own=True)
    P = counts.means(unseen, np.full(40, 0.8))[0]
    table = leaves.dense()
    for i in range(40):
        each = []
        for leaf in unseen.found[:, i][unseen.found[:, i] >= 0]:
            n = table[leaf].copy()
            n[unseen.target[i]] -= unseen.own[i]
            each.append((n + 0.8 * counts.base) / (n.sum() + 0.8))
        np.testing.assert_allclose(P[i], np.mean(each, axis=0) if each else counts.base)


def test_learned_parameters_are_the_best_within_their_range():
    counts, unseen, _ = scores()
    full = replace(unseen, found=np.abs(unseen.found))  # every row is left out by all trees
    learned = class_forest.learn_class_tuning(counts, full, 6, None, None)

    def loss(s, beta):
        return counts.loss(full, 6, np.array([np.log(s), np.log(beta), 1.0, 0.0]))[0]

    grid = [[a, b] for a in np.geomspace(0.01, 100, 17) for b in np.geomspace(0.3, 20, 17)]
    assert loss(*learned[:2]) <= min(loss(*point) for point in grid) + 1e-6


def test_trees_of_a_forest_split_by_evidence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    codes = rng.integers(3, size=300).astype(np.int32)  # nothing to learn
    family = Columns().adapt_to(X)
    plan = ForestPlan(n_trees=1, rules=growing.GrowthRules(3, max_depth=1), bootstrap=False)
    tree = fit_forest(
        family, X, codes, None, ClassTargets(3), plan, np.random.default_rng(0)
    ).forest.trees
    gains = [
        growing.grow(
            family,
            family.prepare_rows(X),
            np.arange(300, dtype=np.int32),
            codes,
            np.ones(300),
            ClassCriterion(3, prior_weight),
            growing.GrowthRules(3, max_depth=1),
            np.random.default_rng(0).spawn(1)[0],
        ).tree.gains[0]
        for prior_weight in (1.0, 0.0)
    ]
    assert tree.gains[0] == gains[0] < gains[1] - 1.0  # a split pays for its probabilities
