"""Bayesian logistic regression: what averaging does, and what the evidence knows."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from posterity import BayesianLogisticRegression, designs, features


def data(n=120, m=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    A = X @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n, n_classes))
    return X, np.argmax(A, axis=1)


each_count = pytest.mark.parametrize("n_classes", [2, 3, 4])


@each_count
def test_probabilities_are_averages_over_the_posterior(n_classes):
    X, y = data(n_classes=n_classes, n=30)
    model = BayesianLogisticRegression(prior_variance=4.0).fit(X, y)
    queries = 3.0 * X[:8]
    coef, intercept = model.sample_weights(20_000, random_state=0)
    A = np.einsum("nm,scm->nsc", queries, coef) + intercept
    if n_classes == 2:
        A = np.concatenate([np.zeros_like(A), A], axis=2)
    P = np.exp(A - np.logaddexp.reduce(A, axis=2, keepdims=True)).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(queries), P, atol=0.009)


@each_count
def test_the_closed_form_is_near_the_average(n_classes):
    """[P9 9.19]"""
    X, y = data(n_classes=n_classes, n=40)
    queries = np.concatenate([X, 5.0 * X, 100.0 * X])
    exact = BayesianLogisticRegression().fit(X, y)
    approximate = BayesianLogisticRegression(averaging="approximate").fit(X, y)
    assert approximate.log_evidence_ == exact.log_evidence_
    p, q = exact.predict_proba(queries), approximate.predict_proba(queries)
    assert 1e-5 < np.max(np.abs(p - q)) < {2: 0.02, 3: 0.05, 4: 0.1}[n_classes]


def test_the_closed_form_is_exact_for_weights_that_are_certain():
    X, y = data()
    models = [
        BayesianLogisticRegression(prior_variance=1e-12, averaging=averaging, fit_intercept=False)
        for averaging in ("exact", "approximate")
    ]
    p, q = (model.fit(X, y).predict_proba(X) for model in models)
    np.testing.assert_allclose(p, q, atol=1e-12)
    np.testing.assert_allclose(p, 0.5, atol=1e-9)


def test_far_from_the_rows_probabilities_are_not_certain():
    X, y = data()
    model = BayesianLogisticRegression().fit(X, y)
    far = 1e6 * X
    plug_in = expit(far @ model.coef_[0] + model.intercept_[0])
    averaged = model.predict_proba(far)[:, 1]
    assert np.all(np.minimum(plug_in, 1.0 - plug_in) < 1e-6)
    latent = model.predict_latent(far)
    ratio = latent.mean() / latent.standard_deviation()
    assert np.all(np.abs(averaged - 0.5) < np.abs(expit(2.0 * ratio) - 0.5) + 0.02)
    assert np.any(np.minimum(averaged, 1.0 - averaged) > 1e-3)


@each_count
def test_units_and_origin_do_not_matter(n_classes):
    X, y = data(n_classes=n_classes)
    a, b = np.array([1e-8, 3.0, 1e8]), np.array([1e-2, 1e6, -1e12])
    plain = BayesianLogisticRegression().fit(X, y)
    moved = BayesianLogisticRegression().fit(a * X + b, y)
    assert moved.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(moved.predict_proba(a * X + b), plain.predict_proba(X), atol=1e-5)
    textbook = BayesianLogisticRegression(standardize=False, prior_variance=1.0)
    first = textbook.fit(X, y).log_evidence_
    assert abs(textbook.fit(10.0 * X, y).log_evidence_ - first) > 0.1


def test_separable_classes_have_finite_weights():
    X, _ = data()
    for y in (X[:, 0] > 0, np.digitize(X[:, 0], [-0.5, 0.5])):
        model = BayesianLogisticRegression().fit(X, y)
        assert np.all(np.isfinite(model.coef_))
        assert np.max(np.abs(model.coef_)) < 1e3
        assert np.isfinite(model.log_evidence_)
        assert np.mean(model.predict(X) == y) > 0.97


def test_evidence_prefers_the_columns_and_the_degree_that_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = 1.5 * X[:, 0] + X[:, 1] ** 2 - 1.0 + rng.logistic(size=300) > 0.0

    def evidence(columns, degree):
        model = BayesianLogisticRegression(features=features.Polynomial(degree))
        return model.fit(X[:, columns], y).log_evidence_

    best = evidence([0, 1], 2)
    assert best > evidence([0, 1], 1) + 5.0
    assert best > evidence([0, 1], 4) + 1.0
    assert best > evidence([0, 1, 2, 3], 2) + 1.0
    assert best > evidence([2, 3], 2) + 20.0


def test_evidence_without_information_is_that_of_the_shares():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.repeat([0, 1], [100, 300])[rng.permutation(400)]
    model = BayesianLogisticRegression(prior_variance=1e-10).fit(X, y)
    shares = 100 * np.log(0.25) + 300 * np.log(0.75) - 0.5 * np.log(401.0)
    assert model.log_evidence_ == pytest.approx(shares, abs=1e-5)
    fair = BayesianLogisticRegression(prior_variance=1e-10, fit_intercept=False).fit(X, y)
    assert fair.log_evidence_ == pytest.approx(-400 * np.log(2.0), abs=1e-5)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.75, atol=1e-3)


def test_the_learned_prior_variance_is_no_worse_than_any_other():
    X, y = data(n_classes=3)
    best = BayesianLogisticRegression().fit(X, y)
    for variance in np.logspace(-3, 3, 13):
        other = BayesianLogisticRegression(prior_variance=variance).fit(X, y)
        assert other.log_evidence_ <= best.log_evidence_ + 1e-5
        assert other.prior_variance_ == variance


def test_draws_of_the_weights_scatter_as_predictions_do():
    X, y = data()
    model = BayesianLogisticRegression().fit(X, y)
    coef, intercept = model.sample_weights(20_000, random_state=1)
    assert coef.shape == (20_000, 1, 3)
    draws = X[:5] @ coef[:, 0].T + intercept[:, 0]
    latent = model.predict_latent(X[:5])
    np.testing.assert_allclose(draws.std(axis=1), latent.standard_deviation(), rtol=0.03)
    np.testing.assert_allclose(coef.mean(axis=0), model.coef_, atol=0.02)


def test_choices_are_checked():
    X, y = data()
    with pytest.raises(ValueError, match="prior_variance"):
        BayesianLogisticRegression(prior_variance=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="averaging='mean'"):
        BayesianLogisticRegression(averaging="mean").fit(X, y)
    with pytest.raises(ValueError, match="inference='exact' must be one of"):
        BayesianLogisticRegression(inference="exact").fit(X, y)


def apart(n=60, m=8, n_classes=3, seed=0):
    """Classes that hardly overlap, and rows to ask about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 500, m))
    A = 5.0 * X @ rng.normal(size=(m, n_classes)) + rng.gumbel(size=(n + 500, n_classes))
    y = np.argmax(A, axis=1)
    return X[:n], y[:n], X[n:], y[n:]


