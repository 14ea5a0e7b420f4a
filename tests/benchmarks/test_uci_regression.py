"""Scores are of the test rows of each split, and the page sets their means beside others'."""

import json

import numpy as np
import pytest
from benchmarks import report, scores, uci_regression
from benchmarks.options import Options
from support.for_each import for_each

from posterity.process import GaussianProcessRegressor


@pytest.fixture
def problem(monkeypatch, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    y = 100.0 * X[:, 0] + rng.normal(size=40)
    order = np.array([rng.permutation(40) for _ in range(3)], dtype=np.uint16)
    np.savez(tmp_path / "toy.npz", X=X, y=y, train_idx=order[:, :30], test_idx=order[:, 30:])
    monkeypatch.setattr(uci_regression, "FOLDER", tmp_path)
    return uci_regression.Problem("toy", None, (("somebody", 1.25, -2.0),))


def test_a_split_learns_from_its_training_rows_alone(problem):
    data = problem.split(1)
    model = GaussianProcessRegressor().fit(data.X, data.y)
    expected = scores.predictive(data, model.predict(data.X_test, return_std=True))
    found = uci_regression.fit_split(problem, 1)
    assert len(data.y) == 30
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    stored = np.load(uci_regression.FOLDER / "toy.npz")
    np.testing.assert_array_equal(data.y_test, stored["y"][stored["test_idx"][1]])


def test_mean_and_standard_error():
    found = uci_regression.mean_and_error([1.0, 2.0, 6.0])
    assert found["mean"] == pytest.approx(3.0)
    assert found["standard_error"] == pytest.approx(np.std([1, 2, 6], ddof=1) / np.sqrt(3))
    assert uci_regression.mean_and_error([1.0]) == {"mean": 1.0, "standard_error": None}


def test_the_page_shows_means_beside_figures_of_others(problem, tmp_path):
    uci_regression.run(Options(folder=tmp_path), splits=3, problems=[problem])
    lines = (tmp_path / "uci_regression.md").read_text().splitlines()
    assert "## toy, 3 splits" in lines
    assert "| somebody | 1.25 | -2 | - | - |" in lines
    (task,) = json.loads((tmp_path / "uci_regression.json").read_text())["tasks"]
    rmse = [split["rmse"] for split in task["splits"]]
    assert len(rmse) == 3
    (row,) = [line for line in lines if line.startswith("| posterity |")]
    assert row.split(" | ")[1].startswith(f"{report.number(np.mean(rmse), digits=4)} +- ")


def test_inducing_points_reach_the_model():
    assert uci_regression.Problem("toy", 5).model().inducing_points == 5
    assert uci_regression.Problem("toy", 5).settings == ", inducing_points=5"


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(uci_regression, "FOLDER", tmp_path / "absent")
    uci_regression.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not uci_regression.FOLDER.exists(), reason="the data are not here")
@for_each("problem", uci_regression.PROBLEMS, ids=lambda problem: problem.name)
def test_sets_have_twenty_splits_of_nine_tenths(problem):
    data = np.load(uci_regression.FOLDER / f"{problem.name}.npz")
    assert len(data["train_idx"]) == len(data["test_idx"]) == uci_regression.SPLITS
    for k in (0, uci_regression.SPLITS - 1):
        rows = np.concatenate([data["train_idx"][k], data["test_idx"][k]])
        assert np.array_equal(np.sort(rows), np.arange(len(data["y"])))
        assert len(problem.split(k).y) / len(rows) == pytest.approx(0.9, abs=0.01)
