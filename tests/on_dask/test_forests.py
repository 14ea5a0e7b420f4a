"""Forests whose rows stay on the workers of Dask."""

import pickle
import subprocess
import sys

import dask_rows
import numpy as np
import pytest
from sklearn.base import clone

import posterity
from posterity import designs, trees
from posterity.trees.forests import partitioned, routing, row_counts, sampling, streamed
from posterity.trees.forests.forest import ForestPlan
from posterity.trees.growth import growing

dask = pytest.importorskip("dask")


TRAINING = 1500
CLASSIFIERS = [
    posterity.RandomForestClassifier(30, random_state=0),
    posterity.RandomForestClassifier(30, max_samples=200, random_state=0),
    posterity.RandomForestClassifier(30, max_samples=0.2, bootstrap=False, random_state=0),
    posterity.RandomFernClassifier(30, max_depth=6, random_state=0),
]
REGRESSORS = [
    posterity.RandomForestRegressor(30, random_state=0),
    posterity.RandomForestRegressor(30, max_samples=200, random_state=0),
    posterity.RandomFernRegressor(30, max_depth=6, random_state=0),
]
WHOLE = [
    posterity.RandomTreeClassifier(random_state=0),
    posterity.RandomForestClassifier(8, bootstrap=False, random_state=0),
    posterity.RandomTreeRegressor(concentration=1.0, sharpness=1.0, random_state=0),
    posterity.RandomForestRegressor(8, bootstrap=False, random_state=0),
    posterity.RandomForestRegressor(8, splits=trees.Projections(), bootstrap=False, random_state=0),
]
named = {"ids": lambda model: type(model).__name__}


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def is_classifier(model):
    return hasattr(model, "predict_proba")


def problem(model, **options):
    """Rows to learn from, and others to be judged by."""
    make = dask_rows.classified if is_classifier(model) else dask_rows.measured
    n_classes = {"n_classes": 3} if is_classifier(model) else {}
    rows = make(TRAINING + 1000, 4, **n_classes, **options)
    known = dask_rows.Rows(*(None if p is None else p[:TRAINING] for p in rows.parts))
    return known, rows.X[TRAINING:], rows.y[TRAINING:]


def log_score(model, X, y):
    if not is_classifier(model):
        return np.mean(model.predict_dist(X).log_prob(y))
    codes = np.searchsorted(model.classes_, y)
    return np.mean(model.predict_log_proba(X)[np.arange(len(y)), codes])


def numbers(model, X):
    found = model.predict_dist(X)
    return found.log_probabilities() if is_classifier(model) else (found.mean(), found.variance())


@pytest.mark.parametrize("model", WHOLE, **named)
def test_where_trees_take_all_rows_the_forest_is_that_of_memory(model):
    rows, X, _ = problem(model)
    there = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    here = clone(model).fit(*rows.parts)
    np.testing.assert_array_equal(there.forest_.trees.children, here.forest_.trees.children)
    np.testing.assert_allclose(numbers(there, X), numbers(here, X), rtol=1e-8, atol=1e-10)
    assert there.n_features_in_ == 4


@pytest.mark.full(but=3)
@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, **named)
@pytest.mark.parametrize("order", ["as it comes", "sorted by target"])
def test_the_log_score_is_about_that_of_memory_however_rows_are_sorted(model, order):
    rows, X, y = problem(model)
    here = clone(model).fit(*rows.parts)
    if order == "sorted by target":
        by_target = np.argsort(rows.y, kind="stable")
        rows = dask_rows.Rows(*(part[by_target] for part in rows.parts))
    there = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    assert there.forest_.trees.n_trees == 30
    assert log_score(there, X, y) > log_score(here, X, y) - 0.06
    if not is_classifier(model):
        errors = [np.mean((fitted.predict(X) - y) ** 2) ** 0.5 for fitted in (there, here)]
        assert errors[0] < 1.1 * errors[1]


@pytest.mark.parametrize("model", [CLASSIFIERS[1], REGRESSORS[1]], **named)
def test_rows_out_of_the_bag_tell_how_good_a_forest_is(model):
    rows, X, y = problem(model)
    fitted = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    assert fitted.oob_log_score_ == pytest.approx(log_score(fitted, X, y), abs=0.1)
    if is_classifier(model):
        right = np.mean(fitted.predict(X) == y)
        assert fitted.oob_score_ == pytest.approx(right, abs=0.05)
    else:
        error = np.mean((fitted.predict(X) - y) ** 2) ** 0.5
        assert fitted.oob_rmse_ == pytest.approx(error, rel=0.15)
    assert fitted.sharpness_ > 1.0
    assert fitted.oob_log_prob_ is None  # a number a row, which nobody holds here


