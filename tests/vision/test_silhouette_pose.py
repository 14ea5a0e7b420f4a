"""Poses from silhouettes: two modes, smoothing by brute force, calibration, files, refusals."""

import itertools

import numpy as np
import pytest

import posterity
from posterity import vision
from posterity.vision import ShapeContexts, SilhouettePose, bodies, pose_mixtures
from posterity.vision.pose_experts import PoseExperts, find_whitening
from posterity.vision.pose_mixtures import measure_bend, weigh_paths
from posterity.vision.silhouette_pose import _find_successors


def make_turning(n, rng):
    """Histograms that show the height of a turning hand, but not on which side it is."""
    phase = 0.35 * np.arange(n) + rng.uniform(0.0, 6.0)
    height = np.cos(phase) + 0.01 * rng.normal(size=n)
    centres = np.linspace(-1.2, 1.2, 8)
    histograms = np.exp(-((height[:, None] - centres) ** 2) / 0.3)
    poses = np.column_stack([np.cos(phase), np.sin(phase)])
    return histograms, poses


@pytest.fixture(scope="module")
def turning():
    rng = np.random.default_rng(0)
    X, y = make_turning(400, rng)
    return SilhouettePose(8, n_columns=40).fit(X, y), make_turning(60, rng)


@pytest.mark.full
def test_an_ambiguous_silhouette_has_two_modes(turning):
    model, (X, y) = turning
    sideways = np.abs(y[:, 1]) > 0.9
    modes = model.predict_modes(X[sideways])
    np.testing.assert_allclose(modes.probability.sum(axis=1), 1.0)
    for k, truth in enumerate(y[sideways]):
        likely = modes.list_probable(k, 0.2)[1]
        assert len(likely) == 2
        assert np.linalg.norm(likely - truth, axis=1).min() < 0.3
        assert likely[0, 1] * likely[1, 1] < 0.0  # one on each side, not their average


def test_a_video_tells_the_modes_apart(turning):
    model, (X, y) = turning
    alone = np.linalg.norm(model.predict(X) - y, axis=1).mean()
    together = np.linalg.norm(model.predict(X, video=True) - y, axis=1).mean()
    assert together < 0.25 * alone
    assert model.video_log_score_ > model.log_score_


def test_intervals_hold_what_they_say(turning):
    model, (X, y) = turning
    for video in (False, True):
        low, high = model.predict_dist(X, video=video).interval(0.9)
        assert 0.8 <= np.mean((low <= y) & (y <= high)) <= 1.0


def test_the_mean_is_that_of_the_distribution_and_frames_alone_do_not_depend_on_others(turning):
    model, (X, _) = turning
    answer = model.predict_dist(X[:5])
    np.testing.assert_allclose(answer.mean(), model.predict(X[:5]))
    np.testing.assert_allclose(model.predict(X[3:4]), model.predict(X)[3:4])
    np.testing.assert_allclose(model.predict(X[3:4], video=True).shape, (1, 2))


def test_chains_sum_over_all_paths():
    rng = np.random.default_rng(1)
    log_weights, poses, speeds = (rng.normal(size=(5, 3, *more)) for more in ((), (2,), (2,)))

    def bound(square):
        return np.exp(-0.5 * square / 0.9**2) + 1e-4

    expected = np.zeros((5, 3))
    for path in itertools.product(range(3), repeat=5):
        places = poses[np.arange(5), path]
        p = np.exp(log_weights[np.arange(5), path].sum())
        expected_changes = speeds[np.arange(5), path][:-1]
        for miss in np.diff(places, axis=0) - expected_changes:
            p *= bound(miss @ miss)
        for change in np.diff(places, 2, axis=0):
            p *= bound(change @ change)
        expected[np.arange(5), path] += p
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(weigh_paths(log_weights, poses, speeds, 0.9)), expected)
    for n in (1, 2):
        found = weigh_paths(log_weights[:n], poses[:n], speeds[:n], 0.9)
        np.testing.assert_allclose(np.exp(found).sum(axis=1), 1.0)


