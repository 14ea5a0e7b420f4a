"""What every distribution promises; a new one needs a row in the table and nothing else."""

import inspect
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from scipy import integrate, stats
from support.for_each import for_each

from posterity import distributions
from posterity.distributions import (
    Assortment,
    AveragedCategorical,
    Bernoulli,
    Beta,
    Categorical,
    Continuous,
    CountDistribution,
    Discrete,
    Distribution,
    Gamma,
    GeneralNormal,
    LogNormal,
    Mixture,
    MonotoneMap,
    MultivariateNormal,
    NegativeBinomial,
    NegativeBinomialLogNormal,
    Normal,
    Ordinal,
    Poisson,
    PoissonLogNormal,
    StudentT,
    StudentTPlusNormal,
    Transformed,
    Univariate,
)

COVARIANCE = np.array([[2.0, 0.7, 0.1], [0.7, 1.0, -0.3], [0.1, -0.3, 0.5]])
TABLE = {
    "normal": Normal([[0.0, 1.0], [-5.0, 1e3]], [[1.0], [0.01]]),
    "student t": StudentT([0.0, 1.0, -3.0], [1.0, 0.1, 2.0], [7.0, 30.0, 5.5]),
    "student t plus normal": StudentTPlusNormal(
        [0.0, 1.0, -3.0], [1.0, 0.1, 2.0], [7.0, 30.0, 5.5], [0.0, 0.5, 1.0]
    ),
    "gamma": Gamma([0.4, 1.0, 3.0, 300.0], [1.0, 0.01, 7.0, 2.0]),
    "beta": Beta([0.5, 1.0, 3.0, 300.0], [3.0, 4.0, 9.0, 40.0]),
    "general normal": GeneralNormal(2.0, 0.5, [0.8, 1.0, 2.0, 9.0]),
    "bernoulli": Bernoulli.from_logit([[-3.0, 0.0], [0.4, 2.0]]),
    "categorical": Categorical.from_logits([[0.0, 1.0, 2.0], [0.0, 0.0, -1.0]]),
    "averaged categorical": AveragedCategorical(
        np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]), [0.3, 0.9]
    ),
    "ordinal": Ordinal(np.log([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]), [0, 1, 2]),
    "log-normal": LogNormal([0.0, 1.0, -2.0], [0.5, 0.2, 1.0]),
    "negative binomial": NegativeBinomial([0.3, 4.0, 90.0], [0.4, 3.0, 1e3]),
    "negative binomial of uncertain mean": NegativeBinomialLogNormal(
        [-1.0, 2.0, 4.0], [0.5, 0.0, 0.3], [2.0, 3.0, 20.0]
    ),
    "poisson": Poisson([0.3, 4.0, 700.0]),
    "poisson of uncertain rate": PoissonLogNormal([-1.0, 2.0, 6.0], [0.5, 0.0, 0.3]),
    "mixture of normals": Mixture(
        Normal([[0.0, 3.0, 4.0], [1.0, 1.0, 1.0]], [1.0, 0.5, 0.3]), np.log([0.5, 0.3, 0.2])
    ),
    "mixture of student t": Mixture(
        [StudentT([0.0, 1.0], 1.0, 6.0), StudentT(5.0, 2.0, 12.0)], np.log([[0.9, 0.1], [0.4, 0.6]])
    ),
    "logarithm is normal": Transformed(
        Normal([0.0, 1.0, -2.0], [0.5, 0.2, 0.1]), MonotoneMap(np.log, np.exp, np.reciprocal)
    ),
    "several families": Assortment.align(
        [Normal([0.0, 2.0], 1.0), Gamma([3.0, 1.5], 2.0), StudentT(1.0, [1.0, 0.3], 7.0)]
    ),
    "mixture of several families": Mixture(
        [
            StudentT([0.0, 1.0], 1.0, 6.0),
            Mixture(Normal([[3.0, 4.0], [2.0, 2.5]], 0.5), np.log([0.5, 0.5])),
        ],
        np.log([0.5, 0.5]),
    ),
    "joint normal": MultivariateNormal([1.0, -1.0, 0.0], COVARIANCE),
    "joint normal of two outputs": MultivariateNormal(
        [[1.0, 0.0], [-1.0, 0.0], [0.0, 7.0]], np.stack([COVARIANCE, np.eye(3)])
    ),
}


def of_kind(kind):
    cases = [(name, dist) for name, dist in TABLE.items() if isinstance(dist, kind)]
    return pytest.mark.parametrize("dist", [c[1] for c in cases], ids=[c[0] for c in cases])


def concrete_subclasses(cls):
    below = [s for child in cls.__subclasses__() for s in concrete_subclasses(child)]
    return below if inspect.isabstract(cls) else [cls, *below]


