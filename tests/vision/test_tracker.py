"""A textured square that moves behind a bar, and the parts of the tracker."""

import numpy as np
import pytest
from scipy import ndimage
from sklearn.exceptions import NotFittedError

import posterity
from posterity import RelevanceVectorRegressor, vision
from posterity.vision.tracking import appearance, channels
from posterity.vision.tracking.channels import WindowFrame

SIDE, N = 24, 34
BAR = slice(58, 90)


def smooth_noise(rng, shape, size):
    noise = ndimage.gaussian_filter(rng.normal(size=shape), size)
    return 128 + 45 * noise / noise.std()


@pytest.fixture(scope="module")
def scene():
    """Frames (34, 80, 140): a square moves right by 3 pixels a frame, behind a bar for a while."""
    rng = np.random.default_rng(0)
    ground, square = smooth_noise(rng, (80, 140), 3), smooth_noise(rng, (SIDE, SIDE), 1.5)
    bar, frames, boxes = smooth_noise(rng, (80, 140), 2)[:, BAR], [], []
    for t in range(N):
        x, y = 8 + 3 * t, 26 + t // 3
        frame = ground.copy()
        frame[y : y + SIDE, x : x + SIDE] = square
        frame[:, BAR] = bar
        frames.append(np.clip((1 - 0.01 * t) * frame + rng.normal(size=frame.shape), 0, 255))
        boxes.append([x, y, x + SIDE, y + SIDE])
    return np.array(frames).astype(np.uint8), np.array(boxes, dtype=float)


@pytest.fixture(scope="module")
def followed(scene):
    frames, boxes = scene
    tracker = vision.DisplacementTracker(n_windows=80).start(frames[0], boxes[0])
    return [tracker.get_box(), *tracker.track(frames[1:])]


def hidden_share(boxes):
    left, right = np.maximum(boxes[:, 0], BAR.start), np.minimum(boxes[:, 2], BAR.stop)
    return np.clip(right - left, 0, None) / SIDE


def test_a_square_is_followed_behind_a_bar(scene, followed):
    boxes = scene[1]
    miss = [
        np.linalg.norm(f.center - (b[:2] + b[2:]) / 2) for f, b in zip(followed, boxes, strict=True)
    ]
    seen = hidden_share(boxes) == 0
    assert np.mean(np.array(miss)[seen] < 3.0) > 0.9
    assert miss[-1] < 3.0  # it is found again


def test_probability_falls_behind_the_bar_and_the_ellipse_grows(scene, followed):
    share = hidden_share(scene[1])
    p = np.array([f.probability for f in followed])
    radius = np.array([f.radii()[0] for f in followed])
    assert p[share == 0].mean() > 0.9
    assert p[share == 1].mean() < 0.3
    assert radius[share == 1].max() > 2.0 * np.median(radius[share == 0])


def test_ellipses_hold_the_middle_while_hidden(scene, followed):
    boxes = scene[1]
    inside = [
        f.find_coverage((b[:2] + b[2:]) / 2) < 0.9 for f, b in zip(followed, boxes, strict=True)
    ]
    assert np.mean(np.array(inside)[hidden_share(boxes) > 0.9]) > 0.8


@pytest.mark.full
def test_ellipses_have_the_right_size_in_simulated_sequences():
    """The 50 % ellipse covers 75 % here; half as wide it would cover 33 %, twice as wide 100 %."""
    reached = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        motion = {"turning": rng.uniform(0.0, 0.35), "speed": rng.uniform(0.5, 2.0)}
        sequence = vision.datasets.moving_object(
            32, shape=(90, 120), radius=12.0, hidden=((14, 24),), random_state=seed, **motion
        )
        frames, boxes = sequence.frames, sequence.boxes
        tracker = vision.DisplacementTracker(n_windows=80).start(frames[0], boxes[0])
        centers = (boxes[1:, :2] + boxes[1:, 2:]) / 2
        found = tracker.track(frames[1:])
        reached += [one.find_coverage(x) for one, x in zip(found, centers, strict=True)]
    assert 0.45 < np.mean(np.array(reached) < 0.5) < 0.9
    assert np.mean(np.array(reached) < 0.9) > 0.85


def test_a_missing_frame_is_predicted(scene):
    frames, boxes = scene
    tracker = vision.DisplacementTracker(n_windows=60).start(frames[0], boxes[0])
    before = [tracker.step(frame) for frame in frames[1:8]][-1]
    predicted = tracker.step(None)
    assert np.linalg.norm(predicted.center - (boxes[8][:2] + boxes[8][2:]) / 2) < 4.0
    assert predicted.covariance[0, 0] > before.covariance[0, 0]
    assert tracker.step(frames[9]).probability > 0.9


@pytest.mark.full
def test_a_saved_tracker_goes_on_alike(scene, tmp_path):
    frames, boxes = scene
    tracker = vision.DisplacementTracker(n_windows=60, relearn_every=2)
    tracker.start(frames[0], boxes[0])
    for frame in frames[1:4]:
        tracker.step(frame)
    posterity.save(tracker, tmp_path / "half.posterity")
    again = posterity.load(tmp_path / "half.posterity")
    for frame in frames[4:7]:
        one, other = tracker.step(frame), again.step(frame)
    np.testing.assert_array_equal(one.box, other.box)
    np.testing.assert_array_equal(one.covariance, other.covariance)