@pytest.mark.full(but=1)
@pytest.mark.parametrize("model", [CLASSIFIERS[1], REGRESSORS[0]], **named)
def test_arrays_frames_and_worker_processes_give_the_same_forest(client, model):
    rows, X, _ = problem(model)
    expected = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    framed = dask_rows.as_frames(rows)
    with dask.config.set(scheduler=client):
        found = clone(model).fit(*framed.parts)
    assert list(found.feature_names_in_) == list(framed.X.columns)
    del found.feature_names_in_
    np.testing.assert_allclose(numbers(found, X), numbers(expected, X), rtol=1e-10, atol=1e-12)
    assert found.oob_log_score_ == pytest.approx(expected.oob_log_score_, rel=1e-10)


@pytest.mark.parametrize("n_hands", [1, 3, 64])
def test_who_grows_which_trees_changes_nothing(monkeypatch, n_hands):
    model = CLASSIFIERS[1]
    rows, X, _ = problem(model)
    expected = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    monkeypatch.setattr(partitioned, "_MOST_HANDS", n_hands)
    found = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    np.testing.assert_array_equal(found.apply(X), expected.apply(X))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


def test_a_task_that_is_run_again_grows_the_same_trees(monkeypatch):
    model = CLASSIFIERS[1]
    rows, X, _ = problem(model)
    expected = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    play = partitioned._grow
    monkeypatch.setattr(partitioned, "_grow", lambda *given: (play(*given), play(*given))[1])
    found = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    np.testing.assert_array_equal(found.apply(X), expected.apply(X))


@pytest.mark.full
def test_a_fitted_forest_is_saved_and_predicts_without_dask(tmp_path):
    rows, X, _ = problem(CLASSIFIERS[1])
    fitted = clone(CLASSIFIERS[1]).fit(*dask_rows.as_arrays(rows).parts)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "p.npy", fitted.predict_proba(X))
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(fitted))
    posterity.save(fitted, tmp_path / "model.posterity")
    script = (
        "import pickle, sys, numpy as np, posterity\n"
        "sys.modules['dask'] = sys.modules['distributed'] = None\n"
        "X, p = np.load('X.npy'), np.load('p.npy')\n"
        "for model in pickle.load(open('model.pickle', 'rb')), posterity.load('model.posterity'):\n"
        "    np.testing.assert_array_equal(model.predict_proba(X), p)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_several_targets_share_the_trees():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    rows = dask_rows.Rows(X, X[:, :2] + 0.1 * rng.normal(size=(600, 2)))
    model = posterity.RandomForestRegressor(10, bootstrap=False, random_state=0)
    there = clone(model).fit(*dask_rows.as_arrays(rows).parts[:2])
    here = clone(model).fit(*rows.parts[:2])
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-8)


def shares(model, rows):
    partitions = designs.Partitions.from_collections(*dask_rows.as_arrays(rows).parts)
    return (
        row_counts.count_classes(partitions)
        if is_classifier(model)
        else row_counts.sum_numbers(partitions)
    )


def test_a_first_look_counts_rows_and_targets():
    rows = problem(CLASSIFIERS[0])[0]
    found = shares(CLASSIFIERS[0], rows)
    sizes = dask_rows.chunks(TRAINING)
    cuts = np.cumsum(sizes)[:-1]
    assert found.partitions.known_lengths == sizes
    parts = np.split(rows.sample_weight, cuts)
    np.testing.assert_allclose(found.shares.row_counts, [part.sum() for part in parts])
    classes, counts = found.targets
    expected = [rows.sample_weight[rows.y == name].sum() for name in classes]
    np.testing.assert_allclose(counts, expected)
    some_halved = rows.sample_weight * np.where(np.arange(TRAINING) < cuts[-1], 1.0, 0.5)
    halved = dask_rows.Rows(rows.X, rows.y, some_halved)
    present = [np.count_nonzero(part) for part in parts]
    np.testing.assert_allclose(shares(CLASSIFIERS[0], halved).shares.row_counts, present)


def test_the_variance_of_all_targets_is_that_of_memory(monkeypatch):
    judged, noted = partitioned.out_of_bag.build_forest, []

    def note(family, grown, own, counted, kind, variance, judges, plan):
        noted.append(variance)
        return judged(family, grown, own, counted, kind, variance, judges, plan)

    monkeypatch.setattr(partitioned.out_of_bag, "build_forest", note)
    rows = problem(REGRESSORS[0])[0]
    posterity.RandomForestRegressor(2, random_state=0).fit(*dask_rows.as_arrays(rows).parts)
    center = np.average(rows.y, weights=rows.sample_weight)
    variance = np.average((rows.y - center) ** 2, weights=rows.sample_weight)
    np.testing.assert_allclose(noted, [[variance]])


