"""Every package is given the same Gaussian process, and the tables hold what they say."""

import json
from dataclasses import replace
from importlib import util

import numpy as np
import pytest
from benchmarks import (
    friedman,
    gaussian_process,
    gaussian_process_evaluation,
    harness,
    processes,
    standardised,
    tensor_processes,
)
from benchmarks.cases import Data, Size
from benchmarks.options import Options
from scipy import optimize, stats

# Some packages add a little to the diagonal, or round a parameter to half the digits.
TOLERANCE = 1e-6


def package(kind, needs):
    absent = pytest.mark.skipif(util.find_spec(needs) is None, reason=f"needs {needs}")
    return pytest.param(kind, marks=absent, id=needs)


PACKAGES = [
    package(processes.Posterity, "posterity"),
    package(processes.ScikitLearn, "sklearn"),
    package(processes.GPy, "GPy"),
    package(tensor_processes.GPyTorch, "gpytorch"),
    package(tensor_processes.TinyGP, "tinygp"),
]
every_package = pytest.mark.parametrize("kind", PACKAGES)
pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours


@pytest.fixture(scope="module")
def data():
    return friedman.generate(np.random.default_rng(0), Size(60, 8, 20))


@pytest.fixture(scope="module")
def y(data):
    return (data.y - data.y.mean()) / data.y.std()


@pytest.fixture(scope="module")
def expected(data, y):
    """The log evidence at the parameters given, by its definition."""
    K = gaussian_process_evaluation.covariance(data.X, processes.GIVEN)
    return stats.multivariate_normal.logpdf(y, np.zeros(len(y)), K)


@every_package
def test_evidence_at_equal_parameters_is_equal_in_every_package(kind, data, y, expected):
    evaluate = kind(processes.GIVEN).evaluation(data.X, y)
    for _ in range(2):
        value, gradient = evaluate()
        assert value == pytest.approx(expected, rel=TOLERANCE)
        assert gradient.shape == (10,)
        assert np.all(np.abs(gradient) > 0.0)


def test_gradients_in_log_parameters_are_equal(data, y):
    kinds = (processes.Posterity, processes.ScikitLearn)
    ours, theirs = (kind(processes.GIVEN).evaluation(data.X, y)()[1] for kind in kinds)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)


def test_gradient_is_that_of_the_evidence_of_the_covariance(data, y):
    p = processes.GIVEN

    def log_density(theta):
        v, *l, s2 = np.exp(theta)
        K = gaussian_process_evaluation.covariance(data.X, processes.Parameters(v, tuple(l), s2))
        return stats.multivariate_normal.logpdf(y, np.zeros(len(y)), K)

    numerical = optimize.approx_fprime(
        np.log([p.variance, *p.length_scales, p.noise_variance]), log_density, 1e-6
    )
    _, gradient = processes.Posterity(p).evaluation(data.X, y)()
    np.testing.assert_allclose(gradient, numerical, rtol=1e-3, atol=1e-3)


@every_package
def test_predictions_at_equal_parameters_are_equal_in_every_package(kind, data, y, expected):
    fitted = kind(processes.GIVEN).fit(data.X, y)
    mean, std = fitted.predict(data.X_test)
    rows = np.vstack([data.X, data.X_test])
    K = gaussian_process_evaluation.covariance(rows, processes.GIVEN)
    n = len(y)
    W = np.linalg.solve(K[:n, :n], K[:n, n:])
    np.testing.assert_allclose(mean, W.T @ y, atol=1e-6)
    np.testing.assert_allclose(std, np.sqrt(np.diag(K[n:, n:] - K[n:, :n] @ W)), rtol=1e-6)
    assert fitted.facts() == {"log_evidence": pytest.approx(expected, rel=TOLERANCE)}


@every_package
def test_learning_raises_the_evidence(kind, data, y, expected):
    assert kind().fit(data.X, y).facts()["log_evidence"] > expected + 1.0


@every_package
def test_a_process_that_learns_cannot_be_evaluated_at_nothing(kind):
    with pytest.raises(ValueError, match="learns its parameters"):
        kind().given  # noqa: B018


def test_defaults_are_those_of_the_estimator(data, y):
    model = processes.PosterityDefaults().fit(data.X, y).model
    assert model.get_params() == type(model)().get_params()


