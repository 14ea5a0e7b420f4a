"""NIST's certified linear regressions: the correct digits of every coefficient, by package.

The exact solutions are known to thirty digits. posterity is given the raw column and asked for
polynomial features; the others are given the monomials, as their users have to, with their
defaults and, where another setting keeps more digits, with that too.
"""

import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import sklearn.linear_model
import statsmodels.api
from numpy.typing import ArrayLike

from benchmarks import machine, report
from benchmarks.cases import Array
from benchmarks.options import Options
from benchmarks.scores import MOST_DIGITS, log_relative_error
from posterity import features
from posterity.linear import LinearRegression

DATA_NAME = "shared/data/nist_strd/nist_strd_linear.json"
DATA = Path(__file__).parents[2] / DATA_NAME


def run(options: Options) -> None:
    """Fit every set with every package; write and show the digits."""
    if not DATA.exists():
        options.console.print(f"nist: skipped, because {DATA_NAME} is not beside the repository.")
        return
    sets = json.loads(DATA.read_text())
    result = {
        "benchmark": "nist",
        "title": "NIST StRD linear regression: correct digits of the worst coefficient",
        **machine.describe(),
        "tasks": [_digits_of(name, problem) for name, problem in sets.items()],
    }
    report.publish(result, _page(result), options)


def _digits_of(name: str, problem: dict[str, Any]) -> dict[str, Any]:
    """The log relative error of every coefficient of one set, by package."""
    x, y = np.array(problem["x"], dtype=float), np.array(problem["y"], dtype=float)
    exact = problem["exact_beta_30"]
    digits, warned = {}, {}
    for package, solve in PACKAGES.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            estimates = np.asarray(solve(problem, x, y), dtype=np.float64)
        pairs = zip(estimates.tolist(), exact, strict=True)
        digits[package] = [round(log_relative_error(w, target), 2) for w, target in pairs]
        warned[package] = sorted({w.category.__name__ for w in caught})
    return {
        "name": name,
        "level": problem["level"],
        "log_relative_error": digits,
        "warnings": {package: names for package, names in warned.items() if names},
    }


def _posterity(problem: dict[str, Any], x: Array, y: Array) -> ArrayLike:
    """From the raw columns, with the features the model asks for."""
    polynomial = problem["model"] == "poly"
    has_offset = problem["model"] != "noint"
    basis = features.Polynomial(problem["degree"]) if polynomial else None
    model = LinearRegression(features=basis, fit_intercept=has_offset).fit(x, y)
    return np.append(model.intercept_, model.coef_) if has_offset else model.coef_


def _monomials(problem: dict[str, Any], x: Array) -> Array:
    """The matrix of the model with its column of ones, where it has one."""
    if problem["model"] == "poly":
        return np.vander(x[:, 0], problem["degree"] + 1, increasing=True)
    return x if problem["model"] == "noint" else np.column_stack([np.ones(len(x)), x])


def _numpy(problem: dict[str, Any], x: Array, y: Array) -> ArrayLike:
    return np.linalg.lstsq(_monomials(problem, x), y)[0]


def _scipy(problem: dict[str, Any], x: Array, y: Array) -> ArrayLike:
    return scipy.linalg.lstsq(_monomials(problem, x), y)[0]


def _sklearn(problem: dict[str, Any], x: Array, y: Array, tol: float | None = None) -> ArrayLike:
    """With its own intercept, which it fits by centring."""
    Z = _monomials(problem, x)
    has_offset = problem["model"] != "noint"
    model = sklearn.linear_model.LinearRegression(fit_intercept=has_offset)
    if tol is not None:
        model.set_params(tol=tol)
    model.fit(Z[:, 1:] if has_offset else Z, y)
    return np.append(model.intercept_, model.coef_) if has_offset else model.coef_


def _statsmodels(problem: dict[str, Any], x: Array, y: Array, method: str = "pinv") -> ArrayLike:
    return statsmodels.api.OLS(y, _monomials(problem, x)).fit(method=method).params


PACKAGES: dict[str, Callable[[dict[str, Any], Array, Array], ArrayLike]] = {
    "posterity": _posterity,
    "NumPy lstsq": _numpy,
    "SciPy lstsq": _scipy,
    "scikit-learn": _sklearn,
    "scikit-learn, tol=1e-15": partial(_sklearn, tol=1e-15),
    "statsmodels OLS": _statsmodels,
    "statsmodels OLS, method='qr'": partial(_statsmodels, method="qr"),
}


def _page(result: dict[str, Any]) -> str:
    """Set by package: the digits of the coefficient that has fewest."""
    rows = []
    for task in result["tasks"]:
        digits = task["log_relative_error"]
        worst = (f"{min(digits[package]):.1f}" for package in PACKAGES)
        rows.append([f"{task['name']} ({task['level']})", *worst])
    return "\n".join(
        [
            f"# {result['title']}",
            "",
            *report.provenance(result),
            f"At most {MOST_DIGITS:.0f} are counted; in brackets NIST's level of difficulty. "
            "Every coefficient is in `nist.json`.",
            "",
            *report.table(["set", *PACKAGES], rows),
            "",
        ]
    )
