"""Predictions do not depend on the units of inputs and of targets.

The exceptions are models of which the user said something in units: a kernel with a length scale,
a variance or a penalty that is given, features of different powers that are not standardised.
"""

import warnings

import classification_cases
import latent_cases
import numpy as np
import pytest
import regression_cases
from sklearn.base import clone

import posterity
from posterity import kernels, likelihoods

SCALES = (1e-12, 1e-4, 1e4, 1e12)
COLUMNS = np.array([1e-12, 1.0, 1e12])  # in units of their own


def said_in_units(case, *words):
    text = " ".join(repr(case).split())
    return any(word in text for word in words)


def named(cases):
    return pytest.mark.parametrize("model", cases, ids=lambda m: repr(m).replace("\n", ""))


RAW_KERNELS = ("Bump", "RBF(2.0)", "features=Polynomial(), fit_intercept=False, standardize=False")
REGRESSORS = [
    *(c for c in regression_cases.CASES if not said_in_units(c, *RAW_KERNELS)),
    posterity.RobustRegression(standardize=False, fit_intercept=False),
    posterity.GammaRegression(standardize=False),
    posterity.GeneralizedLinearRegression(likelihoods.Normal(), standardize=False),
    posterity.BayesianLinearRegression(standardize=False),
    posterity.DualLinearRegression(standardize=False),
    posterity.GaussianProcessRegressor(kernels.Scaled(kernels.Matern())),
    posterity.KernelRidgeRegression(kernels.Matern()),
]
CLASSIFIERS = [
    *(c for c in classification_cases.CASES if not said_in_units(c, *RAW_KERNELS)),
    posterity.DualLogisticRegression(standardize=False),
    posterity.DualLogisticRegression(standardize=False, fit_intercept=False),
    posterity.BayesianLogisticRegression(standardize=False),
    posterity.BayesianLogisticRegression(standardize=False, fit_intercept=False),
]
GIVEN_IN_TARGET_UNITS = ("noise_variance=0.1", "LqRegression()")
MIXED = ("standardize=False", "Matern", "fit_intercept=False, predictive")
# Searches that end at a gain in nats, not at rounding.
LOOSE = {"StagewiseRegressor": 1e-3, "LogisticTreeClassifier": 1e-4}


def fitted(model, *rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", posterity.optimize.ConvergenceWarning)  # few iterations
        return clone(model).fit(*rows)


def assert_same(model, found, wanted):
    tol = LOOSE.get(type(model).__name__, 1e-6)
    np.testing.assert_allclose(found, wanted, rtol=tol, atol=tol * np.std(wanted))


@pytest.mark.full(but=5)
@named(REGRESSORS)
def test_units_of_inputs_do_not_matter_to_regressors(model):
    X, y = regression_cases.data_for(model)
    wanted = fitted(model, X, y).predict(X, return_std=True)
    for scale in SCALES:
        found = fitted(model, scale * X, y).predict(scale * X, return_std=True)
        for a, b in zip(found, wanted, strict=True):
            assert_same(model, a, b)


@pytest.mark.full(but=4)
@named([c for c in REGRESSORS if not said_in_units(c, *MIXED)])
def test_units_of_single_columns_do_not_matter_to_regressors_that_standardise(model):
    X, y = regression_cases.data_for(model)
    wanted = fitted(model, X, y).predict(X, return_std=True)
    found = fitted(model, COLUMNS * X, y).predict(COLUMNS * X, return_std=True)
    for a, b in zip(found, wanted, strict=True):
        assert_same(model, a, b)


@pytest.mark.full(but=5)
@named([c for c in REGRESSORS if not said_in_units(c, *GIVEN_IN_TARGET_UNITS)])
def test_units_of_targets_do_not_matter(model):
    X, y = regression_cases.data_for(model)
    wanted = fitted(model, X, y).predict(X, return_std=True)
    for scale in SCALES:
        found = fitted(model, X, scale * y).predict(X, return_std=True)
        for a, b in zip(found, wanted, strict=True):
            assert_same(model, a / scale, b)


@pytest.mark.full(but=5)
@named(CLASSIFIERS)
def test_units_of_inputs_do_not_matter_to_classifiers(model):
    X, y = classification_cases.data(n_classes=3)
    wanted = fitted(model, X, y).predict_proba(X)
    for scale in SCALES:
        assert_same(model, fitted(model, scale * X, y).predict_proba(scale * X), wanted)


@pytest.mark.full(but=4)
@named(
    [
        *(c for c in CLASSIFIERS if not said_in_units(c, "standardize=False")),
        posterity.RelevanceVectorClassifier(random_state=0),
    ]
)
def test_units_of_single_columns_do_not_matter_to_classifiers_that_standardise(model):
    X, y = classification_cases.data(n_classes=2)
    wanted = fitted(model, X, y).predict_proba(X)
    assert_same(model, fitted(model, COLUMNS * X, y).predict_proba(COLUMNS * X), wanted)


@pytest.mark.full(but=5)
@named(latent_cases.CASES)
def test_units_of_rows_do_not_matter_to_latent_models(model):
    """Components are in the units of the rows, or in units of their own."""
    X = latent_cases.data()
    wanted = latent_cases.answers(fitted(model, X), X)
    for scale in SCALES:
        found = latent_cases.answers(fitted(model, scale * X), scale * X)
        unit = min((1.0, 1.0 / scale), key=lambda u: np.linalg.norm(u * found - wanted))
        np.testing.assert_allclose(unit * found, wanted, rtol=1e-5, atol=1e-5)
