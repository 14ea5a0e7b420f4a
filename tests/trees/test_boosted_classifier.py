"""Boosted trees of classes: what only they promise."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_softmax
from sklearn.base import clone
from support.for_each import for_each

from posterity import BoostedTreesClassifier, designs, trees


def rows(n=200, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    a = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    return X, np.digitize(a, [-0.4, 0.4][: n_classes - 1])


def boosted(n_estimators=15, **options):
    return BoostedTreesClassifier(
        n_estimators, **({"learning_rate": 0.3, "cv": 3, "random_state": 0} | options)
    )


@for_each("growth", ["oblivious", "level", "leaf"])
def test_trees_of_every_growth_learn_an_interaction(growth):
    X, y = rows(400)
    model = boosted(30, growth=growth, max_leaf_nodes=None if growth == "oblivious" else 8)
    X_new, y_new = rows(400, seed=1)
    assert model.fit(X, y).score(X_new, y_new) > 0.8
    log_p = model.predict_log_proba(X_new)[np.arange(400), y_new]
    assert model.oob_log_score_ == pytest.approx(log_p.mean(), abs=0.06)
    assert model.oob_score_ == pytest.approx(model.score(X_new, y_new), abs=0.06)


@for_each("n_classes", [2, 3])
def test_stages_and_activations_are_those_of_the_probabilities(n_classes):
    X, y = rows(n_classes=n_classes)
    model = boosted(6, n_iter_no_change=6).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_estimators_ > 1
    for k, p in enumerate(stages, start=1):
        np.testing.assert_allclose(p, model.truncate(k).predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(stages[-1], model.predict_proba(X), atol=1e-12)
    A = model.activation(X)
    p = expit(A) if n_classes == 2 else np.exp(log_softmax(A, axis=1))
    expected = stages[-1][:, 1] if n_classes == 2 else stages[-1]
    np.testing.assert_allclose(p, expected, atol=1e-12)
    latent = model.predict_latent(X)
    assert latent.shape == A.shape
    assert np.all(np.abs(latent.mean()) >= np.abs(A) - 1e-12)  # what is uncertain is moderated
    with pytest.raises(ValueError, match="is more than the"):
        model.truncate(99)


def test_uncertainty_is_epistemic_where_rows_are_few():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1000, 2))
    X = X[(X[:, 0] < 0.6) | (X[:, 1] < 0.6) | (rng.random(1000) < 0.02)]
    y = rng.integers(2, size=len(X))
    model = boosted(40, n_iter_no_change=100, random_strength=0.0, cv=1).fit(X, y)
    dist = model.predict_dist([[0.3, 0.3], [0.8, 0.8]])
    few, many = dist.epistemic_entropy()[::-1]
    assert few > 1.5 * many
    np.testing.assert_allclose(dist.epistemic_entropy() + dist.aleatoric_entropy(), dist.entropy())


def test_an_activation_that_explains_all_leaves_nothing_to_learn():
    X, y = rows(300, n_classes=3)
    base = boosted(20).fit(X, y)
    start = base.activation(X)
    more = boosted(20, n_iter_no_change=5).fit(X, y, activation=start)
    plain = log_softmax(start, axis=1)[np.arange(300), y].mean()
    assert more.validation_scores_[0] == pytest.approx(plain)
    assert np.ptp(more.activation(X)) < 0.5 * np.ptp(start)
    with pytest.raises(ValueError, match=r"activation has shape \(300,\); it must be"):
        boosted().fit(X, y, activation=start[:, 0])


def test_a_warm_start_goes_on_with_the_same_folds():
    X, y = rows()
    model = boosted(5, warm_start=True, random_state=None, n_iter_no_change=50).fit(X, y)
    before, scores = model.trees_, model.validation_scores_
    kept = model.n_estimators_
    model.set_params(n_estimators=12).fit(X, y)
    assert kept < model.n_estimators_ <= 12
    np.testing.assert_array_equal(model.trees_.truncate(kept).values, before.values)
    np.testing.assert_allclose(model.validation_scores_[: kept + 1], scores[: kept + 1])
    again = boosted(12, n_iter_no_change=50).fit(X, y)
    assert model.oob_log_score_ == pytest.approx(again.oob_log_score_, abs=0.08)
    with pytest.raises(ValueError, match="of another number"):
        model.set_params(cv=2).fit(X, y)


def test_categories_are_learned_from_other_folds():
    rng = np.random.default_rng(0)
    level = rng.integers(60, size=600)
    X = np.column_stack([rng.normal(size=600), level])
    y = rng.random(600) < np.where(rng.random(60) < 0.5, 0.1, 0.9)[level]
    plain, own = (boosted(30, categorical_features=c).fit(X, y) for c in (None, [1]))
    assert own.oob_log_score_ > plain.oob_log_score_ + 0.05
    assert own.feature_importances_.shape == (2,)
    assert own.feature_importances_.argmax() == 1
    noise = rng.integers(2, size=600)  # its own target would make a level predict it
    score = boosted(30, categorical_features=[1]).fit(X, noise).oob_log_score_
    assert score == pytest.approx(-np.log(2.0), abs=0.03)
    frame = pd.DataFrame(X, columns=["x", "level"])
    named = boosted(30, categorical_features=["level"]).fit(frame, y)
    np.testing.assert_array_equal(named.predict_proba(frame), own.predict_proba(X))
    far = np.where(np.arange(2) == 1, [np.nan, 99.0], 0.0)[:, None] * [0.0, 1.0]
    assert np.all(np.isfinite(own.predict_proba(far)))


@for_each("signs", [{0: 1}, [1, 0, -1]])
@for_each("growth", ["oblivious", "leaf"])
def test_probabilities_rise_with_monotone_columns(signs, growth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + np.sin(3.0 * X[:, 0]) + X[:, 1] + rng.normal(size=300) > 0.0
    model = boosted(20, monotonic_cst=signs, growth=growth).fit(X, y)
    along = np.repeat(X[:20], 50, axis=0)
    along[:, 0] = np.tile(np.linspace(-3.0, 3.0, 50), 20)
    mean = model.predict_latent(along).mean().reshape(20, 50)
    assert np.all(np.diff(mean, axis=1) >= -1e-9)


def test_a_member_leaves_whole_groups_out():
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(40), 10)
    X = rng.normal(size=(40, 3))[person] + 1e-3 * rng.normal(size=(400, 3))
    y = rng.integers(2, size=40)[person]
    leaking, honest = boosted(30).fit(X, y), boosted(30).fit(X, y, groups=person)
    assert leaking.oob_log_score_ > -0.4
    assert honest.oob_log_score_ < -0.6


def test_chunks_learn_what_memory_does():
    X, y = rows(400)
    whole = boosted(20).fit(X, y)
    model = boosted(20).fit(designs.Chunks.from_arrays(X, y, rows=70))
    assert model.oob_log_score_ == pytest.approx(whole.oob_log_score_, abs=0.1)
    assert model.score(X, y) > 0.85
    with pytest.raises(
        ValueError, match="categorical_features can be used only with rows in memory"
    ):
        boosted(categorical_features=[0]).fit(designs.Chunks.from_arrays(X, y, rows=70))


def test_tables_of_few_rows_and_of_many_classes_are_learned():
    X, y = rows(20)
    assert np.isfinite(BoostedTreesClassifier(20, random_state=0).fit(X, y).oob_log_score_)
    rng = np.random.default_rng(0)
    centres = 8.0 * rng.normal(size=(50, 3))
    label = np.repeat(np.arange(50), 8)
    model = boosted(15).fit(centres[label] + rng.normal(size=(400, 3)), label)
    assert model.oob_score_ > 0.7
    constant = boosted().fit(np.ones((40, 2)), np.arange(40) % 4 == 0)
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), [[0.75, 0.25]], atol=0.05)


def test_splits_of_scikit_learn_say_which_rows_are_left_out():
    X, y = rows(90)
    held = [np.arange(0, 30), np.arange(30, 50)]
    model = boosted(cv=[(np.setdiff1d(np.arange(90), own), own) for own in held]).fit(X, y)
    assert model.n_members_ == 2
    assert np.isnan(model.oob_decision_function_[50:]).all()
    assert np.isfinite(model.oob_decision_function_[:50]).all()
    with pytest.raises(ValueError, match="each row may be held out once"):
        boosted(cv=[(held[1], held[0])] * 2).fit(X, y)


def test_the_number_of_threads_does_not_show():
    X, y = rows(3000)
    one, two = (
        boosted(4, cv=2, n_jobs=n).fit(np.tile(X, 60), y).activation(np.tile(X, 60)) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


@for_each(
    ("options", "message"),
    [
        ({"growth": "wild"}, "growth='wild' must be one of"),
        ({"learning_rate": 2.0}, "must be at most 1"),
        ({"subsample": 1.5}, "subsample=1.5 must be at most 1"),
        ({"cv": 0}, "cv=0 must be a whole number"),
        ({"random_strength": -1.0}, "must be a number from 0 on"),
        ({"l2_regularization": 0.0}, "l2_regularization"),
        ({"categorical_features": ["q"]}, "categorical_features names column 'q'"),
        ({"categorical_features": 3}, "must list columns"),
        ({"monotonic_cst": [1, 0]}, r"monotonic_cst has shape \(2,\)"),
        ({"monotonic_cst": [2, 0, 0]}, "must be 1, 0 or -1"),
        ({"monotonic_cst": [1, 0, 0], "categorical_features": [0]}, "categorical column must be 0"),
        ({"splits": trees.Projections(), "categorical_features": [0]}, "splits of single columns"),
    ],
)
def test_parameters_that_cannot_be_used_get_a_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        boosted(**options).fit(*rows(60))


def test_families_without_an_end_draw_their_tests():
    X, y = rows(300)
    oblique = boosted(20, splits=trees.Projections(), max_features=60).fit(X, y)
    assert oblique.oob_score_ > 0.7
    assert oblique.column_gain_ is None
    with pytest.raises(TypeError, match="no end of tests"):
        clone(oblique).set_params(max_features=None).fit(X, y)


@for_each("n_classes", [2, 3])
def test_shapley_values_sum_to_the_latents(n_classes):
    X, y = rows(200, n_classes)
    X[:, 2] = np.digitize(X[:, 2], [-1.0, 0.0, 1.0])
    model = boosted(5, categorical_features=[2]).fit(X, y)
    values, expected = model.shap_values(X[:7])
    assert values.shape == ((7, 3) if n_classes == 2 else (7, 3, 3))
    total = expected + values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_latent(X[:7]).mean(), atol=1e-10)


@for_each("growth", ["oblivious", "leaf"])
def test_the_least_number_of_rows_is_counted_by_weight(growth):
    X, y = rows(80, 3)
    w = np.random.default_rng(0).integers(0, 4, len(y))
    options = {"bootstrap": False, "random_strength": 0.0, "cv": 1, "min_samples_leaf": 4}
    model = boosted(5, growth=growth, max_depth=3, **options)
    weighted = model.fit(X, y, sample_weight=w).predict_proba(X)
    repeated = clone(model).fit(X.repeat(w, 0), y.repeat(w)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


@for_each(
    ("columns", "classes", "sentence"),
    [
        ([0, 1], [0, 1], "X has 2 features"),
        ([0, 1, 2], [3, 4], "goes on with the classes of the last fit, .*, but y has"),
        ([0, 1, 2], [0, 1, 2], "goes on with the classes of the last fit, .*, but y has"),
        (["c", "b", "a"], [0, 1], "feature names should match"),
    ],
)
def test_a_warm_start_that_cannot_go_on_is_refused_and_leaves_the_model(columns, classes, sentence):
    X, y = rows(90)
    frame = pd.DataFrame(X, columns=list("abc"))
    table = frame if isinstance(columns[0], str) else X
    model = boosted(3, warm_start=True, cv=2).fit(table, y)
    before = model.predict_proba(table)
    other = frame[columns] if table is frame else X[:, columns]
    with pytest.raises(ValueError, match=sentence):
        model.fit(other, np.resize(classes, 90))
    np.testing.assert_array_equal(model.predict_proba(table), before)


def test_a_warm_start_keeps_the_tables_of_its_members():
    rng = np.random.default_rng(0)
    level = rng.integers(30, size=300)
    X, y = np.column_stack([rng.normal(size=300), level]), rng.normal(size=30)[level] > 0.0
    model = boosted(5, categorical_features=[1], warm_start=True, cv=3, n_iter_no_change=50)
    model.fit(X, y)
    early = model.truncate(5).activation(X)
    model.set_params(n_estimators=20).fit(X, y)
    *_, at_five = (a for a, _ in zip(model.staged_activation(X), range(5), strict=False))
    ratio = np.median(at_five / early)  # of what calibration multiplies
    np.testing.assert_allclose(at_five, ratio * early, rtol=0.2, atol=1e-3)
    model.check_consistency()
    X[:, 1] = np.where(X[:, 1] > 20.0, 0.0, X[:, 1])
    with pytest.raises(ValueError, match="levels of categories are others"):
        model.set_params(n_estimators=25).fit(X, y)
