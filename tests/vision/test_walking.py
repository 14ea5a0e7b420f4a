"""Walking: silhouettes as numbers, poses from silhouettes and from points, the cycle, the file."""

import numpy as np
import pytest
from sklearn.base import clone

import posterity
from posterity import vision
from posterity.vision import WalkingModel, fitted_walk, silhouettes

ENDS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head")


@pytest.fixture(scope="module")
def data():
    return vision.datasets.walkers(4, step=2)


@pytest.fixture(scope="module")
def unseen(data):
    return data.groups == 3


@pytest.fixture(scope="module")
def model(data, unseen):
    rest = ~unseen
    walks = {"groups": data.groups[rest], "times": data.times[rest]}
    return WalkingModel(3).fit(data.masks[rest], data.poses[rest], **walks)


def measure_error(poses, truth):
    """Mean distance of joints, in centimetres."""
    return 100.0 * np.linalg.norm(poses - truth, axis=2).mean()


def test_measures_of_masks_do_not_depend_on_place_and_size(data):
    mask = data.masks[3]
    moved = np.pad(mask, ((7, 0), (30, 4)))
    large = np.kron(mask, np.ones((3, 3)))
    one, other, third = silhouettes.measure_masks([mask, moved, large])
    np.testing.assert_allclose(other, one, atol=1e-12)
    assert np.abs(third - one).mean() < 0.05 * np.abs(one).mean()


def test_measures_are_signed_distances_to_the_outline():
    mask = np.zeros((140, 200), dtype=bool)
    mask[10:130, 40:160] = True  # a square as high as wide
    grid = silhouettes.measure_masks([mask])[0].reshape(silhouettes.CELLS)
    assert grid[12, 9] == 1.0  # far inside
    assert grid[0, 9] < 0.0 < grid[2, 9]  # above the edge, and below it
    rows = (np.arange(24) + 0.5) / 24.0
    inside = np.minimum(rows - 0.05, 0.95 - rows) / 0.9  # of the height, exact along the middle
    expected = np.clip(inside / 0.055, -1.0, 1.0)
    np.testing.assert_allclose(grid[:, 9], expected, atol=0.2)


@pytest.mark.parametrize(
    ("masks", "words"),
    [
        ([np.zeros((5, 5))], "Mask 0 is empty"),
        ([np.eye(5)[:2]], "Mask 0 shows no person"),
        ([np.eye(5), np.ones(5)], "Mask 1 must be an array"),
        ([np.full((5, 5), "a")], "Mask 0 must be an array"),
    ],
)
def test_masks_without_a_person_are_refused(masks, words):
    with pytest.raises(ValueError, match=words):
        silhouettes.measure_masks(masks)


@pytest.mark.full(but=1)
def test_poses_from_silhouettes_beat_the_nearest_silhouette(data, unseen, model):
    found = model.predict_modes(data.masks[unseen], times=data.times[unseen])
    measured = silhouettes.measure_masks(data.masks)
    distance = np.sum((measured[unseen][:, None] - measured[~unseen]) ** 2, axis=2)
    nearest = data.poses[~unseen][distance.argmin(axis=1)]
    truth = data.poses[unseen]
    assert measure_error(found.mean(), truth) < measure_error(nearest, truth)
    low, high = found.interval(0.9)
    moving = data.poses.std(axis=0) > 1e-6
    coverage = np.mean(((low <= truth) & (truth <= high))[:, moving])
    assert 0.8 < coverage < 0.98


def test_one_mask_is_a_sequence_of_one(data, unseen, model):
    masks = data.masks[unseen]
    one, all_of_them = model.predict_modes(masks[4]), model.predict_modes(masks[3:6])
    assert one.poses.shape[0] == 1
    np.testing.assert_allclose(one.mean()[0], all_of_them[1:2].mean()[0], atol=1e-4)
    np.testing.assert_allclose(one.probability.sum(axis=1), 1.0)


@pytest.mark.full
def test_known_points_stay_and_others_are_found(data, unseen, model):
    truth = data.poses[unseen][::3]
    joints = [data.joint_names.index(name) for name in ENDS]
    points = np.full(truth.shape, np.nan)
    points[:, joints] = truth[:, joints]
    found = model.complete(points)
    np.testing.assert_array_equal(found.best()[:, joints], truth[:, joints])
    np.testing.assert_array_equal(found.standard_deviations[:, :, joints], 0.0)
    known = data.poses[~unseen][:, joints]
    distance = np.sum((truth[:, None, joints] - known) ** 2, axis=(2, 3))
    nearest = data.poses[~unseen][distance.argmin(axis=1)]
    assert measure_error(found.mean(), truth) < 0.5 * measure_error(nearest, truth)


def test_a_joint_that_never_moves_leaves_the_pose_open(data, model):
    points = np.full(data.poses[:1].shape, np.nan)
    points[:, 0] = data.poses[:1, 0]  # the hips, which all joints are relative to
    found = model.complete(points)
    spread = data.poses.std(axis=0).max()
    assert 0.3 * spread < found.standard_deviation().max() < 3.0 * spread


