"""``prior=`` is what the engines use: one variance, one for each column, or none at all."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    GeneralizedLinearRegression,
    LogisticRegression,
    likelihoods,
    priors,
)

VARIANCES = np.array([4.0, 0.01, 0.5])
RNG = np.random.default_rng(0)
MANY = RNG.normal([1.0, 0.0, -2.0], [0.5, 1.0, 3.0], (60, 3))
TARGETS = {
    BayesianLinearRegression: lambda f: f + 0.5 * RNG.normal(size=len(f)),
    BayesianLogisticRegression: lambda f: f + RNG.logistic(size=len(f)) > f.mean(),
    GeneralizedLinearRegression: lambda f: RNG.poisson(np.exp(0.4 * f)),
}
every_model = for_each("kind", list(TARGETS))


def make(kind, **given):
    if kind is GeneralizedLinearRegression:
        given["likelihood"] = likelihoods.Poisson()
    return kind(**given)


def data(kind, n=60):
    X = MANY[:n]
    return X, TARGETS[kind](X @ [0.8, 0.5, -0.2])


@every_model
def test_one_variance_is_the_short_form(kind):
    X, y = data(kind)
    for short, long in ((None, priors.Normal()), (0.7, priors.Normal(0.7))):
        one, two = make(kind, prior_variance=short).fit(X, y), make(kind, prior=long).fit(X, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
        assert one.log_evidence_ == two.log_evidence_
        assert one.prior_variance_ == two.prior_variance_


@every_model
@for_each("n", [60, 2])
@for_each("standardize", [True, False])
def test_a_variance_for_each_column_is_that_of_columns_multiplied(kind, n, standardize):
    """w_m ~ N(0, v_m) is sqrt(v_m) u_m with u_m ~ N(0, 1); with fewer rows than columns, too."""
    X, y = data(kind)
    X, y = (X, y) if n == 60 else (X[[3, 5]], np.array([0, 1]))
    model = make(kind, prior=priors.Normal(VARIANCES), standardize=standardize)
    model.fit(X, y, np.full(len(X), 2.0))
    factor = np.sqrt(VARIANCES) / (X.std(axis=0) if standardize else 1.0)
    scaled = make(kind, prior_variance=1.0, standardize=False)
    scaled.fit(X * factor, y, np.full(len(X), 2.0))
    np.testing.assert_allclose(model.coef_, scaled.coef_ * factor, rtol=1e-6, atol=1e-9)
    assert model.log_evidence_ == pytest.approx(scaled.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(model.prior_variance_, VARIANCES, rtol=1e-14)
    new = MANY[:4] + 1.0
    answers = (m.predict_dist(x).mean() for m, x in ((model, new), (scaled, new * factor)))
    np.testing.assert_allclose(*answers, rtol=1e-6)


def test_a_column_of_small_variance_keeps_a_small_weight():
    X, y = data(BayesianLinearRegression)
    tight = BayesianLinearRegression(prior=priors.Normal([1.0, 1e-6, 1.0])).fit(X, y)
    assert abs(tight.coef_[1]) < 0.01 < abs(BayesianLinearRegression().fit(X, y).coef_[1])


@for_each("likelihood", [likelihoods.Poisson(), likelihoods.NegativeBinomial(2.0)])
def test_under_a_flat_prior_the_slope_of_the_likelihood_vanishes(likelihood):
    X, y = data(GeneralizedLinearRegression)
    model = GeneralizedLinearRegression(likelihood, prior=priors.Flat(), inference="laplace")
    model.fit(X, y)
    slope = likelihood.d1(y, X @ model.coef_ + model.intercept_)
    np.testing.assert_allclose(slope @ np.column_stack([X, np.ones(len(X))]), 0.0, atol=1e-6)
    assert model.prior_variance_ == np.inf
    assert np.all(model.predict_dist(X).variance() > 0.0)


@for_each("n_classes", [2, 3])
def test_a_flat_prior_is_logistic_regression_averaged(n_classes):
    X = MANY
    y = np.digitize(X[:, 0] + 2.0 * RNG.logistic(size=60), [0.0, 2.0][: n_classes - 1])
    flat = BayesianLogisticRegression(prior=priors.Flat(), inference="laplace").fit(X, y)
    plain = LogisticRegression(predictive="averaged").fit(X, y)
    np.testing.assert_allclose(flat.coef_, plain.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(flat.predict_proba(X), plain.predict_proba(X), atol=1e-6)


def test_what_a_prior_cannot_do_is_refused_in_a_sentence():
    X, y = data(BayesianLogisticRegression)
    with pytest.raises(ValueError, match="give one of them, not both"):
        BayesianLogisticRegression(prior=priors.Flat(), prior_variance=1.0).fit(X, y)
    with pytest.raises(ValueError, match=r"prior=Sparse\(.*\) must be priors.Normal"):
        BayesianLogisticRegression(prior=priors.Sparse()).fit(X, y)
    with pytest.raises(ValueError, match="2 variances, but there are 3 columns"):
        BayesianLogisticRegression(prior=priors.Normal([1.0, 2.0])).fit(X, y)
    with pytest.raises(ValueError, match="use LinearRegression"):
        BayesianLinearRegression(prior=priors.Flat()).fit(X, y)
    flat = BayesianLogisticRegression(prior=priors.Flat())
    with pytest.raises(ValueError, match="under a flat prior weights grow without end"):
        flat.fit(X, X[:, 0] > 1.0)
    with pytest.raises(ValueError, match="leaves some weights entirely free"):
        flat.fit(np.column_stack([X, X[:, 0]]), y)
    with pytest.raises(ValueError, match="leaves some weights entirely free"):
        GeneralizedLinearRegression(likelihoods.Poisson(), prior=priors.Flat()).fit(
            X[:3], [1, 2, 0]
        )
