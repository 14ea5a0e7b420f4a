"""Curves by units that are added one at a time, under any likelihood."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import distributions, likelihoods
from posterity.local.stagewise_estimators import StagewiseRegressor

CASES = [
    StagewiseRegressor(2, n_restarts=0, validation_fraction=0.25, random_state=0),
    StagewiseRegressor(2, units="radial", n_restarts=1, n_jobs=2, random_state=0),
    StagewiseRegressor(1, likelihood=likelihoods.StudentT(4.0, 4.0), n_restarts=0, random_state=0),
]
LIKELIHOODS = [
    None,
    likelihoods.Normal(0.01),
    likelihoods.StudentT(),
    likelihoods.Poisson(),
    likelihoods.Gamma(),
]
every_likelihood = pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=lambda likelihood: type(likelihood).__name__
)


@checks_of_settings(CASES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def curve(likelihood=None, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3.0, 3.0, (n, 1)), axis=0)
    a = np.arctan(4.0 * X[:, 0]) - np.exp(-0.5 * (X[:, 0] - 1.5) ** 2 / 0.16)
    if isinstance(likelihood, likelihoods.Poisson):
        return X, rng.poisson(np.exp(a)).astype(float)
    if isinstance(likelihood, likelihoods.Gamma):
        return X, rng.gamma(9.0, np.exp(a) / 9.0)
    return X, a + 0.1 * rng.normal(size=n)


@every_likelihood
def test_staged_predictions_are_those_of_truncated_models(likelihood):
    X, y = curve(likelihood)
    model = StagewiseRegressor(4, likelihood=likelihood, n_restarts=0, random_state=0).fit(X, y)
    steps = list(zip(model.staged_predict(X), model.staged_predict_dist(X), strict=True))
    assert len(steps) == model.n_units_ >= 2
    for k, (mean, dist) in enumerate(steps, start=1):
        cut = model.truncate(k)
        np.testing.assert_array_equal(cut.predict(X), mean)
        np.testing.assert_array_equal(cut.predict_dist(X).variance(), dist.variance())
    np.testing.assert_array_equal(model.predict(X), mean)


@every_likelihood
def test_the_log_likelihood_is_that_of_the_predictions_where_nothing_is_held_out(likelihood):
    X, y = curve(likelihood)
    model = StagewiseRegressor(
        2, likelihood=likelihood, n_restarts=0, validation_fraction=None, random_state=0
    ).fit(X, y)
    expected = float(np.sum(model.predict_dist(X).log_prob(y)))
    assert model.log_likelihoods_[-1] == pytest.approx(expected)


@every_likelihood
def test_a_truncated_model_is_one_fitted_to_that_length(likelihood):
    X, y = curve(likelihood)
    long, short = (
        StagewiseRegressor(
            k, likelihood=likelihood, n_restarts=0, validation_fraction=None, random_state=0
        ).fit(X, y)
        for k in (4, 2)
    )
    cut = long.truncate(2)
    np.testing.assert_array_equal(cut.predict(X), short.predict(X))
    assert cut.likelihood_ == short.likelihood_
    assert cut.coef_.shape == (2,)
    assert cut.intercept_ == short.intercept_
    assert np.all(np.diff(long.log_likelihoods_) > 0.0)


@pytest.mark.full
def test_a_curve_and_its_noise_are_learned():
    X, y = curve(n=400)
    model = StagewiseRegressor(12, units="radial", random_state=0).fit(X, y)
    truth = np.arctan(4.0 * X[:, 0]) - np.exp(-0.5 * (X[:, 0] - 1.5) ** 2 / 0.16)
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.05
    assert model.likelihood_.noise_variance == pytest.approx(0.01, rel=0.2)
    low, high = model.predict_interval(X, coverage=0.9)
    assert np.mean((low < y) & (y < high)) == pytest.approx(0.9, abs=0.04)


def test_counts_are_predicted_as_counts():
    X, y = curve(likelihoods.Poisson(), n=600)
    model = StagewiseRegressor(5, units="radial", likelihood=likelihoods.Poisson())
    dist = model.set_params(random_state=0).fit(X, y).predict_dist(X)
    assert isinstance(dist, distributions.Poisson)
    a = np.arctan(4.0 * X[:, 0]) - np.exp(-0.5 * (X[:, 0] - 1.5) ** 2 / 0.16)
    best = stats.poisson(np.exp(a)).logpmf(y).mean()
    assert np.mean(dist.log_prob(y)) == pytest.approx(best, abs=0.02)


@pytest.mark.full
def test_outliers_lose_their_influence_under_heavy_tails():
    X, y = curve(n=200)
    truth = np.arctan(4.0 * X[:, 0]) - np.exp(-0.5 * (X[:, 0] - 1.5) ** 2 / 0.16)
    y[::20] += 30.0
    normal, robust = (
        StagewiseRegressor(5, units="radial", likelihood=likelihood, random_state=0).fit(X, y)
        for likelihood in (None, likelihoods.StudentT())
    )
    error = [np.sqrt(np.mean((model.predict(X) - truth) ** 2)) for model in (normal, robust)]
    assert error[1] < 0.1 < error[0]


def test_tails_without_a_mean_are_predicted_by_their_centre():
    X, y = curve(n=100)
    cauchy = likelihoods.StudentT(0.1, 1.0)
    model = StagewiseRegressor(2, likelihood=cauchy, random_state=0).fit(X, y)
    expected = model.units_.transform(X) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), expected)


@pytest.mark.full(but=2)
@every_likelihood
def test_integer_weights_equal_repeated_rows(likelihood):
    X, y = curve(likelihood, n=19)  # of more rows, repetitions would be copies
    repeats = np.random.default_rng(1).integers(0, 4, len(y))
    model = StagewiseRegressor(2, likelihood=likelihood, n_restarts=0, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=repeats)
    repeated = clone(model).fit(X.repeat(repeats, axis=0), y.repeat(repeats))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_noise_is_that_about_rows_which_units_have_not_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = 3.0 * np.arctan(2.0 * X[:, 0]) + rng.normal(size=30)
    model = StagewiseRegressor(2, n_restarts=0, random_state=0).fit(X, y)
    predicted = model.predict_dist(X)
    assert model.n_units_ > 0
    assert isinstance(predicted, distributions.StudentT)
    assert np.all(predicted.degrees_of_freedom == 30.0)
    assert np.all(predicted.scale**2 > 1.2 * np.mean((y - model.predict(X)) ** 2))
    given = model.set_params(likelihood=likelihoods.Normal(1.0)).fit(X, y)
    assert isinstance(given.predict_dist(X), distributions.Normal)


@pytest.mark.full
def test_held_out_rows_choose_how_many_units_are_fitted_to_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = np.arctan(2.0 * X[:, 0]) + 0.5 * rng.normal(size=120)
    model = StagewiseRegressor(10, validation_fraction=0.25, random_state=0).fit(X, y)
    scores = model.validation_scores_
    assert model.n_units_ <= np.argmax(scores) < len(scores) - 1
    plain = StagewiseRegressor(model.n_units_, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@for_each(
    ("likelihood", "y", "sentence"),
    [
        (likelihoods.Poisson(), [0.5, 1.0, 2.0], "y is 0.5 in row 0"),
        (likelihoods.Gamma(), [1.0, -1.0, 2.0], "y is -1 in row 1"),
        (likelihoods.Categorical(3), [0.0, 1.0, 2.0], "with one latent value"),
        ("poisson", [0.0, 1.0, 2.0], "with one latent value"),
        (likelihoods.Normal([1.0, 2.0, 3.0]), [0.0, 1.0, 2.0], "one number for all rows"),
    ],
)
def test_what_cannot_be_observed_gets_a_sentence(likelihood, y, sentence):
    with pytest.raises(ValueError, match=sentence.replace(".", r"\.")):
        StagewiseRegressor(likelihood=likelihood).fit([[0.0], [1.0], [2.0]], y)
