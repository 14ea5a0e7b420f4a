"""LqRegression: its units, its noise, its zeros, and what it is the mode of."""

import numpy as np
import pytest
from scipy import optimize as scipy_optimize
from scipy import stats
from sklearn.linear_model import Lasso
from support.estimator_checks import checks_of_settings
from support.for_each import for_each

from posterity import (
    LqRegression,
    RidgeRegression,
    designs,
    distributions,
    features,
    optimize,
)


def data(n=80, m=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * np.geomspace(0.1, 10.0, m) + 3.0
    w = np.array([4.0, 0.0, -2.0, 0.0, 0.3])[:m]
    return X, X @ w + 5.0 + rng.normal(size=n)


@pytest.mark.full
@checks_of_settings(
    [
        LqRegression(penalty_power=0.5),
        LqRegression(loss_power=0.5, random_state=0),
    ]
)
def test_scikit_learn_contract_at_other_powers(estimator, check):
    check(estimator)


@for_each("penalty", [1.0, 30.0, 300.0])
def test_it_is_the_lasso_of_scikit_learn_in_other_units(penalty):
    X, y = data()
    ours = LqRegression(penalty, standardize=False).fit(X, y)
    peer = Lasso(alpha=penalty / (2 * len(y)), tol=1e-12, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-6)
    assert ours.intercept_ == pytest.approx(peer.intercept_, abs=1e-5)


def test_standardising_is_the_lasso_of_scaled_columns():
    X, y = data()
    ours = LqRegression(40.0).fit(X, y)
    peer = Lasso(alpha=40.0 / 160, tol=1e-12, max_iter=100_000).fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(ours.coef_ * X.std(axis=0), peer.coef_, atol=1e-6)


@for_each("standardize", [True, False])
def test_power_two_has_the_mean_of_ridge(standardize):
    X, y = data()
    ours = LqRegression(12.0, penalty_power=2.0, standardize=standardize).fit(X, y)
    ridge = RidgeRegression(12.0, standardize=standardize).fit(X, y)
    np.testing.assert_allclose(ours.coef_, ridge.coef_, rtol=1e-8)
    assert ours.intercept_ == pytest.approx(ridge.intercept_, rel=1e-9)


def test_the_lasso_is_the_mode_under_a_laplace_prior():
    """penalty = 2 noise_variance / scale makes the two objectives the same up to a constant."""
    X, y = data()
    noise_variance, scale = 1.7, 0.4
    model = LqRegression(2.0 * noise_variance / scale, standardize=False).fit(X, y)
    prior = stats.laplace(scale=scale)

    def log_posterior(w, b):
        likelihood = stats.norm.logpdf(y, X @ w + b, np.sqrt(noise_variance)).sum()
        return likelihood + prior.logpdf(w).sum()

    best = log_posterior(model.coef_, model.intercept_)
    rng = np.random.default_rng(1)
    for size in (1e-6, 1e-3, 0.1):
        for _ in range(50):
            w, b = model.coef_ + size * rng.normal(size=5), model.intercept_ + size * rng.normal()
            assert log_posterior(w, b) < best
    start = np.append(model.coef_, model.intercept_) + 0.01
    options = {"maxiter": 5000, "maxfev": 5000, "xatol": 1e-9, "fatol": 1e-11}
    climbed = scipy_optimize.minimize(
        lambda x: -log_posterior(x[:5], x[5]), start, method="Nelder-Mead", options=options
    )
    assert -climbed.fun <= best + 1e-8


def test_sparser_powers_keep_fewer_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    y = X[:, :3] @ [3.0, -2.0, 1.5] + rng.normal(size=60)
    kept = [
        np.count_nonzero(LqRegression(30.0, penalty_power=q).fit(X, y).coef_)
        for q in (2.0, 1.0, 0.5)
    ]
    assert kept[0] == 30
    assert kept[0] > kept[1] >= kept[2] >= 2


def test_the_noise_is_that_under_which_the_loss_is_the_likelihood():
    X, y = data()
    for p in (0.7, 1.0, 2.0, 3.0):
        model = LqRegression(1.0, loss_power=p, random_state=0).fit(X, y)
        r = y - model.predict(X)
        assert model.noise_scale_ == pytest.approx(np.mean(p * np.abs(r) ** p) ** (1.0 / p))
        dist = model.predict_dist(X[:4])
        assert isinstance(dist, distributions.Normal if p == 2.0 else distributions.GeneralNormal)
        expected = stats.gennorm.logpdf(y[:4], p, model.predict(X[:4]), model.noise_scale_)
        np.testing.assert_allclose(dist.logpdf(y[:4]), expected, rtol=1e-10)


def test_median_and_mean_follow_different_rows():
    X, y = data()
    y[:15] += 1000.0
    median = LqRegression(0.0, loss_power=1.0).fit(X, y)
    mean = LqRegression(0.0).fit(X, y)
    clean = np.median(np.abs(y - median.predict(X)))
    assert clean < 1.5
    assert np.median(np.abs(y - mean.predict(X))) > 50.0


@for_each("p", [0.5, 1.0, 2.0])
def test_several_outputs_have_a_fit_each(p):
    X, y = data()
    Y = np.column_stack([y, -2.0 * y + X[:, 1] ** 2])
    model = LqRegression(2.0, loss_power=p, random_state=0).fit(X, Y)
    assert model.coef_.shape == (2, 5)
    assert model.noise_scale_.shape == model.objective_.shape == model.intercept_.shape == (2,)
    assert model.predict_dist(X).mean().shape == (80, 2)
    if p >= 1.0:
        alone = LqRegression(2.0, loss_power=p).fit(X, Y[:, 1])
        np.testing.assert_allclose(model.coef_[1], alone.coef_, rtol=1e-7, atol=1e-9)
        assert model.objective_[1] == pytest.approx(alone.objective_, rel=1e-9)


def test_features_are_what_it_is_linear_in():
    X, y = data(m=1)
    model = LqRegression(0.1, loss_power=1.0, features=features.Polynomial(3)).fit(X, y)
    assert model.coef_.shape == (3,)
    assert model.predict(X).shape == (80,)


@pytest.mark.full
def test_the_same_seed_gives_the_same_weights():
    X, y = data(410, 2)
    first, second = (LqRegression(loss_power=0.4, random_state=5).fit(X, y).coef_ for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_stopping_early_is_announced():
    X, y = data()
    model = LqRegression(1.0, penalty_power=1.5, max_iter=1)
    with pytest.warns(optimize.ConvergenceWarning, match="iteration limit"):
        model.fit(X, y)
    assert model.n_iter_ == 1
    assert model.stop_reason_ == "iteration limit"


@for_each("q", [0.5, 1.0])
def test_squares_are_learned_bit_by_bit_and_from_chunks(q):
    X, y = data()
    whole = LqRegression(5.0, penalty_power=q).fit(X, y)
    parts = LqRegression(5.0, penalty_power=q).partial_fit(X[:30], y[:30])
    parts.partial_fit(X[30:], y[30:])
    chunks = LqRegression(5.0, penalty_power=q).fit(designs.Chunks.from_arrays(X, y))
    for other in (parts, chunks):
        np.testing.assert_allclose(other.coef_, whole.coef_, rtol=1e-8, atol=1e-12)
        assert other.objective_ == pytest.approx(whole.objective_, rel=1e-10)
        assert other.noise_scale_ == pytest.approx(whole.noise_scale_, rel=1e-10)


def test_other_powers_want_all_rows_at_once():
    X, y = data()
    model = LqRegression(loss_power=1.0)
    with pytest.raises(ValueError, match="all at once"):
        model.fit(designs.Chunks.from_arrays(X, y))
    with pytest.raises(AttributeError):
        model.partial_fit(X, y)


def test_known_noise_weighs_rows_and_is_reported_by_its_average():
    X, y = data()
    variance = np.random.default_rng(2).uniform(0.2, 4.0, 80)
    known = LqRegression(3.0, standardize=False).fit(X, y, noise_variance=variance)
    weighted = LqRegression(3.0, standardize=False).fit(X, y, sample_weight=1.0 / variance)
    np.testing.assert_allclose(known.coef_, weighted.coef_, rtol=1e-10)
    std = known.predict_dist(X).standard_deviation()
    np.testing.assert_allclose(std, np.sqrt(variance.mean()), rtol=1e-12)
    with pytest.raises(ValueError, match="loss_power=2"):
        LqRegression(loss_power=1.0).fit(X, y, noise_variance=variance)


@for_each(
    "wrong",
    [{"penalty": -1.0}, {"penalty": "much"}, {"penalty_power": 0.0}, {"loss_power": np.inf},
     {"max_iter": 0}, {"tol": 0.0}],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(wrong):
    X, y = data()
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LqRegression(**wrong).fit(X, y)


@for_each("loss_power", [0.5, 1.0, 2.0, 3.0])
def test_the_noise_variance_is_that_of_the_prediction(loss_power):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, -1.0] + rng.normal(size=40)
    model = LqRegression(loss_power=loss_power, random_state=0).fit(X, y)
    np.testing.assert_allclose(
        model.predict_dist(X).variance(), np.full(40, model.noise_variance_), rtol=1e-12
    )


def test_noise_of_queries_is_known_of_normal_noise_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    told = LqRegression().fit(X, y).predict_dist(X, noise_variance=4.0)
    np.testing.assert_allclose(told.standard_deviation(), 2.0)
    with pytest.raises(ValueError, match="loss_power=2"):
        LqRegression(loss_power=1.0).fit(X, y).predict_dist(X, noise_variance=4.0)
