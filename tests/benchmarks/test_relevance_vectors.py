"""Every package has the same kernel and model, and one function judges what it found."""

from dataclasses import replace
from importlib import util

import numpy as np
import pytest
from benchmarks import bananas, friedman, harness, relevance_vectors, streamed_vectors
from benchmarks import relevance_machines as machines
from benchmarks.cases import Size
from benchmarks.options import Options

pytestmark = pytest.mark.filterwarnings("ignore")  # of packages that are not ours


def package(kind, needs):
    absent = pytest.mark.skipif(util.find_spec(needs) is None, reason=f"needs {needs}")
    return pytest.param(kind, marks=absent, id=kind.__name__)


needs_fastrvm = pytest.mark.skipif(util.find_spec("fastrvm") is None, reason="needs fastrvm")
REGRESSORS = [
    package(machines.PosterityRegressor, "posterity"),
    package(machines.PosterityWithOffset, "posterity"),
    package(machines.FastRegressor, "fastrvm"),
    package(machines.AlternatingRegressor, "sklearn_rvm"),
    package(machines.PeerDetermination, "sklearn"),
]
CLASSIFIERS = [
    package(machines.PosterityClassifier, "posterity"),
    package(machines.FastClassifier, "fastrvm"),
    package(machines.AlternatingClassifier, "sklearn_rvm"),
    package(machines.PeerClassifier, "sklearn"),
]


@pytest.fixture(scope="module")
def data():
    return friedman.generate(np.random.default_rng(0), Size(60, 8, 40))


@pytest.fixture(scope="module")
def classes():
    return bananas.generate(np.random.default_rng(0), Size(50, 2, 200))


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors_keep_some_vectors_and_predict_with_deviations(kind, data):
    machine = kind().fit(data.X, data.y)
    mean, std = machine.predict(data.X_test, return_std=True)
    assert mean.shape == std.shape == (40,)
    assert np.sqrt(np.mean((mean - data.reference) ** 2)) < 0.9 * data.reference.std()
    assert 1.0 <= machines.facts(machine)["vectors"] <= 60.0


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classifiers_keep_some_vectors_and_tell_probabilities(kind, classes):
    machine = kind().fit(classes.X, classes.y)
    P = machine.predict_proba(classes.X_test)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(P.argmax(axis=1) != classes.y_test) < 0.2
    assert 1.0 <= machines.facts(machine)["vectors"] <= 50.0


@pytest.mark.parametrize("kind", [machines.PosterityRegressor, machines.PosterityClassifier])
def test_our_evidence_is_the_one_we_tell(kind, data, classes):
    used = data if kind is machines.PosterityRegressor else classes
    machine = kind().fit(used.X, used.y)
    assert machine.facts()["log_evidence"] == pytest.approx(machine.model.log_evidence_, abs=1e-5)


@needs_fastrvm
def test_evidence_of_fastrvm_is_its_own_but_for_a_constant(data, classes):
    machine = machines.FastRegressor().fit(data.X, data.y)
    expected = machine.model.scores_[-1] - 0.5 * 60 * np.log(2.0 * np.pi)
    assert machine.facts()["log_evidence"] == pytest.approx(expected, abs=1e-6)
    machine = machines.FastClassifier().fit(classes.X, classes.y)
    expected = machine.model.scores_[-1]
    assert machine.facts()["log_evidence"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.skipif(util.find_spec("sklearn_rvm") is None, reason="needs sklearn-rvm")
def test_dividing_the_kernel_does_not_change_the_evidence(data):
    machine = machines.AlternatingRegressor().fit(data.X, data.y)
    found, model = machine.facts(), machine.model
    model.Phi_, model.alpha_ = model.Phi_ * 7.0, model.alpha_ * 49.0
    assert machine.facts() == pytest.approx(found)


def test_the_offset_is_of_another_model_and_tells_no_evidence(data):
    machine = machines.PosterityWithOffset().fit(data.X, data.y)
    assert machine.model.fit_intercept
    assert "log_evidence" not in machine.facts()


def test_support_vectors_tell_how_many_they_are(data):
    machine = machines.PeerRegressor().fit(data.X, data.y)
    assert machine.facts() == {"vectors": float(len(machine.model.support_))}
    assert machine.predict(data.X_test).shape == (40,)


def page_of(benchmark, columns, tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "in_new_process", lambda work, *a: work(*a))
    task = replace(benchmark.tasks[0], size=Size(40, columns, 30))
    contenders = (benchmark.contenders[0], benchmark.contenders[-1])
    small = replace(benchmark, tasks=(task,), contenders=contenders)
    harness.run(small, Options(repeats=1, threads=1, folder=tmp_path))
    return (tmp_path / f"{benchmark.name}.md").read_text()


def test_the_page_of_functions_tells_vectors_and_evidence(tmp_path, monkeypatch):
    page = page_of(relevance_vectors.REGRESSION, 8, tmp_path, monkeypatch)
    assert "| RMSE of the function | 90 % coverage | vectors | log evidence |" in page
    assert "RBF(1)" in page


def test_the_page_of_classes_tells_vectors_and_evidence(tmp_path, monkeypatch):
    page = page_of(relevance_vectors.CLASSES, 2, tmp_path, monkeypatch)
    assert "| calibration error | vectors | log evidence |" in page
    assert "RBF(0.5)" in page


def test_streamed_vectors_tell_memory(tmp_path, monkeypatch):
    page = page_of(streamed_vectors.BENCHMARK, 8, tmp_path, monkeypatch)
    assert "| whole process, MiB |" in page
    assert "1.2, 18.6 GiB" in page


def test_the_slow_packages_have_few_rows():
    for benchmark in (relevance_vectors.FEW_ROWS, relevance_vectors.FEW_ROWS_OF_CLASSES):
        assert max(task.size.rows for task in benchmark.tasks) <= 500
