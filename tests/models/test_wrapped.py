"""Distributions from inside scikit-learn's wrappers are those of the model by itself."""

import numpy as np
import pytest
from scipy import stats
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler

import posterity
from posterity import BayesianLinearRegression, distributions

RNG = np.random.default_rng(1)
X = RNG.normal(size=(60, 2))
LOG_Y = X @ [1.0, -0.5] + 0.3 * RNG.normal(size=60)
Y = np.exp(LOG_Y)
LINEAR = BayesianLinearRegression(noise_variance=0.09, prior_variance=1.0)


def test_a_pipeline_and_a_search_answer_as_the_model_inside():
    scaler = StandardScaler().fit(X)
    alone = (
        BayesianLinearRegression().fit(scaler.transform(X), LOG_Y).predict_dist(scaler.transform(X))
    )
    pipeline = make_pipeline(StandardScaler(), BayesianLinearRegression()).fit(X, LOG_Y)
    assert posterity.predict_dist(pipeline, X) == alone
    search = GridSearchCV(pipeline, {"bayesianlinearregression__fit_intercept": [True]}, cv=2)
    assert posterity.predict_dist(search.fit(X, LOG_Y), X) == alone


def test_the_logarithm_of_a_target_gives_a_log_normal():
    model = TransformedTargetRegressor(LINEAR, func=np.log, inverse_func=np.exp).fit(X, Y)
    inside = model.regressor_.predict_dist(X)
    theirs = stats.lognorm(inside.standard_deviation(), scale=np.exp(inside.mean()))
    found = posterity.predict_dist(model, X)
    np.testing.assert_allclose(found.logpdf(Y), theirs.logpdf(Y))
    np.testing.assert_allclose(found.cdf(Y), theirs.cdf(Y))
    np.testing.assert_allclose(found.icdf(0.95), theirs.ppf(0.95))
    np.testing.assert_allclose(found.mean(), theirs.mean(), rtol=1e-9)
    np.testing.assert_allclose(found.standard_deviation(), theirs.std(), rtol=1e-8)
    assert np.all(found.logpdf(-1.0) == -np.inf)
    assert np.all(found.cdf(-1.0) == 0.0)


def test_a_learned_transformation_has_a_density_that_sums_to_one():
    model = TransformedTargetRegressor(LINEAR, transformer=PowerTransformer()).fit(X, Y)
    found = posterity.predict_dist(model, X[:3])
    y = np.linspace(1e-4, 80.0, 40_001)[:, None]
    np.testing.assert_allclose(np.trapezoid(found.pdf(y), y, axis=0), 1.0, atol=2e-4)


def test_a_falling_map_turns_tails_round():
    inverse = distributions.MonotoneMap(np.negative, np.negative)
    turned = distributions.Transformed(distributions.Normal([1.0, 2.0], 0.5), inverse)
    plain = distributions.Normal([-1.0, -2.0], 0.5)
    y = np.array([-1.4, -1.9])
    for ask in ("cdf", "ccdf", "logpdf"):
        np.testing.assert_allclose(getattr(turned, ask)(y), getattr(plain, ask)(y), rtol=1e-9)
    np.testing.assert_allclose(turned.icdf(0.05), plain.icdf(0.05))
    np.testing.assert_allclose(turned.crps(y), plain.crps(y), rtol=1e-6)


def test_an_exponential_of_heavy_tails_has_no_mean():
    log = distributions.MonotoneMap(np.log, np.exp, np.reciprocal)
    heavy = distributions.Transformed(distributions.StudentT(0.0, 0.1, 9.0), log)
    assert np.isinf(heavy.mean())
    assert np.isinf(heavy.variance())
    np.testing.assert_allclose(heavy.median(), 1.0)


def test_classifiers_answer_by_their_probabilities_and_others_refuse():
    labels = LOG_Y > 0.0
    theirs = LogisticRegression().fit(X, labels)
    np.testing.assert_allclose(
        posterity.predict_dist(theirs, X).probabilities(), theirs.predict_proba(X), rtol=1e-12
    )
    with pytest.raises(TypeError, match="Ridge predicts no distribution"):
        posterity.predict_dist(Ridge().fit(X, LOG_Y), X)