@pytest.mark.full
def test_relevance_vectors_can_be_the_experts(scene):
    frames, boxes = scene
    model = RelevanceVectorRegressor()
    tracker = vision.DisplacementTracker(regressor=model, n_windows=30, relearn_every=0)
    tracker.start(frames[0], boxes[0])
    found = tracker.step(frames[1])
    assert np.linalg.norm(found.center - (boxes[1][:2] + boxes[1][2:]) / 2) < 3.0


@pytest.mark.parametrize(
    ("box", "words"),
    [
        ((5, 5, 8, 8), "too small"),
        ((50, 10, 40, 30), "too small"),
        ((500, 10, 540, 50), "outside the frame"),
        ((1, 2, 3), "four numbers"),
        ((0, 0, np.nan, 20), "four numbers"),
    ],
)
def test_bad_boxes_are_refused(scene, box, words):
    with pytest.raises(ValueError, match=words):
        vision.DisplacementTracker().start(scene[0][0], box)


def test_a_tracker_without_object_says_so(scene):
    with pytest.raises(NotFittedError, match="call start"):
        vision.DisplacementTracker().step(scene[0][0])


def test_channels_hardly_change_with_the_light(scene):
    frame = scene[0][0]
    darker = (0.5 * frame + 40).astype(np.uint8)
    one, other, elsewhere = (
        channels.compute_channels((image,), x, 38.0, 1.0, (8, 8))
        for image, x in ((frame, 20.0), (darker, 20.0), (frame, 110.0))
    )
    assert np.linalg.norm(one - other) < 0.25 * np.linalg.norm(one - elsewhere)


def test_channels_turn_with_the_image():
    rng = np.random.default_rng(3)
    image = np.clip(smooth_noise(rng, (33, 33), 2), 0, 255).astype(np.uint8)
    upright = channels.compute_channels((image,), 16.5, 16.5, 1.0, (6, 6))
    turned = channels.compute_channels(
        (np.ascontiguousarray(np.rot90(image, -1)),), 16.5, 16.5, 1.0, (6, 6)
    )
    expected = np.roll(np.rot90(upright, -1), channels.N_DIRECTIONS // 4, axis=2)
    np.testing.assert_allclose(turned, expected, atol=2e-3)


def test_background_covariance_is_that_of_windows():
    """Of a map that repeats itself, where windows at all places are equally frequent."""
    rng = np.random.default_rng(4)
    grid = rng.normal(size=(40, 50, 2)).astype(np.float32)
    grid[:, 1:] += 0.7 * grid[:, :-1]
    lags = appearance._average_lags([grid], grid.mean(axis=(0, 1)), (2, 3))
    z = grid - grid.mean(axis=(0, 1))
    direct = np.mean(z[:-1, :-2, :, None] * z[1:, 2:, None, :], axis=(0, 1)) * (39 * 48) / 2000
    np.testing.assert_allclose(lags[2, 4], direct, atol=1e-5)
    covariance = appearance._arrange_windows(lags, (2, 3))
    np.testing.assert_allclose(covariance[0:2, 10:12], direct, atol=1e-5)
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_correlation_scores_equal_those_of_windows(scene):
    frames = scene[0]
    size = np.array([SIDE, SIDE], dtype=float)
    frame, pose = WindowFrame.around(size), np.array([20.0, 38.0, 0.0])
    judge = appearance.Verifier.start(frame, frames[0], pose)
    pyramid = frame.build_pyramid(frames[0], pose)
    region = frame.compute_region(pyramid, pose, (2, 2))
    grid = judge._score_region(pyramid, pose, (2, 2))
    cut = region[1 : 1 + frame.shape[0], 3 : 3 + frame.shape[1]]
    assert grid[1, 3] == pytest.approx(judge.score(cut)[0], abs=1e-4)
    assert judge.score(judge.anchor) == pytest.approx((1.0, 1.0), abs=1e-4)


def test_experts_undo_displacements(scene):
    frames = scene[0]
    frame, pose = WindowFrame.around(np.array([SIDE, SIDE], float)), np.array([20.0, 38.0, 0.0])
    pyramid, rng = frame.build_pyramid(frames[0], pose), np.random.default_rng(5)
    expert = appearance.DisplacementExpert(
        posterity.BayesianLinearRegression(), appearance.REACHES[1]
    )
    expert.learn(appearance.make_rows(frame, [pyramid], pose, expert.reach, 80, rng), 3)
    shift = np.array([0.05, -0.04, 0.04])
    moved = appearance.displace_pose(frame, pose, -shift, shift[2])
    back = appearance.displace_pose(frame, moved, shift)
    np.testing.assert_allclose(back, pose)
    predicted = expert.predict(appearance.pool_cells(frame.compute(pyramid, moved)))
    np.testing.assert_allclose(predicted, shift, atol=0.015)


def test_ellipse_is_the_level_line_of_the_normal():
    covariance = np.array([[9.0, 3.0, 0.0], [3.0, 4.0, 0.0], [0.0, 0.0, 1.0]])
    found = vision.TrackedBox(np.array([0.0, 0.0, 10.0, 20.0]), covariance, 1.0)
    levels = [found.find_coverage(point) for point in found.ellipse(0.8)]
    np.testing.assert_allclose(levels, 0.8)
    draws = np.random.default_rng(6).multivariate_normal([5.0, 10.0], covariance[:2, :2], 600)
    assert np.mean([found.find_coverage(x) < 0.8 for x in draws]) == pytest.approx(0.8, abs=0.06)
