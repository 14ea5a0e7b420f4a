"""What every likelihood promises; a new one needs a row in the table and nothing else."""

import inspect
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

import numpy as np
import pytest
from scipy import special, stats
from support.for_each import for_each

from posterity import distributions, likelihoods, quadrature


@dataclass(frozen=True)
class Case:
    likelihood: likelihoods.Likelihood
    y: Any  # observations that can occur
    centre: Any = 0.0  # where the features of log_prob in a are, and how wide
    width: Any = 1.0
    variances: tuple[float, ...] = (1e-12, 0.04, 1.0, 50.0, 1e6)  # that predict can represent
    tolerance: float = 1e-9  # of log-probabilities


A = np.linspace(-3.0, 4.0, 4)
NEAR = np.exp(A + np.array([0.3, -0.2, 0.1, 0.4]))
REAL, POSITIVE, COUNTS = (
    np.array([-7.0, 0.0, 0.2, 3.0]),
    np.array([1e-3, 0.3, 1.0, 60.0]),
    np.array([0.0, 1.0, 4.0, 90.0]),
)
RATINGS = np.array([1.0, 4.0, 2.0, 5.0])
SHARES = np.array([0.02, 0.3, 0.6, 0.997])
LOGITS = special.logit(SHARES)
NEAR_SHARES = special.expit(A + np.array([0.3, -0.2, 0.1, 0.4]))
TABLE = {
    "normal": Case(likelihoods.Normal(0.3), REAL),
    "normal of known noise": Case(likelihoods.Normal([0.01, 1.0, 2.0, 90.0]), np.arange(4.0)),
    "bernoulli": Case(likelihoods.Bernoulli(), np.array([0.0, 1.0, 1.0, 0.0])),
    "beta": Case(likelihoods.Beta(6.0), SHARES, LOGITS, 0.5, (1e-12, 0.04, 1.0, 25.0)),
    "beta of much noise": Case(
        likelihoods.Beta(2.5), SHARES, LOGITS, variances=(1e-12, 0.04, 1.0, 25.0)
    ),
    "beta of little noise": Case(
        likelihoods.Beta(800.0), NEAR_SHARES, A, 0.05, (1e-12, 0.04, 1.0, 4.0)
    ),
    "ordinal": Case(likelihoods.Ordinal([1, 2, 4, 5], [0.7, 2.0]), RATINGS),
    "ordinal, probit": Case(likelihoods.Ordinal([1, 2, 4, 5], [0.7, 2.0], "probit"), RATINGS),
    "ordinal of two": Case(likelihoods.Ordinal([1, 2], ()), np.array([1.0, 2.0, 2.0, 1.0])),
    "student t": Case(likelihoods.StudentT(0.6, 4.0), REAL, centre=REAL, width=0.6),
    "student t of heavy tails": Case(likelihoods.StudentT(2.0, 0.5), REAL, centre=REAL),
    "student t, nearly normal": Case(likelihoods.StudentT(0.1, 900.0), REAL, REAL, 0.1),
    "gamma": Case(
        likelihoods.Gamma(2.5), POSITIVE, np.log(POSITIVE), 0.5, (1e-12, 0.04, 1.0, 25.0)
    ),
    "gamma of little noise": Case(
        likelihoods.Gamma(400.0), NEAR, np.log(NEAR), 0.05, (1e-12, 0.04, 0.2)
    ),
    "gamma, nearly without noise": Case(
        likelihoods.Gamma(1e5), NEAR, np.log(NEAR), 0.003, (1e-12, 0.01, 0.2), 1e-5
    ),
    "log-normal": Case(
        likelihoods.LogNormal(0.3), POSITIVE, np.log(POSITIVE), 0.5, (1e-12, 0.04, 1.0, 25.0)
    ),
    "negative binomial": Case(
        likelihoods.NegativeBinomial(2.5), COUNTS, np.log(COUNTS + 0.5), 0.3, (1e-12, 0.04, 1.0)
    ),
    "negative binomial, nearly poisson": Case(
        likelihoods.NegativeBinomial(1e6), COUNTS, np.log(COUNTS + 0.5), 0.1, (1e-12, 0.04, 1.0)
    ),
    "poisson": Case(
        likelihoods.Poisson(), COUNTS, np.log(COUNTS + 0.5), 0.1, (1e-12, 0.04, 1.0, 25.0)
    ),
}
W = np.array([1.0, 2.0, 0.5, 3.0])
every_case = pytest.mark.parametrize("case", TABLE.values(), ids=TABLE.keys())


