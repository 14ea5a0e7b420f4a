"""Body parts: depth differences, the forest on them, joints, and what is saved."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize

import posterity
from posterity import vision
from posterity.vision import bodies, body_parts, joints
from posterity.vision.depth_differences import FAR, DepthDifferences, DepthPixels

CAMERA = bodies.Camera(96, 128, 114.0)


@pytest.fixture(scope="module")
def data():
    return vision.datasets.bodies(70, max_turn=30.0, camera=CAMERA, distance=(2.0, 3.0))


@pytest.fixture(scope="module")
def model(data):
    forest = body_parts.BodyPartForest(max_features=15, random_state=0)
    return forest.fit(data.depth[:60], data.parts[:60], joints=data.joints[:60])


def probe(image, row, column, down, right, focal_length):
    """The depth beside a pixel, as the definition says it; millimetres."""
    scale = focal_length / round(1000.0 * image[row, column])
    j, i = int(np.floor(row + 0.5 + scale * down)), int(np.floor(column + 0.5 + scale * right))
    if not (0 <= j < image.shape[0] and 0 <= i < image.shape[1]) or image[j, i] == 0.0:
        return FAR
    return round(1000.0 * image[j, i])


def test_answers_are_differences_of_depth_at_distances_in_space(data):
    family, rng = DepthDifferences(), np.random.default_rng(0)
    images = [np.rint(1000.0 * image.astype(np.float64)) / 1000.0 for image in data.depth[:2]]
    pixels = DepthPixels.join([DepthPixels.from_image(image, 114.0) for image in images])
    tests = family.draw(3, 8, rng)
    places = rng.integers(len(pixels), size=60).astype(np.int32)
    which = rng.integers(3, size=60).astype(np.int32)
    answers = family.respond(pixels, places, tests, which)
    position, number = pixels.positions(), pixels.pixels[:, 0]
    expected = [
        [
            probe(images[number[m]], *position[m], *test[:2], 114.0)
            - probe(images[number[m]], *position[m], *test[2:], 114.0)
            for m, test in zip(places, tests[which, k], strict=True)
        ]
        for k in range(8)
    ]
    np.testing.assert_array_equal(answers, expected)
    codes = family.respond(family.prepare_rows(pixels), places, tests, which)
    cuts = family.cuts(tests[0])[0]
    np.testing.assert_array_equal(codes[..., None] <= np.arange(255), answers[..., None] <= cuts)
    depths = [images[n][tuple(at)] for n, at in zip(number, position, strict=True)]
    np.testing.assert_array_equal(pixels.read_depths(), np.rint(1000.0 * np.array(depths)))


def test_tests_that_reach_too_far_are_refused(model):
    trees = model.forest_.trees
    far = dataclasses.replace(trees, tests=np.full_like(trees.tests, 20_000))
    with pytest.raises(ValueError, match="tests"):
        dataclasses.replace(model.forest_, trees=far).check_consistency()


def test_parts_and_joints_of_new_images_are_found(model, data):
    depth, parts = data.depth[60:], data.parts[60:]
    seen = parts < 255
    p = model.predict_proba(depth)
    np.testing.assert_allclose(p[seen].sum(axis=1), 1.0, rtol=1e-5)
    assert not p[~seen].any()
    labels = model.predict(depth)
    np.testing.assert_array_equal(labels[seen], p[seen].argmax(axis=1))
    assert (labels[~seen] == 255).all()
    accuracy = np.mean(labels[seen] == parts[seen])
    assert accuracy > 0.6
    assert abs(p[seen].max(axis=1).mean() - accuracy) < 0.12  # six images calibrated it
    found = [model.find_joints(image) for image in depth]
    off = [
        np.linalg.norm(f.positions - j, axis=1)
        for f, j in zip(found, data.joints[60:], strict=True)
    ]
    right = np.array(off) < 0.1
    assert right.mean() > 0.6
    assert abs(np.mean([f.probability for f in found]) - right.mean()) < 0.15


@pytest.mark.full
def test_images_can_come_one_at_a_time(model, data):
    frames = (
        bodies.BodyFrame(depth, labels, where, pose, 0, 0)
        for depth, labels, where, pose in zip(
            data.depth[:60], data.parts[:60], data.joints[:60], data.poses[:60], strict=True
        )
    )
    again = body_parts.BodyPartForest(max_features=15, random_state=0).fit(frames)
    image = data.depth[60]
    np.testing.assert_array_equal(again.predict_proba(image), model.predict_proba(image))


def test_a_saved_forest_answers_the_same(model, data, tmp_path):
    posterity.save(model, tmp_path / "model.posterity")
    loaded = posterity.load(tmp_path / "model.posterity")
    image = data.depth[61]
    np.testing.assert_array_equal(loaded.predict_proba(image), model.predict_proba(image))
    mine, theirs = model.find_joints(image), loaded.find_joints(image)
    np.testing.assert_array_equal(mine.positions, theirs.positions)
    np.testing.assert_array_equal(mine.probability, theirs.probability)


def test_joints_are_the_highest_modes_of_density():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(m, 0.03, (200, 3)) for m in ([0, 0, 2], [0.4, 0, 2.1])])
    weights = np.zeros((400, 32))
    weights[:, 31] = 1e-4
    weights[:, 30] = np.repeat([0.3, 0.6], 200) * rng.uniform(0.8, 1.0, 400)

    def density(x):
        near = np.exp(-0.5 * np.sum((points - x) ** 2, axis=1) / 0.06**2)
        return float(np.sum(near * weights[:, 30] * weights[:, 31]))

    best = minimize(lambda x: -density(x), [0.4, 0.0, 2.1], method="Nelder-Mead", tol=1e-12)
    modes, features = joints.JointFinder().find_modes(points, weights)
    np.testing.assert_allclose(modes[1], best.x, atol=1e-3)
    assert np.exp(features[1, 0]) == pytest.approx(density(best.x), rel=1e-3)
    assert np.isnan(modes[0]).all()  # no pixel shows the head


def test_joints_lie_behind_the_surface_by_what_was_learned():
    rng = np.random.default_rng(0)
    modes = rng.normal([0.0, 0.0, 3.0], 0.2, (40, 16, 3))
    behind = 1.0 + 0.05 / np.linalg.norm(modes, axis=-1, keepdims=True)
    truth = modes * behind
    truth[:10, 3] += 1.0  # a quarter of one joint is found elsewhere
    features = np.zeros((40, 16, 2))
    features[:10, 3] = -3.0
    finder = joints.JointFinder().learn(modes, features, truth)
    np.testing.assert_allclose(finder.depths, 0.05)
    judged = joints._judge(np.array([[0.0, 0.0]] * 16), finder.coefficients)
    assert judged[3] > 0.8
    assert joints._judge(np.full((16, 2), -3.0), finder.coefficients)[3] < 0.3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": np.full((2, 96, 128), 40)}, "Image 0 has the label 40"),
        ({"y": np.zeros((2, 96, 100), dtype=np.uint8)}, "labels of image 0 must be whole numbers"),
        ({"y": None}, "Images without labels"),
        ({"joints": np.full((2, 16, 3), np.nan)}, "joints of image 0 must be finite"),
        ({"X": np.zeros((2, 96))}, "A depth image is an array"),
    ],
)
def test_images_that_cannot_be_learned_from_are_refused(data, change, sentence):
    given = {"X": data.depth[:2], "y": data.parts[:2], "joints": data.joints[:2], **change}
    with pytest.raises(ValueError, match=sentence):
        body_parts.BodyPartForest().fit(**given)