@pytest.mark.parametrize("model", [CLASSIFIERS[1], REGRESSORS[1]], **named)
def test_rows_of_a_large_partition_go_down_a_part_at_a_time(monkeypatch, model):
    rows, X, _ = problem(model)
    expected = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    monkeypatch.setattr(routing, "_MOST_ROWS", 100)
    found = clone(model).fit(*dask_rows.as_arrays(rows).parts)
    np.testing.assert_allclose(numbers(found, X), numbers(expected, X), rtol=1e-6, atol=1e-9)
    if is_classifier(model):
        assert found.oob_log_score_ == expected.oob_log_score_
    else:
        np.testing.assert_array_equal(found.forest_.leaves.count, expected.forest_.leaves.count)


PARTS = row_counts.PartitionShares(
    np.array([30, 0, 10]), np.array([60.0, 0.0, 20.0]), np.array([30, 0, 10]), are_whole=True
)


def draws(n_trees, **options):
    plan = ForestPlan(n_trees, growing.GrowthRules(1), **options)
    return partitioned.PartitionDraws.from_shares(
        PARTS, plan, np.random.default_rng(0).spawn(n_trees)
    )


@pytest.mark.parametrize("countable", [10**9, 10])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_trees_draw_from_partitions_by_what_these_have(monkeypatch, bootstrap, countable):
    monkeypatch.setattr(partitioned, "_COUNTABLE", countable)
    sizes = draws(2000, bootstrap=bootstrap, max_samples=20).sizes
    assert np.all(sizes.sum(axis=1) == 20)
    assert not sizes[:, 1].any()
    np.testing.assert_allclose(sizes.mean(axis=0), [15.0, 0.0, 5.0], atol=0.1)
    spread = 20 * 0.75 * 0.25 * (1.0 if bootstrap else 60 / 79)  # binomial, hypergeometric
    assert np.var(sizes[:, 0]) == pytest.approx(spread, rel=0.12)


def test_bags_hold_what_was_asked_for_and_differ_by_tree_and_partition():
    drawn = draws(3, max_samples=40)
    weights = np.full(30, 2.0)
    bags = [drawn.draw_bag(weights, tree, 0) for tree in range(3)]
    for bag, size in zip(bags, drawn.sizes[:, 0], strict=True):
        assert bag.weights.sum() == size
    twin = partitioned.PartitionDraws(drawn.sizes[:, [0, 0, 0]], drawn.seeds, bootstrap=True)
    others = [twin.draw_bag(weights, tree, 2) for tree in range(3)]
    different = [*bags, *others]
    for i, one in enumerate(different):
        assert not any(
            np.array_equal(one.places, other.places) and np.array_equal(one.weights, other.weights)
            for other in different[:i]
        )
    assert not len(drawn.draw_bag(weights[:0], 0, 1).places)


def test_all_rows_are_taken_where_weights_are_fractions_and_no_bag_is_drawn():
    fractions = row_counts.PartitionShares(
        PARTS.lengths, 0.1 * PARTS.weights, PARTS.present, are_whole=False
    )
    plan = ForestPlan(1, growing.GrowthRules(1), bootstrap=False)
    drawn = partitioned.PartitionDraws.from_shares(fractions, plan, [np.random.default_rng(0)])
    weights = np.full(30, 0.2)
    np.testing.assert_array_equal(drawn.draw_bag(weights, 0, 0).weights, weights)
    few = ForestPlan(1, growing.GrowthRules(1), bootstrap=False, max_samples=5)
    with pytest.raises(ValueError, match="only where weights are whole numbers"):
        partitioned.PartitionDraws.from_shares(fractions, few, [np.random.default_rng(0)])


def test_samples_are_bounded_and_families_learn_from_some_rows(monkeypatch):
    monkeypatch.setattr(streamed, "_MOST_SAMPLES", 50)
    monkeypatch.setattr(streamed, "FAMILY_ROWS", 200)
    rows, X, y = problem(CLASSIFIERS[0])
    fitted = clone(CLASSIFIERS[0]).fit(*dask_rows.as_arrays(rows).parts)
    assert fitted.forest_.trees.n_leaves <= 30 * 50
    assert log_score(fitted, X, y) > -1.0
    assert np.isfinite(fitted.oob_log_score_)


