"""Cascades of OpenCV in both of its formats, written by hand."""

import numpy as np
import pytest

from posterity.vision import WindowDetector
from posterity.vision.windows import window_sum

NEW = """<?xml version="1.0"?>
<opencv_storage><cascade>
  <stageType>BOOST</stageType><featureType>HAAR</featureType><height>12</height><width>10</width>
  <stageParams><maxDepth>2</maxDepth></stageParams>
  <featureParams><maxCatCount>0</maxCatCount></featureParams>
  <stages>
    <_><stageThreshold>-0.5</stageThreshold><weakClassifiers>
      <_><internalNodes>0 -1 0 0.1</internalNodes><leafValues>-1. 1.</leafValues></_>
    </weakClassifiers></_>
    <_><stageThreshold>0.25</stageThreshold><weakClassifiers>
      <_><internalNodes>1 0 1 0.02 -1 -2 2 -0.01</internalNodes>
        <leafValues>0.5 -0.25 1.5</leafValues></_>
      <_><internalNodes>0 -1 2 0.05</internalNodes><leafValues>0.75 0.</leafValues></_>
    </weakClassifiers></_>
  </stages>
  <features>
    <_><rects><_>0 0 10 12 -1.</_><_>0 6 10 6 2.</_></rects></_>
    <_><rects><_>1 2 6 6 -1.</_><_>3 2 2 6 3.</_></rects></_>
    <_><rects><_>5 1 3 4 -1.</_><_>5 1 3 2 2.</_></rects><tilted>1</tilted></_>
  </features>
</cascade></opencv_storage>
"""
OLD = """<?xml version="1.0"?>
<opencv_storage><mine type_id="opencv-haar-classifier"><size>10 12</size><stages>
  <_><trees><_><_>
      <feature><rects><_>0 0 10 12 -1.</_><_>0 6 10 6 2.</_></rects><tilted>0</tilted></feature>
      <threshold>0.1</threshold><left_val>-1.</left_val><right_val>1.</right_val></_></_></trees>
    <stage_threshold>-0.5</stage_threshold></_>
  <_><trees>
    <_><_>
      <feature><rects><_>1 2 6 6 -1.</_><_>3 2 2 6 3.</_></rects><tilted>0</tilted></feature>
      <threshold>0.02</threshold><left_node>1</left_node><right_val>0.5</right_val></_>
      <_><feature><rects><_>5 1 3 4 -1.</_><_>5 1 3 2 2.</_></rects><tilted>1</tilted></feature>
      <threshold>-0.01</threshold><left_val>-0.25</left_val><right_val>1.5</right_val></_></_>
    <_><_><feature><rects><_>5 1 3 4 -1.</_><_>5 1 3 2 2.</_></rects><tilted>1</tilted></feature>
      <threshold>0.05</threshold><left_val>0.75</left_val><right_val>0.</right_val></_></_></trees>
    <stage_threshold>0.25</stage_threshold></_>
</stages></mine></opencv_storage>
"""


@pytest.fixture
def scene():
    rng = np.random.default_rng(0)
    coarse = np.kron(rng.integers(256, size=(8, 10)), np.ones((8, 8)))
    return np.clip(coarse + rng.normal(0, 15, coarse.shape), 0, 255).astype(np.uint8)


def write(folder, text):
    path = folder / "cascade.xml"
    path.write_text(text)
    return path


def test_both_formats_are_the_same_cascade(tmp_path, scene):
    found = [WindowDetector.from_opencv(write(tmp_path, t)).detect(scene) for t in (NEW, OLD)]
    assert len(found[0]) > 3
    np.testing.assert_array_equal(found[0].boxes, found[1].boxes)
    np.testing.assert_array_equal(found[0].support, found[1].support)
    assert np.all(np.isnan(found[0].probability))
    assert np.all(np.diff(found[0].support) <= 0)


def test_numbers_are_those_of_the_file(tmp_path):
    cascade = window_sum.read_opencv_cascade(write(tmp_path, NEW))
    assert cascade.shape == (1, 12, 10)
    assert cascade.skips
    np.testing.assert_array_equal(cascade.roots, [0, 1, 3])
    np.testing.assert_array_equal(cascade.children, [[-1, -2], [2, -3], [-4, -5], [-6, -7]])
    np.testing.assert_allclose(cascade.bounds, [-0.50001, -np.inf, 0.24999], rtol=1e-6)
    np.testing.assert_array_equal(cascade.rectangles[2, 1], [0, 1, 5, 2, 3, 2])
    np.testing.assert_array_equal(cascade.tilted, [False, False, True])


def test_calibration_tells_probabilities(tmp_path, scene):
    detector = WindowDetector.from_opencv(write(tmp_path, NEW))
    found = detector.detect(scene)
    true = found.take(found.support >= np.median(found.support)).boxes
    scored = detector.calibrate([scene], [true]).detect(scene)
    assert np.all((scored.probability > 0) & (scored.probability < 1))
    assert np.all(np.diff(scored.probability) <= 0)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("<opencv_storage>", "<opencv_storage", "not valid XML"),
        ("HAAR", "LBP", "features are LBP"),
        ("<height>12</height>", "", "has no <height>"),
        ("0 6 10 6 2.", "0 6 10 7 2.", "reaches beyond"),
        ("0 6 10 6 2.", "0 6 10 6 2.5", "not an integer"),
        ("0 -1 0 0.1", "0 -1 7 0.1", "contains 7"),
        ("<opencv_storage>", "<!DOCTYPE a [<!ENTITY b 'c'>]><opencv_storage>", "entities"),
        ("<cascade>", "<other>", "not valid XML"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path, old, new, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        WindowDetector.from_opencv(write(tmp_path, NEW.replace(old, new)))
    assert "cascade.xml" in str(caught.value)
