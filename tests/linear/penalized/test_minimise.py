"""Minkowski regression: against linear programs, brute force, gradients and other libraries."""

import itertools

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVR
from support.for_each import for_each

from posterity import designs
from posterity.linear.penalized import minimise as minkowski
from posterity.linear.penalized import paths, proximal_newton, vertices
from posterity.linear.penalized.problem import PenalizedPoint, PenalizedRows


def rows(N=60, M=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(N, M)) * np.geomspace(0.5, 3.0, M) + 5.0
    return Z, Z @ rng.normal(size=M) + 2.0 + rng.standard_t(3, size=N)


def objective(Z, y, w, b, penalty, p, q, v=1.0):
    return np.sum(v * np.abs(y - Z @ w - b) ** p) + np.sum(penalty * np.abs(w) ** q)


def minimise(Z, y, penalty=0.0, p=2.0, q=1.0, seed=0, **options):
    return minkowski.minimise_penalized(
        Z,
        y,
        penalty=penalty,
        loss_power=p,
        penalty_power=q,
        rng=np.random.default_rng(seed),
        **options,
    )


def weighted_medians(y, v):
    """The interval of all weighted medians."""
    order = np.argsort(y)
    below = np.cumsum(v[order]) / v.sum()
    return y[order][below >= 0.5 - 1e-12][0], y[order][below > 0.5 + 1e-12][0]


@for_each("seed", range(4))
def test_power_one_without_columns_is_the_weighted_median(seed):
    rng = np.random.default_rng(seed)
    y, v = rng.gamma(1.0, size=40 + seed), rng.integers(1, 4, 40 + seed).astype(float)
    low, high = weighted_medians(y, v)
    found = minimise(np.zeros((len(y), 0)), y, p=1.0, sample_weight=v).intercept
    assert low * (1.0 - 1e-12) <= found <= high * (1.0 + 1e-12)


@for_each("penalty", [0.0, 1.0, 20.0])
@for_each(("N", "M"), [(40, 4), (300, 8), (30, 50)])
def test_power_one_is_median_regression(N, M, penalty):
    Z, y = rows(N, M)
    fit = minimise(Z, y, penalty, p=1.0)
    peer = QuantileRegressor(quantile=0.5, alpha=penalty / (2 * N)).fit(Z, y)
    best = objective(Z, y, peer.coef_, peer.intercept_, penalty, 1.0, 1.0)
    assert fit.objective == pytest.approx(best, rel=1e-10, abs=1e-9)
    assert fit.converged


def test_newton_alone_is_median_regression_where_exchanges_cost_too_much(monkeypatch):
    monkeypatch.setattr(minkowski, "_EXCHANGE_VALUES", 0)
    Z, y = rows(300, 8)
    fit = minimise(Z, y, 3.0, p=1.0)
    peer = QuantileRegressor(quantile=0.5, alpha=3.0 / 600).fit(Z, y)
    best = objective(Z, y, peer.coef_, peer.intercept_, 3.0, 1.0, 1.0)
    assert fit.objective == pytest.approx(best, rel=1e-8)


def test_median_regression_meets_as_many_rows_as_it_has_weights():
    Z, y = rows(100, 3)
    fit = minimise(Z, y, p=1.0)
    r = y - Z @ fit.weights - fit.intercept
    assert np.sum(np.abs(r) < 1e-12) == 4


def test_power_one_with_a_ridge_is_a_support_vector_regression_without_tube():
    Z, y = rows(80, 3)
    fit = minimise(Z, y, 2.0, p=1.0, q=2.0)
    peer = SVR(kernel="linear", C=1.0 / 4.0, epsilon=0.0, tol=1e-9).fit(Z, y)
    best = objective(Z, y, peer.coef_[0], peer.intercept_[0], 2.0, 1.0, 2.0)
    assert fit.objective <= best
    assert fit.objective == pytest.approx(best, rel=1e-6)


