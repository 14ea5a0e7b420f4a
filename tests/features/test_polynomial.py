"""Monomials in the usual order, exact to twice the precision of a double."""

import mpmath
import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures
from support.for_each import for_each

from posterity import features


def exact(X, powers):
    """Every monomial of the given doubles, in 60 digits."""
    with mpmath.workdps(60):
        table = [[mpmath.mpf(float(x)) for x in row] for row in X]
        return [
            [mpmath.fprod(x**p for x, p in zip(row, m, strict=True)) for m in powers.tolist()]
            for row in table
        ]


def relative_errors(Z, E, truth):
    with mpmath.workdps(60):
        pairs = zip(Z.ravel(), E.ravel(), np.ravel(truth), strict=True)
        return np.array([float(abs(mpmath.mpf(z) + mpmath.mpf(e) - t) / t) for z, e, t in pairs])


@for_each(("n_columns", "degree"), [(1, 5), (2, 3), (4, 2), (3, 4)])
def test_order_values_and_names_are_those_of_scikit_learn(n_columns, degree):
    X = np.random.default_rng(0).normal(size=(7, n_columns))
    ours, theirs = features.Polynomial(degree), PolynomialFeatures(degree, include_bias=False)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), rtol=1e-14)
    np.testing.assert_array_equal(ours.powers_, theirs.powers_)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


def test_without_interactions_there_are_powers_only():
    X = np.array([[2.0, 3.0], [-1.0, 0.5]])
    space = features.Polynomial(3, interactions=False).fit(X)
    expected = np.column_stack([X, X**2, X**3])
    np.testing.assert_array_equal(space.transform(X), expected)
    assert list(space.get_feature_names_out()) == ["x0", "x1", "x0^2", "x1^2", "x0^3", "x1^3"]


@for_each("scale", [1.0, 1e-20, 1e20])
def test_columns_and_their_errors_sum_to_the_exact_monomials(scale):
    X = scale * np.random.default_rng(2).uniform(0.5, 2.0, size=(20, 3))
    space = features.Polynomial(5).fit(X)
    Z, E = space.transform_with_error(X)
    truth = exact(X, space.powers_)
    assert relative_errors(Z, E, truth).max() < 8 * 2.0**-106
    assert relative_errors(Z, np.zeros_like(E), truth).max() > 2.0**-54


def test_degree_ten_in_one_column_keeps_thirty_digits():
    X = np.linspace(-8.8, -3.1, 40)[:, None]
    space = features.Polynomial(10).fit(X)
    Z, E = space.transform_with_error(X)
    assert relative_errors(Z, E, exact(X, space.powers_)).max() < 1e-30


def test_first_powers_are_exact():
    _, E = features.Polynomial(2).fit([[0.1, 0.3]]).transform_with_error([[0.1, 0.3]])
    np.testing.assert_array_equal(E[:, :2], 0.0)
    assert (E[:, 2:] != 0.0).all()


def test_where_the_error_cannot_be_computed_it_is_zero():
    """A factor beyond 2^996 cannot be split, though the product is still finite."""
    X = np.array([[10**7.7], [3.3]])
    space = features.Polynomial(40).fit(X)
    Z, E = space.transform_with_error(X)
    assert Z[0, 38] > 2.0**997
    assert E[0, 39] == 0.0
    assert np.isfinite(E).all()
    assert relative_errors(Z[:, :39], E[:, :39], exact(X, space.powers_[:39])).max() < 1e-29
    assert relative_errors(Z[1:], E[1:], exact(X[1:], space.powers_)).max() < 1e-29


def test_overflow_names_the_feature_and_the_row():
    space = features.Polynomial(3).fit([[1.0, 1.0]])
    with pytest.raises(ValueError, match=r"feature 'x0\^2' overflows in row 1; rescale"):
        space.transform([[1.0, 1.0], [1e200, 1.0]])
    with pytest.raises(ValueError, match="overflows in row 0"):
        space.transform_with_error([[1e200, 0.0]])
