"""Observed frequencies beside stated probabilities, and how far apart chance alone puts them."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

from posterity import BayesianLogisticRegression, displays


@pytest.fixture(autouse=True)
def without_a_screen():
    """Draw into memory, and close what was drawn."""
    import matplotlib.pyplot as plt

    with mpl.rc_context():
        plt.switch_backend("Agg")
        yield
        plt.close("all")


def reliability(happened, p, **options):
    return displays.ReliabilityDisplay.from_predictions(happened, p, **options)


def test_bins_hold_means_shares_and_binomial_bands():
    p = np.array([0.05, 0.15, 0.1, 0.9, 0.8, 0.7])
    display = reliability([0, 1, 0, 1, 1, 0], p, n_bins=2, coverage=0.8)
    np.testing.assert_allclose(display.predicted, [0.1, 0.8])
    np.testing.assert_allclose(display.observed, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(display.counts, [3, 3])
    np.testing.assert_allclose(display.lower, stats.binom.ppf(0.1, 3, [0.1, 0.8]) / 3)
    np.testing.assert_allclose(display.upper, stats.binom.ppf(0.9, 3, [0.1, 0.8]) / 3)


def test_right_predictions_fall_into_the_band_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(60):
        p = rng.random(400)
        display = reliability(rng.random(400) < p, p, coverage=0.9)
        inside.append((display.lower <= display.observed) & (display.observed <= display.upper))
    assert 0.88 < np.mean(inside) < 0.98  # steps of a binomial make the band a little wide


def test_wrong_predictions_leave_the_band():
    p = np.random.default_rng(0).random(2000)
    display = reliability(np.zeros(2000), p)
    assert (display.observed < display.lower).sum() >= 8


def test_rows_of_equal_probability_share_a_bin():
    display = reliability([0, 1, 1, 0, 1], [0.5, 0.5, 0.5, 0.5, 0.9], n_bins=4)
    np.testing.assert_allclose(display.predicted, [0.5, 0.9])
    np.testing.assert_array_equal(display.counts, [4, 1])


def test_of_two_classes_it_is_the_second():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1))
    y = np.where(X[:, 0] + rng.logistic(size=200) > 0.0, "yes", "no")
    model = BayesianLogisticRegression().fit(X, y)
    display = displays.ReliabilityDisplay.from_estimator(model, X, y, n_bins=5)
    expected = reliability(y == "yes", model.predict_proba(X)[:, 1], n_bins=5)
    np.testing.assert_array_equal(display.observed, expected.observed)
    assert display.plot().get_xlabel() == "probability of yes"


class ThreeClasses:
    classes_ = np.array(["a", "b", "c"])

    def predict_proba(self, X):
        return np.array([[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.0, 0.8]])


def test_of_more_classes_it_is_whether_the_most_probable_one_was_right():
    y = ["a", "a", "c"]
    display = displays.ReliabilityDisplay.from_estimator(ThreeClasses(), np.eye(3), y, n_bins=3)
    np.testing.assert_allclose(display.predicted, [0.6, 0.7, 0.8])
    np.testing.assert_allclose(display.observed, [1.0, 0.0, 1.0])


def test_picture_has_the_shares_the_bands_and_the_diagonal():
    display = reliability([0, 1, 0, 1], [0.2, 0.3, 0.6, 0.9], n_bins=2)
    axes = display.plot()
    diagonal, shares = axes.lines
    np.testing.assert_array_equal(diagonal.get_ydata(), diagonal.get_xdata())
    np.testing.assert_array_equal(shares.get_ydata(), display.observed)
    ends = np.array([segment[:, 1] for segment in axes.collections[0].get_segments()])
    np.testing.assert_array_equal(ends, np.column_stack([display.lower, display.upper]))


@pytest.mark.parametrize(
    ("happened", "p", "words"),
    [
        ([0, 1], [0.5], r"shapes \(1,\) and \(2,\)"),
        ([0, 1], [0.5, 1.5], "Row 1 has the probability 1.5"),
        ([0, 2], [0.5, 0.5], "Row 1 .* the outcome 2"),
    ],
)
def test_what_is_no_probability_or_no_outcome_is_named(happened, p, words):
    with pytest.raises(ValueError, match=words):
        reliability(happened, p)


@pytest.mark.parametrize("options", [{"n_bins": 0}, {"coverage": 1.0}])
def test_bins_and_coverage_are_checked(options):
    with pytest.raises(ValueError, match=r"must be >= 1, and coverage=.* in \(0, 1\)"):
        reliability([0, 1], [0.2, 0.4], **options)
