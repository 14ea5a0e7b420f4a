"""Counts over a known exposure: the log of it is a known offset of the latent value."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from posterity import (
    BoostedTreesRegressor,
    GammaRegression,
    GaussianProcessRegressor,
    GeneralizedLinearRegression,
    RelevanceVectorRegressor,
    SparseLinearRegression,
    StagewiseRegressor,
    kernels,
    likelihoods,
)
from posterity.likelihoods import exposed_counts

POISSON, OVERDISPERSED = likelihoods.Poisson(), likelihoods.NegativeBinomial(shape=3.0)
HELD = kernels.Scaled(kernels.RBF(0.7), 0.8).fixed()


def make_models(likelihood):
    return [
        GeneralizedLinearRegression(likelihood),
        SparseLinearRegression(likelihood=likelihood),
        RelevanceVectorRegressor(likelihood=likelihood),
        StagewiseRegressor(2, likelihood=likelihood, n_restarts=0, random_state=0),
        GaussianProcessRegressor(HELD, likelihood=likelihood),
        GaussianProcessRegressor(HELD, likelihood=likelihood, inducing_points=8),
        GaussianProcessRegressor(HELD, likelihood=likelihood, inference="propagation"),
        BoostedTreesRegressor(40, likelihood=likelihood, random_state=0),
    ]


MODELS = [model for likelihood in (POISSON, OVERDISPERSED) for model in make_models(likelihood)]


def draw_counts(n_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n_rows, 2))
    exposure = np.exp(rng.uniform(-1.0, 3.0, n_rows))
    rate = np.exp(0.5 + X[:, 0])
    return X, rng.poisson(exposure * rate), exposure, rate


@pytest.mark.parametrize("likelihood", [POISSON, OVERDISPERSED, likelihoods.NegativeBinomial(9.0)])
def test_likelihood_of_an_exposed_count_is_that_of_its_expected_count(likelihood):
    k, e = np.array([0.0, 2.0, 7.0]), np.array([0.1, 3.0, 50.0])
    y, a = exposed_counts.attach(k, e), np.array([0.3, -0.5, -2.0])
    expected = np.exp(a) * e
    dist = likelihood.predict(np.log(expected), 0.0)
    np.testing.assert_allclose(likelihood.log_prob(y, a), dist.log_prob(k), rtol=1e-12)
    if isinstance(likelihood, likelihoods.Poisson):
        np.testing.assert_allclose(
            likelihood.log_prob(y, a), stats.poisson(expected).logpmf(k), rtol=1e-12
        )
    h = 1e-5
    pairs = ("log_prob", "d1"), ("d1", "d2"), ("d2", "d3")
    for value, slope in pairs:
        f = getattr(likelihood, value)
        differences = (f(y, a + h) - f(y, a - h)) / (2.0 * h)
        np.testing.assert_allclose(getattr(likelihood, slope)(y, a), differences, rtol=1e-6)
    plain = likelihood.parameter_derivatives(k, np.log(expected))
    for one, other in zip(likelihood.parameter_derivatives(y, a), plain, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    matched = likelihood.log_partition(y, a, 0.4)
    for one, other in zip(matched, likelihood.log_partition(k, np.log(expected), 0.4), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.full(but=4)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_rates_are_learned_and_a_double_exposure_doubles_the_mean(model):
    X, y, exposure, rate = draw_counts()
    fitted = clone(model).fit(X, y, exposure=exposure)
    mean = fitted.predict(X)
    assert np.mean(np.abs(np.log(mean / rate))) < 0.2
    np.testing.assert_allclose(fitted.predict(X, exposure=2.0), 2.0 * mean, rtol=1e-6)
    np.testing.assert_allclose(fitted.predict(X, exposure=exposure), exposure * mean, rtol=1e-6)
    low, high = fitted.predict_interval(X, exposure=exposure)
    assert np.mean((low <= y) & (y <= high)) > 0.85


@pytest.mark.parametrize(
    "model", [one for one in MODELS if hasattr(one, "staged_predict")], ids=repr
)
def test_stages_end_in_the_prediction_over_the_exposure(model):
    X, y, exposure, _ = draw_counts(60)
    fitted = clone(model).fit(X, y, exposure=exposure)
    *_, last = fitted.staged_predict(X, exposure=exposure)
    np.testing.assert_allclose(last, fitted.predict(X, exposure=exposure), rtol=1e-9)
    *_, dist = fitted.staged_predict_dist(X, exposure=2.0)
    np.testing.assert_allclose(dist.mean(), 2.0 * fitted.predict(X), rtol=1e-6)


@pytest.mark.full(but=3)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_unit_of_exposure_does_not_matter(model):
    """Hours or minutes: rates have another unit, and expected counts are the same."""
    X, y, exposure, _ = draw_counts(80)
    hours = clone(model).fit(X, y, exposure=exposure)
    minutes = clone(model).fit(X, y, exposure=60.0 * exposure)
    new = X[:10], exposure[:10]
    one = hours.predict_dist(new[0], exposure=new[1])
    other = minutes.predict_dist(new[0], exposure=60.0 * new[1])
    np.testing.assert_allclose(other.mean(), one.mean(), rtol=2e-3)
    np.testing.assert_allclose(other.variance(), one.variance(), rtol=5e-3)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_exposures_of_one_change_nothing(model):
    X, y, _, _ = draw_counts(60)
    plain, exposed = clone(model).fit(X, y), clone(model).fit(X, y, exposure=np.ones(len(y)))
    np.testing.assert_allclose(exposed.predict(X), plain.predict(X), rtol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        GeneralizedLinearRegression(
            POISSON, prior_variance=0.5, fit_intercept=False, standardize=False
        ),
        GaussianProcessRegressor(HELD, mean="zero", likelihood=POISSON),
        GaussianProcessRegressor(HELD, mean="zero", likelihood=POISSON, inference="laplace"),
    ],
    ids=repr,
)
def test_an_exposure_is_as_many_rows_of_one(model):
    """The sum of Poisson counts is Poisson: it says all that they say of the rate."""
    rng = np.random.default_rng(1)
    X, times = rng.uniform(-1.0, 1.0, size=(12, 2)), rng.integers(1, 5, 12)
    each = rng.poisson(2.0, size=times.sum())
    rows = np.repeat(np.arange(12), times)
    total = np.bincount(rows, each)
    summed = clone(model).fit(X, total, exposure=times)
    single = clone(model).fit(X[rows], each)
    one, other = summed.predict_latent(X), single.predict_latent(X)
    np.testing.assert_allclose(one.mean(), other.mean(), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(one.variance(), other.variance(), rtol=1e-5)


def test_posterior_of_rates_equals_quadrature():
    """Two rows far apart: propagation is exact for each."""
    X, y, exposure, variance = np.array([[0.0], [99.0]]), [3, 4], [2.5, 0.1], 0.6
    model = GaussianProcessRegressor(
        kernels.Scaled(kernels.RBF(1.0), variance).fixed(),
        mean="zero",
        likelihood=POISSON,
        inference="propagation",
    ).fit(X, y, exposure=exposure)

    def weigh(a, k, e, power):
        prior = stats.norm.pdf(a, scale=variance**0.5)
        return a**power * prior * stats.poisson.pmf(k, e * np.exp(a))

    z, first, second = np.transpose(
        [
            [integrate.quad(weigh, -6.0, 8.0, args=(k, e, p))[0] for p in (0, 1, 2)]
            for k, e in zip(y, exposure, strict=True)
        ]
    )
    latent = model.predict_latent(X)
    np.testing.assert_allclose(latent.mean(), first / z, rtol=1e-5)
    np.testing.assert_allclose(latent.variance(), second / z - (first / z) ** 2, rtol=1e-5)
    np.testing.assert_allclose(model.log_evidence_, np.sum(np.log(z)), rtol=1e-5)


def test_weights_are_repetitions_beside_an_exposure():
    X, y, exposure, _ = draw_counts(40)
    weights = np.arange(40) % 3
    again = np.repeat(np.arange(40), weights)
    for model in (
        GeneralizedLinearRegression(POISSON),
        RelevanceVectorRegressor(likelihood=POISSON),
    ):
        weighed = clone(model).fit(X, y, sample_weight=weights, exposure=exposure)
        repeated = clone(model).fit(X[again], y[again], exposure=exposure[again])
        np.testing.assert_allclose(weighed.predict(X), repeated.predict(X), rtol=1e-5)


def test_exposures_are_shared_out_with_the_rows_in_a_search():
    X, y, exposure, _ = draw_counts(60)
    search = GridSearchCV(
        GeneralizedLinearRegression(POISSON), {"prior_variance": [0.1, 1.0]}, cv=3
    ).fit(X, y, exposure=exposure)
    assert search.best_estimator_.predict(X).shape == y.shape


@pytest.mark.parametrize(
    "model",
    [
        GammaRegression(),
        GeneralizedLinearRegression(likelihoods.StudentT()),
        SparseLinearRegression(),
        RelevanceVectorRegressor(),
        StagewiseRegressor(),
        GaussianProcessRegressor(),
        BoostedTreesRegressor(5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_targets_refuse_an_exposure(model):
    X, y, exposure, _ = draw_counts(30)
    with pytest.raises(ValueError, match=r"exposure is for counts"):
        clone(model).fit(X, y + 0.5, exposure=exposure)
    fitted = clone(model).fit(X, y + 0.5)
    with pytest.raises(ValueError, match=r"exposure is for counts"):
        fitted.predict(X, exposure=2.0)


@pytest.mark.parametrize("bad", [[1.0, 0.0, 2.0], [1.0, np.nan, 2.0], [1.0, 2.0], [1.0, -1.0, 3.0]])
def test_an_exposure_is_one_positive_number_for_each_row(bad):
    model = GeneralizedLinearRegression(POISSON)
    X, y = np.arange(3.0)[:, None], [1, 2, 3]
    with pytest.raises(ValueError, match="exposure"):
        model.fit(X, y, exposure=bad)
    with pytest.raises(ValueError, match="exposure"):
        model.fit(X, y).predict(X, exposure=bad)
