"""Maximum likelihood against other libraries, and classes that can be told apart."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import expit
from sklearn.linear_model import LogisticRegression as ReferenceLogistic
from support.for_each import for_each

from posterity import LogisticRegression
from posterity.linear import SeparationWarning


def data(n=200, m=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    A = X @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n, n_classes))
    return X, np.argmax(A, axis=1)


each_count = pytest.mark.parametrize("n_classes", [2, 3, 4])


@each_count
@for_each("fit_intercept", [True, False])
def test_scikit_learn_agrees_without_a_penalty(n_classes, fit_intercept):
    X, y = data(n_classes=n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    ours = LogisticRegression(fit_intercept=fit_intercept).fit(X, y, weight)
    theirs = ReferenceLogistic(
        C=np.inf, tol=1e-12, max_iter=1000, solver="newton-cg", fit_intercept=fit_intercept
    ).fit(X, y, weight)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-5)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    log_p = np.log(ours.predict_proba(X)[np.arange(len(y)), y])
    assert ours.log_likelihood_ == pytest.approx(weight @ log_p)
    assert ours.log_likelihood_ >= weight @ np.log(theirs.predict_proba(X)[range(len(y)), y]) - 1e-9
    assert not ours.separable_


def information(X, p, weight):
    """The inverse of minus the Hessian of the log-likelihood, with the offset last."""
    A = np.hstack([X, np.ones((len(X), 1))])
    return A, np.linalg.inv(A.T @ ((weight * p * (1.0 - p))[:, None] * A))


def test_averaged_predictions_have_the_variance_of_the_inverse_hessian():
    X, y = data()
    X = 5.0 + 3.0 * X
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = LogisticRegression(predictive="averaged").fit(X, y, weight)
    A, covariance = information(X, expit(X @ model.coef_[0] + model.intercept_[0]), weight)
    latent = model.predict_latent(X)
    np.testing.assert_allclose(latent.variance(), np.sum(A @ covariance * A, axis=1), rtol=1e-8)
    np.testing.assert_allclose(latent.mean(), X @ model.coef_[0] + model.intercept_[0], rtol=1e-8)
    plain = LogisticRegression().fit(X, y, weight)
    assert np.all(plain.predict_latent(X).variance() == 0.0)
    certain = np.abs(plain.predict_proba(X) - 0.5)
    assert np.all(np.abs(model.predict_proba(X) - 0.5) < certain)


def test_statsmodels_agrees_on_coefficients_and_their_covariance():
    api = pytest.importorskip("statsmodels.api")
    X, y = data()
    theirs = api.Logit(y, api.add_constant(X)).fit(disp=0, tol=1e-12)
    ours = LogisticRegression(predictive="averaged").fit(X, y)
    np.testing.assert_allclose(ours.coef_[0], theirs.params[1:], rtol=1e-7)
    np.testing.assert_allclose(ours.intercept_[0], theirs.params[0], rtol=1e-7)
    assert ours.log_likelihood_ == pytest.approx(theirs.llf)
    # A row that is one column away from another has a latent value larger by its weight.
    A = np.hstack([np.ones((len(X), 1)), X])
    variance = np.sum(A @ theirs.cov_params() * A, axis=1)
    np.testing.assert_allclose(ours.predict_latent(X).variance(), variance, rtol=1e-6)


def test_dependent_columns_leave_no_variance_to_average_over():
    X, y = data()
    for columns in (np.hstack([X, X]), np.hstack([X, np.full((200, 1), 1000.0)])):
        with pytest.raises(ValueError, match="linearly dependent"):
            LogisticRegression(predictive="averaged").fit(columns, y)
    few, labels = np.vstack([X[:4], X[:4]]), np.repeat([0, 1], 4)
    wide = np.hstack([few, few, few])
    with pytest.raises(ValueError, match="linearly dependent"):
        LogisticRegression(predictive="averaged").fit(wide, labels)
    model = LogisticRegression().fit(wide, labels)
    np.testing.assert_allclose(model.predict_proba(wide), 0.5, atol=1e-10)


@each_count
def test_dependent_and_constant_columns_change_no_probability(n_classes):
    X, y = data(n_classes=n_classes)
    expected = LogisticRegression().fit(X, y).predict_proba(X)
    for constant in (0.0, 0.1, 1e3, 1e9):
        more = np.hstack([X, np.full((200, 2), constant), X[:, :1] - 2.0 * X[:, 1:2]])
        model = LogisticRegression().fit(more, y)
        assert not model.separable_
        np.testing.assert_allclose(model.predict_proba(more), expected, atol=1e-9)
        np.testing.assert_allclose(model.coef_[:, 3:5], 0.0, atol=1e-12)


@each_count
def test_units_and_origin_of_the_columns_do_not_matter(n_classes):
    X, y = data(n_classes=n_classes)
    a, b = np.array([1e-8, 3.0, 1e8]), np.array([1e-2, 1e6, -1e12])
    plain, moved = LogisticRegression().fit(X, y), LogisticRegression().fit(a * X + b, y)
    np.testing.assert_allclose(moved.predict_proba(a * X + b), plain.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(moved.coef_ * a, plain.coef_, atol=1e-8)
    assert moved.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-8)


@for_each("names", [[0, 1], [7.0, -1.0], ["no", "yes"], [False, True]])
def test_classes_are_named_as_they_come(names):
    X, y = data()
    model = LogisticRegression().fit(X, np.array(names)[y])
    assert list(model.classes_) == sorted(names)
    sign = 1.0 if names == sorted(names) else -1.0
    np.testing.assert_allclose(model.coef_, sign * LogisticRegression().fit(X, y).coef_, atol=1e-9)


def separable(X, y, **choices):
    """Whether it says so, in every way it has."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LogisticRegression(**choices).fit(X, y)
    warned = [w for w in caught if issubclass(w.category, SeparationWarning)]
    assert bool(warned) == model.separable_
    assert all(w.filename == __file__ for w in warned)
    assert np.all(np.isfinite(model.coef_))
    assert np.isfinite(model.log_likelihood_)
    return model


