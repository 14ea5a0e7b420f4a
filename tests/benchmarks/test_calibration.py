"""Probabilities that come true have a small error, by the bins of a brute-force count."""

import numpy as np
import pytest
from benchmarks import calibration


@pytest.fixture
def stated():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1.0, 1.0, 2.0], size=505)
    return P, np.array([rng.choice(3, p=p) for p in P])


def brute_force(p, happened):
    """Rows in order of the probability, ten runs of them as equal as can be, the longer first."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    total, start = 0.0, 0
    for k in range(10):
        stop = start + len(p) // 10 + (k < len(p) % 10)
        bin_ = order[start:stop]
        total += abs(sum(happened[i] for i in bin_) - sum(p[i] for i in bin_))
        start = stop
    return total / len(p)


def test_the_error_is_the_mean_distance_over_bins_of_equally_many(stated):
    p, right = calibration.confidence(*stated)
    assert calibration.error(p, right) == pytest.approx(brute_force(p, right))


def test_confidence_is_of_the_class_predicted(stated):
    P, y = stated
    p, right = calibration.confidence(P, y)
    for i in range(20):
        best = max(range(3), key=lambda c, i=i: P[i, c])
        assert (p[i], right[i]) == (P[i, best], float(y[i] == best))


def test_the_error_of_classes_is_the_mean_of_each_ones(stated):
    P, y = stated
    each = [brute_force(P[:, c], (y == c).astype(float)) for c in range(3)]
    assert calibration.error_of_classes(P, y) == pytest.approx(np.mean(each))


def test_right_probabilities_have_about_the_error_of_chance():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=2_000)
    found = [calibration.error(p, (rng.random(2_000) < p).astype(float)) for _ in range(300)]
    assert calibration.error_by_chance(p) == pytest.approx(np.mean(found), rel=0.03)


def test_too_sure_probabilities_have_more_than_chance(stated):
    P, y = stated
    sharp = P**6 / np.sum(P**6, axis=1, keepdims=True)
    p, right = calibration.confidence(sharp, y)
    assert calibration.error(p, right) > 4.0 * calibration.error_by_chance(p)


def test_the_diagram_has_the_points_behind_the_error(stated):
    p, right = calibration.confidence(*stated)
    points = calibration.diagram(p, right)
    assert sum(point["rows"] for point in points) == len(p)
    assert max(point["rows"] for point in points) - min(point["rows"] for point in points) == 1
    error = sum(q["rows"] * abs(q["happened"] - q["stated"]) for q in points) / len(p)
    assert error == pytest.approx(calibration.error(p, right))


def test_fewer_rows_than_bins_have_a_bin_each():
    assert len(calibration.diagram(np.array([0.2, 0.7]), np.array([0.0, 1.0]))) == 2