def scalars(dist):
    """Every prediction of a batch, alone."""
    return [dist[index] for index in np.ndindex(dist.shape)]


def expectation(g, dist):
    """E g(Y) of every prediction: the integral of g over the quantiles at p = exp(-s) and 1 - p."""
    edges = np.concatenate([np.log(2.0) + np.linspace(0.0, 7.0, 36), np.arange(9.0, 80.0, 4.0)])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    s = (edges[:-1, None] + half * (1.0 + nodes)).reshape(-1, *(1,) * len(dist.shape))
    w = (half * weights).reshape(s.shape) * np.exp(-s)
    return np.sum(w * (g(dist.icdf(np.exp(-s))) + g(dist.iccdf(np.exp(-s)))), axis=0)


def squared_cdf_error(dist, y):
    """The integral of (cdf(x) - [x >= y])^2 for one prediction, by SciPy's adaptive quadrature."""
    inside = [dist.icdf(p) for p in (0.001, 0.2, 0.5, 0.8, 0.999)]
    below = integrate.quad(lambda x: dist.cdf(x) ** 2, dist.icdf(1e-13), y, points=inside)
    above = integrate.quad(lambda x: dist.ccdf(x) ** 2, y, dist.iccdf(1e-13), points=inside)
    return below[0] + above[0]


def test_every_distribution_has_a_row_in_the_table():
    library = {
        c for c in concrete_subclasses(Distribution) if c.__module__.startswith("posterity.")
    }
    assert library == {type(dist) for dist in TABLE.values()}
    assert library <= {getattr(distributions, name) for name in distributions.__all__}


@of_kind(Distribution)
def test_a_distribution_is_a_value(dist):
    for field in fields(dist):
        with pytest.raises(FrozenInstanceError):
            setattr(dist, field.name, 0.0)
        parameter = getattr(dist, field.name)
        is_value = isinstance(parameter, Distribution | MonotoneMap | tuple)
        assert is_value or not parameter.flags.writeable
    assert dist == dist[:]
    assert dist != dist[:1]
    assert dist != 3.0
    assert pickle.loads(pickle.dumps(dist)) == dist


@of_kind(Distribution)
def test_answers_belong_to_who_asked(dist):
    for answer in (dist.mean(), dist.variance(), dist.standard_deviation()):
        answer += 1.0
    assert not np.array_equal(answer, dist.standard_deviation())


@of_kind(Distribution)
def test_the_printed_form_is_short(dist):
    assert repr(dist) == f"{type(dist).__name__}(shape={dist.shape})"


@of_kind(Distribution)
def test_rows_are_indexed_like_those_of_an_array(dist):
    assert len(dist) == dist.shape[0]
    assert dist.size == np.prod(dist.shape)
    for index in (slice(1, 3), [1, 0], np.arange(len(dist)) == 1):
        np.testing.assert_array_equal(dist[index].mean(), dist.mean()[index])
        np.testing.assert_array_equal(dist[index].variance(), dist.variance()[index])


@of_kind(Univariate)
def test_any_numpy_index_selects_predictions(dist):
    for index in (0, -1, (..., 0), (slice(None), None), np.array([[0, 1], [1, 1]])):
        part = dist[index]
        np.testing.assert_array_equal(part.median(), dist.median()[index])
        assert part.shape == dist.median()[index].shape


def test_a_single_prediction_has_no_length():
    with pytest.raises(TypeError, match="single prediction"):
        len(Normal(0.0, 1.0))