def test_judges_are_those_trees_have_not_seen(monkeypatch):
    noted = []
    judged = partitioned.out_of_bag.build_forest

    def note(family, grown, own, counted, kind, base, judges, plan):
        noted.append((own, judges))
        return judged(family, grown, own, counted, kind, base, judges, plan)

    monkeypatch.setattr(partitioned.out_of_bag, "build_forest", note)
    rows = problem(CLASSIFIERS[0])[0]
    alone = dask_rows.Rows(rows.X, np.arange(TRAINING) % 2, rows.sample_weight)
    model = posterity.RandomForestClassifier(5, max_samples=100, random_state=0)
    model.fit(*dask_rows.as_arrays(alone).parts)
    ((_, judges),) = noted
    assert np.all(judges.weights > 0.0)
    # Trees of distinct rows tell these apart until leaves are pure: what was seen is right.
    leaves = model.forest_.apply(judges.X).T
    own = noted[0][0].dense()[leaves]
    share = own[..., 1] / np.maximum(own.sum(axis=2), 1.0)
    seen_share = np.mean((share > 0.5) == judges.target, where=judges.seen)
    unseen_share = np.mean((share > 0.5) == judges.target, where=~judges.seen)
    assert seen_share > 0.95
    assert unseen_share < 0.65
    expected = 1.0 - np.exp(-100 * judges.weights / rows.sample_weight.sum())
    np.testing.assert_allclose(judges.seen.mean(), expected.mean(), rtol=0.2)


@pytest.mark.parametrize("model", [CLASSIFIERS[0], REGRESSORS[0]], **named)
def test_what_cannot_be_done_is_said(model):
    rows = dask_rows.as_arrays(problem(model)[0])
    with pytest.raises(ValueError, match="groups are taken only with rows in memory"):
        clone(model).fit(rows.X, rows.y, groups=np.zeros(TRAINING))
    with pytest.raises(ValueError, match="no targets: pass y"):
        clone(model).fit(rows.X)
    with pytest.raises(ValueError, match="zero in every row"):
        clone(model).fit(rows.X, rows.y, 0.0 * rows.sample_weight)


def test_one_class_is_none():
    rows = problem(CLASSIFIERS[0])[0]
    same = dask_rows.as_arrays(dask_rows.Rows(rows.X, np.full(TRAINING, "only")))
    with pytest.raises(ValueError, match="only one class"):
        posterity.RandomForestClassifier(3).fit(same.X, same.y)


def test_rows_that_count_are_looked_for_in_vain(monkeypatch):
    monkeypatch.setattr(streamed, "FAMILY_ROWS", 3)
    rows = problem(CLASSIFIERS[0])[0]
    weights = np.zeros(TRAINING)
    weights[[3, np.flatnonzero(rows.y != rows.y[3])[0]]] = 1.0
    rare = dask_rows.as_arrays(dask_rows.Rows(rows.X, rows.y, weights))
    with pytest.raises(ValueError, match="A sample of 3 rows holds none"):
        posterity.RandomForestClassifier(3).fit(*rare.parts)


def test_relative_weights_bound_the_sample_by_rows(monkeypatch):
    monkeypatch.setattr(streamed, "_MOST_SAMPLES", 50)
    assert streamed.limit_samples(
        ForestPlan(1, growing.GrowthRules(1)), sampling.count_rows(np.full(90, 1 / 90))
    ) == ForestPlan(1, growing.GrowthRules(1), max_samples=50)


@pytest.mark.parametrize("kind", ["BoostedTreesClassifier", "BoostedTreesRegressor"])
def test_boosted_trees_of_partitions_are_those_of_chunks(kind):
    model = getattr(posterity, kind)(8, cv=3, random_state=0)
    known, X_new, _ = problem(model, weighted=True)
    numbers = np.unique(known.y, return_inverse=True)[1] if is_classifier(model) else known.y
    chunks = designs.Chunks.from_arrays(known.X, numbers, known.sample_weight, rows=400)
    spread = dask_rows.as_arrays(known)
    found = clone(model).fit(*spread.parts)
    expected = clone(model).fit(chunks)
    np.testing.assert_array_equal(
        found.predict_dist(X_new).mean(), expected.predict_dist(X_new).mean()
    )
    assert not is_classifier(model) or found.classes_.tolist() == ["high", "low", "middle"]
    with pytest.raises(ValueError, match="groups can be used only with rows in memory"):
        clone(model).fit(*spread.parts, groups=np.zeros(TRAINING))
