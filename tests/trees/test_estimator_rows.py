"""Rows on which boosted trees grow: weights, repetitions and copies of rows."""

import warnings

import numpy as np
import pytest
from scipy.special import expit
from sklearn.utils.estimator_checks import check_sample_weight_equivalence_on_dense_data
from support.for_each import for_each

from posterity import BoostedTreesClassifier, BoostedTreesRegressor, designs, scoring
from posterity.copies import CopiedRowsWarning
from posterity.trees.boosting import members, training

BOTH = [BoostedTreesClassifier, BoostedTreesRegressor]


def waves(n, seed=0):
    """Numbers, and two classes, of a plane and a wave."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = X[:, 0] + np.sin(2.0 * X[:, 1])
    return X, f + 0.3 * rng.normal(size=n), (rng.random(n) < expit(2.0 * f)).astype(int)


def targets_of(make, n, seed=0):
    X, y, labels = waves(n, seed)
    return X, labels if make is BoostedTreesClassifier else y


@for_each("make", BOTH)
def test_defaults_take_weights_for_repetitions(make):
    check_sample_weight_equivalence_on_dense_data(make.__name__, make())


@for_each("make", BOTH)
@for_each("options", [{}, {"subsample": 0.7, "growth": "leaf"}, {"categorical_features": [2]}])
@pytest.mark.filterwarnings("ignore::posterity.copies.CopiedRowsWarning")
def test_drawn_folds_and_rows_take_weights_for_repetitions_in_any_order(make, options):
    X, y = targets_of(make, 60)
    X[:, 2] = np.round(2.0 * X[:, 2])
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, size=60)
    repeated = rng.permutation(np.repeat(np.arange(60), times))
    weighted = make(12, random_state=0, **options).fit(X, y, sample_weight=times)
    again = make(12, random_state=0, **options).fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(again.activation(X), weighted.activation(X))
    assert again.oob_log_score_ == pytest.approx(weighted.oob_log_score_, rel=1e-12)


def test_copies_are_not_judged_by_members_that_learned_them():
    X, y, _ = waves(80)
    copied = np.repeat(np.arange(80), 5)
    with pytest.warns(CopiedRowsWarning, match="320 of 400 rows are copies") as caught:
        model = BoostedTreesRegressor(random_state=0).fit(X[copied], y[copied])
    assert sum(issubclass(one.category, CopiedRowsWarning) for one in caught) == 1
    X_new, y_new, _ = waves(3000, seed=1)
    dist = model.predict_dist(X_new)
    assert 0.8 < scoring.interval_coverage(dist, y_new) < 0.97
    once = BoostedTreesRegressor(random_state=0).fit(X, y).predict_dist(X_new)
    assert dist.log_prob(y_new).mean() > once.log_prob(y_new).mean() - 0.1


@for_each("make", BOTH)
def test_copies_are_never_split_between_rows_that_learn_and_rows_that_judge(make, monkeypatch):
    X, y = targets_of(make, 200)
    row = np.repeat(np.arange(200), 3)
    near = X[row]
    near[:, 2] += 0.1 * np.random.default_rng(1).normal(size=600)
    order, seen = np.random.default_rng(2).permutation(600), []

    def watch(table, objective, plan, rng, start=None, second=None):
        for folds in [table.folds, *([] if second is None else [second])]:
            of_group = dict(zip(table.groups, folds, strict=True))
            np.testing.assert_array_equal(folds, [of_group[g] for g in table.groups])
        seen.append(len(of_group))
        return members.cross_fit(table, objective, plan, rng, start, second)

    monkeypatch.setattr(training, "cross_fit", watch)
    with pytest.warns(CopiedRowsWarning, match="400 of 600 rows are copies"):
        make(20, random_state=0).fit(near[order], y[row[order]])
    assert set(seen) == {200}


def test_copies_in_chunks_are_held_out_together():
    X, y, _ = waves(80)
    copied = np.repeat(np.arange(80), 5)
    chunks = designs.Chunks.from_arrays(X[copied], y[copied], rows=100)
    with pytest.warns(CopiedRowsWarning, match="320 of 400 rows are copies"):
        model = BoostedTreesRegressor(200, random_state=0).fit(chunks)
    X_new, y_new, _ = waves(3000, seed=1)
    assert 0.8 < scoring.interval_coverage(model.predict_dist(X_new), y_new) < 0.98
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopiedRowsWarning)
        rounded = designs.Chunks.from_arrays(X[copied], np.round(y[copied]), rows=100)
        BoostedTreesRegressor(10, random_state=0).fit(rounded)
        BoostedTreesRegressor(10, random_state=0).fit(designs.Chunks.from_arrays(X, y, rows=40))


@for_each("noise", [0.0, 1e-6])
def test_some_copies_and_near_copies_do_not_narrow_intervals(noise):
    X, y, _ = waves(300)
    rows = np.append(np.arange(300), np.arange(20))
    near = X[rows] + noise * np.random.default_rng(2).normal(size=(320, 3))
    with pytest.warns(CopiedRowsWarning, match="20 of 320 rows are copies"):
        model = BoostedTreesRegressor(200, random_state=0).fit(near, y[rows])
    X_new, y_new, _ = waves(3000, seed=1)
    assert 0.85 < scoring.interval_coverage(model.predict_dist(X_new), y_new) < 0.95


def test_copies_do_not_make_classes_too_sure():
    X, _, labels = waves(80)
    copied = np.repeat(np.arange(80), 5)
    with pytest.warns(CopiedRowsWarning, match="320 of 400"):
        model = BoostedTreesClassifier(random_state=0).fit(X[copied], labels[copied])
    once = BoostedTreesClassifier(random_state=0).fit(X, labels)
    X_new, _, new = waves(3000, seed=1)
    scores = [m.predict_log_proba(X_new)[np.arange(3000), new].mean() for m in (model, once)]
    assert scores[0] > scores[1] - 0.1


def test_repeated_observations_are_not_copies():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, 2)).astype(float)
    labels = (rng.random(400) < 0.2 + 0.3 * X[:, 0]).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopiedRowsWarning)
        model = BoostedTreesClassifier(30, random_state=0).fit(X, labels)
    new = (rng.random((400, 100)) < 0.2 + 0.3 * X[:, :1]).astype(int)
    log_p = np.log(np.maximum(model.predict_proba(X), 1e-12))
    true = np.mean(np.where(new == 1, log_p[:, 1:], log_p[:, :1]))
    assert model.oob_log_score_ == pytest.approx(true, abs=0.05)


@for_each("make", BOTH)
def test_groups_are_judged_by_members_that_saw_none_of_them(make):
    X, y = targets_of(make, 80)
    copied = np.repeat(np.arange(80), 5)
    grouped = make(20, random_state=0).fit(X[copied], y[copied], groups=copied)
    weighted = make(20, random_state=0).fit(X, y, sample_weight=np.full(80, 5.0))
    assert grouped.oob_log_score_ == pytest.approx(weighted.oob_log_score_, abs=0.15)


def test_few_groups_are_known_to_tell_little_of_the_spread():
    covered = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        group, own = np.repeat(np.arange(428), 12), rng.normal(size=428)
        X = np.column_stack([rng.normal(size=(428, 2))[group], rng.normal(size=len(group))])
        y = 2.0 * own[group] + X[:, 2] + 0.3 * rng.normal(size=len(group))
        known = group < 28
        model = BoostedTreesRegressor(random_state=0)
        model.fit(X[known], y[known], groups=group[known])
        covered.append(scoring.interval_coverage(model.predict_dist(X[~known]), y[~known]))
    assert 0.84 < np.mean(covered) < 0.95