@for_each("p", [1.2, 1.5, 2.0, 3.0, 6.0])
@for_each("q", [1.5, 2.0, 3.0])
@for_each("offset", [True, False])
def test_smooth_convex_problems_end_where_the_gradient_is_zero(p, q, offset):
    Z, y = rows()
    v = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    fit = minimise(Z, y, 4.0, p=p, q=q, sample_weight=v, fit_intercept=offset)
    r = y - Z @ fit.weights - fit.intercept
    slope = p * v * np.abs(r) ** (p - 1.0) * np.sign(r)
    pull = 4.0 * q * np.abs(fit.weights) ** (q - 1.0) * np.sign(fit.weights)
    size = np.abs(slope) @ np.abs(Z)
    np.testing.assert_allclose((slope @ Z - pull) / size, 0.0, atol=1e-5)
    if offset:
        assert abs(slope.sum()) < 1e-5 * np.abs(slope).sum()
    else:
        assert fit.intercept == 0.0


@pytest.mark.full
@for_each("p", [1.2, 1.6, 3.0, 6.0])
@for_each("q", [1.0, 2.0])
def test_no_other_minimiser_does_better_on_convex_problems(p, q):
    Z, y = rows()
    fit = minimise(Z, y, 5.0, p=p, q=q)
    start = np.append(fit.weights, fit.intercept)
    for noise in (0.0, 0.1):
        x = start + noise * np.random.default_rng(0).normal(size=4)
        other = optimize.minimize(
            lambda x: objective(Z, y, x[:3], x[3], 5.0, p, q),
            x,
            method="Nelder-Mead",
            options={"maxiter": 4000, "xatol": 1e-10, "fatol": 1e-12},
        )
        assert fit.objective <= other.fun * (1.0 + 1e-9)


def test_mean_median_and_mode_of_skewed_noise_are_three_different_things():
    y = np.random.default_rng(0).gamma(2.0, size=300)  # mode 1, median 1.68, mean 2
    Z = np.zeros((300, 0))
    mean, median, mode = (minimise(Z, y, p=p).intercept for p in (2.0, 1.0, 0.1))
    assert mean == pytest.approx(y.mean())
    assert median == pytest.approx(np.median(y), abs=0.02)
    assert abs(mode - 1.0) < 0.3
    assert mode < median - 0.3 < mean - 0.3


@for_each("N", [50, 300, 1500])
@for_each("p", [0.1, 0.5, 0.9])
def test_below_power_one_the_offset_is_the_best_of_all(N, p):
    rng = np.random.default_rng(N)
    y = np.where(rng.random(N) < 0.6, rng.gamma(2.0, size=N), 9.0 + 0.1 * rng.normal(size=N))
    fit = minimise(np.zeros((N, 0)), y, p=p)
    candidates = np.append(y, np.linspace(y.min(), y.max(), 500))
    best = min(np.sum(np.abs(y - b) ** p) for b in candidates)
    assert fit.objective <= best * (1.0 + (1e-12 if N <= 400 else 1e-3))
    assert fit.stop_reason == minkowski.LOCAL


@for_each("p", [0.2, 0.5, 0.9])
@for_each("noise", ["skewed", "two modes"])
def test_below_power_one_a_line_is_the_best_through_any_two_rows(p, noise):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.0, 1.0, 50)
    skewed = rng.gamma(1.5, size=50)
    modes = np.where(rng.random(50) < 0.65, 0.1, 3.0) + 0.1 * rng.normal(size=50)
    y = 2.0 * x + 1.0 + (skewed if noise == "skewed" else modes)
    fit = minimise(x[:, None], y, p=p)
    best = np.inf
    for i, j in itertools.combinations(range(50), 2):
        w = (y[i] - y[j]) / (x[i] - x[j])
        r = y - y[i] - w * (x - x[i])
        r[[i, j]] = 0.0
        best = min(best, np.sum(np.abs(r) ** p))
    assert fit.objective <= best * (1.0 + 1e-9)


@pytest.mark.full
@for_each("p", [0.3, 0.8, 1.0, 1.5, 3.0])
@for_each("q", [0.4, 0.7, 1.0, 2.0])
def test_one_weight_alone_is_the_best_of_a_fine_grid(p, q):
    rng = np.random.default_rng(5)
    z = rng.normal(size=25)
    y = 1.5 * z + rng.standard_t(2, size=25)
    for penalty in (0.5, 8.0, 60.0):
        fit = minimise(z[:, None], y, penalty, p=p, q=q, fit_intercept=False)
        grid = np.concatenate([[0.0], y / z, np.linspace(-4.0, 4.0, 4001)])
        loss = np.sum(np.abs(y - grid[:, None] * z) ** p, axis=1)
        values = loss + penalty * np.abs(grid) ** q
        assert fit.objective <= values.min() * (1.0 + 1e-5)


