"""SparseLinearRegression: few columns, chosen by evidence, and weights that know their doubt."""

import pickle

import numpy as np
import pytest
import sparse_support
from scipy import stats
from sklearn.base import clone
from support.for_each import for_each

from posterity import SparseLinearRegression, designs, features, optimize, priors
from posterity.sparse.sparse_noise import EqualVarianceRows


def data(n=120, m=12, k=1, seed=0, noise=0.3):
    """Columns 2 and 7 matter; the others do not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.geomspace(1e-3, 1e3, m) + np.linspace(-5.0, 50.0, m)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    W = np.zeros((m, k))
    W[[2, 7]] = rng.normal(size=(2, k)) + 2.0
    Y = 4.0 + Z @ W + noise * rng.normal(size=(n, k))
    return X, Y[:, 0] if k == 1 else Y


def dense_log_evidence(model, X, y, weights=None):
    """log N(y | mean, C), offset and weights integrated out."""
    w = np.ones(len(y)) if weights is None else weights
    share = w / w.sum()
    kept = X[:, model.relevance_] - share @ X[:, model.relevance_]
    spread = np.sqrt(share @ kept**2)
    center = share @ y
    prior = model.noise_variance_ / model.precision_ / spread**2
    C = (kept * prior) @ kept.T + share @ (y - center) ** 2 + model.noise_variance_ * np.eye(len(y))
    return stats.multivariate_normal(np.full(len(y), center), C).logpdf(y)


def test_a_sparse_truth_is_found():
    X, y = data(noise=0.05, seed=1)
    model = SparseLinearRegression().fit(X, y)
    assert list(model.relevance_) == [2, 7]
    assert np.flatnonzero(model.coef_).tolist() == [2, 7]
    assert model.coef_.shape == (12,)
    assert model.precision_.shape == (2,)
    assert np.sqrt(model.noise_variance_) == pytest.approx(0.05, rel=0.2)
    assert not hasattr(model, "prior_variance_")


@for_each("degrees_of_freedom", [0.0, 1.0])
def test_the_columns_are_those_of_all_rows(degrees_of_freedom):
    """Few rows stand for all: the search sees no difference."""
    X, Y = data(k=2)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X))
    model = SparseLinearRegression(degrees_of_freedom=degrees_of_freedom)
    model.fit(X, Y, sample_weight=weights)
    candidates = designs.CandidateColumns.from_columns(
        designs.MatrixColumnSource(X), weights, centred=True
    )
    prior = priors.Sparse(degrees_of_freedom, among=12)
    found = sparse_support.select_normal(candidates, Y, weights, centred=True, prior=prior)
    order = np.argsort(found.places)
    np.testing.assert_array_equal(model.relevance_, found.places[order])
    np.testing.assert_allclose(model.precision_, found.precision[order], rtol=1e-5)


@for_each("centred", [True, False])
@for_each("n", [3, 50])
def test_equal_rows_have_the_means_and_products_of_all(centred, n):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(n, 4)) + 3.0, rng.normal(size=(n, 2)) - 1.0
    weights = rng.uniform(0.5, 2.0, n)
    statistics = designs.Statistics.from_rows(Z, Y, sample_weight=weights, shift=centred)
    rows = EqualVarianceRows.from_statistics(statistics, centred=centred)
    assert len(rows.Z) <= 7
    both, few = np.hstack([Z, Y]), np.hstack([rows.Z, rows.Y])
    if centred:
        both = both - weights @ both / weights.sum()
        np.testing.assert_allclose(rows.weights @ few, 0.0, atol=1e-12)
    np.testing.assert_allclose(
        few.T @ (rows.weights[:, None] * few), both.T @ (weights[:, None] * both), atol=1e-12
    )
    assert rows.weights.sum() == pytest.approx(weights.sum())


def test_the_evidence_is_the_dense_log_density():
    X, y = data()
    model = SparseLinearRegression().fit(X, y)
    assert model.log_evidence_ == pytest.approx(dense_log_evidence(model, X, y), rel=1e-9)
    given = SparseLinearRegression(noise_variance=0.2).fit(X, y)
    assert given.noise_variance_ == 0.2
    assert given.log_evidence_ == pytest.approx(dense_log_evidence(given, X, y), rel=1e-9)


def test_the_posterior_is_the_dense_one():
    X, y = data()
    model = SparseLinearRegression(hyperparameters="maximise").fit(X, y)
    Z = X[:, model.relevance_] - X[:, model.relevance_].mean(axis=0)
    spread = np.sqrt(np.mean(Z**2, axis=0))
    Sigma = np.linalg.inv(np.diag(model.precision_ * spread**2) + Z.T @ Z)
    np.testing.assert_allclose(model.coef_[model.relevance_], Sigma @ Z.T @ (y - y.mean()))
    std = model.predict(X, return_std=True)[1]
    doubt = 1.0 + np.einsum("nm,mk,nk->n", Z, Sigma, Z)
    s2, v = model.noise_variance_, np.var(y)
    np.testing.assert_allclose(std**2, s2 * doubt + v * s2 / (s2 + len(y) * v), rtol=1e-9)
    i = np.arange(len(X))
    _, cov = model.predict(X, return_cov=True)
    np.testing.assert_allclose(np.sqrt(cov[i, i]), std)


@for_each("fit_intercept", [True, False])
def test_units_do_not_matter(fit_intercept):
    X, y = data()
    model = SparseLinearRegression(fit_intercept=fit_intercept)
    one = clone(model).fit(X, y)
    shift = 1e3 if fit_intercept else 0.0
    factor = np.geomspace(1e-4, 1e6, X.shape[1])
    other = clone(model).fit(X * factor, -1e5 * (y + shift))
    np.testing.assert_array_equal(one.relevance_, other.relevance_)
    np.testing.assert_allclose(one.precision_, other.precision_, rtol=1e-4)
    mean = -1e5 * (one.predict(X) + shift)
    np.testing.assert_allclose(other.predict(X * factor), mean, rtol=1e-6)


def test_chunks_and_later_rows_lead_to_the_same_model():
    X, y = data(300)
    whole = SparseLinearRegression().fit(X, y)
    chunks = designs.Chunks.from_arrays(X, y, rows=37)
    parts = SparseLinearRegression().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    for other in (SparseLinearRegression().fit(chunks), parts):
        np.testing.assert_array_equal(other.relevance_, whole.relevance_)
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-5, atol=1e-12)
        assert other.log_evidence_ == pytest.approx(whole.log_evidence_)


def test_noise_known_by_row_is_noise_known():
    X, y = data()
    given = SparseLinearRegression(noise_variance=0.09).fit(X, y)
    by_row = SparseLinearRegression().fit(X, y, noise_variance=np.full(len(y), 0.09))
    np.testing.assert_array_equal(by_row.relevance_, given.relevance_)
    np.testing.assert_allclose(by_row.precision_, given.precision_, rtol=1e-4)
    np.testing.assert_allclose(by_row.coef_, given.coef_, rtol=1e-5, atol=1e-12)
    assert by_row.noise_variance_ == pytest.approx(0.09)
    assert by_row.log_evidence_ == pytest.approx(given.log_evidence_)


def test_rows_of_less_noise_count_more():
    X, y = data(60)
    noise = np.where(np.arange(60) < 30, 0.09, 1e4)
    y = np.where(np.arange(60) < 30, y, 100.0 * np.random.default_rng(5).normal(size=60))
    both = SparseLinearRegression().fit(X, y, noise_variance=noise)
    first = SparseLinearRegression(noise_variance=0.09).fit(X[:30], y[:30])
    np.testing.assert_array_equal(both.relevance_, first.relevance_)
    np.testing.assert_allclose(both.predict(X[:30]), first.predict(X[:30]), atol=0.05)


def test_without_signal_the_targets_have_mean_and_variance_only():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 5))
    basis = np.column_stack([np.ones(50), X])
    y = rng.normal(size=50)
    y = 7.0 + y - basis @ np.linalg.lstsq(basis, y, rcond=None)[0]
    model = SparseLinearRegression().fit(X, y)
    assert model.relevance_.shape == model.precision_.shape == (0,)
    assert not model.coef_.any()
    assert "no column raises the evidence" in model.stop_reason_
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y.mean())
    np.testing.assert_allclose(std, y.std() * np.sqrt(51.0 / 47.0))  # a Student-t's
    assert model.sample_weights(3)[0].shape == (3, 5)


def test_targets_that_do_not_vary_need_no_column():
    X, _ = data()
    model = SparseLinearRegression().fit(X, np.full(len(X), 3.0))
    assert not len(model.relevance_)
    np.testing.assert_allclose(model.predict(X), 3.0)


def test_constant_and_repeated_columns_are_not_chosen_twice():
    X, y = data(noise=0.05, seed=1)
    wide = np.column_stack([X, X, np.full(len(X), 0.1), np.zeros(len(X))])
    model = SparseLinearRegression().fit(wide, y)
    assert np.all(model.relevance_ < 24)
    columns = list(model.relevance_ % 12)
    assert sorted(columns) == [2, 7]


def test_rounding_is_no_column():
    """What varies by no more than a number of its size is rounded by."""
    rng = np.random.default_rng(0)
    rounding = 1e10 + 1e-6 * rng.normal(size=100)
    assert 0.0 < np.ptp(rounding) < 1e-5
    X = np.column_stack([rng.normal(size=100), rounding])
    y = X[:, 0] + 1e6 * (rounding - 1e10)
    assert 1 not in SparseLinearRegression().fit(X, y).relevance_


def test_two_rows_are_enough():
    model = SparseLinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    assert np.all(np.isfinite(model.predict([[0.5]], return_std=True)))


def test_outputs_share_their_columns():
    X, Y = data(k=3)
    model = SparseLinearRegression(degrees_of_freedom=1.0).fit(X, Y)
    assert {2, 7} <= set(model.relevance_)
    assert model.coef_.shape == (3, 12)
    assert model.noise_variance_.shape == (3,)
    assert model.precision_.shape == model.relevance_.shape
    coef, intercept = model.sample_weights(5, random_state=0)
    assert coef.shape == (5, 3, 12)
    assert intercept.shape == (5, 3)
    out = np.delete(np.arange(12), model.relevance_)
    assert not coef[..., out].any()


def test_many_outputs_are_fitted():
    X, Y = data(k=63)
    model = SparseLinearRegression().fit(X, Y)
    assert model.predict(X).shape == (120, 63)
    assert {2, 7} <= set(model.relevance_)


def test_prediction_never_looks_at_columns_that_are_out():
    X, y = data()
    model = SparseLinearRegression(degrees_of_freedom=1.0).fit(X, y)
    other = np.full_like(X, 1e300)
    other[:, model.relevance_] = X[:, model.relevance_]
    for a, b in zip(
        model.predict(X, return_std=True), model.predict(other, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_features_are_what_is_chosen_among():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=200)
    model = SparseLinearRegression(features=features.Polynomial(2), degrees_of_freedom=1.0).fit(
        X, y
    )
    names = model.features_.get_feature_names_out(["a", "b"])
    assert [names[i] for i in model.relevance_] == ["a b"]


def test_the_same_rows_give_the_same_model():
    X, y = data()
    model = SparseLinearRegression()
    first = model.fit(X, y).coef_
    np.testing.assert_array_equal(model.fit(X, y).coef_, first)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(clone(model), "coef_")


@pytest.mark.full
def test_true_weights_rank_evenly_among_draws():
    """Simulation-based calibration of the weights that are kept."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(60, 6))
    ranks = []
    for _ in range(120):
        w = rng.normal(size=2) + 3.0 * rng.choice([-1.0, 1.0], size=2)
        y = X[:, [1, 4]] @ w + rng.normal(size=60)
        model = SparseLinearRegression().fit(X, y)
        draws, _ = model.sample_weights(99, random_state=rng)
        ranks.extend(np.sum(draws[:, [1, 4]] < w, axis=0))
    assert stats.kstest((np.array(ranks) + rng.uniform(size=240)) / 100.0, "uniform").pvalue > 0.01


