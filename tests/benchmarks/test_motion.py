"""Hidden joints are not seen by any model, and errors are in degrees."""

import json

import numpy as np
import pytest
from benchmarks import motion, motion_models
from benchmarks.options import Options
from scipy import stats
from support.for_each import for_each

pytestmark = pytest.mark.filterwarnings("ignore:.*iterations were not enough")
LINEAR = [motion_models.Components, motion_models.Ridge]
SIMPLE = [motion_models.MeanPose, motion_models.Neighbour, *LINEAR]


def recording(rng, n):
    """Angles that follow one phase, in the columns of a recording."""
    phase = rng.uniform(0.0, 6.0, n)
    waves = np.stack([np.sin(phase), np.cos(phase)], axis=1)
    return 20.0 * waves @ np.random.default_rng(5).normal(size=(2, 62)) + rng.normal(size=(n, 62))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "cmu35_walk_jog.npz",
        Y=recording(rng, 90),
        seq=np.repeat([0, 1, 2], 30).astype(np.uint8),
        Y_test=recording(rng, 30),
        seq_test=np.repeat([0, 1], 15).astype(np.uint8),
        taylor_scale=np.full((1, 59), 0.1),
        taylor_bias=np.full((1, 59), 2.0),
    )
    monkeypatch.setattr(motion, "FOLDER", tmp_path)
    monkeypatch.setattr(motion.harness, "in_new_process", lambda work, *a: work(*a))
    return tmp_path


def hide(Y, columns):
    H = Y.copy()
    H[:, columns] = np.nan
    return H


def test_hidden_joints_are_a_leg_and_all_above_it():
    assert len(motion.HIDDEN["right leg"]) == 7
    assert len(motion.HIDDEN["upper body"]) == 36
    assert not set(motion.HIDDEN["right leg"]) & set(motion.HIDDEN["upper body"])
    assert max(motion.HIDDEN["upper body"]) == 58


def test_angles_come_back_in_degrees(folder):
    data = motion.frames()
    with np.load(folder / "cmu35_walk_jog.npz") as file:
        angles = file["Y_test"][:, 13:20]
    columns = motion.HIDDEN["right leg"]
    np.testing.assert_allclose(data.Y_test[:, columns] * data.degrees[columns] + 2.0, angles)
    built = motion_models.MeanPose().fit(data.Y, data.groups)
    found = motion._fill_columns(built, data, columns)
    with np.load(folder / "cmu35_walk_jog.npz") as file:
        error = (angles - file["Y"][:, 13:20].mean(axis=0))[:15]
    assert found["first"]["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)))


def test_scores_are_those_of_the_normal():
    rng = np.random.default_rng(0)
    deviation = rng.uniform(0.5, 2.0, size=(400, 5))
    error = deviation * rng.normal(size=(400, 5))
    found = motion.score_errors(error, deviation)
    assert found["log_score"] == pytest.approx(stats.norm.logpdf(error, 0.0, deviation).mean())
    assert found["coverage_90"] == pytest.approx(0.9, abs=0.03)
    assert found["coverage_50"] == pytest.approx(0.5, abs=0.04)


@for_each("kind", LINEAR)
def test_linear_ways_fill_in_linear_frames_and_know_how_well(kind):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3, 12))
    Y = rng.normal(size=(2300, 3)) @ W + 0.1 * rng.normal(size=(2300, 12))
    built = kind().fit(Y[:300], np.zeros(300))
    mean, deviation = built.complete(hide(Y[300:], [2, 7]), np.zeros(2000))
    z = (Y[300:][:, [2, 7]] - mean) / deviation
    assert np.std(z) == pytest.approx(1.0, abs=0.1)
    assert np.mean(deviation) < 0.2


def test_components_are_the_conditional_normal():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(200, 6))
    built = motion_models.Components().fit(Y, np.zeros(200))
    row = Y[:1]
    mean, deviation = built.complete(hide(row, [0, 4]), np.zeros(1))
    P = np.linalg.inv(built.covariance)  # by precisions, an independent way
    away, seen = [0, 4], [1, 2, 3, 5]
    C = np.linalg.inv(P[np.ix_(away, away)])
    expected = built.mean[away] - C @ P[np.ix_(away, seen)] @ (row[0, seen] - built.mean[seen])
    np.testing.assert_allclose(mean[0], expected)
    np.testing.assert_allclose(deviation[0], np.sqrt(np.diag(C)))


def test_components_and_noise_have_the_variance_of_the_frames():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(200, 6))
    built = motion_models.Components().fit(Y, np.zeros(200))
    assert np.trace(built.covariance) == pytest.approx(np.trace(np.cov(Y.T)))


def test_the_neighbour_is_nearest_in_what_is_seen():
    Y = np.array([[0.0, 1.0, 10.0], [5.0, 5.0, 20.0], [9.0, 9.0, 30.0]])
    built = motion_models.Neighbour().fit(Y, np.zeros(3))
    mean, deviation = built.complete(np.array([[8.0, 9.0, np.nan]]), np.zeros(1))
    assert mean.tolist() == [[30.0]]
    assert deviation is None


@pytest.mark.parametrize("kind", SIMPLE)
def test_what_is_hidden_is_not_seen(kind, folder):
    data = motion.frames()
    columns = motion.HIDDEN["upper body"]
    built = kind().fit(data.Y, data.groups)
    mean, _ = built.complete(hide(data.Y_test, columns), data.groups_test)
    assert mean.shape == (30, len(columns))
    assert np.all(np.isfinite(mean))


@pytest.mark.parametrize("moving", [False, True], ids=["frames", "motions"])
@pytest.mark.parametrize("inference", ["map", "variational"])
def test_latent_variables_fill_in_better_than_the_mean(inference, moving, folder):
    data = motion.frames()
    columns = motion.HIDDEN["right leg"]
    H = hide(data.Y_test, columns)
    truth = data.Y_test[:, columns]
    way = motion_models.Latent(2, 15, inference=inference, moving=moving, max_iter=30)
    mean, deviation = way.fit(data.Y, data.groups).complete(H, data.groups_test)
    plain, _ = motion_models.MeanPose().fit(data.Y, data.groups).complete(H, data.groups_test)
    assert np.all(deviation > 0.0)
    assert np.mean((mean - truth) ** 2) < 0.5 * np.mean((plain - truth) ** 2)


def test_the_page_has_a_table_for_each_set_of_joints(folder):
    some = [model for model in motion.MODELS if "GPLVM" not in model.name]
    motion.run(Options(folder=folder, threads=1), some)
    (task,) = json.loads((folder / "motion.json").read_text())["tasks"]
    assert [run["contender"] for run in task["runs"]] == [model.name for model in some]
    page = (folder / "motion.md").read_text()
    assert page.count("| nearest neighbour |") == 2
    (line, _) = [line for line in page.splitlines() if line.startswith("| nearest neighbour")]
    assert line.split(" | ")[3:9] == ["-"] * 6  # it tells no deviations


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(motion, "FOLDER", tmp_path / "absent")
    motion.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not motion.FOLDER.exists(), reason="the data are not here")
def test_frames_are_those_of_the_literature():
    data = motion.frames()
    assert data.Y.shape == (2644, 59)
    assert data.Y_test.shape == (169, 59)
    assert len(np.unique(data.groups)) == 31
    assert np.abs(data.Y[:, motion.FIRST_ANGLE :].mean(axis=0)).max() < 1.0