@pytest.mark.full
@for_each("p", [0.5, 1.0, 1.5, 3.0])
@for_each("q", [0.5, 1.0, 2.0])
def test_scaling_targets_scales_the_fit(p, q):
    Z, y = rows()
    a = 1e3
    plain = minimise(Z, y, 3.0, p=p, q=q)
    scaled = minimise(Z, a * y + 7.0, 3.0 * a ** (p - q), p=p, q=q)
    np.testing.assert_allclose(scaled.weights, a * plain.weights, rtol=2e-5, atol=1e-9 * a)
    assert scaled.intercept == pytest.approx(a * plain.intercept + 7.0, rel=1e-4)
    assert scaled.objective == pytest.approx(a**p * plain.objective, rel=1e-8)
    assert scaled.noise_scale == pytest.approx(a * plain.noise_scale, rel=1e-7)


@for_each("p", [0.5, 1.0, 1.5, 2.0])
def test_standardising_makes_units_of_columns_immaterial(p):
    Z, y = rows()
    s = np.array([1e4, 1.0, 1e-3])
    plain = minimise(Z, y, 3.0, p=p, standardize=True)
    scaled = minimise(Z * s + 2.0, y, 3.0, p=p, standardize=True)
    np.testing.assert_allclose(scaled.weights * s, plain.weights, rtol=1e-6, atol=1e-10)
    each = minimise(Z, y, 3.0 * Z.std(axis=0), p=p)
    np.testing.assert_allclose(each.weights, plain.weights, rtol=1e-6, atol=1e-10)
    assert each.objective == pytest.approx(plain.objective, rel=1e-9)


@for_each("p", [1.0, 1.5, 2.0, 4.0])
@for_each("q", [0.5, 1.0, 2.0])
def test_weights_of_rows_are_repetitions(p, q):
    Z, y = rows(40)
    v = np.random.default_rng(2).integers(0, 4, 40)
    weighted = minimise(Z, y, 2.0, p=p, q=q, sample_weight=v.astype(float), standardize=True)
    repeated = minimise(Z.repeat(v, axis=0), y.repeat(v), 2.0, p=p, q=q, standardize=True)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-9)
    np.testing.assert_allclose(weighted.weights, repeated.weights, rtol=1e-4, atol=1e-8)
    assert weighted.noise_scale == pytest.approx(repeated.noise_scale, rel=1e-8)


@pytest.mark.full
@for_each("p", [0.5, 1.0, 2.0, 6.0])
@for_each("q", [0.5, 1.0, 3.0])
@for_each("kind", ["exact", "constant y", "constant column", "twice", "wide"])
def test_degenerate_rows_give_finite_fits_that_are_no_worse_than_none(p, q, kind):
    Z, y = rows(8, 12) if kind == "wide" else rows(20, 3)
    if kind == "exact":
        y = Z @ [1.0, -2.0, 0.5] + 3.0
    elif kind == "constant y":
        y = np.full(20, 3.7)
    elif kind == "constant column":
        Z[:, 1] = 0.1
    elif kind == "twice":
        Z[:, 1] = Z[:, 0]
    for penalty in (0.0, 2.0):
        fit = minimise(Z, y, penalty, p=p, q=q)
        assert np.isfinite([*fit.weights, fit.intercept, fit.objective, fit.noise_scale]).all()
        assert fit.converged
        none = min(np.sum(np.abs(y - b) ** p) for b in [*y, y.mean()])
        assert fit.objective <= none * (1.0 + 1e-9)
        if kind == "constant column":
            assert fit.weights[1] == 0.0


@for_each("p", [0.5, 1.0, 1.5, 3.0])
def test_rows_that_can_be_met_are_met(p):
    Z, _ = rows(20, 3)
    fit = minimise(Z, Z @ [1.0, -2.0, 0.5] + 3.0, p=p)
    np.testing.assert_allclose(fit.weights, [1.0, -2.0, 0.5], rtol=1e-10)
    assert fit.stop_reason == minkowski.EXACT
    assert fit.n_iter == 1
    assert 1e-18 < fit.noise_scale < 1e-13
    wide_Z, wide_y = rows(8, 12)
    wide = minimise(wide_Z, wide_y, p=p)
    np.testing.assert_allclose(wide_Z @ wide.weights + wide.intercept, wide_y, rtol=1e-9)