def test_intervals_hold_as_often_as_they_say():
    inside = []
    for seed in range(20):
        X, y = data(400, seed=seed)
        model = SparseLinearRegression().fit(X[:80], y[:80])
        lower, upper = model.predict_interval(X[80:], coverage=0.9)
        inside.append(np.mean((lower < y[80:]) & (y[80:] < upper)))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.03)


@for_each("noise_variance", [None, 0.01])
def test_with_more_columns_than_rows_chance_is_not_taken_for_effect(noise_variance):
    inside = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(560, 200))
        y = X[:, 3] - 2.0 * X[:, 20] + 0.1 * rng.normal(size=560)
        model = SparseLinearRegression(noise_variance=noise_variance).fit(X[:60], y[:60])
        assert {3, 20} <= set(model.relevance_)
        assert len(model.relevance_) <= 4
        lower, upper = model.predict_interval(X[60:], coverage=0.9)
        inside.append(np.mean((lower < y[60:]) & (y[60:] < upper)))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.05)


@for_each(
    ("choice", "said"),
    [
        ({"max_iter": 0}, "max_iter=0"),
        ({"degrees_of_freedom": -1.0}, "degrees_of_freedom"),
        ({"noise_variance": 0.0}, "noise_variance"),
    ],
)
def test_impossible_choices_are_refused(choice, said):
    X, y = data()
    with pytest.raises(ValueError, match=said):
        SparseLinearRegression(**choice).fit(X, y)


def test_a_search_that_was_cut_short_says_so():
    X, y = data()
    with pytest.warns(optimize.ConvergenceWarning, match="raise max_iter"):
        SparseLinearRegression(max_iter=1).fit(X, y)