def concrete_subclasses(cls):
    below = [s for child in cls.__subclasses__() for s in concrete_subclasses(child)]
    return below if inspect.isabstract(cls) else [cls, *below]


def expect(g, case, mean, variance):
    return quadrature.expect_wide(g, mean, variance, centre=case.centre, width=case.width)


def log_expect(log_g, case, mean, variance):
    with np.errstate(over="ignore"):
        return quadrature.log_expect_wide(
            log_g, mean, variance, centre=case.centre, width=case.width
        )


def test_every_likelihood_has_a_row_in_the_table():
    library = {
        c
        for c in concrete_subclasses(likelihoods.Likelihood)
        if c.__module__.startswith("posterity.")
    }
    assert library == {type(case.likelihood) for case in TABLE.values()}
    assert library <= {getattr(likelihoods, name) for name in likelihoods.__all__}


@every_case
def test_a_likelihood_is_a_value(case):
    parameters = {f.name: getattr(case.likelihood, f.name) for f in fields(case.likelihood)}
    assert type(case.likelihood)(**parameters) == case.likelihood
    assert case.likelihood != 3
    for name in parameters:
        with pytest.raises(FrozenInstanceError):
            setattr(case.likelihood, name, 1.0)


@every_case
@for_each(("value", "slope"), [("log_prob", "d1"), ("d1", "d2"), ("d2", "d3")])
def test_derivatives_agree_with_differences(case, value, slope):
    h = 1e-5
    f = getattr(case.likelihood, value)
    difference = (f(case.y, A + h) - f(case.y, A - h)) / (2.0 * h)
    np.testing.assert_allclose(getattr(case.likelihood, slope)(case.y, A), difference, 1e-6, 1e-6)


@every_case
def test_slopes_in_the_parameters_agree_with_differences(case):
    theta, h = case.likelihood.theta, 1e-5
    for order, name in enumerate(("log_prob", "d1", "d2")):
        slopes = case.likelihood.parameter_derivatives(case.y, A)[order]
        assert slopes.shape == (len(case.likelihood.names), 4)
        for i, slope in enumerate(slopes):
            step = h * (np.arange(theta.size) == i)
            above = getattr(case.likelihood.with_parameters(theta + step), name)(case.y, A)
            below = getattr(case.likelihood.with_parameters(theta - step), name)(case.y, A)
            np.testing.assert_allclose(slope, (above - below) / (2.0 * h), 1e-5, 1e-5)


@every_case
def test_the_curvature_of_a_step_is_positive(case):
    for a in A:
        weight = case.likelihood.step_curvature(case.y, a)
        assert np.all(weight > 0.0)
        if case.likelihood.log_concave:
            np.testing.assert_array_equal(weight, -case.likelihood.d2(case.y, a))
        else:
            step = case.likelihood.d1(case.y, a) / weight
            gain = case.likelihood.log_prob(case.y, a + step) - case.likelihood.log_prob(case.y, a)
            assert np.all(gain >= 0.0)


def expected_square(likelihood, a):
    """E score^2 given a: over quantiles at p = exp(-s) and 1 - p, or over counts one by one."""
    given = likelihood.predict(a, 0.0)
    if not isinstance(given, distributions.Continuous):
        last = 1 if isinstance(likelihood, likelihoods.Bernoulli) else 4000
        y = np.arange(last + 1.0)[:, None]
        return np.sum(given.pmf(y) * likelihood.score(y, a) ** 2, axis=1)
    edges = np.concatenate([np.log(2.0) + np.linspace(0.0, 7.0, 36), np.arange(9.0, 80.0, 4.0)])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    p = np.exp(-(edges[:-1, None] + half * (1.0 + nodes))).reshape(-1, 1)
    w = (half * weights).reshape(-1, 1) * p
    if isinstance(likelihood, likelihoods.Beta):  # shares near one are read as one minus their rest
        low = ((likelihood.predict(b, 0.0).icdf(p), b) for b in (a, -a))
        sides = (likelihood.score(np.maximum(y, 1e-300), b) ** 2 for y, b in low)
    else:
        sides = (likelihood.score(q(p), a) ** 2 for q in (given.icdf, given.iccdf))
    return sum(np.sum(w * side, axis=1) for side in sides)


