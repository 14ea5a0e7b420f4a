"""Least squares: correct rounding, any scale, any rank."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from posterity import linalg

EPS = np.finfo(float).eps


def exact_solution(A, B):
    """The solution of the normal equations in 100 digits, rounded to doubles."""
    with mpmath.workdps(100):
        A_exact, B_exact = mpmath.matrix(A.tolist()), mpmath.matrix(B.tolist())
        X = mpmath.lu_solve(A_exact.T * A_exact, A_exact.T * B_exact)
        return np.array(X.tolist(), dtype=float).reshape(A.shape[1], *B.shape[1:])


def conditioned(rng, n, p, condition):
    U, _ = np.linalg.qr(rng.normal(size=(n, p)))
    V, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return U * np.logspace(0, -np.log10(condition), p) @ V.T


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize(("n", "p"), [(4, 4), (12, 1), (25, 5)])
def test_solution_is_correctly_rounded_at_any_condition(n, p, condition, rng):
    A, b = conditioned(rng, n, p, condition), rng.normal(size=n)
    fit = linalg.least_squares(A, b)
    np.testing.assert_allclose(fit.solution, exact_solution(A, b), rtol=2 * EPS, atol=0)
    assert fit.rank == p
    assert fit.n_refinements >= 1


def test_correction_is_what_rounding_took(rng):
    A, b = rng.integers(-9, 9, size=(6, 2)).astype(float), rng.integers(-9, 9, size=6)
    fit = linalg.least_squares(A, b.astype(float))
    (a11, a12), (_, a22) = (A.T @ A).astype(int).tolist()
    c1, c2 = (A.T @ b).astype(int).tolist()
    determinant = a11 * a22 - a12 * a12
    exact = [Fraction(a22 * c1 - a12 * c2, determinant), Fraction(a11 * c2 - a12 * c1, determinant)]
    for x, dx, true in zip(fit.solution, fit.correction, exact, strict=True):
        assert x == float(true)
        assert abs(Fraction(x) + Fraction(dx) - true) <= 1e-30 * abs(true)


def test_solution_and_correction_together_have_more_digits_than_a_double(rng):
    A, b = conditioned(rng, 12, 3, 1e12), rng.normal(size=12)
    fit = linalg.least_squares(A, b)
    with mpmath.workdps(100):
        A_exact, b_exact = mpmath.matrix(A.tolist()), mpmath.matrix(b.tolist())
        true = mpmath.lu_solve(A_exact.T * A_exact, A_exact.T * b_exact)
        for i in range(3):
            found = mpmath.mpf(fit.solution[i]) + mpmath.mpf(fit.correction[i])
            assert abs(found / true[i] - 1) < 1e-19


def test_residual_sum_of_squares_is_that_of_the_solution(rng):
    A, B = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    fit = linalg.least_squares(A, B)
    direct = np.sum((B - A @ fit.solution) ** 2, axis=0)
    np.testing.assert_allclose(fit.residual_sum_of_squares, direct, rtol=1e-13)


def test_right_hand_sides_are_solved_each_for_itself(rng):
    A, B = conditioned(rng, 20, 4, 1e6), rng.normal(size=(20, 3)) * [1.0, 1e200, 1e-200]
    together = linalg.least_squares(A, B)
    for k in range(3):
        alone = linalg.least_squares(A, B[:, k])
        assert alone.solution.shape == (4,)
        np.testing.assert_allclose(together.solution[:, k], alone.solution, rtol=2 * EPS)
        np.testing.assert_allclose(
            together.residual_sum_of_squares[k], alone.residual_sum_of_squares, rtol=1e-12
        )


def test_a_power_of_two_in_a_column_changes_no_digit(rng):
    A, b = conditioned(rng, 20, 4, 1e6), rng.normal(size=20)
    sizes = 2.0 ** np.array([900, -900, 3, 0])
    scaled = linalg.least_squares(A * sizes, b)
    plain = linalg.least_squares(A, b)
    np.testing.assert_array_equal(scaled.solution * sizes, plain.solution)
    assert scaled.condition == plain.condition


def test_the_matrix_meant_includes_the_errors_of_its_entries(rng):
    A, b = rng.normal(size=(15, 3)), rng.normal(size=15)
    A_error = 1e-3 * rng.normal(size=A.shape)
    fit = linalg.least_squares(A, b, A_error=A_error)
    np.testing.assert_allclose(
        fit.solution, linalg.least_squares(A + A_error, b).solution, rtol=1e-12
    )


def test_refinement_stops_without_harm_where_it_does_not_converge(rng):
    A, b = rng.normal(size=(15, 3)), rng.normal(size=15)
    diverging = linalg.least_squares(A, b, A_error=2.0 * A)
    assert diverging.n_refinements == 0
    np.testing.assert_allclose(diverging.solution, np.linalg.lstsq(A, b)[0], rtol=1e-12)


def test_refinement_is_skipped_where_large_and_easy(rng):
    A, b = rng.normal(size=(10_001, 100)), rng.normal(size=10_001)
    fit = linalg.least_squares(A, b)
    assert fit.n_refinements == 0
    np.testing.assert_array_equal(fit.correction, 0.0)
    gradient = A.T @ (b - A @ fit.solution)
    assert np.max(np.abs(gradient)) < 1e-9
    assert fit.residual_sum_of_squares == pytest.approx(np.sum((b - A @ fit.solution) ** 2))


def test_condition_is_that_of_columns_at_one_scale(rng):
    A = conditioned(rng, 40, 5, 1e5)
    unit = A / np.linalg.norm(A, axis=0)
    estimate = linalg.least_squares(A * [1e9, 1.0, 1e-9, 1.0, 1.0], np.ones(40)).condition
    assert 0.1 < estimate / np.linalg.cond(unit) < 20


def test_condition_does_not_mistake_a_rare_column_for_a_small_one():
    rare = np.zeros(10_000)
    rare[0] = 1.0
    A = np.column_stack([np.ones(10_000), rare])
    assert linalg.least_squares(A, np.ones(10_000)).condition < 10


def deficient(rng, n, p, rank):
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p))


@pytest.mark.parametrize(("n", "p", "rank"), [(20, 5, 3), (5, 20, 5), (5, 20, 2), (6, 6, 4)])
def test_the_shortest_solution_is_taken_where_there_are_many(n, p, rank, rng):
    A, B = deficient(rng, n, p, rank), rng.normal(size=(n, 2))
    fit = linalg.least_squares(A, B)
    assert fit.rank == rank
    np.testing.assert_allclose(fit.solution, np.linalg.pinv(A, rcond=1e-10) @ B, atol=1e-11)
    np.testing.assert_allclose(
        fit.residual_sum_of_squares, np.sum((B - A @ fit.solution) ** 2, axis=0), atol=1e-20
    )


def test_the_shortest_solution_is_so_in_the_units_given(rng):
    A = deficient(rng, 20, 4, 2) * [1.0, 100.0, 0.01, 3.0]
    b = rng.normal(size=20)
    np.testing.assert_allclose(
        linalg.least_squares(A, b).solution, np.linalg.pinv(A, rcond=1e-12) @ b, atol=1e-11
    )


def test_small_columns_count_towards_the_rank(rng):
    A = rng.normal(size=(20, 4)) * [1.0, 1e-20, 1e20, 1.0]
    assert linalg.least_squares(A, np.ones(20)).rank == 4


@pytest.mark.parametrize("n", [2, 7])
def test_zero_columns_get_zero_weights(n, rng):
    A = rng.normal(size=(n, 4))
    A[:, 2] = 0.0
    fit = linalg.least_squares(A, rng.normal(size=n))
    assert fit.solution[2] == 0.0
    assert fit.rank == min(n, 3)


def test_a_zero_matrix_has_the_zero_solution():
    fit = linalg.least_squares(np.zeros((4, 2)), np.array([1.0, 2.0, 0.0, 2.0]))
    np.testing.assert_array_equal(fit.solution, 0.0)
    assert (fit.rank, fit.condition, fit.residual_sum_of_squares) == (0, np.inf, 9.0)


def test_no_columns_leave_the_right_hand_side():
    fit = linalg.least_squares(np.empty((3, 0)), np.array([1.0, 2.0, 2.0]))
    assert fit.solution.shape == (0,)
    assert fit.residual_sum_of_squares == 9.0


def test_a_zero_right_hand_side_has_the_zero_solution(rng):
    fit = linalg.least_squares(rng.normal(size=(5, 2)), np.zeros(5))
    np.testing.assert_array_equal(fit.solution, 0.0)


def test_inputs_are_not_modified(rng):
    A, b, E = (np.asfortranarray(rng.normal(size=(9, 3))), rng.normal(size=9), np.zeros((9, 3)))
    copies = A.copy(), b.copy(), E.copy()
    linalg.least_squares(A, b, A_error=E)
    for given, copy in zip((A, b, E), copies, strict=True):
        np.testing.assert_array_equal(given, copy)


def test_wrong_shapes_are_told():
    with pytest.raises(ValueError, match=r"A has shape \(3, 2\) and B \(4,\)"):
        linalg.least_squares(np.ones((3, 2)), np.ones(4))
    with pytest.raises(ValueError, match=r"A_error has shape \(2, 2\), but A has \(3, 2\)"):
        linalg.least_squares(np.ones((3, 2)), np.ones(3), A_error=np.ones((2, 2)))


@pytest.mark.parametrize(("row", "column"), [(0, 1), (2, 0)])
def test_a_column_that_is_not_finite_is_named(row, column, rng):
    A = rng.normal(size=(5, 2))
    A[row, column] = np.nan
    with pytest.raises(ValueError, match=f"the first is column {column}"):
        linalg.least_squares(A, np.ones(5))
