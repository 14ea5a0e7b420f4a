"""Every package is given the same classifier, and finds the same evidence."""

from dataclasses import replace
from importlib import util

import numpy as np
import pytest
from benchmarks import bananas, gaussian_process, harness, process_classifiers
from benchmarks import gaussian_process_classification as benchmark
from benchmarks.cases import Size
from benchmarks.options import Options
from support.for_each import for_each


@pytest.fixture(scope="module")
def data():
    return bananas.generate(np.random.default_rng(0), Size(80, 2, 100))


def test_one_model_has_one_evidence_and_one_optimum(data):
    ours = process_classifiers.posterity().fit(data.X, data.y)
    theirs = process_classifiers.scikit_learn().fit(data.X, data.y)
    found = process_classifiers.posterity_facts(ours)
    expected = process_classifiers.scikit_learn_facts(theirs)
    assert found["log_evidence"] == pytest.approx(expected["log_evidence"], abs=1e-3)
    assert found == pytest.approx(expected, rel=0.02)
    np.testing.assert_allclose(
        ours.predict_proba(data.X_test), theirs.predict_proba(data.X_test), atol=5e-3
    )


def test_one_against_the_rest_tells_no_evidence():
    data = bananas.generate(np.random.default_rng(0), Size(40, 2, 10), 3)
    model = process_classifiers.scikit_learn().fit(data.X, data.y)
    assert process_classifiers.scikit_learn_facts(model) == {}


@pytest.mark.skipif(util.find_spec("GPy") is None, reason="needs GPy")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "build", [process_classifiers.gpy_laplace, process_classifiers.gpy_propagation]
)
def test_gpy_predicts_nearly_the_same(build, data):
    ours = process_classifiers.posterity().fit(data.X, data.y).predict_proba(data.X_test)
    theirs = build().fit(data.X, data.y)
    np.testing.assert_allclose(theirs.predict_proba(data.X_test), ours, atol=0.15)
    assert theirs.facts()["log_evidence"] < 0.0


@for_each("classes", [2, 3])
def test_bananas_are_as_many_as_asked_and_no_line_parts_them(classes):
    data = bananas.generate(np.random.default_rng(0), Size(3_000, 2, 10), classes)
    shares = np.bincount(data.y.astype(int)) / len(data.y)
    np.testing.assert_allclose(shares, 1.0 / classes, atol=0.03)
    centers = np.array([data.X[data.y == k].mean(axis=0) for k in range(classes)])
    np.testing.assert_allclose(centers.mean(axis=0), 0.0, atol=0.05)
    distances = np.linalg.norm(data.X[:, None] - centers, axis=2)
    assert np.mean(distances.argmin(axis=1) != data.y) > 0.1


def test_the_page_tells_evidence_errors_and_the_whole_time(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "in_new_process", lambda work, *a: work(*a))
    ours, _, _, theirs, *_ = benchmark.TWO.contenders
    task = replace(benchmark.TWO.tasks[0], size=Size(60, 2, 50))
    small = replace(benchmark.TWO, tasks=(task,), contenders=(ours, theirs))
    options = Options(repeats=1, threads=1, folder=tmp_path)
    first, second = harness.run(small, options, gaussian_process.measure)["tasks"][0]["runs"]
    assert first["log_evidence"] == pytest.approx(second["log_evidence"], abs=1e-2)
    assert first["log_loss"] < second["log_loss"] + 1e-2  # averaged over hyperparameters
    page = (tmp_path / "gaussian_process_classification.md").read_text()
    assert "| errors, % | log loss | confidence error | calibration error | log evidence |" in page
