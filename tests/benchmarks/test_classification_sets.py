"""Sets are split as the literature does, and every model is scored on the test rows alone."""

import json

import numpy as np
import pytest
from benchmarks import classification_sets, probabilities, real_sets, set_classifiers
from benchmarks.cases import Data
from benchmarks.options import Options
from sklearn.linear_model import LogisticRegression as Peer
from support.for_each import for_each

from posterity.linear import BayesianLogisticRegression

MODELS = (
    set_classifiers.Model("ours", BayesianLogisticRegression),
    set_classifiers.Model("theirs", Peer),
)
here = pytest.mark.skipif(not real_sets.FOLDER.exists(), reason="the data are not here")


def toy(k):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.logistic(size=120) > 0.0).astype(float)
    return Data(X[:80], y[:80], X[80:], y[80:])


def test_scores_are_of_the_test_rows_of_the_split():
    found = classification_sets.fit_split(toy, 1, MODELS[0], 1)
    data = toy(1)
    model = BayesianLogisticRegression().fit(data.X, data.y)
    expected = probabilities.score(data, probabilities.predict(model, data.X_test))
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert found["log_evidence"] == pytest.approx(model.log_evidence_)


def test_the_page_has_means_over_splits_and_figures_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(real_sets, "FOLDER", tmp_path)
    monkeypatch.setattr(classification_sets.harness, "in_new_process", lambda work, *a: work(*a))
    problem = classification_sets.Problem("toy", "Toy", toy, MODELS, 3, (("somebody", "9.5"),))
    classification_sets.run(Options(folder=tmp_path, threads=1), 2, [problem])
    (task,) = json.loads((tmp_path / "classification_sets.json").read_text())["tasks"]
    order = [(run["split"], run["contender"]) for run in task["runs"]]
    assert order == [(0, "ours"), (0, "theirs"), (1, "ours"), (1, "theirs")]
    errors = [run["error_percent"] for run in task["runs"] if run["contender"] == "ours"]
    assert task["summary"]["ours"]["error_percent"]["mean"] == pytest.approx(np.mean(errors))
    lines = (tmp_path / "classification_sets.md").read_text().splitlines()
    assert "## Toy: 80 x 2, 40 test rows, 2 splits" in lines
    assert "| somebody | 9.5 | - | - | - | - | - | - |" in lines


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(real_sets, "FOLDER", tmp_path / "absent")
    classification_sets.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_inducing_points_reach_the_model():
    model = set_classifiers.many_rows(7)[0]
    assert model.build().inducing_points == 7
    assert "7 points" in model.name


def test_every_peer_can_be_fitted_and_tells_its_evidence_where_it_has_one():
    data = toy(0)
    for models in (set_classifiers.two_classes(), set_classifiers.two_classes(pixels=True)):
        *_, process, logistic, machine = models
        found = set_classifiers.evidence(process.build().fit(data.X, data.y))
        assert -80.0 < found["log_evidence"] < 0.0
        for model in (logistic, machine):
            fitted = model.build().fit(data.X, data.y)
            assert set_classifiers.evidence(fitted) == {}
            assert fitted.predict_proba(data.X_test).shape == (40, 2)


@here
@for_each(
    ("name", "rows", "columns", "test_rows", "classes"),
    [
        ("ripley", 250, 2, 1000, 2),
        ("pima", 200, 7, 332, 2),
        ("usps35", 1214, 256, 326, 2),
        ("usps35mixed", 767, 256, 773, 2),
        ("vowel", 528, 9, 462, 11),
        ("satellite", 4435, 36, 2000, 6),
        ("usps", 7291, 256, 2007, 10),
    ],
)
def test_sets_have_the_sizes_of_the_literature(name, rows, columns, test_rows, classes):
    (problem,) = [p for p in classification_sets.problems() if p.name == name]
    data = problem.read(0)
    assert data.X.shape == (rows, columns)
    assert data.X_test.shape == (test_rows, columns)
    np.testing.assert_array_equal(np.unique(data.y), np.arange(classes))
    assert set(np.unique(data.y_test)) <= set(range(classes))


@here
def test_splitting_anew_keeps_every_row_once():
    stored, mixed = real_sets.threes_and_fives(0), real_sets.threes_and_fives_mixed(1)
    sums = [np.sort(np.vstack([d.X, d.X_test]).sum(axis=1)) for d in (stored, mixed)]
    np.testing.assert_allclose(*sums)
    assert not np.array_equal(mixed.y, real_sets.threes_and_fives_mixed(2).y)
