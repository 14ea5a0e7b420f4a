"""The estimator on NIST's certified sets: raw inputs in, thirteen digits out."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest

from posterity import LinearRegression, features

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "data" / "nist_strd" / "nist_strd_linear.json"
SETS = json.loads((SHARED if SHARED.exists() else HERE / "strd.json").read_text())


def digits(value, exact):
    """The log relative error, against thirty digits."""
    mpmath.mp.dps = 40
    error = abs(mpmath.mpf(float(value)) - mpmath.mpf(exact)) / abs(mpmath.mpf(exact))
    return float(-mpmath.log10(error + mpmath.mpf(10) ** -17))


def fitted(name):
    data = SETS[name]
    X = np.array([[float(value) for value in row] for row in data["x"]])
    y = np.array([float(value) for value in data["y"]])
    offset = not name.startswith("NoInt")
    polynomial = data["model"] == "poly" and offset
    space = features.Polynomial(data["degree"]) if polynomial else None
    return LinearRegression(features=space, fit_intercept=offset).fit(X, y), data


@pytest.mark.parametrize("name", sorted(SETS))
def test_every_coefficient_has_thirteen_digits(name):
    model, data = fitted(name)
    offset = [model.intercept_] if model.fit_intercept else []
    for value, exact in zip([*offset, *model.coef_], data["exact_beta_30"], strict=True):
        assert digits(value, exact) >= 13.0


@pytest.mark.parametrize("name", sorted(SETS))
def test_the_noise_has_nine_digits_where_there_is_noise(name):
    model, data = fitted(name)
    exact = float(data["certified_residual_sd"])
    n_weights = data["p"]
    rows = len(data["y"])
    found = np.sqrt(model.noise_variance_ * rows / (rows - n_weights))
    scale = np.abs(np.array(data["y"], dtype=float)).max()
    assert found == pytest.approx(exact, rel=1e-9, abs=1e-9 * scale)
