"""Scores of probabilities are those of their definitions."""

import numpy as np
import pytest
from benchmarks import probabilities
from benchmarks.cases import Data
from sklearn import metrics


@pytest.fixture
def stated():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1.0, 1.0, 2.0], size=400)
    y = np.array([rng.choice(3, p=p) for p in P], dtype=float)
    return P, y


def data_of(y):
    empty = np.empty((len(y), 0))
    return Data(empty, y, empty, y)


def test_errors_and_log_loss_are_scikit_learns(stated):
    P, y = stated
    found = probabilities.score(data_of(y), (P, None))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, P))
    assert found["error_percent"] == pytest.approx(
        100.0 * (1.0 - metrics.accuracy_score(y, P.argmax(axis=1)))
    )


def test_confidence_error_is_the_mean_distance_over_bins(stated):
    P, y = stated
    total = 0.0
    for low in np.arange(10) / 10.0:
        inside = (P.max(axis=1) >= low) & (P.max(axis=1) < low + 0.1)
        if inside.any():
            right = (P.argmax(axis=1) == y)[inside].mean()
            total += inside.sum() * abs(right - P.max(axis=1)[inside].mean())
    assert probabilities.confidence_error(P, y) == pytest.approx(total / len(y))


def test_right_probabilities_are_calibrated_and_overconfident_ones_are_not(stated):
    P, y = stated
    sharp = P**6 / np.sum(P**6, axis=1, keepdims=True)
    right, wrong = (probabilities.score(data_of(y), (Q, None)) for Q in (P, sharp))
    for key in ("confidence_error", "calibration_error"):
        assert right[key] < 0.06
        assert wrong[key] > 1.5 * right[key]


def test_certainty_that_is_wrong_costs_much_but_not_everything():
    found = probabilities.score(data_of(np.array([0.0, 1.0])), (np.array([[0.0, 1.0]] * 2), None))
    assert 100.0 < found["log_loss"] < 1000.0
    assert found["confidence_error"] == 0.5


def test_codes_follow_the_order_of_the_labels():
    np.testing.assert_array_equal(probabilities.dense_codes(["b", "a", "b"]), [1.0, 0.0, 1.0])