@every_case
def test_the_information_is_the_expected_square_of_the_score(case):
    likelihood = case.likelihood
    found = likelihood.information(A)
    np.testing.assert_allclose(found, expected_square(likelihood, A), rtol=2e-7, atol=1e-15)
    n = (
        3 if isinstance(likelihood, likelihoods.Beta) else 4
    )  # shares that round to one have no score
    crude = likelihoods.Likelihood.information(likelihood, A[:n])
    np.testing.assert_allclose(found[:, :n], crude, rtol=0.3, atol=0.02)


@every_case
def test_rows_may_have_their_own_parameters(case):
    if not case.likelihood.names:
        return
    theta = case.likelihood.theta[:, None] + 0.1 * np.arange(4.0)
    likelihood = case.likelihood.with_parameters(theta)
    alone = [case.likelihood.with_parameters(t) for t in theta.T]
    prediction = likelihood.predict(A, 0.3)
    for i, one in enumerate(alone):
        y, a = case.y[i], A[i]
        np.testing.assert_allclose(likelihood.log_prob(case.y, A)[i], one.log_prob(y, a), 1e-12)
        np.testing.assert_allclose(likelihood.score(case.y, A)[:, i], one.score(y, a), 1e-9)
        expected = [one.d1(y, a), *one.parameter_derivatives(y, a)[0]]
        np.testing.assert_allclose(one.score(y, a), expected, rtol=1e-12)
        np.testing.assert_allclose(likelihood.information(A)[:, i], one.information(a), 1e-9)
        np.testing.assert_allclose(
            prediction.log_prob(case.y)[i], one.predict(a, 0.3).log_prob(y), 1e-9
        )


@every_case
def test_parameters_survive_a_round_trip(case):
    likelihood = case.likelihood
    assert len(likelihood.names) == likelihood.theta.size
    np.testing.assert_allclose(
        likelihood.with_parameters(likelihood.theta).theta, likelihood.theta, rtol=1e-15
    )
    tuned, bounds = likelihood.search_start(case.y, W)
    assert tuned == likelihood
    np.testing.assert_allclose(bounds, np.stack([likelihood.theta] * 2, axis=1), rtol=1e-15)


@every_case
@for_each("y", ["as given", "constant"])
def test_what_is_not_given_starts_inside_its_bounds(case, y):
    observed = case.y if y == "as given" else np.full(4, case.y[1])
    unknown = case.likelihood.without_parameters()
    tuned, bounds = unknown.search_start(observed, W)
    assert np.all(np.isfinite(bounds))
    assert np.all((bounds[:, 0] < tuned.theta) & (tuned.theta < bounds[:, 1]))
    if unknown.names:
        with pytest.raises(ValueError, match="to be learned from data"):
            unknown.log_prob(case.y, A)


@every_case
def test_the_null_is_stationary(case):
    value, variance = case.likelihood.fit_constant(case.y, W)
    scale = np.sum(W * np.abs(case.likelihood.d1(case.y, value)))
    assert abs(np.sum(W * case.likelihood.d1(case.y, value))) <= 1e-6 * scale
    if not (case.likelihood.names or case.likelihood._learnable):
        curvature = np.average(case.likelihood.step_curvature(case.y, value), weights=W)
        d1 = case.likelihood.d1(case.y, value)
        scattered = np.average(d1**2, weights=W) / curvature**2  # what one row leaves of a mean
        np.testing.assert_allclose(variance, max(1.0 / curvature, scattered), rtol=1e-6)


def test_one_row_that_nothing_explains_leaves_the_scatter_of_all():
    y, w = np.array([1.0, 2.0, 4.0, 7.0]), np.array([1.0, 2.0, 1.0, 1.0])
    rows = np.repeat(y, [1, 2, 1, 1])
    normal, gamma = likelihoods.Normal(0.01), likelihoods.Gamma(50.0)
    relative = np.var(100.0 * rows) / np.mean(100.0 * rows) ** 2
    np.testing.assert_allclose(
        likelihoods.Poisson().fit_constant(100.0 * y, w)[1], relative, rtol=1e-12
    )
    np.testing.assert_allclose(normal.fit_constant(y, w)[1], np.var(rows), rtol=1e-12)
    np.testing.assert_allclose(gamma.fit_constant(y, w)[1], np.var(np.log(rows)), rtol=1e-12)
    student = likelihoods.StudentT(0.1, 4.0)
    distance = np.median(np.abs(rows - np.median(rows))) / stats.norm.ppf(0.75)
    np.testing.assert_allclose(student.fit_constant(y, w)[1], distance**2, rtol=1e-9)


