"""Scores of parts and joints are those of scikit-learn where it has them; the embedded model."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from benchmarks import vision_body_parts as benchmark
from benchmarks.options import Options
from sklearn.metrics import average_precision_score

import posterity
from posterity import vision
from posterity.vision import bodies


def test_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    probability, right = rng.random(50), rng.random(50) < 0.4
    everywhere = np.ones(50, dtype=bool)
    found = benchmark.find_average_precision(probability, right, everywhere)
    # Each person has the joint, so that its absence is a miss, as scikit-learn does not know.
    expected = average_precision_score(right, probability) * right.sum() / 50
    assert found == pytest.approx(expected)


def test_a_sure_and_wrong_answer_is_a_calibration_error():
    top, right = np.array([0.95, 0.95, 0.55]), np.array([1.0, 0.0, 1.0])
    assert benchmark.find_calibration_error(top, right) == pytest.approx((0.9 + 0.45) / 3)


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark.vision_motions, "ARCHIVE", Path(tmp_path / "absent"))
    benchmark.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())


def test_the_model_of_the_package_finds_parts_and_joints():
    model = posterity.load(benchmark.MODEL)
    walks = [r for r in vision.datasets.motions() if r.subject in benchmark.vision_motions.UNSEEN]
    sampler = bodies.FrameSampler(max_turn=60.0)
    frames = list(itertools.islice(sampler.draw(walks, np.random.default_rng(0)), 6))
    assert benchmark.score_parts(model, frames)["pixel_percent"] > 70.0
    assert benchmark.score_joints(model, frames)["joint_percent"] > 80.0
    assert benchmark.MODEL.stat().st_size < 5_000_000