def test_friedmans_function_needs_no_more_inputs_than_there_are():
    X = np.random.default_rng(0).uniform(size=(4, 7))
    a, b, c, d, e, *_ = X.T
    full = 10 * np.sin(np.pi * a * b) + 20 * (c - 0.5) ** 2 + 10 * d + 5 * e
    np.testing.assert_allclose(friedman.function(X), full)
    np.testing.assert_allclose(friedman.function(X[:, :2]), 10 * np.sin(np.pi * a * b) + 5.0 + 2.5)


def test_error_of_the_function_is_without_noise(data):
    found = friedman.score(data, (data.reference + 2.0, np.ones(20)))
    assert found["rmse_of_function"] == pytest.approx(2.0)
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((data.y_test - data.reference - 2) ** 2)))
    with pytest.raises(ValueError, match="no function"):
        friedman.score(replace(data, reference=None), (data.y_test, None))


def test_standardised_targets_are_seen_and_their_units_come_back(data):
    class Echo:
        def fit(self, X, y):
            assert y.mean() == pytest.approx(0.0, abs=1e-12)
            assert y.std() == pytest.approx(1.0)
            self.y = y
            return self

        def predict(self, X, return_std=False):
            return (self.y, np.ones(len(X))) if return_std else self.y

    fitted = standardised.fit(Echo(), data.X, data.y)
    mean, std = standardised.predict_with_std(fitted, data.X)
    np.testing.assert_allclose(mean, data.y)
    np.testing.assert_allclose(std, data.y.std())
    np.testing.assert_allclose(standardised.predict_mean(fitted, data.X)[0], data.y)


def test_an_evaluation_is_measured_beside_its_floor(tmp_path):
    ours, theirs, *_ = gaussian_process_evaluation.BENCHMARK.contenders
    task = gaussian_process_evaluation.BENCHMARK.tasks[0].tenth()
    small = replace(gaussian_process_evaluation.BENCHMARK, tasks=(task,), contenders=(ours, theirs))
    options = Options(repeats=1, threads=1, folder=tmp_path)
    result = harness.run(small, options, gaussian_process_evaluation.measure)
    first, second = result["tasks"][0]["runs"]
    assert first["log_evidence"] == pytest.approx(second["log_evidence"])
    for run in (first, second):
        assert run["times_floor"] == run["evaluation_wall_s"] / run["floor_wall_s"]
        assert run["matrices"] >= 0.0
    page = (tmp_path / "gaussian_process_evaluation.md").read_text()
    assert "| x floor | memory, N x N doubles | log evidence |" in page


def test_memory_of_an_evaluation_is_in_matrices(y):
    def hungry(model, X, y):
        return lambda: (float(np.ones((5, len(X), len(X))).sum()), y)

    rng = np.random.default_rng(0)
    data = Data(rng.uniform(size=(1_000, 8)), rng.normal(size=1_000), rng.uniform(size=(1, 8)), y)
    contender = replace(gaussian_process_evaluation.BENCHMARK.contenders[0], fit=hungry)
    measured = gaussian_process_evaluation._measure_evaluation(contender, data)
    assert measured["matrices"] == pytest.approx(5.0, abs=0.3)


def test_the_floor_inverts_the_matrix_it_is_given(data, monkeypatch):
    K = gaussian_process_evaluation.covariance(data.X, processes.GIVEN)
    before, inverses = K.copy(), []
    lapack = gaussian_process_evaluation.lapack
    dpotri = lapack.dpotri
    monkeypatch.setattr(lapack, "dpotri", lambda *a, **k: inverses.append(dpotri(*a, **k)[0]))
    assert gaussian_process_evaluation.floor(K) > 0.0
    np.testing.assert_array_equal(K, before)
    np.testing.assert_allclose(np.tril(inverses[0]), np.tril(np.linalg.inv(K)), atol=1e-9)


def test_learned_processes_tell_evidence_and_the_whole_time(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "in_new_process", lambda work, *a: work(*a))
    _, ours, theirs, *_ = gaussian_process.LEARNED.contenders
    task = replace(gaussian_process.LEARNED.tasks[0], size=Size(40, 3, 30))
    small = replace(gaussian_process.LEARNED, tasks=(task,), contenders=(ours, theirs))
    options = Options(repeats=1, threads=1, folder=tmp_path)
    harness.run(small, options, gaussian_process.measure)
    result = json.loads((tmp_path / "gaussian_process.json").read_text())
    runs = result["tasks"][0]["runs"]
    for run in runs:
        assert run["whole_wall_s"] == run["fit_wall_s"] + run["predict_wall_s"]
    assert runs[0]["log_evidence"] == pytest.approx(runs[1]["log_evidence"], abs=0.1)
