"""Theorems of trees, ferns, forests and boosted steps: models that are the same, by other routes.

What leaves say is worked out here from the rows that come to them, which ``apply`` tells.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp, xlogy
from sklearn.base import clone
from support.for_each import for_each

from posterity import (
    LogisticTreeClassifier,
    LogitBoostClassifier,
    RandomFernClassifier,
    RandomFernRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreeClassifier,
    RandomTreeRegressor,
    StagewiseClassifier,
    StagewiseRegressor,
    designs,
    trees,
)
from posterity.trees import forests, growth
from posterity.trees.boosting import rounds, screens
from posterity.trees.boosting.class_rows import SoftmaxRows

ALIKE = ("roots", "tests", "thresholds", "children", "gains")
FAMILIES = [trees.Columns(), trees.Differences(), trees.Projections(), trees.Orientations(8)]
every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)


def classes(n=200, n_classes=3, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    A = 2.0 * X @ rng.normal(size=(n_columns, n_classes)) + rng.gumbel(size=(n, n_classes))
    return X, np.argmax(A, axis=1)


def numbers(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * rng.normal(size=n)


def assert_same_trees(one, two, n_trees=None):
    """The same nodes, or the same first ones where the other forest is longer."""
    a, b = one.forest_.trees, two.forest_.trees
    assert n_trees is None or (a.n_trees, b.n_trees >= n_trees) == (n_trees, True)
    for name in ALIKE:
        first = getattr(a, name)
        np.testing.assert_array_equal(first, getattr(b, name)[: len(first)])


def leaf_probabilities(model, leaves, y, weights, concentration):
    """What the leaves of one tree say, from the rows of its bag: {leaf: (C,)}."""
    base = np.bincount(y, minlength=len(model.classes_)) + 1.0
    s, found = concentration, {}
    for leaf in np.unique(leaves):
        n = np.bincount(y[leaves == leaf], weights[leaves == leaf], minlength=len(base))
        found[leaf] = (n + s * base / base.sum()) / (n.sum() + s)
    return found


# Trees, ferns and forests


@every_family
def test_a_forest_of_one_tree_is_the_tree(family):
    shared = {"splits": family, "min_samples_leaf": 3.0, "concentration": 0.7, "random_state": 4}
    alone = {"bootstrap": False}
    for rows, tree, forest, sharpness in (
        (classes, RandomTreeClassifier, RandomForestClassifier, {"sharpness": 1.0}),
        (numbers, RandomTreeRegressor, RandomForestRegressor, {}),
    ):
        X, y = rows()
        one = tree(**shared).fit(X, y)
        other = forest(1, **shared, **alone, **sharpness).fit(X, y)
        assert_same_trees(one, other, 1)
        log_p = [model.predict_dist(X).log_prob(y) for model in (one, other)]
        np.testing.assert_array_equal(*log_p)


@every_family
def test_a_forest_is_the_beginning_of_a_longer_one(family):
    for model, (X, y) in (
        (RandomForestClassifier(10, splits=family, random_state=0), classes()),
        (RandomForestRegressor(10, splits=family, random_state=0), numbers()),
        (RandomFernClassifier(10, 4, splits=family, random_state=0), classes()),
    ):
        longer = clone(model).set_params(n_estimators=20).fit(X, y)
        assert_same_trees(clone(model).fit(X, y), longer, 10)
        assert longer.forest_.trees.n_trees == 20


@every_family
@for_each("kind", [RandomFernClassifier, RandomFernRegressor])
def test_a_fern_is_a_tree_whose_nodes_of_one_level_ask_the_same(family, kind):
    X, y = classes() if kind is RandomFernClassifier else numbers()
    model = kind(5, 4, splits=family, random_state=0).fit(X, y)
    grown, leaves = model.forest_.trees, []
    for root in grown.roots:
        level = [root]
        for _ in range(4):
            asked = np.column_stack([grown.tests[level], grown.thresholds[level]])
            np.testing.assert_array_equal(asked, asked[[0] * len(level)])
            level = grown.children[level].ravel()
        assert np.all(level < 0)
        leaves += (~level).tolist()
    assert sorted(leaves) == list(range(5 * 16)) == list(range(grown.n_leaves))


def test_a_tree_that_tries_every_column_leaves_nothing_to_chance():
    for model, (X, y) in (
        (RandomTreeClassifier(max_features=3), classes()),
        (RandomTreeRegressor(max_features=3), numbers()),
    ):
        one, two = (clone(model).set_params(random_state=s).fit(X, y) for s in (0, 1))
        more = clone(model).set_params(max_features=50, random_state=2).fit(X, y)
        np.testing.assert_array_equal(one.predict(X), two.predict(X))
        np.testing.assert_array_equal(one.predict(X), more.predict(X))


def test_only_the_order_of_values_matters_to_tests_of_columns():
    X, y = classes()
    for model in (
        RandomForestClassifier(5, random_state=0),
        RandomFernClassifier(5, 4, random_state=0),
        LogitBoostClassifier(n_estimators=10),
    ):
        plain, bent = clone(model).fit(X, y), clone(model).fit(np.exp(3.0 * X), y)
        np.testing.assert_array_equal(plain.predict_proba(X), bent.predict_proba(np.exp(3.0 * X)))


@for_each("kind", ["tree", "fern"])
def test_a_forest_of_classes_is_the_mean_of_its_trees(kind):
    (X, y), queries = classes(), classes(seed=1)[0]
    options = {"concentration": 0.5, "sharpness": 1.0, "bootstrap": False, "random_state": 0}
    model = RandomForestClassifier(8, **options)
    if kind == "fern":
        model = RandomFernClassifier(8, 4, **options)
    model.fit(X, y)
    members = np.empty((len(queries), 8, 3))
    for t, (seen, asked) in enumerate(zip(model.apply(X).T, model.apply(queries).T, strict=True)):
        said = leaf_probabilities(model, seen, y, np.ones(len(y)), 0.5)
        nothing = leaf_probabilities(model, np.zeros(len(y)), y, np.zeros(len(y)), 0.5)[0]
        members[:, t] = [said.get(leaf, nothing) for leaf in asked]
    dist, p = model.predict_dist(queries), members.mean(axis=1)
    np.testing.assert_allclose(dist.probabilities(), p, rtol=1e-10)
    total, own = -xlogy(p, p).sum(axis=1), -xlogy(members, members).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(dist.entropy(), total, rtol=1e-10)
    np.testing.assert_allclose(dist.aleatoric_entropy(), own, rtol=1e-9)
    np.testing.assert_allclose(dist.epistemic_entropy(), total - own, atol=1e-10)


def test_a_forest_of_numbers_is_the_mixture_of_its_leaves():
    (X, y), queries = numbers(), numbers(seed=1)[0]
    model = RandomForestRegressor(
        8, min_samples_leaf=8, concentration=1e-9, sharpness=1.0, bootstrap=False, random_state=0
    ).fit(X, y)
    mean, variance = np.empty((2, len(queries), 8))
    for t, (seen, asked) in enumerate(zip(model.apply(X).T, model.apply(queries).T, strict=True)):
        mean[:, t] = [y[seen == leaf].mean() for leaf in asked]
        variance[:, t] = [y[seen == leaf].var() for leaf in asked]
    dist = model.predict_dist(queries)
    np.testing.assert_allclose(dist.mean(), mean.mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(model.predict(queries), mean.mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(dist.epistemic_variance(), mean.var(axis=1), rtol=1e-8)
    np.testing.assert_allclose(dist.aleatoric_variance(), variance.mean(axis=1), rtol=1e-6)
    density = stats.norm(mean, np.sqrt(variance)).pdf(1.0).mean(axis=1)
    np.testing.assert_allclose(dist.log_prob(np.ones(len(queries))), np.log(density), rtol=1e-5)


# Out of the bag


def bags(weights, n_trees, seed, groups=None, **plan):
    """How often each tree drew each row, (T, N): each tree has a generator of its own."""
    drawn = np.zeros((n_trees, len(weights)))
    of = forests.ForestPlan(n_trees, growth.GrowthRules(1), **plan)
    for t, child in enumerate(np.random.default_rng(seed).spawn(n_trees)):
        bag = of.draw_rows(weights, child, groups)
        drawn[t, bag.places] = bag.weights
    return drawn


@for_each("plan", [{}, {"max_samples": 0.5}, {"bootstrap": False, "max_samples": 30}])
@for_each("groups", [None, np.arange(60) // 3], ids=["rows", "groups"])
def test_rows_are_judged_by_the_trees_that_did_not_draw_them(plan, groups):
    X, y = classes(60)
    options = {"random_state": 3, "concentration": 0.5, "sharpness": 1.4}
    model = RandomForestClassifier(6, **options, **plan)
    model.fit(X, y, groups=groups)
    total, used = np.zeros((60, 3)), np.zeros(60)
    drawn_by_all = bags(np.ones(60), 6, 3, groups, **plan)
    for drawn, leaf in zip(drawn_by_all, model.apply(X).T, strict=True):
        out = drawn == 0
        said = leaf_probabilities(model, leaf, y, drawn, 0.5)
        total[out] += [said[own] for own in leaf[out]]
        used += out
    known = used > 0
    A = model.sharpness_ * np.log(total[known] / used[known, None])
    log_p = A - logsumexp(A, axis=1, keepdims=True)
    own = log_p[np.arange(known.sum()), y[known]]
    np.testing.assert_allclose(model.oob_log_prob_[known], own, rtol=1e-9)
    np.testing.assert_array_equal(np.isnan(model.oob_log_prob_), ~known)
    assert model.oob_log_score_ == pytest.approx(own.mean(), rel=1e-10)
    assert model.oob_score_ == pytest.approx(np.mean(log_p.argmax(axis=1) == y[known]))


def test_numbers_are_judged_by_the_trees_that_did_not_draw_their_rows():
    X, y = numbers(80)
    options = {"min_samples_leaf": 6, "concentration": 1e-9, "sharpness": 1.0, "random_state": 3}
    model = RandomForestRegressor(6, **options).fit(X, y)
    total, log_p, used = np.zeros(80), np.full((6, 80), -np.inf), np.zeros(80)
    pairs = zip(bags(np.ones(80), 6, 3), model.apply(X).T, strict=True)
    for t, (drawn, leaf) in enumerate(pairs):
        for i in np.flatnonzero(drawn == 0):
            w = drawn * (leaf == leaf[i])
            mean = w @ y / w.sum()
            std = np.sqrt(w @ (y - mean) ** 2 / w.sum())
            total[i] += mean
            log_p[t, i] = stats.norm(mean, std).logpdf(y[i])
            used[i] += 1
    known = used > 0
    expected = logsumexp(log_p[:, known], axis=0) - np.log(used[known])
    error = y[known] - total[known] / used[known]
    np.testing.assert_allclose(model.oob_log_prob_[known], expected, rtol=1e-5)
    assert model.oob_log_score_ == pytest.approx(expected.mean(), rel=1e-5)
    assert model.oob_rmse_ == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)


# Streams


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(5, bootstrap=False, random_state=0),
        RandomForestClassifier(5, random_state=0, max_samples=200),
        RandomFernClassifier(5, 4, bootstrap=False, random_state=0),
        RandomForestRegressor(5, bootstrap=False, random_state=0),
    ],
    ids=["trees", "bags", "ferns", "numbers"],
)
def test_chunks_grow_the_trees_of_memory(model):
    X, y = numbers() if isinstance(model, RandomForestRegressor) else classes()
    whole = clone(model).fit(X, y)
    streamed = clone(model).fit(designs.Chunks.from_arrays(X, y, rows=33))
    assert_same_trees(whole, streamed)
    if not model.bootstrap:  # else all rows are counted in leaves, not those of the bag
        np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-12)


# Jobs


@pytest.mark.full(but=1)
@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(6, random_state=0),
        RandomFernClassifier(6, 4, random_state=0),
        RandomForestRegressor(6, random_state=0),
        RandomFernRegressor(6, 4, random_state=0),
        LogitBoostClassifier(n_estimators=6, validation_fraction=0.3, random_state=0),
        StagewiseClassifier(2, n_restarts=2, random_state=0),
        StagewiseRegressor(2, n_restarts=2, random_state=0),
        LogisticTreeClassifier(1, n_restarts=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_numbers_are_the_same_for_any_number_of_jobs(model, monkeypatch):
    monkeypatch.setattr(screens, "_WORTH_A_THREAD", 50)
    X, y = numbers(150) if "Regressor" in type(model).__name__ else classes(150)
    queries = np.tile(X, (30, 1))  # more than one block
    one, *others = (clone(model).set_params(n_jobs=n).fit(X, y) for n in (None, 2, -1))
    for other in others:
        np.testing.assert_array_equal(one.predict(queries), other.predict(queries))
        outcomes = np.tile(y, 30)
        log_p = [fitted.predict_dist(queries).log_prob(outcomes) for fitted in (one, other)]
        np.testing.assert_array_equal(*log_p)
        for name in ("oob_log_prob_", "validation_scores_", "log_likelihoods_"):
            if name in vars(one):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# Boosted steps and units one by one


@for_each("n_classes", [2, 3, 6])
@for_each("rate", [1.0, 0.3])
@for_each("family", FAMILIES[::3], ids=lambda f: type(f).__name__)
def test_every_round_raises_the_log_likelihood(n_classes, rate, family):
    X, y = classes(150, n_classes, seed=n_classes)
    X[::7, 1] = np.nan
    model = LogitBoostClassifier(30, splits=family, learning_rate=rate, n_thresholds=30).fit(X, y)
    assert np.all(np.diff(model.log_likelihoods_) > 0.0)
    for k, p in enumerate(model.staged_predict_proba(X), start=1):
        own = np.log(p[np.arange(150), y]).sum()
        assert own == pytest.approx(model.log_likelihoods_[k], rel=1e-9)


@for_each(
    "options",
    [
        {"max_features": 5},
        {"splits": trees.Projections(), "max_features": 5},
        {"selection": "full"},
    ],
    ids=["drawn columns", "drawn projections", "full"],
)
def test_stages_of_boosting_are_fits_of_that_length(options):
    X, y = classes(40, 2)
    whole = LogitBoostClassifier(n_estimators=5, random_state=0, **options).fit(X, y)
    for k, p in enumerate(whole.staged_predict_proba(X), start=1):
        short = clone(whole).set_params(n_estimators=k).fit(X, y)
        np.testing.assert_array_equal(p, short.predict_proba(X))
        np.testing.assert_array_equal(p, whole.truncate(k).predict_proba(X))


@for_each("units", ["arctan", "radial"])
@for_each("kind", [StagewiseClassifier, StagewiseRegressor])
def test_stages_of_stagewise_fitting_are_fits_of_that_length(kind, units):
    X, y = classes(80) if kind is StagewiseClassifier else numbers(80)
    options = {"n_restarts": 1, "validation_fraction": None, "random_state": 0}
    whole = kind(4, units=units, **options).fit(X, y)
    assert whole.n_units_ == 4
    for k, labels in enumerate(whole.staged_predict(X), start=1):
        short = clone(whole).set_params(n_units=k).fit(X, y)
        np.testing.assert_array_equal(labels, short.predict(X))
        log_p = [fitted.predict_dist(X).log_prob(y) for fitted in (short, whole.truncate(k))]
        np.testing.assert_array_equal(*log_p)


def test_a_softmax_of_two_classes_boosts_as_two_classes(monkeypatch):
    X, y = classes(200, 2)
    two = LogitBoostClassifier(n_estimators=20).fit(X, y)
    monkeypatch.setattr(rounds, "TwoClasses", SoftmaxRows)
    soft = LogitBoostClassifier(n_estimators=20).fit(X, y)
    assert soft.steps_.values.shape[2] == 2
    np.testing.assert_array_equal(soft.steps_.thresholds, two.steps_.thresholds)
    A = soft.activation(X)
    np.testing.assert_allclose(A[:, 1] - A[:, 0], two.activation(X), atol=1e-7)


def test_the_choice_by_one_newton_step_does_nearly_as_well_as_the_full_one():
    for seed in range(3):
        X, y = classes(100, 2, seed=seed)
        quick, full = (
            LogitBoostClassifier(n_estimators=8, learning_rate=1.0, selection=way).fit(X, y)
            for way in ("one_step", "full")
        )
        rises = [np.ptp(model.log_likelihoods_) for model in (quick, full)]
        assert 0.9 * rises[1] < rises[0]
        assert full.log_likelihoods_[1] >= quick.log_likelihoods_[1] - 1e-9


def test_leaves_of_a_hard_logistic_tree_are_most_probable_for_their_own_rows():
    X, y = classes(300, 2, n_columns=2, seed=3)
    y = y ^ (X[:, 0] > 0.3)
    p = y.mean()  # offsets lie about its logit, with the information of one row
    about, v = np.array([0.0, 0.0, np.log(p / (1.0 - p))]), [0.5, 0.5, 1.0 / (p * (1.0 - p))]
    model = LogisticTreeClassifier(1, gates="hard", prior_variance=0.5, random_state=0).fit(X, y)
    scale, center = X.std(axis=0), X.mean(axis=0)
    leaf = model.apply(X)
    assert min(np.bincount(leaf)) > 30
    Z = np.column_stack([(X - center) / scale, np.ones(300)])
    for k in (0, 1):
        w = np.append(model.leaf_coef_[k] * scale, 0.0)
        w[-1] = model.leaf_intercept_[k] + model.leaf_coef_[k] @ center
        own = Z[leaf == k]
        slope = own.T @ (y[leaf == k] - expit(own @ w)) - (w - about) / v
        np.testing.assert_allclose(slope, 0.0, atol=1e-4)
