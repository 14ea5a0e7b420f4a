"""Theorems of latent Gaussian processes: the same model by another route, or of another library."""

import numpy as np
import pytest
from scipy.linalg import solve_triangular
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.gaussian_process import GaussianProcessClassifier as ReferenceClassifier
from sklearn.gaussian_process.kernels import RBF as ReferenceRBF
from sklearn.gaussian_process.kernels import ConstantKernel
from support.for_each import for_each

from posterity import (
    BayesianLogisticRegression,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    GeneralizedLinearRegression,
    kernels,
    likelihoods,
)

offset_or_not = pytest.mark.parametrize("offset", [True, False])


def inputs(n=40, d=3, seed=0):
    """Centred, so that an offset is the same in weights and in functions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 2.0, 0.5]
    X -= X.mean(axis=0)
    return X, X @ rng.normal(size=d), rng.normal(size=(7, d)), rng


def process_of(offset, s=0.7):
    return {"kernel": kernels.Linear(s).fixed(), "mean": "constant" if offset else "zero"}


def weights_of(offset, s=0.7):
    return {"prior_variance": s, "fit_intercept": offset, "standardize": False}


@offset_or_not
@for_each("edges", [[0.0], [-1.0, 1.0]], ids=["two", "three"])
def test_a_process_with_the_linear_kernel_is_logistic_regression(offset, edges):
    X, a, queries, rng = inputs()
    y = np.digitize(a + rng.logistic(size=len(a)), edges)
    weight = rng.integers(1, 4, len(y)).astype(float)
    process = GaussianProcessClassifier(**process_of(offset), inference="laplace")
    regression = BayesianLogisticRegression(**weights_of(offset), inference="laplace")
    if offset:  # columns are centred by the weights that rows have
        weight = np.ones_like(weight)
    process.fit(X, y, weight)
    regression.fit(X, y, weight)
    assert process.log_evidence_ == pytest.approx(regression.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(
        process.predict_proba(queries), regression.predict_proba(queries), atol=1e-7
    )


class HeavyTails(likelihoods.StudentT):
    """Not known to be a scale mixture, so that both approximate it by Laplace."""

    is_scale_mixture = False


@offset_or_not
@for_each(
    "likelihood",
    [
        HeavyTails(0.5, 4.0),
        likelihoods.Gamma(3.0),
        likelihoods.Poisson(),
        likelihoods.Normal(0.4),
        likelihoods.Bernoulli(),
    ],
    ids=lambda likelihood: type(likelihood).__name__,
)
def test_a_process_with_the_linear_kernel_is_generalized_regression(likelihood, offset):
    X, a, queries, rng = inputs()
    y = likelihood.sample(0.7 * a, rng=rng).astype(float)
    inference = "laplace" if isinstance(likelihood, likelihoods.Bernoulli) else "auto"
    process = GaussianProcessRegressor(
        **process_of(offset), likelihood=likelihood, inference=inference
    ).fit(X, y)
    weights = GeneralizedLinearRegression(likelihood, **weights_of(offset)).fit(X, y)
    assert process.log_evidence_ == pytest.approx(weights.log_evidence_, abs=1e-7)
    one, other = process.predict_latent(queries), weights.predict_latent(queries)
    np.testing.assert_allclose(one.mean(), other.mean(), atol=1e-7)
    np.testing.assert_allclose(one.standard_deviation(), other.standard_deviation(), rtol=1e-7)
    np.testing.assert_allclose(process.predict(queries), weights.predict(queries), rtol=1e-6)


@for_each("mean", ["constant", "zero"])
@for_each("weighted", [True, False])
def test_the_normal_likelihood_is_normal_noise(mean, weighted):
    X, a, queries, rng = inputs()
    y = 3.0 + np.sin(a) + 0.3 * rng.normal(size=len(a))
    weight = rng.uniform(0.5, 3.0, len(y)) if weighted else None
    kernel = (2.0 * kernels.RBF(1.5)).fixed()
    closed = GaussianProcessRegressor(kernel, 0.2, mean).fit(X, y, weight)
    normal = likelihoods.Normal(0.2)
    laplace = GaussianProcessRegressor(kernel, mean=mean, likelihood=normal).fit(X, y, weight)
    assert laplace.log_evidence_ == pytest.approx(closed.log_evidence_, abs=1e-8)
    for one, other in zip(
        laplace.predict(queries, return_std=True),
        closed.predict(queries, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-8)
    one, other = (m.predict_joint(queries, noise_variance=0.0) for m in (laplace, closed))
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-8)
    np.testing.assert_allclose(
        laplace.predict_latent(queries).standard_deviation(),
        closed.predict_latent(queries).standard_deviation(),
        rtol=1e-8,
    )


@pytest.mark.full
@for_each("mean", ["constant", "zero"])
def test_the_normal_likelihood_learns_the_noise_and_the_kernel_of_normal_noise(mean):
    X, a, queries, rng = inputs(n=60)
    y = np.sin(a) + 0.3 * rng.normal(size=len(a))
    closed = GaussianProcessRegressor(mean=mean).fit(X, y)
    laplace = GaussianProcessRegressor(mean=mean, likelihood=likelihoods.Normal()).fit(X, y)
    # The learned noise of a closed form has a prior worth one row of 60.
    assert laplace.log_evidence_ == pytest.approx(closed.log_evidence_, abs=5e-3)
    assert laplace.log_evidence_ > closed.log_evidence_ - 1e-4
    assert laplace.likelihood_.noise_variance == pytest.approx(closed.noise_variance_, rel=2e-2)
    np.testing.assert_allclose(laplace.predict(queries), closed.predict(queries), atol=1e-2)


def reference_latent(reference, queries):
    """What scikit-learn's classifier of two classes computes on the way."""
    r = reference.base_estimator_
    k = r.kernel_(r.X_train_, queries)
    V = solve_triangular(r.L_, r.W_sr_[:, None] * k, lower=True)
    return k.T @ (r.y_train_ - r.pi_), r.kernel_.diag(queries) - np.sum(V * V, axis=0)


