"""The certified linear problems of NIST's Statistical Reference Datasets, digit by digit.

Filip and Longley, the two on which most packages fail, stand beside this file (public domain); all
eleven are used where the complete collection is at hand.
"""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from posterity import linalg
from posterity.linalg import double_double

COMPLETE = Path(__file__).parents[3] / "shared/data/nist_strd/nist_strd_linear.json"
HERE = Path(__file__).with_name("strd.json")
SETS = json.loads((COMPLETE if COMPLETE.exists() else HERE).read_text(encoding="utf-8"))
# Rounding the decimal x and y to doubles moves the exact solution itself: by 1e-13.5 for Pontius.
DIGITS = 13.0


def exact_design(problem: dict) -> list[list[Fraction]]:
    """The design matrix of the rounded inputs, without rounding of its own."""
    rows = [[Fraction(float(v)) for v in row] for row in problem["x"]]
    if problem["model"] == "poly":
        return [[x**k for k in range(problem["p"])] for (x,) in rows]
    return rows if problem["model"] == "noint" else [[Fraction(1), *row] for row in rows]


def split(Z: list[list[Fraction]]) -> tuple[np.ndarray, np.ndarray]:
    """The matrix rounded to doubles, and the rounding errors of its entries."""
    A = np.array([[float(z) for z in row] for row in Z])
    errors = [
        [float(z - Fraction(a)) for z, a in zip(*pair, strict=True)]
        for pair in zip(Z, A, strict=True)
    ]
    return A, np.array(errors)


def target(problem: dict) -> np.ndarray:
    return np.array([float(v) for v in problem["y"]])


def correct_digits(solution: np.ndarray, exact: list[str]) -> float:
    """The fewest correct digits of any coefficient."""
    errors = [
        abs(Fraction(float(b)) - Fraction(e)) / abs(Fraction(e))
        for b, e in zip(solution, exact, strict=True)
    ]
    return min(-math.log10(max(float(e), 1e-25)) for e in errors)


@pytest.mark.parametrize("name", SETS)
def test_every_coefficient_has_thirteen_digits(name):
    problem = SETS[name]
    A, A_error = split(exact_design(problem))
    fit = linalg.least_squares(A, target(problem), A_error=A_error)
    assert fit.rank == problem["p"]
    assert correct_digits(fit.solution, problem["exact_beta_30"]) >= DIGITS


@pytest.mark.parametrize("name", SETS)
def test_residual_sum_of_squares_is_the_certified_one(name):
    problem = SETS[name]
    A, A_error = split(exact_design(problem))
    fit = linalg.least_squares(A, target(problem), A_error=A_error)
    certified = float(problem["certified_residual_ss"])
    # The residuals of a perfect fit are what rounding y to doubles left behind.
    rounding = 1e-31 * np.sum(target(problem) ** 2)
    np.testing.assert_allclose(fit.residual_sum_of_squares, certified, rtol=1e-13, atol=rounding)


def test_digits_are_lost_when_the_errors_of_the_entries_are_not_given():
    problem = SETS["Filip"]
    A, _ = split(exact_design(problem))
    fit = linalg.least_squares(A, target(problem))
    assert 6 < correct_digits(fit.solution, problem["exact_beta_30"]) < 11


@pytest.mark.parametrize("name", [name for name in SETS if SETS[name]["model"] != "noint"])
def test_shifted_columns_give_the_same_slopes(name):
    problem = SETS[name]
    Z, Z_error = split(exact_design(problem))
    shift = np.concatenate([[0.0], Z[:, 1:].mean(axis=0) * (1 / 3)])
    A, rounding = double_double.two_sum(Z, -shift)
    fit = linalg.least_squares(A, target(problem), A_error=Z_error + rounding)
    assert name != "Filip" or np.any(rounding != 0)
    assert correct_digits(fit.solution[1:], problem["exact_beta_30"][1:]) >= DIGITS