def test_a_weak_penalty_still_meets_the_rows_where_the_loss_has_a_corner():
    Z, y = rows(8, 12)
    fit = minimise(Z, y, 1e-3, p=1.0)
    np.testing.assert_allclose(Z @ fit.weights + fit.intercept, y, rtol=1e-9)
    assert fit.stop_reason == minkowski.EXACT
    assert np.sum(fit.weights != 0.0) == 7  # with the offset, as many as rows


@for_each("p", [0.3, 1.0])
def test_a_line_with_a_few_gross_errors_is_recovered_exactly(p):
    Z, _ = rows(60, 3)
    y = Z @ [1.0, -2.0, 0.5] + 3.0
    y[:12] += 50.0
    np.testing.assert_allclose(minimise(Z, y, p=p).weights, [1.0, -2.0, 0.5], rtol=1e-9)


@for_each("p", [0.5, 1.0, 1.7, 2.0, 4.0])
def test_the_noise_scale_has_the_greatest_likelihood(p):
    Z, y = rows(200)
    fit = minimise(Z, y, p=p)
    r = y - Z @ fit.weights - fit.intercept
    s = fit.noise_scale * np.array([0.99, 1.0, 1.01])
    log_likelihood = [stats.gennorm.logpdf(r, p, scale=scale).sum() for scale in s]
    assert np.argmax(log_likelihood) == 1


def test_penalties_of_power_one_and_less_give_exact_zeros():
    Z, y = rows(60, 6)
    for p, q in itertools.product([0.5, 1.0, 1.5, 2.0, 3.0], [0.5, 1.0]):
        fit = minimise(Z, y, 0.5 * np.sum(np.abs(y - np.median(y)) ** p), p=p, q=q)
        assert np.sum(fit.weights == 0.0) >= 2
        assert not np.any((fit.weights != 0.0) & (np.abs(fit.weights) < 1e-6))


@for_each("p", [1.3, 3.0])
def test_an_offset_alone_is_the_minimum_of_its_loss(p):
    y = np.random.default_rng(0).gamma(1.0, size=60)
    best = optimize.minimize_scalar(
        lambda b: np.sum(np.abs(y - b) ** p), bounds=(y.min(), y.max()), options={"xatol": 1e-9}
    )
    fit = minimise(np.zeros((60, 0)), y, p=p)
    assert fit.intercept == pytest.approx(best.x, abs=1e-5)
    assert fit.objective == pytest.approx(best.fun, rel=1e-11)


def test_rows_of_no_weight_are_not_there():
    Z, y = rows(20, 3)
    Z[1:, 1] = 0.1
    Z[0], y[0] = [1e200, 5.0, -1e200], 1e100
    v = np.append(0.0, np.ones(19))
    for p in (0.5, 1.0, 1.5, 2.0):
        fit = minimise(Z, y, 1.0, p=p, sample_weight=v)
        without = minimise(Z[1:], y[1:], 1.0, p=p)
        np.testing.assert_array_equal(fit.weights, without.weights)


@for_each("p", [0.5, 1.0, 1.5, 2.0])
@for_each("scale", [1e250, 1e-250])
def test_columns_whose_squares_are_no_doubles_do_no_harm(p, scale):
    Z, y = rows()
    plain = minimise(Z, y, 2.0, p=p, standardize=True)
    extreme = minimise(Z * scale, y, 2.0, p=p, standardize=True)
    np.testing.assert_allclose(extreme.weights * scale, plain.weights, rtol=1e-6, atol=1e-9)


def test_least_squares_without_penalty_keeps_its_digits_on_bad_columns():
    x = np.linspace(0.0, 1.0, 50)
    Z = x[:, None] ** np.arange(1, 11)
    w = np.ones(10)
    fit = minimise(Z, Z @ w + 1.0)
    np.testing.assert_allclose(fit.weights, w, rtol=1e-5)