@every_case
def test_the_null_counts_a_weight_as_repetitions(case):
    if np.ndim(getattr(case.likelihood, "noise_variance", 0.0)):
        pytest.skip("its noise is that of the rows")
    repeated = case.likelihood.fit_constant(np.repeat(case.y, [1, 2, 3, 1]), np.ones(7))
    np.testing.assert_allclose(
        case.likelihood.fit_constant(case.y, np.array([1.0, 2.0, 3.0, 1.0])), repeated, rtol=1e-9
    )


@every_case
def test_the_prediction_agrees_with_quadrature(case):
    for variance in case.variances:
        prediction = case.likelihood.predict(A, variance)
        log_p = log_expect(lambda a: case.likelihood.log_prob(case.y, a), case, A, variance)
        np.testing.assert_allclose(
            prediction.log_prob(case.y), log_p, rtol=case.tolerance, atol=case.tolerance
        )


@every_case
def test_the_moments_of_the_prediction_agree_with_quadrature(case):
    likelihood = case.likelihood
    if isinstance(likelihood, likelihoods.StudentT) and likelihood.degrees_of_freedom <= 2.0:
        pytest.skip("it has no moments")

    def given(a):
        return likelihood.predict(a, 0.0)

    for variance in (v for v in case.variances if v < 5.0 or likelihood.log_concave is False):
        prediction = likelihood.predict(A, variance)
        mean = expect(lambda a: given(a).mean(), case, A, variance)
        square = expect(
            lambda a, mean=mean: given(a).variance() + (given(a).mean() - mean) ** 2,
            case,
            A,
            variance,
        )
        atol = 1e-9 * np.sqrt(variance)
        np.testing.assert_allclose(prediction.mean(), mean, rtol=1e-9, atol=atol)
        np.testing.assert_allclose(prediction.variance(), square, rtol=1e-9)


@every_case
@for_each("variance", [1e-6, 0.04, 1.0, 50.0, 1e4])
def test_tilted_agrees_with_quadrature_and_differences(case, variance):
    log_Z, slope, curvature = case.likelihood.log_partition(case.y, A, variance)
    expected = log_expect(lambda a: case.likelihood.log_prob(case.y, a), case, A, variance)
    np.testing.assert_allclose(log_Z, expected, rtol=1e-9, atol=1e-9)
    h = 1e-3 * np.sqrt(variance)
    above, below = (case.likelihood.log_partition(case.y, A + s * h, variance) for s in (1.0, -1.0))
    unit = 1.0 / np.sqrt(variance)
    np.testing.assert_allclose(slope, (above[0] - below[0]) / (2 * h), 1e-4, 1e-5 * unit)
    np.testing.assert_allclose(curvature, (above[1] - below[1]) / (2 * h), 1e-4, 1e-5 * unit**2)


@every_case
def test_without_uncertainty_the_prediction_is_the_likelihood(case):
    prediction = case.likelihood.predict(A, 0.0)
    np.testing.assert_allclose(prediction.log_prob(case.y), case.likelihood.log_prob(case.y, A))
    mixed = case.likelihood.predict(A, [0.0, 0.0, 1e-3, 0.0])
    np.testing.assert_allclose(
        mixed.log_prob(case.y)[[0, 1, 3]],
        case.likelihood.log_prob(case.y, A)[[0, 1, 3]],
        rtol=1e-8,
        atol=1e-8,
    )


@every_case
def test_shapes_broadcast(case):
    if np.ndim(getattr(case.likelihood, "noise_variance", 0.0)):
        pytest.skip("its noise is that of the rows")
    y, a = case.y[:, None], A[:3]
    for name in ("log_prob", "d1", "d2", "d3", "step_curvature"):
        assert getattr(case.likelihood, name)(y, a).shape == (4, 3)
    for slopes in case.likelihood.parameter_derivatives(y, a):
        assert slopes.shape == (len(case.likelihood.names), 4, 3)
    assert [t.shape for t in case.likelihood.log_partition(y, a, 0.5)] == [(4, 3)] * 3
    assert case.likelihood.predict(a, 0.5).shape == (3,)
    assert case.likelihood.predict(0.5, [0.1, 0.2]).shape == (2,)


