"""Poses from silhouettes: two modes, smoothing by brute force, calibration, files, refusals."""

import itertools

import numpy as np
import pytest

import posterity
from posterity import datasets
from posterity.vision import ShapeContexts, SilhouettePose, bodies, pose_mixtures, pose_prototypes
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
    return SilhouettePose(40).fit(X, y), make_turning(60, rng)


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


def test_smoothing_sums_over_all_paths():
    rng = np.random.default_rng(1)
    squares, transitions = rng.uniform(0.0, 2.0, (4, 3)), rng.dirichlet(np.ones(3), 3)
    expected = np.zeros((4, 3))
    for path in itertools.product(range(3), repeat=4):
        p = np.exp(-0.7 * sum(squares[t, state] for t, state in enumerate(path)))
        p *= np.prod([transitions[a, b] for a, b in itertools.pairwise(path)])
        for t, state in enumerate(path):
            expected[t, state] += p
    expected /= expected.sum(axis=1, keepdims=True)
    found = np.exp(pose_mixtures.smooth_frames(squares, 0.7, transitions))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_scales_maximise_the_density_of_coordinates():
    rng = np.random.default_rng(2)
    poses = rng.normal(size=(300, 3, 2))
    weights = rng.dirichlet(np.ones(3), 300)
    chosen = np.array([rng.choice(3, p=w) for w in weights])
    truth = poses[np.arange(300), chosen] + rng.normal(size=(300, 2)) * [0.1, 0.5]
    mixture = pose_mixtures.PoseMixture(np.log(weights), poses)
    scale, _ = mixture.learn_scale(truth)
    np.testing.assert_allclose(scale, [0.1, 0.5], rtol=0.35)
    normal = mixture.to_distribution(scale, (2,))
    for factor in (0.8, 1.25):
        other = mixture.to_distribution(scale * factor, (2,))
        assert other.logpdf(truth).mean() < normal.logpdf(truth).mean()


def test_whitened_noise_between_groups_has_unit_variance():
    rng = np.random.default_rng(3)
    poses, groups = rng.normal(size=(600, 1)), np.repeat(np.arange(60), 10)
    style = rng.normal(size=(60, 2)) @ np.array([[2.0, 1.0], [0.0, 0.5]])
    features = style[groups] + 1e-3 * rng.normal(size=(600, 2))
    factor = pose_prototypes.find_whitening(features, poses, groups, 0.0, rng)
    np.testing.assert_allclose(np.cov((features @ factor).T), np.eye(2), atol=0.1)


def test_transitions_are_probabilities_and_follow_what_was_seen(turning):
    model, _ = turning
    chances = model.prototypes_.find_transitions(1.0)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    seen = np.zeros_like(chances, dtype=bool)
    seen[model.prototypes_.starts, model.prototypes_.ends] = True
    assert chances[seen].mean() > 10.0 * chances[~seen].mean()


def test_rows_follow_where_time_goes_on_by_a_step_in_a_group():
    follows = _find_successors([0.0, 0.5, 1.0, 7.0, 7.5], None, 5)
    assert follows.tolist() == [True, True, False, True]
    assert _find_successors(None, np.array([0, 0, 1]), 3).tolist() == [True, False]
    assert not _find_successors([0, 0, 0], None, 3).any()


@pytest.fixture(scope="module")
def people():
    sampler = bodies.VideoSampler(bodies.Camera(60, 60, 75.0), turn=(70.0, 110.0))
    rng = np.random.default_rng(0)
    walks = [walk for walk in datasets.motions() if walk.description == "walk"][:3]
    videos = [sampler.render(walk, rng, frames=24) for walk in walks]
    masks = np.concatenate([video.masks for video in videos])
    joints = np.concatenate([video.joints for video in videos])
    groups = np.repeat(np.arange(3), [len(video.masks) for video in videos])
    model = SilhouettePose(24, contexts=ShapeContexts(20, n_points=60), grid_shape=(6, 4))
    return model.fit(masks, joints, groups=groups), masks, joints


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
    still = SilhouettePose(10).fit(X, y, times=np.zeros(40))
    with pytest.raises(ValueError, match="successive frames"):
        still.predict(X, video=True)
    with pytest.raises(ValueError, match="histograms of 8 bins"):
        turning[0].predict(X[:, :5])
