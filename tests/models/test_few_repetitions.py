"""Weights count repetitions: weights that add up to less than two rows are pointed out, once."""

import contextlib
import inspect
import warnings

import classification_cases
import latent_cases
import numpy as np
import pytest
import regression_cases
from sklearn.base import clone
from support.for_each import for_each

import posterity
from posterity import designs, validation
from posterity.optimize import ConvergenceWarning

RATIOS_ONLY = {"KernelKMeans"}  # whose answer is the same for weights of any sum


def one_of_each_class():
    cases = [
        *((case, *regression_cases.data_for(case)) for case in regression_cases.CASES),
        *((case, *classification_cases.data()) for case in classification_cases.CASES),
        *((case, latent_cases.data(), None) for case in latent_cases.CASES),
    ]
    first = {type(case[0]).__name__: case for case in reversed(cases)}
    return [
        pytest.param(*case, id=name)
        for name, case in first.items()
        if "sample_weight" in inspect.signature(case[0].fit).parameters
    ]


def messages_of_fit(model, X, y, weights):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ConvergenceWarning)
        with contextlib.suppress(ValueError):  # one row has no covariance
            clone(model).fit(X, y, sample_weight=weights)
    return [str(warning.message) for warning in caught]


@for_each(("model", "X", "y"), one_of_each_class())
def test_weights_that_sum_to_one_are_pointed_out_once(model, X, y):
    n = len(X)
    said = messages_of_fit(model, X, y, np.full(n, 1.0 / n))
    expected = (
        f"sample_weight says how often each row counts, and these {n} rows count as 1 in all; "
        f"multiply the weights by {n} if each row counts once."
    )
    assert said == ([] if type(model).__name__ in RATIOS_ONLY else [expected])


@for_each(
    "weights",
    [
        np.ones(40),
        np.linspace(0.0, 0.2, 40),  # few of many rows count in full: 4 in all
        np.eye(40)[0] * 0.5 + np.eye(40)[1] * 1.5,  # two rows
        np.eye(40)[0] * 0.1,  # one row, which cannot be scaled to be more
    ],
)
def test_weights_of_two_rows_or_more_and_of_one_row_are_not(weights):
    assert validation.check_repetitions(weights, 40) is not None


def test_a_later_part_of_the_rows_may_count_for_little():
    X, y = regression_cases.data()
    model = posterity.BayesianLinearRegression().partial_fit(X, y)
    model.partial_fit(X[:5], y[:5], sample_weight=np.full(5, 0.1))
    posterity.PCA(1).partial_fit(X).partial_fit(X[:5], sample_weight=np.full(5, 0.1))


@pytest.mark.parametrize(
    "model", [posterity.BayesianLogisticRegression(), posterity.RandomForestClassifier(2)]
)
def test_weights_of_chunks_are_pointed_out_too(model):
    X, names = classification_cases.data()
    y = (names == names[0]).astype(float)
    chunks = designs.Chunks.from_arrays(X, y, np.full(len(X), 0.01), rows=20)
    with pytest.warns(UserWarning, match=r"these 80 rows count as 0\.8 in all; .* by 100 if"):
        clone(model).fit(chunks)
