"""The classifier that adds step functions."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.metrics import log_loss
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import distributions
from posterity.trees.estimators.logit_boost import LogitBoostClassifier
from posterity.trees.families import columns, family, projections


def ring(n=400, n_columns=4, seed=0):
    """Whether the first two columns are far from the origin."""
    X = np.random.default_rng(seed).normal(size=(n, n_columns))
    return X, np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4, "out", "in")


def three(n=400, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.argmax(X**2, axis=1)


def small(**options):
    return LogitBoostClassifier(n_estimators=5, **options)


@checks_of_settings(
    [
        small(),
        small(learning_rate=0.5, validation_fraction=0.3, random_state=0),
        small(splits=projections.Projections(), max_features=5, n_thresholds=20, random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@for_each(("rows", "most"), [(ring, 0.3), (three, 0.45)])
def test_classes_are_learned(rows, most):
    model = LogitBoostClassifier(n_estimators=60).fit(*rows(2000))
    X, y = rows(seed=1)
    assert log_loss(y, model.predict_proba(X)) < most
    assert model.score(X, y) > 0.85


@for_each("rows", [ring, three])
def test_stages_are_fits_of_that_length(rows):
    X, y = rows()
    model = LogitBoostClassifier(n_estimators=12).fit(X, y)
    stages = zip(
        model.staged_activation(X),
        model.staged_predict_proba(X),
        model.staged_predict(X),
        strict=True,
    )
    for k, (a, p, labels) in enumerate(stages, start=1):
        if k in (1, 5, 12):
            refit = LogitBoostClassifier(n_estimators=k).fit(X, y)
            cut = model.truncate(k)
            np.testing.assert_array_equal(a, refit.activation(X))
            np.testing.assert_array_equal(p, refit.predict_proba(X))
            np.testing.assert_array_equal(labels, refit.predict(X))
            np.testing.assert_array_equal(cut.predict_proba(X), refit.predict_proba(X))
            np.testing.assert_array_equal(cut.log_likelihoods_, refit.log_likelihoods_)
            np.testing.assert_allclose(cut.column_gain_, refit.column_gain_)
    assert k == model.n_estimators_ == 12


@for_each(("rows", "kind", "n_latents"), [(ring, "Bernoulli", 1), (three, "Categorical", 3)])
def test_predictions_plug_the_activation_in(rows, kind, n_latents):
    X, y = rows()
    model = LogitBoostClassifier(n_estimators=10).fit(X, y)
    assert isinstance(model.predict_dist(X), getattr(distributions, kind))
    a = model.activation(X)
    p = softmax(a, axis=1) if a.ndim == 2 else np.stack([expit(-a), expit(a)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), p, rtol=1e-12)
    assert model.offset_.shape == (n_latents,)
    assert model.steps_.values.shape == (10, 2, n_latents)
    own = p[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    np.testing.assert_allclose(np.sum(np.log(own)), model.log_likelihoods_[-1], rtol=1e-10)


def test_gains_by_column_add_up_to_the_rise_of_the_log_likelihood():
    model = LogitBoostClassifier(n_estimators=30).fit(*ring())
    rise = model.log_likelihoods_[-1] - model.log_likelihoods_[0]
    np.testing.assert_allclose(np.sum(model.column_gain_), rise)
    assert np.all(model.column_gain_[:2] > model.column_gain_[2:].max())


@for_each("rows", [ring, three])
def test_a_whole_weight_equals_repeating_the_row(rows):
    X, y = rows(700)
    X = np.round(40.0 * X) / 40.0  # more values than thresholds; as repeated observations have
    weights = np.random.default_rng(1).integers(0, 4, size=700)
    again = np.random.default_rng(2).permutation(np.repeat(np.arange(700), weights))
    once = LogitBoostClassifier(n_estimators=25).fit(X, y, sample_weight=weights)
    repeated = LogitBoostClassifier(n_estimators=25).fit(X[again], y[again])
    np.testing.assert_array_equal(once.steps_.thresholds, repeated.steps_.thresholds)
    np.testing.assert_allclose(once.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr("posterity.trees.boosting.screens._WORTH_A_THREAD", 100)
    X, y = three()
    one, two = (LogitBoostClassifier(n_estimators=8, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_held_out_rows_stop_training():
    X, y = ring(300)
    y = np.where(np.random.default_rng(5).random(300) < 0.3, "out", y)
    model = LogitBoostClassifier(validation_fraction=0.3, n_iter_no_change=4, random_state=0).fit(
        X, y
    )
    best = int(np.argmax(model.validation_scores_))
    assert model.n_estimators_ == best < 200
    assert len(model.validation_scores_) == best + 5
    assert "held out" in model.stop_reason_
    assert LogitBoostClassifier().fit(X, y).validation_scores_ is None


def test_missing_values_are_on_the_side_that_tells_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] > 0.0
    X[rng.random(400) < 0.3, 0] = np.nan
    for low in (False, True):  # missing where the class is what small or large values mean
        holes = np.where(np.isnan(X[:, 0]), low, y)
        model = LogitBoostClassifier(n_estimators=1).fit(X, holes if low else ~holes)
        assert model.score(X, holes if low else ~holes) > 0.99
        assert (model.steps_.tests[0, 0] == 2) == (not low)
        assert model.column_gain_.argmax() == 0


def test_oriented_steps_part_what_no_column_does():
    X = np.random.default_rng(0).normal(size=(500, 2))
    y = X @ [1.0, 1.0] > 0.0
    oriented = LogitBoostClassifier(
        3, splits=projections.Orientations(n_angles=20), n_thresholds=40
    )
    assert oriented.fit(X, y).score(X, y) > 0.97
    assert oriented.score(X, y) > LogitBoostClassifier(n_estimators=3).fit(X, y).score(X, y) + 0.05
    assert oriented.column_gain_ is None


def brightness(images, places, tests):
    return images[places, tests[:, 0], tests[:, 1]]


def pixels(n, rng):
    return rng.integers(4, size=(n, 2))


def test_rows_may_be_anything_that_the_tests_know():
    images = np.random.default_rng(0).normal(size=(200, 4, 4))
    y = images[:, 1, 2] > 0.0
    tests = family.Function(brightness, pixels, vectorised=True)
    model = LogitBoostClassifier(
        splits=tests, n_estimators=2, max_features=200, random_state=0
    ).fit(images, y)
    assert model.score(images, y) > 0.98
    with pytest.raises(TypeError, match="draw"):
        LogitBoostClassifier(splits=tests).fit(images, y)


def test_rows_of_one_class_on_a_side_have_finite_log_probabilities():
    X = np.r_[np.zeros((50, 1)), np.ones((50, 1))]
    y = X[:, 0] == 1.0
    model = LogitBoostClassifier().fit(X, y)
    assert np.all(np.isfinite(model.predict_log_proba(X)))
    assert model.predict_proba(X).max() > 0.99


def test_a_class_with_one_row_and_many_classes_are_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(180, 2))
    y = np.r_[np.arange(60), np.arange(60), np.full(60, 1000)]
    model = LogitBoostClassifier(n_estimators=3).fit(X, y)
    assert model.predict_proba(X).shape == (180, 61)
    assert np.all(np.diff(model.log_likelihoods_) > 0.0)


def test_constant_columns_leave_the_class_frequencies():
    y = np.array([0, 1, 1, 1])
    model = LogitBoostClassifier().fit(np.ones((4, 2)), y)
    assert model.n_estimators_ == 0
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 2))), [[0.25, 0.75]])


def test_data_frames_and_copies_are_taken():
    X, y = ring(100)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = small().fit(frame, y)
    assert list(model.feature_names_in_) == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert clone(model).get_params() == model.get_params()


@for_each(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators=0 must be a whole number of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"learning_rate": 1.5}, "learning_rate=1.5 must be at most 1"),
        ({"selection": "best"}, "selection='best' must be 'one_step' or 'full'"),
        ({"max_features": -1}, "max_features"),
        ({"n_thresholds": 255}, "n_thresholds=255 must be at most 254"),
        ({"n_iter_no_change": 0}, "n_iter_no_change"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0 must lie between 0 and 1"),
    ],
)
def test_parameters_out_of_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LogitBoostClassifier(**options).fit(*ring(50))


def test_infinite_inputs_and_too_long_a_cut_are_refused():
    X, y = ring(50)
    model = small().fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=6 is more than the 5"):
        model.truncate(6)
    X[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"infinity: column 1 \(row 3\)"):
        model.fit(X, y)


def test_full_selection_fits_no_worse():
    X, y = ring(60, 2)
    full = small(selection="full").fit(X, y).log_likelihoods_
    quick = small().fit(X, y).log_likelihoods_
    assert full[1] >= quick[1] - 1e-9


def test_equal_families_are_equal_models():
    X, y = ring(100)
    plain, named = small().fit(X, y), small(splits=columns.Columns()).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), named.predict_proba(X))


def test_the_prior_is_worth_one_row():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    model = LogitBoostClassifier(n_estimators=1, learning_rate=1.0).fit(X, X[:, 0] > 0.5)
    low, high = model.steps_.values[0, :, 0]
    assert low == pytest.approx(-high)
    assert 10.0 * expit(-high) == pytest.approx(high / 4.0)


def test_a_warm_start_goes_on_where_the_last_fit_ended():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[::9, 1] = np.nan
    for y in (X[:, 0] > 0.3, np.digitize(X[:, 0], [-0.5, 0.5])):
        whole = LogitBoostClassifier(12).fit(X, y)
        parts = LogitBoostClassifier(5, warm_start=True).fit(X, y)
        parts.set_params(n_estimators=12).fit(X, y)
        np.testing.assert_allclose(parts.activation(X), whole.activation(X), atol=1e-8)
        np.testing.assert_allclose(parts.log_likelihoods_, whole.log_likelihoods_, rtol=1e-8)
        with pytest.raises(ValueError, match="truncate"):
            parts.set_params(n_estimators=3).fit(X, y)
        with pytest.raises(ValueError, match="classes"):
            parts.set_params(n_estimators=14).fit(X, np.arange(200) % 5)


def test_a_fit_can_start_from_a_given_activation():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = X[:, 0] + 0.5 * X[:, 1] > 0.3
    first = LogitBoostClassifier(7).fit(X, y)
    rest = LogitBoostClassifier(5).fit(X, y, activation=first.activation(X))
    np.testing.assert_array_equal(rest.offset_, 0.0)
    whole = LogitBoostClassifier(12).fit(X, y)
    total = first.activation(X) + rest.activation(X)
    np.testing.assert_allclose(total, whole.activation(X), atol=1e-8)
    with pytest.raises(ValueError, match="shape"):
        first.fit(X, y, activation=np.zeros((200, 2)))
    with pytest.raises(ValueError, match="finite"):
        first.fit(X, y, activation=np.full(200, np.inf))


def test_fresh_tests_are_drawn_in_every_round():
    X = np.random.default_rng(0).normal(size=(400, 6))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0.0
    options = {"splits": projections.Projections(n_columns=2), "max_features": 6, "random_state": 0}
    once = LogitBoostClassifier(40, **options).fit(X, y)
    fresh = LogitBoostClassifier(40, resample_features=True, **options).fit(X, y)
    assert len(np.unique(once.steps_.tests, axis=0)) <= 6
    assert len(np.unique(fresh.steps_.tests, axis=0)) > 30
    assert fresh.log_likelihoods_[-1] > once.log_likelihoods_[-1]
    held = LogitBoostClassifier(40, resample_features=True, validation_fraction=0.2, **options).fit(
        X, y
    )
    assert 0 < held.n_estimators_ <= 40
    with pytest.raises(ValueError, match="max_features"):
        LogitBoostClassifier(resample_features=True).fit(X, y)
