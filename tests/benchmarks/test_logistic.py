"""One function judges every solver, and the fit that counts is the first that is good enough."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.linear_model
from benchmarks import harness, logistic, probabilities
from benchmarks.cases import Size
from benchmarks.options import Options
from scipy import optimize
from support.for_each import for_each

from posterity.linear import LogisticRegression


def data_of(classes, units=True):
    return logistic.generate(np.random.default_rng(0), Size(300, 3, 50), classes, units)


def weights_of(classes, rng):
    rows = 1 if classes == 2 else classes
    return SimpleNamespace(coef_=rng.normal(size=(rows, 3)), intercept_=rng.normal(size=rows))


@for_each("classes", [2, 4])
def test_gradient_is_that_of_the_mean_log_likelihood_in_standardised_columns(classes):
    data, model = data_of(classes), weights_of(classes, np.random.default_rng(1))
    model.coef_ /= data.X.std(axis=0)
    Z = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    start = np.column_stack(
        [
            model.coef_ * data.X.std(axis=0),
            model.intercept_ + model.coef_ @ data.X.mean(axis=0),
        ]
    )

    def value(theta):
        W = theta.reshape(start.shape)
        log_p = logistic.log_probabilities(SimpleNamespace(coef_=W[:, :-1], intercept_=W[:, -1]), Z)
        return np.mean(log_p[np.arange(len(Z)), data.y.astype(int)])

    numerical = optimize.approx_fprime(start.ravel(), value, 1e-7)
    found = logistic.gradient_norm(model, data.X, data.y)
    assert found == pytest.approx(np.abs(numerical).max(), rel=1e-4)


@for_each("classes", [2, 4])
def test_log_probabilities_are_those_of_the_model(classes):
    data = data_of(classes)
    model = LogisticRegression().fit(data.X, data.y)
    found = np.exp(logistic.log_probabilities(model, data.X_test))
    np.testing.assert_allclose(found, model.predict_proba(data.X_test), atol=1e-12)


def test_the_first_model_that_reaches_the_target_counts():
    data, tried = data_of(2, units=False), []

    class Recorded(sklearn.linear_model.LogisticRegression):
        def fit(self, X, y):
            tried.append(self.tol)
            return super().fit(X, y)

    models = [Recorded(C=np.inf, tol=tol) for tol in (1e-1, 1e-7, 1e-9)]
    numbers = logistic.measure_models(models, data, probabilities.score)
    assert tried == [1e-1, 1e-7]
    assert numbers["tolerance"] == 1e-7
    assert numbers["gradient_norm"] <= logistic.TARGET


def test_a_solver_that_ran_out_of_steps_is_not_tried_again():
    data = data_of(2)
    models = [
        sklearn.linear_model.LogisticRegression(C=np.inf, tol=tol, max_iter=2)
        for tol in (1e-4, 1e-8)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = logistic.measure_models(models, data, probabilities.score)
    assert numbers["tolerance"] == 1e-4
    assert numbers["gradient_norm"] > logistic.TARGET


def test_columns_have_units_of_their_own_where_asked():
    scales = data_of(2).X.std(axis=0)
    assert scales.max() / scales.min() > 3.0
    np.testing.assert_allclose(data_of(2, units=False).X.std(axis=0), 1.0, atol=0.2)


def test_the_page_tells_gradient_and_tolerance(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "in_new_process", lambda work, *a: work(*a))
    ours, theirs, *_ = logistic.BENCHMARK.contenders
    task = replace(logistic.BENCHMARK.tasks[-1], size=Size(400, 4, 50))
    small = replace(logistic.BENCHMARK, tasks=(task,), contenders=(ours, theirs))
    result = harness.run(small, Options(repeats=1, threads=1, folder=tmp_path), logistic.measure)
    first, second = result["tasks"][0]["runs"]
    assert first["mean_log_likelihood"] == pytest.approx(second["mean_log_likelihood"], abs=1e-9)
    assert max(first["gradient_norm"], second["gradient_norm"]) <= logistic.TARGET
    page = (tmp_path / "logistic.md").read_text()
    assert "| gradient | tol | mean log likelihood | iterations |" in page