def test_motion_is_measured_where_frames_follow_each_other():
    poses = np.array([[0.0], [1.0], [3.0], [50.0], [51.0], [52.0]])
    follows = np.array([True, True, False, True, True])
    np.testing.assert_allclose(measure_bend(poses, follows), np.sqrt(0.5))
    assert measure_bend(poses, np.array([True, False, True, False, True])) == 0.0


def test_scales_maximise_the_density_of_coordinates():
    rng = np.random.default_rng(2)
    poses = rng.normal(size=(300, 3, 2))
    weights = rng.dirichlet(np.ones(3), 300)
    chosen = np.array([rng.choice(3, p=w) for w in weights])
    doubt = np.repeat([0.0, 1.0], 150)  # the latter half has three times the deviation
    noise = rng.normal(size=(300, 2)) * [0.1, 0.5] * np.sqrt(1.0 + 8.0 * doubt)[:, None]
    truth = poses[np.arange(300), chosen] + noise
    mixture = pose_mixtures.PoseMixture(np.log(weights), poses, 0.0 * poses, doubt)
    scale, score = mixture.learn_scale(truth, growth=8.0)
    np.testing.assert_allclose(scale, [0.1, 0.5], rtol=0.35)
    answer = mixture.list_poses(scale, 8.0, (2,)).to_distribution()
    np.testing.assert_allclose(answer.logpdf(truth).mean(), score, atol=0.01)
    for factor, growth in ((0.8, 8.0), (1.25, 8.0), (1.0, 2.0)):
        other = mixture.list_poses(scale * factor, growth, (2,)).to_distribution()
        assert other.logpdf(truth).mean() < answer.logpdf(truth).mean()


def test_whitened_noise_between_groups_has_unit_variance():
    rng = np.random.default_rng(3)
    poses, groups = rng.normal(size=(600, 1)), np.repeat(np.arange(60), 10)
    style = rng.normal(size=(60, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    features = style[groups] + 1e-3 * rng.normal(size=(600, 2))
    factor = find_whitening(features, poses, groups, 0.0, rng)
    np.testing.assert_allclose(np.cov((features @ factor).T), np.eye(2), atol=0.1)


def test_doubt_widens_modes_but_does_not_join_them():
    poses = np.tile([[[0.0], [1.0]]], (2, 1, 1))
    log_weights, doubt = np.log(np.full((2, 2), 0.5)), np.array([0.0, 1.0])
    mixture = pose_mixtures.PoseMixture(log_weights, poses, 0.0 * poses, doubt)
    modes = mixture.find_modes(np.array([0.1]), 99.0, (1,))
    np.testing.assert_allclose(modes.probability, 0.5)
    np.testing.assert_allclose(modes.standard_deviations[..., 0], [[0.1, 0.1], [1.0, 1.0]])


def test_one_expert_is_a_ridge_regression_on_the_kernel():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
    experts = PoseExperts.learn(
        X,
        y,
        2.0 * y,
        n_experts=1,
        n_columns=50,
        n_components=3,
        shrinkage=0.1,
        penalty=0.2,
        rng=rng,
    )
    rows = (X - experts.mean) @ experts.basis
    kernel = np.exp(-0.5 * ((rows[:, None] - rows) ** 2).sum(axis=2) / experts.width**2)
    inverse = np.linalg.inv(kernel + 0.2 * np.eye(50))
    columns = experts.measure_columns(X)
    found, speeds = (one[:, 0] for one in experts.place_poses(columns, np.zeros((50, 1), int)))
    np.testing.assert_allclose(speeds, 2.0 * found, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        found, y.mean(axis=0) + kernel @ inverse @ (y - y.mean(axis=0)), atol=1e-3
    )
    variance = 1.0 - np.diagonal(kernel @ inverse @ kernel)
    np.testing.assert_allclose(experts.measure_doubt(columns), variance, atol=1e-3)
    far = experts.measure_columns(X + 1e3)
    np.testing.assert_allclose(experts.measure_doubt(far), 1.0)
    np.testing.assert_array_equal(experts.weigh(columns), 0.0)


def test_the_gate_gives_probabilities_of_the_clusters_of_poses():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 1))
    y = np.sign(X + 0.3 * rng.normal(size=X.shape)) + 0.01 * rng.normal(size=X.shape)
    experts = PoseExperts.learn(
        X,
        y,
        0.0 * y,
        n_experts=2,
        n_columns=20,
        n_components=1,
        shrinkage=0.1,
        penalty=0.1,
        rng=rng,
    )
    up = int(np.argmax(experts.offsets[:, 0]))
    p = np.exp(experts.weigh(experts.measure_columns(np.array([[-1.5], [0.0], [1.5]]))))[:, up]
    assert p[0] < 0.05
    assert 0.2 < p[1] < 0.8
    assert p[2] > 0.95


