"""Theorems of the logistic family and of Laplace's approximation: other routes, one answer."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.linear_model import GammaRegressor as ReferenceGamma
from sklearn.linear_model import PoissonRegressor as ReferencePoisson
from support.for_each import for_each
from support.latents import with_covariance

from posterity import (
    BayesianLinearRegression,
    BayesianLogisticRegression,
    DualLogisticRegression,
    GammaRegression,
    GeneralizedLinearRegression,
    LogisticRegression,
    RobustRegression,
    designs,
    likelihoods,
    priors,
)
from posterity.inference.weights import space as weight_space


def data(n=60, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = 2.0 + rng.normal(size=(n, m)) * np.arange(1.0, m + 1.0)
    a = (X - 2.0) @ (rng.normal(size=m) / np.arange(1.0, m + 1.0))
    return X, a, rng, 2.0 + rng.normal(size=(6, m)) * 3.0


@for_each(("n", "m"), [(40, 4), (6, 15)])
@for_each("standardize", [True, False])
@for_each("fit_intercept", [True, False])
@for_each("weighted", [True, False])
def test_laplace_with_normal_noise_is_the_closed_form(n, m, standardize, fit_intercept, weighted):
    X, a, rng, queries = data(n, m)
    y = a + rng.normal(size=n)
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    choices = {"standardize": standardize, "fit_intercept": fit_intercept, "prior_variance": 0.8}
    closed = BayesianLinearRegression(noise_variance=0.6, **choices).fit(X, y, weight)
    laplace = GeneralizedLinearRegression(likelihoods.Normal(0.6), **choices).fit(X, y, weight)
    np.testing.assert_allclose(laplace.coef_, closed.coef_, rtol=1e-8, atol=1e-10)
    assert laplace.intercept_ == pytest.approx(closed.intercept_, rel=1e-8)
    assert laplace.log_evidence_ == pytest.approx(closed.log_evidence_, rel=1e-8)
    for one, other in zip(
        laplace.predict(queries, return_std=True),
        closed.predict(queries, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8)


def test_laplace_learns_the_variances_of_the_closed_form():
    X, a, rng, _ = data()
    y = a + rng.normal(size=60)
    closed = BayesianLinearRegression().fit(X, y)
    laplace = GeneralizedLinearRegression(likelihoods.Normal()).fit(X, y)
    assert laplace.log_evidence_ == pytest.approx(closed.log_evidence_, abs=1e-5)
    assert laplace.prior_variance_ == pytest.approx(closed.prior_variance_, rel=0.02)
    assert laplace.likelihood_.noise_variance == pytest.approx(closed.noise_variance_, rel=0.005)


@for_each("offset", [True, False])
@for_each("given", [0.7, None])
def test_softmax_of_two_classes_is_the_sigmoid_with_twice_the_variance(offset, given):
    """A difference of two independent weights has twice the variance of each."""
    X, a, rng, queries = data()
    y = (a + rng.logistic(size=60) > 0.5).astype(float)
    weight = rng.uniform(0.5, 2.0, 60)
    space = weight_space.WeightSpace.from_design(designs.Dense(X), weight, offset=offset)
    softmax = weight_space.learn_weights(
        space, y, weight, likelihoods.Categorical(2), prior=priors.Normal(given)
    )
    twice = None if given is None else 2.0 * given
    sigmoid = weight_space.learn_weights(
        space, y, weight, likelihoods.Bernoulli(), prior=priors.Normal(twice)
    )
    tol = 1e-9 if given else 1e-5
    assert softmax.log_evidence == pytest.approx(sigmoid.log_evidence, abs=tol)
    assert 2.0 * softmax.posterior.prior_variance == pytest.approx(
        sigmoid.posterior.prior_variance, rel=1e-9 if given else 0.01
    )
    p = softmax.likelihood.predict(
        *with_covariance(softmax.posterior.latent(queries))
    ).probabilities()
    mean, covariance = with_covariance(sigmoid.posterior.latent(queries))
    q = sigmoid.likelihood.predict(mean[:, 0], covariance[:, 0, 0]).probabilities()
    np.testing.assert_allclose(p, q, atol=1e-9 if given else 1e-3)
    difference = softmax.coef[:, 1] - softmax.coef[:, 0]
    np.testing.assert_allclose(difference, sigmoid.coef[:, 0], atol=1e-9 if given else 1e-3)


@for_each("n_classes", [2, 3])
@for_each("fit_intercept", [True, False])
def test_dual_maximum_likelihood_is_primal(n_classes, fit_intercept):
    X, a, rng, queries = data()
    noisy = a + 2.0 * rng.logistic(size=60)
    y = np.digitize(noisy, [0.0, 1.5][: n_classes - 1])
    weight = rng.uniform(0.5, 2.0, 60)
    primal = LogisticRegression(fit_intercept=fit_intercept).fit(X, y, weight)
    dual = DualLogisticRegression(prior=priors.Flat(), fit_intercept=fit_intercept).fit(
        X, y, weight
    )
    assert not dual.separable_
    np.testing.assert_allclose(dual.coef_, primal.coef_, atol=1e-7)
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, atol=1e-7)
    p, q = dual.predict_proba(queries), primal.predict_proba(queries)
    np.testing.assert_allclose(p, q, atol=1e-7)
    assert dual.log_likelihood_ == pytest.approx(primal.log_likelihood_, abs=1e-8)


def test_dual_maximum_likelihood_is_primal_with_more_columns_than_rows():
    """Twins of different classes keep the weights finite; twin rows then share their odds."""
    X, _, rng, _ = data(5, 20)
    y = rng.integers(0, 2, (4, 5))
    y[:2] = [[0], [1]]
    rows, labels = np.vstack([X] * 4), y.reshape(-1)
    models = LogisticRegression(), DualLogisticRegression(prior=priors.Flat())
    for model in models:
        p = model.fit(rows, labels).predict_proba(X)[:, 1]
        assert not model.separable_
        np.testing.assert_allclose(p, y.mean(axis=0), atol=1e-8)


@pytest.mark.filterwarnings("ignore::posterity.linear.SeparationWarning")
@for_each(("n", "m"), [(40, 4), (8, 20)])
def test_primal_and_dual_agree_on_what_is_separable(n, m):
    X, a, _, _ = data(n, m)
    for y in (a > 0.0, np.digitize(a, [-0.5, 0.5])):
        for model in (LogisticRegression(), DualLogisticRegression(prior=priors.Flat())):
            assert model.fit(X, y).separable_
            assert model.score(X, y) > 0.9


@for_each("n_classes", [2, 3])
@for_each("fit_intercept", [True, False])
@for_each("n", [40, 4])
def test_bayesian_dual_is_a_primal_model_in_rotated_columns(n_classes, fit_intercept, n):
    """w = X^T alpha has covariance v X^T X: columns times its root, weights of variance v."""
    X, _, _, queries = data(n, 5)
    y = np.arange(n) % n_classes
    center = X.mean(axis=0) if fit_intercept else 0.0
    root = np.real(sqrtm((X - center).T @ (X - center)))
    dual = DualLogisticRegression(
        prior_variance=0.05, fit_intercept=fit_intercept, standardize=False
    ).fit(X, y)
    primal = BayesianLogisticRegression(
        prior_variance=0.05, fit_intercept=fit_intercept, standardize=False
    ).fit((X - center) @ root, y)
    assert dual.log_evidence_ == pytest.approx(primal.log_evidence_, abs=1e-7)
    p, q = dual.predict_proba(queries), primal.predict_proba((queries - center) @ root)
    np.testing.assert_allclose(p, q, atol=1e-6)


@for_each("n_classes", [2, 3])
@for_each("n", [60, 6])
def test_dual_and_primal_have_the_same_nearest_normal(n_classes, n):
    X, a, _, queries = data(n, 8)
    y = np.digitize(a, np.quantile(a, [0.5] if n_classes == 2 else [0.3, 0.6]))
    center = X.mean(axis=0)
    root = np.real(sqrtm((X - center).T @ (X - center)))
    dual = DualLogisticRegression(prior_variance=2.0, standardize=False).fit(X, y)
    primal = BayesianLogisticRegression(prior_variance=2.0, standardize=False)
    primal.fit((X - center) @ root, y)
    assert dual.posterior_.fit.bound == pytest.approx(primal.posterior_.fit.bound, abs=1e-5)
    p, q = dual.predict_proba(queries), primal.predict_proba((queries - center) @ root)
    np.testing.assert_allclose(p, q, atol=1e-5)


def test_a_generalized_model_of_two_classes_is_logistic_regression():
    X, a, rng, queries = data()
    y = (a + rng.logistic(size=60) > 0.0).astype(float)
    one = GeneralizedLinearRegression(likelihoods.Bernoulli()).fit(X, y)
    other = BayesianLogisticRegression(inference="laplace").fit(X, y)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(one.predict(queries), other.predict_proba(queries)[:, 1], atol=1e-9)


def test_student_noise_of_many_degrees_of_freedom_is_normal():
    X, a, rng, queries = data()
    y = a + rng.normal(size=60)
    robust = RobustRegression(
        degrees_of_freedom=1e7, scale=0.9, prior_variance=0.8, fit_intercept=False
    ).fit(X, y)
    normal = BayesianLinearRegression(
        noise_variance=0.81, prior_variance=0.8, fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(robust.coef_, normal.coef_, atol=1e-5)
    assert robust.log_evidence_ == pytest.approx(normal.log_evidence_, abs=1e-4)
    for one, other in zip(
        robust.predict(queries, return_std=True),
        normal.predict(queries, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_a_wide_prior_gives_the_maximum_likelihood_of_scikit_learn():
    X, a, rng, _ = data()
    counts, positive = rng.poisson(np.exp(a / 2)), rng.gamma(3.0, np.exp(a) / 3.0)
    poisson = GeneralizedLinearRegression(
        likelihoods.Poisson(), prior_variance=1e10, fit_intercept=False, inference="laplace"
    )
    gamma = GammaRegression(prior_variance=1e10, fit_intercept=False, inference="laplace")
    choices = {"alpha": 0.0, "tol": 1e-12, "max_iter": 10_000, "fit_intercept": False}
    for ours, theirs, y in [
        (poisson, ReferencePoisson(**choices), counts),
        (gamma, ReferenceGamma(**choices), positive),
    ]:
        ours.fit(X, y), theirs.fit(X, y)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
