"""One weight a row: its published weights predict, and its kernel has no origin."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import DualLogisticRegression, features, kernels, priors
from posterity.linear import SeparationWarning


def data(n=40, m=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.normal(size=(n, m))
    A = X @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n, n_classes))
    return X, np.argmax(A - A.mean(axis=0), axis=1), 1.0 + rng.normal(size=(6, m))


each_count = pytest.mark.parametrize("n_classes", [2, 3])
each_offset = pytest.mark.parametrize("fit_intercept", [True, False])


@each_count
@each_offset
@for_each("weighted", [True, False])
def test_the_dual_weights_give_the_latent_mean(n_classes, fit_intercept, weighted):
    X, y, queries = data(n_classes=n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    kernel = kernels.RBF(2.0)
    model = DualLogisticRegression(kernel, fit_intercept=fit_intercept).fit(X, y, weight)
    mean = model.predict_latent(queries).mean()
    by_hand = kernel(queries, X) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(by_hand if n_classes > 2 else by_hand[:, 0], mean, atol=1e-9)
    if fit_intercept:
        np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-9)


@each_count
@for_each("prior", [priors.Normal(), priors.Flat()])
def test_with_the_linear_kernel_there_are_weights_of_the_columns(n_classes, prior):
    X, y, queries = data(n_classes=n_classes)
    model = DualLogisticRegression(prior=prior).fit(X, y)
    mean = model.predict_latent(queries).mean()
    by_hand = queries @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(by_hand if n_classes > 2 else by_hand[:, 0], mean, atol=1e-8)
    assert not hasattr(DualLogisticRegression(kernels.RBF(1.0)).fit(X, y), "coef_")


@for_each("prior", [priors.Normal(), priors.Flat()])
def test_with_an_offset_the_origin_does_not_matter(prior):
    X, y, queries = data()
    plain = DualLogisticRegression(prior=prior).fit(X, y)
    moved = DualLogisticRegression(prior=prior).fit(X + 100.0, y)
    p, q = plain.predict_proba(queries), moved.predict_proba(queries + 100.0)
    np.testing.assert_allclose(p, q, atol=1e-6)


def test_a_flat_prior_on_a_rich_kernel_is_separable_and_says_so():
    X, y, _ = data()
    with pytest.warns(SeparationWarning, match="can be separated"):
        model = DualLogisticRegression(kernels.RBF(0.5), prior=priors.Flat()).fit(X, y)
    assert model.separable_
    assert np.all(np.isfinite(model.dual_coef_))
    assert np.mean(model.predict(X) == y) > 0.95


def test_another_fit_forgets_what_it_does_not_have():
    X, y, _ = data()
    model = DualLogisticRegression().fit(X, y)
    assert {"coef_", "log_evidence_", "prior_variance_"} <= vars(model).keys()
    model.set_params(prior=priors.Flat()).fit(X, y)
    assert {"log_likelihood_", "separable_", "coef_"} <= vars(model).keys()
    assert "log_evidence_" not in vars(model)
    model.set_params(prior=priors.Normal(), kernel=kernels.RBF(1.0)).fit(X, y)
    assert "coef_" not in vars(model)
    assert "log_likelihood_" not in vars(model)


def test_choices_are_checked():
    X, y, _ = data()
    with pytest.raises(ValueError, match=r"prior='laplace' must be priors.Normal\(\)"):
        DualLogisticRegression(prior="laplace").fit(X, y)
    with pytest.raises(ValueError, match="give prior one number"):
        DualLogisticRegression(prior=priors.Normal([1.0, 2.0])).fit(X, y)


def test_the_kernel_acts_on_units_where_they_have_ended():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.hypot(*X.T) < 1.0
    units = features.LearnedArctan(3, random_state=0)
    model = DualLogisticRegression(features=units).fit(X, y)
    np.testing.assert_array_equal(model.kernel_columns_.X_train_, model.features_.transform(X))
    assert np.mean(model.predict(X) == y) > 0.9
