"""Kernel logistic regression: the evidence chooses the kernel, and its weights can be read."""

import numpy as np
import pytest
from support.latents import with_covariance

from posterity import DualLogisticRegression, KernelLogisticRegression, kernels


def rings(n=120, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(np.hypot(*X.T), [1.0, 1.8][: n_classes - 1]), rng.normal(size=(8, 2))


each_count = pytest.mark.parametrize("n_classes", [2, 3])
each_offset = pytest.mark.parametrize("fit_intercept", [True, False])


@each_count
@each_offset
def test_at_given_parameters_it_is_the_dual_model(n_classes, fit_intercept):
    X, y, queries = rings(40, n_classes)
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    kernel = kernels.RBF(0.8)
    one = KernelLogisticRegression(
        kernel.fixed(), prior_variance=0.5, fit_intercept=fit_intercept
    ).fit(X, y, weight)
    other = DualLogisticRegression(kernel, prior_variance=0.5, fit_intercept=fit_intercept)
    other.fit(X, y, weight)
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-7)
    p, q = one.predict_proba(queries), other.predict_proba(queries)
    np.testing.assert_allclose(p, q, atol=1e-7)


@each_count
@each_offset
def test_the_dual_weights_give_the_latent_mean(n_classes, fit_intercept):
    X, y, queries = rings(40, n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    given = {"fit_intercept": fit_intercept, "hyperparameters": "maximise"}
    model = KernelLogisticRegression(**given, max_iter=20).fit(X, y, weight)
    mean, _ = with_covariance(model.posterior_.latent(queries))
    by_hand = model.kernel_(queries, model.X_train_) @ model.dual_coef_.T + model.intercept_
    np.testing.assert_allclose(by_hand, mean, atol=1e-9)


def test_with_an_offset_the_origin_does_not_matter():
    X, y, queries = rings(40)
    model = KernelLogisticRegression(kernels.Linear(1.0).fixed(), prior_variance=0.1)
    plain = model.fit(X, y)
    evidence, p = plain.log_evidence_, plain.predict_proba(queries)
    moved = model.fit(X + 50.0, y)
    assert moved.log_evidence_ == pytest.approx(evidence, abs=1e-7)
    np.testing.assert_allclose(moved.predict_proba(queries + 50.0), p, atol=1e-7)


@pytest.mark.full(but=1)
@each_count
def test_the_kernel_of_the_largest_evidence_is_learned(n_classes):
    X, y, _ = rings(n_classes=n_classes)
    best = KernelLogisticRegression(kernels.RBF()).fit(X, y)
    for width in (0.1, 0.5, 1.0, 2.0, 10.0):
        other = KernelLogisticRegression(kernels.RBF(width).fixed()).fit(X, y)
        assert other.log_evidence_ <= best.log_evidence_ + 1e-4
    test_X, test_y, _ = rings(300, n_classes, seed=1)
    assert best.score(test_X, test_y) > 0.85


def test_rows_that_are_alike_are_merged():
    X, y, queries = rings(19)  # of so few different rows copies count
    twice = KernelLogisticRegression(kernels.RBF(0.8).fixed(), prior_variance=0.5)
    p = twice.fit(np.vstack([X, X]), np.concatenate([y, y])).predict_proba(queries)
    assert len(twice.X_train_) == 19
    weighted = twice.fit(X, y, np.full(19, 2.0))
    np.testing.assert_allclose(weighted.predict_proba(queries), p, atol=1e-8)


def test_the_default_kernel_has_one_width_in_units_of_each_column():
    X, y, queries = rings(60)
    units = np.array([1e-3, 1e3])
    model = KernelLogisticRegression(hyperparameters="maximise").fit(units * X, y)
    first, second = np.array(model.kernel_.length_scale) / (units * np.std(X, axis=0))
    assert first == pytest.approx(second)
    again = KernelLogisticRegression(model.kernel_.fixed(), prior_variance=model.prior_variance_)
    p = again.fit(units * X, y).predict_proba(units * queries)
    np.testing.assert_allclose(model.predict_proba(units * queries), p, atol=1e-8)
