"""A diagonal plus low rank, against the dense matrix."""

import numpy as np
import pytest

from posterity import linalg


@pytest.mark.parametrize(("n", "m"), [(30, 3), (5, 5), (4, 9), (6, 0)])
@pytest.mark.parametrize("columns", [(), (2,)])
def test_solve_determinant_and_form_are_the_dense_ones(n, m, columns, rng):
    d, U, B = rng.uniform(0.1, 2.0, size=n), rng.normal(size=(n, m)), rng.normal(size=(n, *columns))
    dense = np.diag(d) + U @ U.T
    A = linalg.DiagonalPlusLowRank.of(d, U)
    X = np.linalg.solve(dense, B)
    np.testing.assert_allclose(A.solve(B), X, atol=1e-12)
    np.testing.assert_allclose(A.quadratic_form(B), np.sum(B * X, axis=0), rtol=1e-12)
    assert A.log_determinant() == pytest.approx(np.linalg.slogdet(dense)[1], rel=1e-12)


def test_quadratic_form_keeps_its_digits_where_the_diagonal_is_tiny(rng):
    # b lies in the span of U, so b^T A^-1 b tends to |w|^2 as the diagonal vanishes, while the
    # two terms of the textbook formula grow beyond all bounds and cancel.
    U, w = rng.normal(size=(50, 3)), rng.normal(size=3)
    A = linalg.DiagonalPlusLowRank.of(np.full(50, 1e-18), U)
    assert A.quadratic_form(U @ w) == pytest.approx(w @ w, rel=1e-10)


def test_a_diagonal_that_is_not_positive_is_told():
    with pytest.raises(ValueError, match="2 of 3 diagonal entries are not positive, the first is"):
        linalg.DiagonalPlusLowRank.of(np.array([1.0, 0.0, np.nan]), np.ones((3, 1)))