@of_kind(Distribution)
def test_mean_and_variance_agree_with_samples(dist):
    n_draws = 40_000
    draws = dist.sample((2, n_draws // 2), rng=np.random.default_rng(7))
    assert draws.shape == (2, n_draws // 2, *dist.shape)
    values = draws.reshape(n_draws, *dist.shape).astype(float)
    if isinstance(dist, Categorical | AveragedCategorical):
        values = (values[..., None] == np.arange(3)).astype(float)
    error = 5.0 * values.std(axis=0) / np.sqrt(n_draws)
    assert np.all(np.abs(values.mean(axis=0) - dist.mean()) <= error)
    square = (values - dist.mean()) ** 2
    error = 6.0 * square.std(axis=0) / np.sqrt(n_draws)
    assert np.all(np.abs(square.mean(axis=0) - dist.variance()) <= error)
    np.testing.assert_allclose(dist.standard_deviation() ** 2, dist.variance(), rtol=1e-12)


@of_kind(Distribution)
def test_draws_depend_on_the_generator_alone(dist):
    first = dist.sample(4, rng=np.random.default_rng(1))
    assert first.shape == (4, *dist.shape)
    np.testing.assert_array_equal(first, dist.sample((4,), rng=np.random.default_rng(1)))
    assert np.any(first != dist.sample(4, rng=np.random.default_rng(2)))


@of_kind(Continuous)
def test_samples_are_uniform_after_the_cdf(dist):
    u = dist.cdf(dist.sample(5000, rng=np.random.default_rng(3))).reshape(5000, -1)
    for column in u.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3


@of_kind(Univariate)
def test_cdf_and_its_complement_sum_to_one(dist):
    y = dist.sample(20, rng=np.random.default_rng(0))
    np.testing.assert_allclose(dist.cdf(y) + dist.ccdf(y), 1.0, rtol=1e-13)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(dist.logcdf(y), np.log(dist.cdf(y)), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(dist.logccdf(y), np.log(dist.ccdf(y)), rtol=1e-9, atol=1e-14)
    assert np.all(dist.logcdf(-np.inf) == -np.inf)
    assert np.all(dist.logcdf(np.inf) == 0.0)
    assert np.all(dist.ccdf(np.inf) == 0.0)


@of_kind(Univariate)
def test_the_cdf_never_falls(dist):
    y = np.sort(dist.sample(200, rng=np.random.default_rng(0)), axis=0)
    assert np.all(np.diff(dist.cdf(y), axis=0) >= -1e-15)
    assert np.all((dist.cdf(y) >= 0.0) & (dist.cdf(y) <= 1.0))


@of_kind(Continuous)
def test_quantiles_invert_the_cdf(dist):
    p = np.array([1e-12, 1e-3, 0.2, 0.5, 0.77, 0.999]).reshape(-1, *(1,) * len(dist.shape))
    np.testing.assert_allclose(dist.cdf(dist.icdf(p)), np.broadcast_to(p, (6, *dist.shape)), 1e-9)
    np.testing.assert_allclose(dist.ccdf(dist.iccdf(p)), np.broadcast_to(p, (6, *dist.shape)), 1e-9)
    np.testing.assert_allclose(dist.cdf(dist.median()), 0.5, rtol=1e-12)


@of_kind(Continuous)
def test_intervals_are_central_and_cover_what_they_say(dist):
    low, high = dist.interval(0.9)
    np.testing.assert_allclose(dist.cdf(low), 0.05, rtol=1e-9)
    np.testing.assert_allclose(dist.ccdf(high), 0.05, rtol=1e-9)


@of_kind(Univariate)
@for_each("coverage", [0.0, 1.0, -0.1, 90, np.nan])
def test_an_impossible_coverage_is_refused(dist, coverage):
    with pytest.raises(ValueError, match="coverage"):
        dist.interval(coverage)


@of_kind(Univariate)
@for_each("p", [-1e-9, 1.1, np.nan])
def test_an_impossible_probability_is_refused(dist, p):
    with pytest.raises(ValueError, match=r"p is .* it must be from 0 to 1"):
        dist.icdf(p)
    with pytest.raises(ValueError, match=r"p is .* it must be from 0 to 1"):
        dist.iccdf(p)


@of_kind(Continuous)
def test_mean_and_variance_are_those_of_the_quantiles(dist):
    m, sd = dist.mean(), dist.standard_deviation()
    np.testing.assert_allclose(expectation(lambda y: (y - m) / sd, dist), 0.0, atol=1e-7)
    np.testing.assert_allclose(expectation(lambda y: ((y - m) / sd) ** 2, dist), 1.0, rtol=1e-7)


@of_kind(Continuous)
def test_entropy_is_the_expected_surprise(dist):
    surprise = expectation(lambda y: -dist.logpdf(y), dist)
    np.testing.assert_allclose(dist.entropy(), surprise, rtol=1e-7, atol=1e-7)


@of_kind(Continuous)
def test_the_density_is_the_slope_of_the_cdf(dist):
    p = np.array([0.02, 0.3, 0.6, 0.95]).reshape(-1, *(1,) * len(dist.shape))
    y, h = dist.icdf(p), 1e-4 / dist.pdf(dist.icdf(p))
    mass = np.where(p < 0.5, dist.cdf(y + h) - dist.cdf(y - h), dist.ccdf(y - h) - dist.ccdf(y + h))
    np.testing.assert_allclose(mass / (2.0 * h), dist.pdf(y), rtol=2e-3)
    np.testing.assert_array_equal(dist.log_prob(y), dist.logpdf(y))
    np.testing.assert_allclose(np.log(dist.pdf(y)), dist.logpdf(y), rtol=1e-12, atol=1e-13)


@pytest.mark.full(but=8)
@of_kind(Continuous)
def test_crps_is_the_integral_of_the_squared_cdf_error(dist):
    for one in scalars(dist):
        for y in [one.icdf(1e-4), one.icdf(0.3), one.mean(), one.iccdf(0.01)]:
            np.testing.assert_allclose(one.crps(y), squared_cdf_error(one, y), rtol=1e-6)


@of_kind(Continuous)
def test_closed_crps_agrees_with_the_default_by_quadrature(dist):
    y = dist.icdf(np.array([1e-6, 0.1, 0.6, 0.999]).reshape(-1, *(1,) * len(dist.shape)))
    np.testing.assert_allclose(dist.crps(y), dist._crps_by_quadrature(y), rtol=1e-6)


@of_kind(Discrete)
def test_discrete_predictions_agree_with_their_table(dist):
    p = dist.probabilities()
    n_classes = p.shape[-1]
    np.testing.assert_allclose(p.sum(axis=-1), 1.0, rtol=1e-14)
    for k in range(n_classes):
        np.testing.assert_allclose(dist.pmf(k), p[..., k], rtol=1e-14)
        np.testing.assert_allclose(dist.log_prob(k), np.log(p[..., k]), rtol=1e-14)
        np.testing.assert_allclose(dist.cdf(k), p[..., : k + 1].sum(axis=-1), rtol=1e-13)
        np.testing.assert_allclose(dist.cdf(k + 0.5), dist.cdf(k))
        np.testing.assert_allclose(dist.ccdf(k), p[..., k + 1 :].sum(axis=-1), 1e-13, atol=1e-16)
    assert np.all(dist.logpmf([[[-1]], [[n_classes]], [[0.5]]]) == -np.inf)
    assert np.all(np.isnan(dist.logpmf(np.nan)))
    assert np.all(np.isnan(dist.cdf(np.nan)))
    np.testing.assert_array_equal(dist.mode(), np.argmax(p, axis=-1))
    np.testing.assert_allclose(dist.entropy(), -(p * np.log(p)).sum(axis=-1), rtol=1e-13)


@of_kind(Discrete)
def test_a_discrete_quantile_is_the_first_class_that_reaches_it(dist):
    p = np.linspace(0.0, 1.0, 41)[1:-1].reshape(-1, *(1,) * len(dist.shape))
    y = dist.icdf(p)
    assert np.all(dist.cdf(y) >= p)
    assert np.all(dist.cdf(y - 1) < p)
    np.testing.assert_array_equal(dist.iccdf(p), dist.icdf(1.0 - p))


@of_kind(Discrete)
def test_labels_in_place_of_class_numbers_are_refused(dist):
    with pytest.raises(TypeError, match="numbered from 0"):
        dist.log_prob(np.array(["cat", "dog"]))


@of_kind(CountDistribution)
def test_counts_agree_with_their_sums(dist):
    y = np.arange(4000.0).reshape(-1, *(1,) * len(dist.shape))
    p = dist.pmf(y)
    np.testing.assert_allclose(p.sum(axis=0), 1.0, rtol=1e-10)
    np.testing.assert_allclose((y * p).sum(axis=0), dist.mean(), rtol=1e-10)
    np.testing.assert_allclose(((y - dist.mean()) ** 2 * p).sum(axis=0), dist.variance(), rtol=1e-9)
    with np.errstate(divide="ignore", invalid="ignore"):
        surprise = -np.where(p > 0.0, p * np.log(p), 0.0).sum(axis=0)
    np.testing.assert_allclose(dist.entropy(), surprise, rtol=1e-9)
    for k in (0, 3, 8, 650):
        np.testing.assert_allclose(dist.cdf(k), p[: k + 1].sum(axis=0), rtol=1e-10)
        np.testing.assert_allclose(dist.cdf(k + 0.5), dist.cdf(k))
        np.testing.assert_allclose(dist.ccdf(k), p[k + 1 :].sum(axis=0), rtol=1e-9, atol=1e-14)


@of_kind(CountDistribution)
def test_what_is_not_a_count_has_no_probability(dist):
    for y in (-1.0, 0.5, np.inf, -np.inf):
        assert np.all(dist.logpmf(y) == -np.inf)
    assert np.all(np.isnan(dist.logpmf(np.nan)))
    assert np.all(np.isnan(dist.cdf(np.nan)))
    assert np.all(dist.cdf(-1e-9) == 0.0)


@of_kind(CountDistribution)
def test_a_quantile_of_counts_is_the_first_that_reaches_it(dist):
    p = np.linspace(0.0, 1.0, 12)[1:-1].reshape(-1, *(1,) * len(dist.shape))
    y = dist.icdf(p)
    assert np.all(dist.cdf(y) >= p)
    assert np.all((dist.cdf(y - 1.0) < p) | (y == 0.0))
    np.testing.assert_array_equal(dist.iccdf(p), dist.icdf(1.0 - p))
    np.testing.assert_array_equal(dist.icdf(0.0), 0.0)
    np.testing.assert_array_equal(dist.icdf(1.0), np.inf)
    np.testing.assert_array_equal(dist.iccdf(0.0), np.inf)
