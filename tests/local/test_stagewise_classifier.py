"""Classes by units that are added one at a time."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import LogisticRegression, features
from posterity.local.stagewise_estimators import StagewiseClassifier

CASES = [
    StagewiseClassifier(2, n_restarts=0, random_state=0),
    StagewiseClassifier(2, units="radial", n_restarts=1, n_jobs=2, random_state=0),
    StagewiseClassifier(3, n_restarts=0, validation_fraction=0.25, random_state=0),
]
every_case = pytest.mark.parametrize("model", CASES, ids=["arctan", "radial", "held out"])


@checks_of_settings(CASES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def moons(n=200, seed=0, n_classes=2):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    if n_classes == 3:
        y = np.where(X[:, 0] > 1.2, 2, y)
    return X, np.array(["ape", "bee", "cat"])[y]


def log_score(model, X, y):
    log_p = model.predict_log_proba(X)
    return np.mean(log_p[np.arange(len(y)), np.searchsorted(model.classes_, y)])


@every_case
@for_each("n_classes", [2, 3])
def test_staged_predictions_are_those_of_truncated_models(model, n_classes):
    X, y = moons(n_classes=n_classes)
    fitted = clone(model).fit(X, y)
    staged = [fitted.staged_predict_proba(X), fitted.staged_predict(X)]
    steps = list(zip(*staged, strict=True))
    assert len(steps) == fitted.n_units_ >= 1
    for k, (p, labels) in enumerate(steps, start=1):
        cut = fitted.truncate(k)
        assert cut.n_units_ == k
        np.testing.assert_array_equal(cut.predict_proba(X), p)
        np.testing.assert_array_equal(cut.predict(X), labels)
    np.testing.assert_array_equal(fitted.predict_proba(X), p)


@pytest.mark.full
@for_each("n_classes", [2, 3])
def test_a_truncated_model_is_one_fitted_to_that_length(n_classes):
    X, y = moons(n_classes=n_classes)
    long = StagewiseClassifier(6, random_state=0).fit(X, y)
    short = StagewiseClassifier(3, random_state=0).fit(X, y)
    cut = long.truncate(3)
    np.testing.assert_array_equal(cut.predict_proba(X), short.predict_proba(X))
    np.testing.assert_array_equal(cut.coef_, short.coef_)
    np.testing.assert_array_equal(cut.intercept_, short.intercept_)
    np.testing.assert_array_equal(cut.log_likelihoods_, long.log_likelihoods_[:4])
    assert long.n_units_ == 6, "the model that was cut has changed"


def test_no_units_predict_the_frequencies_of_the_classes():
    X, y = moons(n_classes=3)
    constant = StagewiseClassifier(1, random_state=0).fit(X, y).truncate(0)
    _, counts = np.unique(y, return_counts=True)
    np.testing.assert_allclose(constant.predict_proba(X[:1])[0], counts / len(y))
    assert constant.units_ is None
    assert constant.coef_.shape == (3, 0)


@for_each("n_classes", [2, 3])
def test_attributes_say_what_is_predicted(n_classes):
    X, y = moons(n_classes=n_classes)
    model = StagewiseClassifier(4, random_state=0).fit(X, y)
    C = 1 if n_classes == 2 else 3
    assert model.coef_.shape == (C, 4)
    A = model.units_.transform(X) @ model.coef_.T + model.intercept_
    A = np.column_stack([np.zeros(len(X)), A]) if C == 1 else A
    p = np.exp(A) / np.exp(A).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-9)
    own = p[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert model.log_likelihoods_[-1] == pytest.approx(np.log(own).sum())
    assert np.all(np.diff(model.log_likelihoods_) > 0.0)
    assert model.validation_scores_ is None
    assert model.stop_reason_ == "4 units were asked for"


@pytest.mark.full(but=1)
@every_case
@for_each("n_classes", [2, 3])
def test_integer_weights_equal_repeated_rows(model, n_classes):
    X, y = moons(n_classes=n_classes)
    X = np.round(2.0 * X) / 2.0  # a place is observed more than once
    repeats = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = clone(model).fit(X, y, sample_weight=repeats)
    repeated = clone(model).fit(X.repeat(repeats, axis=0), y.repeat(repeats))
    np.testing.assert_array_equal(weighted.predict_proba(X), repeated.predict_proba(X))
    np.testing.assert_array_equal(weighted.log_likelihoods_, repeated.log_likelihoods_)


@every_case
def test_the_same_seed_gives_the_same_numbers_for_any_number_of_jobs(model):
    X, y = moons(n_classes=3)
    one, two = (clone(model).set_params(n_jobs=n).fit(X, y).predict_proba(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.full
def test_held_out_rows_choose_how_many_units_are_fitted_to_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (rng.random(150) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 0]))).astype(int)
    model = StagewiseClassifier(12, validation_fraction=0.3, random_state=0).fit(X, y)
    scores = model.validation_scores_
    assert model.n_units_ <= np.argmax(scores) < len(scores) - 1
    plain = StagewiseClassifier(model.n_units_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert plain.validation_scores_ is None


def test_every_class_stays_in_the_fit_however_rare():
    X, y = moons(60)
    y = np.append("zebra", y[1:])
    for seed in range(4):
        model = StagewiseClassifier(1, n_restarts=0, validation_fraction=0.5, random_state=seed)
        assert list(model.fit(X, y).classes_) == ["ape", "bee", "zebra"]
        assert np.all(np.isfinite(model.validation_scores_))


@pytest.mark.full
@for_each("units", ["arctan", "radial"])
def test_units_one_by_one_are_level_with_units_learned_together(units):
    X, y = moons(300)
    query, truth = moons(2000, seed=1)
    kind = {"arctan": features.LearnedArctan, "radial": features.LearnedRadial}[units]
    together = LogisticRegression(features=kind(6, random_state=0)).fit(X, y)
    singly = StagewiseClassifier(12, units=units, random_state=0).fit(X, y)
    assert log_score(singly, query, truth) > log_score(together, query, truth) - 0.01
    assert singly.score(query, truth) > 0.9


def test_units_of_measurement_do_not_matter():
    X, y = moons()
    plain = StagewiseClassifier(3, random_state=0).fit(X, y)
    moved = StagewiseClassifier(3, random_state=0).fit(1024.0 * X + [8.0, -2.0], y)
    np.testing.assert_allclose(
        moved.predict_proba(1024.0 * X + [8.0, -2.0]), plain.predict_proba(X), atol=5e-3
    )


@for_each(
    ("options", "sentence"),
    [
        ({"n_units": 0}, "n_units=0 must be a whole number of at least 1"),
        ({"n_restarts": -1}, "n_restarts=-1 must be a whole number of at least 0"),
        ({"max_iter": 1.5}, "max_iter=1.5 must be a whole number"),
        ({"units": "steps"}, "units='steps' must be one of 'arctan', 'radial'"),
        ({"units": ["arctan"]}, "must be one of 'arctan', 'radial'"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0 must lie between 0 and 1"),
        ({"validation_fraction": True}, "validation_fraction=True must lie between"),
    ],
)
def test_bad_parameters_get_a_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence.replace(".", r"\.").replace("[", r"\[")):
        StagewiseClassifier(**options).fit(*moons(20))


def test_truncation_to_what_is_not_there_gets_a_sentence():
    model = StagewiseClassifier(2, n_restarts=0, random_state=0).fit(*moons(60))
    with pytest.raises(ValueError, match="n_units=3 is more than the 2 of this model"):
        model.truncate(3)
    with pytest.raises(ValueError, match="n_units=-1 must be a whole number of at least 0"):
        model.truncate(-1)
