"""Units that are learned together with their weights."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone
from support.for_each import for_each

from posterity import features, likelihoods, optimize
from posterity.inference import learned_features


def xor(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, (n, 2))
    return X, (X[:, 0] * X[:, 1] > 0.0).astype(float)


def ring(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.abs(np.sum(X**2, axis=1) - 1.5) < 1.0).astype(float)


def spirals(n=120):
    t = np.sqrt(np.linspace(0.05, 1.0, n)) * 3.0 * np.pi
    arm = np.column_stack([t * np.cos(t), t * np.sin(t)])
    return np.vstack([arm, -arm]), np.repeat([0.0, 1.0], n)


def fitted(units, X, y, likelihood, seed=0, counts=None, **options):
    counts = np.ones(len(y)) if counts is None else counts
    units = units.fit(X, sample_weight=counts)
    rng = np.random.default_rng(seed)
    return learned_features.fit_learned_features(
        units, X, y, counts, likelihood, rng=rng, **options
    )


def latent(fit, X):
    return fit.units.transform(X) @ fit.weights + fit.offset


def targets_of(likelihood, n, rng):
    if isinstance(likelihood, likelihoods.Normal):
        return rng.normal(size=n)
    C = getattr(likelihood, "n_classes", 2)
    return np.concatenate([np.arange(C), rng.integers(0, C, n - C)]).astype(float)


def one_valley(units, n=150):
    """A single unit and rows it tells apart with errors: all searches end alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    a = 4.0 * np.arctan(X @ [1.0, 0.5]) if isinstance(units, features.LearnedArctan) else 0.0
    b = 0.0 if np.ndim(a) else 8.0 * np.exp(-0.5 * np.sum((X - 0.3) ** 2, axis=1)) - 4.0
    return clone(units).set_params(n_units=1, n_restarts=1), X, (rng.random(n) < expit(a + b)) * 1.0


UNITS = [features.LearnedArctan(3, random_state=0), features.LearnedRadial(3, random_state=0)]
LIKELIHOODS = [
    likelihoods.Bernoulli(),
    likelihoods.Categorical(3),
    likelihoods.Normal(0.3),
    likelihoods.Normal(np.linspace(0.1, 2.0, 25)),
]
every_units = pytest.mark.parametrize("units", UNITS, ids=lambda units: type(units).__name__)


def problem_of(units, likelihood, fit_intercept=True, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 2)), targets_of(likelihood, 25, rng)
    units = units.fit(X)
    return learned_features.LearnedFeatureProblem.from_rows(
        units,
        units.standardise(X),
        y,
        rng.uniform(0.5, 2.0, 25),
        likelihood,
        weight_information=0.1,
        fit_intercept=fit_intercept,
    )


@every_units
@for_each("likelihood", LIKELIHOODS, ids=lambda lik: type(lik).__name__)
@for_each("fit_intercept", [True, False])
def test_gradient_is_what_differences_give(units, likelihood, fit_intercept):
    problem = problem_of(units, likelihood, fit_intercept)
    x = problem.draw_start(np.random.default_rng(1))
    x += 0.3 * np.random.default_rng(2).normal(size=len(x))
    h = 1e-6
    numeric = [(problem(x + h * e)[0] - problem(x - h * e)[0]) / (2 * h) for e in np.eye(len(x))]
    np.testing.assert_allclose(problem(x)[1], numeric, rtol=1e-6, atol=1e-6)


@every_units
def test_value_is_minus_the_log_posterior(units):
    problem = problem_of(units, likelihoods.Bernoulli())
    x = problem.draw_start(np.random.default_rng(1))
    x += 0.3 * np.random.default_rng(2).normal(size=len(x))
    theta, (*W, b) = problem.mean[:9] + problem.spread[:9] * x[:9], problem.split(x)[1][:, 0]
    a = problem.units.evaluate_columns(problem.U, theta) @ W + b
    p = np.average(problem.y, weights=problem.counts)
    sign = 2.0 * problem.y - 1.0
    expected = problem.counts @ np.log1p(np.exp(-sign * a))
    expected += 0.05 * p * (1 - p) * np.sum(np.square(W))
    expected += 0.5 * p * (1 - p) * (b - np.log(p / (1 - p))) ** 2
    center, spread = problem.units.prior()
    expected += 0.5 * np.sum(((theta - center) / spread) ** 2)
    assert problem(x)[0] == pytest.approx(expected, rel=1e-12)


