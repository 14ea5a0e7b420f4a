"""The forest of classification trees: what it promises beyond the contract of every classifier."""

import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import RandomForestClassifier, scoring
from posterity.copies import CopiedRowsWarning
from posterity.designs import Chunks

DRAWN = "weights equal repetition only in distribution where rows are drawn"


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0.0, "alike", "unlike")


def forest(n_estimators=10, **options):
    return RandomForestClassifier(n_estimators, random_state=0, **options)


@checks_of_settings(
    [RandomForestClassifier(10)],
    expected_failed_checks=lambda _: {"check_sample_weight_equivalence_on_dense_data": DRAWN},
)
def test_scikit_learn_contract_where_rows_are_drawn(estimator, check):
    check(estimator)


def test_classes_are_learned_with_honest_probabilities():
    X, y = rows(1000)
    model, (X_new, y_new) = forest(100).fit(X, y), rows(1000, seed=1)
    assert model.score(X_new, y_new) > 0.8
    new_score = -log_loss(y_new, model.predict_proba(X_new))
    assert new_score == pytest.approx(model.oob_log_score_, abs=0.05)
    assert model.score(X_new, y_new) == pytest.approx(model.oob_score_, abs=0.05)
    assert np.all(model.column_gain_[:2] > 1.5 * model.column_gain_[2])


def test_weights_are_repetition_in_distribution_where_rows_are_drawn():
    X, y = rows(60)
    w = np.random.default_rng(1).integers(0, 4, size=60)
    options = {"concentration": 1.0, "sharpness": 1.0, "max_features": 3}
    weighted = forest(600, **options).fit(X, y, sample_weight=w)
    often = np.repeat(np.arange(60), w)  # observations of their own, not copies
    repeated = forest(600, **options).fit(X[often], y[often], groups=np.arange(len(often)))
    near = np.abs(weighted.predict_proba(X) - repeated.predict_proba(X))
    unweighted = np.abs(
        forest(600, **options).fit(X, y).predict_proba(X) - repeated.predict_proba(X)
    )
    assert near.max() < 0.08
    assert unweighted.max() > 0.16


def test_rows_that_do_not_count_have_no_score_and_keep_their_places():
    X, y = rows(80)
    w = np.r_[np.ones(60), np.zeros(20)]
    order = np.random.default_rng(0).permutation(80)
    model = forest(30).fit(X[order], y[order], sample_weight=w[order])
    assert model.oob_log_prob_.shape == (80,)
    assert np.isnan(model.oob_log_prob_[w[order] == 0.0]).all()
    kept = order[w[order] > 0.0]
    alone = forest(30).fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.oob_log_prob_[w[order] > 0.0], alone.oob_log_prob_)


def test_nothing_is_learned_out_of_the_bag_where_there_is_none():
    X, y = rows(60)
    for groups, options in ((None, {"bootstrap": False}), (np.zeros(60), {})):
        model = forest(**options).fit(X, y, groups=groups)
        assert (model.concentration_, model.sharpness_) == (1.0, 1.0)
        assert np.isnan([model.oob_log_score_, model.oob_score_]).all()
        assert np.isnan(model.oob_log_prob_).all()


def test_a_class_may_be_in_no_bag():
    X, y = rows(200)
    y = y.astype("<U6")
    y[17] = "once"
    model = forest(1, max_samples=20).fit(X, y)
    log_p = model.predict_log_proba(X)
    assert list(model.classes_) == ["alike", "once", "unlike"]
    assert np.all(np.isfinite(log_p))
    assert np.all(log_p[:, 1] > np.log(1e-4))


def test_constant_columns_leave_the_class_frequencies():
    y = np.repeat(["a", "b", "c"], [10, 20, 70])
    model = forest(100).fit(np.ones((100, 2)), y)
    assert model.forest_.trees.n_leaves == 100
    np.testing.assert_allclose(model.predict_proba([[0.0, 5.0]]), [[0.1, 0.2, 0.7]], atol=0.02)
    np.testing.assert_array_equal(model.column_gain_, 0.0)


@pytest.mark.full
def test_thousands_of_classes_take_no_table_of_leaves_and_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 5)), rng.permutation(np.arange(4000) % 2000)
    forest(1).fit(X[:10], y[:10])  # what is compiled is not counted
    tracemalloc.start()
    model = forest(20).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * model.forest_.trees.n_leaves * 2000 * 8
    p = model.predict_proba(X[:50])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert np.all(p > 0.0)


def test_two_rows_are_enough():
    p = forest(50).fit([[0.0], [1.0]], ["a", "b"]).predict_proba([[0.0], [1.0]])
    assert p[0, 0] > 0.5 > p[1, 0]


def test_a_label_that_training_never_saw_is_refused_by_scores():
    X, y = rows(60)
    model, other = forest().fit(X, y), y.astype("<U6")
    other[3] = "zebra"
    for score in (scoring.log_score_scorer, scoring.brier_scorer):
        with pytest.raises(ValueError, match="label 'zebra', which was not in the training data"):
            score(model, X, other)
    with pytest.raises(ValueError, match="zebra"):
        log_loss(other, model.predict_proba(X), labels=model.classes_)
    assert model.score(X, other) < 1.0


