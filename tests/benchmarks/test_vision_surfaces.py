"""Scores of surfaces are means over images, and peers have the same segments."""

import numpy as np
import pytest
from benchmarks import vision_surfaces as benchmark
from benchmarks.options import Options

from posterity.vision import segments


def test_means_and_errors_are_over_images():
    p = np.array([[[0.95, 0.05], [0.55, 0.45]]])
    maps = np.arange(2, dtype=np.int32).reshape(1, 1, 2)
    image = segments.SegmentedImage(maps, np.zeros((2, 1), np.float32), np.ones(2))
    codes = [np.array([[0, 0]]), np.array([[0, 1]])]
    one = [segments.segment_rows.LabelledSegmentation(image, labels) for labels in codes]
    found = segments.LabelledSegments(one, *(np.zeros(1),) * 3, np.arange(2))
    images = benchmark.SurfaceImages(found, [None, None], 0.0)
    rows = benchmark.score_images(lambda _: p, images, [0, 1], False)
    scores = benchmark.summarise(rows)
    assert scores["pixel_percent"] == pytest.approx(75.0)
    assert scores["pixel_error"] == pytest.approx(25.0)
    assert scores["log_score"] == pytest.approx((2 * np.log(0.95) + np.log(0.55 * 0.45)) / 4)
    assert scores["calibration_error"] == pytest.approx((2 * 0.05 + 0.1) / 4)


def test_splits_learn_from_images_without_true_labels_and_hold_out_each_once():
    truth = [None if k % 3 else np.zeros(1) for k in range(12)]
    splits = benchmark.list_splits(truth)
    assert all(truth[k] is None for k in splits[0].seen)
    assert sorted(k for split in splits[1:] for k in split.unseen) == list(range(12))
    assert not any(set(split.seen) & set(split.unseen) for split in splits)


def test_parts_of_a_task_are_averaged_over_images():
    row = {"accuracy": 0.5, "log_score": -1.0, "bins": np.zeros((2, 10)).tolist()}
    row["bins"][1][0] = 1.0
    first, second = benchmark.TASKS
    parts = [
        {"contender": name, "task": task, "rows": {name: [row] * n}, "times": {"s": n}}
        for name in benchmark.CONTENDERS
        for task, n in ((first, 3), *((second, k) for k in (1, 2, 6)))
    ]
    joined = benchmark.join_parts(parts)
    assert [len(task["runs"]) for task in joined] == [3, 3]
    assert joined[0]["runs"][0]["n_images"] == 3
    assert (joined[1]["runs"][0]["n_images"], joined[1]["runs"][0]["s"]) == (9, 3.0)


def test_labels_agree_where_both_are_known():
    truth = [None, np.array([[0, 1, 2, 255]]), np.array([[1, 1]])]
    derived = [np.array([[2]]), np.array([[0, 2, 255, 1]]), np.array([[1, 1]])]
    assert benchmark.compare_labels(derived, truth) == pytest.approx(75.0)


def test_a_run_that_goes_on_measures_only_missing_parts(monkeypatch, tmp_path):
    (tmp_path / "0.json").write_text('{"part": "kept"}')
    monkeypatch.setattr(benchmark, "N_PARTS", 2)
    monkeypatch.setattr(
        benchmark.harness, "in_new_process", lambda _, number, *__: {"part": number}
    )
    parts = benchmark.measure_parts(Options(), tmp_path)
    assert parts == [{"part": "kept"}, {"part": 1}]


def test_absent_data_are_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(benchmark, "ARCHIVE", tmp_path / "absent")
    benchmark.run(Options(folder=tmp_path))
    assert not list(tmp_path.iterdir())