@pytest.mark.full
@for_each("p", [0.3, 1.0])
@for_each("q", [0.3, 0.6, 1.0])
def test_with_concave_pieces_no_meeting_point_of_rows_and_penalties_is_better(p, q):
    for seed in range(3):
        Z, y = rows(9, 2, seed)
        for penalty in (0.3, 3.0):
            A = np.vstack([np.column_stack([Z, np.ones(9)]), np.eye(2, 3)])
            t, v = np.append(y, [0.0, 0.0]), np.append(np.ones(9), [penalty] * 2)
            power, best = np.append(np.full(9, p), [q, q]), np.inf
            for met in itertools.combinations(range(11), 3):
                r = t - A @ np.linalg.solve(A[list(met)], t[list(met)])
                r[list(met)] = 0.0
                best = min(best, np.sum(v * np.abs(r) ** power))
            assert minimise(Z, y, penalty, p=p, q=q).objective <= best * (1.0 + 1e-9)


@for_each(
    ("seed", "p", "part"),
    [(28, 1.5, 0.3), (21, 3.0, 0.1), (19, 3.0, 0.3), (33, 3.0, 0.3)],  # the two starts, twice each
)
def test_a_convex_loss_with_a_sparse_penalty_is_the_best_of_a_grid(seed, p, part):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(40, 1))
    Z = np.sqrt(0.2) * rng.normal(size=(40, 2)) + np.sqrt(0.8) * common
    y = Z @ np.where([True, False], 3.0 * rng.normal(size=2), 0.0) + rng.normal(size=40)
    penalty = part * np.sum(np.abs(y - y.mean()) ** p)
    fit = minimise(Z, y, penalty, p=p, q=0.5)
    axis = np.append(np.linspace(-6.0, 6.0, 121), 0.0)
    offset = optimize.minimize_scalar(lambda b: np.sum(np.abs(y - Z @ fit.weights - b) ** p)).x
    values = [objective(Z, y, [a, b], offset, penalty, p, 0.5) for a in axis for b in axis]
    assert fit.objective <= min(values) * (1.0 + 1e-9)


def test_whole_numbers_meet_more_rows_than_they_must():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, 30).astype(float), rng.integers(0, 4, 30).astype(float)
    fit = minimise(x[:, None], y, p=0.1)
    best = np.inf
    for slope, offset in itertools.product(np.arange(-12, 13) / 12.0, np.arange(-48, 97) / 12.0):
        r = y - slope * x - offset
        best = min(best, np.sum(np.where(np.abs(r) < 1e-9, 0.0, np.abs(r)) ** 0.1))
    assert fit.objective <= best * (1.0 + 1e-9)


def test_steps_end_where_rounding_hides_their_gain():
    for problem, p, q, offset in [(rows(8, 12), 1.0, 2.0, False), (rows(20, 3, 2), 1.3, 0.5, True)]:
        fit = minimise(*problem, 10.0, p=p, q=q, fit_intercept=offset)
        assert fit.converged
        assert fit.n_iter < 500


def test_an_offset_alone_is_followed_to_its_minimum_at_one_smoothing():
    y = np.random.default_rng(0).gamma(1.0, size=60)
    problem = PenalizedRows(np.zeros((60, 0)), y, np.ones(60), np.zeros(0), 1.2, 1.0, True)
    end = proximal_newton.descend_smoothed(
        problem, 0.01, PenalizedPoint(np.zeros(0), 8.0), tol=1e-12, max_iter=100
    )
    slope = (y - end.b) * np.hypot(y - end.b, 0.01) ** (1.2 - 2.0)
    assert abs(slope.sum()) < 1e-5 * np.abs(slope).sum()
    assert end.n_iter > 3