def test_rows_follow_where_time_goes_on_by_a_step_in_a_group():
    follows = _find_successors([0.0, 0.5, 1.0, 7.0, 7.5], None, 5)
    assert follows.tolist() == [True, True, False, True]
    assert _find_successors(None, np.array([0, 0, 1]), 3).tolist() == [True, False]
    assert not _find_successors([0, 0, 0], None, 3).any()


@pytest.fixture(scope="module")
def people():
    sampler = bodies.VideoSampler(bodies.Camera(60, 60, 75.0), turn=(70.0, 110.0))
    rng = np.random.default_rng(0)
    walks = [walk for walk in vision.datasets.motions() if walk.description == "walk"][:3]
    videos = [sampler.render(walk, rng, frames=24) for walk in walks]
    masks = np.concatenate([video.masks for video in videos])
    joints = np.concatenate([video.joints for video in videos])
    groups = np.repeat(np.arange(3), [len(video.masks) for video in videos])
    model = SilhouettePose(6, contexts=ShapeContexts(20, n_points=60), grid_shape=(6, 4))
    return model.fit(masks, joints, groups=groups), masks, joints


@pytest.mark.full
def test_poses_of_rendered_people_are_learned(people):
    model, masks, joints = people
    found = model.predict(masks, video=True)
    assert found.shape == joints.shape
    error = np.linalg.norm(found - joints, axis=2).mean()
    assert error < 0.5 * np.linalg.norm(joints.mean(axis=0) - joints, axis=2).mean()
    assert model.predict(masks[0]).shape == (1, 16, 3)  # one mask


def test_a_model_is_the_same_after_a_file(people, tmp_path):
    model, masks, _ = people
    posterity.save(model, tmp_path / "pose.posterity")
    again = posterity.load(tmp_path / "pose.posterity")
    for video in (False, True):
        np.testing.assert_array_equal(
            again.predict(masks[:4], video=video), model.predict(masks[:4], video=video)
        )


def test_what_cannot_be_learned_from_is_refused(turning):
    X, y = make_turning(40, np.random.default_rng(0))
    with pytest.raises(ValueError, match="40 silhouettes, but 39 poses"):
        SilhouettePose().fit(X, y[:-1])
    with pytest.raises(ValueError, match="row 3 has a number that is not finite"):
        SilhouettePose().fit(X, np.where(np.arange(40)[:, None] == 3, np.nan, y))
    with pytest.raises(ValueError, match="too few"):
        SilhouettePose().fit(X[:20], y[:20])
    with pytest.raises(ValueError, match="Row 2 is not a histogram"):
        SilhouettePose().fit(np.where(np.arange(40)[:, None] == 2, -1.0, X), y)
    still = SilhouettePose(4).fit(X, y, times=np.zeros(40))
    with pytest.raises(ValueError, match="successive frames"):
        still.predict(X, video=True)
    with pytest.raises(ValueError, match="histograms of 8 bins"):
        turning[0].predict(X[:, :5])
