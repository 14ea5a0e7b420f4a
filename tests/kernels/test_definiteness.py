"""The check of positive definiteness says where and how badly a function fails."""

import numpy as np
import pytest
from scipy import linalg as scipy_linalg
from support.for_each import for_each

from posterity import kernels
from posterity.kernels import check_positive_definite

X = np.arange(6.0)[:, None]


def of(K):
    """A function whose matrix on the rows 0, 1, 2, ... is K."""
    table = np.asarray(K, dtype=float)
    return lambda X, Z: table[np.ix_(X[:, 0].astype(int), Z[:, 0].astype(int))]


def test_a_kernel_is_fine_and_says_how_well_conditioned_it_is():
    report = check_positive_definite(kernels.RBF(0.5), X)
    expected = scipy_linalg.eigvalsh(kernels.RBF(0.5)(X))[0]
    assert report.ok
    assert report.rows == report.problems == ()
    assert report.smallest_eigenvalue == pytest.approx(expected, rel=1e-12)
    assert report.relative_eigenvalue == pytest.approx(expected)
    assert str(report) == (
        "Positive semi-definite on these 6 rows: the smallest eigenvalue is 0.757, "
        "with a mean diagonal of 1."
    )


@for_each("unit", [1e-150, 1.0, 1e150])
def test_rank_one_and_rounding_are_fine_in_any_unit(unit):
    assert check_positive_definite(unit * kernels.Linear(1.0), X).ok
    assert check_positive_definite(kernels.RBF(1e3), X).ok
    K = unit * np.eye(6)
    K[4, 1] = K[1, 4] = 1.4 * unit
    assert check_positive_definite(of(K), X).rows == (1, 4)


def test_two_rows_that_are_too_alike_are_named():
    K = np.eye(20)
    K[3, 17] = K[17, 3] = 1.4
    report = check_positive_definite(of(K), np.arange(20.0)[:, None])
    assert not report.ok
    assert report.rows == (3, 17)
    assert report.smallest_eigenvalue == pytest.approx(-0.4)
    assert str(report) == (
        "Not positive semi-definite on these 20 rows: the smallest eigenvalue is -0.4, which is "
        "-0.4 times the mean diagonal. Rows 3 and 17 are more alike to each other than to "
        "themselves: k = 1.4 between them, 1 and 1 with themselves."
    )


def test_rows_that_are_wrong_only_together_are_named():
    K = np.eye(6)
    for i, j in ((1, 2), (2, 4), (1, 4)):
        K[i, j] = K[j, i] = -0.9
    report = check_positive_definite(of(K), X)
    assert report.smallest_eigenvalue == pytest.approx(-0.8)
    assert set(report.rows) == {1, 2, 4}
    assert "It shows most in rows" in str(report)
    assert str(report).endswith("4.") or str(report).endswith(("1.", "2."))


def test_asymmetry_is_named_with_its_place():
    K = np.eye(6)
    K[2, 5] = 0.25
    report = check_positive_definite(of(K), X)
    assert report.rows == (2, 5)
    assert str(report) == (
        "Not symmetric: k is 0.25 between rows 2 and 5, but 0 between rows 5 and 2."
    )


def test_a_row_unlike_itself_is_named():
    report = check_positive_definite(of(np.diag([1.0, 1.0, -0.5, 1.0, 1.0, 1.0])), X)
    assert "Row 2 has similarity -0.5 with itself, below zero." in report.problems
    assert "It shows most in row 2." in str(report)
    assert report.rows == (2,)


def test_a_matrix_of_zeros_is_fine_and_one_off_the_diagonal_is_not():
    assert check_positive_definite(of(np.zeros((6, 6))), X).ok
    K = np.zeros((6, 6))
    K[0, 3] = K[3, 0] = 1e-3
    report = check_positive_definite(of(K), X)
    assert report.rows == (0, 3)
    assert np.isnan(report.relative_eigenvalue)


def test_what_is_not_finite_is_named():
    class Broken(kernels.Kernel):
        def _block(self, X, Z):
            K = np.ones((len(X), len(Z)))
            K[1, 3] = np.nan
            return K

    report = check_positive_definite(Broken(), X)
    assert not report.ok
    assert str(report) == "k is nan between rows 1 and 3."


def test_no_rows_are_fine():
    assert check_positive_definite(kernels.RBF(1.0), X[:0]).ok


def test_the_tolerance_is_of_one_entry_relative_to_the_diagonal():
    K = np.eye(2)
    K[0, 1] = K[1, 0] = 1.0 + 1e-6
    rows = np.arange(2.0)[:, None]
    assert not check_positive_definite(of(K), rows, tolerance=1e-7).ok
    assert check_positive_definite(of(K), rows, tolerance=1e-6).ok


def test_objects_are_compared_too():
    def shared(X, Z):
        return np.array([[len(set(x) & set(z)) for z in Z] for x in X], dtype=float)

    assert check_positive_definite(shared, ["abc", "cde", "xyz"]).ok