def test_the_same_generator_gives_the_same_fit():
    Z, y = rows(410, 2)
    first, second = (minimise(Z, y, 1.0, p=0.4, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.weights, second.weights)


@for_each("p", [1.0, 1.5])
def test_the_iteration_limit_is_reported(p):
    Z, y = rows()
    fit = minimise(Z, y, 3.0, p=p, q=1.5, max_iter=2)
    assert not fit.converged
    assert fit.stop_reason == paths.LIMIT
    assert np.isfinite(fit.weights).all()


@for_each("q", [0.5, 1.0, 1.5, 2.0])
@for_each("offset", [True, False])
@for_each("standardize", [True, False])
def test_squares_from_merged_statistics_equal_squares_from_rows(q, offset, standardize):
    Z, y = rows(40, 3)
    Y = np.column_stack([y, y**2])
    v = np.random.default_rng(1).uniform(0.5, 2.0, 40)
    parts = [
        designs.Statistics.from_rows(Z[i], Y[i], sample_weight=v[i], shift=offset)
        for i in (slice(0, 15), slice(15, 40))
    ]
    options = {"fit_intercept": offset, "standardize": standardize}
    fits = minkowski.minimise_penalized_squares(
        parts[0].merge(parts[1]), penalty=7.0, penalty_power=q, **options
    )
    for k, fit in enumerate(fits):
        whole = minimise(Z, Y[:, k], 7.0, q=q, sample_weight=v, **options)
        np.testing.assert_allclose(fit.weights, whole.weights, rtol=1e-7, atol=1e-10)
        assert fit.intercept == pytest.approx(whole.intercept, rel=1e-8)
        assert fit.objective == pytest.approx(whole.objective, rel=1e-10)
        assert fit.noise_scale == pytest.approx(whole.noise_scale, rel=1e-9)


def test_statistics_of_a_single_row_give_its_target():
    statistics = designs.Statistics.from_rows(np.array([[1.0, 2.0]]), np.array([[5.0]]))
    (fit,) = minkowski.minimise_penalized_squares(statistics, penalty=1.0)
    assert fit.intercept == 5.0
    assert not fit.weights.any()


def test_a_failed_step_is_damped_until_it_descends():
    """A parabola from tiny residuals promises far too much where the loss is their sixth power."""
    Z, y = rows(8, 12)
    problem = PenalizedRows(
        Z - Z.mean(0), y / y.std(), np.ones(8), np.full(12, 1e-6), 6.0, 1.0, False
    )
    start = PenalizedPoint(np.linalg.lstsq(problem.Z, 0.99 * problem.y, rcond=None)[0], 0.0)
    before = problem.objective(start.w, problem.residual(start.w, 0.0), 1e-6)
    after = proximal_newton.descend_smoothed(problem, 1e-6, start, tol=1e-10, max_iter=1)
    assert problem.objective(after.w, problem.residual(after.w, 0.0), 1e-6) < before


def test_an_exchange_that_only_reshuffles_rounding_ends():
    """Whole numbers meet many rows at one point: several bases, one vertex."""
    rng = np.random.default_rng(1)
    Z = np.round(rng.normal(size=(40, 4)))
    y = np.round(Z @ rng.normal(size=4) + rng.standard_t(3, size=40))
    fit = minimise(Z, y, p=0.1, max_iter=100)
    assert fit.converged
    assert np.sum(np.abs(y - Z @ fit.weights - fit.intercept) < 1e-12) >= 5


def test_rounding_of_met_rows_costs_nothing_at_small_powers():
    x = np.linspace(0.1, 0.9, 9)
    A = np.column_stack([x, np.ones(9)])
    problem = vertices.LinePieces(A, A @ [1.1, 0.3], np.ones(9), np.full(9, 0.05), 9)
    assert np.any(problem.y != A @ [1.1 * (1.0 + 2e-16), 0.3])
    assert problem.objective(np.array([1.1 * (1.0 + 2e-16), 0.3])) == 0.0


def test_a_sample_of_rows_stands_for_all_of_them_beside_the_penalties():
    Z, y = rows(50, 3)
    problem = PenalizedRows(Z, y, np.ones(50), np.array([2.0, 0.0, 3.0]), 0.5, 1.0, True)
    whole = vertices.LinePieces.from_rows(problem)
    part = whole.sample_rows(20, np.random.default_rng(0))
    assert part.v[:20].sum() == pytest.approx(50.0)
    np.testing.assert_array_equal(part.v[20:], [2.0, 3.0])
    np.testing.assert_array_equal(part.A[20:], [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    x = np.array([0.3, -1.0, 2.0, 0.5])
    expected = objective(Z, y, x[:3], 0.5, problem.penalty, 0.5, 1.0)
    assert whole.objective(x) == pytest.approx(expected, rel=1e-12)


def test_rows_of_the_vertex_are_independent_and_of_small_residual():
    A = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    problem = vertices.LinePieces(A, np.array([0.1, 0.2, 5.0, 0.3]), np.ones(4), np.ones(4), 4)
    assert vertices._select_nearest_rows(problem, np.zeros(2)) == [0, 3]