@each_count
def test_classes_that_hardly_overlap_are_told_apart_with_more_certainty(n_classes):
    """Laplace's normal is too wide there; the nearest one is not, and its evidence is the same."""
    gains = []
    for seed in range(2):
        X, y, queries, labels = apart(n_classes=n_classes, m=20, seed=seed)
        scores, evidences = [], set()
        for inference in ("auto", "laplace"):
            model = BayesianLogisticRegression(inference=inference, averaging="approximate")
            p = model.fit(X, y).predict_proba(queries)
            scores.append(np.mean(np.log(p[np.arange(500), labels])))
            evidences.add(model.log_evidence_)
        assert len(evidences) == 1
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.03


def test_where_nothing_is_averaged_the_weights_are_the_most_probable():
    X, y, queries, _ = apart()
    plain = BayesianLogisticRegression(averaging="none").fit(X, y)
    best = BayesianLogisticRegression(hyperparameters="maximise")
    laplace = clone(best).set_params(inference="laplace").fit(X, y)
    np.testing.assert_array_equal(plain.coef_, laplace.coef_)
    nearest = clone(best).fit(X, y)
    assert np.linalg.norm(nearest.coef_) > 1.1 * np.linalg.norm(laplace.coef_)
    widths = [m.predict_latent(queries).standard_deviation() for m in (nearest, laplace)]
    assert np.mean(widths[0]) < np.mean(widths[1])


@each_count
def test_rows_in_chunks_have_the_same_nearest_normal(n_classes):
    X, y, queries, _ = apart(n_classes=n_classes, n=90)
    blocks = designs.Chunks.from_arrays(X, y.astype(float), rows=32)
    model = BayesianLogisticRegression(hyperparameters="maximise")
    one, other = clone(model).fit(X, y), clone(model).fit(blocks)
    assert type(one.posterior_.fit).__name__ == "NearestNormal"
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(other.predict_proba(queries), one.predict_proba(queries), atol=1e-6)
