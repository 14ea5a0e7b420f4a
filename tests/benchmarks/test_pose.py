"""Distances are of joints, and the page tells how many frames a model looks at."""

import json

import numpy as np
import pytest
from benchmarks import pose
from benchmarks.options import Options


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.ones(5), size=80)
    Y = np.hstack([np.zeros((80, 3)), X @ rng.normal(size=(5, 6)), np.sin(6.0 * X[:, :3])])
    Y[:, 3:] += 0.01 * rng.normal(size=(80, 9))
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    np.savez(
        tmp_path / "agarwal_triggs_silhouette.npz",
        **{"X_train": X[:60], "Y_train": Y[:60], "X_test": X[60:], "Y_test": Y[60:]},
    )
    monkeypatch.setattr(pose, "FOLDER", tmp_path)
    monkeypatch.setattr(pose.harness, "in_new_process", lambda work, *a: work(*a))
    return tmp_path


def test_every_model_is_fitted_and_told_what_it_keeps(folder):
    pose.run(Options(folder=folder, threads=1))
    (task,) = json.loads((folder / "pose.json").read_text())["tasks"]
    found = {run["contender"]: run for run in task["runs"]}
    assert list(found) == [model.name for model in pose.MODELS]
    for name, run in found.items():
        if name.startswith("posterity, roots"):
            assert 0 < run["kept"] < 60
            assert run["joint_distance"] < found["mean pose"]["joint_distance"]
    assert found["1 nearest neighbour"]["kept"] == 60
    assert found["linear"]["kept"] == 0
    lines = (folder / "pose.md").read_text().splitlines()
    assert lines[0] == "# Human poses from silhouettes: 60 x 5, 12 outputs, 20 test frames"
    assert sum(line.startswith("| 1 nearest neighbour") for line in lines) == 2


def test_the_nearest_neighbours_distance_is_by_hand(folder):
    data = pose.frames()
    near = np.argmin(np.linalg.norm(data.X_test[:, None] - data.X, axis=2), axis=1)
    gaps = (data.y[near] - data.y_test).reshape(20, 4, 3)
    (model,) = [m for m in pose.MODELS if m.name == "1 nearest neighbour"]
    found = pose.fit_step(model, 1, 1)["joint_distance"]
    assert found == pytest.approx(np.sqrt((gaps**2).sum(axis=2)).mean())


def test_a_rehearsal_takes_fewer_frames(folder):
    assert len(pose.frames(10).y) == 6


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(pose, "FOLDER", tmp_path / "absent")
    pose.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not pose.FOLDER.exists(), reason="the data are not here")
def test_frames_are_those_of_the_literature():
    data = pose.frames()
    assert data.X.shape == (1927, 100)
    assert data.y.shape == (1927, 3 * pose.JOINTS)
    np.testing.assert_allclose(data.X.sum(axis=1), 100.0, rtol=1e-4)
    mean = pose.joint_distance(np.tile(data.y.mean(axis=0), (418, 1)), data.y_test)
    assert mean == pytest.approx(6.34, abs=0.01)
