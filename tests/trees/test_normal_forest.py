import pickle
from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy import stats
from support.for_each import for_each

from posterity import datasets
from posterity.trees.families.columns import Columns
from posterity.trees.forests import forest, normal_forest, normal_leaves
from posterity.trees.forests.forest import ForestPlan
from posterity.trees.forests.normal_forest import NumberTargets, TreePredictions
from posterity.trees.forests.normal_leaves import NormalLeaves
from posterity.trees.forests.out_of_bag import fit_forest
from posterity.trees.growth import growing

RULES = growing.GrowthRules(n_tests=3, min_samples_leaf=3)


def problem(n=200, seed=0):
    data = datasets.friedman1(n, random_state=seed)
    return data.X, np.column_stack([data.y, data.X[:, 3]])


def fitted(X, Y, weights=None, **plan):
    full = ForestPlan(**{"n_trees": 12, "rules": RULES, **plan})
    family = Columns().adapt_to(X)
    return fit_forest(family, X, Y, weights, NumberTargets(), full, np.random.default_rng(0))


@pytest.fixture(scope="module")
def grown():
    return fitted(*problem())


def test_numbers_do_not_depend_on_the_number_of_jobs(grown):
    other = fitted(*problem(), n_jobs=2)
    np.testing.assert_array_equal(grown.oob_log_prob, other.oob_log_prob)
    X = np.tile(problem(seed=1)[0], (40, 1))
    np.testing.assert_array_equal(grown.forest.mean(X), other.forest.mean(X, n_jobs=2))


def test_no_more_threads_answer_than_there_are_processors_and_work(monkeypatch):
    asked, parallel = [], joblib.Parallel

    def counted(n_jobs, require):
        asked.append(n_jobs)
        return parallel(n_jobs=n_jobs, require=require)

    monkeypatch.setattr(joblib, "Parallel", counted)
    for cores, n in [(4, 3 * 2048), (2, 3 * 2048), (4, 10 * 2048)]:
        monkeypatch.setattr(joblib, "cpu_count", lambda cores=cores: cores)
        blocks = forest.map_blocks(lambda places: places, n, 10**6, 10**9)
        np.testing.assert_array_equal(np.concatenate(blocks), np.arange(n))
    assert asked == [3, 2, 4]


@pytest.mark.parametrize("n_jobs", [0, 2.5, "many"])
def test_a_number_of_jobs_that_is_none_is_refused_in_words(grown, n_jobs):
    X = np.tile(problem()[0], (20, 1))
    with pytest.raises(ValueError, match=r"n_jobs=.* must be a whole number of threads"):
        grown.forest.mean(X, n_jobs)


def test_the_mean_is_that_of_the_members(grown):
    X = problem(seed=1)[0]
    mean, std = grown.forest.members(X)
    assert mean.shape == std.shape == (200, 12, 2)
    np.testing.assert_allclose(grown.forest.mean(X), mean.mean(axis=1), rtol=1e-12)


def test_members_are_the_leaves_with_smoothed_variances(grown):
    X, forest = problem(seed=1)[0], grown.forest
    found = forest.apply(X)
    mean = forest.leaves.mean[found]
    closer = forest.mean(X)[:, None] + (mean - forest.mean(X)[:, None]) / forest.sharpness**0.5
    np.testing.assert_allclose(forest.members(X)[0], closer, rtol=1e-12)
    wider = normal_leaves.widen_small_leaves(forest.leaves, forest.trees.children)
    n, q = wider.count[found][..., None], wider.square[found]
    s, beta = forest.concentration, forest.sharpness
    expected = np.sqrt((q + s * forest.pooled) / (n + s) / beta)
    np.testing.assert_allclose(forest.members(X)[1], expected, rtol=1e-12)


def test_rows_are_judged_by_trees_that_have_not_seen_them():
    X, Y = problem()
    grown = fitted(X, Y, sharpness=1.7)
    found, forest = grown.forest.apply(X), grown.forest
    mean, std, root = forest.leaves.mean[found], forest.members(X)[1], forest.sharpness**0.5
    used = np.ones((200, 12), dtype=bool)
    for t, child in enumerate(np.random.default_rng(0).spawn(12)):
        used[ForestPlan(12, RULES).draw_rows(np.ones(200), child).places, t] = False
    known = used.any(axis=1)
    assert np.isnan(grown.oob_log_prob[~known]).all()
    Y, mean, std, used = Y[known], mean[known], std[known], used[known]
    center = np.where(used[..., None], mean, 0.0).sum(axis=1) / used.sum(axis=1)[:, None]
    closer = center[:, None] + (mean - center[:, None]) / root
    p = np.where(used[..., None], stats.norm(closer, std).pdf(Y[:, None]), 0.0)
    log_p = np.log(p.sum(axis=1) / used.sum(axis=1)[:, None]).sum(axis=1)
    np.testing.assert_allclose(grown.oob_log_prob[known], log_p, rtol=1e-9)
    np.testing.assert_allclose(grown.oob_log_score, log_p.mean())
    np.testing.assert_allclose(grown.oob_score, np.mean((Y - center) ** 2))