@each_count
@for_each("scale", [1e-9, 1.0, 1e9])
def test_separable_classes_are_called_so_whatever_the_units(n_classes, scale):
    X, _ = data()
    y = np.argmax(X @ np.random.default_rng(4).normal(size=(3, n_classes)), axis=1)
    model = separable(scale * X, y)
    assert model.separable_
    plain = separable(X, y)
    np.testing.assert_allclose(model.coef_ * scale, plain.coef_, rtol=1e-6, atol=1e-8)
    assert np.max(np.abs(plain.coef_)) < 20.0
    assert np.mean(model.predict(scale * X) == y) > 0.95


@for_each("fit_intercept", [True, False])
def test_one_row_on_the_boundary_does_not_hide_it(fit_intercept):
    """Two rows at one place, of different classes; all others lie to one side or the other."""
    x = np.array([-2.0, -1.0, -0.5, 0.0, 0.0, 0.3, 1.5, 4.0])[:, None]
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert separable(x, y, fit_intercept=fit_intercept).separable_


@each_count
@for_each("full", [True, False], ids=["all indicators", "one left out"])
def test_a_category_of_one_class_only_does_not_hide_it(n_classes, full):
    X, y = data(400, n_classes=n_classes)
    rng = np.random.default_rng(2)
    category = rng.integers(0, 4, len(y))
    indicators = np.eye(4)[category][:, 0 if full else 1 :]
    assert not separable(np.hstack([X, indicators]), y).separable_
    category[y == 1] = rng.integers(0, 3, np.sum(y == 1))  # the last is never of class 1
    indicators = np.eye(4)[category][:, 0 if full else 1 :]
    model = separable(np.hstack([X, indicators]), y)
    assert model.separable_
    assert np.max(np.abs(model.coef_)) < 20.0
    # The other columns are as they are without the rows of that category.
    rest = LogisticRegression().fit(np.hstack([X, indicators])[category < 3], y[category < 3])
    np.testing.assert_allclose(model.coef_[:, :3], rest.coef_[:, :3], atol=0.3)


@for_each("seed", range(5))
@each_count
def test_nearly_separable_classes_are_not_called_so(seed, n_classes):
    """Each two classes have two rows, far out, on each other's side."""
    X, _ = data(seed=seed)
    W = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0] @ np.eye(3, n_classes)
    W -= W.mean(axis=1, keepdims=True)
    y = np.argmax(X @ W, axis=1)
    out = [W[:, c] - W[:, k] for c in range(n_classes) for k in range(n_classes) if c != k]
    wrong = [k for c in range(n_classes) for k in range(n_classes) if c != k]
    model = separable(np.vstack([X, out]), np.concatenate([y, wrong]))
    assert not model.separable_
    assert "gain" in model.stop_reason_
    assert np.mean(model.predict(X) == y) > 0.9


def can_be_separated(X, y):
    """By linear programming: whether weights favour no row's other class, and some row's own."""
    A, C = np.hstack([X, np.ones((len(X), 1))]), int(np.max(y)) + 1
    pairs = [(a, c, k) for a, c in zip(A, y, strict=True) for k in range(C) if k != c]
    own = np.eye(C)
    D = np.array([np.outer(own[c] - own[k], a).reshape(-1) for a, c, k in pairs])
    bounds = np.concatenate([np.zeros(len(D)), np.ones(len(D))])
    best = linprog(-D.sum(axis=0), np.vstack([-D, D]), bounds, bounds=(None, None))
    return -best.fun > 1e-6


@for_each("seed", [*range(40), 110, 179, 428, 521])
def test_linear_programming_agrees_on_what_is_separable(seed):
    """Small tables of few values, where rows lie on the boundary and classes part one by one."""
    rng = np.random.default_rng(seed)
    C, n, m = 2 + seed % 3, rng.integers(8, 40), rng.integers(1, 5)
    X = rng.integers(0, 3, (n, m)).astype(float) if seed % 2 else rng.normal(size=(n, m))
    A = X @ rng.normal(size=(m, C)) * rng.choice([0.3, 1.0, 3.0]) + rng.gumbel(size=(n, C))
    names, y = np.unique(np.argmax(A, axis=1), return_inverse=True)
    if len(names) > 1:
        assert separable(X, y).separable_ == can_be_separated(X, y)


def test_rows_fewer_than_columns_are_separable():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 60))
    for y in (np.arange(12) % 2, np.arange(12) % 3):
        model = separable(X, y)
        assert model.separable_
        np.testing.assert_array_equal(model.predict(X), y)


def test_averaging_after_separation_uses_the_prior_that_was_added():
    """In directions that no row has, its variance is all there is."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 9)), np.array([0, 1, 0, 1, 1, 1])
    model = separable(X, y, predictive="averaged")
    assert model.posterior_.prior_variance == pytest.approx(36.0 / 8.0)
    far = model.predict_latent(X + 100.0 * rng.normal(size=9)).variance()
    assert np.all(far > 100.0)


def test_a_search_that_is_cut_short_is_announced():
    X, y = data()
    with pytest.warns(UserWarning, match="stopped after 1 steps"):
        LogisticRegression(max_iter=1).fit(X, y)


def test_choices_are_checked():
    X, y = data()
    with pytest.raises(ValueError, match="predictive='exact' must be one of"):
        LogisticRegression(predictive="exact").fit(X, y)
