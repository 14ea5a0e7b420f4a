"""The classifier made of a tree of gates and experts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import distributions, features
from posterity.local import LogisticTreeClassifier, MixtureOfExpertsClassifier


def xor(n=150, seed=0):
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, "same", "other")


def two_regions(n=150, seed=0):
    """The boundary climbs on the left and falls on the right."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 2))
    return X, X[:, 1] > 1.2 * np.abs(X[:, 0]) - 0.6


def three(n=150, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.digitize(np.abs(X[:, 0]), [0.4, 1.0])


def model(depth=1, **options):
    return LogisticTreeClassifier(depth, **{"n_restarts": 1, "random_state": 0} | options)


@checks_of_settings(
    [
        model(1, n_restarts=0),
        model(1, training="branchwise", gates="hard", n_restarts=0),
        model(None, max_depth=1, n_restarts=0),
    ]
)
def test_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


@for_each("rows", [xor, two_regions, three])
@for_each("training", ["joint", "branchwise"])
@for_each("gates", ["soft", "hard"])
def test_classes_that_no_line_parts_are_learned(rows, training, gates):
    X, y = rows()
    fitted = model(1, training=training, gates=gates).fit(X, y)
    line = model(0, gates=gates).fit(X, y)
    assert fitted.score(*rows(seed=1)) > max(0.93, line.score(*rows(seed=1)) + 0.05)


@for_each(("rows", "C"), [(xor, 2), (three, 3)])
@for_each("depth", [0, 2])
def test_soft_predictions_are_what_published_weights_say(rows, C, depth):
    X, y = rows()
    X = X * [1e3, 1e-2] + [5e3, 1.0]
    fitted = model(depth, n_restarts=0).fit(X, y)
    g = expit(X @ fitted.gate_coef_.T + fitted.gate_intercept_).T
    paths = [np.ones(len(X))]
    for k, gate in enumerate(g):
        paths += [paths[k] * (1 - gate), paths[k] * gate]
    trust = np.array(paths[min(depth, 1) :])
    a = np.einsum("nm,e...m->en...", X, fitted.expert_coef_)
    a = a + fitted.expert_intercept_.reshape(len(a), 1, *a.shape[2:])
    total = np.einsum("en,en...->n...", trust, a)
    p = softmax(total if C > 2 else np.column_stack([0 * total, total]), axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X), p, rtol=1e-7)
    np.testing.assert_allclose(fitted.gate_proba(X), np.array(paths[len(g) :]).T, rtol=1e-7)
    np.testing.assert_array_equal(fitted.apply(X), fitted.gate_proba(X).argmax(axis=1))
    kind = distributions.Bernoulli if C == 2 else distributions.Categorical
    assert isinstance(fitted.predict_dist(X), kind)


@for_each(("rows", "C"), [(xor, 2), (three, 3)])
def test_hard_predictions_are_those_of_one_leaf(rows, C):
    X, y = rows()
    X = X * [1e3, 1e-2] + [5e3, 1.0]
    fitted = model(2, gates="hard").fit(X, y)
    right = X @ fitted.gate_coef_.T + fitted.gate_intercept_ > 0.0
    leaf = np.where(right[:, 0], 2 + right[:, 2], 0 + right[:, 1])
    np.testing.assert_array_equal(fitted.apply(X), leaf)
    np.testing.assert_array_equal(fitted.gate_proba(X), np.eye(4)[leaf])
    a = np.einsum("nm,n...m->n...", X, fitted.leaf_coef_[leaf]) + fitted.leaf_intercept_[leaf]
    p = softmax(a if C > 2 else np.column_stack([0 * a, a]), axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X), p, rtol=1e-7)
    assert fitted.leaf_coef_.shape == ((4, 2) if C == 2 else (4, C, 2))
    inner, last = fitted.expert_coef_[:2], fitted.expert_coef_[2:]
    np.testing.assert_allclose(fitted.leaf_coef_, np.repeat(inner, 2, axis=0) + last)