def test_a_whole_weight_is_as_many_rows_where_nothing_is_drawn():
    X, Y = problem(60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    family, rows, plan = (
        Columns().adapt_to(X),
        np.repeat(np.arange(60), w),
        ForestPlan(4, RULES, False),
    )
    weighted = fit_forest(
        family, X, Y, w.astype(float), NumberTargets(), plan, np.random.default_rng(0)
    ).forest
    repeated = fit_forest(
        family, X[rows], Y[rows], None, NumberTargets(), plan, np.random.default_rng(0)
    ).forest
    np.testing.assert_array_equal(weighted.trees.thresholds, repeated.trees.thresholds)
    for one, two in zip(weighted.members(X), repeated.members(X), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_nothing_is_learned_where_every_tree_has_seen_every_row():
    fit = fitted(*problem(), bootstrap=False)
    assert (fit.forest.concentration, fit.forest.sharpness) == (1.0, 1.0)
    assert np.isnan(fit.oob_log_score)
    assert np.isnan(fit.oob_score)


def test_learning_improves_what_rows_unseen_by_any_tree_say():
    X, Y = problem(400)
    X_new, Y_new = problem(400, seed=9)

    def score(fit):
        mean, std = fit.forest.members(X_new)
        return np.log(stats.norm(mean, std).pdf(Y_new[:, None]).mean(axis=1)).mean()

    learned, given = (fitted(X, Y, n_trees=50, concentration=s, sharpness=s) for s in (None, 1.0))
    assert score(learned) > score(given) + 0.05
    assert abs(learned.oob_log_score / 2 - score(learned)) < 0.2


def test_a_target_that_does_not_vary_is_predicted_exactly():
    X, _ = problem(50)
    for value in (0.0, 7.0):
        fit = fitted(X, np.full((50, 1), value))
        mean, std = fit.forest.members(X)
        np.testing.assert_allclose(mean, value)
        assert np.all((std > 0.0) & (std < 1e-10))
        assert np.isfinite(fit.oob_log_score)


def test_trees_of_single_rows_still_have_a_spread():
    X, Y = problem()
    fit = fitted(X, Y, rules=growing.GrowthRules(n_tests=3))
    assert fit.forest.members(X)[1].min() > 0.01
    assert fit.oob_log_score > -3.6


def test_the_saved_forest_holds_nothing_that_can_be_worked_out_again(grown):
    size = len(pickle.dumps(grown.forest))
    grown.forest.members(problem()[0])
    assert len(pickle.dumps(grown.forest)) == size


@for_each("own", [0.0, 1.0])
def test_the_gradient_of_the_loss_is_its_slope(own):
    rng = np.random.default_rng(0)
    data = rng.integers(9, size=200), rng.normal(size=(200, 2)), np.ones(200)
    leaves = NormalLeaves.from_rows(*data, 9)
    found = np.where(rng.random((6, 40)) < 0.4, rng.integers(9, size=(6, 40)), -1)
    w = rng.random(40)
    places, y, pooled = found.astype(np.int32), rng.normal(size=(40, 2)), np.array([0.5, 2.0])
    members = TreePredictions.from_leaves(leaves, leaves, places, y, w, own * w, pooled)
    x, step, ratio = np.array([0.3, 0.5]), 1e-6, rng.uniform(0.5, 1.0, size=(40, 1))
    slopes = [
        (members.loss(x + d, ratio)[0] - members.loss(x - d, ratio)[0]) / (2 * step)
        for d in step * np.eye(2)
    ]
    np.testing.assert_allclose(members.loss(x, ratio)[1], slopes, rtol=1e-6)
    learned = normal_forest.learn_normal_tuning(members, 6, None, None)
    pooled, s, beta = learned[:3]
    square = members.used[..., None] * (members.target - members.leaves.mean) ** 2
    np.testing.assert_allclose(pooled, (w @ square.sum(axis=0)) / (members.used @ w).sum())
    members = replace(members, pooled=pooled)
    grid = [[a, b] for a in np.geomspace(0.03, 100, 12) for b in np.geomspace(0.1, 10, 12)]
    ratio = learned.of_members(members.count_members()) / beta
    best = members.loss(np.log([s, beta]), ratio)[0]
    assert best <= min(members.loss(np.log(point), ratio)[0] for point in grid) + 1e-6


def friedman(n, seed):
    """Rows of a nonlinear function, and groups of six that share most of their place."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n // 6, dtype=np.int32), 6)
    X = rng.random((n // 6, 5))[groups] + 0.05 * rng.normal(size=(n, 5))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]
    return X, (f + 5 * X[:, 4] + rng.normal(size=n))[:, None], groups


@pytest.mark.full
@for_each("n_trees", [1, 3, 12, 40, 200])
@for_each("grouped", [False, True], ids=["rows", "groups"])
def test_intervals_of_forests_of_any_size_hold(n_trees, grouped):
    X, Y, groups = friedman(2400, seed=0)
    X_new, Y_new, _ = friedman(2400, seed=1)
    if grouped:
        X, Y, groups = X[:900], Y[:900], groups[:900]
    else:  # one row of each group
        X, Y, groups = X[::6], Y[::6], None
    family = Columns().adapt_to(X)
    plan = ForestPlan(n_trees, growing.GrowthRules(n_tests=3))
    fit = fit_forest(family, X, Y, None, NumberTargets(), plan, np.random.default_rng(0), groups)
    mean, std = fit.forest.members(X_new)
    below = stats.norm(mean, std).cdf(Y_new[:, None]).mean(axis=1)
    assert abs(np.mean((below > 0.05) & (below < 0.95)) - 0.9) < 0.05


def test_the_share_between_trees_is_the_variance_of_their_means():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(40, 300, 1))  # around what is to be told, whose noise is 3
    target = 3.0**0.5 * rng.normal(size=(300, 1))
    leaves = NormalLeaves(np.ones((40, 300)), mean, np.zeros((40, 300, 1)))
    used = rng.random((40, 300)) < 0.3
    members = TreePredictions(leaves, used, target, np.ones(300), np.ones(1))
    np.testing.assert_allclose(members.share_between_trees(), 1.0 / 4.0, rtol=0.1)
