"""Every classifier keeps scikit-learn's contract and the library's own."""

import copy
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from classification_cases import CASES, ELSEWHERE, FAST, IDS, data, fit_once
from sklearn.base import clone
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.estimator_checks import every_check_once
from support.for_each import for_each

import posterity
from posterity import distributions, models

every_case = pytest.mark.parametrize("model", CASES, ids=IDS)
# Budgets are small here, and some data separable.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def subclasses(cls):
    for child in cls.__subclasses__():
        yield child
        yield from subclasses(child)


def test_every_public_classifier_is_in_the_table():
    public = {getattr(posterity, name) for name in posterity.__all__}
    classifiers = {c for c in subclasses(models.Classifier) if c in public}
    assert classifiers == {type(case) for case in CASES} | ELSEWHERE


@every_check_once(CASES, FAST)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@every_case
@for_each("n_classes", [2, 3])
def test_everything_derives_from_the_distribution(model, n_classes):
    X, y = data(n_classes=n_classes)
    fitted = fit_once(model, n_classes)
    dist = fitted.predict_dist(X)
    assert isinstance(dist, distributions.Discrete)
    p = fitted.predict_proba(X)
    assert p.shape == (len(X), n_classes)
    np.testing.assert_allclose(p, dist.probabilities())
    np.testing.assert_allclose(fitted.predict_log_proba(X), np.log(p), rtol=1e-9)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[np.argmax(p, axis=1)])
    assert np.mean(fitted.predict(X) == y) > 0.55


@every_case
@for_each("n_classes", [2, 3])
def test_probabilities_are_probabilities_however_far_the_query(model, n_classes):
    X, _ = data(n_classes=n_classes)
    far = np.concatenate([X, 1e3 * X, 1e6 * X])
    fitted = fit_once(model, n_classes)
    p, log_p = fitted.predict_proba(far), fitted.predict_log_proba(far)
    assert np.all((p >= 0.0) & (p <= 1.0))
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=0.0, atol=1e-12)
    assert np.all(np.isfinite(log_p))
    assert np.all(log_p <= 0.0)


@pytest.mark.full(but=12)
@every_case
@for_each("n_classes", [2, 3])
def test_weights_equal_repetition(model, n_classes):
    # Of so few different rows copies count, too; boosted trees hold those of more together.
    X, y = data(80 if isinstance(model, posterity.BoostedTreesClassifier) else 19, n_classes)
    weight = np.random.default_rng(3).integers(1, 4, len(y))
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X.repeat(weight, 0), y.repeat(weight))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=2e-6)


@pytest.mark.full(but=12)
@every_case
def test_a_row_of_weight_zero_is_absent_and_so_is_its_class(model):
    X, y = data()
    more_X, more_y = np.concatenate([X, 9.0 + X[:5]]), np.concatenate([y, ["zebra"] * 5])
    weight = np.concatenate([np.ones(len(y)), np.zeros(5)])
    fitted = clone(model).fit(more_X, more_y, sample_weight=weight)
    assert list(fitted.classes_) == sorted(set(y))
    expected = fit_once(model).predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(X), expected, atol=2e-6)


@for_each(
    ("model", "frame"), zip(CASES, itertools.cycle([pd.DataFrame, pl.DataFrame]), strict=False)
)
def test_names_of_data_frames_are_kept_and_checked(model, frame):
    X, y = data()
    table = frame({name: X[:, j] for j, name in enumerate("abc")})
    fitted = clone(model).fit(table, pd.Series(y))
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(fitted.predict_proba(table), fit_once(model).predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame({name: X[:, j] for j, name in enumerate("bac")}))


@pytest.mark.full(but=8)
@every_case
def test_pipelines_and_cross_validation(model):
    X, y = data()
    pipeline = make_pipeline(StandardScaler(), model)
    found = cross_validate(pipeline, X, y, cv=3, scoring=["accuracy", "neg_log_loss"])
    assert found["test_accuracy"].mean() > 0.5
    assert found["test_neg_log_loss"].mean() > -1.0


@every_case
def test_bad_labels_get_a_sentence(model):
    X, y = data()
    with pytest.raises(ValueError, match="only one class, 'ape'"):
        clone(model).fit(X, ["ape"] * len(X))
    with pytest.raises(ValueError, match="X has 80 rows but y has 79"):
        clone(model).fit(X, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(model).fit(X, None)


@pytest.mark.full(but=8)
@every_case
def test_the_same_rows_give_the_same_model(model):
    X, y = data(n_classes=3)
    again = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(again, fit_once(model, n_classes=3).predict_proba(X))


@pytest.mark.full(but=12)
@every_case
def test_a_refused_refit_leaves_the_earlier_fit(model):
    X, y = data()
    fitted, wide = copy.copy(fit_once(model)), np.hstack([X, X])
    with pytest.raises(ValueError, match="only one class"):
        fitted.fit(wide, ["ape"] * len(X))
    with pytest.raises(ValueError, match="negative"):
        fitted.fit(wide, np.where(y == "ape", "cow", "dog"), sample_weight=np.full(len(X), -1.0))
    assert vars(fitted) == vars(fit_once(model))
    np.testing.assert_array_equal(fitted.predict(X), fit_once(model).predict(X))