def test_depth_zero_is_a_mixture_of_one_expert():
    X, y = three()
    tree = model(0, prior_variance=10.0).fit(X, y)
    expert = MixtureOfExpertsClassifier(1, n_restarts=0, random_state=0).fit(X, y)
    np.testing.assert_allclose(tree.predict_proba(X), expert.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(tree.gate_proba(X), 1.0)


@for_each("rows", [xor, three])
@for_each("depth", [1, None])
def test_integer_weights_equal_repeated_rows_in_any_order(rows, depth):
    X, y = rows(60)
    X = np.round(2.0 * X) / 2.0  # a place is observed more than once
    rng = np.random.default_rng(1)
    w = rng.integers(0, 4, len(y))
    order = rng.permutation(w.sum())
    each = model(depth, max_depth=1, gates="hard", n_restarts=0)
    weighted = each.fit(X, y, sample_weight=w).predict_proba(X)
    repeated = each.fit(np.repeat(X, w, axis=0)[order], np.repeat(y, w)[order])
    np.testing.assert_array_equal(weighted, repeated.predict_proba(X))


def test_the_same_seed_gives_the_same_numbers_for_any_number_of_jobs():
    X, y = xor(60)
    options = {"depth": None, "max_depth": 2}
    one, two = (model(**options, n_jobs=jobs).fit(X, y).predict_proba(X) for jobs in (None, 2))
    np.testing.assert_array_equal(one, two)
    other = model(**options, random_state=1).fit(X, y)
    assert not np.array_equal(one, other.predict_proba(X))


def test_depth_is_the_one_of_the_best_score_on_rows_held_out():
    X, y = xor(200)
    fitted = model(None, max_depth=2).fit(X, y)
    assert fitted.validation_scores_.shape == (3,)
    assert fitted.depth_ == np.argmax(fitted.validation_scores_) > 0
    assert len(fitted.gate_coef_) == 2**fitted.depth_ - 1
    given = model(1).fit(X, y)
    assert given.depth_ == 1
    assert given.validation_scores_ is None


def test_what_one_function_explains_gets_no_gates():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 12))
    fitted = model(None, max_depth=2, prior_variance=10.0).fit(
        X, X[:, 0] + rng.logistic(size=150) > 0.0
    )
    assert fitted.depth_ == 0
    assert np.all(fitted.validation_scores_[1:] < fitted.validation_scores_[0] - 0.1)


def test_four_points_seen_often_are_enough_to_choose_the_depth():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = X[:, 0] == X[:, 1]
    fitted = model(None, max_depth=1).fit(np.repeat(X, 25, axis=0), np.repeat(y, 25))
    assert fitted.depth_ == 1
    np.testing.assert_array_equal(fitted.predict(X), y)


def test_units_of_the_columns_do_not_matter():
    X, y = xor()
    moved = X * [1024.0, 0.25] + [8.0, -2.0]
    one, other = model().fit(X, y), model().fit(moved, y)
    assert one.log_posterior_ == pytest.approx(other.log_posterior_, rel=1e-5)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(moved), atol=1e-2)


def test_rows_that_can_be_parted_keep_finite_weights():
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    fitted = model(2, gates="hard").fit(X, X[:, 0] > 0.0)
    assert np.abs(fitted.leaf_coef_).max() < 50.0
    assert 0.5 < fitted.predict_proba(X).max() < 1.0


def test_a_class_of_one_row_and_a_constant_column_do_no_harm():
    X, y = three(60)
    y[0] = 3
    X = np.column_stack([X, np.full(60, 7.0)])
    fitted = model(None, max_depth=1, n_restarts=0).fit(X, y)
    p = fitted.predict_proba(X)
    assert np.isfinite(p).all()
    assert p.shape == (60, 4)


def test_features_take_the_place_of_columns():
    X, y = three()
    fitted = model(1, features=features.Polynomial(2), n_restarts=0).fit(X, y)
    assert fitted.gate_coef_.shape == (1, 5)
    assert fitted.gate_intercept_.shape == (1,)
    assert fitted.expert_coef_.shape == (2, 3, 5)
    assert fitted.expert_intercept_.shape == (2, 3)
    frame = pd.DataFrame(X, columns=["a", "b"])
    again = model(1, features=features.Polynomial(2), n_restarts=0).fit(frame, y)
    np.testing.assert_array_equal(fitted.predict(X), again.predict(frame))


@for_each("gates", ["soft", "hard"])
def test_what_a_search_found_is_told_and_kept(gates):
    X, y = xor(60)
    fitted = model(2, gates=gates).fit(X, y)
    assert fitted.n_iter_ > 1
    assert "gain" in fitted.stop_reason_ or "gradient" in fitted.stop_reason_
    assert np.isfinite(fitted.log_posterior_)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


@for_each(
    ("options", "match"),
    [
        ({"depth": -1}, "depth=-1 must be a whole number of at least 0"),
        ({"max_depth": 1.5}, r"max_depth=1\.5 must be a whole number"),
        ({"n_restarts": -1}, "n_restarts=-1 must be a whole number of at least 0"),
        ({"max_iter": 0}, "max_iter=0 must be"),
        ({"prior_variance": 0.0}, r"prior_variance=0\.0 must be"),
        ({"training": "both"}, r"training='both' must be one of \('joint', 'branchwise'\)"),
        ({"gates": "open"}, "gates='open' must be one of"),
        ({"validation_fraction": 1.0}, r"validation_fraction=1\.0 must be less than one"),
        ({"validation_fraction": 0.0}, r"validation_fraction=0\.0 must be"),
    ],
)
def test_a_wrong_parameter_is_named(options, match):
    with pytest.raises(ValueError, match=match):
        LogisticTreeClassifier(**options).fit(*xor(20))


def test_too_few_rows_to_choose_a_depth_are_refused():
    with pytest.raises(ValueError, match=r"each class has one row only\. Give a depth"):
        LogisticTreeClassifier().fit([[0.0], [1.0]], [0, 1])
