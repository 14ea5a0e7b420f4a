"""The dual model: what it has depends on its prior and its kernel, and nothing is left over."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from posterity import BayesianLinearRegression, DualLinearRegression, features, kernels, priors


def data(n=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=n)


def bump(A, B):
    return np.exp(-0.5 * (A[:, :1] - B[:, :1].T) ** 2 / 0.3**2)


def test_a_kernel_follows_what_a_line_cannot():
    X, y = data(80)
    line = DualLinearRegression().fit(X, y)
    curve = DualLinearRegression(kernel=bump).fit(X, y)
    assert curve.log_evidence_ > line.log_evidence_ + 10.0
    grid = np.linspace(-2.5, 2.5, 50)[:, None]
    mean, std = curve.predict(grid, return_std=True)
    z = (mean - np.sin(2.0 * grid[:, 0])) / std
    assert np.mean(np.abs(z) < 2.0) > 0.9


def test_features_come_before_the_kernel():
    X, y = data()
    direct = DualLinearRegression(kernel=lambda A, B: (A @ B.T) + (A**2) @ (B**2).T).fit(X, y)
    composed = DualLinearRegression(features=features.Polynomial(2), standardize=False).fit(X, y)
    np.testing.assert_allclose(composed.predict(X), direct.predict(X), rtol=1e-8)
    assert composed.coef_.shape == (2,)


@pytest.mark.parametrize("prior", [priors.Normal(), priors.Flat()])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_linear_kernel_answers_as_a_kernel_of_its_values(prior, fit_intercept):
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(2.0, 3.0, 40), rng.normal(size=40), np.full(40, 5.0)])
    y, w, new = X @ [1.0, -1.0, 0.2] + rng.normal(size=40), rng.integers(0, 4, 40), X[:5] + 1.0
    given = {"prior": prior, "fit_intercept": fit_intercept}
    few = DualLinearRegression(kernels.Linear((0.5, 2.0, 1.0)), **given).fit(X, y, w)
    many = DualLinearRegression(lambda A, B: (A * [0.5, 2.0, 1.0]) @ B.T, **given).fit(X, y, w)
    assert few.dual_coef_.shape == (40,)
    np.testing.assert_allclose(few.dual_coef_, many.dual_coef_, rtol=1e-7, atol=1e-9)
    found, expected = (model.predict(new, return_std=True) for model in (few, many))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_a_new_fit_leaves_nothing_of_the_old_one():
    X, y = data()
    model = DualLinearRegression().fit(X, y)
    assert model.log_evidence_ < 0.0
    model.set_params(prior=priors.Flat(), kernel=bump).fit(X, y)
    for name in ("posterior_", "log_evidence_", "prior_variance_", "coef_"):
        assert name not in vars(model)


def test_a_flat_prior_has_no_posterior_to_draw_from():
    X, y = data()
    model = DualLinearRegression(prior=priors.Flat()).fit(X, y)
    with pytest.raises(TypeError, match="no posterior"):
        model.sample_functions(X)
    with pytest.raises(TypeError, match="no posterior"):
        model.predict(X, return_cov=True)


def test_nothing_is_drawn_before_the_fit():
    with pytest.raises(NotFittedError):
        BayesianLinearRegression().sample_weights()


def test_drawn_functions_are_those_of_drawn_weights():
    X, y = data()
    model = BayesianLinearRegression(features=features.Polynomial(3)).fit(X, y)
    coef, intercept = model.sample_weights(5, random_state=3)
    functions = model.sample_functions(X, 5, random_state=3)
    Z = model.features_.transform(X)
    np.testing.assert_allclose(functions, coef @ Z.T + intercept[:, None], rtol=1e-10)
    both = BayesianLinearRegression().fit(X, np.column_stack([y, y]))
    assert both.sample_functions(X, 5).shape == (5, 30, 2)
    assert both.sample_weights(5)[0].shape == (5, 2, 1)
