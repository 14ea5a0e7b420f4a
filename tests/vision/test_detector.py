"""A detector learns generated objects, finds them, and says how sure it is."""

import json

import numpy as np
import pytest
from sklearn.base import clone

import posterity
from posterity import persistence
from posterity.vision import Detections, WindowDetector
from posterity.vision.windows import grouping, inputs, pyramid, training
from posterity.vision.windows.pyramid import Inset

SETTINGS = {
    "window": (12, 12),
    "inset": (0.125,) * 4,
    "n_estimators": 60,
    "max_features": 80,
    "n_patches": 800,
    "n_background": 800,
    "n_jobs": 1,
    "random_state": 0,
}
Y, X = np.mgrid[:16, :16] - 7.5


def blobs(rng, height, width):
    """Smooth noise."""
    coarse = rng.normal(size=(height // 4 + 2, width // 4 + 2))
    fine = np.kron(coarse, np.ones((4, 4)))[:height, :width]
    return np.clip(110 + 25 * fine + rng.normal(0, 6, (height, width)), 0, 255)


def ring(rng):
    """A bright ring with a dark centre on smooth noise."""
    radius = np.hypot(X, Y)
    patch = blobs(rng, 16, 16)
    patch[radius < 6.0] = 200
    patch[radius < 2.5] = 40
    return np.clip(patch + rng.normal(0, 6, patch.shape), 0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    patches = np.stack([ring(rng) for _ in range(200)])
    scenes = [blobs(rng, 90, 110).astype(np.uint8) for _ in range(24)]
    return patches, scenes


@pytest.fixture(scope="module")
def detector(world):
    return WindowDetector(**SETTINGS).fit(*world)


@pytest.fixture(scope="module")
def images():
    """New scenes with rings of several sizes, and where these are."""
    rng = np.random.default_rng(1)
    scenes = [blobs(rng, 120, 150).astype(np.uint8)[None] for _ in range(12)]
    patches = np.stack([ring(rng) for _ in range(50)])[:, None]
    pasted, boxes = grouping.paste_patches(scenes, patches, 2.0, 18, rng)
    return [image[0] for image in pasted], boxes


def test_objects_are_found_and_probabilities_are_right(detector, images):
    scores, hits, n = [], [], 0
    for image, boxes in zip(*images, strict=True):
        found = detector.detect(image)
        scores.append(found.probability)
        hits.append(grouping.match_boxes(found.boxes, found.probability, boxes))
        n += len(boxes)
    score, hit = np.concatenate(scores), np.concatenate(hits)
    assert hit[score > 0.5].sum() >= 0.85 * n
    assert np.sum(~hit[score > 0.5]) <= 0.15 * n
    assert abs(score.mean() - hit.mean()) < 0.15


def test_threads_and_files_do_not_change_the_answer(detector, images, tmp_path):
    posterity.save(detector, tmp_path / "rings.posterity")
    loaded = posterity.load(tmp_path / "rings.posterity").set_params(n_jobs=2)
    for image in images[0][:3]:
        here, there = detector.detect(image), loaded.detect(image)
        np.testing.assert_array_equal(here.boxes, there.boxes)
        np.testing.assert_array_equal(here.probability, there.probability)
    assert clone(detector).get_params() == detector.get_params()


def test_the_prior_moves_probabilities(detector, images):
    rare = clone(detector).set_params(prior=0.01)
    rare.__dict__.update({k: v for k, v in vars(detector).items() if k.endswith("_")})
    found, rarely = detector.detect(images[0][0]), rare.detect(images[0][0])
    odds = [d.probability / (1 - d.probability) for d in (found, rarely)]
    base = detector.calibration_.base_rate
    np.testing.assert_allclose(odds[1], odds[0] * (0.01 / 0.99) / (base / (1 - base)), rtol=1e-6)


def test_an_interrupted_fit_ends_as_if_it_had_not_been(world, detector, tmp_path):
    path = tmp_path / "started.posterity"

    def stop(half):
        posterity.save(half, path)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        WindowDetector(**SETTINGS).fit(*world, on_round=stop)
    resumed = posterity.load(path)
    assert resumed.n_estimators_ < detector.n_estimators_
    resumed.set_params(warm_start=True).fit(*world)
    np.testing.assert_array_equal(resumed.cascade_.leaves, detector.cascade_.leaves)
    np.testing.assert_array_equal(resumed.cascade_.bounds, detector.cascade_.bounds)
    assert [vars(r) for r in resumed.rounds_] == [vars(r) for r in detector.rounds_]
    np.testing.assert_array_equal(resumed.calibration_.coef, detector.calibration_.coef)
    assert not hasattr(resumed, "found_")


@pytest.mark.full
def test_moving_bars_are_found_by_their_motion():
    rng = np.random.default_rng(0)
    background = blobs(rng, 80, 100)

    def frames(x, y, step):
        pair = []
        for k in (0, step):
            frame = background + rng.normal(0, 3, background.shape)
            frame[y : y + 14, x + k : x + k + 5] += 45
            pair.append(np.clip(frame, 0, 255).astype(np.uint8))
        return pair

    places = [(rng.integers(12, 80), rng.integers(4, 60)) for _ in range(150)]
    scenes = [frames(x, y, 2) for x, y in places]
    boxes = [np.array([[x - 3, y - 2, x + 11, y + 16]]) for x, y in places]
    patches = np.stack(
        [
            [f[b[0, 1] : b[0, 3], b[0, 0] : b[0, 2]] for f in s]
            for s, b in zip(scenes, boxes, strict=True)
        ]
    )
    settings = SETTINGS | {"window": (14, 11), "channels": "motion", "inset": (0.1,) * 4}
    detector = WindowDetector(**settings | {"n_estimators": 40, "mirror": False})
    with pytest.warns(UserWarning, match="show one view.* hold for that camera"):
        detector.fit(patches, scenes[:30], scene_boxes=boxes[:30])
    found = detector.detect(frames(40, 30, 2))
    overlap = grouping.compute_overlaps(found.boxes[:1], np.array([[37.0, 28, 51, 46]]))
    assert overlap[0, 0] > 0.5
    still = detector.detect(frames(40, 30, 0))
    assert still.probability.max(initial=0.0) < 0.5 * found.probability[0]
    background = blobs(rng, 80, 100)
    with pytest.warns(UserWarning, match="This image shows another view"):
        detector.detect(frames(40, 30, 2))


def test_a_detector_of_one_camera_says_so_until_it_is_calibrated_elsewhere(world, images, tmp_path):
    """Such a detector promised 540 right boxes on another camera, where 60 were right."""
    patches, scenes = world
    rng = np.random.default_rng(2)
    frames = [np.clip(scenes[0] + rng.normal(0, 8, scenes[0].shape), 0, 255) for _ in range(12)]
    frames = [frame.astype(np.uint8) for frame in frames]
    detector = WindowDetector(**SETTINGS | {"n_estimators": 20})
    with pytest.warns(UserWarning, match="show one view"):
        detector.fit(patches, frames)
    posterity.save(detector, tmp_path / "camera.posterity")
    assert persistence.describe(tmp_path / "camera.posterity").notes == detector.notes_
    loaded = posterity.load(tmp_path / "camera.posterity")
    loaded.detect(frames[0])  # without a warning
    with pytest.warns(UserWarning, match="another view"):
        loaded.detect(scenes[1])
    loaded.calibrate(*images)
    assert loaded.notes_ == ()
    loaded.detect(scenes[1])


def photograph(rng):
    """A scene of rectangles of all sizes, light above and dark below, as outdoors."""
    photo = np.linspace(220, 60, 120)[:, None] * np.ones((120, 160))
    for _ in range(25):
        y, x, height, width = rng.integers(0, [100, 140, 60, 60])
        photo[y : y + height + 4, x : x + width + 4] = rng.uniform(0, 255)
    return photo


@pytest.mark.parametrize("seed", range(5))
def test_views_of_a_camera_agree_and_photographs_do_not(seed):
    """Frames have other light and noise each, and things that move cover a fifth of them."""
    rng = np.random.default_rng(seed)

    def film(place):
        frame = place * rng.uniform(0.7, 1.2) + rng.uniform(-20, 20)
        for _ in range(6):
            y, x = rng.integers(0, [90, 130])
            frame[y : y + 30, x : x + 20] = rng.uniform(0, 255)
        return np.clip(frame + rng.normal(0, 8, frame.shape), 0, 255).astype(np.uint8)

    place = photograph(rng)
    view = inputs.find_shared_view([film(place) for _ in range(10)])
    assert view is not None
    assert inputs.shows_view(film(place), view)
    others = [film(photograph(rng)) for _ in range(20)]
    assert not any(inputs.shows_view(other, view) for other in others)
    assert inputs.find_shared_view(others) is None
    captioned = [np.pad(other, [(0, 20), (0, 0)]) for other in others]  # a black bar below
    assert inputs.find_shared_view(captioned) is None
    assert inputs.find_shared_view(others[:1]) is None


def test_planes_are_differences_with_shifted_frames():
    before, now = np.random.default_rng(0).integers(256, size=(2, 7, 9), dtype=np.uint8)
    planes = pyramid.compute_planes(np.stack([before, now]), "motion").astype(int)
    np.testing.assert_array_equal(planes[0], now)
    for plane, (down, across) in zip(
        planes[1:], ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)), strict=True
    ):
        padded = np.pad(now, 1, mode="edge").astype(int)
        shifted = padded[1 - down : 8 - down, 1 - across : 10 - across]
        np.testing.assert_array_equal(plane, np.abs(before.astype(int) - shifted))


def test_bounds_keep_the_objects_that_pass():
    partial = np.random.default_rng(0).normal(size=(30, 200)).cumsum(axis=0)
    bounds = training.find_bounds(partial, 0.9)
    passes = np.all(partial >= bounds[:, None], axis=0)
    assert passes.sum() == 180
    lowest = partial[-1] < np.sort(partial[-1])[10]
    assert not np.any(passes & lowest)
    # The other ten are lost on the way, more of them early, and each tree loses its lowest sums.
    left = ~lowest
    for sums, bound, share in zip(partial, bounds, 1 - np.exp(-np.arange(1, 31) / 30), strict=True):
        n_lost = np.sum(~left | (sums < bound)) - 10
        assert n_lost == np.floor(10 * share / (1 - np.exp(-1)) + 1e-9)
        left &= sums >= bound


def test_rounds_grow_to_the_number_of_trees():
    ends = training.list_round_ends(1000)
    assert ends[-1] == 1000
    assert np.all(np.diff(ends) >= 30)
    assert training.list_round_ends(7) == [7]


def test_windows_become_boxes():
    boxes = np.array([[10.0, 10, 30, 30], [12, 10, 32, 30], [60, 60, 80, 80]])
    groups = grouping.group_windows(boxes, np.array([2.0, 2.0, 1.0]), 0.4)
    np.testing.assert_allclose(groups.boxes, [[11, 10, 31, 30], [60, 60, 80, 80]])
    np.testing.assert_array_equal(groups.support, [2, 1])
    inside = np.vstack([boxes, [[62.0, 62, 68, 68]]])  # a part of the third box
    nested = grouping.group_windows(inside, np.array([2.0, 2.0, 1.0, 0.5]), 0.4)
    np.testing.assert_array_equal(nested.boxes, groups.boxes)
    similar = grouping.group_like_opencv(boxes, np.array([2.0, 3.0, 1.0]))
    np.testing.assert_array_equal(similar.boxes, groups.boxes)
    np.testing.assert_array_equal(similar.activation, [3.0, 1.0])
    inset = Inset(0.25, 0.1, 0.25, 0.2)
    np.testing.assert_allclose(inset.enlarge(np.array([[10.0, 25, 80, 75]])), [[0, 0, 100, 100]])


def test_detections_are_written(tmp_path):
    boxes = np.array([[1.0, 2.0, 11.0, 12.0], [3.0, 3.0, 9.0, 9.0]])
    found = Detections(boxes, np.array([0.75, np.nan]), np.array([1.5, 0.5]), np.array([3, 1]))
    document = json.loads(found.to_json(tmp_path / "boxes.json", image="a.png"))
    assert document == json.loads((tmp_path / "boxes.json").read_text())
    assert document["image"] == "a.png"
    assert document["boxes"][1]["probability"] is None
    assert found.to_csv(tmp_path / "boxes.csv").splitlines()[1] == "1.0,2.0,11.0,12.0,0.75,1.5,3"
    drawn = found.draw(np.zeros((20, 20), dtype=np.uint8))
    assert drawn.shape == (20, 20, 3)
    assert drawn[2, 5].any()
    assert not drawn[18, 18].any()


@pytest.mark.parametrize(
    ("changes", "arguments", "sentence"),
    [
        ({}, (np.zeros((20, 16, 16)), []), "array of uint8"),
        ({}, (np.zeros((3, 16, 16), dtype=np.uint8), []), "at least 10 patches"),
        ({"channels": "depth"}, (np.zeros((20, 16, 16), dtype=np.uint8), []), "channels='depth'"),
        ({"window": (2, 5)}, None, r"window=\(2, 5\)"),
        ({"max_depth": 3}, None, "max_depth=3"),
        ({"kept": 1.5}, None, "kept=1.5"),
        ({"window": (200, 200)}, None, "no window of enough contrast"),
    ],
)
def test_what_is_wrong_is_said(world, changes, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        WindowDetector(**SETTINGS | changes).fit(*(arguments or world))


def test_images_that_do_not_fit_are_refused_or_empty(detector):
    assert len(detector.detect(np.zeros((5, 5), dtype=np.uint8))) == 0
    with pytest.raises(ValueError, match="An image must be"):
        detector.detect(np.zeros(5, dtype=np.uint8))
    with pytest.raises(ValueError, match="Scene 1"):
        detector.calibrate([np.zeros((9, 9))] * 2, [np.empty((0, 4)), [[5, 5, 1, 1]]])