@every_units
def test_pullback_is_the_adjoint_of_the_derivative(units):
    rng = np.random.default_rng(0)
    X, G = rng.normal(size=(20, 2)), rng.normal(size=(20, 3))
    units = units.fit(X)
    U, theta, h = units.standardise(X), units.theta_, 1e-6
    numeric = [
        np.sum(
            G
            * (units.evaluate_columns(U, theta + h * e) - units.evaluate_columns(U, theta - h * e))
        )
        for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(
        units.pullback(U, theta, G), np.array(numeric) / (2 * h), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_array_equal(units.transform(X), units.evaluate_columns(U, theta))


def test_units_are_those_of_the_formulas():
    X, query = np.array([[0.0, 1.0], [2.0, 5.0]]), np.array([[3.0, 2.0]])
    u = (query - [1.0, 3.0]) / [1.0, 2.0]
    steps = features.LearnedArctan(1).fit(X).with_theta([0.5, -1.5, 0.25])
    assert steps.transform(query)[0, 0] == pytest.approx(np.arctan(u @ [0.5, -1.5] + 0.25)[0])
    bumps = features.LearnedRadial(1).fit(X).with_theta([0.5, -1.5, np.log(0.7)])
    r2 = np.sum((u - [0.5, -1.5]) ** 2)
    assert bumps.transform(query)[0, 0] == pytest.approx(np.exp(-r2 / (2 * 0.49)))


def test_columns_are_standardised_by_rows_as_they_count():
    X, w = np.array([[0.0], [1.0], [5.0]]), [1.0, 2.0, 1.0]
    unit = features.LearnedArctan(1).fit(X, sample_weight=w)
    again = np.array([0.0, 1.0, 1.0, 5.0])
    assert unit.location_[0] == pytest.approx(again.mean())
    assert unit.scale_[0] == pytest.approx(again.std())


@for_each(
    ("units", "rows"),
    [
        (features.LearnedArctan(4, n_restarts=4), xor),
        (features.LearnedRadial(4, n_restarts=4), ring),
        (features.LearnedArctan(16, n_restarts=1), spirals),
        (features.LearnedRadial(24, n_restarts=1), spirals),
    ],
    ids=["xor", "ring", "spirals by steps", "spirals by bumps"],
)
def test_shapes_no_line_can_part_are_learned(units, rows):
    X, y = rows()
    fit = fitted(units, X, y, likelihoods.Bernoulli())
    right = np.mean((latent(fit, X) > 0.0) == (y == 1.0))
    assert right >= 0.98


def test_three_classes_are_learned_together():
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.digitize(np.hypot(*X.T), [0.8, 1.6]).astype(float)
    fit = fitted(features.LearnedRadial(3, n_restarts=2), X, y, likelihoods.Categorical(3))
    assert fit.weights.shape == (3, 3)
    assert np.mean(np.argmax(latent(fit, X), axis=1) == y) > 0.95


def test_a_curve_is_learned_under_normal_noise():
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-3.0, 3.0, (150, 1)), axis=0)
    y = np.tanh(4.0 * X[:, 0]) + 0.05 * rng.normal(size=150)
    fit = fitted(features.LearnedArctan(3, n_restarts=2), X, y, likelihoods.Normal(0.05**2))
    assert np.sqrt(np.mean((latent(fit, X) - np.tanh(4.0 * X[:, 0])) ** 2)) < 0.03


def test_more_starts_add_to_fewer_and_the_best_is_kept():
    X, y = xor(100)
    few = fitted(features.LearnedArctan(2, n_restarts=1), X, y, likelihoods.Bernoulli())
    many = fitted(features.LearnedArctan(2, n_restarts=4), X, y, likelihoods.Bernoulli(), n_jobs=2)
    np.testing.assert_allclose(many.values[:2], few.values, rtol=1e-9)
    assert many.optimum.value <= many.values.min() <= few.values.min()
    assert many.optimum.value == pytest.approx(many.values.min(), abs=0.5)
    assert len(many.stop_reasons) == 5
    assert np.ptp(many.values) > 1.0, "this problem has one valley only, and tests nothing"