@every_case
def test_samples_are_those_of_the_prediction(case):
    a = np.broadcast_to(A, (5000, 4))
    y = case.likelihood.sample(a, rng=np.random.default_rng(0))
    given = case.likelihood.predict(A, 0.0)
    assert y.shape == a.shape
    if np.all(np.isfinite(given.variance())):
        error = 5.0 * given.standard_deviation() / np.sqrt(5000)
        assert np.all(np.abs(y.mean(axis=0) - given.mean()) < error)


@every_case
def test_what_can_be_observed_passes_the_check(case):
    case.likelihood.check(case.y)


@for_each(
    ("likelihood", "y", "message"),
    [
        (likelihoods.Bernoulli(), [0.0, 2.0], "y is 2 in row 1; it must be 0 or 1"),
        (likelihoods.Gamma(), [1.0, 3.0, 0.0], "y is 0 in row 2; .* positive targets. Leave"),
        (likelihoods.Gamma(), [np.nan], "y is nan in row 0"),
        (likelihoods.Ordinal(), [3.0, 2.5], "y is 2.5 in row 1; ratings must be whole .* levels="),
        (likelihoods.Ordinal([1, 2, 3]), [3.0, 4.0], r"y is 4 in row 1; .* be \(1.0, 2.0, 3.0\)"),
        (likelihoods.Ordinal(), np.arange(40.0), "y has 40 different values, .* at most 30: give"),
        (likelihoods.Ordinal(), [3.0, 3.0], "y is 3 in every row; .* two different ratings"),
        (likelihoods.Beta(), [0.4, 0.0], "y is 0 in row 1; .* above 0 .* move shares of exactly 0"),
        (likelihoods.Beta(), [0.4, 35.0], "y is 35 in row 1; .* Divide percentages by 100"),
        (likelihoods.Beta(), [np.nan], "y is nan in row 0"),
        (likelihoods.LogNormal(), [1.0, -1.0], "y is -1 in row 1; .* positive targets"),
        (likelihoods.NegativeBinomial(), [3.0, 0.5], "y is 0.5 in row 1; .* counts"),
        (likelihoods.Poisson(), [3.0, 0.5], "y is 0.5 in row 1; .* counts"),
        (likelihoods.Poisson(), [-1.0], "y is -1 in row 0"),
        (likelihoods.Categorical(3), [0.0, 3.0], "y is 3 in row 1; .* 0 to 2"),
    ],
)
def test_what_cannot_be_observed_is_named(likelihood, y, message):
    with pytest.raises(ValueError, match=message):
        likelihood.check(np.array(y))


@for_each(
    ("family", "name"),
    [
        (likelihoods.Normal, "noise_variance"),
        (likelihoods.StudentT, "scale"),
        (likelihoods.StudentT, "degrees_of_freedom"),
        (likelihoods.Gamma, "shape"),
        (likelihoods.Beta, "concentration"),
        (likelihoods.LogNormal, "noise_variance"),
        (likelihoods.NegativeBinomial, "shape"),
    ],
)
@for_each("value", [0.0, -1.0, np.nan, np.inf])
def test_an_impossible_parameter_is_refused(family, name, value):
    with pytest.raises(ValueError, match=f"{name} must be positive and finite"):
        family(**{name: value})


def test_normal_agrees_with_scipy():
    y, a = np.array([-50.0, 0.0, 1.0]), np.array([0.0, 0.5, 1.0])
    expected = stats.norm.logpdf(y, a, np.sqrt([0.1, 2.0, 3.0]))
    likelihood = likelihoods.Normal([0.1, 2.0, 3.0])
    np.testing.assert_allclose(likelihood.log_prob(y, a), expected, rtol=1e-13)
    assert isinstance(likelihood.predict(a, 1.0), distributions.Normal)
    np.testing.assert_allclose(likelihood.predict(a, [1.0, 2.0, 0.0]).variance(), [1.1, 4.0, 3.0])
    assert likelihoods.Normal(1.0).d2(y, 0.0).shape == (3,)
    with pytest.raises(ValueError, match="noise_variance must be positive"):
        likelihoods.Normal([1.0, 0.0])


