"""The classifier made of experts and gates."""

import numpy as np
import pandas as pd
import pytest
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import distributions, features
from posterity.local.gated_classifiers import MixtureOfExpertsClassifier


def xor(n=150, seed=0):
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, "same", "other")


def three(n=150, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.digitize(np.abs(X[:, 0]), [0.4, 1.0])


def model(n_experts=2, **options):
    return MixtureOfExpertsClassifier(n_experts, **{"n_restarts": 2, "random_state": 0} | options)


@checks_of_settings([model(), model(3, n_restarts=0)])
def test_is_a_scikit_learn_classifier(estimator, check):
    check(estimator)


@for_each("rows", [xor, three])
def test_classes_that_no_line_parts_are_learned(rows):
    X, y = rows()
    assert model(1, n_restarts=0).fit(X, y).score(X, y) < 0.75
    assert model(2).fit(X, y).score(*rows(seed=1)) > 0.93


@for_each(("rows", "C"), [(xor, 2), (three, 3)])
def test_predictions_are_experts_averaged_by_gates(rows, C):
    X, y = rows()
    fitted = model(3, n_restarts=0).fit(X, y)
    gates, experts = fitted.gate_proba(X), fitted.expert_proba(X)
    assert gates.shape == (len(X), 3)
    assert experts.shape == (len(X), 3, C)
    np.testing.assert_allclose(gates.sum(axis=1), 1.0)
    np.testing.assert_allclose(
        fitted.predict_proba(X), np.einsum("nk,nkc->nc", gates, experts), rtol=1e-12
    )
    kind = distributions.Bernoulli if C == 2 else distributions.Categorical
    assert isinstance(fitted.predict_dist(X), kind)


@for_each(("rows", "C"), [(xor, 2), (three, 3)])
def test_weights_are_in_the_units_of_the_data(rows, C):
    X, y = rows()
    X = X * [1e3, 1e-2] + [5e3, 1.0]
    fitted = model(2, n_restarts=0).fit(X, y)
    logits = X @ fitted.gate_coef_.T + fitted.gate_intercept_
    odds = np.exp(logits[:, 0] - logits[:, 1])
    np.testing.assert_allclose(odds / (1 + odds), fitted.gate_proba(X)[:, 0], rtol=1e-8)
    a = np.einsum("nm,k...m->nk...", X, fitted.expert_coef_) + fitted.expert_intercept_
    a = a if C == 3 else np.stack([np.zeros_like(a), a], axis=-1)
    p = np.exp(a) / np.exp(a).sum(axis=2, keepdims=True)
    np.testing.assert_allclose(p, fitted.expert_proba(X), rtol=1e-8)


def test_units_of_the_columns_do_not_matter():
    X, y = xor()
    moved = X * [1024.0, 0.25] + [8.0, -2.0]
    one, other = model().fit(X, y), model().fit(moved, y)
    assert one.log_posterior_ == pytest.approx(other.log_posterior_, rel=1e-5)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(moved), atol=1e-2)


@for_each("rows", [xor, three])
def test_integer_weights_equal_repeated_rows_in_any_order(rows):
    X, y = rows(60)
    X = np.round(2.0 * X) / 2.0  # a place is observed more than once
    rng = np.random.default_rng(1)
    w = rng.integers(0, 4, len(y))
    order = rng.permutation(w.sum())
    weighted = model().fit(X, y, sample_weight=w)
    repeated = model().fit(np.repeat(X, w, axis=0)[order], np.repeat(y, w)[order])
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))


def test_the_same_seed_gives_the_same_numbers_and_another_gives_others():
    X, y = xor(60)
    one, two, other = (model(n_restarts=0, random_state=s).fit(X, y) for s in (5, 5, 6))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert not np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_rows_that_can_be_parted_keep_finite_weights():
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    fitted = model().fit(X, X[:, 0] > 0.0)
    assert np.abs(fitted.expert_coef_).max() < 50.0
    assert 0.5 < fitted.predict_proba(X).max() < 1.0


def test_features_take_the_place_of_columns():
    X, y = three()
    fitted = model(features=features.Polynomial(2), n_restarts=0).fit(X, y)
    assert fitted.gate_coef_.shape == (2, 5)
    assert fitted.expert_coef_.shape == (2, 3, 5)
    frame = pd.DataFrame(X, columns=["a", "b"])
    again = model(features=features.Polynomial(2), n_restarts=0).fit(frame, y)
    np.testing.assert_array_equal(fitted.predict(X), again.predict(frame))


def test_what_a_search_found_is_told():
    X, y = xor(60)
    fitted = model(n_restarts=3).fit(X, y)
    assert fitted.log_posteriors_.shape == (4,)
    assert fitted.log_posterior_ == pytest.approx(fitted.log_posteriors_.max(), abs=0.1)
    assert fitted.n_iter_ > 1
    assert "gain" in fitted.stop_reason_ or "gradient" in fitted.stop_reason_


def test_a_constant_column_changes_nothing():
    X, y = xor(60)
    constant = np.column_stack([X, np.full(60, 7.0)])
    assert np.isfinite(model(n_restarts=0).fit(constant, y).predict_proba(constant)).all()


@for_each(
    ("options", "match"),
    [
        ({"n_experts": 0}, "n_experts=0 must be a whole number of at least 1"),
        ({"n_restarts": -1}, "n_restarts=-1 must be a whole number of at least 0"),
        ({"max_iter": 2.5}, r"max_iter=2\.5 must be"),
        ({"prior_variance": 0.0}, r"prior_variance=0\.0 must be"),
    ],
)
def test_a_wrong_parameter_is_named(options, match):
    with pytest.raises(ValueError, match=match):
        MixtureOfExpertsClassifier(**options).fit(*xor(20))
