"""Numbers at the edges of double precision: a model works with them, or refuses them in words."""

import inspect
import warnings

import classification_cases
import latent_cases
import numpy as np
import pandas as pd
import pytest
import regression_cases
from sklearn.base import clone
from support.for_each import for_each

import posterity
from posterity import validation
from posterity.optimize import ConvergenceWarning

SCALES = [1e200, 1e-200]
SLOW = {"RelevanceVectorClassifier", "RelevanceVectorRegressor"}  # under weights of many decades


def one_of_each_class():
    cases = [
        *((case, *regression_cases.data_for(case)) for case in regression_cases.CASES),
        *((case, *classification_cases.data()) for case in classification_cases.CASES),
        *((case, latent_cases.data(), None) for case in latent_cases.CASES),
    ]
    first = {type(case[0]).__name__: case for case in reversed(cases)}
    return [pytest.param(*case, id=name) for name, case in first.items()]


def is_weighted(case):
    model, *_ = case.values
    return "sample_weight" in inspect.signature(model.fit).parameters


CASES = one_of_each_class()
REGRESSORS = [case for case in CASES if case.values[0] in regression_cases.CASES]
WEIGHTED = [case for case in CASES if is_weighted(case)]


def answer(model, X, y, **weights):
    """Predictions of a fit, all finite; None where the data are refused in words.

    A warning of NumPy's is an error here, as everywhere in the tests.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(model).fit(X, y, **weights)
    except ValueError as refusal:
        assert "beyond double precision" in str(refusal)  # noqa: PT017
        return None
    method = next(
        name for name in ("predict_proba", "predict", "transform") if hasattr(fitted, name)
    )
    found = np.asarray(getattr(fitted, method)(X))
    assert np.isfinite(found).all()
    return found


@for_each("scale", SCALES)
@for_each(("model", "X", "y"), CASES)
def test_inputs_of_any_size_are_learned_from_or_refused_in_words(model, X, y, scale):
    found = answer(model, X * scale, y)
    assert found is None or np.ptp(found) > 0.0


@for_each("scale", [1e160, 1e-160])
@for_each(("model", "X", "y"), REGRESSORS)
def test_targets_whose_squares_are_not_doubles_are_refused_in_words(model, X, y, scale):
    assert answer(model, X, y * scale) is None


@for_each("scale", [1e100, 1e-100])
@for_each(("model", "X", "y"), [c for c in REGRESSORS if c.id != "LqRegression"])
def test_targets_whose_squares_are_doubles_are_learned_or_refused_in_words(model, X, y, scale):
    found = answer(model, X, y * scale)  # the penalty of LqRegression is in units of y
    assert found is None or np.ptp(found) > 0.1 * scale


@pytest.mark.full
@for_each(("model", "X", "y"), [c for c in WEIGHTED if c.id not in SLOW])
def test_weights_of_24_decades_give_finite_predictions(model, X, y):
    assert answer(model, X, y, sample_weight=np.logspace(-12.0, 12.0, len(X))) is not None


@for_each(("model", "X", "y"), WEIGHTED)
def test_weights_of_more_rows_than_can_be_are_refused_in_words(model, X, y):
    assert answer(model, X, y, sample_weight=np.full(len(X), 1e300)) is None


def test_penalties_are_tried_however_often_rows_are_repeated():
    X, y = regression_cases.data()
    model = posterity.KernelRidgeRegression()
    found = answer(model, X, y, sample_weight=np.full(len(X), 1e28))
    assert np.corrcoef(found, y)[0, 1] > 0.9


@for_each(("value", "power"), [(3e200, r"1e\+200"), (-3e-200, "1e-200")])
def test_a_column_is_named_as_its_table_names_it(value, power):
    frame = pd.DataFrame({"a": [1.0, 2.0], "size": [0.0, value]})
    with pytest.raises(ValueError, match=rf"column 'size' holds .* divide the column by {power}\."):
        validation.check_powers(frame.to_numpy(), frame)


def test_missing_values_are_passed_over():
    validation.check_powers(np.array([[np.nan, 1.0], [np.nan, 2.0]]))