@every_units
def test_the_same_seed_gives_the_same_numbers(units):
    X, y = ring(60)
    one, two = (fitted(units, X, y, likelihoods.Bernoulli(), seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.units.theta_, two.units.theta_)
    np.testing.assert_array_equal(one.weights, two.weights)


@every_units
def test_units_of_measurement_do_not_matter(units):
    unit, X, y = one_valley(units)
    scale, origin = np.array([1024.0, 0.25]), np.array([8.0, -2.0])
    plain = fitted(unit, X, y, likelihoods.Bernoulli())
    moved = fitted(unit, X * scale + origin, y, likelihoods.Bernoulli())
    assert moved.optimum.value == pytest.approx(plain.optimum.value, rel=1e-8)
    np.testing.assert_allclose(latent(moved, X * scale + origin), latent(plain, X), atol=2e-3)


@every_units
def test_integer_weights_equal_repeated_rows(units):
    unit, X, y = one_valley(units)
    repeats = np.random.default_rng(1).integers(0, 4, len(y))
    weighted = fitted(unit, X, y, likelihoods.Bernoulli(), counts=repeats.astype(float))
    again = np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    repeated = fitted(unit, *again, likelihoods.Bernoulli())
    assert weighted.optimum.value == pytest.approx(repeated.optimum.value, rel=1e-8)
    np.testing.assert_allclose(latent(weighted, X), latent(repeated, X), atol=2e-3)


def test_units_of_a_normal_target_do_not_matter():
    X = np.linspace(-2, 2, 40)[:, None]
    y = np.exp(-(X[:, 0] ** 2)) + 0.1 * np.cos(9.0 * X[:, 0])
    unit = features.LearnedRadial(1, n_restarts=1)
    plain = fitted(unit, X, y, likelihoods.Normal(0.01))
    scaled = fitted(unit, X, 1e3 * y, likelihoods.Normal(1e4))
    np.testing.assert_allclose(latent(scaled, X), 1e3 * latent(plain, X), atol=1.0)


@every_units
def test_units_start_where_rows_count(units):
    X, w = np.array([[0.0], [1.0], [2.0], [9.0]]), [1.0, 1.0, 1.0, 1e9]
    starts = [clone(units).set_params(n_units=1, random_state=i) for i in range(5)]
    for unit in (start.fit(X, sample_weight=w) for start in starts):
        middle = 0.0 if isinstance(unit, features.LearnedArctan) else 1.0
        assert unit.transform([[9.0]])[0, 0] == pytest.approx(middle)


def test_separable_rows_keep_finite_weights():
    X = np.linspace(-1, 1, 40)[:, None]
    fit = fitted(features.LearnedArctan(1, n_restarts=1), X, X[:, 0] > 0.0, likelihoods.Bernoulli())
    assert fit.optimum.converged
    assert 1.0 < np.abs(latent(fit, X)).max() < 50.0


def test_without_an_offset_there_is_none():
    X, y = ring(60)
    fit = fitted(UNITS[0], X, y, likelihoods.Bernoulli(), fit_intercept=False)
    assert fit.offset == 0.0
    np.testing.assert_allclose(latent(fit, X), fit.units.transform(X) @ fit.weights)


def test_a_search_that_is_cut_short_says_so():
    X, y = xor(60)
    with pytest.warns(optimize.ConvergenceWarning, match="3 L-BFGS iterations were not enough"):
        fitted(UNITS[0], X, y, likelihoods.Bernoulli(), max_iter=3)


def test_fitting_leaves_the_given_units_alone():
    X, y = ring(60)
    units = features.LearnedArctan(2, n_restarts=0, random_state=0).fit(X)
    before = units.theta_.copy()
    fit = learned_features.fit_learned_features(
        units, X, y, np.ones(60), likelihoods.Bernoulli(), rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(units.theta_, before)
    assert not np.array_equal(fit.units.theta_, before)