def test_the_others_agree_with_scipy():
    y, a = POSITIVE, A
    np.testing.assert_allclose(
        likelihoods.Gamma(2.5).log_prob(y, a),
        stats.gamma.logpdf(y, 2.5, scale=np.exp(a) / 2.5),
        rtol=1e-13,
    )
    np.testing.assert_allclose(
        likelihoods.Beta(6.0).log_prob(SHARES, a),
        stats.beta.logpdf(SHARES, 6.0 * special.expit(a), 6.0 * special.expit(-a)),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        likelihoods.Poisson().log_prob(COUNTS, a), stats.poisson.logpmf(COUNTS, np.exp(a)), 1e-13
    )
    np.testing.assert_allclose(
        likelihoods.LogNormal(0.3).log_prob(y, a), stats.lognorm.logpdf(y, 0.3**0.5, 0, np.exp(a))
    )
    np.testing.assert_allclose(
        likelihoods.NegativeBinomial(2.5).log_prob(COUNTS, a),
        stats.nbinom.logpmf(COUNTS, 2.5, 2.5 / (2.5 + np.exp(a))),
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        likelihoods.StudentT(2.0, 3.0).log_prob(y, a), stats.t.logpdf(y, 3.0, a, 2.0), 1e-13
    )
    np.testing.assert_allclose(
        likelihoods.Bernoulli().log_prob(1, a), stats.logistic.logcdf(a), rtol=1e-13
    )


@for_each("shape", [0.3, 2.5, 1e4])
@for_each("variance", [1e-6, 0.3, 4.0, 25.0])
def test_the_moments_of_a_gamma_prediction_are_exact(shape, variance):
    prediction = likelihoods.Gamma(shape).predict(A, variance)
    mean = np.exp(A + 0.5 * variance)
    square = mean**2 * (np.expm1(variance) + np.exp(variance) / shape)
    np.testing.assert_allclose(prediction.mean(), mean, rtol=1e-10)
    np.testing.assert_allclose(prediction.variance(), square, rtol=1e-9)


def test_extreme_means_of_a_gamma_prediction_are_numbers():
    prediction = likelihoods.Gamma(2.0).predict([-1e3, 1e3, 0.0], [1e6, 1.0, 1e6])
    assert np.all(np.isfinite(prediction.log_prob(1.0)))
    assert np.all(np.isfinite(prediction.variance()))


def test_outliers_do_not_move_the_start_of_student_t():
    y = np.concatenate([np.random.default_rng(0).standard_normal(99), [1e6]])
    tuned, _ = likelihoods.StudentT().search_start(y, np.ones(100))
    assert 0.7 < tuned.scale < 1.3
    assert abs(tuned.fit_constant(y, np.ones(100))[0]) < 0.3
    half, bounds = likelihoods.StudentT(scale=2.0).search_start(y, np.ones(100))
    assert half.scale == 2.0
    assert bounds[0, 0] == bounds[0, 1]
    assert bounds[1, 0] < bounds[1, 1]


def test_a_scale_is_found_where_most_or_all_observations_are_equal():
    for y, expected in [([3.0, 3.0, 3.0, 5.0], np.sqrt(0.75)), ([3.0, 3.0], 3.0), ([0.0], 1.0)]:
        tuned, _ = likelihoods.StudentT().search_start(np.array(y), np.ones(len(y)))
        assert tuned.scale == pytest.approx(expected)


def test_counts_that_are_all_zero_count_as_half_an_event():
    value, variance = likelihoods.Poisson().fit_constant(np.zeros(5), np.ones(5))
    assert value == pytest.approx(np.log(0.1))
    assert variance == pytest.approx(1.0 / 0.5)


@every_case
def test_averages_over_a_normal_latent_value_agree_with_quadrature(case):
    likelihood, m, v = case.likelihood, A, np.array([0.0, 0.1, 0.5, 2.0])
    if not isinstance(likelihood, likelihoods.Averaged):
        return
    for found, name, sign in zip(
        (*likelihood.expected_derivatives(case.y, m, v), likelihood.expected_d3(case.y, m, v)),
        ("log_prob", "d1", "d2", "d3"),
        (1.0, 1.0, -1.0, 1.0),
        strict=True,
    ):
        derivative = getattr(likelihood, name)
        nodes, weights = np.polynomial.hermite_e.hermegauss(80)
        a = m + np.sqrt(v) * nodes[:, None]
        averaged = weights @ derivative(case.y, a) / np.sum(weights)
        np.testing.assert_allclose(sign * found, averaged, rtol=1e-9, atol=1e-9, err_msg=name)
