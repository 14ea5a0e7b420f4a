"""Kernel ridge regression against textbook algebra, repetition and refits without the row."""

import numpy as np
import pytest
from support.for_each import for_each

from posterity import linalg
from posterity.inference.conjugate import kernel_ridge

OFFSET = pytest.mark.parametrize("offset", [True, False])


def rows(n=14, seed=0, outputs=2):
    """A smooth kernel matrix, targets, and weights that are not all alike."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n))
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    Y = np.sin(x)[:, None] * np.arange(1.0, outputs + 1) + 0.3 * rng.normal(size=(n, outputs)) + 7.0
    return K, Y, rng.uniform(0.3, 2.5, n)


def textbook(K, y, lam, weight, offset):
    """Dual weights and offset from the stationarity of the weighted objective, as one system."""
    n = len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = K + lam * np.diag(1.0 / weight)
    system[:n, n] = system[n, :n] = offset
    system[n, n] = not offset
    solution = np.linalg.solve(system, np.append(y, 0.0))
    return solution[:n], solution[n]


def refitted(K, y, lam, weight, offset):
    """The residual of each row after a fit to what is left of the data without one copy of it."""
    residuals = np.empty(len(y))
    for i in range(len(y)):
        left = weight.copy()
        left[i] -= min(1.0, left[i])
        keep = left > 1e-12
        c, b = textbook(K[np.ix_(keep, keep)], y[keep], lam, left[keep], offset)
        residuals[i] = y[i] - K[i, keep] @ c - b
    return residuals


def problem_of(K, Y, weight=None, *, offset):
    w = np.ones(len(K)) if weight is None else np.asarray(weight, dtype=float)
    return kernel_ridge.reduce_kernel(K.copy(), Y, w, fit_intercept=offset)


def fit_at(problem, lam, method):
    if method == "cholesky":
        return kernel_ridge.solve_kernel_ridge(problem, lam)
    spectrum = kernel_ridge.KernelSpectrum.decompose(problem)
    return spectrum.fit_penalties(np.full(problem.T.shape[1], lam))


@OFFSET
@for_each("method", ["cholesky", "spectrum"])
@for_each("lam", [1e-4, 0.3, 20.0])
def test_the_solution_is_the_textbook_one(offset, method, lam):
    K, Y, weight = rows()
    fit = fit_at(problem_of(K, Y, weight, offset=offset), lam, method)
    for k in range(2):
        c, b = textbook(K, Y[:, k], lam, weight, offset)
        np.testing.assert_allclose(fit.dual_coef[:, k], c, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(fit.intercept[k], b, rtol=1e-10, atol=1e-12)


@OFFSET
def test_the_centred_system_of_the_source_gives_the_same(offset):
    """[J 31] without an offset; [J 44] with one, and the offset from [J 37]."""
    K, Y, _ = rows()
    lam, y, n = 0.2, Y[:, 0], len(Y)
    C = np.eye(n) - offset / n
    a = lam * np.linalg.solve(lam * np.eye(n) + C @ K @ C, C @ y)
    fit = kernel_ridge.solve_kernel_ridge(problem_of(K, Y, offset=offset), lam)
    np.testing.assert_allclose(fit.dual_coef[:, 0], a / lam, rtol=1e-10)
    expected = np.mean(y - K @ a / lam) if offset else 0.0
    np.testing.assert_allclose(fit.intercept[0], expected, rtol=1e-12)


@OFFSET
@for_each("method", ["cholesky", "spectrum"])
@for_each("weighted", [True, False])
def test_leaving_out_equals_refitting(offset, method, weighted):
    K, Y, weight = rows()
    w = weight if weighted else np.ones(len(K))
    loo = fit_at(problem_of(K, Y, w, offset=offset), 0.1, method).leave_one_out
    for k in range(2):
        expected = refitted(K, Y[:, k], 0.1, w, offset)
        np.testing.assert_allclose(loo.residuals[:, k], expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(loo.mean_squares[k], np.average(expected**2, weights=w))


@OFFSET
@for_each("method", ["cholesky", "spectrum"])
def test_an_integer_weight_is_a_repetition(offset, method):
    K, Y, _ = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(K))
    i = np.repeat(np.arange(len(K)), weight)
    one = fit_at(problem_of(K, Y, weight, offset=offset), 0.3, method)
    many = fit_at(problem_of(K[np.ix_(i, i)], Y[i], offset=offset), 0.3, method)
    np.testing.assert_allclose(one.intercept, many.intercept, rtol=1e-12)
    summed = np.stack([many.dual_coef[i == j].sum(axis=0) for j in range(len(K))])
    np.testing.assert_allclose(one.dual_coef, summed, rtol=1e-9, atol=1e-11)
    a, b = one.leave_one_out, many.leave_one_out
    np.testing.assert_allclose(a.residuals[i], b.residuals, rtol=1e-9)
    np.testing.assert_allclose(a.mean_squares, b.mean_squares, rtol=1e-10)


@OFFSET
def test_the_chosen_penalty_does_not_depend_on_repeating(offset):
    K, Y, _ = rows()
    weight = np.random.default_rng(1).integers(1, 4, len(K))
    i = np.repeat(np.arange(len(K)), weight)
    one = kernel_ridge.choose_penalty(problem_of(K, Y, weight, offset=offset))
    many = kernel_ridge.choose_penalty(problem_of(K[np.ix_(i, i)], Y[i], offset=offset))
    np.testing.assert_allclose(one.fit.penalty, many.fit.penalty, rtol=1e-6)
    np.testing.assert_allclose(one.path.penalties, many.path.penalties, rtol=1e-10)


@OFFSET
def test_errors_along_the_path_are_those_of_single_fits(offset):
    K, Y, weight = rows()
    spectrum = kernel_ridge.KernelSpectrum.decompose(problem_of(K, Y, weight, offset=offset))
    lam = np.array([1e-3, 0.2, 5.0, 1e4])
    single = [
        kernel_ridge.solve_kernel_ridge(
            problem_of(K, Y, weight, offset=offset), x
        ).leave_one_out.mean_squares
        for x in lam
    ]
    np.testing.assert_allclose(spectrum.leave_one_out_errors(np.log(lam)), single, rtol=1e-9)


@OFFSET
def test_the_slope_is_the_derivative_of_the_error(offset):
    K, Y, weight = rows()
    spectrum = kernel_ridge.KernelSpectrum.decompose(problem_of(K, Y, weight, offset=offset))
    x, step = np.array([-2.0, 0.7]), 1e-5
    ends = [np.diagonal(spectrum.leave_one_out_errors(x + sign * step)) for sign in (1, -1)]
    np.testing.assert_allclose(spectrum.error_slope(x), (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


@OFFSET
def test_no_penalty_of_a_fine_grid_is_better_and_the_grid_does_not_matter(offset, monkeypatch):
    K, Y, weight = rows(n=30)
    problem = problem_of(K, Y, weight, offset=offset)
    chosen = kernel_ridge.choose_penalty(problem_of(K, Y, weight, offset=offset))
    fine = np.linspace(-20.0, 15.0, 4001)
    errors = kernel_ridge.KernelSpectrum.decompose(problem).leave_one_out_errors(fine)
    assert np.all(chosen.fit.leave_one_out.mean_squares <= errors.min(axis=0) * (1 + 1e-12))
    assert chosen.fit.penalty[0] != pytest.approx(chosen.fit.penalty[1], rel=1e-3)
    assert chosen.stop_reason == "least leave-one-out error"
    monkeypatch.setattr(kernel_ridge, "_STEP", 0.171)
    again = kernel_ridge.choose_penalty(problem_of(K, Y, weight, offset=offset))
    np.testing.assert_allclose(again.fit.penalty, chosen.fit.penalty, rtol=1e-8)


def test_targets_without_noise_take_the_smallest_penalty_and_noise_alone_the_largest():
    K, _, _ = rows()
    x = np.random.default_rng(0).normal(size=(len(K), 1))
    exact = kernel_ridge.choose_penalty(problem_of(K, K @ x, offset=False))
    assert "fitted exactly" in exact.stop_reason
    assert exact.fit.penalty[0] == pytest.approx(exact.path.penalties[0])
    signs = (-1.0) ** np.arange(len(K))[:, None]
    noise = kernel_ridge.choose_penalty(problem_of(K, signs, offset=True))
    assert "no better than a constant" in noise.stop_reason
    assert noise.fit.penalty[0] == pytest.approx(noise.path.penalties[-1])


@for_each("value", [0.0, 3.0, -1e9])
def test_a_constant_target_is_predicted_by_the_offset_alone(value):
    K, _, weight = rows()
    chosen = kernel_ridge.choose_penalty(
        problem_of(K, np.full((len(K), 1), value), weight, offset=True)
    )
    np.testing.assert_allclose(chosen.fit.intercept, value, rtol=1e-14)
    assert chosen.fit.penalty[0] == pytest.approx(chosen.path.penalties[-1])
    assert 0.0 < chosen.fit.leave_one_out.mean_squares[0] < (1e-14 * abs(value)) ** 2 + 1e-299


def test_two_rows_with_an_offset_predict_each_other_by_their_targets():
    K, Y, _ = rows(n=2)
    chosen = kernel_ridge.choose_penalty(problem_of(K, Y, offset=True))
    np.testing.assert_allclose(chosen.fit.leave_one_out.residuals, Y - Y[::-1], rtol=1e-9)
    assert chosen.fit.penalty[0] == pytest.approx(chosen.path.penalties[-1])


def test_a_single_row_is_refused_with_an_offset_and_predicted_by_zero_without():
    K, Y = np.ones((1, 1)), np.full((1, 1), 5.0)
    with pytest.raises(ValueError, match="nothing is left to predict it by"):
        problem_of(K, Y, offset=True)
    assert (
        kernel_ridge.solve_kernel_ridge(problem_of(K, Y, offset=False), 1.0).leave_one_out.residuals
        == 5.0
    )


def test_one_row_repeated_has_nothing_to_learn():
    chosen = kernel_ridge.choose_penalty(
        problem_of(np.ones((1, 1)), np.full((1, 1), 5.0), [3.0], offset=True)
    )
    assert chosen.fit.intercept[0] == 5.0
    assert chosen.fit.dual_coef[0, 0] == 0.0


@OFFSET
def test_a_kernel_of_zeros_predicts_the_offset(offset):
    _, Y, _ = rows()
    chosen = kernel_ridge.choose_penalty(problem_of(np.zeros((len(Y), len(Y))), Y, offset=offset))
    np.testing.assert_allclose(chosen.fit.intercept, Y.mean(axis=0) * offset, rtol=1e-12)
    assert np.all(np.isfinite(chosen.fit.leave_one_out.residuals))


def test_a_constant_kernel_is_left_to_the_offset():
    """What is left of it after the offset is rounding, and must not be learned from."""
    _, Y, weight = rows()
    K = np.full((len(Y), len(Y)), 1e6 / 3.0)
    chosen = kernel_ridge.choose_penalty(problem_of(K, Y, weight, offset=True))
    np.testing.assert_allclose(chosen.fit.intercept, np.average(Y, axis=0, weights=weight))
    np.testing.assert_allclose(K @ chosen.fit.dual_coef, 0.0, atol=1e-6)


@for_each("method", ["cholesky", "spectrum"])
def test_with_an_offset_a_constant_in_the_kernel_changes_nothing(method):
    K, Y, weight = rows()
    plain = fit_at(problem_of(K, Y, weight, offset=True), 0.1, method)
    shifted = fit_at(problem_of(K + 1e5, Y, weight, offset=True), 0.1, method)
    np.testing.assert_allclose(shifted.dual_coef, plain.dual_coef, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        shifted.leave_one_out.residuals, plain.leave_one_out.residuals, atol=1e-8
    )


@for_each("method", ["cholesky", "spectrum"])
def test_with_an_offset_a_conditionally_positive_kernel_is_enough(method):
    """Minus the squared distance is the linear kernel, once the offset is split off."""
    x = np.linspace(-1.0, 2.0, 9)
    Y = (2.0 * x + 1.0)[:, None] + 0.1 * np.random.default_rng(0).normal(size=(9, 1))
    linear = fit_at(problem_of(np.outer(x, x), Y, offset=True), 0.1, method)
    distance = fit_at(problem_of(-0.5 * (x[:, None] - x) ** 2, Y, offset=True), 0.1, method)
    np.testing.assert_allclose(distance.dual_coef, linear.dual_coef, rtol=1e-9)


def test_an_indefinite_kernel_is_refused_with_its_eigenvalue():
    K = np.diag([1.0, -0.5, 2.0])
    Y = np.arange(3.0)[:, None]
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"eigenvalue -5.00e-01"):
        kernel_ridge.choose_penalty(problem_of(K, Y, offset=False))
    with pytest.raises(linalg.NotPositiveDefiniteError):
        kernel_ridge.solve_kernel_ridge(problem_of(K, Y, offset=False), 0.1)
    fit = kernel_ridge.solve_kernel_ridge(problem_of(K, Y, offset=False), 1.0)
    np.testing.assert_allclose(fit.dual_coef[:, 0], np.arange(3.0) / [2.0, 0.5, 3.0])


def test_a_kernel_matrix_that_is_not_finite_is_refused():
    K, Y, _ = rows()
    K[3, 4] = K[4, 3] = np.nan
    for do in (kernel_ridge.choose_penalty, lambda p: kernel_ridge.solve_kernel_ridge(p, 1.0)):
        with pytest.raises(linalg.NonFiniteError):
            do(problem_of(K, Y, offset=False))


def test_duplicated_rows_with_next_to_no_penalty_are_announced():
    K, Y, _ = rows()
    i = np.repeat(np.arange(len(K)), 2)
    with pytest.warns(linalg.JitterWarning):
        fit = kernel_ridge.solve_kernel_ridge(problem_of(K[np.ix_(i, i)], Y[i], offset=True), 1e-20)
    assert np.all(np.isfinite(fit.leave_one_out.residuals))
    chosen = kernel_ridge.choose_penalty(problem_of(K[np.ix_(i, i)], Y[i], offset=True))
    assert np.all(np.isfinite(chosen.fit.dual_coef))


def test_targets_far_from_zero_lose_no_digits():
    K, Y, weight = rows()
    near = kernel_ridge.solve_kernel_ridge(problem_of(K, Y, weight, offset=True), 0.1)
    far = kernel_ridge.solve_kernel_ridge(problem_of(K, Y + 2.0**30, weight, offset=True), 0.1)
    np.testing.assert_allclose(far.dual_coef, near.dual_coef, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(far.intercept - 2.0**30, near.intercept, atol=1e-6)


def test_the_factorisation_happens_in_the_memory_of_the_kernel():
    K, Y, weight = rows()
    fit = kernel_ridge.solve_kernel_ridge(
        kernel_ridge.reduce_kernel(K, Y, weight, fit_intercept=True), 0.1
    )
    assert np.shares_memory(fit.L, K)
