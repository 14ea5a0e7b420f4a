"""Scores of boxes, and the detector of faces in the package."""

import numpy as np
import pytest
from benchmarks import vision_boosting, vision_data, vision_faces, vision_pedestrians
from benchmarks.options import Options
from benchmarks.vision_data import FoundBoxes, KnownImage

import posterity

BOX = np.array([[10.0, 10.0, 30.0, 30.0]])
NONE = np.empty((0, 4))


def test_boxes_of_equal_score_have_no_order():
    found = FoundBoxes(np.array([2.0, 1.0, 1.0]), np.array([True, False, True]), 2)
    assert found.rate_at(1) == 1.0
    assert 0.5 < found.rate_at(0) < 1.0


def test_boxes_near_ignored_objects_do_not_count():
    image = KnownImage("a", np.zeros((50, 50), dtype=np.uint8), BOX, BOX + 100.0)
    boxes = np.concatenate([BOX + 1.0, BOX + 101.0, BOX + 50.0])
    found = vision_data.match_all([(boxes, np.array([0.9, 0.8, 0.7]))], [image], 0.4)
    np.testing.assert_array_equal(found.right, [True, False])
    np.testing.assert_array_equal(found.score, [0.9, 0.7])
    assert found.n_objects == 1


def test_patches_of_walkers_lie_around_them():
    image = np.zeros((2, 60, 60), dtype=np.uint8)
    image[1, 20:40, 26:34] = 200
    patch = vision_pedestrians.cut_patch(
        image, vision_pedestrians.grow_boxes(np.array([[26.0, 20.0, 34.0, 40.0]]))[0]
    )
    assert patch.shape == (2, *vision_pedestrians.PATCH)
    height, width = vision_pedestrians.PATCH
    assert patch[1, height // 2, width // 2] == 200
    assert patch[1, 1].max() == patch[1, :, 1].max() == patch[0].max() == 0


@pytest.mark.parametrize(
    ("benchmark", "archive"),
    [
        (vision_faces, "PHOTOGRAPHS"),
        (vision_pedestrians, "WALKERS"),
        (vision_boosting, "FACES"),
    ],
)
def test_absent_data_are_no_error(benchmark, archive, monkeypatch, tmp_path):
    monkeypatch.setattr(vision_data, archive, tmp_path / "absent")
    benchmark.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_the_detector_of_the_package_finds_nothing_in_noise():
    detector = posterity.load(vision_faces.MODEL)
    noise = np.random.default_rng(0).integers(0, 256, size=(120, 160), dtype=np.uint8)
    assert len(detector.detect(noise).above(0.5)) == 0
    assert vision_faces.MODEL.stat().st_size < 500_000
    wanted = vision_faces.build_detector().get_params()
    assert detector.get_params() == {**wanted, "n_jobs": None}
