"""Any likelihood by one estimator."""

import numpy as np
import pytest
from scipy.stats import poisson
from support.for_each import for_each

from posterity import GeneralizedLinearRegression, designs, likelihoods
from posterity.inference.weights import WeightSpace


def counts(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.5 + X @ [0.8, -0.5, 0.0]))


def test_rates_of_counts_are_recovered():
    X, y = counts(3000)
    model = GeneralizedLinearRegression(likelihoods.Poisson()).fit(X, y)
    np.testing.assert_allclose(model.coef_, [0.8, -0.5, 0.0], atol=0.04)
    assert model.intercept_ == pytest.approx(0.5, abs=0.05)
    test_X, test_y = counts(3000, seed=1)
    score = np.mean(model.predict_dist(test_X).logpmf(test_y))
    true = np.mean(poisson(np.exp(0.5 + test_X @ [0.8, -0.5, 0.0])).logpmf(test_y))
    assert score == pytest.approx(true, abs=0.01)


def test_evidence_prefers_the_columns_that_matter():
    X, y = counts()

    def evidence(columns):
        model = GeneralizedLinearRegression(likelihoods.Poisson())
        return model.fit(X[:, columns], y).log_evidence_

    assert evidence([0, 1]) > evidence([0, 1, 2]) > evidence([0]) > evidence([2])


def test_evidence_chooses_the_likelihood():
    X, y = counts()
    rng = np.random.default_rng(3)
    noisy = X @ [1.0, 0.0, -1.0] + 0.3 * rng.standard_t(2.0, size=300)

    def evidence(likelihood, targets):
        return GeneralizedLinearRegression(likelihood).fit(X, targets).log_evidence_

    assert evidence(likelihoods.StudentT(), noisy) > evidence(likelihoods.Normal(), noisy) + 10.0
    assert evidence(likelihoods.Gamma(), 1.0 + y) > evidence(likelihoods.Normal(), 1.0 + y) + 10.0


def test_the_latent_value_is_a_normal():
    X, y = counts()
    model = GeneralizedLinearRegression(likelihoods.Poisson()).fit(X, y)
    latent = model.predict_latent(X)
    np.testing.assert_allclose(latent.mean(), X @ model.coef_ + model.intercept_, rtol=1e-9)
    # The mean of a log-normal rate.
    expected = np.exp(latent.mean() + 0.5 * latent.variance())
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6)
    assert np.all(latent.variance() > 0.0)


@for_each("fit_intercept", [True, False])
def test_rows_fewer_than_columns(fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 40)), rng.poisson(2.0, 10)
    choices = {"prior_variance": 0.1, "fit_intercept": fit_intercept}
    model = GeneralizedLinearRegression(likelihoods.Poisson(), **choices).fit(X, y)
    plain = WeightSpace.from_design(designs.Dense(X), offset=fit_intercept)
    assert plain.V is not None
    assert model.coef_.shape == (40,)
    queries = rng.normal(size=(5, 40))
    variance = model.predict_latent(queries).variance()
    prior = 0.1 * np.sum(((queries - X.mean(0) * fit_intercept) / plain.scale) ** 2, axis=1)
    assert np.all(variance < prior + 1.0)
    assert np.all(variance > 0.5 * prior)


def test_streams_give_the_same_model():
    X, y = counts(150)
    model = GeneralizedLinearRegression(likelihoods.Poisson())
    chunks = designs.Chunks.from_arrays(X, y, np.full(150, 2.0), rows=40)
    streamed = GeneralizedLinearRegression(likelihoods.Poisson()).fit(chunks)
    model.fit(X, y, np.full(150, 2.0))
    np.testing.assert_allclose(streamed.coef_, model.coef_, atol=1e-8)
    assert streamed.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-8)


def test_targets_the_likelihood_cannot_have_are_named():
    X, y = counts()
    with pytest.raises(ValueError, match=r"y is 0\.5 in row 3; a Poisson likelihood needs counts"):
        GeneralizedLinearRegression(likelihoods.Poisson()).fit(
            X, np.where(np.arange(300) == 3, 0.5, y)
        )
    with pytest.raises(ValueError, match="must be 0 or 1"):
        GeneralizedLinearRegression(likelihoods.Bernoulli()).fit(X, y)


def test_what_is_no_likelihood_of_one_value_is_refused():
    X, y = counts()
    for wrong in ("poisson", likelihoods.Categorical(3), likelihoods.Poisson):
        with pytest.raises(TypeError, match="must be a likelihood of one latent value"):
            GeneralizedLinearRegression(wrong).fit(X, y)


def test_nothing_ever_counted_is_a_small_rate():
    X, _ = counts(50)
    model = GeneralizedLinearRegression(likelihoods.Poisson()).fit(X, np.zeros(50))
    assert np.all(model.predict_quantiles(X, [0.8]) == 0.0)
    assert np.isfinite(model.log_evidence_)
