"""The recipes for new parts make parts that pass the contract tests of their room."""

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import regression_cases
from distributions import test_contract as of_distributions
from features import test_contract as of_features
from kernels import test_contract as of_kernels
from likelihoods import test_contract as of_likelihoods
from models import test_regressors as of_regressors
from scipy import stats
from sklearn.utils import estimator_checks
from sklearn.utils.validation import has_fit_parameter
from support.pages import define_parts

import posterity

ROOT = Path(__file__).parents[2]


@pytest.fixture
def contributing(monkeypatch):
    return define_parts(ROOT / "CONTRIBUTING.md", monkeypatch)


@pytest.fixture
def extending(monkeypatch):
    return define_parts(ROOT / "docs" / "extending.md", monkeypatch)


def contract_tests(contract: ModuleType, known: Any) -> Iterator[Callable]:
    """Tests of a contract that run for a known row of its table and need nothing else."""
    for test in tuple(vars(contract).values()):
        for mark in getattr(test, "pytestmark", ()):
            names, rows = mark.args[:2] if mark.name == "parametrize" else ((), ())
            names = [names] if isinstance(names, str) else list(names)
            if any(row is known for row in rows) and names == list(
                inspect.signature(test).parameters
            ):
                yield test


def check_like(known: Any, row: Any, contract: ModuleType, least: int) -> None:
    """Run for a new row whatever runs for a known one; at least so many tests."""
    found = list(contract_tests(contract, known))
    assert len(found) >= least
    for test in found:
        values = row if isinstance(row, tuple) else (row,)
        test(**dict(zip(inspect.signature(test).parameters, values, strict=True)))


def test_a_distribution(contributing):
    batch = contributing.Logistic([0.0, 1.0, -3.0], [1.0, 0.1, 2.0])
    check_like(of_distributions.TABLE["normal"], batch, of_distributions, 18)
    theirs = stats.logistic([0.0, 1.0, -3.0], [1.0, 0.1, 2.0])
    np.testing.assert_allclose(batch.logpdf(0.3), theirs.logpdf(0.3), rtol=1e-12)
    np.testing.assert_allclose(batch.entropy(), theirs.entropy(), rtol=1e-12)


def test_a_likelihood(extending):
    case = of_likelihoods.Case(extending.Probit(), np.array([0.0, 1.0, 1.0, 0.0]))
    check_like(of_likelihoods.TABLE["bernoulli"], case, of_likelihoods, 15)


def test_a_feature_space(extending):
    check_like(of_features.SPACES[3], extending.Waves(2), of_features, 6)
    estimator_checks.check_estimator(extending.Waves(2), on_skip=None)


def test_a_kernel(monkeypatch):
    page = define_parts(ROOT / "docs" / "kernels.md", monkeypatch)
    x = of_kernels.numbers()[:, :1]
    check_like(of_kernels.CASES[0], of_kernels.Case(page.Ornstein(0.7), lambda: x), of_kernels, 7)
    model = posterity.GaussianProcessRegressor(page.Ornstein(), noise_variance=0.01)
    exact = posterity.GaussianProcessRegressor(
        posterity.kernels.Matern(smoothness=0.5), noise_variance=0.01
    )
    evidences = [one.fit(x, np.sin(x[:, 0])).log_evidence_ for one in (model, exact)]
    np.testing.assert_allclose(*evidences, rtol=1e-4)


def known_regressor(name):
    return next(case for case in of_regressors.CASES if type(case).__name__ == name)


def test_an_estimator(contributing, extending, monkeypatch):
    linear, of_one_target = (
        known_regressor(cls) for cls in ("RidgeRegression", "RobustRegression")
    )
    made = {contributing.UnitPriorRegression(): linear, extending.Neighbours(): of_one_target}
    monkeypatch.setattr(regression_cases, "CASES", [*regression_cases.CASES, *made])
    for model, known in made.items():
        for test in contract_tests(of_regressors, known):
            if "weights" not in test.__name__ or has_fit_parameter(model, "sample_weight"):
                test(model=model)
        estimator_checks.check_estimator(model, on_skip=None)


def test_an_estimator_of_fixed_variance_is_that_of_the_library(contributing):
    X, y = regression_cases.data()
    ours = posterity.BayesianLinearRegression(prior_variance=1.0).fit(X, y)
    made = contributing.UnitPriorRegression().fit(X, y)
    np.testing.assert_allclose(made.coef_, ours.coef_, rtol=1e-12)
    assert made.log_evidence_ == ours.log_evidence_
