"""Errors are counted in two dimensions, and the page tells them of every model."""

import json
from importlib import util

import numpy as np
import pytest
from benchmarks import oil_flow
from benchmarks.options import Options
from sklearn.neighbors import KNeighborsClassifier

pytestmark = pytest.mark.filterwarnings("ignore")  # few steps, and packages that are not ours
OURS = [model for model in oil_flow.MODELS if model.needs is None]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], 14)
    X = 3.0 * rng.normal(size=(3, 12))[kinds] + 0.3 * rng.normal(size=(42, 12))
    np.savez(tmp_path / "oil_flow100.npz", X=X, y=kinds.astype(np.int8))
    monkeypatch.setattr(oil_flow, "FOLDER", tmp_path)
    monkeypatch.setattr(oil_flow.harness, "in_new_process", lambda work, *a: work(*a))
    return tmp_path


def test_errors_are_those_of_a_neighbour_that_is_not_the_row_itself():
    rng = np.random.default_rng(0)
    points, kinds = rng.normal(size=(30, 2)), rng.integers(3, size=30).astype(float)
    wrong = 0
    for i in range(30):
        others = np.arange(30) != i
        model = KNeighborsClassifier(1).fit(points[others], kinds[others])
        wrong += int(model.predict(points[i : i + 1])[0] != kinds[i])
    assert oil_flow.neighbour_errors(points, kinds) == wrong


def test_dimensions_are_in_units_of_their_length_scales():
    points = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 2.0, 0.5]
    lengths = np.array([10.0, 4.0, 0.25])
    relevances = np.var(points, axis=0) / lengths**2
    placed = oil_flow.most_relevant(points, relevances / relevances.max())
    expected = points[:, [2, 1]] / lengths[[2, 1]]
    ratio = placed.points / expected
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert placed.dimensions == 2


def test_kinds_far_apart_are_told_apart_by_every_model(folder):
    oil_flow.run(Options(folder=folder, threads=1, quick=True), OURS)
    (task,) = json.loads((folder / "oil_flow.json").read_text())["tasks"]
    assert [run["contender"] for run in task["runs"]] == [model.name for model in OURS]
    for run in task["runs"]:
        assert run["errors"] == 0, run["contender"]
        assert 1 <= run["dimensions"] <= oil_flow.MOST_DIMENSIONS
    assert "| posterity PCA | 0 | 2 |" in (folder / "oil_flow.md").read_text()


def test_a_package_that_is_absent_is_left_out_and_named(folder):
    absent = oil_flow.Model("another", oil_flow.linear, needs="no_such_package")
    oil_flow.run(Options(folder=folder, threads=1), [oil_flow.MODELS[0], absent])
    page = (folder / "oil_flow.md").read_text()
    assert "Left out, because not installed: another." in page
    assert "| another" not in page


@pytest.mark.skipif(util.find_spec("GPy") is None, reason="needs GPy")
def test_peers_place_rows_in_two_dimensions(folder):
    Y, _ = oil_flow.rows()
    for model in oil_flow.MODELS[len(OURS) :]:
        assert model.place(Y, 3).points.shape == (42, 2)


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(oil_flow, "FOLDER", tmp_path / "absent")
    oil_flow.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not oil_flow.FOLDER.exists(), reason="the data are not here")
def test_principal_components_make_the_errors_of_the_literature():
    Y, kinds = oil_flow.rows()
    assert Y.shape == (100, 12)
    assert oil_flow.neighbour_errors(oil_flow.linear(Y, 0).points, kinds) == 20