def test_groups_are_in_the_bag_together_and_may_be_names():
    X, y = np.repeat(rows(30)[0], 4, axis=0), np.random.default_rng(0).permuted(["a", "b"] * 15)
    names = np.repeat([f"person {i}" for i in range(30)], 4)
    together, apart = (forest(50).fit(X, y.repeat(4), groups=g) for g in (names, np.arange(120)))
    assert apart.oob_score_ > 0.9  # of chance, by copies of a row
    assert together.oob_score_ < 0.7
    assert together.forest_.leaves.totals().sum() == 50 * 120  # a group drawn twice counts twice


def test_groups_of_rows_that_do_not_count_are_absent():
    X, y = rows(120)
    groups = np.arange(120) // 10
    for first in (2, 6):
        w = (groups < first).astype(float)
        weighted = forest(20).fit(X, y, sample_weight=w, groups=groups)
        kept = groups < first
        alone = forest(20).fit(X[kept], y[kept], groups=groups[kept])
        np.testing.assert_array_equal(weighted.predict_proba(X), alone.predict_proba(X))


def test_groups_are_routed_through_cross_validation():
    X, y = rows(90)
    groups = np.arange(90) // 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = forest().set_fit_request(groups=True)
        found = cross_validate(
            model, X, y, cv=GroupKFold(3), params={"groups": groups}, return_estimator=True
        )
    for fitted in found["estimator"]:
        unseen = np.isnan(fitted.oob_log_prob_).reshape(-1, 3)
        np.testing.assert_array_equal(unseen.any(axis=1), unseen.all(axis=1))


def test_searches_and_workers_around_it_change_nothing():
    X, y = rows(100)
    with joblib.parallel_config("threading", n_jobs=2):
        search = GridSearchCV(forest(n_jobs=-1), {"min_samples_leaf": [1.0, 60.0]}, cv=2).fit(X, y)
        fits = joblib.Parallel()(joblib.delayed(forest(n_jobs=-1).fit)(X, y) for _ in range(2))
    assert search.best_params_ == {"min_samples_leaf": 1.0}
    for fitted in fits:
        np.testing.assert_array_equal(fitted.predict_proba(X), search.predict_proba(X))


def test_copies_are_equal_and_clones_unfitted():
    X, y = rows(60)
    model = forest().fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert "forest_" not in vars(clone(model))


def test_huge_and_fractional_weights_are_counts():
    X, y = rows(60)
    for scale in (1e12, 0.3):
        model = forest(bootstrap=False).fit(X, y, sample_weight=np.full(60, scale))
        assert np.all(np.isfinite(model.predict_log_proba(X)))
        assert model.forest_.leaves.totals()[model.apply(X)].min() >= min(scale, 1.0) - 1e-9


@for_each(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0 must be a whole number of at least 1"),
        ({"n_estimators": 2.5}, "n_estimators=2.5"),
        ({"max_features": "half"}, "max_features='half' must be a whole number"),
        ({"max_features": 0.0}, "max_features=0.0 must be a whole number"),
        ({"max_depth": 0}, "max_depth=0"),
        (
            {"min_samples_leaf": 0.0},
            "min_samples_leaf=0.0 must be a finite number greater than zero",
        ),
        ({"bootstrap": "no"}, "bootstrap='no' must be True or False"),
        ({"bootstrap": None}, "bootstrap=None"),
        ({"max_samples": 0}, "max_samples=0"),
        ({"max_samples": 1.5}, "max_samples=1.5 is a fraction of the rows and must be at most 1"),
        ({"max_samples": True}, "max_samples=True"),
        ({"concentration": -1.0}, "concentration=-1.0"),
        ({"sharpness": np.nan}, "sharpness=nan"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"random_state": "seed"}, "'seed' cannot be used to seed"),
    ],
)
def test_parameters_out_of_range_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        forest().set_params(**options).fit(*rows(30))


@for_each(
    ("groups", "message"),
    [
        (np.arange(5), r"groups has shape \(5,\) but there are 30 rows"),
        (np.zeros((30, 1)), r"groups has shape \(30, 1\)"),
        (["a", None] * 15, "groups holds no name in row 1"),
        (np.where(np.arange(30) == 4, np.nan, 1.0), "groups holds no name in row 4"),
    ],
)
def test_groups_that_name_no_group_get_a_sentence(groups, message):
    with pytest.raises(ValueError, match=message):
        forest().fit(*rows(30), groups=groups)


def test_parts_of_rows_need_whole_weights_and_chunks_bring_their_own():
    X, y = rows(30)
    with pytest.raises(ValueError, match="weights are whole numbers"):
        forest(bootstrap=False, max_samples=0.5).fit(X, y, sample_weight=np.full(30, 0.7))
    chunks = Chunks.from_arrays(X, (y == "alike").astype(float), rows=10)
    with pytest.raises(ValueError, match="Chunks bring their own targets"):
        forest().fit(chunks, y)
    with pytest.raises(ValueError, match="groups are taken only with rows in memory"):
        forest().fit(chunks, groups=np.zeros(30))
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="column 1, row 4 is NaN"):
        forest().fit(Chunks.from_arrays(X, (y == "alike").astype(float), rows=10))


def test_copies_of_rows_are_in_the_bag_together():
    (X, y), (X_new, y_new) = rows(80), rows(1000, seed=1)
    with pytest.warns(CopiedRowsWarning, match="320 of 400 rows are copies"):
        often = forest(60).fit(np.tile(X, (5, 1)), np.tile(y, 5))
    loss = [log_loss(y_new, one.predict_proba(X_new)) for one in (often, forest(60).fit(X, y))]
    assert loss[0] == pytest.approx(loss[1], abs=0.1)
