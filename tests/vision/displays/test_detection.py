"""Displays of detectors hold the numbers of the detector, counted in another way here."""

import numpy as np
import pytest
from support import discs

from posterity import vision
from posterity.vision.windows import scan
from posterity.vision.windows.pyramid import Inset
from posterity.vision.windows.samples import cut_windows


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    patches = discs.draw_patches(rng, 150)
    detector = vision.WindowDetector(**discs.SETTINGS)
    return detector.fit(patches, [discs.draw_scene(rng) for _ in range(24)]), rng


def test_boxes_below_the_bound_are_left_out_and_unknown_ones_kept():
    boxes = np.arange(12.0).reshape(3, 4)
    found = vision.Detections(boxes, np.array([0.9, 0.3, np.nan]), np.ones(3), np.ones(3))
    display = vision.displays.DetectionDisplay.from_detections(
        found, np.zeros((20, 30), np.uint8), objects=boxes[1]
    )
    np.testing.assert_array_equal(display.boxes, boxes[[0, 2]])
    axes = display.plot()
    assert [line.get_label() for line in axes.lines][:2] == ["known", "found"]
    assert len(axes.lines) == 3
    np.testing.assert_allclose(axes.lines[1].get_xdata(), [-0.5, 1.5, 1.5, -0.5, -0.5])


def test_a_detector_is_asked_and_its_later_frame_drawn(world):
    detector, rng = world
    scene = discs.draw_scene(rng)
    discs.paste_disc(rng, scene)
    display = vision.displays.DetectionDisplay.from_estimator(detector, scene, min_probability=0.1)
    np.testing.assert_array_equal(display.boxes, detector.detect(scene).above(0.1).boxes)


def test_the_curve_counts_every_bound():
    rng = np.random.default_rng(3)
    score, right = rng.integers(0, 9, 60) / 9.0, rng.random(60) < 0.4
    curve = vision.displays.DetectionCurveDisplay.from_predictions(
        right, score, n_objects=40, n_images=9
    )
    for false_positives, rate, bound in zip(
        curve.false_positives, curve.detection_rate, curve.score, strict=True
    ):
        assert np.sum(~right[score >= bound]) == false_positives
        assert np.sum(right[score >= bound]) == pytest.approx(40 * rate)
    for k in range(40):
        best = max(
            (
                right[score >= b].mean() * np.sum(score >= b)
                for b in [*score, 2.0]
                if np.sum(~right[score >= b]) <= k and np.any(score >= b)
            ),
            default=0.0,
        )
        assert curve.rate_at(k) == pytest.approx(best / 40)
    assert curve.plot(per_image=True).get_xlabel() == "false positives per image"


def test_a_second_box_of_an_object_is_a_false_positive():
    box = np.array([[0.0, 0.0, 10.0, 10.0]])
    found = vision.Detections(
        np.repeat(box, 2, axis=0), np.array([0.8, 0.9]), np.zeros(2), np.ones(2)
    )
    curve = vision.displays.DetectionCurveDisplay.from_detections([found], [box])
    np.testing.assert_array_equal(curve.false_positives, [0, 1])
    np.testing.assert_array_equal(curve.detection_rate, [1, 1])
    nothing = found.take(slice(0))
    curve = vision.displays.DetectionCurveDisplay.from_detections([nothing], [box])
    assert curve.rate_at(5) == 0.0


def test_features_are_the_roots_of_the_first_trees(world):
    detector, rng = world
    cascade = detector.cascade_
    windows = cut_windows(discs.draw_patches(rng, 30)[:, None], (12, 12), Inset(*detector.inset))
    display = vision.displays.WindowFeaturesDisplay.from_estimator(
        detector, n_features=3, patches=windows
    )
    first = cascade.rectangles[cascade.features[cascade.roots[2]]]
    window = rng.integers(0, 255, size=(12, 12))
    expected = sum(
        weight * window[y : y + h, x : x + w].sum() for _, y, x, h, w, weight in first.tolist()
    )
    assert np.sum(display.weights[2] * window) == expected
    assert display.plot().get_images()[0].get_array().shape == (12, 3 * 12 + 4)


def test_the_share_that_is_left_at_the_end_is_that_of_the_scan(world):
    detector, rng = world
    scenes, patches = [discs.draw_scene(rng) for _ in range(3)], discs.draw_patches(rng, 80)
    display = vision.displays.RejectionDisplay.from_estimator(
        detector, patches, scenes, n_windows=500, random_state=0
    )
    windows = cut_windows(patches[:, None], (12, 12), Inset(*detector.inset))
    passed = [len(scan.scan_planes(detector.cascade_, window, 1)[0]) for window in windows]
    assert display.objects[-1] == np.mean(passed)
    assert len(display.objects) == detector.n_estimators_ + 1
    assert np.all(np.diff(display.background) <= 0.0)
    assert display.objects[-1] > 0.8 > 0.1 > display.background[-1]
    assert display.plot().get_ylabel() == "share of windows left"