def test_axes_seen_by_points_are_what_least_squares_say(model):
    fitted = model._fitted
    known = np.zeros(len(fitted.pose_frame.centre), dtype=bool)
    known[30:45] = True
    view, _ = fitted.look_from_points(known)
    assert fitted.look_from_points(known)[0] is view
    A = fitted.pose_frame.axes[:, known] / fitted.pose_weights[:, None]
    components = np.random.default_rng(0).normal(size=fitted.n_axes)
    solved = np.linalg.pinv(A.T, rcond=1e-3) @ (A.T @ components)
    seen = view.project(fitted.pose_frame.centre[known] + components @ A)[0, view.columns]
    turned, _, _ = np.linalg.svd(A @ A.T)
    turned = turned[:, : len(view.columns)]
    np.testing.assert_allclose(np.abs(turned.T @ solved), np.abs(seen), rtol=1e-5, atol=1e-6)


@pytest.mark.full
def test_silhouettes_that_two_poses_have_leave_two_hypotheses(data):
    """Poses and their mirror images have the same silhouettes here."""
    half = data.groups < 2
    poses, masks, times = (a[half] for a in (data.poses, data.masks, data.times))
    both = np.concatenate([poses, poses * [1.0, 1.0, -1.0]])
    groups = np.concatenate([data.groups[half], data.groups[half] + 2])
    model = WalkingModel(3)
    model.fit(np.concatenate([masks, masks]), both, groups=groups, times=np.tile(times, 2))
    found = model.predict_modes(masks[10:14])
    is_split = found.probability[:, 0] < 0.9
    assert is_split.any()
    depth = found.poses[..., 2] - found.poses[..., 2].mean(axis=2, keepdims=True)
    frame = int(np.argmax(is_split))
    assert np.corrcoef(depth[frame, 0], depth[frame, 1])[0, 1] < 0.0


def test_the_cycle_has_the_period_of_the_steps(data, model):
    points, poses = model.find_cycle(24)
    assert points.shape == (24, 3)
    # Ankles are as far apart once to the front and once to the back.
    left, right = (data.joint_names.index(f"{side}Foot") for side in ("Left", "Right"))
    apart = poses[:, left, 0] - poses[:, right, 0]
    assert np.sum(np.diff(np.sign(np.append(apart, apart[0]))) != 0) == 2
    walk = data.groups == 1
    swing = data.poses[walk, left, 0] - data.poses[walk, right, 0]
    power = np.abs(np.fft.rfft(swing - swing.mean(), 1024))
    frequency = np.fft.rfftfreq(1024, data.times[1] - data.times[0])[power.argmax()]
    assert model.period_ == pytest.approx(1.0 / frequency, rel=0.15)


def test_samples_are_walks(data, model):
    walk = model.sample(40, random_state=0)
    np.testing.assert_array_equal(walk, model.sample(40, random_state=0))
    assert walk.shape == (40, 38, 3)
    lengths = [np.linalg.norm(p[:, 3] - p[:, 4], axis=1) for p in (walk, data.poses)]
    np.testing.assert_allclose(lengths[0].mean(), lengths[1].mean(), rtol=0.03)  # of a shin
    assert walk.std(axis=0).max() > 0.1


def test_motions_that_do_not_repeat_have_no_cycle():
    t = np.linspace(0.0, 1.0, 20)
    assert fitted_walk.Gait.from_frames(t, t, np.zeros(20, dtype=int)) is None


def test_frames_are_restored_from_all_axes():
    rows = np.random.default_rng(0).normal(size=(9, 4))
    frame = fitted_walk.PrincipalFrame.from_rows(rows, most=4)
    np.testing.assert_allclose(frame.restore(frame.project(rows)), rows)
    few = fitted_walk.PrincipalFrame.from_rows(rows, most=2)
    misfit = rows - few.restore(few.project(rows))
    np.testing.assert_allclose(few.residual_variance, np.mean(misfit**2, axis=0))


def test_one_motion_is_left_out_in_parts(data):
    one = data.groups == 0
    path = fitted_walk.gplvm.Path(None, data.times[one], np.zeros(one.sum(), dtype=int))
    parts = fitted_walk._split_frames(path)
    assert np.unique(parts).size == 5
    assert np.all(np.diff(parts) >= 0)


def test_a_file_gives_the_same_answers(data, model, tmp_path):
    posterity.save(model, tmp_path / "walk.posterity")
    again = posterity.load(tmp_path / "walk.posterity")
    masks = data.masks[:2]
    np.testing.assert_array_equal(
        again.predict_modes(masks).poses, model.predict_modes(masks).poses
    )
    np.testing.assert_array_equal(again.find_cycle(3)[1], model.find_cycle(3)[1])


def test_it_is_an_estimator(model):
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p, m: (p[:5], m[:5]), "too few to learn from: 10 at least"),
        (lambda p, m: (p, m[:-1]), "11 silhouettes, but 12 poses"),
        (lambda p, m: (p[:, :, :2], m), r"shape \(N, J, 3\)"),
        (lambda p, m: (np.zeros_like(p), m), "All poses are the same"),
    ],
)
def test_wrong_frames_are_refused(data, change, words):
    poses, masks = change(data.poses[:12], data.masks[:12])
    with pytest.raises(ValueError, match=words):
        WalkingModel().fit(masks, poses)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (np.full((38, 3), np.nan), "one at least"),
        (np.zeros((37, 3)), "37 joints"),
        (np.zeros((2, 38, 2)), "shape"),
    ],
)
def test_wrong_points_are_refused(model, points, words):
    with pytest.raises(ValueError, match=words):
        model.complete(points)
