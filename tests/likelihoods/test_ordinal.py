"""Ratings: what two of them are, levels, the maximum, and brute force."""

import numpy as np
import pytest
from scipy import optimize, stats
from support.for_each import for_each

from posterity import (
    BoostedTreesRegressor,
    GaussianProcessRegressor,
    GeneralizedLinearRegression,
    StagewiseRegressor,
    designs,
    distributions,
    kernels,
    likelihoods,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(-2.0, 2.0, size=(400, 2))
Y = 1 + np.digitize(1.5 * X[:, 0] + RNG.logistic(size=400), [-2.0, -0.5, 0.5, 2.5])
NOISE = {"logit": stats.logistic, "probit": stats.norm}


@for_each("link", ["logit", "probit"])
def test_probabilities_are_differences_of_the_noise_cdf(link):
    likelihood, a = likelihoods.Ordinal([1, 2, 3], [1.4], link), np.array([-3.0, 0.1, 5.0])
    cdf = NOISE[link].cdf(np.array([-np.inf, -0.7, 0.7, np.inf]) - a[:, None])
    found = np.exp(likelihood.log_prob(np.array([1.0, 2.0, 3.0]), a[:, None]))
    np.testing.assert_allclose(found, np.diff(cdf), rtol=1e-10)
    np.testing.assert_allclose(likelihood.predict(a, 0.0).probabilities(), found, rtol=1e-10)


@for_each("link", ["logit", "probit"])
def test_tails_keep_their_digits(link):
    likelihood = likelihoods.Ordinal([1, 2, 3], [1e-6], link)
    y, a = np.array([1.0, 2.0, 3.0]), np.array([[-25.0], [25.0]])
    log_p = likelihood.log_prob(y, a)
    np.testing.assert_allclose(log_p[0], likelihood.log_prob(y[::-1], -a[0]), rtol=1e-12)
    np.testing.assert_allclose(log_p[0, 1], np.log(1e-6) + NOISE[link].logpdf(25.0), rtol=1e-6)
    assert np.all(np.isfinite(likelihood.d3(y, a)))
    assert np.all(likelihood.step_curvature(y, a) > 0.0)


def test_two_ratings_are_two_classes():
    y = (Y > 3).astype(float)
    ordinal = GeneralizedLinearRegression(likelihoods.Ordinal(), inference="laplace").fit(X, y)
    classes = GeneralizedLinearRegression(likelihoods.Bernoulli(), inference="laplace").fit(X, y)
    np.testing.assert_allclose(ordinal.log_evidence_, classes.log_evidence_, rtol=1e-8)
    np.testing.assert_allclose(ordinal.predict(X[:5]), classes.predict(X[:5]), rtol=1e-5)


def test_only_the_order_of_levels_tells_the_cut_points():
    scores = np.array([0.0, 10.0, 11.0, 500.0, 501.0])[Y - 1]
    plain = GeneralizedLinearRegression(likelihoods.Ordinal()).fit(X, Y)
    other = GeneralizedLinearRegression(likelihoods.Ordinal()).fit(X, scores)
    np.testing.assert_allclose(other.likelihood_.gaps, plain.likelihood_.gaps, rtol=1e-8)
    found, expected = (model.predict_dist(X[:9]) for model in (other, plain))
    np.testing.assert_allclose(found.probabilities(), expected.probabilities(), rtol=1e-6)
    mean = expected.probabilities() @ np.unique(scores)
    np.testing.assert_allclose(other.predict(X[:9]), mean, rtol=1e-6)


@for_each("link", ["logit", "probit"])
def test_the_fit_of_many_rows_is_near_the_maximum(link):
    def loss(x):
        cuts = np.concatenate([[-np.inf], np.cumsum([x[0], *np.exp(x[1:4])]), [np.inf]])
        a = X @ x[4:]
        p = NOISE[link].cdf(cuts[Y] - a) - NOISE[link].cdf(cuts[Y - 1] - a)
        return -np.sum(np.log(p))

    best = optimize.minimize(loss, [-1.0, 0.0, 0.0, 0.0, 0.5, 0.0])
    model = GeneralizedLinearRegression(likelihoods.Ordinal(link=link)).fit(X, Y)
    fitted = model.likelihood_
    first = fitted.cut_points[0] - model.intercept_
    found = np.array([first, *np.log(fitted.gaps), *model.coef_])
    error = np.sqrt(np.diag(best.hess_inv))
    np.testing.assert_allclose((found - best.x) / error, 0.0, atol=0.3)


def test_the_posterior_of_one_weight_agrees_with_brute_force():
    x, y = np.array([[1.0], [2.0], [-1.0]]), np.array([3.0, 2.0, 1.0])
    likelihood = likelihoods.Ordinal([1, 2, 3], [1.5])
    model = GeneralizedLinearRegression(
        likelihood, prior_variance=1.0, fit_intercept=False, standardize=False
    ).fit(x, y)
    w = np.linspace(-8.0, 8.0, 4001)
    p = np.exp(np.sum(likelihood.log_prob(y[:, None], x * w), axis=0) + stats.norm.logpdf(w))
    mean = p @ w / p.sum()
    sd = np.sqrt(p @ (w - mean) ** 2 / p.sum())
    found = model.predict_latent([[1.0]])
    assert (found.mean()[0] - mean) / sd == pytest.approx(0.0, abs=0.03)
    assert found.standard_deviation()[0] == pytest.approx(sd, rel=0.05)
    assert model.log_evidence_ == pytest.approx(np.log(p.sum() * (w[1] - w[0])), abs=0.05)


@pytest.mark.full
def test_a_rating_that_does_not_occur_is_possible_where_it_is_a_level():
    y = np.where(Y == 5, 4, Y)
    with_five = likelihoods.Ordinal(levels=range(1, 6))
    for model in (
        GeneralizedLinearRegression(with_five),
        GaussianProcessRegressor(kernels.RBF(1.0).fixed(), likelihood=with_five),
        StagewiseRegressor(1, likelihood=with_five, n_restarts=1, random_state=0),
        BoostedTreesRegressor(10, likelihood=with_five, random_state=0),
    ):
        prediction = model.fit(X[:100], y[:100]).predict_dist(X[:3])
        assert isinstance(prediction, distributions.Ordinal)
        assert np.all(prediction.pmf(5) > 0.0)
        assert np.all(prediction.pmf(5) < 0.1)


@pytest.mark.full
def test_rare_ratings_may_miss_in_rows_that_are_held_out():
    y = Y[:60].copy()
    y[y == 5] = 4
    y[0] = 5
    for model in (
        StagewiseRegressor(2, likelihood=likelihoods.Ordinal(), n_restarts=1, random_state=0),
        BoostedTreesRegressor(20, likelihood=likelihoods.Ordinal(), random_state=0),
    ):
        log_p = model.fit(X[:60], y).predict_dist(X[:60]).log_prob(y)
        assert np.all(np.isfinite(log_p))


def test_chunks_and_tallies_give_what_rows_in_memory_give():
    model = GeneralizedLinearRegression(likelihoods.Ordinal()).fit(X, Y)
    chunks = designs.Chunks.from_arrays(X, Y, rows=90)
    chunked = GeneralizedLinearRegression(likelihoods.Ordinal()).fit(chunks)
    np.testing.assert_allclose(chunked.coef_, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(chunked.likelihood_.gaps, model.likelihood_.gaps, rtol=1e-6)


@for_each(
    ("given", "message"),
    [
        ({"link": "cauchit"}, "link='cauchit' must be one of"),
        ({"levels": [2, 1]}, "two numbers or more that increase"),
        ({"levels": [1, 2, 3], "gaps": [1.0, 2.0]}, "3 levels have 1 gaps .* not 2"),
        ({"gaps": [1.0, -2.0]}, "gaps=.* must be positive and finite"),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        likelihoods.Ordinal(**given)


def test_the_distribution_knows_numbers_between_its_levels():
    stars = distributions.Ordinal(np.log([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]), [1.0, 2.0, 5.0])
    np.testing.assert_allclose(stars.mean(), [4.0, 2.25])
    np.testing.assert_allclose(stars.variance(), [2.4, 2.6875])
    np.testing.assert_allclose(stars.cdf([0.0, 4.9]), [0.0, 0.75])
    np.testing.assert_allclose(stars.ccdf(2.0), [0.7, 0.25])
    np.testing.assert_array_equal(stars.pmf([3.0, 5.0]).round(12), [0.0, 0.25])
    np.testing.assert_array_equal(stars.median(), [5.0, 1.0])
    np.testing.assert_array_equal(stars.mode(), [5.0, 1.0])
    np.testing.assert_array_equal(stars.interval(0.9), [[1.0, 1.0], [5.0, 5.0]])
    assert set(np.unique(stars.sample(200, rng=RNG))) == {1.0, 2.0, 5.0}
    np.testing.assert_allclose(stars.average().probabilities(), [0.3, 0.225, 0.475])
    with pytest.raises(ValueError, match="must increase"):
        distributions.Ordinal(np.log([0.5, 0.5]), [1.0, 1.0])