@for_each(("variance", "length"), [(1.0, 1.0), (9.0, 0.5), (0.1, 3.0)])
def test_two_classes_are_those_of_scikit_learn(variance, length):
    X, a, queries, rng = inputs()
    y = a + rng.logistic(size=len(a)) > 0.0
    kernel = ConstantKernel(variance) * ReferenceRBF(length)
    reference = ReferenceClassifier(kernel, optimizer=None, max_iter_predict=1000).fit(X, y)
    ours = (variance * kernels.RBF(length)).fixed()
    process = GaussianProcessClassifier(ours, "zero", inference="laplace").fit(X, y)
    expected = reference.log_marginal_likelihood_value_
    assert process.log_evidence_ == pytest.approx(expected, abs=1e-6)
    mean, spread = reference_latent(reference, queries)
    latent = process.predict_latent(queries)
    np.testing.assert_allclose(latent.mean(), mean, atol=1e-5)
    np.testing.assert_allclose(latent.standard_deviation() ** 2, spread, atol=1e-5)
    exact = likelihoods.Bernoulli().predict(mean, spread).probabilities()
    np.testing.assert_allclose(process.predict_proba(queries), exact, atol=1e-5)
    # It averages the sigmoid by a sum of five error functions.
    np.testing.assert_allclose(
        process.predict_proba(queries), reference.predict_proba(queries), atol=1e-3
    )


def small_sets():
    iris, cancer, rng = load_iris(), load_breast_cancer(), np.random.default_rng(0)
    some = rng.choice(len(cancer.target), 50, replace=False)
    scaled = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
    X, a, _, _ = inputs(50)
    yield "iris", iris.data[50:][::2, :2], iris.target[50:][::2]
    yield "cancer", scaled[some][:, :4], cancer.target[some]
    yield "moons", *make_moons(50, noise=0.3, random_state=0)
    yield "line", X, (a + rng.logistic(size=50) > 0.0) * 1
    yield "noise", rng.normal(size=(40, 2)), rng.integers(0, 2, 40)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of the reference
@for_each(("name", "X", "y"), [pytest.param(*s, id=s[0]) for s in small_sets()])
def test_the_evidence_found_is_no_less_than_that_of_scikit_learn(name, X, y):
    reference = ReferenceClassifier(ConstantKernel(1.0) * ReferenceRBF(1.0)).fit(X, y)
    kernel = kernels.Scaled(kernels.RBF())
    ours = GaussianProcessClassifier(kernel, "zero", inference="laplace").fit(X, y)
    assert ours.log_evidence_ >= reference.log_marginal_likelihood_value_ - 1e-3
