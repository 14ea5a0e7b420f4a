"""Correct digits are counted against numbers that doubles cannot hold."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from benchmarks import linear, scores
from benchmarks.cases import Data
from benchmarks.scores import log_relative_error
from support.for_each import for_each

THIRD = "0.333333333333333333333333333333"


@for_each(
    ("estimate", "exact", "digits"),
    [
        (1.0, "1.00000000000000000000000000000E+0", 15.0),
        (1.0 + 1e-7, "1", 7.0),
        (-2e-5 * (1.0 + 1e-3), "-2.0E-5", 3.0),
        (1e-4, "0.00", 4.0),
        (0.0, "0", 15.0),
        (5.0, "1", 0.0),
        (-1.0, "1", 0.0),
        (np.nan, "1", 0.0),
        (np.inf, "1", 0.0),
    ],
)
def test_log_relative_error_counts_correct_digits(estimate, exact, digits):
    assert log_relative_error(estimate, exact) == pytest.approx(digits, abs=1e-6)


def test_log_relative_error_does_not_round_the_exact_value():
    estimate = 1 / 3 + 2.0**-50
    error = 3 * (Fraction(estimate) - Fraction(1, 3))
    assert log_relative_error(estimate, THIRD) == pytest.approx(-math.log10(error), abs=1e-9)


def test_digits_of_predictions_are_those_of_the_worst_one():
    X, y = np.zeros((3, 1)), np.array([1.0, 10.0, 100.0])
    data = Data(X, y, X, y, reference=y)
    off = y + np.array([0.0, 1e-3, 1e-6])
    assert scores.numerical(data, (off, None))["digits"] == pytest.approx(5.0)
    assert scores.numerical(data, (y, None))["digits"] == 15.0


def test_digits_without_a_reference_are_refused():
    X, y = np.zeros((3, 1)), np.ones(3)
    with pytest.raises(ValueError, match="no reference"):
        scores.numerical(Data(X, y, X, y), (y, None))


def test_reference_predictions_are_those_of_exact_least_squares():
    rng = np.random.default_rng(0)
    X, y, X_test = rng.normal(size=(40, 4)), rng.normal(size=40), rng.normal(size=(10, 4))
    X[:, 3] = X[:, 2] + 1e-3 * X[:, 3]  # one refinement, or a rounded residual, would not do
    reference = linear._exact_predictions(X, y, X_test)
    with mp.workdps(40):
        Z = mp.matrix(np.column_stack([np.ones(40), X]).tolist())
        w = mp.lu_solve(Z.T * Z, Z.T * mp.matrix(y.tolist()))
        exact = mp.matrix(np.column_stack([np.ones(10), X_test]).tolist()) * w
        errors = [abs(exact[i] - mp.mpf(float(reference[i]))) for i in range(10)]
    assert max(errors) < 1e-15 * np.abs(reference).max()
